/* payment_input.h - reads the key and the body of a payment's operation and reports everything that
 * is wrong in one answer (P5). Pure: bytes in, checked values out.
 *
 *   (1) One pass over the body and no tree, since a replay must be cheap.
 *   (2) Nothing is guessed. 1e3, "1000" and 1000.0 are not the amount 1000; an unknown field is
 *       rejected, since it may be a misspelt one that matters.
 *   (3) A text that looks like a card number is rejected here and goes no further. */
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

/* Reads the header Idempotency-Key; count: how many such headers the request has (I1). */
void payment_input_key(struct str header, size_t count, struct payment_input *in,
                       struct json_problems *p);

/* Reads the body by the rules of the operation. An empty body counts as {} except for OP_CREATE.
 * The body is valid if p->count did not rise. Texts go to the arena. NO_MEMORY: the arena is
 * full. */
enum err payment_input_body(struct arena *a, enum op_kind kind, struct str body,
                            struct payment_input *in, struct json_problems *p);

/* The same for a purchase: paymentMethodType and paymentMethod. */
enum err payment_input_purchase(struct arena *a, struct str body, struct payment_input *in,
                                struct json_problems *p);

/* True: the text has 13 to 19 digits that pass the Luhn test, possibly with blanks, dashes or dots
 * between them and letters around them. */
bool looks_like_card(struct arena *a, struct str text);
