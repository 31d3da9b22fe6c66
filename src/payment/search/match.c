/* match.c - whose is it: a text that somebody has in his hand becomes walks and ids, by
 * keys alone. Users, bookings and keys may have many payments: those are walked. All else leads to
 * a few. */
#include "domain/reference.h"
#include "gateway/paypay/id.h"
#include "payment/search/scan.h"
#include "payment/search/text.h"

#include <string.h>

/* --- ids --- */

struct taking_ids {
    struct walk *walk;
    size_t rows;
    struct uuid last;
};

static enum err take_id(void *ctx, const struct row *row)
{
    struct taking_ids *t = ctx;
    struct walk *w = t->walk;

    if (!uuid_of_bytes(row->col[0].s, &t->last))
        return ERR_INTERNAL;
    t->rows++;
    if (w->id_count == WALK_IDS)
        return ERR_INTERNAL; /* each look-up has its limit: there is room for all of them */
    w->ids[w->id_count++] = t->last;
    return OK;
}

/* One that filled its limit may have more below its last: then the page ends there. */
static enum err look_up(struct walk *w, enum stmt stmt, struct val key, enum match as)
{
    struct val v[] = { key, v_uuid(&w->at.id), V_INT(LIMIT_FIND_IDS) };
    struct taking_ids t = { .walk = w };
    enum err e = tx_each(w->tx, stmt, v, COUNT(v), take_id, &t);

    if (t.rows)
        w->matched[as] = true;
    if (t.rows == LIMIT_FIND_IDS && uuid_order(&t.last, &w->low.id) > 0) {
        w->low.id = t.last;
        w->cut = true;
    }
    return e;
}

/* --- walks --- */

static enum err add_lane(struct walk *w, enum stmt rows, enum stmt edge, const struct uuid *key,
                         enum match as)
{
    struct lane l = { .rows = rows, .edge = edge, .key = { v_uuid(key) }, .keys = 1 };
    bool any;
    enum err e = lane_has_any(w, &l, &any);

    if (e || !any)
        return e;
    w->matched[as] = true;
    w->lanes[w->lane_count++] = l;
    return OK;
}

/* --- what it may be --- */

static enum err match_uuid(struct walk *w, const struct uuid *id)
{
    static const struct {
        enum stmt stmt;
        enum match as;
    } ups[] = {
        { STMT_find_by_id, MATCH_PAYMENT },          { STMT_find_by_purchase, MATCH_SUBJECT },
        { STMT_find_by_participant, MATCH_SUBJECT }, { STMT_find_by_refund, MATCH_REFUND },
        { STMT_find_by_operation_key, MATCH_KEY },
    };
    enum err e = OK;

    for (size_t i = 0; !e && i < COUNT(ups); i++)
        e = look_up(w, ups[i].stmt, v_uuid(id), ups[i].as);
    if (!e)
        e = add_lane(w, STMT_found_rows_booking, STMT_found_edge_booking, id, MATCH_BOOKING);
    if (!e)
        e = add_lane(w, STMT_found_rows_user, STMT_found_edge_user, id, MATCH_USER);
    if (!e)
        e = add_lane(w, STMT_found_rows_key, STMT_found_edge_key, id, MATCH_KEY);
    return e;
}

static enum err match_words(struct walk *w, struct str text)
{
    static const struct {
        enum stmt stmt;
        enum match as;
    } ups[] = {
        { STMT_find_by_intent, MATCH_PROVIDER },  { STMT_find_by_own_intent, MATCH_PROVIDER },
        { STMT_find_by_charge, MATCH_PROVIDER },  { STMT_find_by_session, MATCH_PROVIDER },
        { STMT_find_by_dispute, MATCH_PROVIDER }, { STMT_find_by_gateway_refund, MATCH_PROVIDER },
        { STMT_find_by_event, MATCH_EVENT },      { STMT_find_by_letter, MATCH_EVENT },
    };
    enum err e = OK;

    for (size_t i = 0; !e && i < COUNT(ups); i++)
        e = look_up(w, ups[i].stmt, V_TEXT(text), ups[i].as);
    return e;
}

static enum err match_reference(struct walk *w, struct str text)
{
    struct reference found[REFERENCES_FOUND];

    if (reference_find(text, found) != 1)
        return OK;
    return look_up(w, STMT_find_by_reference, V_TEXT(arena_str(w->arena, str_of(found[0].text))),
                   MATCH_REFERENCE);
}

/* A merchantPaymentId names its payment, also where no answer of PayPay ever came (P7). */
static enum err match_paypay(struct walk *w, struct str text, struct uuid *room)
{
    char lower[PAYPAY_ID + 1] = "";

    for (size_t i = 0; i < text.n && i < PAYPAY_ID; i++)
        lower[i] = (char)(text.p[i] >= 'A' && text.p[i] <= 'Z' ? text.p[i] + 32 : text.p[i]);
    if (text.n > PAYPAY_ID || !paypay_payment_of(str_of(lower), room))
        return OK;
    return look_up(w, STMT_find_by_id, v_uuid(room), MATCH_PROVIDER);
}

enum err walk_match(struct walk *w)
{
    struct str text = find_text_plain(w->arena, w->query->text);
    struct uuid *id = arena_alloc(w->arena, 2, sizeof(*id)); /* lanes point at it */
    enum err e;

    if (!text.p || !id)
        return ERR_NO_MEMORY;
    if (find_text_uuid(text, id)) {
        e = match_uuid(w, id);
        if (e || text.n == UUID_TEXT) /* no provider writes its ids so */
            return e;
    }
    e = match_paypay(w, text, id + 1);
    if (!e)
        e = match_words(w, text);
    return e ? e : match_reference(w, text);
}
