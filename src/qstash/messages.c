/* messages.c - one message as it was published, and cancelling: one, these, what a filter fits,
 * all.
 *
 * A filter's cancel is a chain of units: one that reads and finds the next ones, one that cancels
 * them, and so on. It goes from the newest to the oldest, so that it comes to an end while others
 * publish, and nobody who waits is let in because the one before him was cancelled first. */
#include "base/limits.h"
#include "qstash/call.h"
#include "qstash/find.h"
#include "qstash/render.h"
#include "store/values.h"

/* --- GET /v2/messages/{id} --- */

static enum err not_here(struct call *c)
{
    return call_refuse(c, 404, "message not found");
}

static enum err messages_get(struct tx *tx, struct call *c)
{
    struct arena a;
    struct parcel p;
    struct uuid id;
    struct row row;
    enum err e = ERR_NOT_FOUND;

    if (message_id_parse(c->v->param[0], &id))
        e = TX_ROW(tx, STMT_qstash_message_show, &row, v_uuid(&id));
    if (e)
        return e == ERR_NOT_FOUND ? not_here(c) : e;
    arena_init(&a, LIMIT_REQUEST_ARENA);
    e = parcel_of_row(&a, &row, 0, &p);
    p.body = row.col[PARCEL_COLUMN_COUNT].s;
    buf_char(&c->out, '{');
    if (!e)
        render_message(&c->out, &p);
    buf_char(&c->out, '}');
    arena_release(&a);
    return e;
}

void qstash_message_get(struct visit *v)
{
    call_read(v, messages_get);
}

/* --- DELETE /v2/messages/{id} --- */

static enum err cancel_one(struct tx *tx, struct call *c)
{
    struct uuid id;
    int64_t count = 0;
    enum err e = OK;

    if (message_id_parse(c->v->param[0], &id))
        e = parcels_cancel(c->v->q, tx, &id, 1, &count);
    if (!e && !count)
        e = not_here(c);
    buf_add(&c->out, S("{\"cancelled\":1}"));
    return e;
}

void qstash_message_cancel(struct visit *v)
{
    call_write(v, cancel_one);
}

/* --- DELETE /v2/messages --- */

/* What SDKs send where nobody said how many: then it is all that fit. */
enum { COUNT_OF_THE_SDK = 100 };

struct clearing {
    struct unit unit;
    struct visit *v;
    struct selection selection;
    struct find find, next; /* as of the last unit, and what the present one made of it */
    struct found found[LIMIT_QSTASH_CANCEL];

    struct uuid ids[LIMIT_QSTASH_CANCEL]; /* to be cancelled now */
    size_t count, next_id;
    int64_t cancelled, in_unit, left;
};

static void messages_post(struct clearing *c, const struct unit_kind *kind,
                          void (*done)(struct unit *u))
{
    c->unit = (struct unit){
        .kind = kind, .executor = c->v->r->executor, .done = done, .arena = &c->v->r->arena
    };
    store_post(c->v->q->store, &c->unit);
}

static void messages_answer(struct clearing *c)
{
    struct buf b;

    buf_init(&b, 64);
    buf_fmt(&b, "{\"cancelled\":%lld}", (long long)c->cancelled);
    visit_buf(c->v, 200, &b);
}

static void go_on(struct clearing *c);

static enum err cancel_ids(struct tx *tx, struct unit *u)
{
    struct clearing *c = CONTAINER_OF(u, struct clearing, unit);

    return parcels_cancel(c->v->q, tx, c->ids, c->count, &c->in_unit);
}

static void were_cancelled(struct unit *u)
{
    struct clearing *c = CONTAINER_OF(u, struct clearing, unit);

    if (u->err) {
        visit_err(c->v, u->err);
        return;
    }
    c->cancelled += c->in_unit;
    c->left -= c->in_unit;
    go_on(c);
}

static void cancel_them(struct clearing *c)
{
    static const struct unit_kind kind = { "qstash.cancel", UNIT_FRONT, cancel_ids, NULL };

    messages_post(c, &kind, were_cancelled);
}

static enum err messages_look(struct tx *tx, struct unit *u)
{
    struct clearing *c = CONTAINER_OF(u, struct clearing, unit);

    c->next = c->find;
    c->next.arena = &c->v->r->arena;
    c->next.found = c->found;
    c->next.max = c->left < LIMIT_QSTASH_CANCEL ? (size_t)c->left : LIMIT_QSTASH_CANCEL;
    c->next.budget = LIMIT_QSTASH_LOOKED;
    return find_next(tx, &c->next);
}

static void was_looked(struct unit *u)
{
    struct clearing *c = CONTAINER_OF(u, struct clearing, unit);

    if (u->err) {
        visit_err(c->v, u->err);
        return;
    }
    c->find = c->next;
    c->count = c->find.count;
    for (size_t i = 0; i < c->count; i++)
        c->ids[i] = c->found[i].id;
    if (c->count)
        cancel_them(c);
    else
        go_on(c);
}

static void go_on_by_filter(struct clearing *c)
{
    static const struct unit_kind kind = { "qstash.cancel.look", UNIT_READ, messages_look, NULL };

    if (c->find.end || c->left <= 0)
        messages_answer(c);
    else
        messages_post(c, &kind, was_looked);
}

static bool is_named_before(const struct clearing *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (uuid_eq(c->ids[i], c->ids[c->count]))
            return true;
    return false;
}

static void go_on_by_ids(struct clearing *c)
{
    const struct filter_texts *ids = &c->selection.ids;

    c->count = 0;
    for (; c->next_id < ids->n && c->count < LIMIT_QSTASH_CANCEL; c->next_id++)
        if (message_id_parse(ids->v[c->next_id], &c->ids[c->count]) && !is_named_before(c))
            c->count++;
    if (c->count)
        cancel_them(c);
    else
        messages_answer(c);
}

static void go_on(struct clearing *c)
{
    if (c->selection.by_ids)
        go_on_by_ids(c);
    else
        go_on_by_filter(c);
}

void qstash_messages_cancel(struct visit *v)
{
    struct clearing *c = arena_alloc(&v->r->arena, 1, sizeof(*c));
    struct why why = { 0 };
    enum err e = ERR_NO_MEMORY;

    if (!visit_body_is_json(v))
        return;
    if (c)
        e = selection_read(&v->r->arena, SELECT_LIVE, v->query, v->r->body, &c->selection, &why);
    if (e == ERR_VALIDATION) {
        visit_error(v, 400, "%s", why.text);
        return;
    }
    if (e) {
        visit_err(v, e);
        return;
    }
    c->v = v;
    c->left = c->selection.count && c->selection.count != COUNT_OF_THE_SDK ? c->selection.count
                                                                           : INT64_MAX;
    find_begin(&c->find, FIND_LIVE, &c->selection.filter);
    go_on(c);
}
