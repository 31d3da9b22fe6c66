/* act.c - retrying and deleting dead letters, one or many.
 *
 *   choose (by id, or from the oldest on) -> lock those that are still stored
 *      -> keep as many as fit into a unit's memory; the others are left to the next step
 *      -> call the handler of each one's kind: rejected ones stay dead, the rest goes on
 *      -> retry: undo outcomes, lock all lanes, call the handlers with gates, add the messages
 *         delete: delete attempts and dead letters
 *      -> an audit row for each                     all of it one commit
 *
 *   (1) PostgreSQL: all lanes of a step are locked once, sorted, so that two acts cannot deadlock.
 *       Handlers without gates run before, because they may determine the dead letter's lane.
 *   (2) A unit may be run again: it reads its start from the act and writes only into its step.
 *       dead_act_took() adds the step to the act once it is durable.
 *   (3) A unit that fails because of one dead letter is done again one by one, so that one does not
 *       block the others; the one that fails alone is rejected.
 *
 * After a crash each dead letter is dead or live; the same act again continues with the dead
 * ones. */
#include "base/limits.h"
#include "base/text.h"
#include "dlq/find.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DETAIL = 1200, REASON_CHARS = 200, AUDIT_COLUMNS = 6, EDIT_WORDS = 200 };

struct dead_step {
    struct dead_letter letters[LIMIT_DEAD_STEP]; /* only while the unit runs */
    struct dead_need needs[LIMIT_DEAD_STEP];
    bool fits[LIMIT_DEAD_STEP];
    bool live[LIMIT_DEAD_STEP]; /* revived by their kind */
    char details[LIMIT_DEAD_STEP][DETAIL], ids[LIMIT_DEAD_STEP][UUID_TEXT + 1];
    size_t count;

    /* the unit's results; they count once it is durable */
    struct dead_cursor at;
    size_t next_id;
    size_t chosen;
    int64_t matched, done, looked;
    bool end;
    struct dead_refusal refusals[LIMIT_DEAD_STEP];
    size_t refused;
};

enum err dead_act_begin(struct dead_act *act, struct arena *a)
{
    act->step = arena_alloc(a, 1, sizeof(*act->step));
    return act->step ? OK : ERR_NO_MEMORY;
}

/* --- choosing --- */

/* How many more the unit may choose after `chosen`. */
static size_t dead_act_room(const struct dead_act *act, int64_t chosen)
{
    size_t most = act->alone ? 1 : LIMIT_DEAD_STEP;
    int64_t left = act->limit - act->matched - chosen;

    return act->ids || left > (int64_t)most ? most : (size_t)left;
}

/* Returns s->count if it is not in the step. */
static size_t dead_step_find(const struct dead_step *s, struct uuid id)
{
    size_t i = 0;

    while (i < s->count && !uuid_eq(s->letters[i].id, id))
        i++;
    return i;
}

static enum err dead_step_take_row(void *ctx, const struct row *row)
{
    struct dead_step *s = ctx;
    struct dead_letter d;

    if (!dead_letter_of_row(row, &d))
        return ERR_INTERNAL;
    if (dead_step_find(s, d.id) == s->count) { /* an id may have been named twice */
        assert(s->count < LIMIT_DEAD_STEP);
        s->letters[s->count++] = d;
    }
    return OK;
}

static int dead_letter_by_death(const void *a, const void *b)
{
    const struct dead_letter *x = a, *y = b;

    if (x->died_ms != y->died_ms)
        return x->died_ms < y->died_ms ? -1 : 1;
    return memcmp(x->id.b, y->id.b, sizeof(x->id.b));
}

static enum err dead_step_read(struct tx *tx, struct dead_step *s, enum stmt stmt,
                               const struct val *v, size_t n)
{
    enum err e;

    s->count = 0;
    e = tx_bulk(tx, stmt, v, n, 1, dead_step_take_row, s);
    qsort(s->letters, s->count, sizeof(s->letters[0]), dead_letter_by_death);
    return e;
}

/* Another act may have taken some of them since they were found. */
static enum err dead_step_lock(struct tx *tx, struct dead_step *s)
{
    struct uuid ids[LIMIT_DEAD_STEP];
    struct val v[LIMIT_DEAD_STEP];
    size_t n = s->count;

    for (size_t i = 0; i < n; i++) {
        ids[i] = s->letters[i].id;
        v[i] = V_BLOB(uuid_bytes(&ids[i]));
    }
    return dead_step_read(tx, s, STMT_letters_lock, v, n);
}

static enum err dead_act_choose_by_id(struct tx *tx, struct dead_act *act)
{
    struct dead_step *s = act->step;
    struct val v[LIMIT_DEAD_STEP];
    size_t n = act->id_count - act->next_id, most = dead_act_room(act, 0);
    enum err e;

    n = n < most ? n : most;
    for (size_t i = 0; i < n; i++)
        v[i] = V_BLOB(uuid_bytes(&act->ids[act->next_id + i]));
    e = dead_step_read(tx, s, act->dry_run ? STMT_letters_read : STMT_letters_lock, v, n);
    s->chosen = n;
    s->next_id = act->next_id + n;
    s->end = s->next_id == act->id_count;
    s->matched = (int64_t)s->count;
    return e;
}

static enum err dead_act_start(struct tx *tx, const struct dead_act *act,
                               struct dead_cursor *ret_at)
{
    struct row row;
    enum err e;

    if (act->started || act->has_cursor) {
        *ret_at = act->cursor;
        return OK;
    }
    e = tx_row(tx, STMT_letters_newest, NULL, 0, &row);
    *ret_at = dead_from_oldest(&act->filter, e ? 0 : row.col[0].i);
    return e == ERR_NOT_FOUND ? OK : e;
}

/* A dry run changes nothing, so it counts as many as it may examine. */
static enum err dead_act_choose_by_filter(struct tx *tx, struct dead_act *act)
{
    struct dead_step *s = act->step;
    struct dead_find f = { .filter = &act->filter, .up = true, .found = s->letters };
    enum err e = dead_act_start(tx, act, &f.at);

    while (!e && !f.end) {
        f.max = dead_act_room(act, s->matched);
        f.budget = LIMIT_DEAD_LOOKED - s->looked;
        if (!f.max || f.budget <= 0)
            break;
        e = dead_find(tx, &f);
        s->looked += f.looked;
        s->matched += (int64_t)f.count;
        if (!act->dry_run)
            break;
    }
    s->at = f.at;
    s->end = f.end;
    s->chosen = s->count = f.count;
    return e || act->dry_run ? e : dead_step_lock(tx, s);
}

/* --- leaving out what this redrive took before --- */

static struct str dead_audit_subject(const struct dead_letter *d, const char *id)
{
    return d->ref.n ? d->ref : str_of(id);
}

/* The beginning of the audit detail; the id makes it unique to this dead letter. */
static int dead_audit_begin(const struct dead_act *act, const struct dead_letter *d,
                            char words[DETAIL])
{
    char id[UUID_TEXT + 1];

    uuid_text(d->id, id);
    return snprintf(words, DETAIL, "by %s: " STR_FMT " %s,", act->by, STR_ARG(d->kind), id);
}

static enum err dead_step_drop(void *ctx, const struct row *row)
{
    struct dead_step *s = ctx;

    for (size_t i = 0; i < s->count; i++)
        if (str_eq(uuid_bytes(&s->letters[i].id), row->col[0].s)) {
            memmove(&s->letters[i], &s->letters[i + 1], (s->count - i - 1) * sizeof(s->letters[0]));
            s->chosen = --s->count;
            return OK;
        }
    return OK;
}

/* If the clock was ahead once, the newest dead letter lies in the future, and what was retried and
 * died again lies before the scan's end. The audit log knows what was taken, except where a kind
 * made a new message of it, with another id: that one was added since the redrive began. */
static bool dead_act_is_new(const struct dead_act *act, const struct dead_letter *d)
{
    return !act->ids && act->cursor.until_ms > act->began_ms && d->died_ms >= act->began_ms &&
           d->added_ms >= act->began_ms;
}

static void dead_act_drop_new(const struct dead_act *act)
{
    struct dead_step *s = act->step;
    size_t kept = 0;

    for (size_t i = 0; i < s->count; i++)
        if (!dead_act_is_new(act, &s->letters[i]))
            s->letters[kept++] = s->letters[i];
    s->chosen -= s->count - kept;
    s->count = kept;
}

static enum err dead_act_drop_retaken(struct tx *tx, const struct dead_act *act)
{
    enum { COLUMNS = 3 };
    struct dead_step *s = act->step;
    struct uuid ids[LIMIT_DEAD_STEP];
    struct val v[LIMIT_DEAD_STEP * COLUMNS];
    size_t n = 0;

    if (!act->began_ms)
        return OK;
    dead_act_drop_new(act);
    for (size_t i = 0; i < s->count; i++) {
        const struct dead_letter *d = &s->letters[i];

        if (d->died_ms < act->began_ms)
            continue;
        ids[n] = d->id;
        uuid_text(d->id, s->ids[n]);
        dead_audit_begin(act, d, s->details[n]);
        v[n * COLUMNS] = V_BLOB(uuid_bytes(&ids[n]));
        v[n * COLUMNS + 1] = V_TEXT(dead_audit_subject(d, s->ids[n]));
        v[n * COLUMNS + 2] = V_TEXT(str_of(s->details[n]));
        n++;
    }
    return n ? tx_bulk(tx, STMT_letters_retried, v, n, COLUMNS, dead_step_drop, s) : OK;
}

/* --- fitting into memory --- */

static enum err dead_step_need(struct tx *tx, const struct dead_act *act, size_t i)
{
    struct dead_step *s = act->step;
    const struct dead_kind *k = dead_kind_of(act->letters, s->letters[i].kind);
    enum err e;

    s->fits[i] = true;
    if (act->verb != DEAD_RETRY || !k || !k->need)
        return OK;
    e = k->need(tx, k->ctx, &s->letters[i], &s->needs[i]);
    return e == ERR_NOT_FOUND ? OK : e;
}

/* Cuts the step after the first n: ids in the order given, or dead letters in the order of
 * death. */
static void dead_step_cut(struct dead_act *act, size_t n)
{
    struct dead_step *s = act->step;
    size_t kept = 0;

    if (act->ids) {
        s->next_id = act->next_id + n;
    } else {
        s->at.at_ms = s->letters[n - 1].died_ms;
        s->at.id = s->letters[n - 1].id;
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->fits[i]) {
            s->needs[kept] = s->needs[i];
            s->letters[kept++] = s->letters[i];
        }
    s->count = kept;
    s->chosen = n;
    s->end = false;
}

/* What a handler reads stays in the unit's memory until its end, so the step is cut before too many
 * large bodies exceed it. One always fits. */
static enum err dead_act_fit(struct tx *tx, struct dead_act *act)
{
    struct dead_step *s = act->step;
    size_t n = act->ids ? s->next_id - act->next_id : s->count, i = 0;
    int64_t bytes = 0;
    enum err e = OK;

    memset(s->live, 0, sizeof(s->live));
    memset(s->fits, 0, sizeof(s->fits));
    memset(s->needs, 0, sizeof(s->needs));
    for (; i < n && !e && bytes < LIMIT_DEAD_STEP_BYTES; i++) {
        size_t at = act->ids ? dead_step_find(s, act->ids[act->next_id + i]) : i;

        if (at == s->count || s->fits[at])
            continue;
        e = dead_step_need(tx, act, at);
        bytes += s->needs[at].bytes;
    }
    if (!e && i < n)
        dead_step_cut(act, i);
    return e;
}

/* --- the handlers of the kinds --- */

void dead_refusal_set(struct dead_refusal *r, struct uuid id, struct str words)
{
    if (words.n >= sizeof(r->why))
        words.n = sizeof(r->why) - 1;
    while (!str_is_utf8(words))
        words.n--;
    r->id = id;
    snprintf(r->why, sizeof(r->why), STR_FMT, STR_ARG(words));
}

static void dead_refusal_of_err(struct dead_refusal *r, struct uuid id, enum err e, const char *why)
{
    dead_refusal_set(r, id, str_of(*why ? why : err_words(e, LANG_EN)));
}

static enum err dead_act_call_kind(struct tx *tx, const struct dead_act *act, struct dead_letter *d,
                                   int64_t now_ms, bool *ret_live, struct why *why)
{
    const struct dead_kind *k = dead_kind_of(act->letters, d->kind);

    *ret_live = false;
    if (act->edit)
        return dead_edit(tx, act, d, now_ms, ret_live, why);
    if (k && act->verb == DEAD_RETRY && k->retry)
        return k->retry(tx, k->ctx, d, now_ms, ret_live, why);
    if (k && act->verb == DEAD_DELETE && k->forget)
        return k->forget(tx, k->ctx, d, why);
    return OK;
}

static void dead_step_keep(struct dead_step *s, size_t from, size_t to)
{
    s->letters[to] = s->letters[from];
    s->needs[to] = s->needs[from];
    s->live[to] = s->live[from];
}

/* Calls the handlers with gates, or those without. Rejected dead letters leave the step. */
static enum err dead_act_call_kinds(struct tx *tx, const struct dead_act *act, bool gates,
                                    int64_t now_ms)
{
    struct dead_step *s = act->step;
    size_t kept = 0;

    for (size_t i = 0; i < s->count; i++) {
        struct dead_letter *d = &s->letters[i];
        struct why why = { 0 };
        enum err e = OK;

        if (s->needs[i].has_gates == gates)
            e = dead_act_call_kind(tx, act, d, now_ms, &s->live[i], &why);
        if ((e == ERR_UNPROCESSABLE || e == ERR_NOT_FOUND) && !tx_trouble(tx))
            dead_refusal_of_err(&s->refusals[s->refused++], d->id, e, why.text);
        else if (e)
            return e;
        else
            dead_step_keep(s, i, kept++);
    }
    s->count = kept;
    return OK;
}

/* --- the act --- */

static enum err dead_step_for_all(struct tx *tx, const struct dead_step *s, enum stmt stmt,
                                  bool live_only)
{
    struct val v[LIMIT_DEAD_STEP];
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++)
        if (!live_only || s->live[i])
            v[n++] = V_BLOB(uuid_bytes(&s->letters[i].id));
    return tx_bulk(tx, stmt, v, n, 1, NULL, NULL);
}

/* A retried event is pending again: it has no outcome. */
static enum err dead_step_undo_outcomes(struct tx *tx, const struct dead_step *s)
{
    struct val v[LIMIT_DEAD_STEP];
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++)
        if (str_starts(s->letters[i].kind, S("stripe.")) && s->letters[i].ref.n)
            v[n++] = V_TEXT(s->letters[i].ref);
    return tx_bulk(tx, STMT_outcomes_undo, v, n, 1, NULL, NULL);
}

_Static_assert(LIMIT_DEAD_STEP *DEAD_LANES <= LIMIT_STATEMENT_ROWS, "a step's lanes fit");

static enum err dead_act_lock_lanes(struct tx *tx, const struct dead_act *act)
{
    const struct dead_step *s = act->step;
    int64_t lanes[LIMIT_STATEMENT_ROWS];
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct dead_need *need = &s->needs[i];

        for (size_t k = 0; need->has_gates && k < need->lane_count; k++)
            lanes[n++] = need->lanes[k];
        if (!need->has_gates && s->letters[i].has_lane)
            lanes[n++] = s->letters[i].lane;
    }
    assert(n + act->lane_count <= LIMIT_STATEMENT_ROWS);
    for (size_t i = 0; i < act->lane_count; i++)
        lanes[n++] = act->lanes[i];
    return queue_lock_lanes(tx, lanes, n);
}

static enum err dead_act_revive(struct tx *tx, const struct dead_act *act, int64_t now_ms)
{
    const struct dead_step *s = act->step;
    struct queue_letter l[LIMIT_DEAD_STEP];
    size_t n = 0;
    enum err e;

    for (size_t i = 0; i < s->count; i++) {
        const struct dead_letter *d = &s->letters[i];

        if (!s->live[i])
            l[n++] = (struct queue_letter){ .id = d->id, .has_lane = d->has_lane, .lane = d->lane };
    }
    e = queue_revive(act->letters->queue, tx, now_ms, l, n);
    return e ? e : dead_step_for_all(tx, s, STMT_letters_delete, true);
}

static enum err dead_act_retry(struct tx *tx, const struct dead_act *act, int64_t now_ms)
{
    enum err e = dead_step_undo_outcomes(tx, act->step);

    if (e)
        return e;
    e = dead_act_lock_lanes(tx, act);
    if (e)
        return e;
    e = dead_act_call_kinds(tx, act, true, now_ms);
    return e ? e : dead_act_revive(tx, act, now_ms);
}

static enum err dead_act_delete(struct tx *tx, const struct dead_step *s)
{
    enum err e = dead_step_for_all(tx, s, STMT_letters_delete, false);

    return e ? e : dead_step_for_all(tx, s, STMT_letters_failures_delete, false);
}

/* The hashes can be compared with the bodies that are kept. */
static void dead_audit_edit(const struct dead_act *act, char words[EDIT_WORDS])
{
    const struct dead_edit *e = act->edit;

    words[0] = '\0';
    if (e && e->changed)
        snprintf(words, EDIT_WORDS, " edited, sha256 %s became %s,",
                 e->before[0] ? e->before : "of nothing", e->after);
}

static enum err dead_act_audit(struct tx *tx, const struct dead_act *act, int64_t now_ms)
{
    static const struct uuid admin_token;
    /* Without a queue this is the command line, which has no user. */
    bool unnamed = uuid_eq(act->user, admin_token) && !act->letters->queue;
    char edited[EDIT_WORDS];
    struct dead_step *s = act->step;
    struct val v[LIMIT_DEAD_STEP * AUDIT_COLUMNS];
    struct str what = act->verb == DEAD_RETRY ? S("DLQ_RETRY") : S("DLQ_DELETE");

    for (size_t i = 0; i < s->count; i++) {
        const struct dead_letter *d = &s->letters[i];
        struct val *row = v + i * AUDIT_COLUMNS;
        struct str reason = cut_utf8(d->reason, REASON_CHARS);
        int n;

        uuid_text(d->id, s->ids[i]);
        dead_audit_edit(act, edited);
        n = dead_audit_begin(act, d, s->details[i]);
        snprintf(s->details[i] + n, DETAIL - (size_t)n, "%s dead of: " STR_FMT, edited,
                 STR_ARG(reason));
        row[0] = V_INT(now_ms);
        row[1] = V_TEXT(what);
        row[2] = V_TEXT(dead_audit_subject(d, s->ids[i]));
        row[3] = V_TEXT(str_of(s->details[i]));
        row[4] = unnamed ? V_NULL : V_BLOB(uuid_bytes(&act->user));
        row[5] = d->has_payment ? V_BLOB(uuid_bytes(&d->payment)) : V_NULL;
    }
    return tx_bulk(tx, STMT_audit_letters, v, s->count, AUDIT_COLUMNS, NULL, NULL);
}

static void dead_step_reset(struct dead_step *s)
{
    s->count = s->chosen = s->refused = s->next_id = 0;
    s->matched = s->done = s->looked = 0;
    s->end = false;
}

enum err dead_act_step(struct tx *tx, struct dead_act *act)
{
    struct dead_step *s = act->step;
    int64_t now_ms = env_now_ms(act->letters->env);
    enum err e;

    dead_step_reset(s);
    e = act->ids ? dead_act_choose_by_id(tx, act) : dead_act_choose_by_filter(tx, act);
    if (e || act->dry_run)
        return e;
    e = dead_act_drop_retaken(tx, act);
    if (e)
        return e;
    e = dead_act_fit(tx, act);
    if (e)
        return e;
    s->matched = (int64_t)s->count;
    e = dead_act_call_kinds(tx, act, false, now_ms);
    if (e)
        return e;
    e = act->verb == DEAD_RETRY ? dead_act_retry(tx, act, now_ms) : dead_act_delete(tx, s);
    if (e)
        return e;
    s->done = (int64_t)s->count;
    return dead_act_audit(tx, act, now_ms);
}

/* --- on the executor --- */

static void dead_act_add_refusal(struct dead_act *act, const struct dead_refusal *r)
{
    if (act->refused < DEAD_REFUSALS)
        act->refusals[act->refused] = *r;
    act->refused++;
}

static void dead_act_add_step(struct dead_act *act)
{
    const struct dead_step *s = act->step;

    act->matched += s->matched;
    act->done += s->done;
    for (size_t i = 0; i < s->refused; i++)
        dead_act_add_refusal(act, &s->refusals[i]);
}

/* The dead letter that failed alone counts as rejected. */
static void dead_act_skip(struct dead_act *act, enum err e)
{
    struct dead_refusal r;

    dead_refusal_of_err(&r, act->step->letters[0].id, e, "");
    dead_act_add_refusal(act, &r);
    act->matched++;
}

static bool dead_act_goes_on(struct dead_act *act)
{
    const struct dead_step *s = act->step;

    if (act->ids) {
        act->next_id = s->next_id;
        return !s->end;
    }
    act->started = true;
    act->cursor = s->at;
    act->looked += s->looked;
    act->more = !s->end;
    return act->more && act->matched < act->limit && act->looked < LIMIT_DEAD_CALL;
}

/* An error of the database, or an unknown outcome, is not caused by a dead letter. Being out of
 * memory may be: too many large ones came together. */
static bool dead_act_is_store_error(enum err e)
{
    return e != ERR_STALE && e != ERR_NO_MEMORY && err_is_retryable(e);
}

size_t dead_act_chosen(const struct dead_act *act, struct uuid *ret_first)
{
    if (act->step->chosen)
        *ret_first = act->step->letters[0].id;
    return act->step->chosen;
}

bool dead_act_took(struct dead_act *act, enum err e)
{
    size_t chosen = act->step->chosen;

    if (e && (act->dry_run || dead_act_is_store_error(e) || !chosen)) {
        act->err = e;
        return false;
    }
    if (e && !act->alone && chosen > 1) {
        act->alone = (int)chosen;
        return true;
    }
    if (e)
        dead_act_skip(act, e);
    else
        dead_act_add_step(act);
    if (act->alone)
        act->alone--;
    act->step->chosen = 0;
    return dead_act_goes_on(act);
}
