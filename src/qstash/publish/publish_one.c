/* publish_one.c - n parcels in one unit, each of which may have a queue, a flow key and a claim.
 *
 * PostgreSQL: units that take several locks take them in one order, or two of them wait for each
 * other. So first the queues' rows by name (they may have to be made), then the lanes of all gates
 * and claims at once, sorted; everything else happens under those. */
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

/* Of one group there are more than of a batch; but they share their gates. */
enum { MOST = LIMIT_QSTASH_ENDPOINTS > LIMIT_BULK ? LIMIT_QSTASH_ENDPOINTS : LIMIT_BULK };
_Static_assert(LIMIT_BULK * 3 <= LIMIT_STATEMENT_ROWS, "a chunk's lanes fit");
_Static_assert(LIMIT_QSTASH_ENDPOINTS + 2 <= LIMIT_STATEMENT_ROWS, "a group's lanes fit");

static int by_queue(const void *a, const void *b)
{
    const struct posting *x = *(const struct posting *const *)a,
                         *y = *(const struct posting *const *)b;

    return str_cmp(x->parcel.queue, y->parcel.queue);
}

static int64_t lane_of_key(const unsigned char key[DEDUP_KEY])
{
    uint64_t bits = 0;

    for (size_t i = 0; i < 8; i++)
        bits = bits << 8 | key[i];
    return (int64_t)(bits >> 1);
}

/* sorted is by queue. Those whose queue may not be made are refused, the others have its id in the
 * same place of ret_ids. */
static enum err find_queues(struct tx *tx, struct posting *const *sorted, size_t n,
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

/* Those of one queue and one flow key in a row have the same lanes. */
static size_t find_lanes(struct posting *const *sorted, const int64_t *queue_ids, size_t n,
                         int64_t *ret_lanes)
{
    struct live before = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        struct live at = { .queue_id = queue_ids[i], .flow_key = sorted[i]->parcel.flow_key };

        if (sorted[i]->refused)
            continue;
        if (sorted[i]->has_key)
            ret_lanes[count++] = lane_of_key(sorted[i]->key);
        if (at.queue_id != before.queue_id || !str_eq(at.flow_key, before.flow_key))
            count += gate_lanes(&at, ret_lanes + count);
        before = at;
    }
    return count;
}

/* One without a claim takes its own locks in the right order. */
static enum err lock_all(struct tx *tx, struct posting *const *p, size_t n)
{
    struct posting *sorted[MOST];
    int64_t ids[MOST], lanes[LIMIT_STATEMENT_ROWS];
    enum err e;

    if (n == 1 && !p[0]->has_key)
        return OK;
    memcpy(sorted, p, n * sizeof(void *));
    qsort(sorted, n, sizeof(void *), by_queue);
    e = find_queues(tx, sorted, n, ids);
    return e ? e : queue_lock_lanes(tx, lanes, find_lanes(sorted, ids, n, lanes));
}

/* --- storing --- */

/* Who has the key of a posting: the first of this unit, unless somebody had it before. */
struct claim {
    struct posting *posting, *first; /* of this unit */
    bool taken;
};

struct claims {
    struct claim all[MOST];
    size_t n;
};

static void sort_out(struct claims *c, struct posting *const *p, size_t n)
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

static struct val v_key(const struct posting *p)
{
    return V_BLOB(((struct str){ (const char *)p->key, DEDUP_KEY }));
}

/* It may be this very one, of a run before that was committed though its answer was lost. */
static enum err note_known(void *ctx, const struct row *row)
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

static enum err put_claims(struct qstash *q, struct tx *tx, const struct claims *c)
{
    struct val v[MOST * 3];
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        const struct posting *p = c->all[i].posting;

        if (c->all[i].first != p || c->all[i].taken)
            continue;
        v[n * 3] = v_key(p);
        v[n * 3 + 1] = V_BLOB(uuid_bytes(&p->parcel.id));
        v[n * 3 + 2] = V_INT(p->parcel.created_ms + q->dedup_ms);
        n++;
    }
    return tx_bulk(tx, STMT_qstash_dedup_put, v, n, 3, NULL, NULL);
}

/* Under the locks of all keys. Those that are not new have their answers then. */
static enum err claim_all(struct qstash *q, struct tx *tx, struct claims *c)
{
    struct val keys[MOST];
    size_t n = 0;
    enum err e;

    for (size_t i = 0; i < c->n; i++)
        if (c->all[i].first == c->all[i].posting)
            keys[n++] = v_key(c->all[i].posting);
    if (!n)
        return OK;
    e = tx_bulk(tx, STMT_qstash_dedup_known, keys, n, 1, note_known, c);
    if (!e)
        e = put_claims(q, tx, c);
    for (size_t i = 0; i < c->n && !e; i++) {
        const struct claim *one = &c->all[i];

        if (one->first == one->posting)
            continue;
        one->posting->duplicate = true;
        one->posting->answer = one->first->answer;
    }
    return e;
}

/* c goes along with p, in the same order. */
static bool is_new(const struct claims *c, size_t *at, const struct posting *p)
{
    const struct claim *one;

    if (!p->has_key || p->refused)
        return !p->refused;
    one = &c->all[(*at)++];
    return one->first == p && !one->taken;
}

/* How many of them one statement takes: a group has the same body many times. */
static size_t chunk_of(const struct parcel *const *p, size_t n)
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

static enum err store_plain(struct qstash *q, struct tx *tx, const struct parcel *const *p,
                            size_t n)
{
    enum err e = OK;

    for (size_t done = 0, count; done < n && !e; done += count) {
        count = chunk_of(p + done, n - done);
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
    e = lock_all(tx, p, n);
    sort_out(&claims, p, n);
    if (!e)
        e = claim_all(q, tx, &claims);
    for (size_t i = 0; i < n && !e; i++) {
        if (!is_new(&claims, &at, p[i]))
            continue;
        if (parcel_is_plain(&p[i]->parcel))
            plain[plain_count++] = &p[i]->parcel;
        else
            e = parcel_post(q, tx, &p[i]->parcel);
    }
    if (e == ERR_UNPROCESSABLE && n == 1 && !p[0]->has_key) { /* find_queues() did not see it */
        p[0]->refused = true;
        return OK;
    }
    return e ? e : store_plain(q, tx, plain, plain_count);
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
