/* throttle.c - two tables in memory: pairs of name and address, and addresses. A restart forgets
 * them, so every client starts again without failures. */
#include "auth/throttle.h"

#include "base/limits.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAYS = 4,
    ROWS = LIMIT_LOGIN_SLOTS / WAYS,
    MINUTE_MS = 60 * 1000,
    COST_MS = MINUTE_MS / LIMIT_LOGIN_ADDRESS,
    ADDRESS_TEXT = 64,
    NAME_MAX_BYTES = 256,
};

_Static_assert(ROWS == 1024, "two bytes of a key name its row");

struct throttle_slot {
    unsigned char key[THROTTLE_KEY];
    int failures;    /* of a pair */
    int64_t last_ms; /* of a pair: its last failure; of an address: when all its tries are back */
    int64_t next_ms; /* of a pair: not before */
};

struct throttle {
    pthread_mutex_t lock;
    unsigned char seed[16];
    struct throttle_slot pairs[ROWS][WAYS], addresses[ROWS][WAYS];
};

struct throttle *throttle_new(struct rng *rng)
{
    struct throttle *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    rng_bytes(rng, t->seed, sizeof(t->seed));
    return t;
}

void throttle_free(struct throttle *t)
{
    if (!t)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* --- keys --- */

/* The bytes that identify a client. A text that is no address is used as it is. */
static size_t address_bytes(struct str address, unsigned char out[ADDRESS_TEXT])
{
    char text[ADDRESS_TEXT] = "";
    struct in6_addr v6;

    if (address.n >= ADDRESS_TEXT)
        address.n = ADDRESS_TEXT - 1;
    memcpy(text, address.p, address.n);
    if (inet_pton(AF_INET, text, out) == 1)
        return 4;
    if (inet_pton(AF_INET6, text, &v6) == 1) {
        bool mapped = IN6_IS_ADDR_V4MAPPED(&v6);

        memcpy(out, v6.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 8);
        return mapped ? 4 : 8;
    }
    memcpy(out, address.p, address.n);
    return address.n;
}

static void make_key(const struct throttle *t, struct str address, struct str name,
                     unsigned char ret[THROTTLE_KEY])
{
    unsigned char in[sizeof(t->seed) + 1 + ADDRESS_TEXT + NAME_MAX_BYTES], digest[EVP_MAX_MD_SIZE];
    size_t n = sizeof(t->seed), size;

    memcpy(in, t->seed, n);
    size = address_bytes(address, in + n + 1);
    in[n] = (unsigned char)size;
    n += 1 + size;
    if (name.n > NAME_MAX_BYTES)
        name.n = NAME_MAX_BYTES;
    if (name.n)
        memcpy(in + n, name.p, name.n);
    memset(digest, 0, sizeof(digest)); /* without memory all share one slot: stricter, not laxer */
    EVP_Digest(in, n + name.n, digest, NULL, EVP_sha256(), NULL);
    memcpy(ret, digest, THROTTLE_KEY);
}

/* --- slots --- */

static struct throttle_slot *throttle_find(struct throttle_slot rows[ROWS][WAYS],
                                           const unsigned char key[THROTTLE_KEY])
{
    struct throttle_slot *row = rows[(key[0] << 8 | key[1]) % ROWS];

    for (int i = 0; i < WAYS; i++)
        if (memcmp(row[i].key, key, THROTTLE_KEY) == 0)
            return &row[i];
    return NULL;
}

/* The client's slot, or the oldest one of its row, emptied. */
static struct throttle_slot *throttle_claim(struct throttle_slot rows[ROWS][WAYS],
                                            const unsigned char key[THROTTLE_KEY])
{
    struct throttle_slot *row = rows[(key[0] << 8 | key[1]) % ROWS], *s = throttle_find(rows, key);

    if (s)
        return s;
    s = row;
    for (int i = 1; i < WAYS; i++)
        if (row[i].last_ms < s->last_ms)
            s = &row[i];
    *s = (struct throttle_slot){ 0 };
    memcpy(s->key, key, THROTTLE_KEY);
    return s;
}

/* --- rules --- */

static int64_t pair_wait(const struct throttle_slot *s, int64_t now_ms)
{
    int64_t wait = s ? s->next_ms - now_ms : 0;

    return wait < 0 ? 0 : wait > LIMIT_LOGIN_WAIT_MS ? LIMIT_LOGIN_WAIT_MS : wait;
}

static int64_t address_wait(const struct throttle_slot *s, int64_t now_ms)
{
    int64_t wait = s ? s->last_ms + COST_MS - now_ms - MINUTE_MS : 0;

    return wait < 0 ? 0 : wait > COST_MS ? COST_MS : wait;
}

static void count_pair(struct throttle_slot *s, int64_t now_ms)
{
    int64_t wait = 0;

    if (now_ms - s->last_ms >= LIMIT_LOGIN_FORGET_MS)
        s->failures = 0;
    s->failures++;
    s->last_ms = now_ms;
    if (s->failures >= LIMIT_LOGIN_FREE)
        wait = LIMIT_LOGIN_FIRST_MS;
    for (int i = LIMIT_LOGIN_FREE; i < s->failures && wait < LIMIT_LOGIN_WAIT_MS; i++)
        wait *= 2;
    s->next_ms = now_ms + (wait < LIMIT_LOGIN_WAIT_MS ? wait : LIMIT_LOGIN_WAIT_MS);
}

static void count_address(struct throttle_slot *s, int64_t now_ms)
{
    s->last_ms = (s->last_ms > now_ms ? s->last_ms : now_ms) + COST_MS;
}

int64_t throttle_begin(struct throttle *t, struct str address, struct str name, int64_t now_ms,
                       struct throttle_try *ret_try)
{
    int64_t by_pair, by_address;
    struct throttle_try y;

    make_key(t, address, name, y.pair);
    make_key(t, address, S(""), y.address);
    pthread_mutex_lock(&t->lock);
    by_pair = pair_wait(throttle_find(t->pairs, y.pair), now_ms);
    by_address = address_wait(throttle_find(t->addresses, y.address), now_ms);
    if (!by_pair && !by_address) {
        count_pair(throttle_claim(t->pairs, y.pair), now_ms);
        count_address(throttle_claim(t->addresses, y.address), now_ms);
        *ret_try = y;
    }
    pthread_mutex_unlock(&t->lock);
    return by_pair > by_address ? by_pair : by_address;
}

static void throttle_release(struct throttle *t, const struct throttle_try *y)
{
    struct throttle_slot *s = throttle_find(t->addresses, y->address);

    if (s)
        s->last_ms -= COST_MS;
}

void throttle_won(struct throttle *t, const struct throttle_try *y)
{
    struct throttle_slot *s;

    pthread_mutex_lock(&t->lock);
    s = throttle_find(t->pairs, y->pair);
    if (s)
        *s = (struct throttle_slot){ 0 };
    throttle_release(t, y);
    pthread_mutex_unlock(&t->lock);
}

void throttle_undo(struct throttle *t, const struct throttle_try *y)
{
    struct throttle_slot *s;

    pthread_mutex_lock(&t->lock);
    s = throttle_find(t->pairs, y->pair);
    if (s && s->failures) {
        s->failures--;
        s->next_ms = s->last_ms;
    }
    throttle_release(t, y);
    pthread_mutex_unlock(&t->lock);
}
