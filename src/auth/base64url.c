#include "auth/base64url.h"

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

enum err base64url_decode(struct arena *a, struct str text, struct str *ret_bytes)
{
    char *out = arena_alloc(a, text.n * 3 / 4 + 1, 1);
    size_t n = 0;
    unsigned bits = 0, held = 0; /* held: how many of bits are not written yet */

    if (!out)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < text.n; i++) {
        int v = value_of(text.p[i]);

        if (v < 0)
            return ERR_VALIDATION;
        bits = (bits << 6 | (unsigned)v) & 0xfff;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[n++] = (char)(unsigned char)(bits >> held);
        }
    }
    /* Six bits over are a character too many; others are the last character's, and zero. */
    if (held == 6 || (bits & ((1U << held) - 1)))
        return ERR_VALIDATION;
    *ret_bytes = (struct str){ out, n };
    return OK;
}

char *base64url_put(char *p, struct str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned bits = 0, held = 0;

    for (size_t i = 0; i < bytes.n; i++) {
        bits = (bits << 8 | (unsigned char)bytes.p[i]) & 0xffff;
        for (held += 8; held >= 6; held -= 6)
            *p++ = digits[bits >> (held - 6) & 63];
    }
    if (held)
        *p++ = digits[bits << (6 - held) & 63];
    return p;
}

void base64url_add(struct buf *b, struct str bytes)
{
    if (bytes.n && buf_reserve(b, BASE64URL_SIZE(bytes.n)))
        b->n = (size_t)(base64url_put(b->p + b->n, bytes) - b->p);
}
