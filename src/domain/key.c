/* key.c - reads the header Idempotency-Key, decides when a key expires, and hashes what was
 * requested with it. The texts that are hashed must never change: their hashes are stored with the
 * keys. */
#include "domain/key.h"

#include "base/buf.h"
#include "base/hex.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

/* --- the header: a structured-field Item (RFC 9651), or the bare UUID that most clients send ---
 *
 * A structured-field parser would accept a bare UUID only if it begins with a letter, so the first
 * character decides between the forms. Parameters are ignored but must be well-formed: a second key
 * after a comma is not a parameter. */

static char first_of(struct str s)
{
    if (!s.n)
        return '\0';
    return *s.p;
}

static void key_skip(struct str *s, size_t n)
{
    s->p += n;
    s->n -= n;
}

static void skip_blanks(struct str *s)
{
    while (first_of(*s) == ' ')
        key_skip(s, 1);
}

/* s begins at the opening quote. Only \" and \\ are escapes, and only printable ASCII is
 * allowed. */
static bool skip_string(struct str *s)
{
    for (key_skip(s, 1); s->n; key_skip(s, 1)) {
        if (*s->p == '"') {
            key_skip(s, 1);
            return true;
        }
        if (*s->p < ' ' || *s->p > '~')
            return false;
        if (*s->p == '\\') {
            key_skip(s, 1);
            if (first_of(*s) != '"' && first_of(*s) != '\\')
                return false;
        }
    }
    return false;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool skip_name(struct str *s)
{
    if (!is_lower(first_of(*s)) && first_of(*s) != '*')
        return false;
    while (is_lower(first_of(*s)) || is_digit(first_of(*s)) ||
           (first_of(*s) && strchr("_-.*", *s->p)))
        key_skip(s, 1);
    return true;
}

/* A number, token, boolean, date or byte sequence: none has a blank, comma, semicolon or quote,
 * which is enough to step over it. */
static bool skip_bare(struct str *s)
{
    size_t n = s->n;

    while (s->n && *s->p > ' ' && *s->p <= '~' && !strchr(",;\"\\", *s->p))
        key_skip(s, 1);
    return s->n < n;
}

static bool skip_value(struct str *s)
{
    if (str_starts(*s, S("%\""))) /* a display string: the quotes are the same */
        key_skip(s, 1);
    return first_of(*s) == '"' ? skip_string(s) : skip_bare(s);
}

static bool skip_parameters(struct str *s)
{
    while (first_of(*s) == ';') {
        key_skip(s, 1);
        skip_blanks(s);
        if (!skip_name(s))
            return false;
        if (first_of(*s) != '=')
            continue; /* a name alone is true */
        key_skip(s, 1);
        if (!skip_value(s))
            return false;
    }
    return true;
}

/* The text between the quotes; empty: the header is not one string with parameters. Escapes stay as
 * they are, since a UUID has none and a longer text is rejected. */
static struct str key_unquote(struct str header)
{
    struct str rest = header;

    if (!skip_string(&rest))
        return (struct str){ 0 };
    header = (struct str){ header.p + 1, header.n - rest.n - 2 };
    return skip_parameters(&rest) && !rest.n ? header : (struct str){ 0 };
}

bool key_parse(struct str header, struct uuid *ret_key)
{
    header = str_trim(header);
    return uuid_parse(first_of(header) == '"' ? key_unquote(header) : header, ret_key);
}

/* --- its age --- */

bool key_expired(int64_t claimed_ms, int64_t ttl_ms, int64_t now_ms)
{
    int64_t last_ms;

    return !__builtin_add_overflow(claimed_ms, ttl_ms, &last_ms) && now_ms > last_ms;
}

/* --- the hash of the request --- */

enum { DIGEST = KEY_HASH / 2, NUMBER = 20, JSON_WORST = 6 }; /* \u001f for one byte */
#define BODY_WORDS (sizeof("{\"amount\":,\"reason\":\"\"}") - 1)

static void key_hash_finish(struct buf *text, char ret_hash[KEY_HASH + 1])
{
    unsigned char digest[DIGEST];
    unsigned int n = 0;

    if (text->failed || !EVP_Digest(text->p, text->n, digest, &n, EVP_sha256(), NULL) ||
        n != DIGEST)
        abort(); /* out of memory: without a hash one key could pay for two orders */
    *hex_put(ret_hash, digest, DIGEST) = '\0';
    buf_release(text);
}

/* what: a prefix of each kind of request, so that two kinds never have the same text. */
static void key_hash_begin(struct buf *b, struct str what, struct uuid id, size_t more)
{
    char text[UUID_TEXT + 1];

    uuid_text(id, text);
    buf_init(b, what.n + UUID_TEXT + 1 + more);
    buf_add(b, what);
    buf_add(b, str_of(text));
    buf_char(b, ':');
}

static void key_hash_add_method(struct buf *b, struct str payment_method)
{
    if (!payment_method.n)
        return;
    buf_char(b, ':');
    buf_add(b, payment_method);
}

void key_hash_create(struct uuid booking, struct money m, struct str method_type,
                     struct str payment_method, char ret_hash[KEY_HASH + 1])
{
    struct buf b;

    key_hash_begin(&b, S(""), booking,
                   NUMBER + 3 + sizeof(m.currency) + method_type.n + payment_method.n);
    buf_i64(&b, m.minor);
    buf_char(&b, ':');
    buf_add(&b, str_of(m.currency));
    if (method_type.n) {
        buf_char(&b, ':');
        buf_add(&b, method_type);
        buf_char(&b, ' ');
    }
    key_hash_add_method(&b, payment_method);
    key_hash_finish(&b, ret_hash);
}

void key_hash_purchase(struct uuid position, struct str method_type, struct str payment_method,
                       char ret_hash[KEY_HASH + 1])
{
    struct buf b;

    key_hash_begin(&b, S("purchase:"), position, method_type.n + 1 + payment_method.n);
    buf_add(&b, method_type);
    key_hash_add_method(&b, payment_method);
    key_hash_finish(&b, ret_hash);
}

void key_hash_checkout(struct uuid participant, struct str success_url, struct str cancel_url,
                       char ret_hash[KEY_HASH + 1])
{
    struct buf b;

    key_hash_begin(&b, S("checkout:"), participant, success_url.n + 1 + cancel_url.n);
    buf_add(&b, success_url);
    buf_char(&b, ' ');
    buf_add(&b, cancel_url);
    key_hash_finish(&b, ret_hash);
}

void key_hash_other(struct uuid payment, bool has_amount, int64_t amount, struct str reason,
                    char ret_hash[KEY_HASH + 1])
{
    struct buf b;

    key_hash_begin(&b, S(""), payment, BODY_WORDS + NUMBER + reason.n * JSON_WORST);
    buf_char(&b, '{');
    if (has_amount) {
        buf_add(&b, S("\"amount\":"));
        buf_i64(&b, amount);
    }
    if (reason.n) {
        buf_add(&b, has_amount ? S(",\"reason\":") : S("\"reason\":"));
        buf_json(&b, reason);
    }
    buf_char(&b, '}');
    key_hash_finish(&b, ret_hash);
}
