/* rng.c - random bytes of the kernel, and a seeded generator for the simulator. Without randomness
 * of the kernel the program ends, because ids would not be unique. */
#include "base/rng.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static void ask_kernel(void *bytes, size_t n)
{
    char *p = bytes;

    while (n) {
        ssize_t got = getrandom(p, n, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            abort(); /* without randomness there are no safe ids: never go on */
        p += got;
        n -= (size_t)got;
    }
}

/* Ids are small and many, so each thread fetches the bytes of several ids at once. Bytes that were
 * given out are wiped, so that no copy stays. A larger request goes to the kernel directly. A child
 * of fork() must not continue with the bytes of its parent. */
enum { POOL = 1024, SMALL = 16 };

struct pool {
    unsigned char bytes[POOL];
    size_t left;
    pid_t owner;
};

static void kernel_fill(struct rng *r, void *bytes, size_t n)
{
    static _Thread_local struct pool pool;

    (void)r;
    if (n > SMALL) {
        ask_kernel(bytes, n);
        return;
    }
    if (pool.left < n || pool.owner != getpid()) {
        ask_kernel(pool.bytes, POOL);
        pool.left = POOL;
        pool.owner = getpid();
    }
    pool.left -= n;
    memcpy(bytes, pool.bytes + pool.left, n);
    memset(pool.bytes + pool.left, 0, n);
}

/* splitmix64: small, even, and the same on every machine. */
static uint64_t base_rng_next(struct rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15U);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static void seeded_fill(struct rng *r, void *bytes, size_t n)
{
    char *p = bytes;

    while (n) {
        uint64_t word = base_rng_next(r);
        size_t take = n < sizeof(word) ? n : sizeof(word);

        memcpy(p, &word, take);
        p += take;
        n -= take;
    }
}

void rng_init_kernel(struct rng *r)
{
    *r = (struct rng){ .fill = kernel_fill };
}

void rng_init_seeded(struct rng *r, uint64_t seed)
{
    *r = (struct rng){ .fill = seeded_fill, .state = seed };
}

void rng_bytes(struct rng *r, void *bytes, size_t n)
{
    r->fill(r, bytes, n);
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t v;

    r->fill(r, &v, sizeof(v));
    return v;
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
    uint64_t reject, v;

    assert(bound);
    reject = (0 - bound) % bound; /* the uneven rest of 2^64 / bound */
    do
        v = rng_u64(r);
    while (v < reject);
    return v % bound;
}
