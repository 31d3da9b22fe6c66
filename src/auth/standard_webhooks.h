/* standard_webhooks.h - Standard Webhooks 1.0.0, scheme v1: signs the webhooks that we send, and
 * verifies those that we receive. A secret is "whsec_" and the base64 of 24 to 64 bytes; the key is
 * those bytes. (Stripe's secrets have the same prefix, but are used as text.) */
#pragma once

#include "base/rng.h"
#include "base/str.h"

enum {
    SIGNING_KEY_MIN = 24,
    SIGNING_KEY_MAX = 64,
    SIGNING_KEY_MADE = 32,
    SIGNING_SECRET_TEXT = 6 + 44, /* of a secret that we made */
    SIGNING_TEXT = 3 + 44,        /* "v1," and the base64 of 32 bytes */
    SIGNING_TOLERANCE_S = 300,    /* both ways */
};

bool signing_secret_is_sane(struct str secret);
void signing_secret_make(struct rng *r, char secret[SIGNING_SECRET_TEXT + 1]);

/* False: the secret is malformed, or there is no memory. */
bool signing_sign(struct str secret, struct str id, struct str timestamp, struct str body,
                  char ret_signature[SIGNING_TEXT + 1]);

/* Any listed v1 signature may match, compared in constant time; other versions are skipped. Then the
 * age is checked. */
bool signing_verify(struct str secret, struct str id, struct str timestamp, struct str signatures,
                    struct str body, int64_t now_s);
