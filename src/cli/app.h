/* app.h - the parts of a running server, and how they are put together. Only cli/ includes this. */
#pragma once

#include "api/bookings.h"
#include "api/health.h"
#include "api/history.h"
#include "api/inbound_events.h"
#include "api/metrics.h"
#include "api/payments.h"
#include "api/subscribers.h"
#include "api/test_clock.h"
#include "auth/auth.h"
#include "cli/node.h"
#include "flow/apply_event.h"
#include "flow/charge_later.h"
#include "flow/outbox.h"
#include "flow/payments.h"
#include "http/client.h"
#include "http/http.h"
#include "queue/queue.h"
#include "sandbox/sandbox.h"
#include "webhook/allow.h"
#include "webhook/stripe.h"

#include <stdatomic.h>

enum { ROUTES = 64, KINDS = 16 };

struct app {
    struct node node;
    struct server *server;
    struct sandbox *sandbox;        /* NULL: off */
    struct queue *_Atomic queue;    /* the store's hints may come before it is there */
    struct client *gateway_client;  /* an egress thread of the gateway's own */
    struct client *delivery_client; /* subscribers, JWKS */
    struct auth *auth;
    struct payments payments;
    struct deliveries deliveries;
    struct stripe_door *door;
    struct apply_event apply;
    struct charge_later charge_later;
    struct unit start_unit; /* what is written once at start */
    struct job_kind kinds[KINDS];
    size_t kind_count;

    struct api_health health;
    struct api_metrics metrics;
    struct api_test_clock test_clock;
    struct api_payments api_payments;
    struct api_bookings api_bookings;
    struct api_events api_events;
    struct api_subscribers api_subscribers;
    struct api_history api_history;
    struct allow_list trusted_proxies;
    struct route routes[ROUTES];
    size_t route_count;
    char address[300], sandbox_address[64], sandbox_base[80], webhook_url[400], sandbox_db[4200];
};

/* Each says in the log why, where it is false. */
bool app_open_sandbox(struct app *app);  /* app_gateway.c */
bool app_open_gateway(struct app *app);  /* clients, gateway, auth */
void app_close_clients(struct app *app); /* before the queue is freed */
void app_close_gateway(struct app *app); /* after the queue is gone */
void app_fill_kinds(struct app *app);    /* app_flows.c: what the queue runs */
void app_start_flows(struct app *app);   /* at home, once the queue has started */
void app_fill_routes(struct app *app);   /* app_routes.c */
