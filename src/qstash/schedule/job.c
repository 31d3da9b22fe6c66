/* job.c - a schedule's wake-up: the parcels of one firing, and the next wake-up. (What a
 * firing to a group could not do in one unit follows in messages of the same kind: qstash/publish/fan_out.h.)
 *
 * What goes wrong with one firing (its URL group is gone; there are too many queues) is written
 * down as the schedule's error, and it goes on. Where the next time cannot be told (its time zone
 * is not here any more), it is looked for every hour. Even a wake-up that becomes a dead letter is
 * followed by the next one. */
#include "base/buf.h"
#include "base/limits.h"
#include "observe/log.h"
#include "qstash/publish/fan_out.h"
#include "qstash/schedule/schedules.h"
#include "store/values.h"

enum { JOB_ARENA = 4 * LIMIT_QSTASH_BODY, IDS_TEXT = LIMIT_QSTASH_ENDPOINTS * 40 + 16 };

struct firing {
    struct qstash *q;
    struct tx *tx;
    struct arena arena;
    struct buf ids;
    int64_t now_ms;
    struct schedule schedule;
    struct why error; /* why nothing was made; empty: it was */
};

/* --- the parcels --- */

static void note_id(struct firing *f, struct uuid id)
{
    char text[MESSAGE_ID_TEXT + 1];

    message_id_text(id, text);
    buf_fmt(&f->ids, "%s\"%s\"", f->ids.n > 1 ? "," : "", text);
}

static enum err queues_full(struct firing *f)
{
    why_set(&f->error, "%s", QUEUES_FULL);
    return OK;
}

/* The members that it has now. Without any, that is the schedule's error. */
static enum err fire_group(struct firing *f, const struct parcel *model)
{
    struct input in = { .parcel = *model, .group = model->url, .delay_ms = f->schedule.delay_ms };
    struct mailing m;
    enum err e = ERR_NO_MEMORY;

    if (mailing_init(&m, f->q->env, &f->arena, &in, f->now_ms))
        e = mailing_run(f->q, f->tx, &f->arena, &m);
    if (e == ERR_NOT_FOUND) {
        why_set(&f->error, "url group not found: " STR_FMT, STR_ARG(model->url));
        return OK;
    }
    if (!e && m.all[0].refused)
        return queues_full(f);
    for (size_t i = 0; i < m.count && !e; i++)
        note_id(f, m.all[i].parcel.id);
    return e || !mailing_goes_on(&m) ? e : mailing_leave_rest(f->q, f->tx, &m);
}

static enum err fire_one(struct firing *f, const struct parcel *model)
{
    struct parcel p = *model;
    enum err e;

    p.id = env_uuid(f->q->env);
    p.created_ms = f->now_ms;
    p.not_before_ms = f->now_ms + f->schedule.delay_ms;
    e = parcel_post(f->q, f->tx, &p);
    if (!e)
        note_id(f, p.id);
    return e == ERR_UNPROCESSABLE ? queues_full(f) : e;
}

static enum err schedule_job_fire(struct firing *f)
{
    struct parcel model;
    enum err e = parcel_read(f->tx, &f->arena, f->schedule.template_id, true, &model);

    if (e)
        return e == ERR_NOT_FOUND ? ERR_INTERNAL : e;
    buf_char(&f->ids, '[');
    e = model.host.n ? fire_one(f, &model) : fire_group(f, &model);
    buf_char(&f->ids, ']');
    return !e && f->ids.failed ? ERR_NO_MEMORY : e;
}

/* --- the wake-up --- */

static int64_t schedule_job_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The next time goes to the schedule. Not known: an hour from now it is looked for again. */
static enum err plan_next(struct firing *f)
{
    struct schedule *s = &f->schedule;
    int64_t next_ms = 0;
    enum err e =
        schedule_next(s->cron, schedule_job_later(f->now_ms, s->next_ms), &next_ms, &f->error);
    bool look = e == ERR_NOT_FOUND || e == ERR_VALIDATION;

    if (e && !look)
        return e;
    if (look)
        next_ms = f->now_ms + LIMIT_QSTASH_ZONE_MS;
    s->next_ms = next_ms == CLOCK_NEVER ? 0 : next_ms;
    return schedule_plan(f->q, f->tx, s, look, f->now_ms);
}

static enum err schedule_job_save(struct firing *f, bool fired)
{
    struct schedule *s = &f->schedule;

    if (f->error.text[0])
        LOG(f->q->env->log, LOG_WARN, "A schedule has trouble", LOG_TEXT("scheduleId", s->id),
            LOG_TEXT("why", str_of(f->error.text)));
    if (fired) {
        s->last_ms = f->now_ms;
        s->last_ids = buf_str(&f->ids);
    }
    return TX_DO(f->tx, STMT_qstash_schedule_save, 1, s->next_ms ? V_INT(s->next_ms) : V_NULL,
                 s->last_ms ? V_INT(s->last_ms) : V_NULL, v_text(s->last_ids),
                 v_text(str_of(f->error.text)), V_TEXT(s->id));
}

static enum err schedule_job_wake(struct firing *f, const struct wakeup *w)
{
    struct schedule *s = &f->schedule;
    bool fires = !w->look && !s->paused, fired;
    enum err e = fires ? schedule_job_fire(f) : OK;

    if (s->paused && s->error.n)
        why_set(&f->error, STR_FMT, STR_ARG(s->error));
    fired = fires && !f->error.text[0];
    if (!e && w->next_ms == s->next_ms)
        e = plan_next(f);
    return e ? e : schedule_job_save(f, fired);
}

/* OK without an id in f->schedule: there is nothing to wake. */
static enum err schedule_job_find(struct firing *f, const struct message *m,
                                  struct wakeup *ret_wakeup)
{
    enum err e;

    if (!wakeup_read(m->body, ret_wakeup))
        return ERR_VALIDATION;
    e = schedule_lock(f->tx, m->ref);
    if (!e)
        e = schedule_read(f->tx, &f->arena, m->ref, &f->schedule);
    if (e == ERR_NOT_FOUND || (!e && f->schedule.version != ret_wakeup->version)) {
        f->schedule.id = (struct str){ 0 };
        e = OK;
    }
    return e;
}

static void schedule_job_begin(struct firing *f, struct qstash *q, struct tx *tx)
{
    *f = (struct firing){ .q = q, .tx = tx, .now_ms = env_now_ms(q->env) };
    arena_init(&f->arena, JOB_ARENA);
    buf_init(&f->ids, IDS_TEXT);
}

static void schedule_job_end(struct firing *f)
{
    buf_release(&f->ids);
    arena_release(&f->arena);
}

static enum err schedule_job_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    struct qstash *q = ctx;
    struct firing f;
    struct wakeup w;
    enum err e;

    if (mailing_is_rest(m))
        return mailing_go_on(q, tx, m, why);
    schedule_job_begin(&f, q, tx);
    e = schedule_job_find(&f, m, &w);
    if (!e && f.schedule.id.n)
        e = schedule_job_wake(&f, &w);
    if (!e)
        e = fault_point_at(&q->env->faults, "schedule", m->ref);
    schedule_job_end(&f);
    return e;
}

/* The wake-up is a dead letter: the schedule says why, and goes on. */
static enum err schedule_job_buried(struct tx *tx, const struct message *m, void *ctx,
                                    const char *why)
{
    struct firing f;
    struct wakeup w;
    enum err e;

    schedule_job_begin(&f, ctx, tx);
    e = schedule_job_find(&f, m, &w);
    if (!e && f.schedule.id.n && w.next_ms == f.schedule.next_ms) {
        e = plan_next(&f);
        if (!f.error.text[0])
            why_set(&f.error, "%s", why);
        if (!e)
            e = schedule_job_save(&f, false);
    }
    schedule_job_end(&f);
    return e == ERR_VALIDATION ? OK : e;
}

struct job_kind qstash_schedule_kind(struct qstash *q)
{
    return (struct job_kind){ .name = "qstash.schedule",
                              .run = schedule_job_run,
                              .buried = schedule_job_buried,
                              .ctx = q,
                              .retry = retry_table[RETRY_QSTASH] };
}
