/* batch.c - POST /v2/batch: many parcels in one call. Each item is judged by itself: a bad one
 * becomes {"error":"..."} in the answer, the others go out.
 *
 *   read all -> [ fill a chunk -> its unit -> its part of the answer ]* -> answer
 *
 * A chunk is a unit of work: LIMIT_BULK items and LIMIT_BULK_BYTES at most, or one item that names
 * a group (which may be several: fan_out.h). Chunks follow each other, so items are taken in their
 * order, and one that repeats an item before it is found out. Where the store fails, what was
 * stored before stays and is answered; all items from there on get the error; but if nothing is
 * stored yet, the call as a whole fails.
 */
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

struct batch { /* one call, in the request's arena */
    struct unit unit;
    struct visit *v;
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

static void go_on(struct batch *b);

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

static void add_comma(struct batch *b)
{
    if (b->out.n && b->out.p[b->out.n - 1] != '[') /* empty: there was no memory for its '[' */
        buf_char(&b->out, ',');
}

static void add_error(struct batch *b, struct str words)
{
    add_comma(b);
    buf_add(&b->out, S("{\"error\":"));
    buf_json(&b->out, words);
    buf_char(&b->out, '}');
}

static void batch_answer(struct batch *b)
{
    struct buf out = b->out;

    buf_char(&out, ']');
    batch_release(b);
    visit_buf(b->v, 200, &out);
}

static void give_up(struct batch *b, enum err e)
{
    batch_release(b);
    buf_release(&b->out);
    visit_err(b->v, e);
}

static void add_slot(struct batch *b, const struct batch_slot *s)
{
    if (!s->good) {
        add_error(b, str_of(s->in.why.text));
        return;
    }
    if (s->posting.refused) {
        add_error(b, S(QUEUES_FULL));
        return;
    }
    add_comma(b);
    posting_write(&b->out, &s->posting, false);
}

static void add_group(struct batch *b, enum err e)
{
    if (e == ERR_NOT_FOUND) {
        add_error(b, S("url group not found; a url begins with http:// or https://"));
        return;
    }
    if (!b->mailing.done && b->mailing.all[0].refused) {
        add_error(b, S(QUEUES_FULL));
        return;
    }
    add_comma(b);
    mailing_write(&b->out, &b->mailing, e);
}

/* The chunk's items and all behind it. Of a group, some members may have been stored. */
static void fail_rest(struct batch *b, enum err e, struct str words)
{
    bool some = b->to_group && b->mailing.done;

    if (some)
        add_group(b, e);
    for (size_t i = 0; i < b->slot_count && !some; i++)
        add_error(b, b->slots[i].good ? words : str_of(b->slots[i].in.why.text));
    for (size_t i = b->next; i < b->count; i++)
        add_error(b, words);
    batch_answer(b);
}

static bool group_goes_on(struct batch *b)
{
    struct mailing *m = &b->mailing;

    return b->to_group && (m->done || !m->all[0].refused) && mailing_goes_on(m);
}

static void chunk_done(struct unit *u)
{
    struct batch *b = CONTAINER_OF(u, struct batch, unit);
    enum err e = u->err == ERR_CONFLICT ? OK : u->err; /* see postings_store() */

    if (e && !(b->to_group && e == ERR_NOT_FOUND)) {
        if (b->stored)
            fail_rest(b, e, str_of(err_words(e, LANG_EN)));
        else
            give_up(b, e);
        return;
    }
    b->stored |= !e;
    if (!e && group_goes_on(b)) {
        store_post(b->v->q->store, &b->unit);
        return;
    }
    if (b->to_group)
        add_group(b, e);
    for (size_t i = 0; !b->to_group && i < b->slot_count; i++)
        add_slot(b, &b->slots[i]);
    go_on(b);
}

/* --- the chunk --- */

static void set_posting(struct batch *b, struct batch_slot *s)
{
    s->posting.parcel = s->in.parcel;
    posting_init(&s->posting, &s->in, env_uuid(b->v->q->env), b->common.now_ms);
    b->unit.bytes += s->in.parcel.body.n + s->in.parcel.header.n + 2 * s->in.parcel.url.n;
}

/* What is wrong with the item goes to its slot; what is wrong with us is returned. */
static enum err read_item(struct batch *b, struct batch_slot *s)
{
    enum err e = batch_item_input(&b->arena, &b->items[b->next], &b->common, &s->in);

    s->good = !e && !s->in.cron.n;
    if (!e && s->in.cron.n)
        why_set(&s->in.why, "a schedule cannot be made in a batch");
    if (e == ERR_TOO_LARGE)
        why_set(&s->in.why, "the body is larger than %d bytes", LIMIT_QSTASH_BODY);
    return e == ERR_VALIDATION || e == ERR_TOO_LARGE ? OK : e;
}

/* Sets *ret_more: whether another one may follow it. */
static enum err take_item(struct batch *b, bool *ret_more)
{
    struct batch_slot *s = &b->slots[b->slot_count];
    enum err e = read_item(b, s);
    bool to_group = s->good && s->in.group.n;

    *ret_more = !to_group;
    if (e || (to_group && b->slot_count))
        return e; /* it begins the next one */
    if (to_group && !mailing_init(&b->mailing, b->v->q->env, &b->arena, &s->in, b->common.now_ms))
        return ERR_NO_MEMORY;
    b->to_group = to_group;
    if (s->good && !to_group)
        set_posting(b, s);
    b->next++;
    b->slot_count++;
    return OK;
}

static enum err fill_chunk(struct batch *b)
{
    bool more = true;
    enum err e = OK;

    arena_release(&b->arena);
    b->unit.bytes = 0;
    b->to_group = false;
    b->slot_count = 0;
    while (!e && more && b->slot_count < LIMIT_BULK && b->next < b->count &&
           b->unit.bytes < LIMIT_BULK_BYTES)
        e = take_item(b, &more);
    return e;
}

static bool has_good(const struct batch *b)
{
    for (size_t i = 0; i < b->slot_count; i++)
        if (b->slots[i].good)
            return true;
    return false;
}

static void go_on(struct batch *b)
{
    while (b->next < b->count) {
        enum err e;

        b->slot_count = 0;
        if (b->out.n > LIMIT_QSTASH_BATCH_ANSWER) {
            b->to_group = false;
            fail_rest(b, OK, S("the batch makes too many messages"));
            return;
        }
        e = fill_chunk(b);
        if (e) {
            b->unit.err = e;
            chunk_done(&b->unit);
            return;
        }
        if (has_good(b)) {
            store_post(b->v->q->store, &b->unit);
            return;
        }
        for (size_t i = 0; i < b->slot_count; i++)
            add_slot(b, &b->slots[i]);
    }
    batch_answer(b);
}

/* --- the call --- */

static struct batch *batch_new(struct visit *v)
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
        .kind = &kind, .executor = v->r->executor, .done = chunk_done, .arena = &b->arena
    };
    b->common = (struct input_source){ .caller_ip = request_client_ip(v->r),
                                       .now_ms = env_now_ms(v->q->env),
                                       .allow_private = v->q->allow_private };
    arena_init(&b->list, LIMIT_QSTASH_BATCH);
    arena_init(&b->arena, 2 * LIMIT_QSTASH_BATCH);
    buf_init(&b->out, LIMIT_REPLY);
    buf_char(&b->out, '['); /* a failed buffer fails the answer */
    return b;
}

void qstash_batch(struct visit *v)
{
    struct batch *b = batch_new(v);
    struct json_fault fault;
    enum err e =
        b ? batch_items_read(&b->list, v->r->body, &b->items, &b->count, &fault) : ERR_NO_MEMORY;

    if (!e) {
        go_on(b);
        return;
    }
    if (b) {
        batch_release(b);
        buf_release(&b->out);
    }
    if (e == ERR_VALIDATION)
        visit_error(v, 400, "the body must be an array of items; at byte %zu: %s", fault.offset,
                    fault.why);
    else
        visit_err(v, e);
}
