/* render.h - what the files that write JSON share. */
#pragma once

#include "sandbox/stripe/model.h"

enum { RENDER_ROOM = 3072 }; /* most objects fit without the buffer growing */

#define NO_BILLING                                                                                 \
    "{\"address\":{\"city\":null,\"country\":null,\"line1\":null,\"line2\":null,"                  \
    "\"postal_code\":null,\"state\":null},\"email\":null,\"name\":null,\"phone\":null,"            \
    "\"tax_id\":null}"

void sb_render_begin(struct buf *b, struct str first);
void sb_put_expanded(struct buf *b, struct str key, struct str id, struct str object);
/* Writes the keys from the value of "brand" to "last4". */
void sb_put_card(struct buf *b, const struct card *c, int64_t exp_month, int64_t exp_year);

/* --- voucher.c --- */

void sb_put_voucher(struct work *w, struct buf *b, const struct intent *p); /* next_action */
void sb_put_voucher_options(struct work *w, struct buf *b, const struct intent *p);
void sb_put_voucher_paid(struct work *w, struct buf *b, const struct charge *c);
struct str sb_billing_text(struct work *w, struct str method); /* billing_details, never empty */
