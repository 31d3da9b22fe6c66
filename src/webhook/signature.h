/* signature.h - is this body really from Stripe? Checks `Stripe-Signature` over the raw bytes. Any
 * v1 value may match any active secret, compared in constant time; then the age is checked.
 * Elements of another form are ignored. */
#pragma once

#include "base/str.h"

enum { SIGNATURE_TOLERANCE_S = 300 }; /* both ways */

enum signature_verdict {
    SIGNATURE_OK,
    SIGNATURE_NO_HEADER,
    SIGNATURE_MALFORMED, /* too long, too many signatures, or given twice */
    SIGNATURE_NO_TIMESTAMP,
    SIGNATURE_NO_V1,
    SIGNATURE_MISMATCH,
    SIGNATURE_TOO_OLD,
    SIGNATURE_FUTURE,
    SIGNATURE_EMPTY, /* no body */
    SIGNATURE_VERDICTS
};

/* The word for the counter, the log and the client. It derives nothing from a secret. */
const char *signature_reason(enum signature_verdict v);

/* The secrets in a form that makes each check cheap. Read-only once made: any thread may use it. */
struct stripe_keys;
struct stripe_keys *stripe_keys_new(const struct str *secrets, size_t n); /* NULL: no memory */
void stripe_keys_free(struct stripe_keys *k);

enum signature_verdict stripe_verify(const struct stripe_keys *k, struct str header,
                                     struct str body, int64_t now_s);
