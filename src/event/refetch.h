/* refetch.h - an event that is believed only after a look at the gateway (E2, W8), or whose payment
 * only the gateway can name. */
#pragma once

#include "payment/payments.h"

#define REFETCH_KIND S("stripe.refetch")

/* The id of the message that asks for the event with this message: an event has one at most. */
struct uuid refetch_id(struct uuid event_message);

/* In the transaction that ends the event's own message: the message that asks, and then writes the
 * event's outcome. trace: the event's; may be empty, here and below. */
enum err refetch_later(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, const struct payment *p,
                       struct str trace);

/* The same for a refund or a dispute of an intent that we have not heard of: Checkout made it, and
 * what names it comes later (E7). fact: the event's own, as fact_write() wrote it. Other people's
 * end as foreign. */
enum err refetch_whose(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, struct str fact, struct str trace);

/* The same for an event that an operator edited: nobody signed it, so that nothing but one id is
 * taken from it, of an intent or of a refund (the other one is empty). What the gateway says of
 * that, and the payment that it says it is of, is taken. */
enum err refetch_edited(struct tx *tx, struct payments *pp, const struct message *event,
                        struct str type, struct str intent_id, struct str refund_id,
                        struct str trace);
/* The message's body, for a letter that is edited. .p NULL: no memory. */
struct str refetch_edited_body(struct arena *a, struct uuid event_message, struct str type,
                               struct str intent_id, struct str refund_id, struct str trace);

struct job_kind refetch_kind(struct payments *pp, int retries,
                             int64_t first_ms); /* "stripe.refetch" */

/* --- PayPay's notifications: nobody signs them, so they only say where to look (W8) --- */

#define PAYPAY_REFETCH_KIND S("paypay.refetch")

/* The message of a notification, whose own outcome it writes. intent: as it names it; payment:
 * whose that is, NULL: nobody's here, or it is not about a payment. .p NULL: no memory. */
struct str paypay_refetch_body(struct arena *a, struct uuid message, struct str type,
                               struct str intent, const struct uuid *payment, struct str trace);
struct job_kind paypay_refetch_kind(struct payments *pp, int retries, int64_t first_ms);
