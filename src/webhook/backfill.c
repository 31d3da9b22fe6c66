/* backfill.c - stores the events of Stripe's list that we do not have.
 *
 *   read the cursor --> page of the list --> which are known? --> store the others and the
 *                            ^                                    cursor in one commit
 *                            '------------- next page ----------------------'
 *
 * A window begins a little before the end of the last one, since events may be listed late, and ends
 * a minute ago, since the webhooks of younger events may still come. Stripe lists the newest event
 * first, so the cursor keeps the place within the window until its oldest page was read.
 *
 *   (1) Nothing is skipped: a crash, or a list that cannot be read, repeats what was not committed.
 *   (2) Nothing is done twice: the event's id decides, as at the endpoint.
 *   (3) An answer that is not a complete page changes nothing. */
#include "webhook/backfill.h"

#include "base/limits.h"
#include "base/text.h"
#include "event/apply_event.h"
#include "gateway/stripe/events.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "webhook/receive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For an answer, a second try of it, and the messages of its events. */
enum { BACKFILL_ARENA = 4 * LIMIT_GATEWAY_ANSWER + 4 * 1024 * 1024 };

struct backfill_place { /* the cursor's row */
    int64_t done_ms;    /* older events were compared */
    int64_t until_ms;   /* end of the window under way; 0: none */
    char after[LIMIT_GATEWAY_ID + 1];
};

struct backfill_run {
    struct job *job;
    struct heal *heal;
    struct backfill_place place;
    bool is_new; /* there is no row yet */
    int pages;
    bool more;          /* the window has further pages */
    bool restarted;     /* `after` was gone once */
    int64_t unusable;   /* objects of the list that cannot be taken */
    struct arena arena; /* of one page */
    struct stripe_page page;
    struct unit unit;

    struct stripe_listed_event events[LIMIT_LIST_PAGE]; /* of the page: those we would apply */
    bool known[LIMIT_LIST_PAGE];
    size_t count;
    struct receive *missing;
    size_t missing_count, stored;
};

static void backfill_request_page(struct backfill_run *h);

static void backfill_finish(struct backfill_run *h)
{
    if (h->unusable)
        LOG(h->job->env->log, LOG_WARN,
            "The provider's event list has objects that cannot be taken",
            LOG_NUM("count", h->unusable));
    job_outside_done(h->job, OK, NULL);
}

static void backfill_give_up(struct backfill_run *h, const char *why)
{
    LOG(h->job->env->log, LOG_WARN, "Missing webhooks cannot be looked for at the moment",
        LOG_TEXT("why", str_of(why)));
    h->more = false;
    backfill_finish(h);
}

static void backfill_post(struct backfill_run *h, const struct unit_kind *kind,
                          void (*done)(struct unit *))
{
    h->unit = (struct unit){ .kind = kind,
                             .executor = h->heal->payments->runtime.executor,
                             .done = done };
    store_post(h->heal->payments->runtime.store, &h->unit);
}

/* --- storing the missing events and the cursor --- */

/* The page was the window's last. */
static bool page_is_last(const struct backfill_run *h)
{
    return !h->page.has_more;
}

static struct backfill_place next_place(const struct backfill_run *h)
{
    struct backfill_place p = h->place;

    if (page_is_last(h)) {
        p = (struct backfill_place){ .done_ms = p.until_ms };
        return p;
    }
    snprintf(p.after, sizeof(p.after), STR_FMT, STR_ARG(h->page.last_id));
    return p;
}

static enum err backfill_audit(struct tx *tx, const struct backfill_run *h, int64_t now_ms)
{
    char detail[LIMIT_GATEWAY_ID + 64];

    snprintf(detail, sizeof(detail), "webhooks that never came; the newest is " STR_FMT,
             STR_ARG(h->missing[0].event.id));
    return TX_DO(tx, STMT_audit_add, 1, V_INT(now_ms), V_TEXT(S("WEBHOOK_HEALED")),
                 V_TEXT(S("stripe")), V_TEXT(S("success")), V_INT((int64_t)h->stored),
                 V_TEXT(str_of(detail)));
}

static enum err store_missing(struct tx *tx, struct backfill_run *h, int64_t now_ms)
{
    struct unit *units[LIMIT_LIST_PAGE];
    enum err e;

    for (size_t i = 0; i < h->missing_count; i++) /* the oldest first, as their webhooks */
        units[i] = &h->missing[h->missing_count - 1 - i].unit;
    e = receive_kind.run_many(tx, units, h->missing_count);
    if (e)
        return e;
    for (size_t i = 0; i < h->missing_count; i++)
        h->stored += !h->missing[i].duplicate;
    return h->stored ? backfill_audit(tx, h, now_ms) : OK;
}

static enum err store_missing_run(struct tx *tx, struct unit *u)
{
    struct backfill_run *h = CONTAINER_OF(u, struct backfill_run, unit);
    struct backfill_place p = next_place(h);
    int64_t now_ms = env_now_ms(h->job->env);
    enum err e = fault_point(&h->job->env->faults, "heal.storing");

    h->stored = 0;
    if (!e && h->missing_count)
        e = store_missing(tx, h, now_ms);
    if (e)
        return e;
    return TX_DO(tx, STMT_heal_put, 1, V_TEXT(S("stripe")), V_INT(p.done_ms),
                 p.until_ms ? V_INT(p.until_ms) : V_NULL,
                 p.after[0] ? V_TEXT(str_of(p.after)) : V_NULL, V_INT(now_ms));
}

static void report_stored(const struct backfill_run *h)
{
    struct env *env = h->job->env;

    if (!h->stored)
        return;
    metrics_count(env->metrics, COUNT_WEBHOOK_HEALED, (int64_t)h->stored);
    LOG(env->log, LOG_WARN, "Webhooks that never came were taken from the provider's event list",
        LOG_NUM("count", (int64_t)h->stored), LOG_TEXT("newest", h->missing[0].event.id),
        LOG_TEXT("type", h->missing[0].event.type));
}

/* Ends the job at the window's end, or after LIMIT_HEAL_PAGES so that other work gets its turn. */
static void backfill_stored(struct unit *u)
{
    struct backfill_run *h = CONTAINER_OF(u, struct backfill_run, unit);

    if (u->err) {
        backfill_give_up(h, err_words(u->err, LANG_EN));
        return;
    }
    fault_point(&h->job->env->faults, "heal.stored");
    for (size_t i = 0; i < h->missing_count; i++)
        receive_span_end(&h->missing[i]);
    report_stored(h);
    h->place = next_place(h);
    h->more = h->place.until_ms;
    if (!h->more || ++h->pages == LIMIT_HEAL_PAGES)
        backfill_finish(h);
    else
        backfill_request_page(h);
}

/* --- a missing event --- */

/* Fills it as the endpoint does (stripe.c). False: no memory. */
static bool fill_receive(struct backfill_run *h, const struct stripe_listed_event *e,
                         struct receive *v)
{
    struct env *env = h->job->env;
    struct trace trace;

    *v = (struct receive){ .unit = { .kind = &receive_kind },
                           .queue = h->heal->payments->runtime.queue,
                           .body = e->body,
                           .request_id = BACKFILL_REQUEST,
                           .received_ms = env_now_ms(env),
                           .new_id = env_uuid(env),
                           .publish = h->heal->publish };
    if (v->publish)
        v->publish_id = env_uuid(env);
    v->span = span_begin_root(env, SPAN_PRODUCER, "Webhook.heal", &trace);
    trace_text(&trace, v->trace);
    if (stripe_event_read(&h->arena, e->body, &v->event))
        return false;
    if (v->event.readable)
        v->job = v->publish ? S("") : receive_job(&h->arena, &v->event, str_of(v->trace));
    return !v->event.readable || v->job.p;
}

/* An unreadable event is named by its bytes (W6), which differ between list and webhook. It is left
 * to the endpoint, so that it is not stored under two names. */
static bool prepare_missing(struct backfill_run *h)
{
    h->missing_count = 0;
    h->missing = arena_alloc(&h->arena, LIMIT_LIST_PAGE, sizeof(*h->missing));
    for (size_t i = 0; h->missing && i < h->count; i++) {
        struct receive *v = &h->missing[h->missing_count];

        if (h->known[i])
            continue;
        if (!fill_receive(h, &h->events[i], v))
            return false;
        h->unusable += !v->event.readable;
        h->missing_count += v->event.readable;
    }
    return h->missing;
}

static bool backlog_is_full(const struct heal *h)
{
    return h->backlog_limit > 0 && queue_live(h->payments->runtime.queue) >= h->backlog_limit;
}

/* --- which events are known --- */

static enum err mark_known(void *ctx, const struct row *row)
{
    struct backfill_run *h = ctx;

    for (size_t i = 0; i < h->count; i++)
        h->known[i] |= str_eq(row->col[0].s, h->events[i].id);
    return OK;
}

static enum err find_known_run(struct tx *tx, struct unit *u)
{
    struct backfill_run *h = CONTAINER_OF(u, struct backfill_run, unit);
    struct val v[LIMIT_LIST_PAGE];

    memset(h->known, 0, sizeof(h->known));
    for (size_t i = 0; i < h->count; i++)
        v[i] = V_TEXT(h->events[i].id);
    return tx_bulk(tx, STMT_webhook_event_find, v, h->count, 1, mark_known, h);
}

static void backfill_known_found(struct unit *u)
{
    static const struct unit_kind kind = { "heal.store", UNIT_BACK, store_missing_run, NULL };
    struct backfill_run *h = CONTAINER_OF(u, struct backfill_run, unit);

    if (u->err)
        backfill_give_up(h, err_words(u->err, LANG_EN));
    else if (!prepare_missing(h))
        backfill_give_up(h, "no memory");
    else if (h->missing_count && backlog_is_full(h->heal))
        backfill_give_up(h, err_words(ERR_BACKLOG, LANG_EN));
    else
        backfill_post(h, &kind, backfill_stored);
}

/* An event of an unknown type would be stored and ignored, so it is left out. So is
 * payment_intent.created: we made the intent ourselves, and its webhook is rarely subscribed to. */
static bool event_is_wanted(const struct stripe_listed_event *e)
{
    return event_type_is_known(e->type) && !str_eq(e->type, S("payment_intent.created"));
}

static void backfill_take_page(struct backfill_run *h)
{
    static const struct unit_kind kind = { "heal.look", UNIT_READ, find_known_run, NULL };

    h->count = 0;
    for (size_t i = 0; i < h->page.count; i++) {
        struct stripe_listed_event *e = &h->events[h->count];

        if (!stripe_listed_event(h->page.items[i], e) || e->body.n > LIMIT_WEBHOOK_BODY)
            h->unusable++;
        else if (event_is_wanted(e))
            h->count++;
    }
    backfill_post(h, &kind, backfill_known_found);
}

/* --- pages --- */

/* The list no longer has the cursor's event: the window is read again from its start, once. */
static void backfill_restart_window(struct backfill_run *h)
{
    if (h->restarted) {
        backfill_give_up(h, h->page.why);
        return;
    }
    h->restarted = true;
    h->place.after[0] = '\0';
    backfill_request_page(h);
}

static void backfill_page_read(struct stripe_page *p)
{
    struct backfill_run *h = CONTAINER_OF(p, struct backfill_run, page);

    if (p->err == ERR_NOT_FOUND)
        backfill_restart_window(h);
    else if (p->err)
        backfill_give_up(h, p->why);
    else
        backfill_take_page(h);
}

static int64_t window_from_ms(struct backfill_run *h, int64_t now_ms)
{
    int64_t from = h->place.done_ms - LIMIT_HEAL_OVERLAP_MS;
    int64_t oldest = now_ms - STRIPE_EVENTS_KEPT_MS;
    char since[TIME_TEXT + 1], until[TIME_TEXT + 1];

    if (from >= oldest)
        return from;
    time_text(from, since);
    time_text(oldest, until);
    if (!h->pages && !h->place.after[0])
        LOG(h->job->env->log, LOG_ERROR,
            "Events older than 30 days cannot be read any more: reconcile those days",
            LOG_TEXT("from", str_of(since)), LOG_TEXT("until", str_of(until)));
    return oldest;
}

static void backfill_request_page(struct backfill_run *h)
{
    int64_t now_ms = env_now_ms(h->job->env);
    struct str path;

    arena_release(&h->arena);
    path = stripe_events_path(&h->arena, window_from_ms(h, now_ms), h->place.until_ms);
    h->page = (struct stripe_page){ .path = path,
                                    .after = arena_str(&h->arena, str_of(h->place.after)),
                                    .arena = &h->arena,
                                    .executor = h->heal->payments->runtime.executor,
                                    .done = backfill_page_read };
    if (!path.p)
        backfill_give_up(h, "no memory");
    else
        stripe_page_read(h->heal->lister, &h->page);
}

/* --- the cursor --- */

static enum err read_cursor_run(struct tx *tx, struct unit *u)
{
    struct backfill_run *h = CONTAINER_OF(u, struct backfill_run, unit);
    struct row row;
    enum err e = TX_ROW(tx, STMT_heal_get, &row, V_TEXT(S("stripe")));

    h->is_new = e == ERR_NOT_FOUND;
    if (e)
        return h->is_new ? OK : e;
    h->place = (struct backfill_place){ .done_ms = row.col[0].i, .until_ms = row.col[1].i };
    snprintf(h->place.after, sizeof(h->place.after), STR_FMT, STR_ARG(row.col[2].s));
    return OK;
}

static void backfill_cursor_read(struct unit *u)
{
    struct backfill_run *h = CONTAINER_OF(u, struct backfill_run, unit);
    int64_t now_ms = env_now_ms(h->job->env), until_ms = now_ms - LIMIT_HEAL_YOUNG_MS;

    if (u->err) {
        backfill_give_up(h, err_words(u->err, LANG_EN));
        return;
    }
    if (h->is_new)
        h->place = (struct backfill_place){ .done_ms = now_ms - LIMIT_HEAL_FIRST_MS };
    if (!h->place.until_ms)
        h->place.until_ms = until_ms - until_ms % 1000;
    if (h->place.until_ms > h->place.done_ms)
        backfill_request_page(h);
    else
        backfill_finish(h); /* the clock was set back */
}

/* --- the job --- */

static void backfill_outside(struct job *j, void *ctx)
{
    static const struct unit_kind kind = { "heal.read", UNIT_READ, read_cursor_run, NULL };
    struct heal *heal = ctx;
    struct backfill_run *h = heal->every_ms && heal->lister ? calloc(1, sizeof(*h)) : NULL;

    if (!h) { /* switched off, or no memory: it is tried again after every_ms */
        job_outside_done(j, OK, NULL);
        return;
    }
    j->state = h; /* freed by backfill_release() */
    h->job = j;
    h->heal = heal;
    arena_init(&h->arena, BACKFILL_ARENA);
    backfill_post(h, &kind, backfill_cursor_read);
}

static enum err backfill_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct heal *heal = ctx;
    const struct backfill_run *h = j->state;
    int64_t now_ms = env_now_ms(j->env);

    (void)tx;
    (void)why;
    if (!heal->every_ms)
        j->again_ms = 0;
    else
        j->again_ms = now_ms + (h && h->more ? LIMIT_HEAL_GO_ON_MS : heal->every_ms);
    return OK;
}

static void backfill_release(struct job *j, void *ctx)
{
    struct backfill_run *h = j->state;

    (void)ctx;
    if (!h)
        return;
    arena_release(&h->arena);
    free(h);
    j->state = NULL;
}

struct job_kind heal_kind(struct heal *h)
{
    return (struct job_kind){
        .name = "stripe.heal",
        .ctx = h,
        .retry = retry_table[RETRY_HEAL],
        .outside = backfill_outside,
        .settle = backfill_settle,
        .release = backfill_release,
        .patient = true,
    };
}

enum err heal_start(struct tx *tx, struct heal *h, int64_t now_ms)
{
    static const struct uuid only = QUEUE_STANDING_ID('h', 'e', 'a', 'l', 0, 1);
    struct queue_new first = { .id = only, .kind = BACKFILL_KIND, .due_ms = now_ms + h->every_ms };

    if (!h->every_ms)
        return OK;
    return queue_add(h->payments->runtime.queue, tx, now_ms, &first, 1);
}
