/* attempt.h - one call of a destination: what is sent beside the body, and what the answer means
 * (sections 6, 7 and 9 of the reference). Pure functions, apart from the arena.
 *
 * A delivery is signed twice with the key that is current when it leaves. Upstash-Signature is what
 * the SDK's Receiver verifies. The three webhook-* headers are Standard Webhooks 1.0.0; their
 * secret is "whsec_" and the base64 of the signing key's own bytes, "sig_" included. webhook-id
 * never changes: not over retries, and not when a dead letter is sent again under another message
 * id
 * (Q6). */
#pragma once

#include "http/client/client.h"
#include "qstash/message.h"

/* What differs from call to call. */
struct stamp {
    struct str key;  /* LIMIT_SIGNING_KEY bytes at most */
    int64_t wall_ms; /* wall time */
    struct uuid jti; /* of this signature */
    int64_t retried; /* 0: the first attempt */
};

/* The headers in the order in which they go out. NO_MEMORY. INTERNAL: the stored headers cannot
 * be read, or the delivery cannot be signed. */
enum err attempt_headers(struct arena *a, const struct parcel *p, const struct stamp *s,
                         struct header **ret_headers, size_t *ret_count);

/* Fills all but the ids of the callbacks. Its texts live as long as the call's arena. */
void attempt_read(const struct call *c, const struct parcel *p, int64_t retried, int64_t wall_ms,
                  struct attempt *ret_attempt);
