#include "telemetry/slo.h"

/* clang-format off */
static const struct goal_rule rules[GOALS] = {
    [GOAL_PUBLISH] = { "publish_success", "001", ">=", "percent", 99900,
        { "Events that were published to the queue.", "キューへのpublish成功率" } },
    [GOAL_WORKER] = { "worker_success", "001", ">=", "percent", 99500,
        { "Tries to process an event that succeeded.", "Workerの処理成功率" } },
    [GOAL_RETRIES] = { "retry_rate", "001", "<", "percent", 1000,
        { "Tries to process an event that had to be repeated.", "リトライ率" } },
    [GOAL_DLQ_INFLOW] = { "dlq_inflow", "001", "=", "count", 0,
        { "Messages that became dead letters.", "新しく発生したデッドレターの件数" } },
    [GOAL_RECEPTION] = { "webhook_reception", "003", ">=", "percent", 99900,
        { "Verified webhooks that were stored and acknowledged.", "Webhook受信率" } },
    [GOAL_LATENCY] = { "webhook_latency_p95", "003", "<", "ms", 200 * 1000,
        { "From a webhook's last byte to its answer, p95.", "Webhook処理レイテンシ（p95）" } },
    [GOAL_ERRORS] = { "webhook_error_rate", "003", "<", "percent", 100,
        { "Webhooks that were not stored, or whose event was given up.", "Webhookのエラー率" } },
    [GOAL_VIOLATIONS] = { "idempotency_violations", "003", "=", "count", 0,
        { "What happened twice, or was about to.", "冪等性違反の件数" } },
};
/* clang-format on */

const struct goal_rule *goal_rule(enum goal g)
{
    return &rules[g];
}

static struct goal_result telemetry_slo_judged(bool met, int64_t value, int64_t events)
{
    return (struct goal_result){ events ? met ? GOAL_MET : GOAL_MISSED : GOAL_NO_DATA,
                                 events ? value : 0, events };
}

/* The comparison is exact. Only the shown value is rounded, and never to the better side of the
 * target. */
static struct goal_result telemetry_slo_share(enum goal g, int64_t good, int64_t all)
{
    return telemetry_slo_judged(good * 100000 >= rules[g].target * all,
                                all ? good * 100000 / all : 0, all);
}

static struct goal_result telemetry_slo_below(enum goal g, int64_t bad, int64_t all)
{
    return telemetry_slo_judged(bad * 100000 < rules[g].target * all,
                                all ? (bad * 100000 + all - 1) / all : 0, all);
}

/* A goal of zero occurrences. One occurrence misses it, also where no event was counted. */
static struct goal_result telemetry_slo_none(int64_t times, int64_t events)
{
    return telemetry_slo_judged(times == 0, times * 1000, events > times ? events : times);
}

static struct goal_result telemetry_slo_latency(const struct stretch *s)
{
    int64_t us = stretch_p95_us(s, CURVE_ACK);

    return telemetry_slo_judged(us < rules[GOAL_LATENCY].target, us, stretch_events(s, CURVE_ACK));
}

struct goal_result goal_measure(enum goal g, const struct stretch *s, bool remote)
{
    const int64_t *n = s->count;
    int64_t came = n[SERIES_RECEIVED] + n[SERIES_UNSTORED];
    int64_t tries = n[SERIES_DONE] + n[SERIES_RETRIED] + n[SERIES_GIVEN_UP];
    int64_t lost = n[SERIES_UNSTORED] + n[SERIES_GIVEN_UP];

    switch (g) {
    case GOAL_PUBLISH:
        return remote ? telemetry_slo_share(g, n[SERIES_PUBLISHED],
                                            n[SERIES_PUBLISHED] + n[SERIES_PUBLISH_FAILED])
                      : telemetry_slo_share(g, n[SERIES_RECEIVED], came);
    case GOAL_WORKER: return telemetry_slo_share(g, n[SERIES_DONE], tries);
    case GOAL_RETRIES: return telemetry_slo_below(g, n[SERIES_RETRIED], tries);
    case GOAL_DLQ_INFLOW: return telemetry_slo_none(n[SERIES_DEAD], tries);
    case GOAL_RECEPTION: return telemetry_slo_share(g, n[SERIES_RECEIVED], came);
    case GOAL_LATENCY: return telemetry_slo_latency(s);
    case GOAL_ERRORS: return telemetry_slo_below(g, lost, lost + n[SERIES_DONE]);
    case GOAL_VIOLATIONS: return telemetry_slo_none(n[SERIES_VIOLATIONS], came + tries);
    case GOALS: break;
    }
    return (struct goal_result){ 0 };
}
