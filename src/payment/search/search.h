/* search.h - the search for payments of operators (O8): by fields, and by any text that was pasted.
 *
 *   (1) Every scan goes along an index, newest first. Where the index alone does not decide, a page
 *       examines at most LIMIT_FIND_LOOKED rows, and its cursor continues there. So a page may be
 *       short or empty while there is more.
 *   (2) A text is looked up by keys only; an unknown text is an empty list.
 *   (3) Nothing is shown twice or left out because a payment was added meanwhile. */
#pragma once

#include "payment/payments.h"

struct payment_query {
    struct str text; /* as typed; find_text_fits(). Empty: any */
    bool has_status, has_context, has_user, has_booking;
    enum payment_status status;
    enum payment_context context;
    struct str gateway; /* empty: any */
    struct uuid user, booking;
    int64_t from_ms, to_ms; /* of createdAt: from <= it < to; 0: open */
};

struct payment_place { /* opaque to callers */
    int64_t at_ms;
    struct uuid id;
};
enum { PAYMENT_PLACE_TEXT = 32 };
bool payment_place_read(struct str text, struct payment_place *ret_place);

/* {"data":[AdminPayment],"nextCursor":..,"matchedBy":[..]}. after NULL: from the newest on. */
enum err payment_find(struct tx *tx, struct arena *a, const struct payment_query *q,
                      const struct payment_place *after, int limit, struct str *ret_json);

/* --- show.c --- */

/* One payment with its operations, transactions, disputes, and what may be done to it. NOT_FOUND. */
enum err payment_show(struct tx *tx, struct arena *a, const struct payables *payables,
                      struct uuid id, struct str *ret_json);
/* {"data":[..]}: what a client's key did, the newest LIMIT_FIND_IDS. */
enum err payment_key_uses(struct tx *tx, struct arena *a, struct uuid key, int64_t now_ms,
                          struct str *ret_json);
