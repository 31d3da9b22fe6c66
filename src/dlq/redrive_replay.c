/* redrive_replay.c - applies the events of a range of time once more, in the order in which they
 * came.
 *
 * seq grows nearly with time, since several nodes store events concurrently. The scan therefore
 * starts a little before the range and ends a little after it, and each event's own time decides. A
 * step is part of the redrive's commit (redrive_job.c), so a crash leaves whole steps. */
#include "dlq/redrive_rows.h"
#include "store/values.h"

#include <stdio.h>
#include <string.h>

enum { SLACK_MS = 60 * 1000, DETAIL = 300, AUDIT_COLUMNS = 6, LETTERS_OF_EVENT = 2 };

struct replay_event {
    int64_t seq, received_ms;
    struct str id, type;
};

static enum err replay_event_of_row(const struct row *row, struct replay_event *ret_event)
{
    *ret_event = (struct replay_event){ .seq = row->col[0].i,
                                        .id = row->col[1].s,
                                        .received_ms = row->col[2].i,
                                        .type = row->col[3].type == VAL_TEXT ? row->col[3].s
                                                                             : (struct str){ 0 } };
    return OK;
}

static bool replay_matches(const struct dead_filter *f, const struct replay_event *e)
{
    if (f->ref.n)
        return str_eq(f->ref, e->id);
    return e->received_ms >= f->from_ms && (!f->to_ms || e->received_ms < f->to_ms) &&
           (!f->kind.n || str_eq(f->kind, e->type));
}

/* --- the range --- */

/* Finds the seq before the first event of that time or later. */
static enum err replay_seq_before(struct tx *tx, int64_t at_ms, int64_t end, int64_t *ret_seq)
{
    int64_t low = 1, high = end; /* the first event is in [low, high] */

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        struct row row;
        enum err e = TX_ROW(tx, STMT_replay_near, &row, V_INT(middle));

        if (e && e != ERR_NOT_FOUND)
            return e;
        if (e || row.col[1].i >= at_ms)
            high = middle;
        else
            low = row.col[0].i + 1;
    }
    *ret_seq = low - 1;
    return OK;
}

static enum err replay_place_of_one(struct tx *tx, struct str event_id, int64_t *ret_after,
                                    int64_t *ret_until)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_replay_event, &row, V_TEXT(event_id));

    if (e)
        return e;
    *ret_after = row.col[0].i - 1;
    *ret_until = row.col[0].i;
    return OK;
}

enum err replay_place(struct tx *tx, const struct dead_filter *f, int64_t *ret_after,
                      int64_t *ret_until)
{
    int64_t end;
    struct row row;
    enum err e;

    if (f->ref.n)
        return replay_place_of_one(tx, f->ref, ret_after, ret_until);
    e = tx_row(tx, STMT_events_end, NULL, 0, &row);
    if (e)
        return e;
    end = row.col[0].i;
    *ret_after = 0;
    *ret_until = end - 1;
    if (f->from_ms > SLACK_MS)
        e = replay_seq_before(tx, f->from_ms - SLACK_MS, end, ret_after);
    if (!e && f->to_ms)
        e = replay_seq_before(tx, f->to_ms + SLACK_MS, end, ret_until);
    return e;
}

/* --- the scan --- */

struct replay_scan {
    const struct dead_filter *filter;
    int64_t after, until, looked;
    size_t max, count;
    struct replay_event *found; /* NULL: only counted */
    size_t rows;
};

static enum err replay_scan_row(void *ctx, const struct row *row)
{
    struct replay_scan *w = ctx;
    struct replay_event e;

    replay_event_of_row(row, &e);
    w->rows++;
    if (w->count == w->max)
        return OK;
    w->looked++;
    w->after = e.seq;
    if (!replay_matches(w->filter, &e))
        return OK;
    if (w->found)
        w->found[w->count] = e;
    w->count++;
    return OK;
}

/* Scans until w->max are found or `budget` are examined. *ret_end: there are no more. */
static enum err replay_scan(struct tx *tx, struct replay_scan *w, int64_t budget, bool *ret_end)
{
    enum err e = OK;

    *ret_end = false;
    while (!e && !*ret_end && w->count < w->max && w->looked < budget) {
        struct val v[] = { V_INT(w->after), V_INT(w->until), V_INT(LIMIT_STATEMENT_ROWS) };

        w->rows = 0;
        e = tx_each(tx, STMT_replay_walk, v, COUNT(v), replay_scan_row, w);
        *ret_end = w->rows < LIMIT_STATEMENT_ROWS && w->count < w->max;
    }
    *ret_end = *ret_end || w->after >= w->until;
    return e;
}

enum err replay_count(struct tx *tx, const struct dead_filter *f, int64_t *ret_matched,
                      bool *ret_exact)
{
    struct replay_scan w = { .filter = f, .max = LIMIT_DEAD_ACT };
    enum err e = replay_place(tx, f, &w.after, &w.until);

    if (!e)
        e = replay_scan(tx, &w, LIMIT_REPLAY_LOOKED, ret_exact);
    *ret_matched = (int64_t)w.count;
    return e;
}

/* --- a step --- */

struct replay_run {
    struct tx *tx;
    struct arena *arena;
    const struct redrives *redrives;
    const struct redrive *r;
    struct redrive_step *step;
    int64_t now_ms;
    struct queue_new messages[LIMIT_DEAD_STEP];
    size_t count;
    struct uuid dead[LIMIT_DEAD_STEP];
    size_t dead_count;
    int64_t dead_bytes; /* that their retry reads, in addition to the arena's */
};

/* A rejected event is listed by its message's id, as a dead letter is. */
static void replay_refuse(struct replay_run *d, struct uuid message, struct str event,
                          const char *why)
{
    struct why words;

    why_set(&words, "%.*s: %s", (int)(event.n < 60 ? event.n : 60), event.p, why);
    redrive_refuse(d->step, message, str_of(words.text));
}

/* An event that was dead gets a new outcome; for another event the result is stored here. */
static enum err replay_insert(const struct replay_run *d, struct str event,
                              const struct replay_found *f)
{
    bool anew = str_eq(f->was, S("dead"));

    return TX_DO(d->tx, STMT_event_replay_add, 1, v_uuid(&f->message.id), V_TEXT(event),
                 v_uuid(&d->r->id), v_uuid(&d->r->user),
                 f->has_payment ? v_uuid(&f->payment) : V_NULL, V_TEXT(f->was), V_INT(d->now_ms),
                 anew ? V_TEXT(S("retried")) : V_NULL, anew ? V_INT(d->now_ms) : V_NULL);
}

static enum err replay_audit(const struct replay_run *d, struct str event,
                             const struct replay_found *f)
{
    char detail[DETAIL], id[UUID_TEXT + 1];
    struct val v[AUDIT_COLUMNS];

    uuid_text(d->r->id, id);
    snprintf(detail, sizeof(detail), "by replay %s, it was %.*s", id, (int)f->was.n, f->was.p);
    v[0] = V_INT(d->now_ms);
    v[1] = V_TEXT(S("EVENT_REPLAY"));
    v[2] = V_TEXT(event);
    v[3] = V_TEXT(str_of(detail));
    v[4] = v_uuid(&d->r->user);
    v[5] = f->has_payment ? v_uuid(&f->payment) : V_NULL;
    return tx_bulk(d->tx, STMT_audit_letters, v, 1, AUDIT_COLUMNS, NULL, NULL);
}

static enum err replay_take_event(struct replay_run *d, const struct replay_event *event)
{
    struct replay_found f = { 0 };
    struct why why = { 0 };
    enum err e = d->redrives->replay(d->tx, d->arena, event->id, d->now_ms, &f, &why);

    if (event->seq == d->step->first_seq)
        d->step->first = f.message.id;
    if ((e == ERR_UNPROCESSABLE || e == ERR_NOT_FOUND) && !tx_trouble(d->tx)) {
        replay_refuse(d, f.message.id, event->id, why.text[0] ? why.text : err_words(e, LANG_EN));
        return OK;
    }
    if (e)
        return e;
    if (f.is_dead) {
        memcpy(&d->dead[d->dead_count], f.letters, sizeof(f.letters));
        d->dead_count += LETTERS_OF_EVENT;
        d->dead_bytes += f.bytes;
        return OK;
    }
    d->messages[d->count++] = f.message;
    e = replay_insert(d, event->id, &f);
    return e ? e : replay_audit(d, event->id, &f);
}

/* The lanes of the messages that are added. */
static size_t replay_lanes(const struct replay_run *d, int64_t lanes[LIMIT_DEAD_STEP])
{
    size_t n = 0;

    for (size_t i = 0; i < d->count; i++)
        if (d->messages[i].has_lane)
            lanes[n++] = d->messages[i].lane;
    return n;
}

/* Dead events are retried by an act, as an operator would. */
static enum err replay_retry_dead(struct replay_run *d, const int64_t *lanes, size_t lane_count)
{
    char id[UUID_TEXT + 1], by[UUID_TEXT + 16];
    struct dead_act act = { .letters = d->redrives->letters,
                            .verb = DEAD_RETRY,
                            .ids = d->dead,
                            .user = d->r->user,
                            .by = by,
                            .lanes = lanes,
                            .lane_count = lane_count };
    enum err e;

    uuid_text(d->r->id, id);
    snprintf(by, sizeof(by), "replay %s", id);
    e = dead_act_begin(&act, d->arena);
    for (act.id_count = d->dead_count; !e && act.next_id < act.id_count;) {
        e = dead_act_step(d->tx, &act);
        if (!e && !dead_act_took(&act, OK))
            break;
    }
    d->step->done += act.done;
    if (!e)
        redrive_refuse_all(d->step, &act);
    return e;
}

/* Half of the step's memory is kept for the work after the reading. The dead letters of dead events
 * must fit into one step of an act, whose lanes are locked once. */
static bool replay_is_full(const struct replay_run *d, size_t taken)
{
    return d->dead_count + LETTERS_OF_EVENT > LIMIT_DEAD_STEP ||
           (taken && d->arena->used + (size_t)d->dead_bytes > d->arena->limit / 2);
}

/* *ret_taken: how many were taken, from the first on. */
static enum err replay_take_all(struct replay_run *d, const struct replay_event *events, size_t n,
                                size_t *ret_taken)
{
    int64_t lanes[LIMIT_DEAD_STEP];
    size_t i = 0, lane_count;
    enum err e = OK;

    for (; i < n && !e && !replay_is_full(d, i); i++)
        e = replay_take_event(d, &events[i]);
    *ret_taken = i;
    lane_count = replay_lanes(d, lanes);
    if (e)
        return e;
    /* All lanes are locked in one order; an act locks its dead letters before. */
    e = d->dead_count ? replay_retry_dead(d, lanes, lane_count)
                      : queue_lock_lanes(d->tx, lanes, lane_count);
    if (!e && d->count)
        e = queue_add(d->redrives->letters->queue, d->tx, d->now_ms, d->messages, d->count);
    d->step->done += (int64_t)d->count;
    return e;
}

enum err replay_step(struct tx *tx, struct arena *a, const struct redrives *rs, struct redrive *r,
                     struct redrive_step *s)
{
    struct dead_filter f = redrive_filter(r);
    struct replay_scan w = {
        .filter = &f, .after = r->next_id, .until = r->until_ms, .max = s->wanted
    };
    struct replay_run *d = arena_alloc(a, 1, sizeof(*d));
    size_t taken = 0;
    enum err e;

    w.found = arena_alloc(a, s->wanted, sizeof(*w.found));
    if (!d || !w.found)
        return ERR_NO_MEMORY;
    *d = (struct replay_run){ .tx = tx,
                              .arena = a,
                              .redrives = rs,
                              .r = r,
                              .step = s,
                              .now_ms = env_now_ms(rs->letters->env) };
    e = replay_scan(tx, &w, LIMIT_REPLAY_STEP, &s->over);
    if (e)
        return e;
    s->chosen = w.count;
    s->first_seq = w.count ? w.found[0].seq : 0;
    e = replay_take_all(d, w.found, w.count, &taken);
    r->next_id = w.after;
    if (!e && taken < w.count) { /* the others are the next step's */
        r->next_id = w.found[taken - 1].seq;
        s->over = false;
    }
    return e;
}
