#include "domain/retry.h"

static int64_t capped(const struct retry_policy *p, int64_t ms)
{
    return p->max_ms > 0 && ms > p->max_ms ? p->max_ms : ms;
}

int64_t retry_delay_ms(const struct retry_policy *p, int64_t attempt)
{
    int64_t factor = p->factor > 1 ? p->factor : 1;
    int64_t ms = p->first_ms > 0 ? p->first_ms : 0;

    if (attempt < 1 || attempt > p->retries)
        return -1;
    for (int64_t i = 1; i < attempt && factor > 1; i++) {
        if (__builtin_mul_overflow(ms, factor, &ms))
            return capped(p, INT64_MAX);
        if (capped(p, ms) != ms)
            break;
    }
    return capped(p, ms);
}

bool retry_may_run(const struct retry_policy *p, int64_t attempt)
{
    return attempt <= (int64_t)p->retries + 1;
}
