/* app_routes.c - which path is whose. */
#include "admin/page.h"
#include "admin/payments.h"
#include "api/campaigns.h"
#include "api/collections.h"
#include "api/front.h"
#include "api/purchases.h"
#include "base/limits.h"
#include "server/app.h"
#include "webhook/replay.h"

#include <assert.h>

static void add_route(struct app *app, const char *method, const char *path,
                      void (*handle)(struct request *, void *), void *ctx, size_t body_max)
{
    assert(app->route_count < ROUTES);
    app->routes[app->route_count++] = (struct route){
        .method = method, .path = path, .handle = handle, .ctx = ctx, .body_max = body_max
    };
}

/* Asked by whoever decides whether we live: an answer is never refused for others' sake. */
static void add_probe(struct app *app, const char *path, void (*handle)(struct request *, void *),
                      void *ctx)
{
    add_route(app, "GET", path, handle, ctx, 0);
    app->routes[app->route_count - 1].unlimited = true;
}

static void add_payments(struct app *app)
{
    struct api_payments *p = &app->api_payments;

    *p = (struct api_payments){ .payments = &app->payments,
                                .auth = app->auth,
                                .owner_may = app->node.settings.owner_may };
    add_route(app, "POST", "/payments", api_payment_create, p, LIMIT_PAYMENT_BODY);
    add_route(app, "GET", "/payments", api_payment_list, p, 0);
    add_route(app, "GET", "/payments/{id}", api_payment_get, p, 0);
    add_route(app, "POST", "/payments/{id}/capture", api_payment_capture, p, LIMIT_PAYMENT_BODY);
    add_route(app, "POST", "/payments/{id}/refund", api_payment_refund, p, LIMIT_PAYMENT_BODY);
    add_route(app, "POST", "/payments/{id}/void", api_payment_void, p, LIMIT_PAYMENT_BODY);
    add_route(app, "POST", "/api/v1/payments", api_payment_create, p, LIMIT_PAYMENT_BODY);
    add_route(app, "GET", "/api/v1/payments", api_payment_list, p, 0);
    add_route(app, "GET", "/api/v1/payments/{id}", api_payment_get, p, 0);
    add_route(app, "POST", "/api/v1/payments/{id}/capture", api_payment_capture, p,
              LIMIT_PAYMENT_BODY);
    add_route(app, "POST", "/api/v1/payments/{id}/refund", api_payment_refund, p,
              LIMIT_PAYMENT_BODY);
    add_route(app, "POST", "/api/v1/payments/{id}/void", api_payment_void, p, LIMIT_PAYMENT_BODY);
}

static void add_admin_payments(struct app *app)
{
    struct api_payments *p = &app->api_payments;

    add_route(app, "GET", "/api/v1/admin/payments", api_admin_payment_list, p, 0);
    add_route(app, "GET", "/api/v1/admin/payments/{id}", api_admin_payment_get, p, 0);
    add_route(app, "POST", "/api/v1/admin/payments/{id}/capture", api_admin_payment_capture, p,
              LIMIT_PAYMENT_BODY);
    add_route(app, "POST", "/api/v1/admin/payments/{id}/refund", api_admin_payment_refund, p,
              LIMIT_PAYMENT_BODY);
    add_route(app, "POST", "/api/v1/admin/payments/{id}/void", api_admin_payment_void, p,
              LIMIT_PAYMENT_BODY);
    add_route(app, "GET", "/api/v1/admin/keys/{key}", api_admin_key_get, p, 0);
}

static void add_bookings(struct app *app)
{
    app->api_bookings = (struct api_bookings){ .store = app->node.store,
                                               .payments = &app->payments,
                                               .auth = app->auth };
    app->api_events = (struct api_events){ .store = app->node.store,
                                           .payments = &app->payments,
                                           .auth = app->auth,
                                           .secret = app->node.settings.events_secret };
    app->api_subscribers = (struct api_subscribers){ .env = &app->node.env,
                                                     .store = app->node.store,
                                                     .auth = app->auth };
    add_route(app, "PUT", "/api/v1/bookings/{id}", api_booking_put, &app->api_bookings,
              LIMIT_BOOKING_BODY);
    add_route(app, "GET", "/api/v1/bookings/{id}", api_booking_get, &app->api_bookings, 0);
    add_route(app, "POST", "/api/v1/events", api_events_post, &app->api_events, LIMIT_EVENTS_BODY);
    add_route(app, "POST", "/api/v1/admin/subscribers", api_subscriber_add, &app->api_subscribers,
              LIMIT_BOOKING_BODY);
    add_route(app, "GET", "/api/v1/admin/subscribers", api_subscriber_list, &app->api_subscribers,
              0);
    add_route(app, "DELETE", "/api/v1/admin/subscribers/{id}", api_subscriber_remove,
              &app->api_subscribers, 0);
}

static void add_history(struct app *app)
{
    struct api_history *h = &app->api_history;

    *h = (struct api_history){ .store = app->node.store, .auth = app->auth };
    add_route(app, "GET", "/api/v1/admin/events", api_history_events, h, 0);
    add_route(app, "GET", "/api/v1/admin/notifications", api_history_notifications, h, 0);
}

static void add_timeline(struct app *app)
{
    struct api_timeline *t = &app->api_timeline;

    *t = (struct api_timeline){ .store = app->node.store, .auth = app->auth };
    add_route(app, "GET", "/api/v1/admin/payments/{id}/timeline", api_timeline_get, t, 0);
}

static void add_users(struct app *app)
{
    struct api_users *u = &app->api_users;

    *u = (struct api_users){
        .env = &app->node.env, .store = app->node.store, .queue = app->queue, .auth = app->auth
    };
    add_route(app, "PUT", "/api/v1/users/{id}", api_user_put, u, LIMIT_CONTACT_BODY);
    add_route(app, "GET", "/api/v1/users/{id}", api_user_get, u, 0);
    add_route(app, "DELETE", "/api/v1/users/{id}", api_user_forget, u, 0);
}

static void add_dlq(struct app *app)
{
    struct api_dlq *d = &app->api_dlq;

    *d = (struct api_dlq){ .store = app->node.store, .auth = app->auth };
    d->letters =
        (struct dead_letters){ .env = &app->node.env,
                               .queue = app->queue,
                               .kinds = app->dead_kinds,
                               .kind_count = dead_kinds_fill(app->dead_kinds, &app->qstash) };
    add_route(app, "GET", "/api/v1/admin/dlq", api_dlq_list, d, 0);
    add_route(app, "POST", "/api/v1/admin/dlq/retry", api_dlq_retry, d, LIMIT_DEAD_BODY);
    add_route(app, "POST", "/api/v1/admin/dlq/delete", api_dlq_delete, d, LIMIT_DEAD_BODY);
    add_route(app, "GET", "/api/v1/admin/dlq/groups", api_dlq_groups, d, 0);
    add_route(app, "GET", "/api/v1/admin/dlq/{id}", api_dlq_get, d, 0);
    add_route(app, "DELETE", "/api/v1/admin/dlq/{id}", api_dlq_delete_one, d, 0);
    add_route(app, "POST", "/api/v1/admin/dlq/{id}/retry", api_dlq_retry_one, d,
              LIMIT_DEAD_EDIT_BODY);
}

static void add_redrives(struct app *app)
{
    struct api_redrives *x = &app->api_redrives;

    app->redrives = (struct redrives){ .letters = &app->api_dlq.letters, .replay = replay_event };
    *x = (struct api_redrives){ .store = app->node.store,
                                .auth = app->auth,
                                .redrives = &app->redrives };
    add_route(app, "POST", "/api/v1/admin/redrives", api_redrive_start, x, LIMIT_DEAD_BODY);
    add_route(app, "GET", "/api/v1/admin/redrives", api_redrive_list, x, 0);
    add_route(app, "GET", "/api/v1/admin/redrives/{id}", api_redrive_get, x, 0);
    add_route(app, "POST", "/api/v1/admin/redrives/{id}/cancel", api_redrive_cancel, x, 0);
    add_route(app, "POST", "/api/v1/admin/replays", api_replay_start, x, LIMIT_DEAD_BODY);
}

static void add_audit(struct app *app)
{
    struct api_audit *a = &app->api_audit;

    *a = (struct api_audit){ .store = app->node.store, .auth = app->auth };
    add_route(app, "GET", "/api/v1/admin/audit", api_audit_list, a, 0);
    add_route(app, "GET", "/api/v1/admin/audit/verify", api_audit_verify, a, 0);
    add_route(app, "GET", "/api/v1/admin/audit/export", api_audit_export, a, 0);
}

static void add_alerts(struct app *app)
{
    app->api_alerts = (struct api_alerts){ .store = app->node.store,
                                           .auth = app->auth,
                                           .watch = &app->alert_watch };
    app->api_slo = (struct api_slo){ .auth = app->auth,
                                     .watch = &app->alert_watch,
                                     .remote = app->node.settings.queue_remote };
    add_route(app, "GET", "/api/v1/admin/alerts", api_alerts_list, &app->api_alerts, 0);
    add_route(app, "GET", "/api/v1/admin/slo", api_slo_get, &app->api_slo, 0);
}

static void add_books(struct app *app)
{
    struct api_reconciliations *c = &app->api_reconciliations;

    app->api_unknown = (struct api_unknown){ .store = app->node.store, .auth = app->auth };
    *c = (struct api_reconciliations){ .store = app->node.store,
                                       .auth = app->auth,
                                       .reconcile = &app->reconcile };
    add_route(app, "GET", "/api/v1/admin/unknown", api_unknown_list, &app->api_unknown, 0);
    add_route(app, "GET", "/api/v1/admin/reconciliations", api_reconciliation_list, c, 0);
    add_route(app, "GET", "/api/v1/admin/reconciliations/{day}", api_reconciliation_get, c, 0);
    add_route(app, "POST", "/api/v1/admin/reconciliations/{day}", api_reconciliation_run, c, 0);
}

static void add_transfers(struct app *app)
{
    struct api_transfers *t = &app->api_transfers;

    *t = (struct api_transfers){ .payments = &app->payments, .auth = app->auth };
    add_route(app, "GET", "/api/v1/admin/transfers", api_transfer_list, t, 0);
    add_route(app, "POST", "/api/v1/admin/transfers/imports", api_transfer_import, t,
              LIMIT_BANK_FILE);
    add_route(app, "GET", "/api/v1/admin/transfers/imports", api_transfer_imports, t, 0);
    add_route(app, "GET", "/api/v1/admin/transfers/lines", api_transfer_lines, t, 0);
    add_route(app, "GET", "/api/v1/admin/transfers/returns", api_transfer_returns, t, 0);
    add_route(app, "POST", "/api/v1/admin/transfers/{id}/confirm", api_transfer_confirm, t,
              LIMIT_BANK_BODY);
    add_route(app, "POST", "/api/v1/admin/transfers/lines/{id}/assign", api_transfer_assign, t,
              LIMIT_BANK_BODY);
    add_route(app, "POST", "/api/v1/admin/transfers/lines/{id}/set-aside", api_transfer_set_aside,
              t, LIMIT_BANK_BODY);
    add_route(app, "POST", "/api/v1/admin/transfers/returns/{id}/paid", api_transfer_paid, t,
              LIMIT_BANK_BODY);
    add_route(app, "POST", "/api/v1/admin/refunds/{id}/paid", api_transfer_paid, t,
              LIMIT_BANK_BODY);
}

static void add_campaigns(struct app *app)
{
    struct api_payments *api = &app->api_payments;

    add_route(app, "PUT", "/api/v1/campaigns/{id}", api_campaign_put, api, LIMIT_CAMPAIGN_BODY);
    add_route(app, "GET", "/api/v1/campaigns/{id}", api_campaign_get, api, 0);
    add_route(app, "GET", "/api/v1/campaigns", api_campaign_list, api, 0);
    add_route(app, "GET", "/api/v1/campaigns/{id}/positions", api_campaign_positions, api, 0);
    add_route(app, "GET", "/api/v1/campaigns/{id}/draw", api_campaign_draw, api, 0);
    add_route(app, "POST", "/api/v1/campaigns/{id}/cancel", api_campaign_cancel, api,
              LIMIT_PAYMENT_BODY);
    add_route(app, "POST", "/api/v1/positions/{id}/purchase", api_purchase_create, api,
              LIMIT_PAYMENT_BODY);
    add_route(app, "POST", "/api/v1/purchases/{id}/cancel", api_purchase_cancel, api,
              LIMIT_PAYMENT_BODY);
    add_route(app, "GET", "/api/v1/purchases/{id}", api_purchase_get, api, 0);
    add_route(app, "GET", "/api/v1/purchases", api_purchase_list, api, 0);
}

static void add_collections(struct app *app)
{
    struct api_payments *api = &app->api_payments;

    add_route(app, "PUT", "/api/v1/collections/{id}", api_collection_put, api,
              LIMIT_COLLECTION_BODY);
    add_route(app, "GET", "/api/v1/collections/{id}", api_collection_get, api, 0);
    add_route(app, "GET", "/api/v1/collections", api_collection_list, api, 0);
    add_route(app, "POST", "/api/v1/participants/{id}/checkout", api_participant_checkout, api,
              LIMIT_PAYMENT_BODY);
    add_route(app, "GET", "/api/v1/participants/{id}", api_participant_get, api, 0);
}

static void add_login(struct app *app)
{
    struct api_login *l = app_login(app);
    struct api_operators *o = &app->api_operators;

    *o = (struct api_operators){
        .env = &app->node.env, .store = app->node.store, .auth = app->auth, .hasher = app->hasher
    };
    add_route(app, "POST", "/api/v1/admin/login", api_login, l, LIMIT_LOGIN_BODY);
    add_route(app, "POST", "/api/v1/admin/logout", api_logout, l, LIMIT_LOGIN_BODY);
    add_route(app, "GET", "/api/v1/admin/session", api_session_get, l, 0);
    add_route(app, "POST", "/api/v1/admin/session/password", api_session_password, l,
              LIMIT_LOGIN_BODY);
    add_route(app, "GET", "/api/v1/admin/operators", api_operator_list, o, 0);
    add_route(app, "POST", "/api/v1/admin/operators", api_operator_add, o, LIMIT_OPERATOR_BODY);
    add_route(app, "PATCH", "/api/v1/admin/operators/{id}", api_operator_change, o,
              LIMIT_OPERATOR_BODY);
}

static void add_live(struct app *app)
{
    struct api_queues *q = &app->api_queues;
    struct api_payments *api = &app->api_payments;

    app_fill_live(app);
    add_route(app, "GET", "/api/v1/admin/live", api_live_get, &app->api_live, 0);
    add_route(app, "GET", "/api/v1/admin/overview", api_overview_get, &app->api_overview, 0);
    add_route(app, "GET", "/api/v1/admin/settings", api_settings_list, &app->api_settings, 0);
    add_route(app, "GET", "/api/v1/admin/queues", api_queue_list, q, 0);
    add_route(app, "POST", "/api/v1/admin/queues/{name}/pause", api_queue_pause, q,
              LIMIT_CONTACT_BODY);
    add_route(app, "POST", "/api/v1/admin/queues/{name}/resume", api_queue_resume, q,
              LIMIT_CONTACT_BODY);
    add_route(app, "GET", "/api/v1/admin/schedules", api_schedule_list, q, 0);
    add_route(app, "POST", "/api/v1/admin/schedules/{id}/pause", api_schedule_pause, q,
              LIMIT_CONTACT_BODY);
    add_route(app, "POST", "/api/v1/admin/schedules/{id}/resume", api_schedule_resume, q,
              LIMIT_CONTACT_BODY);
    add_route(app, "GET", "/api/v1/admin/collections", api_collection_list, api, 0);
    add_route(app, "GET", "/api/v1/admin/collections/{id}", api_collection_get, api, 0);
    add_route(app, "GET", "/api/v1/admin/campaigns", api_campaign_list, api, 0);
    add_route(app, "GET", "/api/v1/admin/campaigns/{id}", api_campaign_get, api, 0);
    add_route(app, "GET", "/api/v1/admin/campaigns/{id}/draw", api_campaign_draw, api, 0);
}

/* Only where there is one: elsewhere these paths are not found. */
static void add_sandbox(struct app *app)
{
    struct api_sandbox *b = &app->api_sandbox;

    if (!app->sandbox)
        return;
    add_route(app, "POST", "/api/v1/admin/sandbox/payments", api_sandbox_pay, b,
              LIMIT_PAYMENT_BODY);
    add_route(app, "GET", "/api/v1/admin/sandbox/faults", api_sandbox_faults, b, 0);
    add_route(app, "PUT", "/api/v1/admin/sandbox/faults", api_sandbox_set_faults, b,
              LIMIT_PAYMENT_BODY);
    add_route(app, "DELETE", "/api/v1/admin/sandbox/faults", api_sandbox_clear_faults, b, 0);
    add_route(app, "POST", "/api/v1/admin/sandbox/events", api_sandbox_event, b,
              LIMIT_PAYMENT_BODY);
}

/* A destination stands in the path: its bytes are the door's own business. */
static void add_raw(struct app *app, const char *method, const char *path, size_t body_max)
{
    struct route *r = &app->routes[app->route_count];

    add_route(app, method, path, qstash_handle, &app->qstash, body_max);
    r->raw = true;
    r->problem = qstash_problem;
}

static void add_qstash(struct app *app)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };

    add_raw(app, "POST", "/v2/batch", LIMIT_QSTASH_BATCH);
    for (size_t i = 0; i < COUNT(methods); i++)
        add_raw(app, methods[i], "/v2/*", LIMIT_QSTASH_BODY);
}

static void move_sandbox_clock(void *sandbox, int64_t ms, void (*moved)(void *ctx), void *ctx)
{
    sandbox_clock_moved(sandbox, ms, moved, ctx);
}

static void add_test_clock(struct app *app)
{
    app->test_clock =
        (struct api_test_clock){ .queue = app->queue, .home = server_home(app->server) };
    if (app->sandbox) {
        app->test_clock.also = move_sandbox_clock;
        app->test_clock.also_ctx = app->sandbox;
    }
    add_route(app, "POST", "/test/clock", api_test_clock, &app->test_clock, 0);
}

void app_fill_routes(struct app *app)
{
    const struct settings *s = &app->node.settings;

    app->health = (struct api_health){ app->node.store, app->queue, s->oldest_ready_limit_ms,
                                       s->backlog_limit };
    app->metrics = (struct api_metrics){ app->node.store, app->queue };
    add_route(app, "GET", "/", api_front, NULL, 0);
    add_route(app, "GET", "/admin", admin_page, NULL, 0);
    add_route(app, "GET", "/admin/*", admin_page, NULL, 0);
    add_probe(app, "/healthz", api_healthz, NULL);
    add_probe(app, "/readyz", api_readyz, &app->health);
    add_route(app, "GET", "/metrics", api_metrics, &app->metrics, 0);
    add_route(app, "POST", "/api/v1/webhooks/stripe", stripe_door_handle, app->door,
              LIMIT_WEBHOOK_BODY);
    if (app->paypay_door)
        add_route(app, "POST", "/api/v1/webhooks/paypay", paypay_door_handle, app->paypay_door,
                  LIMIT_WEBHOOK_BODY);
    if (app_has_worker(app))
        add_route(app, "POST", WORKER_PATH, worker_handle, &app->worker, LIMIT_WEBHOOK_BODY);
    add_payments(app);
    add_admin_payments(app);
    add_bookings(app);
    add_history(app);
    add_timeline(app);
    add_users(app);
    add_dlq(app);
    add_redrives(app);
    add_audit(app);
    add_alerts(app);
    add_transfers(app);
    add_books(app);
    add_campaigns(app);
    add_collections(app);
    add_login(app);
    add_live(app);
    add_sandbox(app);
    if (app_has_qstash(app))
        add_qstash(app);
    if (s->test_clock)
        add_test_clock(app);
    server_set_routes(app->server, app->routes, app->route_count);
}
