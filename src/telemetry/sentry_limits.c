#include "telemetry/sentry_limits.h"

#include "base/limits.h"
#include "base/time/parse.h"

#include <stdlib.h>

static void sentry_limits_later(int64_t *until_ms, int64_t ms)
{
    if (ms > *until_ms)
        *until_ms = ms;
}

static int64_t within_reason(int64_t ms)
{
    return ms < 0 ? 0 : ms > LIMIT_SENTRY_SILENCE_MS ? LIMIT_SENTRY_SILENCE_MS : ms;
}

/* Reads seconds like "60" or "0.5". A text that is no number is a minute, as in Sentry's
 * clients. */
static int64_t seconds_as_ms(struct str s)
{
    char text[32], *end;
    double v;

    if (!s.n || s.n >= sizeof(text) || s.p[0] < '0' || s.p[0] > '9')
        return LIMIT_SENTRY_PAUSE_MS;
    for (size_t i = 0; i < s.n; i++)
        text[i] = s.p[i];
    text[s.n] = '\0';
    v = strtod(text, &end);
    if (*end || v != v)
        return LIMIT_SENTRY_PAUSE_MS;
    return v > LIMIT_SENTRY_SILENCE_MS / 1000.0 ? LIMIT_SENTRY_SILENCE_MS : (int64_t)(v * 1000);
}

/* Learns one limit like "60:error;default:organization:reason". */
static void learn_one(struct sentry_limits *l, struct str limit, int64_t now_ms)
{
    int64_t until = now_ms + seconds_as_ms(str_trim(str_cut(&limit, ':')));
    struct str categories = str_trim(str_cut(&limit, ':'));
    bool all = categories.n == 0;

    if (all) {
        sentry_limits_later(&l->events_until_ms, until);
        sentry_limits_later(&l->reports_until_ms, until);
    }
    while (categories.n) {
        struct str one = str_trim(str_cut(&categories, ';'));

        if (str_eq(one, S("error")))
            sentry_limits_later(&l->events_until_ms, until);
        else if (str_eq(one, S("internal")))
            sentry_limits_later(&l->reports_until_ms, until);
    }
}

static int64_t pause_ms(struct str retry_after, int64_t wall_ms)
{
    int64_t at_ms;

    if (time_parse_http(retry_after, &at_ms))
        return within_reason(at_ms - wall_ms);
    return seconds_as_ms(retry_after);
}

void sentry_limits_learn(struct sentry_limits *l, int status, struct str limits,
                         struct str retry_after, int64_t now_ms, int64_t wall_ms)
{
    int64_t until;

    if (!limits.n && status != 429)
        return;
    while (limits.n) {
        struct str one = str_trim(str_cut(&limits, ','));

        if (one.n)
            learn_one(l, one, now_ms);
        if (!limits.n)
            return;
    }
    until = now_ms + pause_ms(str_trim(retry_after), wall_ms);
    sentry_limits_later(&l->events_until_ms, until);
    sentry_limits_later(&l->reports_until_ms, until);
}
