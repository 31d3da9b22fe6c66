/* match.c - a text that an operator pasted becomes scans and ids, by keys alone. Users, bookings and
 * idempotency keys may have many payments, so those are scanned. Any other key has a few. */
#include "domain/reference.h"
#include "gateway/paypay/id.h"
#include "payment/search/scan.h"
#include "payment/search/text.h"

#include <string.h>

/* --- ids --- */

struct id_lookup {
    struct search *search;
    size_t rows;
    struct uuid last;
};

static enum err id_lookup_take(void *ctx, const struct row *row)
{
    struct id_lookup *t = ctx;
    struct search *w = t->search;

    if (!uuid_of_bytes(row->col[0].s, &t->last))
        return ERR_INTERNAL;
    t->rows++;
    if (w->id_count == SEARCH_IDS)
        return ERR_INTERNAL; /* each lookup has a limit, and there is room for all of them */
    w->ids[w->id_count++] = t->last;
    return OK;
}

/* A lookup that filled its limit may have more rows: then the page ends at its last row. */
static enum err search_lookup(struct search *w, enum stmt stmt, struct val key, enum match as)
{
    struct val v[] = { key, v_uuid(&w->at.id), V_INT(LIMIT_FIND_IDS) };
    struct id_lookup t = { .search = w };
    enum err e = tx_each(w->tx, stmt, v, COUNT(v), id_lookup_take, &t);

    if (t.rows)
        w->matched[as] = true;
    if (t.rows == LIMIT_FIND_IDS && uuid_order(&t.last, &w->low.id) > 0) {
        w->low.id = t.last;
        w->cut = true;
    }
    return e;
}

/* --- scans --- */

static enum err match_add_scan(struct search *w, enum stmt rows, enum stmt edge,
                               const struct uuid *key, enum match as)
{
    struct index_scan l = { .rows = rows, .edge = edge, .key = { v_uuid(key) }, .keys = 1 };
    bool any;
    enum err e = scan_has_any(w, &l, &any);

    if (e || !any)
        return e;
    w->matched[as] = true;
    w->scans[w->scan_count++] = l;
    return OK;
}

/* --- what the text may be --- */

static enum err match_uuid(struct search *w, const struct uuid *id)
{
    static const struct {
        enum stmt stmt;
        enum match as;
    } lookups[] = {
        { STMT_find_by_id, MATCH_PAYMENT },          { STMT_find_by_purchase, MATCH_SUBJECT },
        { STMT_find_by_participant, MATCH_SUBJECT }, { STMT_find_by_refund, MATCH_REFUND },
        { STMT_find_by_operation_key, MATCH_KEY },
    };
    enum err e = OK;

    for (size_t i = 0; !e && i < COUNT(lookups); i++)
        e = search_lookup(w, lookups[i].stmt, v_uuid(id), lookups[i].as);
    if (!e)
        e = match_add_scan(w, STMT_found_rows_booking, STMT_found_edge_booking, id, MATCH_BOOKING);
    if (!e)
        e = match_add_scan(w, STMT_found_rows_user, STMT_found_edge_user, id, MATCH_USER);
    if (!e)
        e = match_add_scan(w, STMT_found_rows_key, STMT_found_edge_key, id, MATCH_KEY);
    return e;
}

static enum err match_words(struct search *w, struct str text)
{
    static const struct {
        enum stmt stmt;
        enum match as;
    } lookups[] = {
        { STMT_find_by_intent, MATCH_PROVIDER },  { STMT_find_by_own_intent, MATCH_PROVIDER },
        { STMT_find_by_charge, MATCH_PROVIDER },  { STMT_find_by_session, MATCH_PROVIDER },
        { STMT_find_by_dispute, MATCH_PROVIDER }, { STMT_find_by_gateway_refund, MATCH_PROVIDER },
        { STMT_find_by_event, MATCH_EVENT },      { STMT_find_by_letter, MATCH_EVENT },
    };
    enum err e = OK;

    for (size_t i = 0; !e && i < COUNT(lookups); i++)
        e = search_lookup(w, lookups[i].stmt, V_TEXT(text), lookups[i].as);
    return e;
}

static enum err match_reference(struct search *w, struct str text)
{
    struct reference found[REFERENCES_FOUND];

    if (reference_find(text, found) != 1)
        return OK;
    return search_lookup(w, STMT_find_by_reference,
                         V_TEXT(arena_str(w->arena, str_of(found[0].text))), MATCH_REFERENCE);
}

/* A merchantPaymentId contains its payment's id, also if PayPay has never replied (P7). */
static enum err match_paypay(struct search *w, struct str text, struct uuid *room)
{
    char lower[PAYPAY_ID + 1] = "";

    for (size_t i = 0; i < text.n && i < PAYPAY_ID; i++)
        lower[i] = (char)(text.p[i] >= 'A' && text.p[i] <= 'Z' ? text.p[i] + 32 : text.p[i]);
    if (text.n > PAYPAY_ID || !paypay_payment_of(str_of(lower), room))
        return OK;
    return search_lookup(w, STMT_find_by_id, v_uuid(room), MATCH_PROVIDER);
}

enum err search_match_text(struct search *w)
{
    struct str text = find_text_plain(w->arena, w->query->text);
    struct uuid *id = arena_alloc(w->arena, 2, sizeof(*id)); /* the scans point at it */
    enum err e;

    if (!text.p || !id)
        return ERR_NO_MEMORY;
    if (find_text_uuid(text, id)) {
        e = match_uuid(w, id);
        if (e || text.n == UUID_TEXT) /* no provider has ids of this form */
            return e;
    }
    e = match_paypay(w, text, id + 1);
    if (!e)
        e = match_words(w, text);
    return e ? e : match_reference(w, text);
}
