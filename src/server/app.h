/* app.h - struct app holds every part of a running server; serve.c opens and closes them in order.
 * Only server/ includes this header. */
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

enum { ROUTES = 256, KINDS = 64, FIRST_JOBS = 10 };

/* A unit of work that every start posts once (jobs.c). */
struct first_job_unit {
    struct unit unit;
    struct app *app;
};

struct app {
    struct node node;
    struct server *server;
    struct sandbox *sandbox;         /* NULL: off */
    struct queue *_Atomic queue;     /* hints of the store may arrive before it exists */
    struct client *gateway_client;   /* an egress thread of the gateway's own */
    struct client *delivery_client;  /* subscribers, JWKS */
    struct client *qstash_client;    /* to the destinations of QStash messages */
    struct client *publish_client;   /* to the remote QStash; NULL: there is none */
    struct client *notify_client;    /* mail, push, the channel webhook; NULL: none is set up */
    struct client *telemetry_client; /* OTLP, Sentry; NULL: neither is set up */
    struct otlp *otlp;               /* NULL: traces are off */
    struct sentry *sentry;           /* NULL: Sentry is off */
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
    struct stripe_lister *lister; /* NULL: no gateway uses Stripe's API */
    struct zone *zone;            /* in which the days of a report are counted */
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
    struct first_job_unit first_jobs[FIRST_JOBS];
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
    size_t drain_step; /* the next of the drain_steps in serve.c */
    char address[300], sandbox_address[64], sandbox_base[80], webhook_url[400], sandbox_db[4200];
    char paypay_hook[400]; /* the webhook URL of the sandbox's PayPay */
};

/* The functions of the table server_parts (serve.c). An open logs why it fails and returns false; a
 * close accepts what was never opened. A start runs on the thread of the first loop, after every
 * part is open and before the loops run. A drain runs on the first loop and ends by calling
 * done. */

/* serve.c: logs what failed and why, and returns false. */
bool app_fails(const struct app *app, const char *what, struct str why);

/* listener.c */
bool app_open_server(struct app *app);
void app_close_server(struct app *app);

/* gateways.c */
bool app_wants_sandbox(const struct app *app);
bool app_open_sandbox(struct app *app);
void app_close_sandbox(struct app *app);
bool app_open_clients(struct app *app);
void app_close_clients(struct app *app); /* all of them, also those that other files opened */
bool app_open_gateways(struct app *app);
void app_close_gateways(struct app *app);
bool app_open_auth(struct app *app);
void app_close_auth(struct app *app);

/* login.c */
bool app_open_login(struct app *app);
struct api_login *app_login(struct app *app);
void app_drain_login(struct app *app, void (*done)(void *ctx), void *ctx);
void app_close_login(struct app *app);

/* reconcile.c */
bool app_open_reconcile(struct app *app);
void app_close_reconcile(struct app *app);

/* qstash.c */
bool app_open_qstash(struct app *app);
void app_close_qstash(struct app *app);
bool app_has_qstash(const struct app *app); /* the QStash API is served */

/* remote.c */
bool app_open_remote(struct app *app);
bool app_has_worker(const struct app *app);

/* channels.c */
bool app_wants_notify_client(const struct app *app);
bool app_open_notify_client(struct app *app);
bool app_open_channels(struct app *app);
bool app_has_channel(const struct app *app); /* at least one is open */
void app_start_channels(struct app *app);
void app_close_channels(struct app *app);

/* telemetry.c; its start and close include those of alerts.c and live.c */
bool app_wants_telemetry(const struct app *app);
bool app_open_telemetry(struct app *app); /* the client */
bool app_wants_traces(const struct app *app);
bool app_open_traces(struct app *app);
void app_drain_traces(struct app *app, void (*done)(void *ctx), void *ctx);
bool app_wants_sentry(const struct app *app);
bool app_open_sentry(struct app *app);
void app_start_telemetry(struct app *app);
void app_close_telemetry(struct app *app);

/* alerts.c */
bool app_open_alerts(struct app *app); /* after the channels and Sentry */
void app_start_alerts(struct app *app);
void app_close_alerts(struct app *app);

/* live.c */
void app_fill_live(struct app *app); /* the contexts of its routes */
void app_start_live(struct app *app);
void app_close_live(struct app *app);

/* jobs.c */
bool app_open_payments(struct app *app); /* after the channels */
void app_drain_replays(struct app *app, void (*done)(void *ctx), void *ctx);
void app_close_payments(struct app *app);
bool app_open_queue(struct app *app);
void app_log_dead_letter(void *app, const struct message *m, const char *why);
void app_start_jobs(struct app *app); /* after queue_start() */
void app_drain_queue(struct app *app, void (*done)(void *ctx), void *ctx);
void app_close_queue(struct app *app);

/* webhooks.c */
bool app_open_stripe(struct app *app);
void app_drain_stripe(struct app *app, void (*done)(void *ctx), void *ctx);
void app_close_stripe(struct app *app);
bool app_wants_paypay(const struct app *app);
bool app_open_paypay(struct app *app);
void app_drain_paypay(struct app *app, void (*done)(void *ctx), void *ctx);
void app_close_paypay(struct app *app);

/* app_routes.c */
void app_fill_routes(struct app *app);
