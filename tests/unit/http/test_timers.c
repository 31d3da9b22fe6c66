/* Timers of an executor: the right one comes next. */
#include "base/rng.h"
#include "base/str.h"
#include "base/time/clock.h"
#include "http/timers.h"
#include "unit/cm.h"

#include <stdlib.h>
#include <string.h>

static void timers_come_out_in_order_whatever_was_done_to_them(void **state)
{
    struct timers t = { 0 };
    struct timer timers[200];
    struct rng rng;
    int64_t last = -1;
    size_t out = 0;

    (void)state;
    rng_init_seeded(&rng, 1);
    memset(timers, 0, sizeof(timers));
    for (int i = 0; i < 5000; i++) {
        struct timer *x = &timers[rng_below(&rng, COUNT(timers))];

        timers_arm(&t, x, rng_below(&rng, 4) ? (int64_t)rng_below(&rng, 1000) : CLOCK_NEVER);
    }
    for (struct timer *x; timers_next(&t) != CLOCK_NEVER; out++) {
        int64_t next = timers_next(&t);

        assert_null(timers_due(&t, next - 1));
        x = timers_due(&t, next);
        assert_non_null(x);
        assert_null(x->impl);
        assert_true(next >= last);
        last = next;
    }
    assert_in_range(out, 50, COUNT(timers));
    timers_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(timers_come_out_in_order_whatever_was_done_to_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
