/* batch.c - POST /v2/batch: many messages in one call. Each item is checked by itself: a bad one
 * becomes {"error":"..."} in the answer, and the others are published.
 *
 *   read all -> [ fill a chunk -> its unit -> its part of the answer ]* -> answer
 *
 * A chunk is a unit of work: at most LIMIT_BULK items and LIMIT_BULK_BYTES, or one item that names
 * a group (which may take several units: fan_out.h). Chunks run one after the other, so:
 *   (1) Items are stored in their order, and an item that repeats an earlier one is recognized.
 *   (2) If the store fails, the chunks before stay and are answered, and all other items get the
 *       error. If nothing is stored yet, the whole call fails.
 * A crash leaves the committed chunks without an answer; deduplication tells a repeat apart. */
#include "base/limits.h"
#include "qstash/endpoint.h"
#include "qstash/publish/batch_item.h"
#include "qstash/publish/fan_out.h"
#include "store/store.h"

#include <assert.h>

struct batch_slot { /* an item of the chunk */
    struct input in;
    struct posting posting; /* where it is good and names no group */
    bool good;
};

struct batch { /* one API call, in the request's arena */
    struct unit unit;
    struct qstash_request *v;
    struct input_source common;
    struct batch_item *items;
    size_t count, next;       /* those before next are in the answer or in the chunk */
    struct arena list;        /* of the items */
    struct arena arena;       /* of the chunk */
    struct batch_slot *slots; /* LIMIT_BULK of them */
    size_t slot_count;
    bool to_group; /* the chunk is one item */
    struct mailing mailing;
    bool stored; /* some chunk was */
    struct buf out;
};

static void batch_continue(struct batch *b);

/* --- the unit --- */

static enum err batch_run(struct tx *tx, struct unit *u)
{
    struct batch *b = CONTAINER_OF(u, struct batch, unit);
    struct posting *all[LIMIT_BULK];
    enum err e = fault_point(&tx_env(tx)->faults, "qstash.batch");
    size_t n = 0;

    if (e)
        return e;
    if (b->to_group)
        return mailing_run(b->v->q, tx, u->arena, &b->mailing);
    for (size_t i = 0; i < b->slot_count; i++)
        if (b->slots[i].good)
            all[n++] = &b->slots[i].posting;
    assert(n);
    return postings_store(b->v->q, tx, all, n);
}

/* --- the answer --- */

static void batch_release(struct batch *b)
{
    arena_release(&b->list);
    arena_release(&b->arena);
}

static void batch_add_comma(struct batch *b)
{
    if (b->out.n && b->out.p[b->out.n - 1] != '[') /* empty if there was no memory for the '[' */
        buf_char(&b->out, ',');
}

static void batch_add_error(struct batch *b, struct str words)
{
    batch_add_comma(b);
    buf_add(&b->out, S("{\"error\":"));
    buf_json(&b->out, words);
    buf_char(&b->out, '}');
}

static void batch_answer(struct batch *b)
{
    struct buf out = b->out;

    buf_char(&out, ']');
    batch_release(b);
    qstash_reply(b->v, 200, &out);
}

static void batch_fail(struct batch *b, enum err e)
{
    batch_release(b);
    buf_release(&b->out);
    qstash_reply_err(b->v, e);
}

static void batch_add_slot(struct batch *b, const struct batch_slot *s)
{
    if (!s->good) {
        batch_add_error(b, str_of(s->in.why.text));
        return;
    }
    if (s->posting.refused) {
        batch_add_error(b, S(QUEUES_FULL));
        return;
    }
    batch_add_comma(b);
    posting_write(&b->out, &s->posting, false);
}

static void batch_add_group(struct batch *b, enum err e)
{
    if (e == ERR_NOT_FOUND) {
        batch_add_error(b, S("url group not found; a url begins with http:// or https://"));
        return;
    }
    if (!b->mailing.done && b->mailing.all[0].refused) {
        batch_add_error(b, S(QUEUES_FULL));
        return;
    }
    batch_add_comma(b);
    mailing_write(&b->out, &b->mailing, e);
}

/* Answers the chunk's items and all after them. Some members of a group may be stored. */
static void batch_fail_rest(struct batch *b, enum err e, struct str words)
{
    bool some = b->to_group && b->mailing.done;

    if (some)
        batch_add_group(b, e);
    for (size_t i = 0; i < b->slot_count && !some; i++)
        batch_add_error(b, b->slots[i].good ? words : str_of(b->slots[i].in.why.text));
    for (size_t i = b->next; i < b->count; i++)
        batch_add_error(b, words);
    batch_answer(b);
}

static bool batch_group_continues(struct batch *b)
{
    struct mailing *m = &b->mailing;

    return b->to_group && (m->done || !m->all[0].refused) && mailing_goes_on(m);
}

static void batch_chunk_done(struct unit *u)
{
    struct batch *b = CONTAINER_OF(u, struct batch, unit);
    enum err e = u->err == ERR_CONFLICT ? OK : u->err; /* see postings_store() */

    if (e && !(b->to_group && e == ERR_NOT_FOUND)) {
        if (b->stored)
            batch_fail_rest(b, e, str_of(err_words(e, LANG_EN)));
        else
            batch_fail(b, e);
        return;
    }
    b->stored |= !e;
    if (!e && batch_group_continues(b)) {
        store_post(b->v->q->store, &b->unit);
        return;
    }
    if (b->to_group)
        batch_add_group(b, e);
    for (size_t i = 0; !b->to_group && i < b->slot_count; i++)
        batch_add_slot(b, &b->slots[i]);
    batch_continue(b);
}

/* --- the chunk --- */

static void slot_init(struct batch *b, struct batch_slot *s)
{
    s->posting.parcel = s->in.parcel;
    posting_init(&s->posting, &s->in, env_uuid(b->v->q->env), b->common.now_ms);
    b->unit.bytes += s->in.parcel.body.n + s->in.parcel.header.n + 2 * s->in.parcel.url.n;
}

/* A fault of the item goes into its slot; only our own failures are returned. */
static enum err slot_read(struct batch *b, struct batch_slot *s)
{
    enum err e = batch_item_input(&b->arena, &b->items[b->next], &b->common, &s->in);

    s->good = !e && !s->in.cron.n;
    if (!e && s->in.cron.n)
        why_set(&s->in.why, "a schedule cannot be made in a batch");
    if (e == ERR_TOO_LARGE)
        why_set(&s->in.why, "the body is larger than %d bytes", LIMIT_QSTASH_BODY);
    return e == ERR_VALIDATION || e == ERR_TOO_LARGE ? OK : e;
}

/* *ret_more: another item may follow in this chunk. */
static enum err batch_take_item(struct batch *b, bool *ret_more)
{
    struct batch_slot *s = &b->slots[b->slot_count];
    enum err e = slot_read(b, s);
    bool to_group = s->good && s->in.group.n;

    *ret_more = !to_group;
    if (e || (to_group && b->slot_count))
        return e; /* the group begins the next chunk */
    if (to_group && !mailing_init(&b->mailing, b->v->q->env, &b->arena, &s->in, b->common.now_ms))
        return ERR_NO_MEMORY;
    b->to_group = to_group;
    if (s->good && !to_group)
        slot_init(b, s);
    b->next++;
    b->slot_count++;
    return OK;
}

static enum err batch_fill_chunk(struct batch *b)
{
    bool more = true;
    enum err e = OK;

    arena_release(&b->arena);
    b->unit.bytes = 0;
    b->to_group = false;
    b->slot_count = 0;
    while (!e && more && b->slot_count < LIMIT_BULK && b->next < b->count &&
           b->unit.bytes < LIMIT_BULK_BYTES)
        e = batch_take_item(b, &more);
    return e;
}

static bool batch_has_good(const struct batch *b)
{
    for (size_t i = 0; i < b->slot_count; i++)
        if (b->slots[i].good)
            return true;
    return false;
}

static void batch_continue(struct batch *b)
{
    while (b->next < b->count) {
        enum err e;

        b->slot_count = 0;
        if (b->out.n > LIMIT_QSTASH_BATCH_ANSWER) {
            b->to_group = false;
            batch_fail_rest(b, OK, S("the batch makes too many messages"));
            return;
        }
        e = batch_fill_chunk(b);
        if (e) {
            b->unit.err = e;
            batch_chunk_done(&b->unit);
            return;
        }
        if (batch_has_good(b)) {
            store_post(b->v->q->store, &b->unit);
            return;
        }
        for (size_t i = 0; i < b->slot_count; i++)
            batch_add_slot(b, &b->slots[i]);
    }
    batch_answer(b);
}

/* --- the call --- */

static struct batch *batch_new(struct qstash_request *v)
{
    static const struct unit_kind kind = { "qstash.batch", UNIT_FRONT, batch_run, NULL };
    struct batch *b = arena_alloc(&v->r->arena, 1, sizeof(*b));

    if (!b)
        return NULL;
    b->slots = arena_alloc(&v->r->arena, LIMIT_BULK, sizeof(*b->slots));
    if (!b->slots)
        return NULL;
    b->v = v;
    b->unit = (struct unit){
        .kind = &kind, .executor = v->r->executor, .done = batch_chunk_done, .arena = &b->arena
    };
    b->common = (struct input_source){ .caller_ip = request_client_ip(v->r),
                                       .now_ms = env_now_ms(v->q->env),
                                       .allow_private = v->q->allow_private };
    arena_init(&b->list, LIMIT_QSTASH_BATCH);
    arena_init(&b->arena, 2 * LIMIT_QSTASH_BATCH);
    buf_init(&b->out, LIMIT_REPLY);
    buf_char(&b->out, '['); /* if this fails, so does the answer */
    return b;
}

void qstash_batch(struct qstash_request *v)
{
    struct batch *b = batch_new(v);
    struct json_fault fault;
    enum err e =
        b ? batch_items_read(&b->list, v->r->body, &b->items, &b->count, &fault) : ERR_NO_MEMORY;

    if (!e) {
        batch_continue(b);
        return;
    }
    if (b) {
        batch_release(b);
        buf_release(&b->out);
    }
    if (e == ERR_VALIDATION)
        qstash_reply_error(v, 400, "the body must be an array of items; at byte %zu: %s",
                           fault.offset, fault.why);
    else
        qstash_reply_err(v, e);
}
