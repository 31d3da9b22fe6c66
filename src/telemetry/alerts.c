/* alerts.c - the table of alert rules, the values that they compare, and the state machine of one
 * alert. All functions are pure; ops/ reads the numbers and stores the states. */
#include "telemetry/alerts.h"

#include "base/limits.h"

#include <assert.h>
#include <stdio.h>

enum { SECOND = 1000, MINUTE = 60 * SECOND };

/* clang-format off */
static const struct alert_rule rules[ALERTS] = {
    [ALERT_DLQ] = {
        "dlq_depth", true, "messages", 0, 0, 0,
        { "Dead letters wait for an operator.",
          "デッドレターが残っています。" },
        { "Look at them (ichido dlq list), mend the cause, then retry or delete them.",
          "ichido dlq list で内容を確認し、原因を直してから再実行または削除してください。" } },
    [ALERT_DLQ_AGE] = {
        "dlq_age", true, "hours", 24 * 1000, 0, 0,
        { "A dead letter has waited for more than 24 hours.",
          "デッドレターが24時間を超えて放置されています。" },
        { "Decide about the oldest one (ichido dlq list): retry it or delete it.",
          "ichido dlq list で最も古いものを確認し、再実行するか削除してください。" } },
    [ALERT_WEBHOOK_FAILURES] = {
        "webhook_failure_rate", false, "percent", 1 * 1000, 5 * MINUTE, LIMIT_ALERT_FOR_MS,
        { "More than 1 % of webhooks failed in 5 minutes: not stored, or given up.",
          "Webhook処理失敗率が5分間で1%を超えました（保存不可、または処理断念）。" },
        { "Look for \"Webhook processing failed\" and \"could not be stored\" in the log; ask /readyz.",
          "ログの「Webhook processing failed」「could not be stored」と /readyz を確認してください。" } },
    [ALERT_WEBHOOK_P95] = {
        "webhook_latency_p95", false, "ms", 500 * 1000, 5 * MINUTE, LIMIT_ALERT_FOR_MS,
        { "Webhooks are answered slowly: p95 above 500 ms in 5 minutes.",
          "Webhook処理レイテンシのp95が5分間で500msを超えました。" },
        { "Look at ichido_store_commit_seconds: a slow disk or database; then at the machine's load.",
          "ichido_store_commit_seconds（ディスクやDBの遅延）とマシンの負荷を確認してください。" } },
    [ALERT_SIGNATURES] = {
        "signature_failures", false, "requests", 10 * 1000, MINUTE, 0,
        { "More than 10 webhooks in a minute had no valid signature: a forger, or a wrong secret.",
          "署名検証の失敗が1分間に10件を超えました。不正アクセスか、秘密鍵の設定ミスの可能性があります。" },
        { "Compare the signing secret with the provider's; else see the peers in the log and block them.",
          "署名シークレットが決済事業者のものと一致するか確認し、一致していればログの送信元を遮断してください。" } },
    [ALERT_PUBLISH] = {
        "publish_failure_rate", false, "percent", 1 * 1000, 5 * MINUTE, LIMIT_ALERT_FOR_MS,
        { "More than 1 % of the tries to publish to QStash failed in 5 minutes.",
          "QStashへのpublish失敗率が5分間で1%を超えました。" },
        { "Look at QStash's status and at the token. Events are kept, and the builtin queue takes over.",
          "QStashの稼働状況とトークンを確認してください。イベントは保存済みで、内蔵キューが引き継ぎます。" } },
    [ALERT_WORKER] = {
        "worker_error_rate", false, "percent", 500, 5 * MINUTE, LIMIT_ALERT_FOR_MS,
        { "More than 0.5 % of the tries to process events failed in 5 minutes.",
          "Workerのエラー率が5分間で0.5%を超えました。" },
        { "Look at \"Webhook processing failed\" in the log: its error says what to mend. Tries go on by themselves.",
          "ログの「Webhook processing failed」のerrorを確認してください。再試行は自動で続きます。" } },
    [ALERT_END_TO_END] = {
        "end_to_end_p95", false, "s", 10 * 1000, 5 * MINUTE, LIMIT_ALERT_FOR_MS,
        { "Events take too long from reception to their effect: p95 above 10 s in 5 minutes.",
          "受信から反映までのE2Eレイテンシのp95が5分間で10秒を超えました。" },
        { "Look at ichido_queue_live and ichido_queue_oldest_ready_seconds: a backlog, or retries.",
          "ichido_queue_live と ichido_queue_oldest_ready_seconds（滞留や再試行）を確認してください。" } },
    [ALERT_UNKNOWN] = {
        "unknown_outcome", true, "s", 0, 0, 0,
        { "The outcome of a money operation has been unknown for too long.",
          "結果が不明なままの決済操作が長時間続いています。" },
        { "See GET /api/v1/admin/unknown and the gateway's own dashboard; the gateway is asked on and on.",
          "GET /api/v1/admin/unknown と決済事業者の管理画面を確認してください。照会は自動で続きます。" } },
};
/* clang-format on */

const struct alert_rule *alert_rule(enum alert a)
{
    return &rules[a];
}

bool alert_named(struct str name, enum alert *ret_alert)
{
    for (int a = 0; a < ALERTS; a++)
        if (str_eq(name, str_of(rules[a].name))) {
            *ret_alert = (enum alert)a;
            return true;
        }
    return false;
}

const char *alert_status_word(enum alert_status s)
{
    static const char *const words[] = {
        [ALERT_OK] = "ok", [ALERT_PENDING] = "pending", [ALERT_FIRING] = "firing"
    };

    return words[s];
}

int64_t alert_threshold(enum alert a, int64_t unknown_ms)
{
    return a == ALERT_UNKNOWN ? unknown_ms : rules[a].threshold;
}

void alert_number(int64_t thousandths, char text[ALERT_NUMBER])
{
    int n = snprintf(text, ALERT_NUMBER, "%lld.%03lld", (long long)(thousandths / 1000),
                     (long long)(thousandths % 1000));

    while (text[n - 1] == '0')
        text[--n] = 0;
    if (text[n - 1] == '.')
        text[n - 1] = 0;
}

/* --- values --- */

int64_t alert_value_of_all(enum alert a, const struct alert_facts *f)
{
    static const int64_t hour_ms = 3600 * 1000;

    assert(rules[a].of_all);
    if (a == ALERT_DLQ)
        return f->dead * 1000;
    if (a == ALERT_DLQ_AGE)
        return f->dead_oldest_ms / hour_ms * 1000 + f->dead_oldest_ms % hour_ms * 1000 / hour_ms;
    return f->unknown_oldest_ms; /* ms are thousandths of seconds */
}

/* The ratio in thousandths of a per cent, or 0 where there are too few events. A few events count
 * too where half of them and at least `few` failed, so that a small shop is alerted as well. */
static int64_t telemetry_alerts_ratio(int64_t failed, int64_t all, int64_t few)
{
    bool many = all >= LIMIT_ALERT_EVENTS;

    if (failed < (many ? LIMIT_ALERT_FAILURES : few) || (!many && failed * 2 < all))
        return 0;
    return failed * 100 * 1000 / all;
}

static int64_t p95_us(const struct stretch *s, enum curve c)
{
    int64_t us = stretch_events(s, c) < LIMIT_ALERT_EVENTS ? 0 : stretch_p95_us(s, c);

    return us > 0 ? us : 0;
}

int64_t alert_value_here(enum alert a, const struct window *w)
{
    struct stretch s;
    const int64_t *n = s.count;

    assert(!rules[a].of_all);
    window_last(w, rules[a].window_ms, &s);
    switch (a) {
    case ALERT_WEBHOOK_FAILURES:
        return telemetry_alerts_ratio(n[SERIES_UNSTORED] + n[SERIES_GIVEN_UP],
                                      n[SERIES_UNSTORED] + n[SERIES_GIVEN_UP] + n[SERIES_DONE],
                                      LIMIT_ALERT_FEW);
    case ALERT_WEBHOOK_P95: return p95_us(&s, CURVE_ACK);
    case ALERT_SIGNATURES: return n[SERIES_BAD_SIGNATURES] * 1000;
    case ALERT_PUBLISH:
        return telemetry_alerts_ratio(n[SERIES_PUBLISH_FAILED],
                                      n[SERIES_PUBLISH_FAILED] + n[SERIES_PUBLISHED],
                                      LIMIT_ALERT_FEW);
    case ALERT_WORKER:
        return telemetry_alerts_ratio(n[SERIES_RETRIED] + n[SERIES_GIVEN_UP],
                                      n[SERIES_RETRIED] + n[SERIES_GIVEN_UP] + n[SERIES_DONE],
                                      LIMIT_ALERT_FEW_TRIES);
    case ALERT_END_TO_END: return p95_us(&s, CURVE_END_TO_END) / 1000;
    case ALERT_DLQ:
    case ALERT_DLQ_AGE:
    case ALERT_UNKNOWN:
    case ALERTS: break;
    }
    return 0;
}

/* --- hysteresis --- */

static enum alert_news telemetry_alerts_enter(struct alert_state *s, enum alert_status status,
                                              int64_t now_ms, enum alert_news news)
{
    s->status = status;
    s->since_ms = now_ms;
    s->calm_ms = 0;
    if (news != NEWS_QUIET)
        s->told_ms = now_ms;
    return news;
}

static enum alert_news while_firing(int64_t threshold, int64_t value, int64_t now_ms,
                                    struct alert_state *s)
{
    bool well_below = value <= threshold * LIMIT_ALERT_CLEAR / 100;
    bool was_calm = s->calm_ms != 0, ahead = s->calm_ms > now_ms || s->told_ms > now_ms;

    if (ahead) { /* the clock was set back: the old times would block this alert for ever */
        s->calm_ms = well_below && was_calm ? now_ms : 0;
        s->told_ms = s->told_ms > now_ms ? now_ms : s->told_ms;
        return NEWS_QUIET;
    }
    if (well_below && was_calm && now_ms - s->calm_ms >= LIMIT_ALERT_CALM_MS)
        return telemetry_alerts_enter(s, ALERT_OK, now_ms, NEWS_RESOLVED);
    if (!well_below && now_ms - s->told_ms >= LIMIT_ALERT_AGAIN_MS) {
        s->calm_ms = 0;
        s->told_ms = now_ms;
        return NEWS_STILL;
    }
    if (well_below == was_calm)
        return NEWS_NONE;
    s->calm_ms = well_below ? now_ms : 0;
    return NEWS_QUIET;
}

enum alert_news alert_step(const struct alert_rule *r, int64_t threshold, int64_t value,
                           int64_t now_ms, struct alert_state *s)
{
    bool above = value > threshold;

    s->value = value;
    if (s->since_ms > now_ms)
        s->since_ms = now_ms;
    if (s->status == ALERT_FIRING)
        return while_firing(threshold, value, now_ms, s);
    if (!above)
        return s->status == ALERT_OK ? NEWS_NONE
                                     : telemetry_alerts_enter(s, ALERT_OK, now_ms, NEWS_QUIET);
    if (!r->for_ms || (s->status == ALERT_PENDING && now_ms - s->since_ms >= r->for_ms))
        return telemetry_alerts_enter(s, ALERT_FIRING, now_ms, NEWS_FIRES);
    return s->status == ALERT_PENDING
               ? NEWS_NONE
               : telemetry_alerts_enter(s, ALERT_PENDING, now_ms, NEWS_QUIET);
}
