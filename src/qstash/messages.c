/* messages.c - the API calls under /v2/messages: one message as published, and cancelling one, some
 * by id, those that match a filter, or all.
 *
 * A bulk cancel is a chain of units of work: one finds the next messages, another cancels them, and
 * so on. It goes from the newest to the oldest, so that it ends while others publish, and so that
 * it starts none of the messages that wait. A crash leaves the committed units. */
#include "base/limits.h"
#include "qstash/call.h"
#include "qstash/find.h"
#include "qstash/render.h"
#include "store/values.h"

/* --- GET /v2/messages/{id} --- */

static enum err message_not_found(struct api_call *c)
{
    return api_call_refuse(c, 404, "message not found");
}

static enum err message_get(struct tx *tx, struct api_call *c)
{
    struct arena a;
    struct parcel p;
    struct uuid id;
    struct row row;
    enum err e = ERR_NOT_FOUND;

    if (message_id_parse(c->v->param[0], &id))
        e = TX_ROW(tx, STMT_qstash_message_show, &row, v_uuid(&id));
    if (e)
        return e == ERR_NOT_FOUND ? message_not_found(c) : e;
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

void qstash_message_get(struct qstash_request *v)
{
    api_call_read(v, message_get);
}

/* --- DELETE /v2/messages/{id} --- */

static enum err message_cancel(struct tx *tx, struct api_call *c)
{
    struct uuid id;
    int64_t count = 0;
    enum err e = OK;

    if (message_id_parse(c->v->param[0], &id))
        e = parcels_cancel(c->v->q, tx, &id, 1, &count);
    if (!e && !count)
        e = message_not_found(c);
    buf_add(&c->out, S("{\"cancelled\":1}"));
    return e;
}

void qstash_message_cancel(struct qstash_request *v)
{
    api_call_write(v, message_cancel);
}

/* --- DELETE /v2/messages --- */

/* What the SDKs send if the caller gives no count: then all that match are cancelled. */
enum { COUNT_OF_THE_SDK = 100 };

struct bulk_cancel {
    struct unit unit;
    struct qstash_request *v;
    struct selection selection;
    struct find find, next; /* after the last unit; in the present one */
    struct found found[LIMIT_QSTASH_CANCEL];

    struct uuid ids[LIMIT_QSTASH_CANCEL]; /* to be cancelled now */
    size_t count, next_id;
    int64_t cancelled, in_unit, left;
};

static void bulk_post(struct bulk_cancel *c, const struct unit_kind *kind,
                      void (*done)(struct unit *u))
{
    c->unit = (struct unit){
        .kind = kind, .executor = c->v->r->executor, .done = done, .arena = &c->v->r->arena
    };
    store_post(c->v->q->store, &c->unit);
}

static void bulk_answer(struct bulk_cancel *c)
{
    struct buf b;

    buf_init(&b, 64);
    buf_fmt(&b, "{\"cancelled\":%lld}", (long long)c->cancelled);
    qstash_reply(c->v, 200, &b);
}

static void bulk_continue(struct bulk_cancel *c);

static enum err bulk_cancel_unit(struct tx *tx, struct unit *u)
{
    struct bulk_cancel *c = CONTAINER_OF(u, struct bulk_cancel, unit);

    return parcels_cancel(c->v->q, tx, c->ids, c->count, &c->in_unit);
}

static void bulk_canceled(struct unit *u)
{
    struct bulk_cancel *c = CONTAINER_OF(u, struct bulk_cancel, unit);

    if (u->err) {
        qstash_reply_err(c->v, u->err);
        return;
    }
    c->cancelled += c->in_unit;
    c->left -= c->in_unit;
    bulk_continue(c);
}

static void bulk_cancel_found(struct bulk_cancel *c)
{
    static const struct unit_kind kind = { "qstash.cancel", UNIT_FRONT, bulk_cancel_unit, NULL };

    bulk_post(c, &kind, bulk_canceled);
}

static enum err bulk_find_unit(struct tx *tx, struct unit *u)
{
    struct bulk_cancel *c = CONTAINER_OF(u, struct bulk_cancel, unit);

    c->next = c->find;
    c->next.arena = &c->v->r->arena;
    c->next.found = c->found;
    c->next.max = c->left < LIMIT_QSTASH_CANCEL ? (size_t)c->left : LIMIT_QSTASH_CANCEL;
    c->next.budget = LIMIT_QSTASH_LOOKED;
    return find_next(tx, &c->next);
}

static void bulk_found(struct unit *u)
{
    struct bulk_cancel *c = CONTAINER_OF(u, struct bulk_cancel, unit);

    if (u->err) {
        qstash_reply_err(c->v, u->err);
        return;
    }
    c->find = c->next;
    c->count = c->find.count;
    for (size_t i = 0; i < c->count; i++)
        c->ids[i] = c->found[i].id;
    if (c->count)
        bulk_cancel_found(c);
    else
        bulk_continue(c);
}

static void bulk_continue_by_filter(struct bulk_cancel *c)
{
    static const struct unit_kind kind = { "qstash.cancel.look", UNIT_READ, bulk_find_unit, NULL };

    if (c->find.end || c->left <= 0)
        bulk_answer(c);
    else
        bulk_post(c, &kind, bulk_found);
}

static bool bulk_has_id(const struct bulk_cancel *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (uuid_eq(c->ids[i], c->ids[c->count]))
            return true;
    return false;
}

static void bulk_continue_by_ids(struct bulk_cancel *c)
{
    const struct filter_texts *ids = &c->selection.ids;

    c->count = 0;
    for (; c->next_id < ids->n && c->count < LIMIT_QSTASH_CANCEL; c->next_id++)
        if (message_id_parse(ids->v[c->next_id], &c->ids[c->count]) && !bulk_has_id(c))
            c->count++;
    if (c->count)
        bulk_cancel_found(c);
    else
        bulk_answer(c);
}

static void bulk_continue(struct bulk_cancel *c)
{
    if (c->selection.by_ids)
        bulk_continue_by_ids(c);
    else
        bulk_continue_by_filter(c);
}

void qstash_messages_cancel(struct qstash_request *v)
{
    struct bulk_cancel *c = arena_alloc(&v->r->arena, 1, sizeof(*c));
    struct why why = { 0 };
    enum err e = ERR_NO_MEMORY;

    if (!qstash_request_is_json(v))
        return;
    if (c)
        e = selection_read(&v->r->arena, SELECT_LIVE, v->query, v->r->body, &c->selection, &why);
    if (e == ERR_VALIDATION) {
        qstash_reply_error(v, 400, "%s", why.text);
        return;
    }
    if (e) {
        qstash_reply_err(v, e);
        return;
    }
    c->v = v;
    c->left = c->selection.count && c->selection.count != COUNT_OF_THE_SDK ? c->selection.count
                                                                           : INT64_MAX;
    find_begin(&c->find, FIND_LIVE, &c->selection.filter);
    bulk_continue(c);
}
