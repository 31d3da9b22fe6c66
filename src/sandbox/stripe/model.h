/* model.h - the sandbox's objects as they are in memory, and their rows. A text that is empty is
 * null to Stripe; texts that were read live until the unit's run ends.
 *
 * struct work is what every change needs: the transaction, memory, the time, and whose request it
 * is. Its functions return false when the work is over; then err says why, or the visit (call.h)
 * has been answered. */
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
    struct str request_id, idempotency_key; /* empty: nobody asked for it */
    enum err err;                           /* the unit fails with it */
};

bool work_ok(struct work *w, enum err e); /* remembers a failure */
/* Text of the arena; .p is NULL and err set where there is no room. */
struct str work_text(struct work *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct str work_take(struct work *w, struct buf *b); /* copies, then releases the buffer */
bool work_event(struct work *w, const char *type, struct str object, struct str previous);
/* A message of the sandbox's own queue about an object. */
bool work_later(struct work *w, struct str kind, struct str ref, int64_t due_ms);

/* --- such a message's run --- */

#define WORK_KIND(text)                                                                            \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
/* An object that is there no more is no work. */
enum err work_run(struct sandbox *s, struct tx *tx, struct str id,
                  void (*act)(struct work *w, struct str id));
#define WORK_JOB(name, act)                                                                        \
    static enum err name(struct tx *tx, const struct message *m, void *ctx, struct why *why)       \
    {                                                                                              \
        (void)why;                                                                                 \
        return work_run(ctx, tx, m->ref, act);                                                     \
    }

/* --- ids.c: they grow with time, and what belongs to an intent shares its middle part --- */

enum { STEM = 17 }; /* "3", seven digits of time, three that count, six of chance */

struct str sb_id_intent(struct work *w);
struct str sb_id_method(struct work *w);
struct str sb_id_under(struct work *w, const char *prefix,
                       struct str intent);                                 /* a charge, a refund */
struct str sb_id_random(struct work *w, const char *prefix, size_t count); /* of digits */
struct str sb_id_stem(struct str id); /* what an intent shares with its charges and refunds */
/* The balance transaction of a charge or refund, and back. Nothing is stored of it. */
struct str sb_id_balance(struct work *w, struct str id, bool returned);
/* Any other object's: the prefix, the time, a count and chance. */
struct str sb_id_new(struct work *w, const char *prefix);
/* The smallest id that an object of that time can have, for lists by time. */
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
    struct str card; /* of cards.h */
    bool authenticated;
    struct str latest_charge;
    int64_t canceled_ms; /* 0: not */
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
    bool set_up;     /* the customer has answered for later payments, too */
};

/* NOT_FOUND: there is none. */
enum err sb_intent_read(struct tx *tx, struct str id, struct intent *ret);
enum err sb_charge_read(struct tx *tx, struct str id, struct charge *ret);
enum err sb_refund_read(struct tx *tx, struct str id, struct refund *ret);
enum err sb_method_read(struct tx *tx, struct str id, struct method *ret);
bool sb_intent_write(struct work *w, const struct intent *p); /* new or changed */
bool sb_charge_write(struct work *w, const struct charge *c);
bool sb_refund_write(struct work *w, const struct refund *r);
bool sb_method_write(struct work *w, const struct method *m);

/* One page, newest first; between the ids (both left out), or where `backwards` the oldest of them.
 * One more than `limit` says that there are more. */
struct page {
    struct str above, below; /* ids */
    struct str filter[2];    /* by what the list can be asked for; empty: any */
    int64_t limit;
    bool backwards;
    /* filled */
    size_t count;
    bool more;
};
bool sb_intent_page(struct work *w, struct page *p, struct intent **ret_intents);
bool sb_charge_page(struct work *w, struct page *p, struct charge **ret_charges);
/* of_one: those of one intent, whose stem is in both bounds. Else a bound may be empty. */
bool sb_refund_page(struct work *w, struct page *p, bool of_one, struct refund **ret_refunds);

/* --- sandbox/stripe/render/render.c, sandbox/stripe/render/charge.c: as JSON texts of the arena --- */

enum expand { /* what is there as a whole and not by its id */
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

/* What follows a key: the text, or null. */
void sb_put_text(struct buf *b, struct str key, struct str value);
void sb_put_time(struct buf *b, struct str key, int64_t ms); /* seconds; 0: null */
void sb_put_number(struct buf *b, struct str key, int64_t n);
void sb_put_bool(struct buf *b, struct str key, bool yes);
void sb_put_raw(struct buf *b, struct str key, struct str json); /* empty: null */

/* --- pay.c: what happens to intents and charges --- */

struct confirmation {
    struct str decline_code; /* the card is declined with it, whatever it is; empty: no */
    bool no_action;          /* nobody is there to answer a question: that is a decline */
};
/* Declined: filled where the attempt failed; the intent says the rest. */
struct attempt {
    bool declined;
    struct str code, decline_code, message, charge, method; /* method: as JSON */
};
/* The intent has a method. Writes it, its charge and their events. */
bool sb_pay(struct work *w, struct intent *p, const struct confirmation *how,
            struct attempt *ret_attempt);
bool sb_intent_settle(struct work *w, struct intent *p, struct charge *c,
                      int64_t amount); /* capture */
bool sb_intent_cancel(struct work *w, struct intent *p, struct str reason);
/* With what the pages and the calls of a session know of it; authenticated for this method only. */
void sb_intent_give(struct intent *p, struct str method, struct str card);
/* The customer has to do something; tells it. */
bool sb_intent_ask(struct work *w, struct intent *p);
/* A charge for it, not written yet. */
struct charge sb_charge_for(struct work *w, const struct intent *p);
/* Paid: the charge and its events. */
bool sb_intent_succeed(struct work *w, struct intent *p);
/* The method has failed and is taken away; the intent waits for another one. */
bool sb_intent_failed(struct work *w, struct intent *p, struct attempt *a);
struct intent sb_intent_blank(struct work *w);
/* With its events; what fails or is cancelled is the charge's again. failure_reason: of a failure.
 */
bool sb_refund_move(struct work *w, struct refund *r, struct str status, struct str failure_reason);

/* --- checkout.c, vouchers.c, disputes.c, as far as pay.c needs them --- */

/* The session learns what became of its intent; one without a session is nobody's business. */
bool sb_session_follow(struct work *w, const struct intent *p);
bool sb_voucher_issue(struct work *w, struct intent *p);
bool sb_dispute_by_card(struct work *w, struct charge *c);

/* --- methods.c --- */

bool sb_method_new(struct work *w, const struct card *card, struct str billing, struct method *ret);
/* {"email":...} with the rest of billing_details, as JSON; empty where there is no address. */
struct str sb_billing_of(struct work *w, struct str email);

/* --- jobs.c: the queue's kinds, all but the webhooks' --- */

extern const struct str sb_job_balance, sb_job_lapse, sb_job_refund_fail, sb_job_session_lapse,
    sb_job_voucher_lapse, sb_job_voucher_pay, sb_job_debit, sb_job_refund_end;
enum { SANDBOX_JOBS = 9 };
void sandbox_job_kinds(struct sandbox *s, struct job_kind kinds[SANDBOX_JOBS]);
/* The one message that deletes old events, if it is not there. */
enum err sandbox_forget_start(struct sandbox *s, struct tx *tx, int64_t now_ms);
/* An authorisation's time is over. */
bool sb_intent_lapse(struct work *w, struct intent *p, struct charge *c);
