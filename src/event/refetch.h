/* refetch.h - an event that is applied only after a query to the gateway (E2, W8), or whose payment
 * only the gateway can name. */
#pragma once

#include "payment/payments.h"

#define REFETCH_KIND S("stripe.refetch")

/* The id of the message that refetches the event with this message: an event has one at most. */
struct uuid refetch_id(struct uuid event_message);

/* In the transaction that ends the event's own message: adds the message that queries the gateway
 * and then writes the event's outcome. trace: the event's; may be empty, here and below. */
enum err refetch_later(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, const struct payment *p,
                       struct str trace);

/* The same for a refund or a dispute of an unknown intent: Checkout made it, and the event that names
 * our payment comes later (E7). fact: the event's, as fact_write() wrote it. The outcome is "foreign"
 * if the intent is not ours. */
enum err refetch_whose(struct tx *tx, struct payments *pp, const struct message *event,
                       struct str type, const struct fact *f, struct str fact, struct str trace);

/* The same for an event that an operator edited. It has no signature, so only one id of it is used,
 * of an intent or of a refund (the other one is empty). The gateway's reply says which payment it is
 * about, and is applied. */
enum err refetch_edited(struct tx *tx, struct payments *pp, const struct message *event,
                        struct str type, struct str intent_id, struct str refund_id,
                        struct str trace);
/* The message's body, for an edited dead letter. .p NULL: no memory. */
struct str refetch_edited_body(struct arena *a, struct uuid event_message, struct str type,
                               struct str intent_id, struct str refund_id, struct str trace);

struct job_kind refetch_kind(struct payments *pp, int retries,
                             int64_t first_ms); /* "stripe.refetch" */

/* --- PayPay's notifications have no signature, so they only say what to query (W8) --- */

#define PAYPAY_REFETCH_KIND S("paypay.refetch")

/* The body of a notification's message; its job writes the notification's outcome. intent: the id in
 * the notification. payment: the payment of that id; NULL: none of ours, or the notification is not
 * about a payment. .p NULL: no memory. */
struct str paypay_refetch_body(struct arena *a, struct uuid message, struct str type,
                               struct str intent, const struct uuid *payment, struct str trace);
struct job_kind paypay_refetch_kind(struct payments *pp, int retries, int64_t first_ms);
