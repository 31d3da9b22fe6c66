/* sign.h - the authentication of each request to PayPay:
 *
 *   Authorization: hmac OPA-Auth:<key>:<mac>:<nonce>:<epoch>:<hash of the body>
 *
 * The mac covers path (without its query), method, nonce, epoch, content type and body. The secret
 * is used as the text that it is, never decoded. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct paypay_signing {
    struct str api_key, api_secret;
    struct str method, path;       /* path: as it is sent, without ?... */
    struct str content_type, body; /* empty body: none is sent, nor a content type */
    struct str nonce;              /* without ':' */
    int64_t epoch_s;
};

enum err paypay_sign(struct arena *a, const struct paypay_signing *s, struct str *ret_header);
