/* key.h - the rules of Idempotency-Key (I1 to I3). Pure. */
#pragma once

#include "base/uuid.h"
#include "domain/money.h"

enum { KEY_HASH = 64 };

/* Any UUID of RFC 9562 in either case, bare or as a quoted structured-field string, whose
 * parameters are ignored. */
bool key_parse(struct str header, struct uuid *ret_key);

/* Exactly ttl_ms after the claim the key still replays; one millisecond later it is new. */
bool key_expired(int64_t claimed_ms, int64_t ttl_ms, int64_t now_ms);

/* SHA-256 in 64 hex characters and a NUL, of "bookingId:amount:currency[:paymentMethod]" (I3). If
 * the client names a type, "paymentMethodType " stands before the method, which has no blanks. */
void key_hash_create(struct uuid booking, struct money m, struct str method_type,
                     struct str payment_method, char ret_hash[KEY_HASH + 1]);
/* Of "purchase:positionId:paymentMethodType[:paymentMethod]". */
void key_hash_purchase(struct uuid position, struct str method_type, struct str payment_method,
                       char ret_hash[KEY_HASH + 1]);
/* Of "checkout:participantId:successUrl cancelUrl"; a url has no blank in it, but it has colons. */
void key_hash_checkout(struct uuid participant, struct str success_url, struct str cancel_url,
                       char ret_hash[KEY_HASH + 1]);
/* Of "paymentId:canonical body" without absent fields. has_amount false: the whole amount. */
void key_hash_other(struct uuid payment, bool has_amount, int64_t amount, struct str reason,
                    char ret_hash[KEY_HASH + 1]);
