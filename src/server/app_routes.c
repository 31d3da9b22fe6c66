/* app_routes.c - which path is whose, and who may call it: one row for each route.
 *
 * Routes that need a token are the tables of struct authorized_route; all rows of a table share one
 * ctx. Routes that are open, or check a signature or a session by themselves, stand in
 * add_open_routes(). What this file fills in the structs api_* is what the handlers are given. */
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

/* --- what the handlers are given --- */

static void fill_dlq(struct app *app)
{
    struct node *n = &app->node;

    app->api_dlq.store = n->store;
    app->api_dlq.letters =
        (struct dead_letters){ .env = &n->env,
                               .queue = app->queue,
                               .kinds = app->dead_kinds,
                               .kind_count = dead_kinds_fill(app->dead_kinds, &app->qstash) };
    app->redrives = (struct redrives){ .letters = &app->api_dlq.letters, .replay = replay_event };
    app->api_redrives = (struct api_redrives){ .store = n->store, .redrives = &app->redrives };
}

static void fill_alerts(struct app *app)
{
    app->api_alerts = (struct api_alerts){ .store = app->node.store, .watch = &app->alert_watch };
    app->api_slo =
        (struct api_slo){ .watch = &app->alert_watch, .remote = app->node.settings.queue_remote };
    app->api_reconciliations =
        (struct api_reconciliations){ .store = app->node.store, .reconcile = &app->reconcile };
}

static void fill_contexts(struct app *app)
{
    struct node *n = &app->node;
    const struct settings *s = &n->settings;

    app->health =
        (struct api_health){ n->store, app->queue, s->oldest_ready_limit_ms, s->backlog_limit };
    app->metrics = (struct api_metrics){ n->store, app->queue };
    app->api_payments =
        (struct api_payments){ .payments = &app->payments, .owner_may = s->owner_may };
    app->api_events = (struct api_events){
        .store = n->store, .payments = &app->payments, .auth = app->auth, .secret = s->events_secret
    };
    app->api_subscribers = (struct api_subscribers){ .env = &n->env, .store = n->store };
    app->api_users = (struct api_users){ .env = &n->env, .store = n->store, .queue = app->queue };
    app->api_operators =
        (struct api_operators){ .env = &n->env, .store = n->store, .hasher = app->hasher };
    fill_dlq(app);
    fill_alerts(app);
    app_fill_live(app);
}

/* --- the tables --- */

static const struct authorized_route payment_routes[] = {
    { "POST", "/payments", api_payment_create, ROLE_ANY_TOKEN, LIMIT_PAYMENT_BODY },
    { "GET", "/payments", api_payment_list, ROLE_ANY_TOKEN, 0 },
    { "GET", "/payments/{id}", api_payment_get, ROLE_ANY_TOKEN, 0 },
    { "POST", "/payments/{id}/capture", api_payment_capture, ROLE_ANY_TOKEN, LIMIT_PAYMENT_BODY },
    { "POST", "/payments/{id}/refund", api_payment_refund, ROLE_ANY_TOKEN, LIMIT_PAYMENT_BODY },
    { "POST", "/payments/{id}/void", api_payment_void, ROLE_ANY_TOKEN, LIMIT_PAYMENT_BODY },
    { "POST", "/api/v1/payments", api_payment_create, ROLE_ANY_TOKEN, LIMIT_PAYMENT_BODY },
    { "GET", "/api/v1/payments", api_payment_list, ROLE_ANY_TOKEN, 0 },
    { "GET", "/api/v1/payments/{id}", api_payment_get, ROLE_ANY_TOKEN, 0 },
    { "POST", "/api/v1/payments/{id}/capture", api_payment_capture, ROLE_ANY_TOKEN,
      LIMIT_PAYMENT_BODY },
    { "POST", "/api/v1/payments/{id}/refund", api_payment_refund, ROLE_ANY_TOKEN,
      LIMIT_PAYMENT_BODY },
    { "POST", "/api/v1/payments/{id}/void", api_payment_void, ROLE_ANY_TOKEN, LIMIT_PAYMENT_BODY },
    { "GET", "/api/v1/admin/payments", api_admin_payment_list, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/payments/{id}", api_admin_payment_get, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/payments/{id}/capture", api_admin_payment_capture, ROLE_OPERATOR,
      LIMIT_PAYMENT_BODY },
    { "POST", "/api/v1/admin/payments/{id}/refund", api_admin_payment_refund, ROLE_OPERATOR,
      LIMIT_PAYMENT_BODY },
    { "POST", "/api/v1/admin/payments/{id}/void", api_admin_payment_void, ROLE_OPERATOR,
      LIMIT_PAYMENT_BODY },
    { "GET", "/api/v1/admin/keys/{key}", api_admin_key_get, ROLE_OPERATOR, 0 },
};

static const struct authorized_route campaign_routes[] = {
    { "PUT", "/api/v1/campaigns/{id}", api_campaign_put, ROLE_SERVICE, LIMIT_CAMPAIGN_BODY },
    { "GET", "/api/v1/campaigns/{id}", api_campaign_get, ROLE_ANY_TOKEN, 0 },
    { "GET", "/api/v1/campaigns", api_campaign_list, ROLE_ANY_TOKEN, 0 },
    { "GET", "/api/v1/campaigns/{id}/positions", api_campaign_positions, ROLE_ANY_TOKEN, 0 },
    { "GET", "/api/v1/campaigns/{id}/draw", api_campaign_draw, ROLE_ANY_TOKEN, 0 },
    { "POST", "/api/v1/campaigns/{id}/cancel", api_campaign_cancel, ROLE_SERVICE,
      LIMIT_PAYMENT_BODY },
    { "POST", "/api/v1/positions/{id}/purchase", api_purchase_create, ROLE_ANY_TOKEN,
      LIMIT_PAYMENT_BODY },
    { "POST", "/api/v1/purchases/{id}/cancel", api_purchase_cancel, ROLE_ANY_TOKEN,
      LIMIT_PAYMENT_BODY },
    { "GET", "/api/v1/purchases/{id}", api_purchase_get, ROLE_ANY_TOKEN, 0 },
    { "GET", "/api/v1/purchases", api_purchase_list, ROLE_ANY_TOKEN, 0 },
    { "GET", "/api/v1/admin/campaigns", api_campaign_list, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/campaigns/{id}", api_campaign_get, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/campaigns/{id}/draw", api_campaign_draw, ROLE_OPERATOR, 0 },
};

static const struct authorized_route collection_routes[] = {
    { "PUT", "/api/v1/collections/{id}", api_collection_put, ROLE_ANY_TOKEN,
      LIMIT_COLLECTION_BODY },
    { "GET", "/api/v1/collections/{id}", api_collection_get, ROLE_ANY_TOKEN, 0 },
    { "GET", "/api/v1/collections", api_collection_list, ROLE_ANY_TOKEN, 0 },
    { "POST", "/api/v1/participants/{id}/checkout", api_participant_checkout, ROLE_ANY_TOKEN,
      LIMIT_PAYMENT_BODY },
    { "GET", "/api/v1/participants/{id}", api_participant_get, ROLE_ANY_TOKEN, 0 },
    { "GET", "/api/v1/admin/collections", api_admin_collection_list, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/collections/{id}", api_collection_get, ROLE_OPERATOR, 0 },
};

static const struct authorized_route booking_routes[] = {
    { "PUT", "/api/v1/bookings/{id}", api_booking_put, ROLE_SERVICE, LIMIT_BOOKING_BODY },
    { "GET", "/api/v1/bookings/{id}", api_booking_get, ROLE_ANY_TOKEN, 0 },
};

static const struct authorized_route subscriber_routes[] = {
    { "POST", "/api/v1/admin/subscribers", api_subscriber_add, ROLE_OPERATOR, LIMIT_BOOKING_BODY },
    { "GET", "/api/v1/admin/subscribers", api_subscriber_list, ROLE_OPERATOR, 0 },
    { "DELETE", "/api/v1/admin/subscribers/{id}", api_subscriber_remove, ROLE_OPERATOR, 0 },
};

static const struct authorized_route user_routes[] = {
    { "PUT", "/api/v1/users/{id}", api_user_put, ROLE_ANY_TOKEN, LIMIT_CONTACT_BODY },
    { "GET", "/api/v1/users/{id}", api_user_get, ROLE_ANY_TOKEN, 0 },
    { "DELETE", "/api/v1/users/{id}", api_user_forget, ROLE_ANY_TOKEN, 0 },
};

static const struct authorized_route transfer_routes[] = {
    { "GET", "/api/v1/admin/transfers", api_transfer_list, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/transfers/imports", api_transfer_import, ROLE_OPERATOR,
      LIMIT_BANK_FILE },
    { "GET", "/api/v1/admin/transfers/imports", api_transfer_imports, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/transfers/lines", api_transfer_lines, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/transfers/returns", api_transfer_returns, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/transfers/{id}/confirm", api_transfer_confirm, ROLE_OPERATOR,
      LIMIT_BANK_BODY },
    { "POST", "/api/v1/admin/transfers/lines/{id}/assign", api_transfer_assign, ROLE_OPERATOR,
      LIMIT_BANK_BODY },
    { "POST", "/api/v1/admin/transfers/lines/{id}/set-aside", api_transfer_set_aside, ROLE_OPERATOR,
      LIMIT_BANK_BODY },
    { "POST", "/api/v1/admin/transfers/returns/{id}/paid", api_transfer_paid, ROLE_OPERATOR,
      LIMIT_BANK_BODY },
    { "POST", "/api/v1/admin/refunds/{id}/paid", api_transfer_paid, ROLE_OPERATOR,
      LIMIT_BANK_BODY },
};

static const struct authorized_route history_routes[] = {
    { "GET", "/api/v1/admin/events", api_history_events, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/notifications", api_history_notifications, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/payments/{id}/timeline", api_timeline_get, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/audit", api_audit_list, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/audit/verify", api_audit_verify, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/audit/export", api_audit_export, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/unknown", api_unknown_list, ROLE_OPERATOR, 0 },
};

static const struct authorized_route dlq_routes[] = {
    { "GET", "/api/v1/admin/dlq", api_dlq_list, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/dlq/retry", api_dlq_retry, ROLE_OPERATOR, LIMIT_DEAD_BODY },
    { "POST", "/api/v1/admin/dlq/delete", api_dlq_delete, ROLE_OPERATOR, LIMIT_DEAD_BODY },
    { "GET", "/api/v1/admin/dlq/groups", api_dlq_groups, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/dlq/{id}", api_dlq_get, ROLE_OPERATOR, 0 },
    { "DELETE", "/api/v1/admin/dlq/{id}", api_dlq_delete_one, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/dlq/{id}/retry", api_dlq_retry_one, ROLE_OPERATOR,
      LIMIT_DEAD_EDIT_BODY },
};

static const struct authorized_route redrive_routes[] = {
    { "POST", "/api/v1/admin/redrives", api_redrive_start, ROLE_OPERATOR, LIMIT_DEAD_BODY },
    { "GET", "/api/v1/admin/redrives", api_redrive_list, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/redrives/{id}", api_redrive_get, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/redrives/{id}/cancel", api_redrive_cancel, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/replays", api_replay_start, ROLE_OPERATOR, LIMIT_DEAD_BODY },
};

static const struct authorized_route alert_routes[] = {
    { "GET", "/api/v1/admin/alerts", api_alerts_list, ROLE_OPERATOR, 0 },
};

static const struct authorized_route slo_routes[] = {
    { "GET", "/api/v1/admin/slo", api_slo_get, ROLE_OPERATOR, 0 },
};

static const struct authorized_route reconciliation_routes[] = {
    { "GET", "/api/v1/admin/reconciliations", api_reconciliation_list, ROLE_OPERATOR, 0 },
    { "GET", "/api/v1/admin/reconciliations/{day}", api_reconciliation_get, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/reconciliations/{day}", api_reconciliation_run, ROLE_OPERATOR, 0 },
};

static const struct authorized_route operator_routes[] = {
    { "GET", "/api/v1/admin/operators", api_operator_list, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/operators", api_operator_add, ROLE_OPERATOR, LIMIT_OPERATOR_BODY },
    { "PATCH", "/api/v1/admin/operators/{id}", api_operator_change, ROLE_OPERATOR,
      LIMIT_OPERATOR_BODY },
};

static const struct authorized_route live_routes[] = {
    { "GET", "/api/v1/admin/live", api_live_get, ROLE_OPERATOR, 0 },
};

static const struct authorized_route overview_routes[] = {
    { "GET", "/api/v1/admin/overview", api_overview_get, ROLE_OPERATOR, 0 },
};

static const struct authorized_route settings_routes[] = {
    { "GET", "/api/v1/admin/settings", api_settings_list, ROLE_OPERATOR, 0 },
};

static const struct authorized_route queue_routes[] = {
    { "GET", "/api/v1/admin/queues", api_queue_list, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/queues/{name}/pause", api_queue_pause, ROLE_OPERATOR,
      LIMIT_CONTACT_BODY },
    { "POST", "/api/v1/admin/queues/{name}/resume", api_queue_resume, ROLE_OPERATOR,
      LIMIT_CONTACT_BODY },
    { "GET", "/api/v1/admin/schedules", api_schedule_list, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/schedules/{id}/pause", api_schedule_pause, ROLE_OPERATOR,
      LIMIT_CONTACT_BODY },
    { "POST", "/api/v1/admin/schedules/{id}/resume", api_schedule_resume, ROLE_OPERATOR,
      LIMIT_CONTACT_BODY },
};

static const struct authorized_route sandbox_routes[] = {
    { "POST", "/api/v1/admin/sandbox/payments", api_sandbox_pay, ROLE_OPERATOR,
      LIMIT_PAYMENT_BODY },
    { "GET", "/api/v1/admin/sandbox/faults", api_sandbox_faults, ROLE_OPERATOR, 0 },
    { "PUT", "/api/v1/admin/sandbox/faults", api_sandbox_set_faults, ROLE_OPERATOR,
      LIMIT_PAYMENT_BODY },
    { "DELETE", "/api/v1/admin/sandbox/faults", api_sandbox_clear_faults, ROLE_OPERATOR, 0 },
    { "POST", "/api/v1/admin/sandbox/events", api_sandbox_event, ROLE_OPERATOR,
      LIMIT_PAYMENT_BODY },
};

/* --- into the server --- */

static void add_route(struct app *app, struct route route)
{
    assert(app->route_count < ROUTES);
    app->routes[app->route_count++] = route;
}

/* Whatever the table, a route below /api/v1/admin/ is for operators. */
static void add_authorized(struct app *app, const struct authorized_route *route, void *ctx)
{
    struct authorized *a = &app->authorized[app->route_count];

    assert(route->role == ROLE_OPERATOR || !str_starts(str_of(route->path), S(SESSION_PATH "/")));
    *a = (struct authorized){ .route = route, .auth = app->auth, .ctx = ctx };
    add_route(app, (struct route){ .method = route->method,
                                   .path = route->path,
                                   .handle = authorized_handle,
                                   .ctx = a,
                                   .body_max = route->body_max });
}

static void add_authorized_routes(struct app *app)
{
    const struct {
        const struct authorized_route *routes;
        size_t count;
        void *ctx;
    } tables[] = {
        { payment_routes, COUNT(payment_routes), &app->api_payments },
        { campaign_routes, COUNT(campaign_routes), &app->api_payments },
        { collection_routes, COUNT(collection_routes), &app->api_payments },
        { booking_routes, COUNT(booking_routes), &app->payments },
        { transfer_routes, COUNT(transfer_routes), &app->payments },
        { user_routes, COUNT(user_routes), &app->api_users },
        { history_routes, COUNT(history_routes), app->node.store },
        { dlq_routes, COUNT(dlq_routes), &app->api_dlq },
        { redrive_routes, COUNT(redrive_routes), &app->api_redrives },
        { reconciliation_routes, COUNT(reconciliation_routes), &app->api_reconciliations },
        { subscriber_routes, COUNT(subscriber_routes), &app->api_subscribers },
        { operator_routes, COUNT(operator_routes), &app->api_operators },
        { queue_routes, COUNT(queue_routes), &app->api_queues },
        { alert_routes, COUNT(alert_routes), &app->api_alerts },
        { slo_routes, COUNT(slo_routes), &app->api_slo },
        { live_routes, COUNT(live_routes), &app->live_watch },
        { overview_routes, COUNT(overview_routes), &app->api_overview },
        { settings_routes, COUNT(settings_routes), &app->api_settings },
        /* Without a sandbox these paths are not found. */
        { sandbox_routes, app->sandbox ? COUNT(sandbox_routes) : 0, &app->api_sandbox },
    };

    for (size_t i = 0; i < COUNT(tables); i++)
        for (size_t k = 0; k < tables[i].count; k++)
            add_authorized(app, &tables[i].routes[k], tables[i].ctx);
}

static void add_open_routes(struct app *app)
{
    struct api_login *login = app_login(app);
    const struct route routes[] = {
        { "GET", "/", api_front, .ctx = NULL },
        { "GET", "/admin", admin_page, .ctx = NULL },
        { "GET", "/admin/*", admin_page, .ctx = NULL },
        /* Probes decide whether we live: load never refuses them an answer. */
        { "GET", "/healthz", api_healthz, .unlimited = true },
        { "GET", "/readyz", api_readyz, &app->health, .unlimited = true },
        { "GET", "/metrics", api_metrics, .ctx = &app->metrics },
        { "POST", "/api/v1/webhooks/stripe", stripe_door_handle, app->door,
          .body_max = LIMIT_WEBHOOK_BODY },
        { "POST", "/api/v1/events", api_events_post, &app->api_events,
          .body_max = LIMIT_EVENTS_BODY },
        { "POST", "/api/v1/admin/login", api_login, login, .body_max = LIMIT_LOGIN_BODY },
        { "POST", "/api/v1/admin/logout", api_logout, login, .body_max = LIMIT_LOGIN_BODY },
        { "GET", "/api/v1/admin/session", api_session_get, .ctx = login },
        { "POST", "/api/v1/admin/session/password", api_session_password, login,
          .body_max = LIMIT_LOGIN_BODY },
    };

    for (size_t i = 0; i < COUNT(routes); i++)
        add_route(app, routes[i]);
    if (app->paypay_door)
        add_route(app, (struct route){ "POST", "/api/v1/webhooks/paypay", paypay_door_handle,
                                       app->paypay_door, .body_max = LIMIT_WEBHOOK_BODY });
    if (app_has_worker(app))
        add_route(app, (struct route){ "POST", WORKER_PATH, worker_handle, &app->worker,
                                       .body_max = LIMIT_WEBHOOK_BODY });
}

/* A destination stands in the path: its bytes are for the QStash endpoint to read. */
static void add_qstash(struct app *app)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };
    struct route route = { "POST",
                           "/v2/batch",
                           qstash_handle,
                           &app->qstash,
                           .body_max = LIMIT_QSTASH_BATCH,
                           .raw = true,
                           .problem = qstash_problem };

    add_route(app, route);
    route.path = "/v2/*";
    route.body_max = LIMIT_QSTASH_BODY;
    for (size_t i = 0; i < COUNT(methods); i++) {
        route.method = methods[i];
        add_route(app, route);
    }
}

static void move_sandbox_clock(void *sandbox, int64_t ms, void (*moved)(void *ctx), void *ctx)
{
    sandbox_clock_moved(sandbox, ms, moved, ctx);
}

static void add_test_clock(struct app *app)
{
    app->test_clock =
        (struct api_test_clock){ .queue = app->queue, .executor = server_executor(app->server) };
    if (app->sandbox) {
        app->test_clock.also = move_sandbox_clock;
        app->test_clock.also_ctx = app->sandbox;
    }
    add_route(app,
              (struct route){ "POST", "/test/clock", api_test_clock, .ctx = &app->test_clock });
}

void app_fill_routes(struct app *app)
{
    fill_contexts(app);
    add_open_routes(app);
    add_authorized_routes(app);
    if (app_has_qstash(app))
        add_qstash(app);
    if (app->node.settings.test_clock)
        add_test_clock(app);
    server_set_routes(app->server, app->routes, app->route_count);
}
