#include "audit/row.h"

#include <openssl/evp.h>
#include <stdlib.h>

enum { VERSION = 1, TAG_NULL = 0, TAG_INT = 1, TAG_TEXT = 2, TAG_BYTES = 3 };

/* A digest fails only if the library is broken; a wrong seal would be worse than none. */
static void audit_row_add(EVP_MD_CTX *c, const void *p, size_t n)
{
    if (!EVP_DigestUpdate(c, p, n))
        abort();
}

static void add_number(EVP_MD_CTX *c, unsigned char tag, uint64_t v, int bytes)
{
    unsigned char b[9] = { tag };

    for (int i = 0; i < bytes; i++)
        b[1 + i] = (unsigned char)(v >> (8 * (bytes - 1 - i)));
    audit_row_add(c, b, (size_t)bytes + 1);
}

static void add_value(EVP_MD_CTX *c, const struct val *v)
{
    switch (v->type) {
    case VAL_NULL: add_number(c, TAG_NULL, 0, 0); return;
    case VAL_INT: add_number(c, TAG_INT, (uint64_t)v->i, 8); return;
    case VAL_TEXT:
    case VAL_BLOB:
        add_number(c, v->type == VAL_TEXT ? TAG_TEXT : TAG_BYTES, v->s.n, 4);
        audit_row_add(c, v->s.p, v->s.n);
        return;
    }
    abort();
}

void audit_link(const unsigned char before[AUDIT_HASH], const struct val *v,
                unsigned char ret_hash[AUDIT_HASH])
{
    static const unsigned char version = VERSION;
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    unsigned n = 0;

    if (!c || !EVP_DigestInit_ex(c, EVP_sha256(), NULL))
        abort();
    audit_row_add(c, before, AUDIT_HASH);
    audit_row_add(c, &version, 1);
    for (int i = 0; i < AUDIT_COLUMNS; i++)
        add_value(c, &v[i]);
    if (!EVP_DigestFinal_ex(c, ret_hash, &n) || n != AUDIT_HASH)
        abort();
    EVP_MD_CTX_free(c);
}
