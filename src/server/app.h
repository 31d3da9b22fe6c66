/* app.h - the parts of a running server, and how they are put together. Only server/ includes this. */
#pragma once

#include "admin/access/login.h"
#include "admin/access/operators.h"
#include "admin/audit.h"
#include "admin/dlq/dlq.h"
#include "admin/dlq/redrives.h"
#include "admin/history.h"
#include "admin/reconciliations.h"
#include "admin/sandbox/sandbox.h"
#include "admin/subscribers.h"
#include "admin/system/alerts.h"
#include "admin/system/health.h"
#include "admin/system/live.h"
#include "admin/system/metrics.h"
#include "admin/system/overview.h"
#include "admin/system/queues.h"
#include "admin/system/settings.h"
#include "admin/system/slo.h"
#include "admin/system/test_clock.h"
#include "admin/timeline.h"
#include "admin/transfers.h"
#include "admin/unknown.h"
#include "api/bookings.h"
#include "api/inbound_events.h"
#include "api/payments.h"
#include "api/users.h"
#include "audit/seal.h"
#include "auth/auth.h"
#include "auth/upstash.h"
#include "endpoint/authorize.h"
#include "event/apply_event.h"
#include "event/fee_job.h"
#include "gateway/stripe/list.h"
#include "http/client/client.h"
#include "http/http.h"
#include "notify/alert.h"
#include "notify/channel_announce.h"
#include "notify/notify.h"
#include "ops/alert_watch.h"
#include "ops/live_watch.h"
#include "ops/retention.h"
#include "ops/unknown_watch.h"
#include "outbox/outbox.h"
#include "payment/payments.h"
#include "qstash/qstash.h"
#include "queue/queue.h"
#include "reconcile/reconcile.h"
#include "sandbox/sandbox.h"
#include "server/dead_kinds.h"
#include "server/node.h"
#include "webhook/allow.h"
#include "webhook/backfill.h"
#include "webhook/paypay.h"
#include "webhook/remote/publish.h"
#include "webhook/remote/remote_watch.h"
#include "webhook/stripe.h"
#include "webhook/worker.h"

#include <stdatomic.h>

enum { ROUTES = 256, KINDS = 64 };

struct app {
    struct node node;
    struct server *server;
    struct sandbox *sandbox;         /* NULL: off */
    struct queue *_Atomic queue;     /* the store's hints may come before it is there */
    struct client *gateway_client;   /* an egress thread of the gateway's own */
    struct client *delivery_client;  /* subscribers, JWKS */
    struct client *qstash_client;    /* to wherever a publisher says */
    struct client *publish_client;   /* to the remote QStash; NULL: there is none */
    struct client *notify_client;    /* mail, push, the channel webhook; NULL: none is set up */
    struct client *telemetry_client; /* OTLP, Sentry; NULL: neither is set up */
    struct otlp *otlp;               /* NULL: nobody wants traces */
    struct sentry *sentry;           /* NULL: nobody wants errors */
    char host_name[256];
    struct upstash_keys upstash_keys;
    struct qstash qstash;
    struct auth *auth;
    struct hasher *hasher;     /* of passwords */
    struct throttle *throttle; /* of logins */
    struct login_failures login_failures;
    struct gateways gateways;
    struct payments payments;
    struct deliveries deliveries;
    struct notify notify;
    struct teller teller;
    struct stripe_door *door;
    struct paypay_door *paypay_door; /* NULL: that gateway is not set up */
    struct apply_event apply;
    struct charge_later charge_later;
    struct stripe_lister *lister; /* NULL: no gateway speaks Stripe's words */
    struct zone *zone;            /* whose days a report's are */
    struct heal heal;
    struct unknown_watch unknown;
    struct alert_desk alert_desk;
    struct alert_watch alert_watch;
    struct alert_out alert_out;
    struct live_watch live_watch;
    struct reconcile reconcile;
    struct retention retention;
    struct audit_sealer audit_sealer;
    struct job_kind apply_kind;
    struct worker worker;
    struct publisher publisher;
    struct str worker_url;
    struct unit start_unit, qstash_unit, remote_unit; /* what is written once at start */
    struct unit retention_unit;
    struct unit audit_unit;
    struct unit reminder_unit;
    struct unit causes_unit;
    struct unit books_units[3];
    struct job_kind kinds[KINDS];
    size_t kind_count;

    struct api_health health;
    struct api_metrics metrics;
    struct api_test_clock test_clock;
    struct api_payments api_payments;
    struct api_events api_events;
    struct api_subscribers api_subscribers;
    struct api_dlq api_dlq;
    struct redrives redrives;
    struct redrive_watch redrive_watch;
    struct api_redrives api_redrives;
    struct api_alerts api_alerts;
    struct api_slo api_slo;
    struct api_overview api_overview;
    struct api_queues api_queues;
    struct api_settings api_settings;
    struct api_sandbox api_sandbox;
    struct api_users api_users;
    struct api_login api_login;
    struct api_operators api_operators;
    struct api_reconciliations api_reconciliations;
    struct dead_kind dead_kinds[DEAD_KINDS];
    struct allow_list trusted_proxies;
    struct route routes[ROUTES];
    struct authorized authorized[ROUTES]; /* of the routes that have a role */
    size_t route_count;
    char address[300], sandbox_address[64], sandbox_base[80], webhook_url[400], sandbox_db[4200];
    char paypay_hook[400]; /* where the sandbox's PayPay tells us */
};

/* Each says in the log why, where it is false. */
bool app_open_sandbox(struct app *app);  /* app_gateway.c */
bool app_open_gateway(struct app *app);  /* clients, gateway, auth */
void app_close_clients(struct app *app); /* before the queue is freed */
void app_close_gateway(struct app *app); /* after the queue is gone */
bool app_open_login(struct app *app);    /* app_login.c; behind the gateway */
struct api_login *app_login(struct app *app);
void app_stop_login(struct app *app, void (*stopped)(void *ctx), void *ctx); /* at home */
void app_close_login(struct app *app);      /* once the loops have ended */
bool app_open_qstash(struct app *app);      /* app_qstash.c */
void app_close_qstash(struct app *app);     /* after the queue is gone */
bool app_has_qstash(const struct app *app); /* its door is open */
bool app_open_remote(struct app *app,       /* app_remote.c */
                     void (*alert)(void *ctx, const struct message *m, const char *why));
bool app_has_worker(const struct app *app);
void app_start_remote(struct app *app);       /* at home, once the queue has started */
bool app_open_books(struct app *app);         /* app_reconcile.c; behind the gateway */
void app_close_books(struct app *app);        /* after the queue is gone */
void app_start_books(struct app *app);        /* at home, once the queue has started */
bool app_open_notify(struct app *app);        /* app_notify.c: before the queue */
void app_close_notify(struct app *app);       /* after the queue is gone */
bool app_can_tell(const struct app *app);     /* a transport is set up */
void app_start_notify(struct app *app);       /* at home, once the queue has started */
bool app_open_telemetry(struct app *app);     /* app_telemetry.c: before the queue */
void app_start_telemetry(struct app *app);    /* at home, once the queue has started */
bool app_wants_traces(const struct app *app); /* app_traces.c; telemetry calls the next two */
bool app_open_traces(struct app *app);
void app_start_traces(struct app *app);
/* At home, once the queue has stopped: what waits leaves, then `stopped` is called. */
void app_stop_traces(struct app *app, void (*stopped)(void *ctx), void *ctx);
void app_close_traces(struct app *app);
bool app_open_alerts(struct app *app); /* app_alerts.c: behind notify; telemetry calls them */
void app_start_alerts(struct app *app);
void app_close_alerts(struct app *app);
void app_start_live(struct app *app); /* app_live.c: at home; telemetry calls the first two */
void app_close_live(struct app *app);
void app_fill_live(struct app *app);   /* what its routes are given; before they are */
bool app_open_sentry(struct app *app); /* app_sentry.c: once the client is there */
void app_start_sentry(struct app *app);
void app_close_sentry(struct app *app);
void app_close_telemetry(struct app *app); /* last: whatever ends before may still have a word */
void app_fill_kinds(struct app *app);      /* app_jobs.c: what the queue runs */
void app_start_flows(struct app *app);     /* at home, once the queue has started */
void app_fill_routes(struct app *app);     /* app_routes.c */
