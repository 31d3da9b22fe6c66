/* reconcile.c - the jobs "reconcile.day" and "reconcile.daily", and the phases of a day.
 *
 *   clear --> theirs, page by page --> ours, page by page --> pause --> check, one by one
 *                                              |                               |
 *                                              '--nothing differs--> sum <-----'
 *                                                                     '--> forget --> done
 *
 *   (1) Each step is one commit: its rows, its sums, and the day's new phase and place. The place
 *       where it began is part of the UPDATE's condition, so no step is counted twice.
 *   (2) The gateway is queried between two commits, and only for what moves no money.
 *   (3) An incomplete answer is not used: the step is made again later.
 *
 * After a crash the message's next run goes on at the last durable step. */
#include "reconcile/reconcile.h"

#include "base/time/zone.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "reconcile/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORK_ARENA = 4 * LIMIT_GATEWAY_ANSWER + 8 * 1024 * 1024,
    GO_ON_MS = 20,
};

#define DAILY_KIND S("reconcile.daily")
#define DAY_KIND S("reconcile.day")

/* --- beginning a day --- */

bool reconcile_set_time(struct reconcile *r, struct str at)
{
    char text[32];
    struct why why;
    struct str minute = at, hour = str_cut(&minute, ':');

    r->daily = !str_eq(at, S("off"));
    if (!r->daily)
        return true;
    snprintf(text, sizeof(text), STR_FMT " " STR_FMT " * * *", STR_ARG(minute), STR_ARG(hour));
    if (cron_parse(str_of(text), &r->at, &why))
        return false;
    r->at.zone = r->time_zone;
    return true;
}

/* The last day that is over. */
static int64_t reconcile_yesterday(const struct reconcile *r, int64_t now_ms)
{
    return day_at(r->zone, now_ms) - 1;
}

/* NOT_FOUND: the day is running. */
static enum err reconcile_start_row(struct tx *tx, const struct val *v, size_t n)
{
    struct row row;
    enum err e = tx_row(tx, STMT_reconcile_add, v, n, &row);

    if (e != ERR_NOT_FOUND)
        return e;
    e = tx_row(tx, STMT_reconcile_abandon, v, 1, &row);
    return e ? e : tx_row(tx, STMT_reconcile_add, v, n, &row);
}

enum err reconcile_begin(struct tx *tx, struct reconcile *r, int64_t day, struct str by,
                         struct uuid run, int64_t now_ms, bool *ret_began)
{
    int64_t from_ms = day_begins_ms(r->zone, day), to_ms = day_begins_ms(r->zone, day + 1);
    struct queue_new m = { .id = run, .kind = DAY_KIND, .due_ms = now_ms };
    char text[DAY_TEXT + 1];
    struct val v[] = { V_NULL,       V_TEXT(r->time_zone), V_INT(from_ms), V_INT(to_ms),
                       v_uuid(&run), V_TEXT(by),           V_INT(now_ms) };
    enum err e;

    *ret_began = false;
    if (to_ms > now_ms)
        return ERR_UNPROCESSABLE;
    day_text(day, text);
    v[0] = V_TEXT(str_of(text));
    e = reconcile_start_row(tx, v, COUNT(v));
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    *ret_began = true;
    m.ref = str_of(text);
    return queue_add(r->payments->runtime.queue, tx, now_ms, &m, 1);
}

/* --- steps --- */

static void reconcile_go_on(struct day_run *w);

static void reconcile_finish(struct day_run *w)
{
    job_outside_done(w->job, OK, NULL);
}

void step_post(struct day_run *w, const struct unit_kind *kind, void (*done)(struct unit *))
{
    w->unit = (struct unit){
        .kind = kind, .executor = w->r->payments->runtime.executor, .done = done, .arena = &w->arena
    };
    store_post(w->r->payments->runtime.store, &w->unit);
}

enum err step_progress_run(struct tx *tx, struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);

    return day_step(tx, &w->day, &w->progress, env_now_ms(w->job->env));
}

static void reconcile_report_end(const struct day_run *w)
{
    const struct day *d = &w->day;
    struct env *env = w->job->env;
    enum log_level level = d->differences ? LOG_ERROR : d->healed ? LOG_WARN : LOG_INFO;

    metrics_count_as(env->metrics, COUNT_DIFFERENCE, S("open"), d->differences);
    metrics_count_as(env->metrics, COUNT_DIFFERENCE, S("healed"), d->healed);
    LOG(env->log, level,
        d->differences ? "ReconciliationDifference" : "Our books and the provider's are the same",
        LOG_TEXT("day", str_of(d->text)), LOG_NUM("differences", d->differences),
        LOG_NUM("healed", d->healed), LOG_NUM("theirs", d->theirs), LOG_NUM("ours", d->ours),
        LOG_NUM("checked", d->checked));
}

static void reconcile_took_step(struct day_run *w)
{
    const struct progress *s = &w->progress;

    w->day.phase = s->phase;
    memcpy(w->day.place, s->place, sizeof(w->day.place));
    w->day.theirs += s->theirs;
    w->day.ours += s->ours;
    w->day.checked += s->checked;
    w->day.differences += s->differences;
    w->day.healed += s->healed;
    w->day.anew += s->anew;
    w->day.failures = 0;
}

void step_done(struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);

    if (u->err == ERR_STALE) { /* another run moved it: reconcile_loaded() decides whose it is */
        w->again_ms = env_now_ms(w->job->env) + GO_ON_MS;
        reconcile_finish(w);
        return;
    }
    if (u->err && err_is_retryable(u->err)) {
        job_outside_done(w->job, u->err, "a step of it could not be stored");
        return;
    }
    if (u->err) { /* no dead letter: the day could be neither finished nor started again */
        step_fail(w, err_words(u->err, LANG_EN));
        return;
    }
    reconcile_took_step(w);
    fault_point(&w->job->env->faults, "reconcile.step");
    if (w->progress.anew > 0 && w->day.anew > 1)
        step_fail(w, "its place in the provider's list was gone again; the list begins anew");
    else
        reconcile_go_on(w);
}

/* --- the gateway fails --- */

static enum err reconcile_error_run(struct tx *tx, struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);

    return TX_DO(tx, STMT_reconcile_error, -1, V_TEXT(str_of(w->progress.place)),
                 V_INT(env_now_ms(w->job->env)), V_TEXT(str_of(w->day.text)), v_uuid(&w->day.run));
}

static void reconcile_error_stored(struct unit *u)
{
    /* It is tried again, whether or not the error was stored. */
    reconcile_finish(CONTAINER_OF(u, struct day_run, unit));
}

/* The pauses grow up to ten minutes; the first answer resets them. */
void step_fail(struct day_run *w, const char *why)
{
    static const struct unit_kind kind = { "reconcile.error", UNIT_BACK, reconcile_error_run,
                                           NULL };
    int64_t before = w->day.failures + w->day.anew;

    w->day.failures++; /* reconcile_error_run() counts it in the row */
    w->again_ms =
        env_now_ms(w->job->env) + retry_delay_ms(&retry_table[RETRY_RECONCILE_GATEWAY], before + 1);
    snprintf(w->progress.place, sizeof(w->progress.place), "%s",
             why); /* for reconcile_error_run(); no step uses it now */
    LOG(w->job->env->log, LOG_ERROR, "A reconciliation cannot go on at the moment",
        LOG_TEXT("day", str_of(w->day.text)),
        LOG_TEXT("phase", str_of(day_phase_name(w->day.phase))), LOG_TEXT("why", str_of(why)),
        LOG_NUM("failures", w->day.failures));
    step_post(w, &kind, reconcile_error_stored);
}

void step_page(struct day_run *w, struct str path, struct str after,
               void (*done)(struct stripe_page *))
{
    w->page = (struct stripe_page){ .path = path,
                                    .after = after,
                                    .arena = &w->arena,
                                    .executor = w->r->payments->runtime.executor,
                                    .done = done };
    if (path.p)
        stripe_page_read(w->r->lister, &w->page);
    else
        step_fail(w, "no memory");
}

/* --- deleting rows --- */

static enum err reconcile_count(void *ctx, const struct row *row)
{
    (void)row;
    ++*(int *)ctx;
    return OK;
}

/* *ret_left: there may be more. */
static enum err reconcile_forget_rows(struct tx *tx, const char *day, enum stmt stmt,
                                      bool *ret_left)
{
    struct val v[] = { V_TEXT(str_of(day)), V_INT(LIMIT_RECONCILE_ROWS) };
    int gone = 0;
    enum err e = *ret_left ? OK : tx_each(tx, stmt, v, COUNT(v), reconcile_count, &gone);

    *ret_left = *ret_left || gone >= LIMIT_RECONCILE_ROWS;
    return e;
}

static enum err reconcile_clear_run(struct tx *tx, struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);
    const char *day = w->day.text;
    bool left = false;
    enum err e = reconcile_forget_rows(tx, day, STMT_reconcile_checks_forget, &left);

    if (e)
        return e;
    e = reconcile_forget_rows(tx, day, STMT_reconcile_seen_forget, &left);
    if (e)
        return e;
    e = reconcile_forget_rows(tx, day, STMT_reconcile_differences_forget, &left);
    if (!e && !left)
        e = TX_DO(tx, STMT_reconcile_totals_forget, -1, V_TEXT(str_of(day)));
    w->progress = (struct progress){ .phase = left ? DAY_CLEAR : DAY_THEIRS };
    return e ? e : day_step(tx, &w->day, &w->progress, env_now_ms(w->job->env));
}

static enum err reconcile_audit_end(struct tx *tx, const struct day *d, int64_t now_ms)
{
    char detail[128];

    snprintf(detail, sizeof(detail), "%lld differences, %lld healed, %lld theirs, %lld ours",
             (long long)d->differences, (long long)d->healed, (long long)d->theirs,
             (long long)d->ours);
    return TX_DO(tx, STMT_audit_add, 1, V_INT(now_ms), V_TEXT(S("RECONCILIATION")),
                 V_TEXT(str_of(d->text)), V_TEXT(d->differences ? S("failure") : S("success")),
                 V_INT(1), V_TEXT(str_of(detail)));
}

static enum err reconcile_forget_run(struct tx *tx, struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);
    int64_t now_ms = env_now_ms(w->job->env);
    bool left = false;
    enum err e = reconcile_forget_rows(tx, w->day.text, STMT_reconcile_checks_forget, &left);

    if (!e)
        e = reconcile_forget_rows(tx, w->day.text, STMT_reconcile_seen_forget, &left);
    w->progress = (struct progress){ .phase = left ? DAY_FORGET : DAY_DONE };
    if (!e && !left)
        e = reconcile_audit_end(tx, &w->day, now_ms);
    return e ? e : day_step(tx, &w->day, &w->progress, now_ms);
}

/* --- waiting --- */

static void step_pause(struct day_run *w)
{
    static const struct unit_kind kind = { "reconcile.wake", UNIT_BACK, step_progress_run, NULL };
    int64_t until_ms = 0;

    if (str_to_i64(str_of(w->day.place), &until_ms) && env_now_ms(w->job->env) < until_ms) {
        w->again_ms = until_ms;
        reconcile_finish(w);
        return;
    }
    w->progress = (struct progress){ .phase = DAY_CHECK };
    step_post(w, &kind, step_done);
}

/* --- the phases --- */

static void step_clear(struct day_run *w)
{
    static const struct unit_kind kind = { "reconcile.clear", UNIT_BACK, reconcile_clear_run,
                                           NULL };

    step_post(w, &kind, step_done);
}

static void step_forget(struct day_run *w)
{
    static const struct unit_kind kind = { "reconcile.forget", UNIT_BACK, reconcile_forget_run,
                                           NULL };

    step_post(w, &kind, step_done);
}

static void step_end(struct day_run *w)
{
    reconcile_report_end(w);
    w->over = true;
    reconcile_finish(w);
}

static void reconcile_go_on(struct day_run *w)
{
    static void (*const steps[DAY_PHASES])(struct day_run *) = {
        [DAY_CLEAR] = step_clear,   [DAY_THEIRS] = step_theirs, [DAY_OURS] = step_ours,
        [DAY_PAUSE] = step_pause,   [DAY_CHECK] = step_check,   [DAY_SUM] = step_sum,
        [DAY_FORGET] = step_forget, [DAY_DONE] = step_end,
    };

    arena_release(&w->arena);
    if (w->day.phase != DAY_DONE && w->steps++ == LIMIT_RECONCILE_STEPS) {
        w->again_ms = env_now_ms(w->job->env) + GO_ON_MS; /* gives other jobs a turn */
        reconcile_finish(w);
        return;
    }
    steps[w->day.phase](w);
}

/* --- the job of a day --- */

static enum err reconcile_load_run(struct tx *tx, struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);

    return day_read(tx, w->job->message->ref, &w->day);
}

/* A day that is done, or that was started again since, does not belong to this message any more. */
static void reconcile_loaded(struct unit *u)
{
    struct day_run *w = CONTAINER_OF(u, struct day_run, unit);

    w->over = u->err == ERR_NOT_FOUND ||
              (!u->err && (w->day.phase == DAY_DONE || !uuid_eq(w->day.run, w->job->message->id)));
    if (w->over)
        reconcile_finish(w);
    else if (u->err)
        job_outside_done(w->job, u->err, "the day could not be read");
    else
        reconcile_go_on(w);
}

static void reconcile_outside(struct job *j, void *ctx)
{
    static const struct unit_kind kind = { "reconcile.load", UNIT_READ, reconcile_load_run, NULL };
    struct day_run *w = calloc(1, sizeof(*w));

    if (!w) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = w; /* freed by reconcile_release() */
    w->job = j;
    w->r = ctx;
    arena_init(&w->arena, WORK_ARENA);
    step_post(w, &kind, reconcile_loaded);
}

static enum err reconcile_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct day_run *w = j->state;

    (void)tx;
    (void)ctx;
    (void)why;
    j->again_ms = w->over ? 0 : w->again_ms;
    return OK;
}

static void reconcile_release(struct job *j, void *ctx)
{
    struct day_run *w = j->state;

    (void)ctx;
    if (!w)
        return;
    arena_release(&w->arena);
    free(w);
    j->state = NULL;
}

struct job_kind reconcile_kind(struct reconcile *r)
{
    return (struct job_kind){
        .name = "reconcile.day",
        .ctx = r,
        .retry = retry_table[RETRY_NEEDED],
        .outside = reconcile_outside,
        .settle = reconcile_settle,
        .release = reconcile_release,
        .patient = true,
    };
}

/* --- once a day --- */

/* Starts the days since the last one that was compared, at most LIMIT_RECONCILE_LATE of them, since
 * the server may have been down. The very first day is yesterday. */
static enum err reconcile_start_days(struct tx *tx, struct reconcile *r, int64_t now_ms)
{
    int64_t yesterday = reconcile_yesterday(r, now_ms), day = yesterday, last;
    struct row row;
    bool began;
    enum err e = tx_row(tx, STMT_reconcile_last, NULL, 0, &row);

    if (e)
        return e;
    if (day_parse(row.col[0].s, &last))
        day = last + 1;
    if (day <= yesterday - LIMIT_RECONCILE_LATE)
        day = yesterday - LIMIT_RECONCILE_LATE + 1;
    for (; day <= yesterday && !e; day++)
        e = reconcile_begin(tx, r, day, S("schedule"), env_uuid(tx_env(tx)), now_ms, &began);
    return e;
}

/* Deletes one old report a day, as many as are added. */
static enum err reconcile_forget_oldest(struct tx *tx, const struct reconcile *r, int64_t now_ms)
{
    char before[DAY_TEXT + 1], day[DAY_TEXT + 1];
    struct val v[] = { V_NULL, V_INT(LIMIT_RECONCILE_KEPT) };
    struct row row;
    int gone = 0;
    enum err e;

    day_text(reconcile_yesterday(r, now_ms) - LIMIT_RECONCILE_DAYS, before);
    e = TX_ROW(tx, STMT_reconcile_oldest, &row, V_TEXT(str_of(before)));
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    snprintf(day, sizeof(day), STR_FMT, STR_ARG(row.col[0].s));
    v[0] = V_TEXT(str_of(day));
    e = tx_each(tx, STMT_reconcile_differences_forget, v, COUNT(v), reconcile_count, &gone);
    if (!e)
        e = TX_DO(tx, STMT_reconcile_totals_forget, -1, v[0]);
    return e ? e : TX_DO(tx, STMT_reconcile_forget, -1, v[0]);
}

static enum err reconcile_daily_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct reconcile *r = ctx;
    int64_t now_ms = env_now_ms(j->env);
    enum err e;

    (void)why;
    j->again_ms = r->daily ? cron_next(&r->at, r->zone, now_ms) : 0;
    if (!r->daily)
        return OK;
    e = reconcile_start_days(tx, r, now_ms);
    return e ? e : reconcile_forget_oldest(tx, r, now_ms);
}

struct job_kind reconcile_daily_kind(struct reconcile *r)
{
    return (struct job_kind){
        .name = "reconcile.daily",
        .ctx = r,
        .retry = retry_table[RETRY_RECONCILE_DAILY],
        .outside = job_without_outside,
        .settle = reconcile_daily_settle,
        .patient = true,
    };
}

enum err reconcile_daily_start(struct tx *tx, struct reconcile *r, int64_t now_ms)
{
    static const struct uuid only = QUEUE_STANDING_ID('r', 'e', 'c', 'o', 0, 1);
    struct queue_new first = { .id = only, .kind = DAILY_KIND };

    if (!r->daily)
        return OK;
    first.due_ms = cron_next(&r->at, r->zone, now_ms);
    return queue_add(r->payments->runtime.queue, tx, now_ms, &first, 1);
}
