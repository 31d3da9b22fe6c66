/* auth.c - the signature of a PayPay call.
 *
 *   hash  base64(MD5(content type, body)), or "empty" without a body
 *   mac   base64(HMAC-SHA256(secret, path LF method LF nonce LF epoch LF content type LF hash)),
 *         where the content type is "empty" too without a body
 *
 * The query is not signed. */
#include "sandbox/paypay/auth.h"

#include "base/buf.h"
#include "base/limits.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

enum { MD5_BYTES = 16, MAC_BYTES = 32, BASE64_MAC = 44, BASE64_MD5 = 24 };

struct header_parts {
    struct str key, mac, nonce, epoch, hash;
};

static bool cut_header(struct str header, struct header_parts *h)
{
    struct str scheme = str_cut(&header, ' '), name = str_cut(&header, ':');
    struct str *parts[] = { &h->key, &h->mac, &h->nonce, &h->epoch };

    if (!str_eq(scheme, S("hmac")) || !str_eq(name, S("OPA-Auth")))
        return false;
    for (size_t i = 0; i < COUNT(parts); i++) {
        *parts[i] = str_cut(&header, ':');
        if (!parts[i]->n)
            return false;
    }
    h->hash = header; /* a further colon stays in it, and then the hash does not fit */
    return true;
}

static bool auth_same(struct str sent, const char *right, size_t n)
{
    return sent.n == n && CRYPTO_memcmp(sent.p, right, n) == 0;
}

static bool hash_fits(const struct paypay_claim *c, struct str hash)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char text[BASE64_MD5 + 1];
    unsigned int n = 0;
    EVP_MD_CTX *md;
    bool done;

    if (!c->body.n)
        return str_eq(hash, S("empty"));
    md = EVP_MD_CTX_new();
    done = md && EVP_DigestInit_ex(md, EVP_md5(), NULL) == 1 &&
           EVP_DigestUpdate(md, c->content_type.p, c->content_type.n) == 1 &&
           EVP_DigestUpdate(md, c->body.p, c->body.n) == 1 && EVP_DigestFinal_ex(md, digest, &n);
    EVP_MD_CTX_free(md);
    if (!done || n != MD5_BYTES)
        return false;
    EVP_EncodeBlock((unsigned char *)text, digest, MD5_BYTES);
    return auth_same(hash, text, BASE64_MD5);
}

static void write_signed(struct buf *b, const struct paypay_claim *c, const struct header_parts *h)
{
    const struct str lines[] = {
        c->path, c->method, h->nonce, h->epoch, c->body.n ? c->content_type : S("empty"), h->hash
    };

    for (size_t i = 0; i < COUNT(lines); i++) {
        if (i)
            buf_char(b, '\n');
        buf_add(b, lines[i]);
    }
}

static bool mac_fits(const struct paypay_claim *c, const struct header_parts *h, struct str secret)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char text[BASE64_MAC + 1];
    unsigned int n = 0;
    struct buf b;
    bool done;

    buf_init(&b, LIMIT_SANDBOX_PP_SIGNED);
    write_signed(&b, c, h);
    done = !b.failed &&
           HMAC(EVP_sha256(), secret.p, (int)secret.n, (const unsigned char *)b.p, b.n, digest, &n);
    buf_release(&b);
    if (!done || n != MAC_BYTES)
        return false;
    EVP_EncodeBlock((unsigned char *)text, digest, MAC_BYTES);
    return auth_same(h->mac, text, BASE64_MAC);
}

static bool is_fresh(struct str epoch, int64_t now_s)
{
    int64_t at;

    return str_to_i64(epoch, &at) && at >= now_s - LIMIT_SANDBOX_PP_SKEW_S &&
           at <= now_s + LIMIT_SANDBOX_PP_SKEW_S;
}

bool paypay_auth_ok(const struct paypay_claim *c, const struct paypay_keys *k, int64_t now_s)
{
    struct header_parts h;

    return k->key.n && k->secret.n && cut_header(c->authorization, &h) && str_eq(h.key, k->key) &&
           is_fresh(h.epoch, now_s) && hash_fits(c, h.hash) && mac_fits(c, &h, k->secret);
}
