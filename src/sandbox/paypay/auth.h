/* auth.h - checks "Authorization: hmac OPA-Auth:key:mac:nonce:epoch:hash" as PayPay does.
 * Independent of the HTTP server, so that PayPay's own samples can be tested against it. */
#pragma once

#include "base/str.h"

struct paypay_claim { /* the signed parts of a request */
    struct str method;
    struct str path;         /* as sent, without the query */
    struct str content_type; /* byte for byte */
    struct str body;
    struct str authorization;
};

struct paypay_keys {
    struct str key, secret; /* the secret is used as text, not decoded */
};

/* True: this request was signed with the secret, within two minutes of now. An empty key or secret
 * fits nothing. */
bool paypay_auth_ok(const struct paypay_claim *c, const struct paypay_keys *k, int64_t now_s);
