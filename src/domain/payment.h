/* payment.h - what a payment is, what a gateway may say about it, and how the one moves by the
 * other. Pure: API answers, webhooks and the resolver all go through payment_move().
 *
 *   PENDING ---authorize---> AUTHORIZED ---capture---> CAPTURED ---refund (all)---> REFUNDED
 *      |                          '------void or lapse----------------------------> REFUNDED
 *      '---decline, cancel---> FAILED
 *
 *   (1) Status only climbs. A gateway's fact may climb several steps at once (D7).
 *   (2) A fact that says less than is known is SUPERSEDED; one that says the same is SAME.
 *   (3) Money that lands where it cannot be taken is a STRAY: it goes back (D2).
 *   (4) Another currency or more money than asked for is a MISMATCH: nothing is applied (D10).
 *       Less is one, too, but for bookings: those are captured by a step of their own, in part. */
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

/* What it is for (D16). A booking's payment is confirmed by the server: a decline ends it. The
 * others are confirmed by the customer, who may try another card on the same intent (D11). */
enum payment_context { CONTEXT_BOOKING, CONTEXT_PURCHASE, CONTEXT_PARTICIPANT, PAYMENT_CONTEXTS };

const char *payment_context_name(enum payment_context c); /* "booking" ... */
bool payment_context_parse(struct str name, enum payment_context *ret_context);

enum payment_request { ASK_CAPTURE, ASK_REFUND, ASK_VOID, PAYMENT_REQUESTS };

const char *payment_status_name(enum payment_status s); /* "PENDING" ... */
bool payment_status_parse(struct str name, enum payment_status *ret_status);

/* What the API allows (P3, P4, D23): the table of states. */
bool payment_allows(enum payment_status s, enum payment_request r);

/* --- what a gateway says; its own words stop at its adapter --- */

enum fact_kind {
    FACT_NONE,    /* nothing that concerns a payment */
    FACT_INTENT,  /* the state of the payment at the gateway */
    FACT_CHARGE,  /* fee, net, receipt; never moves a payment by itself */
    FACT_REFUND,  /* one refund object */
    FACT_SESSION, /* a session of the gateway's own page: identifiers, never money (E1) */
    FACT_DISPUTE, /* a customer's bank wants the money back (E9) */
};

/* In the order of their rank (E6): a higher one is never undone by a lower one. */
enum intent_state {
    INTENT_OPEN,       /* exists; nothing was tried, or it is being worked on */
    INTENT_ACTION,     /* the customer has to do something */
    INTENT_DECLINED,   /* the last try failed; the same intent may still succeed later */
    INTENT_AUTHORIZED, /* the money is held */
    INTENT_SUCCEEDED,  /* the money is ours */
    INTENT_CANCELED,   /* final, like SUCCEEDED: never both */
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
    struct str payment_id; /* our own id from its metadata, as text; empty: not ours by metadata */
    char currency[4];      /* upper case */
    int64_t amount;        /* of the intent, the charge or the refund */

    /* FACT_INTENT */
    enum intent_state state;
    int64_t received;          /* amount_received */
    int64_t capture_before_ms; /* 0: not said */
    struct str failure_code, decline_code, failure_message;
    struct str cancel_reason;
    struct str action_type, action_url, client_secret;
    struct str action_details; /* JSON, for the customer: where to transfer the money, and how */
    int64_t action_expires_ms; /* 0: not said. Konbini: when its payment slip ends */
    struct str konbini_number, konbini_store;

    /* FACT_INTENT and FACT_CHARGE */
    struct str charge_id;
    bool has_refunded;       /* FACT_INTENT: charge_refunded is told, be it 0 (PayPay) */
    int64_t charge_refunded; /* what its refunds sum up to; only checked, never counted (D12) */

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

    /* FACT_SESSION; intent_id is empty until somebody has paid */
    struct str session_id, session_url, customer_id, session_payment_status;
    enum session_status session;
    int64_t session_expires_ms;

    /* FACT_DISPUTE */
    struct str dispute_id, dispute_status, dispute_reason;
    bool dispute_closed, dispute_lost;
};

const char *refund_status_name(enum refund_status s); /* "pending" ... */
bool refund_status_parse(struct str name, enum refund_status *ret_status);
/* Where a refund may go (D12): pending and requires_action to anything, succeeded only to failed
 * (the one declared descent), failed and canceled nowhere. */
bool refund_moves(enum refund_status from, enum refund_status to);

/* --- the move --- */

struct payment_view {
    enum payment_status status;
    struct money money;
    struct minor captured;
    bool given_up;     /* we cancelled it, or said FAILED for good */
    bool subject_open; /* what it is for still takes money: not cancelled, not somebody else's */
    bool server_confirmed; /* booking: a decline is FAILED. false: it stays PENDING (D11) */
    bool declined;         /* PENDING, and a try of it has failed: that outranks an action */
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
    bool lapsed;           /* ... because the authorisation ran out (D9) */
};

/* FACT_INTENT only. */
struct move payment_move(const struct payment_view *p, const struct fact *f);

/* The gateway's words for an authorisation that nobody captured in time (D9). */
bool cancel_is_lapse(struct str cancel_reason);

/* What may still be refunded: captured minus all refunds that did not fail. */
int64_t refund_available(struct minor captured, struct minor reserved);
/* Is captured 1 to the whole where there is any, and refunded at most that? */
bool payment_sums_fit(struct money whole, struct minor captured, struct minor refunded);
