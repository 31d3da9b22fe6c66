/* app_routes.c - which path is whose. */
#include "api/campaigns.h"
#include "api/collections.h"
#include "api/front.h"
#include "api/purchases.h"
#include "base/limits.h"
#include "cli/app.h"

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
    add_probe(app, "/healthz", api_healthz, NULL);
    add_probe(app, "/readyz", api_readyz, &app->health);
    add_route(app, "GET", "/metrics", api_metrics, &app->metrics, 0);
    add_route(app, "POST", "/api/v1/webhooks/stripe", stripe_door_handle, app->door,
              LIMIT_WEBHOOK_BODY);
    add_payments(app);
    add_bookings(app);
    add_history(app);
    add_campaigns(app);
    add_collections(app);
    if (s->test_clock)
        add_test_clock(app);
    server_set_routes(app->server, app->routes, app->route_count);
}
