/* paypay.h - the simulated PayPay: a call from its request to its answer, and its objects. Private
 * to paypay/, except for control/ledger.c and sandbox.c.
 *
 *   endpoint.c (on the executor): signature, body
 *   --> unit (on the store): fault, operation --> answer
 *
 * Every call is a unit that may write, even one that only reads, because used faults are counted on
 * disk. An operation rejects before it writes anything, or where what it wrote is to stay (a
 * payment that failed). */
#pragma once

#include "sandbox/paypay/rules.h"
#include "sandbox/stripe/model.h"

struct pp_call;

struct pp_operation {
    const char *method, *path;
    void (*read)(struct pp_call *c); /* on the executor; NULL: no body */
    void (*run)(struct pp_call *c);
};

struct pp_endpoint { /* the ctx of a route */
    const struct pp_operation *op;
    struct sandbox *s;
};

/* What the body says. Texts are in the request's arena; an empty one is absent. */
struct pp_input {
    struct str payment, user, capture, revert, refund; /* the merchant's ids, and the user's id */
    struct str paypay_id;                              /* paymentId */
    int64_t amount, requested_s, expires_s;            /* expires_s 0: absent */
    bool authorization, agree;
    struct str description, store_id, terminal_id, store_info, receipt, reason;
    struct str redirect_url, redirect_type, user_agent;
    struct str items, items_echo, metadata; /* JSON; in items_echo unitPrice is called unit_price */
};

/* The fault of a call. */
struct pp_fault {
    const struct pp_fault_kind *kind; /* NULL: no fault */
    int64_t ms;
};

struct pp_call {
    struct work w;
    struct unit unit;
    struct request *request;
    const struct pp_operation *op;
    struct str id; /* the {id} of the path */
    struct pp_input in;

    struct pp_call *next_delayed, **delayed_place;
    struct timer timer;

    /* The outcome. Each run of the unit sets it anew. */
    int status;
    struct str body;
    struct pp_fault fault;
};

/* --- endpoint.c --- */

extern const struct pp_operation pp_operations[];
extern const size_t pp_operation_count;
void pp_begin(struct request *r, void *endpoint);
/* The body of an answer that the HTTP server gives by itself. */
void pp_problem(struct buf *out, enum err e, const char *words);
/* data is JSON; empty: null. */
void pp_answer(struct pp_call *c, enum pp_result r, struct str data);
bool pp_reject(struct pp_call *c, enum pp_result r); /* always false */
/* Answers INVALID_REQUEST_PARAMS with the name of the field. */
bool pp_invalid(struct pp_call *c, const char *field);

/* --- input.c --- */

void pp_read_code(struct pp_call *c);
void pp_read_payment(struct pp_call *c);
void pp_read_capture(struct pp_call *c);
void pp_read_revert(struct pp_call *c);
void pp_read_refund(struct pp_call *c);

/* --- the operations, by file --- */

void pp_code_create(struct pp_call *c); /* codes.c */
void pp_code_delete(struct pp_call *c);
void pp_code_details(struct pp_call *c);
void pp_payment_create(struct pp_call *c); /* payments.c */
void pp_payment_preauthorize(struct pp_call *c);
void pp_payment_details(struct pp_call *c);
void pp_payment_cancel(struct pp_call *c);
void pp_payment_capture(struct pp_call *c); /* capture.c */
void pp_payment_revert(struct pp_call *c);
void pp_refund_create(struct pp_call *c); /* refunds.c */
void pp_refund_details(struct pp_call *c);

/* --- objects --- */

struct pp_code {
    struct str id, payment; /* payment: the merchant's id */
    int64_t created_ms, expires_ms;
    struct str status; /* open, used, deleted, expired */
    int64_t amount;
    bool authorization;
    int64_t until_ms; /* 0: absent */
    int64_t requested_s;
    struct str description, redirect_url, redirect_type, items, metadata, store_id, terminal_id;
};

struct pp_payment {
    struct str id, merchant_id, code, user;
    enum pp_status status;
    bool authorization;
    int64_t amount, captured, refunded, requested_s, accepted_ms;
    int64_t authorized_ms, completed_ms, expires_ms, canceled_ms; /* 0: not */
    struct str store_id, terminal_id, receipt, description, items, metadata;
    struct str revert_id;
    int64_t revert_requested_s;
    struct str revert_reason;
};

struct pp_capture {
    struct str payment, id, status;
    int64_t amount, requested_s, accepted_ms, expires_ms;
    struct str description;
};

struct pp_refund {
    struct str id, payment, status;
    int64_t amount, requested_s, accepted_ms;
    struct str reason;
};

/* --- rows.c. NOT_FOUND: no such row. --- */

enum err pp_code_read(struct tx *tx, struct str id, struct pp_code *ret);
enum err pp_code_of(struct tx *tx, struct str merchant_id, struct pp_code *ret);
bool pp_code_write(struct work *w, const struct pp_code *o);
enum err pp_payment_read(struct tx *tx, struct str id, struct pp_payment *ret);
enum err pp_payment_of(struct tx *tx, struct str merchant_id, struct pp_payment *ret);
bool pp_payment_write(struct work *w, const struct pp_payment *o);
enum err pp_capture_read(struct tx *tx, struct str payment_id, struct pp_capture *ret);
bool pp_capture_write(struct work *w, const struct pp_capture *o);
bool pp_capture_forget(struct work *w, struct str payment);
enum err pp_refund_read(struct tx *tx, struct str id, struct pp_refund *ret);
bool pp_refund_write(struct work *w, const struct pp_refund *o);
/* All refunds of a payment, at most LIMIT_SANDBOX_PP_REFUNDS. */
bool pp_refunds_of(struct work *w, struct str payment, struct pp_refund **ret, size_t *ret_count);
/* Whether the statement finds a row for this id. With err set, the answer is unknown. */
bool pp_id_exists(struct work *w, enum stmt stmt, struct str id);

/* --- render.c: JSON texts in the arena --- */

struct str pp_code_json(struct work *w, const struct pp_code *c, const struct pp_input *in);
struct str pp_payment_json(struct work *w, const struct pp_payment *p);
struct str pp_refund_json(struct work *w, const struct pp_refund *r);
struct str pp_revert_json(struct work *w, const struct pp_payment *p);

/* --- transitions.c: moves; each writes its rows and its notification --- */

bool pp_code_is_open(const struct work *w, const struct pp_code *c);
/* The user scanned the code, and paid or failed to. */
bool pp_code_use(struct work *w, struct pp_code *code, bool pays, struct pp_payment *ret);
/* Makes a payment; the caller has filled all but its id, times and sums. A failed payment is not
 * notified. */
bool pp_pay(struct work *w, struct pp_payment *p, enum pp_status status);
bool pp_captured(struct work *w, struct pp_payment *p, struct pp_capture *c);
/* The user refused the capture or did not answer: the payment is authorized again. */
bool pp_capture_refused(struct work *w, struct pp_payment *p);
bool pp_cancel(struct work *w, struct pp_payment *p);
/* Ends an authorization whose time is over, even if its job has not run yet. */
bool pp_expire(struct work *w, struct pp_payment *p);

/* The end of an authorization in seconds, or 0 without one. */
bool pp_expiry_fits(const struct work *w, int64_t expires_s); /* payments.c */
/* Checks the result of reading a payment. False: it does not exist, and the call is answered. */
bool pp_check_found(struct pp_call *c, enum err read, enum pp_result missing, struct pp_payment *p);

/* --- notify.c --- */

/* In the transaction of the change: adds the notification. state is the payment's, or another
 * word. */
bool pp_notify(struct work *w, const struct pp_payment *p, const char *state,
               int64_t confirm_until_ms);
struct job_kind pp_notice_kind(struct sandbox *s);

/* --- jobs.c --- */

extern const struct str pp_job_code_lapse, pp_job_lapse, pp_job_confirm_lapse, pp_job_refund;
enum { PP_KINDS = 5 }; /* including the kind of notifications */
void pp_job_kinds(struct sandbox *s, struct job_kind kinds[PP_KINDS]);

/* --- switches.c, faults.c --- */

struct pp_switches {
    struct str webhooks;
    int64_t webhook_delay_ms;
    struct str webhook_url, refunds;
    int64_t refund_delay_ms;
    bool confirm_capture;
    int64_t notices;
};
enum err pp_switches_read(struct tx *tx, struct pp_switches *ret);
bool pp_switches_write(struct work *w, const struct pp_switches *s);

struct pp_fault_kind {
    const char *name;
    bool after;            /* the operation runs first */
    enum pp_result result; /* answered instead; SUCCESS: the true answer */
    const char *instead;   /* sent instead of the body; NULL: the body */
    int status;            /* sent with `instead`; 0: the true status */
    bool lost;             /* the connection is closed without an answer */
    bool half;             /* only half of the body is sent */
    bool hangs;            /* the answer waits for ms */
};
const struct pp_fault_kind *pp_fault_kind(struct str name); /* NULL: unknown name */
/* Finds the rule that fits this call, and counts it down. */
bool pp_fault_take(struct work *w, struct str method, struct str path, struct pp_fault *ret);

struct pp_fault_rule {
    int64_t seq;
    struct str fault, method, path;
    int64_t skip, times, ms;
};
bool pp_fault_add(struct work *w, const struct pp_fault_rule *r);
bool pp_fault_rules(struct work *w, struct pp_fault_rule **ret, size_t *ret_count);

/* --- the routes under /_sandbox --- */

extern const struct route pp_control_routes[];
extern const size_t pp_control_route_count;
void pp_control_switches(struct request *r, void *sandbox); /* switches.c */
void pp_control_set_switches(struct request *r, void *sandbox);
void pp_control_ledger(struct request *r, void *sandbox); /* sandbox/control/ledger.c */
void pp_control_pay(struct request *r, void *sandbox);    /* page.c */
void pp_control_fail(struct request *r, void *sandbox);
void pp_control_show(struct request *r, void *sandbox);
void pp_control_use(struct request *r, void *sandbox);

/* For sandbox.c. */
void pp_calls_drop_hanging(struct sandbox *s); /* on the executor: drops calls that hang */
