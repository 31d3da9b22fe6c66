/* fields.h - the fields of Stripe's objects that we read: one list, found in a tree or in
 * one pass over a webhook's body, so that an answer and an event that say the same read the same.
 */
#pragma once

#include "base/json/json.h"

/*  X(name, path within the object) */
#define STRIPE_FIELDS(X)                                                                           \
    X(OBJECT, "object")                                                                            \
    X(ID, "id")                                                                                    \
    X(AMOUNT, "amount")                                                                            \
    X(CURRENCY, "currency")                                                                        \
    X(STATUS, "status")                                                                            \
    X(PAYMENT_ID, "metadata.payment_id")                                                           \
    X(CONTEXT, "metadata.context")                                                                 \
    X(SUBJECT_ID, "metadata.subject_id")                                                           \
    /* intents */                                                                                  \
    X(RECEIVED, "amount_received")                                                                 \
    X(LATEST, "latest_charge")                                                                     \
    X(OLD_CHARGES, "charges.data")                                                                 \
    X(FAILURE, "last_payment_error")                                                               \
    X(FAILURE_CODE, "last_payment_error.code")                                                     \
    X(DECLINE_CODE, "last_payment_error.decline_code")                                             \
    X(FAILURE_MESSAGE, "last_payment_error.message")                                               \
    X(FAILED_METHOD, "last_payment_error.payment_method.type")                                     \
    X(METHOD_TYPES, "payment_method_types")                                                        \
    X(CANCEL_REASON, "cancellation_reason")                                                        \
    X(ACTION, "next_action.type")                                                                  \
    X(ACTION_URL, "next_action.redirect_to_url.url")                                               \
    X(CLIENT_SECRET, "client_secret")                                                              \
    /* ... paid at a konbini */                                                                    \
    X(KONBINI_NUMBER, "payment_method_options.konbini.confirmation_number")                        \
    X(KONBINI_STORE, "payment_method_options.konbini.store")                                       \
    X(KONBINI_EXPIRES, "payment_method_options.konbini.expires_at")                                \
    X(SLIP_URL, "next_action.konbini_display_details.hosted_voucher_url")                          \
    X(SLIP_EXPIRES, "next_action.konbini_display_details.expires_at")                              \
    X(SLIP_STORES, "next_action.konbini_display_details.stores")                                   \
    /* charges, refunds, disputes */                                                               \
    X(INTENT, "payment_intent")                                                                    \
    X(INTENT_ID, "payment_intent.id")                                                              \
    X(CAPTURED, "captured")                                                                        \
    X(AMOUNT_CAPTURED, "amount_captured")                                                          \
    X(AMOUNT_REFUNDED, "amount_refunded")                                                          \
    X(CAPTURE_BEFORE, "payment_method_details.card.capture_before")                                \
    X(STORE, "payment_method_details.konbini.store")                                               \
    X(STORE_CHAIN, "payment_method_details.konbini.store.chain")                                   \
    X(BALANCE, "balance_transaction")                                                              \
    X(BALANCE_ID, "balance_transaction.id")                                                        \
    X(BALANCE_CURRENCY, "balance_transaction.currency")                                            \
    X(FEE, "balance_transaction.fee")                                                              \
    X(NET, "balance_transaction.net")                                                              \
    X(RECEIPT, "receipt_url")                                                                      \
    X(CHARGE, "charge")                                                                            \
    X(CHARGE_ID, "charge.id")                                                                      \
    X(REFUND_ID, "metadata.refund_id")                                                             \
    X(REFUND_FAILURE, "failure_reason")                                                            \
    X(REASON, "reason")                                                                            \
    /* Checkout Sessions */                                                                        \
    X(REFERENCE, "client_reference_id")                                                            \
    X(CUSTOMER, "customer")                                                                        \
    X(CUSTOMER_ID, "customer.id")                                                                  \
    X(URL, "url")                                                                                  \
    X(EXPIRES, "expires_at")                                                                       \
    X(PAYMENT_STATUS, "payment_status")

/*  X(name, path within the event) */
#define STRIPE_EVENT_FIELDS(X)                                                                     \
    X(EVENT_ID, "id")                                                                              \
    X(TYPE, "type")                                                                                \
    X(LIVEMODE, "livemode")                                                                        \
    X(CREATED, "created")                                                                          \
    X(ENVELOPE, "object")                                                                          \
    X(DATA_OBJECT, "data.object")

#define STRIPE_FIELD_AT(name, path) AT_##name,
enum {
    STRIPE_FIELDS(STRIPE_FIELD_AT) AT_OBJECT_FIELDS,
    AT_BEFORE_EVENT = AT_OBJECT_FIELDS - 1,
    STRIPE_EVENT_FIELDS(STRIPE_FIELD_AT) AT_FIELDS
};

struct stripe_fields {
    struct arena *arena;
    struct json_value v[AT_FIELDS];
    const cJSON *object; /* where they were found; NULL: in a body, which v points into */
    enum err err;        /* the first thing that went wrong while reading them */
};

/* VALIDATION: not JSON; *ret_fault (may be NULL) says why. */
enum err fields_of_event(struct stripe_fields *f, struct arena *a, struct str body,
                         struct json_fault *ret_fault);
/* Texts are copied to the arena. NO_MEMORY is the only failure. */
enum err fields_of_object(struct stripe_fields *f, struct arena *a, const cJSON *object);

void fields_fail(struct stripe_fields *f, enum err e); /* keeps the first error */

bool field_is_absent(const struct stripe_fields *f, int at); /* or null */
bool field_is_true(const struct stripe_fields *f, int at);
bool field_number(const struct stripe_fields *f, int at, int64_t *ret); /* whole ones only */
bool field_time(const struct stripe_fields *f, int at, int64_t *ret_ms);
int64_t field_time_ms(const struct stripe_fields *f, int at); /* 0: none that can be */

/* Each is empty for anything but a string. */
struct str field_text(struct stripe_fields *f, int at);
struct str field_id(struct stripe_fields *f,
                    int at); /* 1 to 255 printable characters, else empty */
struct str field_word(struct stripe_fields *f, int at); /* cut to 255 bytes */
struct str field_url(struct stripe_fields *f, int at);  /* printable and not too long, else empty */
/* The id, or the id of the expanded object in its place. */
struct str field_ref(struct stripe_fields *f, int at, int at_id);

/* The value as a tree, for the few fields that are not read by path. The caller frees *owned. NULL:
 * it is absent, or there is no memory (f->err). */
const cJSON *field_tree(struct stripe_fields *f, int at, cJSON **owned);
