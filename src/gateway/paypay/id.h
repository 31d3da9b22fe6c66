/* id.h - the names under which PayPay knows what is ours. All of them are chosen by us,
 * unique for ever, at most 64 long and made of RFC 3986's unreserved characters alone, so that the
 * path that is signed and the path that is sent are the same bytes.
 *
 *   merchantPaymentId   0199f3c000007000800000000000000a      the payment's id without its dashes
 *                       0199f3c000007000800000000000000a-2    another code of the same payment
 *   merchantRefundId    the refund's id without its dashes
 *   merchantCaptureId   c-<SHA-256 of the call's key>, cut; revert: r-<the same> */
#pragma once

#include "base/uuid.h"

enum { PAYPAY_ID = 64 };

struct paypay_id {
    char text[PAYPAY_ID + 1];
};

struct paypay_id paypay_payment_id(struct uuid payment, int attempt); /* from 1 */
struct paypay_id paypay_refund_id(struct uuid refund);
struct paypay_id paypay_key_id(char prefix, struct str key);

/* The payment of an id. False: we did not make this id. */
bool paypay_payment_of(struct str merchant_payment_id, struct uuid *ret_payment);
bool paypay_refund_of(struct str merchant_refund_id, struct uuid *ret_refund);
