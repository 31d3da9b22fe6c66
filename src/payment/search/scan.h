/* scan.h - the parts of search.c, match.c and show.c. Only they
 * include this. */
#pragma once

#include "base/limits.h"
#include "payment/rows.h"
#include "payment/search/search.h"

/* As what something was found; the names of the API. */
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

enum { LANES = LIMIT_FIND_GATEWAYS, WALK_IDS = 20 * LIMIT_FIND_IDS };

/* An index, and what is looked up in it. */
struct lane {
    enum stmt rows, edge;
    struct val key[2];
    size_t keys;
    bool by_time; /* in the order of (created_at, id); else of the id */
};

struct walk {
    struct tx *tx;
    struct arena *arena;
    const struct payment_query *query;
    size_t limit;

    struct lane lanes[LANES];
    size_t lane_count;
    struct uuid ids[WALK_IDS]; /* and these payments */
    size_t id_count;
    bool decided;                 /* all rows of the lanes fit */
    struct payment_place at, low; /* at: exclusive; low: inclusive */
    bool cut;                     /* something may stand below low */
    bool matched[MATCHES];

    struct payment *found;
    size_t count, room;
};

/* Whether the lane has any row at all. */
enum err lane_has_any(struct walk *w, const struct lane *l, bool *ret_any);

/* The lanes and ids of w->query->text. */
enum err walk_match(struct walk *w);

/* AdminPayment: the Payment of the API, and what operators see beside it. refunded false: it is
 * known to have no refunds. */
enum err payment_out(struct tx *tx, struct arena *a, const struct payment *p, bool refunded,
                     struct buf *b);
