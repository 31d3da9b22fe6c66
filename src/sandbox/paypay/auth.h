/* auth.h - "Authorization: hmac OPA-Auth:key:mac:nonce:epoch:hash", checked as PayPay does.
 * Knows nothing of requests, so that PayPay's own samples can be held against it. */
#pragma once

#include "base/str.h"

struct paypay_claim { /* what was sent */
    struct str method;
    struct str path;         /* as it was sent, without the query */
    struct str content_type; /* byte for byte */
    struct str body;
    struct str authorization;
};

struct paypay_keys {
    struct str key, secret; /* the secret is used as text: it is not decoded */
};

/* Who knows the secret has signed this very request, within two minutes of now. An empty key or
 * secret fits nobody. */
bool paypay_auth_ok(const struct paypay_claim *c, const struct paypay_keys *k, int64_t now_s);
