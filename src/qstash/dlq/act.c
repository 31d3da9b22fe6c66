/* act.c - the chain of units of work that deletes or retries dead messages.
 *
 *   choose --> act --> act (bodies that did not fit) --> choose --> ... --> answer
 *
 * A chosen message may be gone when its turn comes, since another call took it: it is left out. A
 * crash leaves the committed units, and the caller has no answer. */
#include "qstash/dlq/act.h"

#include "base/limits.h"
#include "qstash/dlq/dead_letter.h"
#include "qstash/dlq/unit.h"
#include "qstash/find.h"
#include "store/store.h"

#include <stdlib.h>

enum { USUAL = 100 }; /* how many, if the call does not say */

/* --- by dlqId --- */

static int dead_name_compare(const void *a, const void *b)
{
    const struct dead_name *x = a, *y = b;

    return x->seq != y->seq ? (x->seq < y->seq ? -1 : 1)
                            : (x->died_ms > y->died_ms) - (x->died_ms < y->died_ms);
}

enum err dead_names_read(struct arena *a, const struct filter_texts *texts,
                         struct dead_name **ret_names, size_t *ret_count)
{
    struct dead_name *names = arena_alloc(a, texts->n + 1, sizeof(*names));
    size_t n = 0, kept = 0;

    if (!names)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < texts->n; i++)
        n += dlq_id_parse(texts->v[i], &names[n].died_ms, &names[n].seq);
    qsort(names, n, sizeof(*names), dead_name_compare);
    for (size_t i = 0; i < n; i++)
        if (!kept || dead_name_compare(&names[i], &names[kept - 1]))
            names[kept++] = names[i];
    *ret_names = names;
    *ret_count = kept;
    return OK;
}

struct dead_names {
    struct dead_name *names;
    size_t n;
};

static enum err dead_names_add_row(void *ctx, const struct row *row)
{
    struct dead_names *x = ctx;

    for (size_t i = 0; i < x->n; i++) {
        struct dead_name *name = &x->names[i];

        if (name->seq != row->col[0].i || name->died_ms != row->col[2].i)
            continue;
        name->there = uuid_of_bytes(row->col[1].s, &name->id);
        return name->there ? OK : ERR_INTERNAL;
    }
    return OK;
}

enum err dead_names_find(struct tx *tx, struct dead_name *names, size_t n)
{
    struct dead_names x = { names, n };
    struct val v[LIMIT_STATEMENT_ROWS];

    for (size_t i = 0; i < n; i++) {
        names[i].there = false;
        v[i] = V_INT(names[i].seq);
    }
    return n ? tx_bulk(tx, STMT_qstash_dead_at, v, n, 1, dead_names_add_row, &x) : OK;
}

/* --- an act --- */

struct dlq_act {
    struct unit unit;
    struct qstash_request *v;
    enum dlq_verb verb;
    bool one; /* named by the path */

    struct selection selection;
    struct dead_name *names;
    size_t name_count, next_name;
    struct find find, next; /* as of the last unit, and what the present one made of it */

    struct found found[LIMIT_QSTASH_DEAD_STEP + 1];
    struct dlq_unit now; /* those that were chosen */
    bool more;           /* there are more after them */

    int64_t left, looked, count;
    struct buf out; /* the responses */
};

static void dlq_act_post(struct dlq_act *x, const struct unit_kind *kind,
                         void (*done)(struct unit *u))
{
    x->unit = (struct unit){
        .kind = kind, .executor = x->v->r->executor, .done = done, .arena = &x->v->r->arena
    };
    store_post(x->v->q->store, &x->unit);
}

/* --- the answer --- */

static void dlq_act_fail(struct dlq_act *x, enum err e)
{
    buf_release(&x->out);
    if (e == ERR_VALIDATION && x->now.why.text[0])
        qstash_reply_error(x->v, 400, "%s", x->now.why.text);
    else if (e == ERR_UNPROCESSABLE)
        qstash_reply_error(x->v, 412, "%s", QUEUES_FULL);
    else
        qstash_reply_err(x->v, e);
}

static void dlq_act_add_cursor(struct dlq_act *x, struct buf *b, bool more)
{
    char cursor[FIND_CURSOR];

    if (!more || x->names)
        return;
    find_cursor(&x->find, &x->find.at, cursor);
    buf_fmt(b, ",\"cursor\":\"%s\"", cursor);
}

static void dlq_act_write_retried(struct dlq_act *x, struct buf *b, bool more)
{
    buf_char(b, '{');
    if (x->one && !x->out.failed) { /* also in the form of the answer to a publish */
        struct str first = buf_str(&x->out);

        buf_add(b, (struct str){ first.p + 1, first.n - 2 });
        buf_char(b, ',');
    }
    buf_add(b, S("\"responses\":["));
    buf_add(b, buf_str(&x->out));
    buf_char(b, ']');
    dlq_act_add_cursor(x, b, more);
    buf_char(b, '}');
}

static void dlq_act_answer(struct dlq_act *x, bool more)
{
    struct qstash_request *v = x->v;
    struct buf b;

    if (x->one && !x->count) {
        buf_release(&x->out);
        qstash_reply_error(v, 404, "dlq message not found");
        return;
    }
    buf_init(&b, LIMIT_REPLY);
    if (x->verb == DLQ_RETRY) {
        dlq_act_write_retried(x, &b, more);
    } else {
        buf_fmt(&b, "{\"deleted\":%lld", (long long)x->count);
        dlq_act_add_cursor(x, &b, more);
        buf_char(&b, '}');
    }
    b.failed |= x->out.failed;
    buf_release(&x->out);
    qstash_reply(v, x->verb == DLQ_RETRY ? 201 : 200, &b);
}

/* --- acting --- */

static enum err dlq_act_unit(struct tx *tx, struct unit *u)
{
    struct dlq_act *x = CONTAINER_OF(u, struct dlq_act, unit);

    return dlq_unit_run(tx, &x->now);
}

static void dlq_act_continue(struct dlq_act *x);

static void dlq_act_add_response(struct dlq_act *x, struct uuid id)
{
    char text[MESSAGE_ID_TEXT + 1];

    message_id_text(id, text);
    buf_fmt(&x->out, "%s{\"messageId\":\"%s\"}", x->out.n ? "," : "", text);
}

static void dlq_act_acted(struct unit *u)
{
    struct dlq_act *x = CONTAINER_OF(u, struct dlq_act, unit);

    if (u->err) {
        dlq_act_fail(x, u->err);
        return;
    }
    for (; x->now.from < x->now.upto; x->now.from++) {
        if (!x->now.did[x->now.from])
            continue;
        x->count++;
        x->left--;
        if (x->verb == DLQ_RETRY)
            dlq_act_add_response(x, x->now.new_ids[x->now.from]);
    }
    dlq_act_continue(x);
}

static void dlq_act_run(struct dlq_act *x)
{
    static const struct unit_kind kind = { "qstash.dlq.act", UNIT_FRONT, dlq_act_unit, NULL };

    dlq_act_post(x, &kind, dlq_act_acted);
}

/* --- choosing --- */

static size_t dlq_act_name_count(const struct dlq_act *x)
{
    size_t n = x->name_count - x->next_name;

    return n < LIMIT_QSTASH_DEAD_STEP ? n : LIMIT_QSTASH_DEAD_STEP;
}

static enum err dlq_act_choose_by_id(struct tx *tx, struct dlq_act *x)
{
    return dead_names_find(tx, x->names + x->next_name, dlq_act_name_count(x));
}

/* Looks for one more than may be acted on, to know whether there are more. */
static enum err dlq_act_choose_by_filter(struct tx *tx, struct dlq_act *x)
{
    int64_t most = x->left < LIMIT_QSTASH_DEAD_STEP ? x->left : LIMIT_QSTASH_DEAD_STEP;

    x->next = x->find;
    x->next.arena = &x->v->r->arena;
    x->next.found = x->found;
    x->next.max = (size_t)most + 1;
    x->next.budget = LIMIT_QSTASH_LOOKED;
    return find_next(tx, &x->next);
}

static enum err dlq_act_choose_unit(struct tx *tx, struct unit *u)
{
    struct dlq_act *x = CONTAINER_OF(u, struct dlq_act, unit);

    return x->names ? dlq_act_choose_by_id(tx, x) : dlq_act_choose_by_filter(tx, x);
}

static void dlq_act_choose_id(struct dlq_act *x, struct uuid id)
{
    x->now.ids[x->now.count] = id;
    x->now.new_ids[x->now.count++] = env_uuid(x->v->q->env);
}

static void dlq_act_take_names(struct dlq_act *x)
{
    const struct dead_name *name = x->names + x->next_name, *end = name + dlq_act_name_count(x);

    x->next_name += dlq_act_name_count(x);
    x->more = x->next_name < x->name_count;
    for (; name < end; name++)
        if (name->there)
            dlq_act_choose_id(x, name->id);
}

static void dlq_act_take_found(struct dlq_act *x)
{
    size_t n = x->next.count, most = x->next.max - 1;

    x->find = x->next;
    x->looked += x->next.looked;
    x->more = n > most || !x->next.end;
    if (n > most)
        x->find.at = x->found[most - 1].spot;
    for (size_t i = 0; i < n && i < most; i++)
        dlq_act_choose_id(x, x->found[i].id);
}

static void dlq_act_chose(struct unit *u)
{
    struct dlq_act *x = CONTAINER_OF(u, struct dlq_act, unit);

    if (u->err) {
        dlq_act_fail(x, u->err);
        return;
    }
    x->now.count = x->now.from = 0;
    if (x->names)
        dlq_act_take_names(x);
    else
        dlq_act_take_found(x);
    dlq_act_continue(x);
}

static void dlq_act_choose(struct dlq_act *x)
{
    static const struct unit_kind kind = { "qstash.dlq.choose", UNIT_READ, dlq_act_choose_unit,
                                           NULL };

    dlq_act_post(x, &kind, dlq_act_chose);
}

static void dlq_act_continue(struct dlq_act *x)
{
    if (x->now.from < x->now.count)
        dlq_act_run(x);
    else if (!x->more || x->left <= 0 || x->looked >= LIMIT_QSTASH_LOOKED_CALL)
        dlq_act_answer(x, x->more);
    else
        dlq_act_choose(x);
}

/* --- the calls --- */

/* Only the Upstash-* headers: all others are about this request. */
static enum err dlq_act_take_options(struct dlq_act *x)
{
    const struct request *r = x->v->r;
    struct header *headers = arena_alloc(&x->v->r->arena, r->header_count + 1, sizeof(*headers));

    if (!headers)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < r->header_count; i++) {
        struct str name = r->headers[i].name;

        if (name.n > 8 && str_eq_nocase((struct str){ name.p, 8 }, S("upstash-")))
            headers[x->now.header_count++] = r->headers[i];
    }
    x->now.headers = headers;
    return dlq_unit_check(&x->now);
}

ANSWERS static struct dlq_act *dlq_act_new(struct qstash_request *v, enum dlq_verb verb)
{
    struct dlq_act *x = arena_alloc(&v->r->arena, 1, sizeof(*x));
    enum err e = OK;

    if (!x) {
        qstash_reply_err(v, ERR_NO_MEMORY);
        return NULL;
    }
    x->now.v = x->v = v;
    x->now.verb = x->verb = verb;
    x->more = true;
    buf_init(&x->out, LIMIT_REPLY);
    if (verb == DLQ_RETRY)
        e = dlq_act_take_options(x);
    if (e)
        dlq_act_fail(x, e);
    return e ? NULL : x;
}

/* A deletion cannot be undone: "all" must be said, by a count. */
static enum err dlq_act_check_delete(struct dlq_act *x)
{
    const struct selection *s = &x->selection;
    const struct filter *f = &s->filter;

    if (x->verb != DLQ_DELETE || s->by_ids || s->count || s->cursor.n || filter_has_texts(f) ||
        f->has_ids || f->status_count || f->has_dates)
        return OK;
    return why_err(&x->now.why, ERR_VALIDATION,
                   "say what to delete: dlqIds, a filter (label, url, queueName and the like), or"
                   " count=100 for the oldest hundred of all");
}

ANSWERS static bool dlq_act_take_selection(struct dlq_act *x)
{
    struct qstash_request *v = x->v;
    struct selection *s = &x->selection;
    enum err e = selection_read(&v->r->arena, SELECT_DEAD, v->query, v->r->body, s, &x->now.why);

    if (!e)
        e = dlq_act_check_delete(x);
    if (!e && s->by_ids)
        e = dead_names_read(&v->r->arena, &s->ids, &x->names, &x->name_count);
    if (e) {
        dlq_act_fail(x, e);
        return false;
    }
    x->left = s->count && s->count < LIMIT_QSTASH_DEAD_CALL ? s->count
              : s->count                                    ? LIMIT_QSTASH_DEAD_CALL
                                                            : USUAL;
    if (s->by_ids)
        x->left = INT64_MAX;
    find_begin(&x->find, FIND_DEAD, &s->filter);
    if (!s->cursor.n || find_cursor_read(&x->find, s->cursor))
        return true;
    qstash_reply_error(v, 400, "invalid cursor");
    return false;
}

void dlq_act_many(struct qstash_request *v, enum dlq_verb verb)
{
    struct dlq_act *x = dlq_act_new(v, verb);

    if (!x || !dlq_act_take_selection(x))
        return;
    if (x->names)
        x->more = x->name_count > 0;
    dlq_act_continue(x);
}

void dlq_act_one(struct qstash_request *v, enum dlq_verb verb)
{
    struct dlq_act *x = dlq_act_new(v, verb);
    struct filter_texts texts = { .v = &v->param[0], .n = 1 };
    enum err e;

    if (!x)
        return;
    x->one = true;
    x->left = 1;
    e = dead_names_read(&v->r->arena, &texts, &x->names, &x->name_count);
    x->more = x->name_count > 0;
    if (e)
        dlq_act_fail(x, e);
    else
        dlq_act_continue(x);
}
