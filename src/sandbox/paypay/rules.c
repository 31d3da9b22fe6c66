/* rules.c - PayPay's tables: results, what a state allows, test users, days in Japan. */
#include "sandbox/paypay/rules.h"

#include "base/limits.h"
#include "base/time/civil.h"

/* --- results --- */

#define ROW(name, status, code, number, message) { status, code, number, message },
static const struct pp_result_row results[PP_RESULTS] = { PP_RESULT_LIST(ROW) };
#undef ROW

const struct pp_result_row *pp_result_row(enum pp_result r)
{
    return &results[r];
}

/* --- payments --- */

#define TEXT(name, wire) { wire, sizeof(wire) - 1 },
static const struct str statuses[PP_STATUSES] = { PP_STATUS_LIST(TEXT) };
#undef TEXT

struct str pp_status_text(enum pp_status s)
{
    return statuses[s];
}

enum pp_status pp_status_of(struct str text)
{
    enum pp_status s = 0;

    while (s < PP_EXPIRED && !str_eq(statuses[s], text))
        s++;
    return s;
}

/*  page, createPayment --> COMPLETED --refund of all--> REFUNDED
 *                              |  ^
 *                              |  +--capture-- AUTHORIZED <--page, preauthorize
 *                              |  |              |  ^  |
 *                              |  +--yes--+    asks no |
 *                              |          |      v  |  +--revert, cancel--> CANCELED
 *                              |          REAUTHORIZING   +--time--> EXPIRED
 *                              +--cancel, the same day--> CANCELED
 *
 * A cell left out is SUCCESS: the act is allowed. A repeated cancel is answered like the first. */
static const enum pp_result refusals[PP_ACTS][PP_STATUSES] = {
    [PP_DO_CAPTURE] = { [PP_REAUTHORIZING] = PP_REAUTHORIZES,
                        [PP_COMPLETED] = PP_ALREADY_CAPTURED,
                        [PP_REFUNDED] = PP_ALREADY_CAPTURED,
                        [PP_DECLINED] = PP_NOT_CAPTURABLE,
                        [PP_CANCELED] = PP_NOT_CAPTURABLE,
                        [PP_EXPIRED] = PP_ORDER_EXPIRED },
    [PP_DO_REVERT] = { [PP_REAUTHORIZING] = PP_REAUTHORIZES,
                       [PP_COMPLETED] = PP_NOT_CANCELABLE,
                       [PP_REFUNDED] = PP_NOT_CANCELABLE,
                       [PP_DECLINED] = PP_NOT_CANCELABLE,
                       [PP_CANCELED] = PP_NOT_CANCELABLE,
                       [PP_EXPIRED] = PP_ORDER_EXPIRED },
    [PP_DO_CANCEL] = { [PP_REAUTHORIZING] = PP_REAUTHORIZES,
                       [PP_REFUNDED] = PP_NOT_REVERSIBLE,
                       [PP_DECLINED] = PP_NOT_REVERSIBLE,
                       [PP_EXPIRED] = PP_NOT_REVERSIBLE },
    [PP_DO_REFUND] = { [PP_AUTHORIZED] = PP_NOT_REFUNDABLE,
                       [PP_REAUTHORIZING] = PP_NOT_REFUNDABLE,
                       [PP_DECLINED] = PP_NOT_REFUNDABLE,
                       [PP_CANCELED] = PP_NOT_REFUNDABLE,
                       [PP_EXPIRED] = PP_NOT_REFUNDABLE },
};

enum pp_result pp_allowed(enum pp_act act, enum pp_status s)
{
    return refusals[act][s];
}

/* --- users --- */

static const struct {
    struct str id;
    struct pp_user user;
} fates[] = {
    { { "ua-unknown", 10 }, { PP_USER_UNKNOWN, false } },
    { { "ua-expired", 10 }, { PP_USER_EXPIRED, false } },
    { { "ua-inactive", 11 }, { PP_USER_INACTIVE, false } },
    { { "ua-no-method", 12 }, { PP_NO_METHOD, false } },
    { { "ua-method-gone", 14 }, { PP_METHOD_GONE, false } },
    { { "ua-unsupported", 14 }, { PP_NO_SUPPORT, false } },
    { { "ua-canceled", 11 }, { PP_CANCELED_USER, false } },
    { { "ua-out-of-scope", 15 }, { PP_OUT_OF_SCOPE, false } },
    { { "ua-no-fund", 10 }, { PP_NO_FUND, true } },
    { { "ua-limit", 8 }, { PP_OVER_LIMIT, true } },
    { { "ua-failed", 9 }, { PP_FAILED, true } },
};

struct pp_user pp_user_of(struct str authorization, bool preauthorize)
{
    if (!str_starts(authorization, S("ua-")) || authorization.n == 3)
        return (struct pp_user){ PP_USER_UNKNOWN, false };
    if (preauthorize && str_eq(authorization, S("ua-no-preauth")))
        return (struct pp_user){ PP_NO_PREAUTH, false };
    for (size_t i = 0; i < COUNT(fates); i++)
        if (str_eq(authorization, fates[i].id))
            return fates[i].user;
    return (struct pp_user){ PP_SUCCESS, false };
}

/* --- days --- */

#define DAY_MS (INT64_C(1000) * DAY_S)
#define JAPAN_MS (INT64_C(9) * 3600 * 1000) /* Japan's offset from UTC, all year */

/* The first moment of the day in Japan that is so many days after the day of ms. */
static int64_t day_after(int64_t ms, int64_t days)
{
    return (floor_div(ms + JAPAN_MS, DAY_MS) + days) * DAY_MS - JAPAN_MS;
}

bool pp_cancel_in_time(int64_t paid_ms, int64_t now_ms)
{
    return now_ms < day_after(paid_ms, 1) + LIMIT_SANDBOX_PP_CANCEL_MS;
}

bool pp_refund_in_time(int64_t completed_ms, int64_t now_ms)
{
    return now_ms < day_after(completed_ms, LIMIT_SANDBOX_PP_REFUND_DAYS + 1);
}
