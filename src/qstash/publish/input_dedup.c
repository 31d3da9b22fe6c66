/* input_dedup.c - which messages count as the same one: by the id that the publisher gave, or by
 * destination, body, Content-Type and all forwarded headers. The key is a hash, so an id of any
 * length fits, and neither id nor content is stored with it.
 *
 *   by id        base = H("id", id)                    key = base; of a group's member H(base, url)
 *   by content   base = H("content", group, headers, body)                     key = H(base, url)
 *
 * The body is hashed once, before the unit, however many members a group has. */
#include "qstash/publish/input_reader.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

static void input_dedup_must(int worked)
{
    if (!worked)
        abort(); /* out of memory; a wrong key would let a duplicate in */
}

/* Hashes the length first, so that no two lists of parts are the same bytes. */
static void hash_part(EVP_MD_CTX *md, struct str s)
{
    unsigned char n[8];

    for (size_t i = 0; i < sizeof(n); i++)
        n[i] = (unsigned char)((uint64_t)s.n >> (8 * i));
    input_dedup_must(EVP_DigestUpdate(md, n, sizeof(n)));
    input_dedup_must(EVP_DigestUpdate(md, s.p ? s.p : "", s.n));
}

static int by_name_then_value(const void *a, const void *b)
{
    const struct header *x = a, *y = b;
    int order = str_cmp(x->name, y->name);

    return order ? order : str_cmp(x->value, y->value);
}

static void hash_content(EVP_MD_CTX *md, struct reading *r)
{
    struct header_list *l = &r->forward;

    if (l->n) /* their order means nothing, and proxies change it */
        qsort(l->all, l->n, sizeof(*l->all), by_name_then_value);
    hash_part(md, S("content"));
    hash_part(md, r->in->group);
    hash_part(md, r->s->body);
    for (size_t i = 0; i < l->n; i++) {
        hash_part(md, l->all[i].name);
        hash_part(md, l->all[i].value);
    }
}

void input_dedup(struct reading *r)
{
    struct input *in = r->in;
    EVP_MD_CTX *md;

    in->dedup = r->dedup_id.n ? DEDUP_BY_ID : r->by_content ? DEDUP_BY_CONTENT : DEDUP_NONE;
    if (!in->dedup)
        return;
    md = EVP_MD_CTX_new();
    input_dedup_must(md && EVP_DigestInit_ex(md, EVP_sha256(), NULL));
    if (in->dedup == DEDUP_BY_ID) {
        hash_part(md, S("id"));
        hash_part(md, r->dedup_id);
    } else {
        hash_content(md, r);
    }
    input_dedup_must(EVP_DigestFinal_ex(md, in->dedup_base, NULL));
    EVP_MD_CTX_free(md);
}

void input_dedup_key(const struct input *in, struct str url, unsigned char ret_key[DEDUP_KEY])
{
    EVP_MD_CTX *md;

    if (in->dedup == DEDUP_BY_ID && !in->group.n) {
        memcpy(ret_key, in->dedup_base, DEDUP_KEY);
        return;
    }
    md = EVP_MD_CTX_new();
    input_dedup_must(md && EVP_DigestInit_ex(md, EVP_sha256(), NULL));
    input_dedup_must(EVP_DigestUpdate(md, in->dedup_base, DEDUP_KEY));
    input_dedup_must(EVP_DigestUpdate(md, url.p, url.n));
    input_dedup_must(EVP_DigestFinal_ex(md, ret_key, NULL));
    EVP_MD_CTX_free(md);
}
