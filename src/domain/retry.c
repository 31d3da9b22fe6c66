#include "domain/retry.h"

#include "base/limits.h"
#include "base/time/parse.h"

static int64_t retry_capped(const struct retry_policy *p, int64_t ms)
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
            return retry_capped(p, INT64_MAX);
        if (retry_capped(p, ms) != ms)
            break;
    }
    return retry_capped(p, ms);
}

bool retry_may_run(const struct retry_policy *p, int64_t attempt)
{
    return attempt <= (int64_t)p->retries + 1;
}

int64_t retry_after_ms(struct str value, int64_t wall_ms)
{
    int64_t at;

    value = str_trim(value);
    if (str_to_i64(value, &at))
        return at < 0 ? -1 : at > LIMIT_RETRY_AFTER_MS / 1000 ? LIMIT_RETRY_AFTER_MS : at * 1000;
    if (!time_parse_http(value, &at))
        return -1;
    return at > wall_ms ? at - wall_ms : 0;
}

int64_t retry_no_sooner_ms(int64_t delay_ms, int64_t asked_ms)
{
    int64_t asked = asked_ms > LIMIT_RETRY_AFTER_MS ? LIMIT_RETRY_AFTER_MS : asked_ms;

    return delay_ms >= 0 && asked > delay_ms ? asked : delay_ms;
}
