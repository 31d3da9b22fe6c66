/* read.h - PayPay's JSON into facts. Every answer is {"resultInfo":{...},"data":{...}}; what
 * data is depends on what was asked.
 *
 * An unknown status, and money that is not a whole number, is VALIDATION: a guess could lose money.
 * Another currency than yen is read as it is: it fits no payment (D10). */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json.h"
#include "domain/payment.h"

enum paypay_status {
    PAYPAY_CREATED, /* not paid yet */
    PAYPAY_AUTHORIZED,
    PAYPAY_REAUTHORIZING,
    PAYPAY_COMPLETED,
    PAYPAY_REFUNDED,
    PAYPAY_FAILED,
    PAYPAY_CANCELED,
    PAYPAY_EXPIRED,
    PAYPAY_STATUSES
};

struct paypay_payment {
    enum paypay_status status;
    struct fact fact;     /* FACT_INTENT */
    struct str paypay_id; /* PayPay's own paymentId; empty: unknown */
    bool has_capture;     /* the one that was looked for is done */
    bool has_refund;      /* the one that was looked for is there, and is `refund` */
    struct fact refund;   /* FACT_REFUND */
};

struct paypay_wanted { /* what is looked for within a payment; empty: nothing */
    struct str capture_id, refund_id;
    int64_t now_ms; /* of the calendar: a question to the customer ends */
};

/* Texts are copied to the arena. VALIDATION: a member is missing or wrong. */
enum err paypay_read_payment(struct arena *a, const cJSON *data, const struct paypay_wanted *w,
                             struct paypay_payment *ret);
enum err paypay_read_refund(struct arena *a, const cJSON *data, struct fact *ret_fact);
/* The customer's action for a new code: an INTENT_ACTION. */
enum err paypay_read_code(struct arena *a, const cJSON *data, struct fact *ret_fact);

/* Seconds or milliseconds, by their size; 0: neither. */
int64_t paypay_time_ms(const cJSON *item);
