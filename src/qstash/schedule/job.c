/* job.c - a schedule's wake-up: the messages of one firing, and the next wake-up, in one commit.
 * The rest of a large fan-out follows in jobs of the same kind (qstash/publish/fan_out.h).
 *
 *   (1) A fault of one firing (its URL group is gone; there are too many queues) is stored as the
 *       schedule's error, and the schedule goes on.
 *   (2) If the next time cannot be computed (the time zone is not known here), it is tried again
 *       every hour.
 *   (3) Even a wake-up that becomes a dead letter is followed by the next one. */
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
    struct why error; /* why nothing was stored; empty: it was */
};

/* --- the messages --- */

static void firing_note_id(struct firing *f, struct uuid id)
{
    char text[MESSAGE_ID_TEXT + 1];

    message_id_text(id, text);
    buf_fmt(&f->ids, "%s\"%s\"", f->ids.n > 1 ? "," : "", text);
}

static enum err firing_queues_full(struct firing *f)
{
    why_set(&f->error, "%s", QUEUES_FULL);
    return OK;
}

/* To the present members of the group. A missing group is the schedule's error. */
static enum err firing_store_group(struct firing *f, const struct parcel *model)
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
        return firing_queues_full(f);
    for (size_t i = 0; i < m.count && !e; i++)
        firing_note_id(f, m.all[i].parcel.id);
    return e || !mailing_goes_on(&m) ? e : mailing_leave_rest(f->q, f->tx, &m);
}

static enum err firing_store_one(struct firing *f, const struct parcel *model)
{
    struct parcel p = *model;
    enum err e;

    p.id = env_uuid(f->q->env);
    p.created_ms = f->now_ms;
    p.not_before_ms = f->now_ms + f->schedule.delay_ms;
    e = parcel_post(f->q, f->tx, &p);
    if (!e)
        firing_note_id(f, p.id);
    return e == ERR_UNPROCESSABLE ? firing_queues_full(f) : e;
}

static enum err firing_store(struct firing *f)
{
    struct parcel model;
    enum err e = parcel_read(f->tx, &f->arena, f->schedule.template_id, true, &model);

    if (e)
        return e == ERR_NOT_FOUND ? ERR_INTERNAL : e;
    buf_char(&f->ids, '[');
    e = model.host.n ? firing_store_one(f, &model) : firing_store_group(f, &model);
    buf_char(&f->ids, ']');
    return !e && f->ids.failed ? ERR_NO_MEMORY : e;
}

/* --- the wake-up --- */

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Sets the schedule's next time. If it cannot be computed, a wake-up tries again in an hour. */
static enum err firing_plan_next(struct firing *f)
{
    struct schedule *s = &f->schedule;
    int64_t next_ms = 0;
    enum err e = schedule_next(s->cron, later_of(f->now_ms, s->next_ms), &next_ms, &f->error);
    bool look = e == ERR_NOT_FOUND || e == ERR_VALIDATION;

    if (e && !look)
        return e;
    if (look)
        next_ms = f->now_ms + LIMIT_QSTASH_ZONE_MS;
    s->next_ms = next_ms == CLOCK_NEVER ? 0 : next_ms;
    return schedule_plan(f->q, f->tx, s, look, f->now_ms);
}

static enum err firing_save(struct firing *f, bool fired)
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

static enum err firing_run(struct firing *f, const struct wakeup *w)
{
    struct schedule *s = &f->schedule;
    bool fires = !w->look && !s->paused, fired;
    enum err e = fires ? firing_store(f) : OK;

    if (s->paused && s->error.n)
        why_set(&f->error, STR_FMT, STR_ARG(s->error));
    fired = fires && !f->error.text[0];
    if (!e && w->next_ms == s->next_ms)
        e = firing_plan_next(f);
    return e ? e : firing_save(f, fired);
}

/* OK with an empty f->schedule.id: the wake-up is outdated. */
static enum err firing_read(struct firing *f, const struct message *m, struct wakeup *ret_wakeup)
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

static void firing_init(struct firing *f, struct qstash *q, struct tx *tx)
{
    *f = (struct firing){ .q = q, .tx = tx, .now_ms = env_now_ms(q->env) };
    arena_init(&f->arena, JOB_ARENA);
    buf_init(&f->ids, IDS_TEXT);
}

static void firing_release(struct firing *f)
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
    firing_init(&f, q, tx);
    e = firing_read(&f, m, &w);
    if (!e && f.schedule.id.n)
        e = firing_run(&f, &w);
    if (!e)
        e = fault_point_at(&q->env->faults, "schedule", m->ref);
    firing_release(&f);
    return e;
}

/* The wake-up became a dead letter: the schedule stores the reason and goes on. */
static enum err schedule_job_buried(struct tx *tx, const struct message *m, void *ctx,
                                    const char *why)
{
    struct firing f;
    struct wakeup w;
    enum err e;

    firing_init(&f, ctx, tx);
    e = firing_read(&f, m, &w);
    if (!e && f.schedule.id.n && w.next_ms == f.schedule.next_ms) {
        e = firing_plan_next(&f);
        if (!f.error.text[0])
            why_set(&f.error, "%s", why);
        if (!e)
            e = firing_save(&f, false);
    }
    firing_release(&f);
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
