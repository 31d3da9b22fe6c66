/* app_jobs.c - the use cases: what they share, and what the queue runs for them. */
#include "base/limits.h"
#include "booking/booking.h"
#include "campaign/campaign.h"
#include "campaign/lottery.h"
#include "collection/reminder.h"
#include "event/payment_poll.h"
#include "event/refetch.h"
#include "observe/log.h"
#include "payment/follow.h"
#include "payment/keys.h"
#include "payment/operate.h"
#include "payment/refund_retry.h"
#include "payment/replays.h"
#include "payment/waiting.h"
#include "server/app.h"
#include "server/payables.h"

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

enum { REMINDER_MINUTE = 10 * 60 }; /* for who asks for days where the server has no hour */

/* S2: of collections without reminders of their own; off: such have none. */
static struct reminder_rule reminders_of(const struct settings *s)
{
    struct reminder_rule none = { .minute = REMINDER_MINUTE }, rule = none;
    bool on = reminder_time_read(s->reminder_time, &rule.minute) &&
              reminder_days_read(s->reminder_days, &rule);

    return on ? rule : none;
}

static void fill_payments(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct payments *p = &app->payments;

    p->runtime.env = &app->node.env;
    p->runtime.store = app->node.store;
    p->runtime.home = server_home(app->server);
    p->waiting = waiting_new();
    p->replays = replays_new(p->runtime.env, p->runtime.store, p->runtime.home);
    p->gateways = &app->gateways;
    p->payables = &server_payables;
    p->return_url = s->return_url;
    p->key_ttl_ms = s->key_ttl_ms;
    p->action_limit_ms = s->action_limit_ms;
    p->reservation_ms = s->reservation_ms;
    p->reminders = reminders_of(s);
    p->notifier = (struct notifier){ .runtime = &p->runtime,
                                     .language = str_eq(s->language, S("en")) ? LANG_EN : LANG_JA,
                                     .has_channel = app_can_tell(app) };
    p->expire_also = dead_failures_expire;
    p->refetch = wants_refetch(s);
    app->charge_later.payments = p;
    app->audit_sealer.runtime = &p->runtime;
    app->retention = (struct retention){ .payments = p, .days = s->retention_days };
    app->apply = (struct apply_event){ .expect_livemode = is_live_key(s->stripe_secret_key),
                                       .payments = p,
                                       .charge_later = &app->charge_later };
    app->deliveries = (struct deliveries){ .env = p->runtime.env,
                                           .store = p->runtime.store,
                                           .client = app->delivery_client,
                                           .home = p->runtime.home };
}

void app_fill_kinds(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct payments *p = &app->payments;
    struct job_kind kinds[] = {
        apply_event_kind(&app->apply, s->retries, s->retry_first_ms),
        refetch_kind(p, s->retries, s->retry_first_ms),
        paypay_refetch_kind(p, s->retries, s->retry_first_ms),
        poll_kind(p),
        poll_lapsed_kind(p),
        operation_kind(p),
        follow_abandon_kind(p),
        follow_lapse_kind(p),
        refund_again_kind(p),
        keys_expire_kind(p),
        retention_kind(&app->retention),
        audit_seal_kind(&app->audit_sealer),
        booking_confirm_kind(p),
        booking_cancelled_kind(p),
        delivery_kind(&app->deliveries),
        campaign_cancel_kind(p),
        draw_kind(p),
        reminder_kind(p),
        reminder_plan_kind(p),
        notify_kind(&app->notify),
        notify_send_kind(&app->notify, CHANNEL_MAIL),
        notify_send_kind(&app->notify, CHANNEL_PUSH),
        notify_send_kind(&app->notify, CHANNEL_WEBHOOK),
        contact_forget_kind(),
        charge_fee_kind(&app->charge_later),
        charge_refunds_kind(p),
        dead_causes_kind(),
        redrive_kind(&app->redrives),
        unknown_kind(&app->unknown),
        alert_kind(&app->alert_out),
        reconcile_kind(&app->reconcile),
        reconcile_daily_kind(&app->reconcile),
        heal_kind(&app->heal),
        publish_kind(&app->publisher),
        watch_kind(&app->publisher),
        mirror_kind(&app->publisher),
        qstash_deliver_kind(&app->qstash),
        qstash_window_kind(&app->qstash),
        qstash_sweep_kind(&app->qstash),
        qstash_schedule_kind(&app->qstash),
        qstash_forget_kind(&app->qstash),
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

static enum err start_retention_run(struct tx *tx, struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, retention_unit);

    return retention_start(tx, &app->retention, env_now_ms(&app->node.env));
}

static void retention_started(struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, retention_unit);

    if (u->err && u->err != ERR_CONFLICT)
        LOG(app->node.env.log, LOG_WARN, "old payloads are kept until the next start",
            LOG_TEXT("code", str_of(err_code(u->err))));
}

static enum err start_audit_run(struct tx *tx, struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, audit_unit);

    return audit_seal_start(tx, &app->audit_sealer, env_now_ms(&app->node.env));
}

static void audit_started(struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, audit_unit);

    if (u->err && u->err != ERR_CONFLICT)
        LOG(app->node.env.log, LOG_WARN, "the audit log is not sealed until the next start",
            LOG_TEXT("code", str_of(err_code(u->err))));
    audit_seal_watch(&app->audit_sealer, server_home(app->server));
}

static enum err start_qstash_run(struct tx *tx, struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, qstash_unit);

    return qstash_start(tx, &app->qstash, env_now_ms(&app->node.env));
}

static void qstash_started(struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, qstash_unit);

    if (u->err && u->err != ERR_CONFLICT)
        LOG(app->node.env.log, LOG_WARN,
            "the QStash signing keys are read when they are first needed, and what is old is kept"
            " until the next start",
            LOG_TEXT("code", str_of(err_code(u->err))));
}

static enum err start_reminders_run(struct tx *tx, struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, reminder_unit);

    return reminder_start(tx, &app->payments, env_now_ms(&app->node.env));
}

static void reminders_started(struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, reminder_unit);

    if (u->err)
        LOG(app->node.env.log, LOG_WARN,
            "collections keep the reminders that they had until the next start",
            LOG_TEXT("code", str_of(err_code(u->err))));
}

static enum err start_causes_run(struct tx *tx, struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, causes_unit);

    return dead_causes_start(tx, app->queue, env_now_ms(&app->node.env));
}

static void causes_started(struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, causes_unit);

    if (u->err && u->err != ERR_CONFLICT)
        LOG(app->node.env.log, LOG_WARN, "old dead letters have no cause until the next start",
            LOG_TEXT("code", str_of(err_code(u->err))));
}

static void app_jobs_started(struct unit *u)
{
    struct app *app = CONTAINER_OF(u, struct app, start_unit);

    if (u->err && u->err != ERR_CONFLICT) /* CONFLICT: it is there since an earlier start */
        LOG(app->node.env.log, LOG_WARN, "expired keys are not deleted until the next start",
            LOG_TEXT("code", str_of(err_code(u->err))));
}

void app_start_flows(struct app *app)
{
    static const struct unit_kind kind = { "flows.start", UNIT_BACK, start_run, NULL };
    static const struct unit_kind qstash_kind = { "qstash.start", UNIT_BACK, start_qstash_run,
                                                  NULL };
    static const struct unit_kind forget_kind = { "retention.start", UNIT_BACK, start_retention_run,
                                                  NULL };
    static const struct unit_kind audit_kind = { "audit.start", UNIT_BACK, start_audit_run, NULL };
    static const struct unit_kind remind_kind = { "reminders.start", UNIT_BACK, start_reminders_run,
                                                  NULL };
    static const struct unit_kind causes_kind = { "dlq.causes", UNIT_BACK, start_causes_run, NULL };

    app->causes_unit = (struct unit){ .kind = &causes_kind,
                                      .home = server_home(app->server),
                                      .done = causes_started };
    store_post(app->node.store, &app->causes_unit);
    redrive_watch(&app->redrive_watch, &app->redrives, app->node.store, server_home(app->server));
    app->start_unit =
        (struct unit){ .kind = &kind, .home = server_home(app->server), .done = app_jobs_started };
    store_post(app->node.store, &app->start_unit);
    app->retention_unit = (struct unit){ .kind = &forget_kind,
                                         .home = server_home(app->server),
                                         .done = retention_started };
    store_post(app->node.store, &app->retention_unit);
    app->audit_unit = (struct unit){ .kind = &audit_kind,
                                     .home = server_home(app->server),
                                     .done = audit_started };
    store_post(app->node.store, &app->audit_unit);
    app->qstash_unit = (struct unit){ .kind = &qstash_kind,
                                      .home = server_home(app->server),
                                      .done = qstash_started };
    store_post(app->node.store, &app->qstash_unit);
    app->reminder_unit = (struct unit){ .kind = &remind_kind,
                                        .home = server_home(app->server),
                                        .done = reminders_started };
    store_post(app->node.store, &app->reminder_unit);
}
