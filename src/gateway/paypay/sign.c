#include "gateway/paypay/sign.h"

#include "base/buf.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

enum {
    MD5_BYTES = 16,
    SHA256_BYTES = 32,
    HASH_TEXT = 25, /* base64 of 16 bytes, and its NUL */
    MAC_TEXT = 45,
    SIGNED_MAX = 16 * 1024,
};

/* PayPay hashes with MD5; what protects the request is the HMAC around it. */
static bool hash_body(const struct paypay_signing *s, char ret_text[HASH_TEXT])
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    unsigned char digest[MD5_BYTES];
    unsigned int n = 0;
    bool done = c && EVP_DigestInit_ex(c, EVP_md5(), NULL) &&
                EVP_DigestUpdate(c, s->content_type.p, s->content_type.n) &&
                EVP_DigestUpdate(c, s->body.p, s->body.n) && EVP_DigestFinal_ex(c, digest, &n);

    EVP_MD_CTX_free(c);
    if (!done || n != sizeof(digest))
        return false;
    EVP_EncodeBlock((unsigned char *)ret_text, digest, sizeof(digest));
    return true;
}

static bool mac_of(struct str secret, struct str text, char ret_text[MAC_TEXT])
{
    unsigned char mac[SHA256_BYTES];
    unsigned int n = 0;

    if (!HMAC(EVP_sha256(), secret.p, (int)secret.n, (const unsigned char *)text.p, text.n, mac,
              &n) ||
        n != sizeof(mac))
        return false;
    EVP_EncodeBlock((unsigned char *)ret_text, mac, sizeof(mac));
    return true;
}

static void add_signed(struct buf *b, const struct paypay_signing *s, const char *hash)
{
    buf_add(b, s->path);
    buf_char(b, '\n');
    buf_add(b, s->method);
    buf_char(b, '\n');
    buf_add(b, s->nonce);
    buf_fmt(b, "\n%lld\n", (long long)s->epoch_s);
    buf_add(b, s->body.n ? s->content_type : S("empty"));
    buf_fmt(b, "\n%s", hash);
}

static void add_header(struct buf *b, const struct paypay_signing *s, const char *mac,
                       const char *hash)
{
    buf_add(b, S("hmac OPA-Auth:"));
    buf_add(b, s->api_key);
    buf_fmt(b, ":%s:", mac);
    buf_add(b, s->nonce);
    buf_fmt(b, ":%lld:%s", (long long)s->epoch_s, hash);
}

enum err paypay_sign(struct arena *a, const struct paypay_signing *s, struct str *ret_header)
{
    char hash[HASH_TEXT] = "empty", mac[MAC_TEXT];
    struct str header = { 0 };
    struct buf b;

    buf_init(&b, SIGNED_MAX);
    if (!s->body.n || hash_body(s, hash)) {
        add_signed(&b, s, hash);
        if (!b.failed && mac_of(s->api_secret, buf_str(&b), mac)) {
            buf_clear(&b);
            add_header(&b, s, mac, hash);
            header = b.failed ? (struct str){ 0 } : arena_str(a, buf_str(&b));
        }
    }
    buf_release(&b);
    if (!header.p)
        return ERR_NO_MEMORY;
    *ret_header = header;
    return OK;
}
