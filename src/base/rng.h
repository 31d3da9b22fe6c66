/* rng.h - random numbers, from the kernel in the server and from a seed in the simulator. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rng {
    void (*fill)(struct rng *r, void *bytes, size_t n);
    uint64_t state; /* of the seeded one; the kernel's has none and may be used by any thread */
};

void rng_init_kernel(struct rng *r);
void rng_init_seeded(struct rng *r, uint64_t seed); /* one thread only; never for secrets */

void rng_bytes(struct rng *r, void *bytes, size_t n);
uint64_t rng_u64(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t bound); /* 0 .. bound - 1, evenly */
