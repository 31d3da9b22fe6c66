/* app_flows.c - the use cases: what they share, and what the queue runs for them. */
#include "base/limits.h"
#include "cli/app.h"
#include "flow/booking.h"
#include "flow/campaign.h"
#include "flow/draw.h"
#include "flow/follow.h"
#include "flow/keys.h"
#include "flow/notice.h"
#include "flow/operate.h"
#include "flow/refetch.h"
#include "flow/waiting.h"
#include "observe/log.h"

#include <assert.h>

/* E2: events of a real gateway are looked at again before money is believed in. */
static bool wants_refetch(const struct settings *s)
{
    if (str_eq(s->refetch, S("auto")))
        return !str_eq(s->gateway, S("sandbox"));
    return str_eq(s->refetch, S("on"));
}

static bool is_live_key(struct str key)
{
    return str_starts(key, S("sk_live_")) || str_starts(key, S("rk_live_"));
}

static void fill_payments(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct payments *p = &app->payments;

    p->env = &app->node.env;
    p->store = app->node.store;
    p->home = server_home(app->server);
    p->waiting = waiting_new();
    p->default_method = str_eq(s->gateway, S("sandbox")) ? S("pm_card_visa") : S("");
    p->return_url = s->return_url;
    p->key_ttl_ms = s->key_ttl_ms;
    p->action_limit_ms = s->action_limit_ms;
    p->reservation_ms = s->reservation_ms;
    p->notice_language = str_eq(s->language, S("en")) ? LANG_EN : LANG_JA;
    p->refetch = wants_refetch(s);
    app->charge_later.payments = p;
    app->apply = (struct apply_event){ .expect_livemode = is_live_key(s->stripe_secret_key),
                                       .payments = p,
                                       .charge_later = &app->charge_later };
    app->deliveries = (struct deliveries){
        .env = p->env, .store = p->store, .client = app->delivery_client, .home = p->home
    };
}

void app_fill_kinds(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct payments *p = &app->payments;
    struct job_kind kinds[] = {
        apply_event_kind(&app->apply, s->retries, s->retry_first_ms),
        refetch_kind(p, s->retries, s->retry_first_ms),
        operation_kind(p),
        follow_abandon_kind(p),
        follow_lapse_kind(p),
        keys_expire_kind(p),
        booking_confirm_kind(p),
        booking_cancelled_kind(p),
        delivery_kind(&app->deliveries),
        campaign_cancel_kind(p),
        draw_kind(p),
        notice_kind(p),
        charge_fee_kind(&app->charge_later),
        charge_refunds_kind(p),
    };

    fill_payments(app);
    static_assert(COUNT(kinds) <= KINDS, "room for all kinds");
    for (size_t i = 0; i < COUNT(kinds); i++)
        app->kinds[i] = kinds[i];
    app->kind_count = COUNT(kinds);
}

/* --- once at start --- */

static enum err start_run(struct tx *tx, struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, start_unit);

    return keys_expire_start(tx, &app->payments, env_now_ms(&app->node.env));
}

static void started(struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, start_unit);

    if (u->err && u->err != ERR_CONFLICT) /* CONFLICT: it is there since an earlier start */
        LOG(app->node.env.log, LOG_WARN, "expired keys are not deleted until the next start",
            LOG_TEXT("code", str_of(err_code(u->err))));
}

void app_start_flows(struct app *app)
{
    static const struct unit_kind kind = { "flows.start", UNIT_BACK, start_run, NULL };

    app->start_unit =
        (struct unit){ .kind = &kind, .home = server_home(app->server), .done = started };
    store_post(app->node.store, &app->start_unit);
}
