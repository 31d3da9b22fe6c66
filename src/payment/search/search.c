/* search.c - one page of payments.
 *
 *   index scans and ids --> the place where the budget of each scan ends --> all rows above the
 *   highest such place that fit the query --> merged, newest first --> `limit` of them, and a cursor
 *
 * Ids grow with time, so most scans go by id, and times become ids (with a margin: an id is made
 * shortly before its row). The index of 004 for status is in the order of createdAt, and so is its
 * scan. */
#include "payment/search/search.h"

#include "auth/base64url.h"
#include "base/json/write.h"
#include "payment/search/scan.h"
#include "payment/search/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 3 * 1024 * 1024, PLACE_BYTES = 24 };

/* --- places --- */

static const struct uuid no_id, last_id = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                              0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };

/* The smallest id of that time. */
static struct uuid id_of_time(int64_t ms)
{
    struct uuid id = { { 0 } };

    for (int i = 0; i < 6; i++)
        id.b[i] = (unsigned char)((uint64_t)ms >> (40 - 8 * i));
    return id;
}

static struct uuid search_bound(int64_t ms, int64_t margin_ms, struct uuid open)
{
    int64_t at = ms + margin_ms;

    if (!ms || at >= INT64_C(1) << 48)
        return open;
    return id_of_time(at > 0 ? at : 0);
}

static struct uuid lower_id(struct uuid a, struct uuid b)
{
    return uuid_order(&a, &b) < 0 ? a : b;
}

static void place_write(struct buf *b, const struct payment_place *p)
{
    unsigned char bytes[PLACE_BYTES];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)p->at_ms >> (56 - 8 * i));
    memcpy(bytes + 8, p->id.b, sizeof(p->id.b));
    base64url_add(b, (struct str){ (const char *)bytes, sizeof(bytes) });
}

bool payment_place_read(struct str text, struct payment_place *ret_place)
{
    struct payment_place p = { 0 };
    struct str bytes;
    struct arena a;
    bool fine;

    arena_init(&a, 1024);
    fine = text.n == PAYMENT_PLACE_TEXT && !base64url_decode(&a, text, &bytes) &&
           bytes.n == PLACE_BYTES;
    if (fine) {
        uint64_t ms = 0;

        for (int i = 0; i < 8; i++)
            ms = ms << 8 | (unsigned char)bytes.p[i];
        p.at_ms = (int64_t)ms;
        memcpy(p.id.b, bytes.p + 8, sizeof(p.id.b));
        *ret_place = p;
    }
    arena_release(&a);
    return fine;
}

/* --- which indexes --- */

static struct str context_word(const struct payment_query *q)
{
    return q->has_context ? str_of(payment_context_name(q->context)) : (struct str){ "", 0 };
}

static struct str status_word(const struct payment_query *q)
{
    return q->has_status ? str_of(payment_status_name(q->status)) : (struct str){ "", 0 };
}

static void search_add_scan(struct search *w, enum stmt rows, enum stmt edge, struct val key)
{
    w->scans[w->scan_count++] =
        (struct index_scan){ .rows = rows, .edge = edge, .key = { key }, .keys = 1 };
}

static void search_add_kind(struct search *w, struct str context, struct str gateway)
{
    w->scans[w->scan_count++] = (struct index_scan){ .rows = STMT_found_rows_kind,
                                                     .edge = STMT_found_edge_kind,
                                                     .key = { V_TEXT(context), V_TEXT(gateway) },
                                                     .keys = 2 };
}

/* A gateway that is not configured any more still has payments: the index says which there are. */
static enum err search_add_gateways(struct search *w, struct str context)
{
    struct str last = { "", 0 };
    enum err e = OK;

    while (!e && w->scan_count < SCANS) {
        struct row row;

        e = TX_ROW(w->tx, STMT_found_next_gateway, &row, V_TEXT(context), V_TEXT(last));
        if (e)
            break;
        last = arena_str(w->arena, row.col[0].s);
        if (!last.p)
            return ERR_NO_MEMORY;
        search_add_kind(w, context, last);
    }
    return e == ERR_NOT_FOUND ? OK : e;
}

static enum err search_add_kinds(struct search *w)
{
    const struct payment_query *q = w->query;

    w->decided = !q->has_status && !q->from_ms && !q->to_ms;
    if (q->has_context && !q->gateway.n)
        return search_add_gateways(w, context_word(q));
    for (int i = 0; i < PAYMENT_CONTEXTS; i++)
        if (!q->has_context || q->context == (enum payment_context)i)
            search_add_kind(w, str_of(payment_context_name((enum payment_context)i)), q->gateway);
    return OK;
}

static void search_add_status(struct search *w)
{
    const struct payment_query *q = w->query;

    search_add_scan(w, STMT_found_rows_status, STMT_found_edge_status, V_TEXT(status_word(q)));
    w->scans[0].by_time = true;
    w->decided = !q->has_context && !q->gateway.n; /* the scan itself compares the times */
}

/* Most payments end as CAPTURED, so that status narrows a search less than anything else. */
static bool status_is_narrow(const struct payment_query *q)
{
    return q->has_status && (q->status != PAYMENT_CAPTURED || (!q->has_context && !q->gateway.n));
}

static enum err search_choose_scans(struct search *w)
{
    const struct payment_query *q = w->query;
    bool timed = q->from_ms || q->to_ms, kind = q->has_context || q->gateway.n;

    if (q->has_booking) {
        search_add_scan(w, STMT_found_rows_booking, STMT_found_edge_booking, v_uuid(&q->booking));
        w->decided = !q->has_user && !q->has_status && !kind && !timed;
    } else if (q->has_user) {
        search_add_scan(w, STMT_found_rows_user, STMT_found_edge_user, v_uuid(&q->user));
        w->decided = !q->has_status && !kind && !timed;
    } else if (status_is_narrow(q)) {
        search_add_status(w);
    } else if (kind) {
        return search_add_kinds(w);
    } else {
        w->scans[w->scan_count++] =
            (struct index_scan){ .rows = STMT_found_rows, .edge = STMT_found_edge };
        w->decided = !timed;
    }
    return OK;
}

/* --- one scan --- */

struct stmt_params {
    struct val v[STATEMENT_PARAMS];
    size_t n;
};

static void add_val(struct stmt_params *p, struct val v)
{
    p->v[p->n++] = v;
}

static void add_bounds(struct stmt_params *p, const struct index_scan *l,
                       const struct payment_place *at, const struct payment_place *low)
{
    for (size_t i = 0; i < l->keys; i++)
        add_val(p, l->key[i]);
    if (l->by_time)
        add_val(p, V_INT(at->at_ms));
    add_val(p, v_uuid(&at->id));
    if (l->by_time)
        add_val(p, V_INT(low->at_ms));
    add_val(p, v_uuid(&low->id));
}

static void add_filter(struct stmt_params *p, const struct payment_query *q)
{
    add_val(p, V_TEXT(status_word(q)));
    add_val(p, V_TEXT(context_word(q)));
    add_val(p, V_TEXT(q->gateway.n ? q->gateway : S("")));
    add_val(p, q->has_user ? v_uuid(&q->user) : V_BLOB(S("")));
    add_val(p, q->has_booking ? v_uuid(&q->booking) : V_BLOB(S("")));
    add_val(p, V_INT(q->from_ms));
    add_val(p, V_INT(q->to_ms ? q->to_ms : INT64_MAX));
}

static enum err scan_edge(struct search *w, const struct index_scan *l,
                          const struct payment_place *at, const struct payment_place *low,
                          int64_t offset, struct payment_place *ret_edge)
{
    struct stmt_params p = { .n = 0 };
    struct row row;
    enum err e;

    add_bounds(&p, l, at, low);
    add_val(&p, V_INT(offset));
    e = tx_row(w->tx, l->edge, p.v, p.n, &row);
    if (e)
        return e;
    ret_edge->at_ms = l->by_time ? row.col[1].i : 0;
    return uuid_of_bytes(row.col[0].s, &ret_edge->id) ? OK : ERR_INTERNAL;
}

enum err scan_has_any(struct search *w, const struct index_scan *l, bool *ret_any)
{
    struct payment_place first = { .id = no_id }, last = { INT64_MAX, last_id }, edge;
    enum err e = scan_edge(w, l, &last, &first, 0, &edge);

    *ret_any = !e;
    return e == ERR_NOT_FOUND ? OK : e;
}

/* --- all scans of a page --- */

/* The number of rows that each scan may examine. */
static int64_t scan_budget(const struct search *w)
{
    return w->decided ? (int64_t)w->limit + 1 : LIMIT_FIND_LOOKED / (int64_t)w->scan_count;
}

/* Raises w->low to the highest place at which a scan has used its budget. */
static enum err search_find_low(struct search *w)
{
    for (size_t i = 0; i < w->scan_count; i++) {
        struct payment_place edge;
        enum err e = scan_edge(w, &w->scans[i], &w->at, &w->low, scan_budget(w) - 1, &edge);

        if (e && e != ERR_NOT_FOUND)
            return e;
        if (!e) { /* the edge is above w->low */
            w->low = edge;
            w->cut = true;
        }
    }
    return OK;
}

static enum err search_take_row(void *ctx, const struct row *row)
{
    struct search *w = ctx;
    return w->count < w->room ? payment_of_row(w->arena, row, &w->found[w->count++]) : ERR_INTERNAL;
}

static enum err scan_read(struct search *w, const struct index_scan *l)
{
    struct stmt_params p = { .n = 0 };

    add_bounds(&p, l, &w->at, &w->low);
    add_filter(&p, w->query);
    add_val(&p, V_INT((int64_t)w->limit + 1));
    if (l->keys && !l->by_time)
        add_val(&p, V_INT(scan_budget(w)));
    return tx_each(w->tx, l->rows, p.v, p.n, search_take_row, w);
}

static enum err search_read_id(struct search *w, const struct uuid *id)
{
    struct stmt_params p = { .n = 0 };

    if (uuid_order(id, &w->at.id) >= 0 || uuid_order(id, &w->low.id) < 0)
        return OK;
    add_val(&p, v_uuid(id));
    add_filter(&p, w->query);
    return tx_each(w->tx, STMT_found_one, p.v, p.n, search_take_row, w);
}

static int newest_first(const void *a, const void *b)
{
    const struct payment *left = a, *right = b;

    return uuid_order(&right->id, &left->id);
}

static int newest_id_first(const void *a, const void *b)
{
    return uuid_order(b, a);
}

/* Sorts the payments and drops repetitions: one may be found by its user and by its key. */
static void search_merge(struct search *w)
{
    size_t kept = 0;

    if (w->scan_count + w->id_count > 1)
        qsort(w->found, w->count, sizeof(*w->found), newest_first);
    for (size_t i = 0; i < w->count; i++)
        if (!kept || !uuid_eq(w->found[i].id, w->found[kept - 1].id))
            w->found[kept++] = w->found[i];
    w->count = kept;
}

/* Newest first, each once. */
static void search_sort_ids(struct search *w)
{
    size_t kept = 0;

    qsort(w->ids, w->id_count, sizeof(*w->ids), newest_id_first);
    for (size_t i = 0; i < w->id_count; i++)
        if (!kept || !uuid_eq(w->ids[i], w->ids[kept - 1]))
            w->ids[kept++] = w->ids[i];
    w->id_count = kept;
}

static enum err search_read_ids(struct search *w)
{
    size_t before = w->count;
    enum err e = OK;

    for (size_t i = 0; !e && i < w->id_count && w->count - before <= w->limit; i++)
        e = search_read_id(w, &w->ids[i]);
    return e;
}

static enum err search_read(struct search *w)
{
    enum err e = w->decided ? OK : search_find_low(w);

    w->room = w->scan_count * (w->limit + 1) + w->id_count;
    w->found = arena_alloc(w->arena, w->room + 1, sizeof(*w->found));
    if (!w->found)
        return ERR_NO_MEMORY;
    for (size_t i = 0; !e && i < w->scan_count; i++)
        e = scan_read(w, &w->scans[i]);
    if (!e)
        e = search_read_ids(w);
    search_merge(w);
    return e;
}

/* --- the page --- */

/* Where the scans begin and end. Scans by time compare the times themselves. */
static void search_set_bounds(struct search *w, const struct payment_place *after)
{
    const struct payment_query *q = w->query;
    bool by_time = w->scan_count && w->scans[0].by_time;

    if (by_time) {
        w->at = (struct payment_place){ q->to_ms ? q->to_ms : INT64_MAX, no_id };
        w->low = (struct payment_place){ q->from_ms, no_id };
        if (after && (after->at_ms < w->at.at_ms ||
                      (after->at_ms == w->at.at_ms && uuid_order(&after->id, &w->at.id) < 0)))
            w->at = *after;
        return;
    }
    w->at.id = search_bound(q->to_ms, LIMIT_FIND_SKEW_MS, last_id);
    w->low.id = search_bound(q->from_ms, -LIMIT_FIND_SKEW_MS, no_id);
    if (after)
        w->at.id = lower_id(w->at.id, after->id);
}

static void write_matches(struct buf *b, const struct search *w)
{
    static const char *const names[MATCHES] = {
        [MATCH_PAYMENT] = "paymentId",   [MATCH_BOOKING] = "bookingId",
        [MATCH_SUBJECT] = "subjectId",   [MATCH_USER] = "userId",
        [MATCH_KEY] = "idempotencyKey",  [MATCH_REFUND] = "refundId",
        [MATCH_PROVIDER] = "providerId", [MATCH_EVENT] = "eventId",
        [MATCH_REFERENCE] = "reference",
    };
    bool first = true;

    out_json(b, "matchedBy", S("["));
    for (size_t i = 0; i < MATCHES; i++)
        if (w->matched[i]) {
            buf_fmt(b, "%s\"%s\"", first ? "" : ",", names[i]);
            first = false;
        }
    buf_char(b, ']');
}

static void write_cursor(struct buf *b, const struct search *w)
{
    struct payment_place next = w->low;

    out_name(b, "nextCursor");
    if (w->count > w->limit)
        next =
            (struct payment_place){ w->found[w->limit - 1].created_ms, w->found[w->limit - 1].id };
    else if (!w->cut) {
        buf_add(b, S("null"));
        return;
    }
    buf_char(b, '"');
    place_write(b, &next);
    buf_char(b, '"');
}

struct refunded_ids {
    struct uuid ids[LIMIT_PAGE];
    size_t count;
};

static enum err take_refunded(void *ctx, const struct row *row)
{
    struct refunded_ids *r = ctx;

    return r->count < LIMIT_PAGE && uuid_of_bytes(row->col[0].s, &r->ids[r->count++])
               ? OK
               : ERR_INTERNAL;
}

static bool is_refunded(const struct refunded_ids *r, const struct payment *p)
{
    for (size_t i = 0; i < r->count; i++)
        if (uuid_eq(r->ids[i], p->id))
            return true;
    return false;
}

/* Which payments of the page have refunds: one statement instead of a round trip for each. */
static enum err find_refunded(struct search *w, size_t shown, struct refunded_ids *ret)
{
    struct val v[LIMIT_PAGE];
    size_t n = 0;

    *ret = (struct refunded_ids){ 0 };
    for (size_t i = 0; i < shown; i++)
        if (minor_known(w->found[i].captured)) /* only captured money has refunds */
            v[n++] = v_uuid(&w->found[i].id);
    return n ? tx_bulk(w->tx, STMT_refunds_any, v, n, 1, take_refunded, ret) : OK;
}

static enum err write_page(struct search *w, struct str *ret_json)
{
    size_t shown = w->count < w->limit ? w->count : w->limit;
    struct refunded_ids refunded;
    struct buf b;
    enum err e = find_refunded(w, shown, &refunded);

    buf_init(&b, PAGE_BYTES);
    buf_add(&b, S("{\"data\":["));
    for (size_t i = 0; !e && i < shown; i++) {
        if (i)
            buf_char(&b, ',');
        e = payment_out(w->tx, w->arena, &w->found[i], is_refunded(&refunded, &w->found[i]), &b);
    }
    buf_char(&b, ']');
    write_cursor(&b, w);
    write_matches(&b, w);
    buf_char(&b, '}');
    *ret_json = out_done(&b, w->arena);
    return e ? e : ret_json->p ? OK : ERR_NO_MEMORY;
}

/* True if the query has a text that is not blank. */
static enum err search_has_text(struct search *w, bool *ret_asked)
{
    struct str plain = find_text_plain(w->arena, w->query->text);

    *ret_asked = plain.n;
    return plain.p ? OK : ERR_NO_MEMORY;
}

static enum err search_prepare(struct search *w, const struct payment_place *after)
{
    bool by_text;
    enum err e = search_has_text(w, &by_text);

    if (!e && !by_text)
        e = search_choose_scans(w);
    search_set_bounds(w, after);
    if (e || !by_text)
        return e;
    w->decided = !w->query->has_status && !w->query->has_context && !w->query->has_user &&
                 !w->query->has_booking && !w->query->gateway.n && !w->query->from_ms &&
                 !w->query->to_ms;
    e = search_match_text(w);
    search_sort_ids(w);
    return e;
}

enum err payment_find(struct tx *tx, struct arena *a, const struct payment_query *q,
                      const struct payment_place *after, int limit, struct str *ret_json)
{
    struct search *w = arena_alloc(a, 1, sizeof(*w));
    enum err e;

    if (!w)
        return ERR_NO_MEMORY;
    assert(limit > 0 && limit <= LIMIT_PAGE);
    *w = (struct search){ .tx = tx, .arena = a, .query = q, .limit = (size_t)limit };
    e = search_prepare(w, after);
    if (!e)
        e = search_read(w);
    return e ? e : write_page(w, ret_json);
}
