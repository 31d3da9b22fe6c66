#include "gateway/paypay/id.h"

#include "base/hex.h"
#include "base/limits.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UUID_HEX = 32, DIGEST = 32, KEY_BYTES = 24 };

static struct paypay_id id_of(struct uuid id)
{
    struct paypay_id r = { "" };

    *hex_put(r.text, id.b, sizeof(id.b)) = '\0';
    return r;
}

struct paypay_id paypay_payment_id(struct uuid payment, int attempt)
{
    struct paypay_id r = id_of(payment);

    if (attempt > 1)
        snprintf(r.text + UUID_HEX, sizeof(r.text) - UUID_HEX, "-%d", attempt);
    return r;
}

struct paypay_id paypay_refund_id(struct uuid refund)
{
    return id_of(refund);
}

struct paypay_id paypay_key_id(char prefix, struct str key)
{
    struct paypay_id r = { { prefix, '-' } };
    unsigned char digest[DIGEST];
    unsigned int n = 0;

    if (!EVP_Digest(key.p, key.n, digest, &n, EVP_sha256(), NULL) || n != DIGEST)
        abort(); /* it fails only without memory, and the request must have an id */
    *hex_put(r.text + 2, digest, KEY_BYTES) = '\0';
    return r;
}

/* Lower case only, as we make them: to PayPay two spellings are two payments. */
static bool paypay_id_parse(struct str s, struct uuid *ret)
{
    struct uuid id;

    if (s.n != UUID_HEX)
        return false;
    for (size_t i = 0; i < sizeof(id.b); i++) {
        int high = hex_value_lower(s.p[2 * i]), low = hex_value_lower(s.p[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        id.b[i] = (unsigned char)(high << 4 | low);
    }
    *ret = id;
    return true;
}

bool paypay_payment_of(struct str merchant_payment_id, struct uuid *ret_payment)
{
    struct str rest = merchant_payment_id, first = str_cut(&rest, '-');
    bool has_rest = first.n < merchant_payment_id.n;
    int64_t attempt = 0;

    if (has_rest && (!str_to_i64(rest, &attempt) || attempt < 2 || attempt > LIMIT_PAYPAY_CODES))
        return false;
    return paypay_id_parse(first, ret_payment);
}

bool paypay_refund_of(struct str merchant_refund_id, struct uuid *ret_refund)
{
    return paypay_id_parse(merchant_refund_id, ret_refund);
}
