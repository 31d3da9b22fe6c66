/* retry.c - the table of all pauses between two attempts at the same thing, except for these:
 *
 *   - provider events: ICHIDO_WEBHOOK_RETRIES and ICHIDO_WEBHOOK_RETRY_MS, doubled up to a day
 *     (retry_of_events());
 *   - a message of the QStash API: Upstash-Retry-Delay is the publisher's expression. Without one,
 *     the n-th retry comes e^(2.5 n) s later, up to a day (12 s, 2.5 min, 30 min, 6 h, a day). The
 *     receiver's headers (Retry-After, X-RateLimit-Reset ...) take precedence: expression.h;
 *   - a Retry-After from receivers of notifications and deliveries: retry_no_sooner_ms(), at most
 *     an hour;
 *   - pauses of at most a minute that are kept in memory alone, in base/limits.h: connecting to
 *     PostgreSQL (LIMIT_DB_RETRY_*), a failing database (LIMIT_TROUBLE_*), rows that other nodes
 *     lock (LIMIT_CONTENDED_*), JWKS keys (LIMIT_JWKS_*), FCM tokens (LIMIT_FCM_PAUSE_*), OTLP and
 *     Sentry (LIMIT_OTLP_PAUSE_*, LIMIT_SENTRY_PAUSE_MS).
 *
 * Work that recurs without having failed, like the hourly clean-up, is no retry.
 * tests/unit/domain/test_retry.c has the total of each line. */
#include "domain/retry.h"

#include "base/limits.h"
#include "base/time/parse.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const int64_t send_gaps[] = { 5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE,
                                     HOUR,       2 * HOUR,    4 * HOUR,   6 * HOUR,    10 * HOUR };

static const int64_t delivery_gaps[] = { 5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR,
                                         10 * HOUR,  14 * HOUR,  20 * HOUR,   DAY };

/* Stripe's schedule: ten hours repeatedly, up to three days. */
static const int64_t sandbox_gaps[] = { 5 * MINUTE, 30 * MINUTE, 2 * HOUR,  5 * HOUR,  10 * HOUR,
                                        10 * HOUR,  10 * HOUR,   10 * HOUR, 10 * HOUR, 10 * HOUR };

/* clang-format off */
#define GROW(n, times, first, most)                                                                \
    { .retries = (n), .factor = (times), .first_ms = (first), .max_ms = (most) }
#define AGED(whole, first, most)                                                                   \
    { .retries = RETRY_ENDLESS, .part = (whole), .first_ms = (first), .max_ms = (most) }
#define GAPS(gaps) { .retries = COUNT(gaps), .gaps_ms = (gaps) }

const struct retry_policy retry_table[RETRY_POLICIES] = {
    /* --- payments. GROW: retries, factor, first gap, longest gap --- */

    /* Job op: failures on our side. It never gives up, since payment and key would stay locked. */
    [RETRY_OPERATION]         = GROW(RETRY_ENDLESS, 2, SECOND, HOUR),
    /* Job op with an unknown outcome (P7): the gateway is queried. */
    [RETRY_OPERATION_QUERY]   = GROW(RETRY_ENDLESS, 2, 2 * SECOND, 10 * MINUTE),
    /* A refund that has to succeed (D2), refunds and cancels of a cancelled campaign: 1, 8, 64
     * and 512 minutes, 9 h 45 min in all. Then an operator decides. */
    [RETRY_MONEY_BACK]        = GROW(4, 8, MINUTE, 0),
    /* Job payment.abandon: another operation is under way on the payment. */
    [RETRY_ABANDON]           = GROW(RETRY_ENDLESS, 2, 30 * SECOND, HOUR),
    /* Job payment.lapse: the warning before an authorization lapses; 44 h. */
    [RETRY_LAPSE_WARNING]     = GROW(50, 2, 30 * SECOND, HOUR),
    /* Job payment.lapsed: has the authorization ended at the gateway? A quarter of the time since
     * it should have. */
    [RETRY_LAPSED]            = AGED(4, LIMIT_LAPSE_LATE_MS, DAY),
    /* Job paypay.poll: has the customer paid? A quarter of the time since the code was created. */
    [RETRY_POLL]              = AGED(4, LIMIT_POLL_FIRST_MS, MINUTE),
    /* Jobs payment.lapsed and paypay.poll: failures on our side. */
    [RETRY_POLL_JOB]          = GROW(RETRY_ENDLESS, 2, LIMIT_POLL_FIRST_MS, MINUTE),
    /* Job booking.confirm; 9 h. */
    [RETRY_BOOKING_CONFIRM]   = GROW(20, 2, SECOND, HOUR),
    /* Job booking.cancelled: waits for an operation on its payment, whose outcome may be unknown
     * for hours; 28.5 h. */
    [RETRY_BOOKING_CANCELLED] = GROW(350, 2, SECOND, 5 * MINUTE),
    /* Job campaign.cancel, which waits for operations on all its payments; 14 days. */
    [RETRY_CAMPAIGN_CANCEL]   = GROW(350, 2, SECOND, HOUR),
    /* Job campaign.cancel between two walks over its payments, while some remain. */
    [RETRY_CAMPAIGN_WALK]     = GROW(RETRY_ENDLESS, 2, SECOND, HOUR),

    /* --- providers' events, and queries to providers --- */

    /* Job charge.fee: a gateway may be away for hours, and postponed runs count, too; 3.7 days. */
    [RETRY_CHARGE_FEE]        = GROW(100, 2, SECOND, HOUR),
    /* Job charge.refunds; 17 min. */
    [RETRY_CHARGE_REFUNDS]    = GROW(10, 2, SECOND, HOUR),
    /* Job stripe.heal: fetches events whose webhook did not arrive. */
    [RETRY_HEAL]              = GROW(RETRY_ENDLESS, 2, SECOND, 5 * MINUTE),
    /* Job reconcile.daily, and a day's comparison while the gateway does not answer. */
    [RETRY_RECONCILE_DAILY]   = GROW(RETRY_ENDLESS, 2, SECOND, 10 * MINUTE),
    [RETRY_RECONCILE_GATEWAY] = GROW(RETRY_ENDLESS, 4, 5 * SECOND, 10 * MINUTE),
    /* One call of a gateway, within its budget of 28 s (P6); half of each pause is random. */
    [RETRY_GATEWAY]           = GROW(2, 2, 300, 0),
    /* A gateway that does not answer: until the next probe (G5). */
    [RETRY_BREAKER]           = GROW(RETRY_ENDLESS, 2, 2 * SECOND, MINUTE),

    /* --- people and subscribers --- */

    /* Job notify: a change becomes messages; 9 h. */
    [RETRY_NOTIFY]            = GROW(20, 2, SECOND, HOUR),
    /* One mail, push or channel webhook that was certainly not accepted; about a day. */
    [RETRY_SEND]              = GAPS(send_gaps),
    /* The same send: failures on our side. */
    [RETRY_SEND_JOB]          = GROW(RETRY_ENDLESS, 4, 5 * SECOND, HOUR),
    /* The same send while no node has its channel: as long as it has waited already. */
    [RETRY_SEND_CHANNEL]      = AGED(1, MINUTE, HOUR),
    /* Job alert, including failures on our side; about seven hours. */
    [RETRY_ALERT]             = GROW(12, 3, 10 * SECOND, HOUR),
    /* A domain event to one subscriber; a little over three days. */
    [RETRY_DELIVERY]          = GAPS(delivery_gaps),
    /* The same delivery: failures on our side, including crashes; 25 h. */
    [RETRY_DELIVERY_JOB]      = GROW(30, 4, 5 * SECOND, HOUR),

    /* --- the QStash API --- */

    /* Jobs qstash.sweep, qstash.schedule and qstash.window; 16.5 h. */
    [RETRY_QSTASH]            = GROW(1000, 2, SECOND, MINUTE),
    /* A destination that does not answer: until one probe is sent; plus or minus a quarter. */
    [RETRY_QSTASH_HOST]       = GROW(RETRY_ENDLESS, 2, SECOND, MINUTE),

    /* --- all other jobs --- */

    /* Jobs that must not be given up: qstash.deliver (except for its receiver's failures),
     * audit.seal, reconcile.day, payment.unknown, webhook.publish, webhook.watch and
     * webhook.mirror. */
    [RETRY_NEEDED]            = GROW(RETRY_ENDLESS, 2, SECOND, MINUTE),
    /* Jobs planned long before, or with many rows: refund.again, campaign.draw, collection.plan,
     * collection.remind; 39 h. */
    [RETRY_PLANNED]           = GROW(50, 2, SECOND, HOUR),
    /* keys.expire, events.forget, contact.forget, qstash.forget, dlq.causes, notify without a
     * channel. */
    [RETRY_HOUSEKEEPING]      = GROW(RETRY_ENDLESS, 2, SECOND, HOUR),
    /* Job dlq.redrive. */
    [RETRY_REDRIVE]           = GROW(RETRY_ENDLESS, 1, SECOND / 2, SECOND / 2),
    /* A kind of job that this version of the program does not know; 4 h. */
    [RETRY_UNKNOWN_KIND]      = GROW(10, 2, 30 * SECOND, HOUR),

    /* --- the sandbox --- */

    [RETRY_SANDBOX_WORK]      = GROW(5, 4, 100, 0), /* half a minute */
    [RETRY_SANDBOX_FORGET]    = GROW(RETRY_ENDLESS, 4, 100, 0),
    [RETRY_SANDBOX_RELAY]     = GROW(10, 2, SECOND, MINUTE), /* 5 min */
    /* A notification as PayPay sends it: failures on our side; 2.8 h. One that is not accepted is
     * sent again after LIMIT_SANDBOX_PP_NOTICE_GAP_MS. */
    [RETRY_SANDBOX_NOTICE]    = GROW(1000, 2, 100, 10 * SECOND),
    /* A webhook as Stripe sends it (003); 2 days 19.5 h. */
    [RETRY_SANDBOX_WEBHOOK]   = GAPS(sandbox_gaps),
    /* The same webhook: failures on our side; 16.5 h. */
    [RETRY_SANDBOX_WEBHOOK_JOB] = GROW(1000, 2, SECOND, MINUTE),
};
/* clang-format on */

struct retry_policy retry_of_events(int retries, int64_t first_ms)
{
    return (struct retry_policy){
        .retries = retries, .first_ms = first_ms, .max_ms = DAY, .factor = 2
    };
}

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
    if (p->gaps_ms)
        return p->gaps_ms[attempt - 1];
    for (int64_t i = 1; i < attempt && factor > 1; i++) {
        if (__builtin_mul_overflow(ms, factor, &ms))
            return retry_capped(p, INT64_MAX);
        if (retry_capped(p, ms) != ms)
            break;
    }
    return retry_capped(p, ms);
}

int64_t retry_aged_ms(const struct retry_policy *p, int64_t age_ms)
{
    int64_t ms = age_ms / p->part;

    return retry_capped(p, ms < p->first_ms ? p->first_ms : ms);
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
