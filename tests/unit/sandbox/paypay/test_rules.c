/* test_paypay_rules.c - the tables of the pretend PayPay. */
#include "base/time/parse.h"
#include "sandbox/paypay/rules.h"
#include "unit/cm.h"

#include <string.h>

static void every_result_has_a_code_and_eight_digits(void **state)
{
    (void)state;
    for (enum pp_result r = 0; r < PP_RESULTS; r++) {
        const struct pp_result_row *row = pp_result_row(r);

        if (strlen(row->number) != 8 || strspn(row->number, "0123456789") != 8 || !row->code[0] ||
            !row->message[0] || row->status < 200 || row->status > 503)
            fail_msg("row %d: %s", (int)r, row->code);
    }
}

static void results_are_numbered_as_the_reference_has_them(void **state)
{
    static const struct {
        enum pp_result r;
        int status;
        const char *code, *number;
    } rows[] = {
        { PP_SUCCESS, 200, "SUCCESS", "08100001" },
        { PP_ACCEPTED, 202, "REQUEST_ACCEPTED", "08100001" },
        { PP_ASKS_USER, 202, "USER_CONFIRMATION_REQUIRED", "08300103" },
        { PP_INVALID, 400, "INVALID_REQUEST_PARAMS", "08100006" },
        { PP_MISSING, 400, "MISSING_REQUEST_PARAMS", "08100024" },
        { PP_CODE_BAD, 400, "DYNAMIC_QR_BAD_REQUEST", "01650000" },
        { PP_NO_CLIENT, 404, "OPA_CLIENT_NOT_FOUND", "08100007" },
        { PP_FAILED_TOO, 500, "TRANSACTION_FAILED", "00200003" },
        { PP_BALANCE, 500, "TRANSACTION_FAILED", "00800017" },
        { PP_INVALID_PARAMS, 400, "INVALID_PARAMS", "00200004" },
        { PP_INVALID_REFUND, 400, "INVALID_PARAMS", "00200015" },
        { PP_CODE_EXISTS, 400, "DUPLICATE_DYNAMIC_QR_REQUEST", "01652073" },
        { PP_CODE_UNPAID, 400, "DYNAMIC_QR_PAYMENT_NOT_FOUND", "01652075" },
        { PP_CODE_PAID, 400, "DYNAMIC_QR_ALREADY_PAID", "01652074" },
        { PP_CODE_MISSING, 404, "DYNAMIC_QR_NOT_FOUND", "01652072" },
        { PP_CANCELED_USER, 400, "CANCELED_USER", "01103027" },
        { PP_OVER_LIMIT, 400, "UNACCEPTABLE_OP", "00400035" },
        { PP_NOT_REFUNDABLE, 400, "UNACCEPTABLE_OP", "00200013" },
        { PP_SECOND_REFUND, 400, "UNACCEPTABLE_OP", "00200014" },
        { PP_NO_PREAUTH, 400, "PRE_AUTH_CAPTURE_UNSUPPORTED_MERCHANT", "00400060" },
        { PP_BAD_EXPIRY, 400, "PRE_AUTH_CAPTURE_INVALID_EXPIRY_DATE", "00400061" },
        { PP_ALREADY_CAPTURED, 400, "ALREADY_CAPTURED", "00200039" },
        { PP_REAUTHORIZES, 400, "REAUTHORIZATION_IN_PROGRESS", "00200038" },
        { PP_ORDER_EXPIRED, 400, "ORDER_EXPIRED", "00200043" },
        { PP_NOT_CAPTURABLE, 400, "ORDER_NOT_CAPTURABLE", "00200035" },
        { PP_HIGHER_CAPTURE, 400, "HIGHER_CAPTURE_NOT_PERMITTED", "00400062" },
        { PP_TOO_CLOSE, 400, "TOO_CLOSE_TO_EXPIRY", "00400064" },
        { PP_NOT_CANCELABLE, 400, "ORDER_NOT_CANCELABLE", "00200042" },
        { PP_NOT_REVERSIBLE, 400, "ORDER_NOT_REVERSIBLE", "00200044" },
        { PP_UNAUTHORIZED, 401, "UNAUTHORIZED", "08100016" },
        { PP_OUT_OF_SCOPE, 401, "OP_OUT_OF_SCOPE", "08100023" },
        { PP_NOT_FOUND, 404, "RESOURCE_NOT_FOUND", "00200001" },
        { PP_NO_REFUND, 404, "NO_SUCH_REFUND_ORDER", "00200018" },
        { PP_RATE_LIMIT, 429, "RATE_LIMIT", "08100998" },
        { PP_FAILED, 500, "TRANSACTION_FAILED", "00200002" },
        { PP_INTERNAL, 500, "INTERNAL_SERVER_ERROR", "08101000" },
        { PP_TIMED_OUT, 500, "INTERNAL_SERVER_ERROR", "00200034" },
        { PP_SERVICE, 500, "SERVICE_ERROR", "08100026" },
        { PP_MAINTENANCE, 503, "MAINTENANCE_MODE", "08100999" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct pp_result_row *row = pp_result_row(rows[i].r);

        if (row->status != rows[i].status || strcmp(row->code, rows[i].code) != 0 ||
            strcmp(row->number, rows[i].number) != 0)
            fail_msg("row %zu: %s", i, rows[i].code);
    }
}

static void a_payment_may_be_asked_only_what_its_state_allows(void **state)
{
    static const struct {
        const char *why;
        enum pp_act act;
        enum pp_status s;
        enum pp_result r;
    } rows[] = {
        { "what is held can be captured", PP_DO_CAPTURE, PP_AUTHORIZED, PP_SUCCESS },
        { "once", PP_DO_CAPTURE, PP_COMPLETED, PP_ALREADY_CAPTURED },
        { "also after its refund", PP_DO_CAPTURE, PP_REFUNDED, PP_ALREADY_CAPTURED },
        { "not while the user thinks", PP_DO_CAPTURE, PP_REAUTHORIZING, PP_REAUTHORIZES },
        { "not too late", PP_DO_CAPTURE, PP_EXPIRED, PP_ORDER_EXPIRED },
        { "not what was given back", PP_DO_CAPTURE, PP_CANCELED, PP_NOT_CAPTURABLE },
        { "not what failed", PP_DO_CAPTURE, PP_DECLINED, PP_NOT_CAPTURABLE },
        { "what is held can be given back", PP_DO_REVERT, PP_AUTHORIZED, PP_SUCCESS },
        { "once", PP_DO_REVERT, PP_CANCELED, PP_NOT_CANCELABLE },
        { "money that came is refunded", PP_DO_REVERT, PP_COMPLETED, PP_NOT_CANCELABLE },
        { "nothing is left of it", PP_DO_REVERT, PP_EXPIRED, PP_ORDER_EXPIRED },
        { "a cancel takes back what came", PP_DO_CANCEL, PP_COMPLETED, PP_SUCCESS },
        { "and what is held", PP_DO_CANCEL, PP_AUTHORIZED, PP_SUCCESS },
        { "who cancels twice is heard twice", PP_DO_CANCEL, PP_CANCELED, PP_SUCCESS },
        { "not what went back already", PP_DO_CANCEL, PP_REFUNDED, PP_NOT_REVERSIBLE },
        { "nothing came", PP_DO_CANCEL, PP_DECLINED, PP_NOT_REVERSIBLE },
        { "what came can go back", PP_DO_REFUND, PP_COMPLETED, PP_SUCCESS },
        { "what is held is not ours yet", PP_DO_REFUND, PP_AUTHORIZED, PP_NOT_REFUNDABLE },
        { "nor this", PP_DO_REFUND, PP_REAUTHORIZING, PP_NOT_REFUNDABLE },
        { "nothing came", PP_DO_REFUND, PP_DECLINED, PP_NOT_REFUNDABLE },
        { "it is gone", PP_DO_REFUND, PP_CANCELED, PP_NOT_REFUNDABLE },
        { "it never came", PP_DO_REFUND, PP_EXPIRED, PP_NOT_REFUNDABLE },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (pp_allowed(rows[i].act, rows[i].s) != rows[i].r)
            fail_msg("row %zu: %s", i, rows[i].why);
}

static void states_are_read_as_they_are_written(void **state)
{
    (void)state;
    for (enum pp_status s = 0; s < PP_STATUSES; s++)
        assert_int_equal(pp_status_of(pp_status_text(s)), s);
}

static void users_are_known_by_their_ids(void **state)
{
    static const struct {
        const char *id;
        bool preauthorize;
        enum pp_result r;
        bool leaves_payment;
    } rows[] = {
        { "ua-1", false, PP_SUCCESS, false },
        { "ua-no-funds", false, PP_SUCCESS, false },
        { "ua-", false, PP_USER_UNKNOWN, false },
        { "", false, PP_USER_UNKNOWN, false },
        { "somebody", false, PP_USER_UNKNOWN, false },
        { "ua-unknown", false, PP_USER_UNKNOWN, false },
        { "ua-expired", true, PP_USER_EXPIRED, false },
        { "ua-inactive", false, PP_USER_INACTIVE, false },
        { "ua-no-method", false, PP_NO_METHOD, false },
        { "ua-method-gone", false, PP_METHOD_GONE, false },
        { "ua-unsupported", false, PP_NO_SUPPORT, false },
        { "ua-canceled", false, PP_CANCELED_USER, false },
        { "ua-out-of-scope", false, PP_OUT_OF_SCOPE, false },
        { "ua-no-fund", true, PP_NO_FUND, true },
        { "ua-limit", false, PP_OVER_LIMIT, true },
        { "ua-failed", false, PP_FAILED, true },
        { "ua-no-preauth", true, PP_NO_PREAUTH, false },
        { "ua-no-preauth", false, PP_SUCCESS, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct pp_user u = pp_user_of(str_of(rows[i].id), rows[i].preauthorize);

        if (u.result != rows[i].r || u.leaves_payment != rows[i].leaves_payment)
            fail_msg("row %zu: %s", i, rows[i].id);
    }
}

static int64_t ms(const char *text)
{
    int64_t at;

    assert_true(time_parse(str_of(text), &at));
    return at;
}

static void days_are_those_of_japan(void **state)
{
    static const struct {
        const char *why, *from, *now;
        bool cancel, refund;
    } rows[] = {
        { "at once", "2026-11-16T10:00:00+09:00", "2026-11-16T10:00:00+09:00", true, true },
        { "14:59 after midnight", "2026-11-16T10:00:00+09:00", "2026-11-17T00:14:59.999+09:00",
          true, true },
        { "from a quarter past on", "2026-11-16T10:00:00+09:00", "2026-11-17T00:15:00+09:00", false,
          true },
        { "paid just before midnight", "2026-11-16T23:59:59.999+09:00", "2026-11-17T00:15:00+09:00",
          false, true },
        { "paid at midnight", "2026-11-17T00:00:00+09:00", "2026-11-18T00:14:59+09:00", true,
          true },
        { "the same day in London is not", "2026-11-16T14:00:00Z", "2026-11-16T15:20:00Z", false,
          true },
        { "the end of day 365", "2026-01-01T00:00:00+09:00", "2027-01-01T23:59:59.999+09:00", false,
          true },
        { "day 366", "2026-01-01T23:59:59+09:00", "2027-01-02T00:00:00+09:00", false, false },
        { "a leap day counts", "2027-12-31T12:00:00+09:00", "2028-12-30T23:59:59+09:00", false,
          true },
        { "a leap day counts", "2027-12-31T12:00:00+09:00", "2028-12-31T00:00:00+09:00", false,
          false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (pp_cancel_in_time(ms(rows[i].from), ms(rows[i].now)) != rows[i].cancel ||
            pp_refund_in_time(ms(rows[i].from), ms(rows[i].now)) != rows[i].refund)
            fail_msg("row %zu: %s", i, rows[i].why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_result_has_a_code_and_eight_digits),
        TEST(results_are_numbered_as_the_reference_has_them),
        TEST(a_payment_may_be_asked_only_what_its_state_allows),
        TEST(states_are_read_as_they_are_written),
        TEST(users_are_known_by_their_ids),
        TEST(days_are_those_of_japan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
