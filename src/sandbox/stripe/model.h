/* model.h - the simulated Stripe's objects in memory, and their rows. An empty text is null in
 * Stripe's JSON. Texts that were read live until the unit's run ends.
 *
 * struct work is what every change needs: the transaction, memory, the time, and the request that
 * asked for it. Its functions return false when the work is over: then err says why, or the call
 * (call.h) has been answered. */
#pragma once

#include "base/buf.h"
#include "base/why.h"
#include "sandbox/shared.h"
#include "sandbox/stripe/cards.h"

struct work {
    struct sandbox *s;
    struct tx *tx;
    struct arena *a;
    int64_t now_ms;
    struct str request_id, idempotency_key; /* empty: no call asked for it */
    enum err err;                           /* the unit fails with it */
};

bool work_ok(struct work *w, enum err e); /* stores the first failure; true: OK */
/* Text in the arena. Without memory .p is NULL and err is set. */
struct str work_text(struct work *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct str work_text_of(struct work *w, struct buf *b); /* copies, then releases the buffer */
bool work_emit(struct work *w, const char *type, struct str object, struct str previous);
/* Adds a message about an object to the sandbox's queue. */
bool work_add_message(struct work *w, struct str kind, struct str ref, int64_t due_ms);

/* --- the run of such a message --- */

#define WORK_KIND(text)                                                                            \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
/* A job for an object that no longer exists succeeds. */
enum err work_run(struct sandbox *s, struct tx *tx, struct str id,
                  void (*act)(struct work *w, struct str id));
#define WORK_JOB(name, act)                                                                        \
    static enum err name(struct tx *tx, const struct message *m, void *ctx, struct why *why)       \
    {                                                                                              \
        (void)why;                                                                                 \
        return work_run(ctx, tx, m->ref, act);                                                     \
    }

/* --- ids.c: ids grow with time; the ids of an intent and its objects share a stem --- */

enum { STEM = 17 }; /* "3", seven digits of time, three of the counter, six random */

struct str sb_id_intent(struct work *w);
struct str sb_id_method(struct work *w);
struct str sb_id_under(struct work *w, const char *prefix,
                       struct str intent);                                 /* a charge, a refund */
struct str sb_id_random(struct work *w, const char *prefix, size_t count); /* of digits */
struct str sb_id_stem(struct str id); /* what an intent shares with its charges and refunds */
/* The id of the balance transaction of a charge or refund. It is computed, not stored. */
struct str sb_id_balance(struct work *w, struct str id, bool returned);
/* For every other object: the prefix, the time, a counter and random digits. */
struct str sb_id_new(struct work *w, const char *prefix);
/* The smallest id that an object made at that time can have, for lists by time. */
struct str sb_id_first_at(struct work *w, const char *prefix, int64_t ms);
#define ID_INTENT "pi_3"
#define ID_SESSION "cs_test_a1"

/* --- rows.c --- */

/*  X(name, wire) */
#define INTENT_STATUS_LIST(X)                                                                      \
    X(INTENT_NEEDS_METHOD, "requires_payment_method")                                              \
    X(INTENT_NEEDS_CONFIRM, "requires_confirmation")                                               \
    X(INTENT_NEEDS_ACTION, "requires_action")                                                      \
    X(INTENT_PROCESSING, "processing")                                                             \
    X(INTENT_NEEDS_CAPTURE, "requires_capture")                                                    \
    X(INTENT_CANCELED, "canceled")                                                                 \
    X(INTENT_SUCCEEDED, "succeeded")

#define INTENT_STATUS_NAME(name, wire) name,
enum intent_status { INTENT_STATUS_LIST(INTENT_STATUS_NAME) INTENT_STATUSES };
#undef INTENT_STATUS_NAME

struct str sb_intent_status_text(enum intent_status s);

struct intent {
    struct str id;
    int64_t created_ms, amount, amount_capturable, amount_received;
    struct str currency; /* lower case */
    enum intent_status status;
    struct str capture_method, confirmation_method, client_secret;
    struct str customer, description, metadata, payment_method;
    struct str card; /* name of a row in cards.c */
    bool authenticated;
    struct str latest_charge;
    int64_t canceled_ms; /* 0: not cancelled */
    struct str cancellation_reason, return_url, last_error, receipt_email;
    struct str statement_descriptor, descriptor_suffix, setup_future_usage, shipping;
    struct str transfer_group, method_types;
    bool automatic_methods;
    struct str session; /* of checkout.h; empty: none */
};

struct charge {
    struct str id, intent;
    int64_t created_ms, amount, amount_captured, amount_refunded;
    bool captured;
    struct str status, currency, payment_method, card;
    bool authenticated;
    struct str failure_code, decline_code;
    int64_t balanced_ms, capture_before_ms; /* 0: null */
    struct str metadata, description, customer, receipt_email;
    struct str statement_descriptor, descriptor_suffix, shipping, transfer_group;
    struct str dispute; /* the latest; empty: none */
};

struct refund {
    struct str id, charge, intent;
    int64_t created_ms, amount;
    struct str currency, status, reason, metadata, payment_method, failure_reason;
    int64_t returned_ms; /* 0: null */
};

struct method {
    struct str id;
    int64_t created_ms;
    struct str card, customer, billing, metadata;
    int64_t exp_month, exp_year;
    struct str iban; /* of a debit */
    bool set_up;     /* the customer has authenticated for later payments too */
};

/* NOT_FOUND: there is none. */
enum err sb_intent_read(struct tx *tx, struct str id, struct intent *ret);
enum err sb_charge_read(struct tx *tx, struct str id, struct charge *ret);
enum err sb_refund_read(struct tx *tx, struct str id, struct refund *ret);
enum err sb_method_read(struct tx *tx, struct str id, struct method *ret);
bool sb_intent_write(struct work *w, const struct intent *p); /* inserts or updates */
bool sb_charge_write(struct work *w, const struct charge *c);
bool sb_refund_write(struct work *w, const struct refund *r);
bool sb_method_write(struct work *w, const struct method *m);

/* One page of a list, newest first, between two ids that are both excluded. `backwards` takes the
 * oldest of that range instead. One row more than `limit` is read to fill `more`. */
struct list_page {
    struct str above, below; /* ids */
    struct str filter[2];    /* what the list is filtered by; empty: any */
    int64_t limit;
    bool backwards;
    /* results */
    size_t count;
    bool more;
};
bool sb_intent_page(struct work *w, struct list_page *p, struct intent **ret_intents);
bool sb_charge_page(struct work *w, struct list_page *p, struct charge **ret_charges);
/* of_one: the refunds of one intent, whose stem is in both bounds. Otherwise a bound may be
 * empty. */
bool sb_refund_page(struct work *w, struct list_page *p, bool of_one, struct refund **ret_refunds);

/* --- render/: JSON texts in the arena --- */

enum expand { /* whole objects in place of their ids */
              EXPAND_CHARGE = 1,
              EXPAND_BALANCE = 2, /* of the charge or refund itself */
              EXPAND_REFUNDS = 4,
              EXPAND_INTENT = 8,
              EXPAND_METHOD = 16,
              EXPAND_ITEMS = 32,
              EXPAND_PRODUCT = 64,
};

struct str sb_intent_json(struct work *w, const struct intent *p, unsigned expand);
struct str sb_charge_json(struct work *w, const struct charge *c, unsigned expand);
struct str sb_refund_json(struct work *w, const struct refund *r, unsigned expand);
struct str sb_method_json(struct work *w, const struct method *m);
struct str sb_charge_balance_json(struct work *w, const struct charge *c);
struct str sb_refund_balance_json(struct work *w, const struct refund *r, bool returned);

/* Appends the key, then the value; an empty text becomes null. */
void sb_put_text(struct buf *b, struct str key, struct str value);
void sb_put_time(struct buf *b, struct str key, int64_t ms); /* seconds; 0: null */
void sb_put_number(struct buf *b, struct str key, int64_t n);
void sb_put_bool(struct buf *b, struct str key, bool yes);
void sb_put_raw(struct buf *b, struct str key, struct str json); /* empty: null */

/* --- pay.c: the states of intents and charges --- */

struct confirmation {
    struct str decline_code; /* decline the card with this code, whatever card it is; empty: no */
    bool no_action;          /* the customer is absent: a question to him counts as a decline */
};
/* declined: the other fields say why. Otherwise the state of the intent says what happened. */
struct pay_attempt {
    bool declined;
    struct str code, decline_code, message, charge, method; /* method: as JSON */
};
/* Attempts to pay. The intent must have a method. Writes the intent, its charge and their
 * events. */
bool sb_intent_attempt(struct work *w, struct intent *p, const struct confirmation *how,
                       struct pay_attempt *ret_attempt);
bool sb_intent_settle(struct work *w, struct intent *p, struct charge *c,
                      int64_t amount); /* capture */
bool sb_intent_cancel(struct work *w, struct intent *p, struct str reason);
/* Sets the method. An earlier authentication counts only for the method that it was made with. */
void sb_intent_set_method(struct intent *p, struct str method, struct str card);
/* The intent now waits for the customer; emits payment_intent.requires_action. */
bool sb_intent_require_action(struct work *w, struct intent *p);
/* A new charge for the intent, not written yet. */
struct charge sb_charge_new(struct work *w, const struct intent *p);
/* The payment succeeded (or is held, with manual capture): writes the charge and the events. */
bool sb_intent_succeed(struct work *w, struct intent *p);
/* The method failed and is removed; the intent waits for another one. */
bool sb_intent_failed(struct work *w, struct intent *p, struct pay_attempt *a);
struct intent sb_intent_new(struct work *w);
/* Moves a refund to a new status and emits its events. A failed or cancelled refund returns its
 * amount to the charge. failure_reason: only of a failure. */
bool sb_refund_move(struct work *w, struct refund *r, struct str status, struct str failure_reason);

/* --- checkout.c, vouchers.c, disputes.c: what pay.c calls --- */

/* Moves the session after its intent. Without a session, nothing happens. */
bool sb_session_follow(struct work *w, const struct intent *p);
bool sb_voucher_issue(struct work *w, struct intent *p);
bool sb_dispute_by_card(struct work *w, struct charge *c);

/* --- methods.c --- */

bool sb_method_new(struct work *w, const struct card *card, struct str billing, struct method *ret);
/* billing_details as JSON with this email; empty without an email. */
struct str sb_billing_of(struct work *w, struct str email);

/* --- jobs.c: the job kinds, all but those of webhooks --- */

extern const struct str sb_job_balance, sb_job_lapse, sb_job_refund_fail, sb_job_session_lapse,
    sb_job_voucher_lapse, sb_job_voucher_pay, sb_job_debit, sb_job_refund_end;
enum { SANDBOX_JOBS = 9 };
void sandbox_job_kinds(struct sandbox *s, struct job_kind kinds[SANDBOX_JOBS]);
/* Adds the one message that deletes old events, unless it exists. */
enum err sandbox_forget_start(struct sandbox *s, struct tx *tx, int64_t now_ms);
/* Ends an authorization whose time is over. */
bool sb_intent_expire(struct work *w, struct intent *p, struct charge *c);
