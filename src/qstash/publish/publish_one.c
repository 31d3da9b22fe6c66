/* publish_one.c - stores n messages in one unit, each with an optional queue, flow key and
 * deduplication key.
 *
 * (1) On PostgreSQL all units take their locks in one order, or two could deadlock: first the rows
 *     of the queues by name, which may have to be created, then the lanes of all limiters and
 *     deduplication keys at once, sorted. Everything else happens under these locks.
 * (2) Of several messages with one deduplication key only the first is stored, inside a unit and
 *     between units.
 * A crash before the commit leaves nothing. */
#include "qstash/publish/publish_one.h"

#include "base/buf.h"
#include "base/limits.h"
#include "qstash/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void posting_init(struct posting *p, const struct input *in, struct uuid id, int64_t now_ms)
{
    p->parcel.id = p->answer = id;
    p->parcel.created_ms = now_ms;
    p->parcel.not_before_ms = input_due_ms(in, now_ms);
    p->has_key = in->dedup != DEDUP_NONE;
    if (p->has_key)
        input_dedup_key(in, p->parcel.url, p->key);
}

/* --- locks --- */

/* A group may have more messages than a chunk of a batch, but they share their limiters. */
enum { MOST = LIMIT_QSTASH_ENDPOINTS > LIMIT_BULK ? LIMIT_QSTASH_ENDPOINTS : LIMIT_BULK };
_Static_assert(LIMIT_BULK * 3 <= LIMIT_STATEMENT_ROWS, "a chunk's lanes fit");
_Static_assert(LIMIT_QSTASH_ENDPOINTS + 2 <= LIMIT_STATEMENT_ROWS, "a group's lanes fit");

static int posting_by_queue(const void *a, const void *b)
{
    const struct posting *x = *(const struct posting *const *)a,
                         *y = *(const struct posting *const *)b;

    return str_cmp(x->parcel.queue, y->parcel.queue);
}

static int64_t dedup_lane(const unsigned char key[DEDUP_KEY])
{
    uint64_t bits = 0;

    for (size_t i = 0; i < 8; i++)
        bits = bits << 8 | key[i];
    return (int64_t)(bits >> 1);
}

/* sorted is by queue. Refuses those whose queue may not be created; ret_ids[i] is the queue of
 * sorted[i], 0 for none. */
static enum err postings_find_queues(struct tx *tx, struct posting *const *sorted, size_t n,
                                     int64_t *ret_ids)
{
    enum err e = OK;

    for (size_t i = 0; i < n; i++) {
        const struct parcel *p = &sorted[i]->parcel;

        if (!i || !str_eq(p->queue, sorted[i - 1]->parcel.queue)) {
            ret_ids[i] = 0;
            e = p->queue.n ? queue_id_of(tx, p->queue, p->created_ms, &ret_ids[i]) : OK;
        } else {
            ret_ids[i] = ret_ids[i - 1];
        }
        sorted[i]->refused = e == ERR_UNPROCESSABLE;
        if (e && !sorted[i]->refused)
            return e;
    }
    return OK;
}

/* Neighbours with the same queue and flow key have the same lanes, which are added once. */
static size_t postings_find_lanes(struct posting *const *sorted, const int64_t *queue_ids, size_t n,
                                  int64_t *ret_lanes)
{
    struct live before = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        struct live at = { .queue_id = queue_ids[i], .flow_key = sorted[i]->parcel.flow_key };

        if (sorted[i]->refused)
            continue;
        if (sorted[i]->has_key)
            ret_lanes[count++] = dedup_lane(sorted[i]->key);
        if (at.queue_id != before.queue_id || !str_eq(at.flow_key, before.flow_key))
            count += gate_lanes(&at, ret_lanes + count);
        before = at;
    }
    return count;
}

/* parcel_post() locks a single message without a deduplication key in the right order itself. */
static enum err postings_lock(struct tx *tx, struct posting *const *p, size_t n)
{
    struct posting *sorted[MOST];
    int64_t ids[MOST], lanes[LIMIT_STATEMENT_ROWS];
    enum err e;

    if (n == 1 && !p[0]->has_key)
        return OK;
    memcpy(sorted, p, n * sizeof(void *));
    qsort(sorted, n, sizeof(void *), posting_by_queue);
    e = postings_find_queues(tx, sorted, n, ids);
    return e ? e : queue_lock_lanes(tx, lanes, postings_find_lanes(sorted, ids, n, lanes));
}

/* --- storing --- */

/* The owner of a deduplication key: the first message of this unit, unless it was taken before. */
struct claim {
    struct posting *posting, *first; /* of this unit */
    bool taken;
};

struct claims {
    struct claim all[MOST];
    size_t n;
};

static void claims_init(struct claims *c, struct posting *const *p, size_t n)
{
    c->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct posting *first = p[i];

        if (!p[i]->has_key || p[i]->refused)
            continue;
        for (size_t k = 0; k < c->n && first == p[i]; k++)
            if (memcmp(c->all[k].posting->key, p[i]->key, DEDUP_KEY) == 0)
                first = c->all[k].first;
        c->all[c->n++] = (struct claim){ .posting = p[i], .first = first };
    }
}

static struct val dedup_key_value(const struct posting *p)
{
    return V_BLOB(((struct str){ (const char *)p->key, DEDUP_KEY }));
}

/* The known id may be our own, of an earlier run of this unit whose COMMIT was not answered. */
static enum err claims_note_known(void *ctx, const struct row *row)
{
    struct claims *c = ctx;
    struct uuid id;

    if (row->col[0].s.n != DEDUP_KEY || !uuid_of_bytes(row->col[1].s, &id))
        return ERR_INTERNAL;
    for (size_t i = 0; i < c->n; i++) {
        struct claim *one = &c->all[i];

        if (one->first != one->posting ||
            memcmp(one->posting->key, row->col[0].s.p, DEDUP_KEY) != 0 ||
            row->col[2].i <= one->posting->parcel.created_ms)
            continue;
        one->taken = true;
        one->posting->duplicate = !uuid_eq(id, one->posting->parcel.id);
        one->posting->answer = id;
    }
    return OK;
}

static enum err claims_put(struct qstash *q, struct tx *tx, const struct claims *c)
{
    struct val v[MOST * 3];
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        const struct posting *p = c->all[i].posting;

        if (c->all[i].first != p || c->all[i].taken)
            continue;
        v[n * 3] = dedup_key_value(p);
        v[n * 3 + 1] = V_BLOB(uuid_bytes(&p->parcel.id));
        v[n * 3 + 2] = V_INT(p->parcel.created_ms + q->dedup_ms);
        n++;
    }
    return tx_bulk(tx, STMT_qstash_dedup_put, v, n, 3, NULL, NULL);
}

/* Under the locks of all keys. Sets the answers of those that are not new. */
static enum err claims_take(struct qstash *q, struct tx *tx, struct claims *c)
{
    struct val keys[MOST];
    size_t n = 0;
    enum err e;

    for (size_t i = 0; i < c->n; i++)
        if (c->all[i].first == c->all[i].posting)
            keys[n++] = dedup_key_value(c->all[i].posting);
    if (!n)
        return OK;
    e = tx_bulk(tx, STMT_qstash_dedup_known, keys, n, 1, claims_note_known, c);
    if (!e)
        e = claims_put(q, tx, c);
    for (size_t i = 0; i < c->n && !e; i++) {
        const struct claim *one = &c->all[i];

        if (one->first == one->posting)
            continue;
        one->posting->duplicate = true;
        one->posting->answer = one->first->answer;
    }
    return e;
}

/* Called for each p in the order of claims_init(); *at is the next claim. */
static bool posting_is_new(const struct claims *c, size_t *at, const struct posting *p)
{
    const struct claim *one;

    if (!p->has_key || p->refused)
        return !p->refused;
    one = &c->all[(*at)++];
    return one->first == p && !one->taken;
}

/* How many one statement stores: the members of a group have the same body. */
static size_t chunk_size(const struct parcel *const *p, size_t n)
{
    size_t count = 0, bytes = 0;

    while (count < n && count < LIMIT_BULK) {
        bytes += p[count]->body.n;
        if (count && bytes > LIMIT_BULK_BYTES)
            break;
        count++;
    }
    return count;
}

static enum err postings_store_plain(struct qstash *q, struct tx *tx, const struct parcel *const *p,
                                     size_t n)
{
    enum err e = OK;

    for (size_t done = 0, count; done < n && !e; done += count) {
        count = chunk_size(p + done, n - done);
        e = parcels_post_plain(q, tx, p + done, count);
    }
    return e;
}

enum err postings_store(struct qstash *q, struct tx *tx, struct posting *const *p, size_t n)
{
    const struct parcel *plain[MOST];
    size_t plain_count = 0, at = 0;
    struct claims claims;
    enum err e;

    assert(n && n <= MOST);
    for (size_t i = 0; i < n; i++) {
        p[i]->refused = p[i]->duplicate = false;
        p[i]->answer = p[i]->parcel.id;
    }
    e = postings_lock(tx, p, n);
    claims_init(&claims, p, n);
    if (!e)
        e = claims_take(q, tx, &claims);
    for (size_t i = 0; i < n && !e; i++) {
        if (!posting_is_new(&claims, &at, p[i]))
            continue;
        if (parcel_is_plain(&p[i]->parcel))
            plain[plain_count++] = &p[i]->parcel;
        else
            e = parcel_post(q, tx, &p[i]->parcel);
    }
    /* postings_lock() has not created the queue of a single message. */
    if (e == ERR_UNPROCESSABLE && n == 1 && !p[0]->has_key) {
        p[0]->refused = true;
        return OK;
    }
    return e ? e : postings_store_plain(q, tx, plain, plain_count);
}

/* --- the answer --- */

void posting_write(struct buf *b, const struct posting *p, bool with_url)
{
    char id[MESSAGE_ID_TEXT + 1];

    message_id_text(p->answer, id);
    buf_add(b, S("{\"messageId\":\""));
    buf_add(b, (struct str){ id, MESSAGE_ID_TEXT });
    buf_char(b, '"');
    if (with_url) {
        buf_add(b, S(",\"url\":"));
        buf_json(b, p->parcel.url);
    }
    if (p->duplicate)
        buf_add(b, S(",\"deduplicated\":true"));
    buf_char(b, '}');
}
