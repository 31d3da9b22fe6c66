/* checkout.h - products, prices, Checkout Sessions, konbini slips and disputes. The same rules as
 * in model.h. */
#pragma once

#include "sandbox/stripe/model.h"

struct product {
    struct str id;
    int64_t created_ms;
    struct str name, description;
    bool active;
    struct str metadata;
};

struct price {
    struct str id;
    int64_t created_ms;
    struct str product, currency;
    int64_t unit_amount;
    bool active;
    struct str nickname, metadata;
};

struct session {
    struct str id;
    int64_t created_ms, expires_ms, amount;
    struct str currency;
    struct str status;         /* open, complete, expired */
    struct str payment_status; /* unpaid, paid */
    struct str success_url, cancel_url, client_reference, customer, customer_email;
    struct str payer_email; /* the email that the customer typed in */
    struct str metadata, method_types;
    struct str
        intent; /* empty until the first attempt to pay; later attempts use the same intent */
    struct str capture_method, intent_metadata, intent_description,
        receipt_email; /* for the intent */
    struct str descriptor_suffix, setup_future_usage, shipping;
};

struct item {
    struct str session;
    int64_t line; /* from 0 */
    struct str id, price, description, currency;
    int64_t quantity, amount;
};

/* A konbini slip. What the call asked for is stored with the intent; the slip itself is made when
 * the intent is confirmed. */
struct voucher {
    struct str intent, confirmation_number;
    int64_t expires_after_days, asked_until_ms; /* 0: not asked for */
    struct str product_description;
    struct str number, code; /* empty: there is no slip yet */
    int64_t shown_until_ms,
        lapses_ms;    /* the time shown to the customer; the time when the slip really ends */
    struct str store; /* the store where it was paid */
};

struct dispute {
    struct str id;
    int64_t created_ms;
    struct str charge, intent;
    int64_t amount;
    struct str currency, reason, status, metadata;
};

/* --- rows_checkout.c --- */

enum err sb_product_read(struct tx *tx, struct str id, struct product *ret);
enum err sb_price_read(struct tx *tx, struct str id, struct price *ret);
enum err sb_session_read(struct tx *tx, struct str id, struct session *ret);
enum err sb_voucher_read(struct tx *tx, struct str id,
                         struct voucher *ret); /* by the intent's id */
enum err sb_dispute_read(struct tx *tx, struct str id, struct dispute *ret);
bool sb_product_write(struct work *w, const struct product *p);
bool sb_price_write(struct work *w, const struct price *p);
bool sb_session_write(struct work *w, const struct session *s);
bool sb_item_write(struct work *w, const struct item *i);
bool sb_voucher_write(struct work *w, const struct voucher *v);
bool sb_dispute_write(struct work *w, const struct dispute *d);

/* Filters of a page: products: active ("1", "0"); prices: active and product; sessions: status. */
bool sb_product_page(struct work *w, struct list_page *p, struct product **ret);
bool sb_price_page(struct work *w, struct list_page *p, struct price **ret);
bool sb_session_page(struct work *w, struct list_page *p, struct session **ret);
bool sb_dispute_page(struct work *w, struct list_page *p, struct dispute **ret);
bool sb_items_of(struct work *w, struct str session, struct item **ret, size_t *ret_count);

/* --- sandbox/stripe/render/checkout.c --- */

struct str sb_product_json(struct work *w, const struct product *p);
struct str sb_price_json(struct work *w, const struct price *p, unsigned expand);
struct str sb_session_json(struct work *w, const struct session *s, unsigned expand);
struct str sb_items_json(struct work *w, struct str session); /* its line items as a list */
struct str sb_session_url(struct work *w, const struct session *s);
struct str sb_dispute_json(struct work *w, const struct dispute *d, unsigned expand);

/* --- checkout.c: the states of a session --- */

bool sb_session_is_open(const struct work *w,
                        const struct session *s); /* also looks at its expiry time */
/* One attempt to pay for an open session. The session and ret_intent are updated to their state
 * after it. */
bool sb_session_pay(struct work *w, struct session *s, const struct method *m,
                    const struct confirmation *how, struct intent *ret_intent,
                    struct pay_attempt *ret_attempt);
bool sb_session_expire(struct work *w, struct session *s);

/* --- vouchers.c --- */

/* The intent waits for its slip to be paid. */
bool sb_voucher_waits(const struct intent *p);
bool sb_voucher_pay(struct work *w, struct intent *p, struct str store);
bool sb_voucher_expire(struct work *w, struct intent *p);
struct str sb_voucher_url(struct work *w, struct str intent);
extern const struct str sb_stores[];
extern const size_t sb_store_count;

/* --- disputes.c --- */

bool sb_dispute_open(struct work *w, struct charge *c, struct str reason, struct str status,
                     struct dispute *ret);
bool sb_dispute_close(struct work *w, struct dispute *d, struct str status);
