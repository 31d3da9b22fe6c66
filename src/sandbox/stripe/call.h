/* call.h - one call of the simulated Stripe API, from its request to its answer.
 *
 *   endpoint.c (on the executor): key, form, faults
 *   --> unit (on the store): Idempotency-Key, operation --> answer
 *
 * An operation runs in one unit of work. It calls visit_answer() or visit_refuse() once, or leaves
 * an err in its work. It rejects before it writes anything, or where what it wrote is to stay (a
 * decline). */
#pragma once

#include "sandbox/form.h"
#include "sandbox/stripe/model.h"

struct visit;

struct operation {
    const char *method, *path;
    void (*run)(struct visit *v); /* a GET only reads */
};

enum { HASH = 32 };

struct visit {
    struct work w; /* its arena is the visit's own, not the request's */
    struct arena arena;
    struct unit unit;
    struct request *request;
    const struct operation *op;
    struct form form;
    struct str id; /* the {id} of the path */
    struct sandbox_fault fault;
    struct str key; /* Idempotency-Key of a POST; empty: none */
    unsigned char key_hash[HASH], order_hash[HASH];

    struct visit *next, **place; /* list of calls under way with a key, on the executor */
    struct visit *next_waiting, **waiting_place;
    struct timer timer;
    void (*then)(struct visit *v); /* called when the timer fires */

    /* The outcome. Each run of the unit sets it anew. */
    int status;
    struct str body;
    bool keep; /* store the answer under the key: the operation has begun */
    bool replayed;
    struct str original; /* id of the request that a replayed answer was first made for */
    bool retry;          /* the answer says stripe-should-retry: true */
};

struct endpoint { /* the ctx of a route */
    const struct operation *op;
    struct sandbox *s;
};
void visit_begin(struct request *r, void *endpoint);
void visit_stop_waiting(struct sandbox *s); /* on the executor: drops delayed calls */

extern const struct operation sandbox_operations[];
extern const size_t sandbox_operation_count;

/* --- answer.c --- */

struct refusal {
    int status;
    const char *type;
    struct str code, decline_code, message, param, charge;
    struct str intent, method; /* JSON */
    bool began;                /* the answer is stored under the key */
};

void visit_answer(struct visit *v, struct str object); /* 200 */
bool visit_refuse(struct visit *v, const struct refusal *r);
/* Answers 400, which is not stored under the key. code may be NULL. */
bool visit_invalid(struct visit *v, const char *code, const char *param, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Answers resource_missing. */
bool visit_missing(struct visit *v, int status, const char *what, struct str id, const char *param);
/* Answers payment_intent_unexpected_state with the intent; stored under the key. */
bool visit_unexpected(struct visit *v, const struct intent *p, struct str message);
/* Answers 402 with the intent; stored under the key. */
void visit_refuse_declined(struct visit *v, const struct intent *p, const struct attempt *a);
bool visit_failed(struct visit *v, int status);           /* an error of the sandbox itself */
struct str *visit_objects(struct visit *v, size_t count); /* NULL: no memory, err is set */
void visit_list(struct visit *v, const char *url, const struct page *p, const struct str *objects);

/* --- idempotency_keys.c --- */

enum err keys_hash(struct visit *v);
/* On the executor. False: another call with this key is under way. */
bool keys_enter(struct visit *v);
void keys_leave(struct visit *v); /* on the executor, once after keys_enter() */
bool keys_claim(struct visit *v); /* false: answered with the stored answer, or rejected */
void keys_save(struct visit *v);

/* --- params.c. False: rejected. An absent parameter leaves its output as it is. --- */

struct taken { /* a parameter that may be absent */
    bool has;
    int64_t number; /* of take_number() */
    struct str text;
};
bool take_text(struct visit *v, const char *name, size_t most, struct taken *ret);
bool take_number(struct visit *v, const char *name, struct taken *ret);
bool take_flag(struct visit *v, const char *name, bool *ret);
/* One of the choices "a|b|c". An empty value clears the field. */
bool take_choice(struct visit *v, const char *name, const char *choices, struct taken *ret);
bool take_metadata(struct visit *v, struct str *metadata);
bool take_shipping(struct visit *v, struct str *shipping);
bool take_billing(struct visit *v, const struct form *f, struct str *billing);
bool take_place(struct visit *v, struct str *address);
/* Reads limit, starting_after and ending_before. They narrow the bounds that the page already has;
 * both bounds are exclusive. */
bool take_page(struct visit *v, struct page *page);
/* Turns the parameter `created` into bounds of ids with this prefix. */
bool take_created(struct visit *v, const char *prefix, struct page *page);
/* Runs take() on one branch of the form, as if that branch were the whole form. A missing branch
 * reads as an empty form. */
bool take_below(struct visit *v, const struct form *f, bool (*take)(struct visit *v, void *ctx),
                void *ctx);
bool take_currency(struct visit *v, struct str *currency); /* required; lower case */
/* Reads payment_method_types or allowed_payment_method_types as a JSON array. *ret_has: it was
 * sent. */
bool take_method_types(struct visit *v, struct str *types, bool *ret_has);
bool check_amount(struct visit *v, const char *param, int64_t amount); /* the amount of a payment */
struct expansion {
    const char *path;
    unsigned expand;
};
unsigned take_expand(struct visit *v, const struct expansion *known, size_t n);

/* --- methods.c --- */

/* Reads a payment method for the intent from payment_method or payment_method_data. Without either,
 * nothing changes; an empty payment_method removes the current one. */
bool method_for(struct visit *v, struct intent *p);
/* Checks that the intent may be paid with its method, and rejects the call otherwise. */
bool method_fits(struct visit *v, struct intent *p);

/* --- vouchers.c --- */

/* Reads payment_method_options[konbini]. */
bool take_voucher(struct visit *v, const struct intent *p);

/* --- strict.c --- */

/* In strict mode: rejects parameters that Stripe does not know or that the requested API version no
 * longer has. */
bool strict_allows(struct visit *v);

/* --- the operations, by file --- */

void intent_create(struct visit *v); /* intents.c */
void intent_update(struct visit *v);
void intent_confirm(struct visit *v);
void intent_retrieve(struct visit *v);
void intent_list(struct visit *v);
void intent_capture(struct visit *v); /* capture.c */
void intent_void(struct visit *v);
void refund_create(struct visit *v); /* refunds.c */
void refund_update(struct visit *v);
void refund_cancel(struct visit *v);
void refund_expire(struct visit *v);
void refund_retrieve(struct visit *v);
void refund_list(struct visit *v);
void product_create(struct visit *v); /* catalog.c */
void product_update(struct visit *v);
void product_retrieve(struct visit *v);
void product_list(struct visit *v);
void price_create(struct visit *v);
void price_update(struct visit *v);
void price_retrieve(struct visit *v);
void price_list(struct visit *v);
void session_create(struct visit *v); /* sessions_new.c */
void session_update(struct visit *v); /* sessions.c */
void session_retrieve(struct visit *v);
void session_list(struct visit *v);
void session_items(struct visit *v);
void session_end(struct visit *v);
void payment_page_retrieve(struct visit *v);
void payment_page_confirm(struct visit *v);
void dispute_retrieve(struct visit *v); /* disputes.c */
void dispute_list(struct visit *v);
void dispute_update(struct visit *v);
void dispute_accept(struct visit *v);
void event_list(struct visit *v); /* event_list.c */
void event_retrieve(struct visit *v);
void event_retry(struct visit *v);
void hook_create(struct visit *v); /* webhook_endpoints.c */
void hook_update(struct visit *v);
void hook_retrieve(struct visit *v);
void hook_delete(struct visit *v);
void hook_list(struct visit *v);
void customer_create(struct visit *v); /* customers.c */
void customer_update(struct visit *v);
void customer_retrieve(struct visit *v);
void customer_delete(struct visit *v);
void customer_list(struct visit *v);
void customer_cash(struct visit *v);
void customer_fund(struct visit *v);
void charge_retrieve(struct visit *v); /* charges.c */
void charge_list(struct visit *v);
void balance_retrieve(struct visit *v);
void method_create(struct visit *v); /* methods.c */
void method_retrieve(struct visit *v);

bool visit_intent(struct visit *v, struct intent *ret_intent); /* of the path, or answers 404 */
