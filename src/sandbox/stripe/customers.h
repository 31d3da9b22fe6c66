/* customers.h - customers, bank transfers to a customer's cash balance, bank debits and wallets.
 * The same rules as in model.h. */
#pragma once

#include "sandbox/stripe/model.h"

struct customer {
    struct str id;
    int64_t created_ms;
    struct str name, email, phone, description, address, shipping, metadata;
    bool deleted;
    int64_t cash; /* yen in the cash balance */
};

struct transfer {
    struct str intent, customer;
    int64_t funded;
};

/* --- rows_events.c --- */

enum err sb_customer_read(struct tx *tx, struct str id, struct customer *ret);
bool sb_customer_write(struct work *w, const struct customer *c);
bool sb_customer_page(struct work *w, struct list_page *p, struct customer **ret);
enum err sb_transfer_read(struct tx *tx, struct str id,
                          struct transfer *ret); /* by the intent's id */
bool sb_transfer_write(struct work *w, const struct transfer *t);

/* --- transfers.c: customer_balance --- */

/* The intent waits for a bank transfer. */
bool sb_transfer_waits(const struct intent *p);
/* Begins a payment by bank transfer. Money in the cash balance is used at once. */
bool sb_transfer_begin(struct work *w, struct intent *p);
/* Adds money to the cash balance and gives it to the customer's waiting intents, the oldest
 * first. */
bool sb_cash_add(struct work *w, struct customer *c, int64_t amount);
/* Returns the money that an intent has received to the cash balance: the intent was cancelled, or
 * paid another way. */
bool sb_transfer_return(struct work *w, const struct intent *p);
struct str sb_transfer_url(struct work *w, struct str intent);

/* --- debits.c: sepa_debit --- */

bool sb_debit_begin(struct work *w, struct intent *p);
bool sb_debit_end(struct work *w, struct intent *p); /* the test account decides how it ends */
/* The outcome row for an IBAN. NULL: the IBAN is invalid. */
const struct card *sb_debit_account(struct str iban);
bool sb_is_iban(struct str iban);

/* --- sandbox/stripe/render/methods.c --- */

void sb_put_transfer(struct work *w, struct buf *b, const struct intent *p); /* next_action */
/* payment_method_options of a type other than card and konbini. */
void sb_put_options_of(struct buf *b, const char *type);
void sb_put_method_of(struct buf *b, const struct method *m, const char *type);
void sb_put_paid_by(struct work *w, struct buf *b, const struct charge *c, const char *type);
void sb_put_destination(struct buf *b, const char *type); /* destination_details of a refund */
