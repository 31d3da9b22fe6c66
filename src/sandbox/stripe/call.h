/* call.h - one call of the simulated Stripe API, from its request to its answer.
 *
 *   endpoint.c (on the executor): key, form, faults
 *   --> unit (on the store): Idempotency-Key, operation --> answer
 *
 * An operation runs in one unit of work. It calls stripe_answer() or stripe_reject() once, or leaves
 * an err in its work. It rejects before it writes anything, or where what it wrote is to stay (a
 * decline). */
#pragma once

#include "sandbox/form.h"
#include "sandbox/stripe/model.h"

struct stripe_call;

struct stripe_operation {
    const char *method, *path;
    void (*run)(struct stripe_call *v); /* a GET only reads */
};

enum { HASH = 32 };

struct stripe_call {
    struct work w; /* its arena is the call's own, not the request's */
    struct arena arena;
    struct unit unit;
    struct request *request;
    const struct stripe_operation *op;
    struct form form;
    struct str id; /* the {id} of the path */
    struct sandbox_fault fault;
    struct str key; /* Idempotency-Key of a POST; empty: none */
    unsigned char key_hash[HASH], request_hash[HASH];

    struct stripe_call *next, **place; /* list of calls under way with a key, on the executor */
    struct stripe_call *next_delayed, **delayed_place;
    struct timer timer;
    void (*then)(struct stripe_call *v); /* called when the timer fires */

    /* The outcome. Each run of the unit sets it anew. */
    int status;
    struct str body;
    bool keep; /* store the answer under the key: the operation has begun */
    bool replayed;
    struct str original; /* id of the request that a replayed answer was first made for */
    bool retry;          /* the answer says stripe-should-retry: true */
};

struct endpoint { /* the ctx of a route */
    const struct stripe_operation *op;
    struct sandbox *s;
};
void stripe_call_begin(struct request *r, void *endpoint);
void stripe_calls_drop_delayed(struct sandbox *s); /* on the executor: drops delayed calls */

extern const struct stripe_operation sandbox_operations[];
extern const size_t sandbox_operation_count;

/* --- answer.c --- */

struct rejection {
    int status;
    const char *type;
    struct str code, decline_code, message, param, charge;
    struct str intent, method; /* JSON */
    bool began;                /* the answer is stored under the key */
};

void stripe_answer(struct stripe_call *v, struct str object); /* 200 */
bool stripe_reject(struct stripe_call *v, const struct rejection *r);
/* Answers 400, which is not stored under the key. code may be NULL. */
bool stripe_reject_invalid(struct stripe_call *v, const char *code, const char *param,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Answers resource_missing. */
bool stripe_reject_missing(struct stripe_call *v, int status, const char *what, struct str id,
                           const char *param);
/* Answers payment_intent_unexpected_state with the intent; stored under the key. */
bool stripe_reject_unexpected(struct stripe_call *v, const struct intent *p, struct str message);
/* Answers 402 with the intent; stored under the key. */
void stripe_reject_declined(struct stripe_call *v, const struct intent *p,
                            const struct pay_attempt *a);
bool stripe_answer_failure(struct stripe_call *v, int status); /* an error of the sandbox itself */
struct str *stripe_list_objects(struct stripe_call *v,
                                size_t count); /* NULL: no memory, err is set */
void stripe_answer_list(struct stripe_call *v, const char *url, const struct list_page *p,
                        const struct str *objects);

/* --- idempotency_keys.c --- */

enum err idempotency_hash(struct stripe_call *v);
/* On the executor. False: another call with this key is under way. */
bool idempotency_enter(struct stripe_call *v);
void idempotency_leave(struct stripe_call *v); /* on the executor, once after idempotency_enter() */
/* False: answered with the stored answer, or rejected. */
bool idempotency_claim(struct stripe_call *v);
void idempotency_save(struct stripe_call *v);

/* --- params.c. False: rejected. An absent parameter leaves its output as it is. --- */

struct param { /* a parameter that may be absent */
    bool has;
    int64_t number; /* of param_number() */
    struct str text;
};
bool param_text(struct stripe_call *v, const char *name, size_t most, struct param *ret);
bool param_number(struct stripe_call *v, const char *name, struct param *ret);
bool param_flag(struct stripe_call *v, const char *name, bool *ret);
/* One of the choices "a|b|c". An empty value clears the field. */
bool param_choice(struct stripe_call *v, const char *name, const char *choices, struct param *ret);
bool param_metadata(struct stripe_call *v, struct str *metadata);
bool param_shipping(struct stripe_call *v, struct str *shipping);
bool param_billing(struct stripe_call *v, const struct form *f, struct str *billing);
bool param_address(struct stripe_call *v, struct str *address);
/* Reads limit, starting_after and ending_before. They narrow the bounds that the page already has;
 * both bounds are exclusive. */
bool param_page(struct stripe_call *v, struct list_page *page);
/* Turns the parameter `created` into bounds of ids with this prefix. */
bool param_created(struct stripe_call *v, const char *prefix, struct list_page *page);
/* Runs take() on one branch of the form, as if that branch were the whole form. A missing branch
 * reads as an empty form. */
bool param_within(struct stripe_call *v, const struct form *f,
                  bool (*take)(struct stripe_call *v, void *ctx), void *ctx);
bool param_currency(struct stripe_call *v, struct str *currency); /* required; lower case */
/* Reads payment_method_types or allowed_payment_method_types as a JSON array. *ret_has: it was
 * sent. */
bool param_method_types(struct stripe_call *v, struct str *types, bool *ret_has);
bool check_amount(struct stripe_call *v, const char *param, int64_t amount);
struct expansion {
    const char *path;
    unsigned expand;
};
unsigned param_expand(struct stripe_call *v, const struct expansion *known, size_t n);

/* --- methods.c --- */

/* Reads a payment method for the intent from payment_method or payment_method_data. Without either,
 * nothing changes; an empty payment_method removes the current one. */
bool method_for(struct stripe_call *v, struct intent *p);
/* Checks that the intent may be paid with its method, and rejects the call otherwise. */
bool method_fits(struct stripe_call *v, struct intent *p);

/* --- vouchers.c --- */

/* Reads payment_method_options[konbini]. */
bool param_voucher(struct stripe_call *v, const struct intent *p);

/* --- strict.c --- */

/* In strict mode: rejects parameters that Stripe does not know or that the requested API version no
 * longer has. */
bool strict_allows(struct stripe_call *v);

/* --- the operations, by file --- */

void intent_create(struct stripe_call *v); /* intents.c */
void intent_update(struct stripe_call *v);
void intent_confirm(struct stripe_call *v);
void intent_retrieve(struct stripe_call *v);
void intent_list(struct stripe_call *v);
void intent_capture(struct stripe_call *v); /* capture.c */
void intent_cancel(struct stripe_call *v);
void refund_create(struct stripe_call *v); /* refunds.c */
void refund_update(struct stripe_call *v);
void refund_cancel(struct stripe_call *v);
void refund_expire(struct stripe_call *v);
void refund_retrieve(struct stripe_call *v);
void refund_list(struct stripe_call *v);
void product_create(struct stripe_call *v); /* catalog.c */
void product_update(struct stripe_call *v);
void product_retrieve(struct stripe_call *v);
void product_list(struct stripe_call *v);
void price_create(struct stripe_call *v);
void price_update(struct stripe_call *v);
void price_retrieve(struct stripe_call *v);
void price_list(struct stripe_call *v);
void session_create(struct stripe_call *v); /* sessions_new.c */
void session_update(struct stripe_call *v); /* sessions.c */
void session_retrieve(struct stripe_call *v);
void session_list(struct stripe_call *v);
void session_items(struct stripe_call *v);
void session_expire(struct stripe_call *v);
void payment_page_retrieve(struct stripe_call *v);
void payment_page_confirm(struct stripe_call *v);
void dispute_retrieve(struct stripe_call *v); /* disputes.c */
void dispute_list(struct stripe_call *v);
void dispute_update(struct stripe_call *v);
void dispute_close(struct stripe_call *v);
void event_list(struct stripe_call *v); /* event_list.c */
void event_retrieve(struct stripe_call *v);
void event_retry(struct stripe_call *v);
void hook_create(struct stripe_call *v); /* webhook_endpoints.c */
void hook_update(struct stripe_call *v);
void hook_retrieve(struct stripe_call *v);
void hook_delete(struct stripe_call *v);
void hook_list(struct stripe_call *v);
void customer_create(struct stripe_call *v); /* customers.c */
void customer_update(struct stripe_call *v);
void customer_retrieve(struct stripe_call *v);
void customer_delete(struct stripe_call *v);
void customer_list(struct stripe_call *v);
void customer_cash(struct stripe_call *v);
void customer_fund(struct stripe_call *v);
void charge_retrieve(struct stripe_call *v); /* charges.c */
void charge_list(struct stripe_call *v);
void balance_retrieve(struct stripe_call *v);
void method_create(struct stripe_call *v); /* methods.c */
void method_retrieve(struct stripe_call *v);

bool stripe_read_intent(struct stripe_call *v,
                        struct intent *ret_intent); /* of the path, or answers 404 */
