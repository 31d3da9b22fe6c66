/* payment.h - what a payment is, what a gateway may report about it, and how a report moves it.
 * Pure: API answers, webhooks and the resolver of unknown outcomes all go through payment_move().
 *
 *   PENDING ---authorize---> AUTHORIZED ---capture---> CAPTURED ---refund (all)---> REFUNDED
 *      |                          '------void or lapse----------------------------> REFUNDED
 *      '---decline, cancel---> FAILED
 *
 *   (1) A status only climbs. One fact may climb several steps at once (D7).
 *   (2) A fact that says less than is known is SUPERSEDED; one that says the same is SAME.
 *   (3) Money that arrives where it cannot be accepted is a STRAY: it is sent back (D2).
 *   (4) Another currency or more money than was requested is a MISMATCH: nothing is applied (D10).
 *       Less money is a MISMATCH, too, except for bookings, which may be captured in part. */
#pragma once

#include "base/str.h"
#include "domain/money.h"

enum payment_status {
    PAYMENT_PENDING,
    PAYMENT_AUTHORIZED,
    PAYMENT_CAPTURED,
    PAYMENT_REFUNDED,
    PAYMENT_FAILED,
    PAYMENT_STATUSES
};

/* What is paid for (D16). The server confirms a booking's payment, and a decline ends it. The
 * customer confirms the others and may try another card on the same intent (D11). */
enum payment_context { CONTEXT_BOOKING, CONTEXT_PURCHASE, CONTEXT_PARTICIPANT, PAYMENT_CONTEXTS };

const char *payment_context_name(enum payment_context c); /* "booking" ... */
bool payment_context_parse(struct str name, enum payment_context *ret_context);

enum payment_request { ASK_CAPTURE, ASK_REFUND, ASK_VOID, PAYMENT_REQUESTS };

const char *payment_status_name(enum payment_status s); /* "PENDING" ... */
bool payment_status_parse(struct str name, enum payment_status *ret_status);

/* Which requests the API allows in which status (P3, P4, D23). */
bool payment_allows(enum payment_status s, enum payment_request r);

/* --- facts: what a gateway reports, in our terms; its own terms stop at its adapter --- */

enum fact_kind {
    FACT_NONE,    /* nothing that concerns a payment */
    FACT_INTENT,  /* the state of the payment at the gateway */
    FACT_CHARGE,  /* fee, net amount, receipt; never moves a payment */
    FACT_REFUND,  /* the state of one refund */
    FACT_SESSION, /* a session of the gateway's own page: identifiers, never money (E1) */
    FACT_DISPUTE, /* the customer's bank demands the money back (E9) */
};

/* In the order of rank (E6): a lower state never undoes a higher one. */
enum intent_state {
    INTENT_OPEN,       /* exists; nothing was tried yet, or it is being processed */
    INTENT_ACTION,     /* the customer has to act */
    INTENT_DECLINED,   /* the last attempt failed; the same intent may still succeed */
    INTENT_AUTHORIZED, /* the money is held */
    INTENT_SUCCEEDED,  /* the money is ours */
    INTENT_CANCELED,   /* final, as SUCCEEDED is; an intent is never both */
    INTENT_STATES
};

enum session_status { SESSION_OPEN, SESSION_EXPIRED, SESSION_COMPLETE, SESSION_STATUSES };

enum refund_status {
    REFUND_PENDING,
    REFUND_REQUIRES_ACTION,
    REFUND_SUCCEEDED,
    REFUND_FAILED,
    REFUND_CANCELED,
    REFUND_STATUSES
};

struct fact {
    enum fact_kind kind;
    struct str intent_id;  /* pi_... */
    struct str payment_id; /* our id from its metadata, as text; empty: it has none of ours */
    char currency[4];      /* upper case */
    int64_t amount;        /* of the intent, the charge or the refund */

    /* FACT_INTENT */
    enum intent_state state;
    int64_t received;          /* amount_received */
    int64_t capture_before_ms; /* 0: not reported */
    struct str failure_code, decline_code, failure_message;
    struct str cancel_reason;
    struct str action_type, action_url, client_secret;
    struct str action_details; /* JSON for the customer: where and how to transfer the money */
    int64_t action_expires_ms; /* 0: not reported. Konbini: when the payment slip expires */
    struct str konbini_number, konbini_store;

    /* FACT_INTENT and FACT_CHARGE */
    struct str charge_id;
    bool has_refunded;       /* FACT_INTENT: charge_refunded is reported, even if 0 (PayPay) */
    int64_t charge_refunded; /* the sum of its refunds; only checked, never counted (D12) */

    /* FACT_CHARGE */
    bool captured;
    bool charge_failed;
    struct str balance_transaction, receipt_url;
    bool has_fee;
    int64_t fee, net;

    /* FACT_REFUND */
    struct str refund_id, refund_our_id; /* re_..., and ours from its metadata */
    enum refund_status refund;
    struct str refund_failure;

    /* FACT_SESSION; intent_id is empty until the customer has paid */
    struct str session_id, session_url, customer_id, session_payment_status;
    enum session_status session;
    int64_t session_expires_ms;

    /* FACT_DISPUTE */
    struct str dispute_id, dispute_status, dispute_reason;
    bool dispute_closed, dispute_lost;
};

const char *refund_status_name(enum refund_status s); /* "pending" ... */
bool refund_status_parse(struct str name, enum refund_status *ret_status);
/* Whether a refund may move (D12): from pending and requires_action to any other status; from
 * succeeded only to failed, the one descent; from failed and canceled to none. */
bool refund_moves(enum refund_status from, enum refund_status to);

/* --- the transition --- */

struct payment_view {
    enum payment_status status;
    struct money money;
    struct minor captured;
    bool given_up;         /* we cancelled it, or made it FAILED for good */
    bool subject_open;     /* the payable still accepts money: not cancelled, not another buyer's */
    bool server_confirmed; /* booking: a decline is FAILED. false: it stays PENDING (D11) */
    bool declined;         /* PENDING with a failed attempt, which outranks INTENT_ACTION */
};

enum verdict {
    VERDICT_APPLY,
    VERDICT_SAME,
    VERDICT_SUPERSEDED,
    VERDICT_STRAY_AUTHORIZED, /* void it */
    VERDICT_STRAY_SUCCEEDED,  /* refund it */
    VERDICT_MISMATCH,
};

struct move {
    enum verdict verdict;
    enum payment_status to;
    struct minor captured; /* to be stored */
    bool voided;           /* REFUNDED without a capture (D8) */
    bool lapsed;           /* ... because the authorization expired (D9) */
};

/* Decides what a FACT_INTENT does to the payment. Changes nothing itself. */
struct move payment_move(const struct payment_view *p, const struct fact *f);

/* Whether the gateway's reason means an authorization that was not captured in time (D9). */
bool cancel_is_lapse(struct str cancel_reason);

/* The amount that may still be refunded. reserved: the sum of all refunds that did not fail. */
int64_t refund_available(struct minor captured, struct minor reserved);
/* Whether `captured` is none or 1 to the whole, and `refunded` at most `captured`. */
bool payment_sums_fit(struct money whole, struct minor captured, struct minor refunded);
