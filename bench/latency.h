/* latency.h - how long answers took, in buckets: 64 steps in each power of two microseconds, up to
 * 2^32 us, so that a percentile is right within 3 % and noting one costs nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { STEPS = 64, BUCKETS = 33 * STEPS };

struct latency {
    uint64_t buckets[BUCKETS], count;
    int64_t worst_us;
};

static size_t bucket_of(int64_t us)
{
    unsigned power = us < STEPS ? 0 : (unsigned)(63 - __builtin_clzll((uint64_t)us)) - 5;
    size_t b = power * STEPS / 2 + (size_t)(us >> power);

    return b < BUCKETS ? b : BUCKETS - 1;
}

static int64_t bucket_top(size_t b)
{
    size_t power = b < STEPS ? 0 : (b - STEPS / 2) / (STEPS / 2);

    return (int64_t)((b - power * STEPS / 2 + 1) << power) - 1;
}

static void latency_note(struct latency *l, int64_t us)
{
    l->buckets[bucket_of(us < 0 ? 0 : us)]++;
    l->count++;
    if (us > l->worst_us)
        l->worst_us = us;
}

static int64_t latency_percentile(const struct latency *l, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)l->count + 0.5), seen = 0;

    for (size_t b = 0; b < BUCKETS; b++) {
        seen += l->buckets[b];
        if (seen && seen >= wanted)
            return bucket_top(b) < l->worst_us ? bucket_top(b) : l->worst_us;
    }
    return l->worst_us;
}
