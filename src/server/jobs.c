/* jobs.c - the payments module and its relatives, the job kinds that the queue runs for them, the
 * queue itself, and the jobs that every start adds.
 *
 *   (1) A kind of message that no row of fill_kinds() names becomes a dead letter.
 *   (2) A first job adds one message under a fixed dedupe key, so a start after a crash adds
 * none. */
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

/* E2: an event of a real gateway is not trusted; its object is fetched again from the provider. */
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

enum {
    REMINDER_MINUTE = 10 * 60
}; /* of the day, for a collection that sets days where the server sets no hour */

/* S2: the rule for collections that set no reminders of their own. Where the settings turn it off,
 * it has no days. */
static struct reminder_rule reminders_of(const struct settings *s)
{
    struct reminder_rule none = { .minute = REMINDER_MINUTE }, rule = none;
    bool on = reminder_time_read(s->reminder_time, &rule.minute) &&
              reminder_days_read(s->reminder_days, &rule);

    return on ? rule : none;
}

bool app_open_payments(struct app *app)
{
    const struct settings *s = &app->node.settings;
    struct payments *p = &app->payments;

    p->runtime.env = &app->node.env;
    p->runtime.store = app->node.store;
    p->runtime.executor = server_executor(app->server);
    p->waiting = waiting_new();
    p->replays = replays_new(p->runtime.env, p->runtime.store, p->runtime.executor);
    p->gateways = &app->gateways;
    p->payables = &server_payables;
    p->return_url = s->return_url;
    p->key_ttl_ms = s->key_ttl_ms;
    p->action_limit_ms = s->action_limit_ms;
    p->reservation_ms = s->reservation_ms;
    p->reminders = reminders_of(s);
    p->notifier = (struct notifier){ .runtime = &p->runtime,
                                     .language = str_eq(s->language, S("en")) ? LANG_EN : LANG_JA,
                                     .has_channel = app_has_channel(app) };
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
                                           .executor = p->runtime.executor };
    return p->waiting;
}

void app_close_payments(struct app *app)
{
    waiting_free(app->payments.waiting);
    replays_free(app->payments.replays);
}

void app_drain_replays(struct app *app, void (*done)(void *ctx), void *ctx)
{
    replays_stop(app->payments.replays, done, ctx);
}

/* --- the queue --- */

static void fill_kinds(struct app *app)
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

    static_assert(COUNT(kinds) <= KINDS, "room for all kinds");
    for (size_t i = 0; i < COUNT(kinds); i++)
        app->kinds[i] = kinds[i];
    app->kind_count = COUNT(kinds);
}

void app_log_dead_letter(void *ctx, const struct message *m, const char *why)
{
    struct app *app = ctx;
    char id[UUID_TEXT + 1];

    uuid_text(m->id, id);
    LOG(app->node.env.log, LOG_ERROR, "dead letter", LOG_TEXT("messageId", str_of(id)),
        LOG_TEXT("kind", m->kind), LOG_TEXT("ref", m->ref), LOG_NUM("attempts", m->attempt),
        LOG_TEXT("why", str_of(why)));
}

bool app_open_queue(struct app *app)
{
    struct queue_options o = { .store = app->node.store,
                               .executor = server_executor(app->server),
                               .env = &app->node.env,
                               .kinds = app->kinds,
                               .alert = app_log_dead_letter,
                               .alert_ctx = app,
                               .buried = dead_letter_note };
    struct queue *q;

    fill_kinds(app);
    o.kind_count = app->kind_count;
    q = queue_new_runner(&o);
    app->payments.runtime.queue = app->qstash.queue = app->worker.queue = q;
    atomic_store(&app->queue, q);
    return q;
}

void app_drain_queue(struct app *app, void (*done)(void *ctx), void *ctx)
{
    queue_stop(app->queue, done, ctx);
}

void app_close_queue(struct app *app)
{
    queue_free(app->queue);
    audit_seal_close(&app->audit_sealer);
}

/* --- the first jobs --- */

/* A unit of work that is posted at every start. Most of them store the one message of a job that
 * renews itself. */
struct first_job {
    struct unit_kind kind; /* its run is first_job_run() */
    enum err (*add)(struct tx *tx, struct app *app, int64_t now_ms);
    bool once; /* CONFLICT: an earlier start has stored the message already */
    const char *warning;
};

static enum err first_causes(struct tx *tx, struct app *app, int64_t now_ms)
{
    return dead_causes_start(tx, app->queue, now_ms);
}

static enum err first_keys(struct tx *tx, struct app *app, int64_t now_ms)
{
    return keys_expire_start(tx, &app->payments, now_ms);
}

static enum err first_retention(struct tx *tx, struct app *app, int64_t now_ms)
{
    return retention_start(tx, &app->retention, now_ms);
}

static enum err first_audit(struct tx *tx, struct app *app, int64_t now_ms)
{
    return audit_seal_start(tx, &app->audit_sealer, now_ms);
}

static enum err first_qstash(struct tx *tx, struct app *app, int64_t now_ms)
{
    return qstash_start(tx, &app->qstash, now_ms);
}

static enum err first_reminders(struct tx *tx, struct app *app, int64_t now_ms)
{
    return reminder_start(tx, &app->payments, now_ms);
}

static enum err first_remote(struct tx *tx, struct app *app, int64_t now_ms)
{
    return mirror_start(tx, &app->publisher, now_ms);
}

static enum err first_backfill(struct tx *tx, struct app *app, int64_t now_ms)
{
    return heal_start(tx, &app->heal, now_ms);
}

static enum err first_unknown(struct tx *tx, struct app *app, int64_t now_ms)
{
    return unknown_start(tx, &app->unknown, now_ms);
}

static enum err first_reconcile(struct tx *tx, struct app *app, int64_t now_ms)
{
    return reconcile_daily_start(tx, &app->reconcile, now_ms);
}

static enum err first_job_run(struct tx *tx, struct unit *u)
{
    const struct first_job *job = CONTAINER_OF(u->kind, const struct first_job, kind);
    struct app *app = CONTAINER_OF(u, struct first_job_unit, unit)->app;

    return job->add(tx, app, env_now_ms(&app->node.env));
}

#define FIRST_JOB(name)                                                                            \
    {                                                                                              \
        name, UNIT_BACK, first_job_run, NULL                                                       \
    }
#define NOT_QUERIED "what is found out by asking begins at the next start"

static const struct first_job first_jobs[] = {
    { FIRST_JOB("dlq.causes"), first_causes, true,
      "old dead letters have no cause until the next start" },
    { FIRST_JOB("flows.start"), first_keys, true,
      "expired keys are not deleted until the next start" },
    { FIRST_JOB("retention.start"), first_retention, true,
      "old payloads are kept until the next start" },
    { FIRST_JOB("audit.start"), first_audit, true,
      "the audit log is not sealed until the next start" },
    { FIRST_JOB("qstash.start"), first_qstash, true,
      "the QStash signing keys are read when they are first needed, and what is old is kept"
      " until the next start" },
    { FIRST_JOB("reminders.start"), first_reminders, false,
      "collections keep the reminders that they had until the next start" },
    { FIRST_JOB("remote.start"), first_remote, true,
      "the remote QStash's dead letters are not looked at until the next start" },
    { FIRST_JOB("heal.start"), first_backfill, true, NOT_QUERIED },
    { FIRST_JOB("unknown.start"), first_unknown, true, NOT_QUERIED },
    { FIRST_JOB("reconcile.start"), first_reconcile, true, NOT_QUERIED },
};

static void first_job_done(struct unit *u)
{
    const struct first_job *job = CONTAINER_OF(u->kind, const struct first_job, kind);
    struct app *app = CONTAINER_OF(u, struct first_job_unit, unit)->app;

    if (u->err && !(u->err == ERR_CONFLICT && job->once))
        LOG(app->node.env.log, LOG_WARN, job->warning, LOG_TEXT("part", str_of(job->kind.name)),
            LOG_TEXT("code", str_of(err_code(u->err))));
    if (job->add == first_audit)
        audit_seal_watch(&app->audit_sealer, server_executor(app->server));
}

void app_start_jobs(struct app *app)
{
    static_assert(COUNT(first_jobs) == COUNT(app->first_jobs), "one unit for each");
    redrive_watch(&app->redrive_watch, &app->redrives, app->node.store,
                  server_executor(app->server));
    for (size_t i = 0; i < COUNT(first_jobs); i++) {
        struct first_job_unit *f = &app->first_jobs[i];

        if (first_jobs[i].add == first_remote && !app->publisher.remote)
            continue;
        *f = (struct first_job_unit){ .unit = { .kind = &first_jobs[i].kind,
                                                .executor = server_executor(app->server),
                                                .done = first_job_done },
                                      .app = app };
        store_post(app->node.store, &f->unit);
    }
}
