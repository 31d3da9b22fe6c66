/* scan.h - what search.c, match.c and show.c share. Only they include this. */
#pragma once

#include "base/limits.h"
#include "payment/rows.h"
#include "payment/search/search.h"

/* How a payment was found; the API has a name for each. */
enum match {
    MATCH_PAYMENT,
    MATCH_BOOKING,
    MATCH_SUBJECT,
    MATCH_USER,
    MATCH_KEY,
    MATCH_REFUND,
    MATCH_PROVIDER,
    MATCH_EVENT,
    MATCH_REFERENCE,
    MATCHES
};

enum { SCANS = LIMIT_FIND_GATEWAYS, SEARCH_IDS = 20 * LIMIT_FIND_IDS };

/* An index, and the key that is scanned in it. */
struct index_scan {
    enum stmt rows, edge;
    struct val key[2];
    size_t keys;
    bool by_time; /* in the order of (created_at, id); else of the id */
};

struct search {
    struct tx *tx;
    struct arena *arena;
    const struct payment_query *query;
    size_t limit;

    struct index_scan scans[SCANS];
    size_t scan_count;
    struct uuid ids[SEARCH_IDS]; /* and these payments */
    size_t id_count;
    bool decided;                 /* every row of the scans fits the query */
    struct payment_place at, low; /* at: exclusive; low: inclusive */
    bool cut;                     /* there may be rows below low */
    bool matched[MATCHES];

    struct payment *found;
    size_t count, room;
};

/* True if the scan has any row at all. */
enum err scan_has_any(struct search *w, const struct index_scan *l, bool *ret_any);

/* The scans and ids of w->query->text. */
enum err search_match_text(struct search *w);

/* AdminPayment: the Payment of the API and what only operators see. refunded false: the payment is
 * known to have no refunds. */
enum err payment_out(struct tx *tx, struct arena *a, const struct payment *p, bool refunded,
                     struct buf *b);
