#include "base/rng.h"
#include "unit/cm.h"

#include <string.h>

static void a_seed_gives_the_same_bytes_every_time(void **state)
{
    struct rng a, b, other;
    char x[100], y[100], z[100];

    (void)state;
    rng_init_seeded(&a, 42);
    rng_init_seeded(&b, 42);
    rng_init_seeded(&other, 43);
    rng_bytes(&a, x, sizeof(x));
    rng_bytes(&b, y, sizeof(y));
    rng_bytes(&other, z, sizeof(z));
    assert_memory_equal(x, y, sizeof(x));
    assert_memory_not_equal(x, z, sizeof(x));
    assert_true(rng_u64(&a) == rng_u64(&b));
}

/* Seeds are written down in bug reports, so what they mean may never change. */
static void the_first_numbers_of_seed_one_are_known(void **state)
{
    struct rng r;

    (void)state;
    rng_init_seeded(&r, 1);
    assert_true(rng_u64(&r) == 0x910a2dec89025cc1U);
    assert_true(rng_u64(&r) == 0xbeeb8da1658eec67U);
}

static void the_kernels_bytes_differ(void **state)
{
    struct rng r;
    char x[32], y[32];

    (void)state;
    rng_init_kernel(&r);
    rng_bytes(&r, x, sizeof(x));
    rng_bytes(&r, y, sizeof(y));
    assert_memory_not_equal(x, y, sizeof(x));
    rng_bytes(&r, x, 0); /* nothing asked, nothing done */
}

static void below_stays_below_and_reaches_everything(void **state)
{
    struct rng r;
    int seen[7] = { 0 };

    (void)state;
    rng_init_seeded(&r, 7);
    for (int i = 0; i < 7000; i++) {
        uint64_t v = rng_below(&r, 7);

        assert_true(v < 7);
        seen[v]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], 800, 1200); /* the seed is fixed, so this is no matter of luck */
    assert_int_equal(rng_below(&r, 1), 0);
    assert_true(rng_below(&r, UINT64_MAX) < UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_seed_gives_the_same_bytes_every_time),
        TEST(the_first_numbers_of_seed_one_are_known),
        TEST(the_kernels_bytes_differ),
        TEST(below_stays_below_and_reaches_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
