/* paypay.h - the pretend PayPay: one call from its door to its answer, and its objects. Only the
 * files that begin with paypay include this, and sandbox/control/ledger.c.
 *
 *   door (on the executor): who are you, what do you say
 *   --> unit (store): what goes wrong, the operation --> answer
 *
 * Every call is one unit that may write, also one that only asks: what goes wrong is counted on
 * disk. An operation refuses before it writes anything, or where what it wrote is to stay (a
 * payment that failed). */
#pragma once

#include "sandbox/paypay/rules.h"
#include "sandbox/stripe/model.h"

struct pp_call;

struct pp_operation {
    const char *method, *path;
    void (*read)(struct pp_call *c); /* on the executor; NULL: there is nothing to read */
    void (*run)(struct pp_call *c);
};

struct pp_endpoint { /* the ctx of a route */
    const struct pp_operation *op;
    struct sandbox *s;
};

/* What was said. Texts are the request's; an empty one was not said. */
struct pp_input {
    struct str payment, user, capture, revert, refund; /* the merchant's ids, and the user's */
    struct str paypay_id;                              /* paymentId */
    int64_t amount, requested_s, expires_s;            /* expires_s 0: not said */
    bool authorization, agree;
    struct str description, store_id, terminal_id, store_info, receipt, reason;
    struct str redirect_url, redirect_type, user_agent;
    struct str items, items_echo, metadata; /* JSON; in the echo unitPrice is unit_price */
};

/* What goes wrong with a call. */
struct pp_fault {
    const struct pp_fault_kind *kind; /* NULL: nothing */
    int64_t ms;
};

struct pp_call {
    struct work w;
    struct unit unit;
    struct request *request;
    const struct pp_operation *op;
    struct str id; /* of the path */
    struct pp_input in;

    struct pp_call *next_waiting, **waiting_place;
    struct timer timer;

    /* the outcome; each run of the unit sets it anew */
    int status;
    struct str body;
    struct pp_fault fault;
};

/* --- endpoint.c --- */

extern const struct pp_operation pp_operations[];
extern const size_t pp_operation_count;
void pp_begin(struct request *r, void *endpoint);
/* The body of what the server refuses by itself. */
void pp_problem(struct buf *out, enum err e, const char *words);
/* data: JSON; empty: null. */
void pp_answer(struct pp_call *c, enum pp_result r, struct str data);
bool pp_refuse(struct pp_call *c, enum pp_result r); /* false, always */
/* INVALID_REQUEST_PARAMS, with the name of what is wrong. */
bool pp_invalid(struct pp_call *c, const char *field);

/* --- input.c: what is wrong is refused --- */

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
    int64_t until_ms; /* 0: not said */
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

/* --- rows.c. NOT_FOUND: there is none. --- */

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
/* All of a payment's, LIMIT_SANDBOX_PP_REFUNDS at most. */
bool pp_refunds_of(struct work *w, struct str payment, struct pp_refund **ret, size_t *ret_count);
/* Does the statement find a row for this id? False with err set: it could not be asked. */
bool pp_knows(struct work *w, enum stmt stmt, struct str id);

/* --- render.c: as JSON texts of the arena --- */

struct str pp_code_json(struct work *w, const struct pp_code *c, const struct pp_input *in);
struct str pp_payment_json(struct work *w, const struct pp_payment *p);
struct str pp_refund_json(struct work *w, const struct pp_refund *r);
struct str pp_revert_json(struct work *w, const struct pp_payment *p);

/* --- transitions.c: what becomes of a payment; writes it and tells it --- */

bool pp_code_is_open(const struct work *w, const struct pp_code *c);
/* Somebody scanned it, and paid or did not. */
bool pp_code_use(struct work *w, struct pp_code *code, bool pays, struct pp_payment *ret);
/* A new payment that the caller has filled but for its id, times and sums. FAILED is not told. */
bool pp_pay(struct work *w, struct pp_payment *p, enum pp_status status);
bool pp_captured(struct work *w, struct pp_payment *p, struct pp_capture *c);
/* The user said no, or nothing: it is authorized as before. */
bool pp_capture_refused(struct work *w, struct pp_payment *p);
bool pp_cancel(struct work *w, struct pp_payment *p);
/* An authorization whose time is over ends, also where its job has not come yet. */
bool pp_lapse(struct work *w, struct pp_payment *p);

/* Seconds of an authorization's end, or 0 where none was said. */
bool pp_expiry_fits(const struct work *w, int64_t expires_s); /* payments.c */
/* A payment for a call, as it was read: false where there is none, which has been answered. */
bool pp_found(struct pp_call *c, enum err read, enum pp_result missing, struct pp_payment *p);

/* --- notify.c --- */

/* In the transaction of the change: state is the payment's, or another word. */
bool pp_tell(struct work *w, const struct pp_payment *p, const char *state,
             int64_t confirm_until_ms);
struct job_kind pp_notice_kind(struct sandbox *s);

/* --- jobs.c --- */

extern const struct str pp_job_code_lapse, pp_job_lapse, pp_job_confirm_lapse, pp_job_refund;
enum { PP_KINDS = 5 }; /* with the notifications' */
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
    bool after;            /* it is done first */
    enum pp_result result; /* what is answered; SUCCESS: the true answer */
    const char *instead;   /* or this text; NULL: no */
    int status;            /* of that text; 0: the true one */
    bool lost;             /* ... or nothing at all: the connection is closed */
    bool half;             /* ... or half of the true answer */
    bool hangs;            /* the answer comes ms later */
};
const struct pp_fault_kind *pp_fault_kind(struct str name); /* NULL: there is none */
/* What the rules say about this call; each counts down. */
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
void pp_control_books(struct request *r, void *sandbox); /* sandbox/control/ledger.c */
void pp_control_pay(struct request *r, void *sandbox);   /* page.c */
void pp_control_fail(struct request *r, void *sandbox);
void pp_control_show(struct request *r, void *sandbox);
void pp_control_use(struct request *r, void *sandbox);

/* Registration, for sandbox/sandbox.c. */
void pp_stop_waiting(struct sandbox *s); /* on the executor: who is held back is dropped */
