/* payment_input.h - reads what a client asks for, and says all that is wrong with it at once (P5).
 * Pure: bytes in, a checked order out.
 *
 *   (1) One pass over the body, no tree: a replay must be cheap.
 *   (2) Nothing is guessed. 1e3, "1000" and 1000.0 are not the amount 1000; a field that nobody
 *       knows is refused, since it may be a misspelt one that matters.
 *   (3) What looks like a card number never goes further than this. */
#pragma once

#include "base/arena.h"
#include "base/json/json.h"
#include "domain/money.h"
#include "payment/operate.h"

struct payment_input {
    struct uuid key;
    /* OP_CREATE */
    struct uuid booking;
    struct money money;
    struct str method, description; /* empty: not given */
    struct str method_type;         /* empty: not given */
    /* the others */
    bool has_amount;
    int64_t amount;
    struct str reason; /* empty: not given */
};

/* The header Idempotency-Key: its value and how many of it there were (I1). */
void payment_input_key(struct str header, size_t count, struct payment_input *in,
                       struct json_problems *p);

/* The body, by the rules of the operation. An empty one counts as {} except for OP_CREATE. Fine if
 * p->count did not rise; texts go to the arena. NO_MEMORY: the arena is full. */
enum err payment_input_body(struct arena *a, enum op_kind kind, struct str body,
                            struct payment_input *in, struct json_problems *p);

/* The same for a purchase: paymentMethodType and paymentMethod. */
enum err payment_input_purchase(struct arena *a, struct str body, struct payment_input *in,
                                struct json_problems *p);

/* 13 to 19 digits that pass the Luhn test, blanks, dashes or dots between them, letters around
 * them. */
bool looks_like_card(struct arena *a, struct str text);
