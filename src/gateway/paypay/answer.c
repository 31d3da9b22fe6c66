/* answer.c - PayPay's result codes, as a table. The code counts only with a status of its
 * own class: a proxy's 502 around an old body says nothing. A code that is not in the table, and an
 * answer without any, are UNKNOWN: what may have happened is asked for, never guessed. */
#include "gateway/paypay/answer.h"

#include "gateway/stripe/form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct paypay_answer_row {
    int status; /* of its class: 200 also stands for 201 */
    const char *code;
    enum paypay_said said;
} rows[] = {
    { 200, "SUCCESS", SAID_DONE },
    { 202, "REQUEST_ACCEPTED", SAID_ACCEPTED },
    { 202, "USER_CONFIRMATION_REQUIRED", SAID_CONFIRM },

    { 400, "INVALID_REQUEST_PARAMS", SAID_REFUSED },
    { 400, "INVALID_PARAMS", SAID_REFUSED },
    { 400, "MISSING_REQUEST_PARAMS", SAID_REFUSED },
    { 400, "DYNAMIC_QR_BAD_REQUEST", SAID_REFUSED },
    { 400, "DUPLICATE_DYNAMIC_QR_REQUEST", SAID_DUPLICATE },
    { 400, "DYNAMIC_QR_PAYMENT_NOT_FOUND", SAID_UNPAID },
    { 400, "DYNAMIC_QR_ALREADY_PAID", SAID_NOT_SO },
    { 404, "DYNAMIC_QR_NOT_FOUND", SAID_MISSING },
    { 400, "SUSPECTED_DUPLICATE_PAYMENT", SAID_DECLINED },
    { 400, "NO_SUFFICIENT_FUND", SAID_DECLINED },
    { 400, "UNSUPPORTED_PAYMENT_METHOD", SAID_DECLINED },
    { 400, "CANCELED_USER", SAID_DECLINED },
    { 400, "UNACCEPTABLE_OP", SAID_DECLINED },
    { 400, "PRE_AUTH_CAPTURE_UNSUPPORTED_MERCHANT", SAID_REFUSED },
    { 400, "PRE_AUTH_CAPTURE_INVALID_EXPIRY_DATE", SAID_REFUSED },
    { 400, "ALREADY_CAPTURED", SAID_NOT_SO },
    { 400, "REAUTHORIZATION_IN_PROGRESS", SAID_LATER },
    { 400, "ORDER_EXPIRED", SAID_NOT_SO },
    { 400, "ORDER_NOT_CAPTURABLE", SAID_NOT_SO },
    { 400, "HIGHER_CAPTURE_NOT_PERMITTED", SAID_NOT_SO },
    { 400, "TOO_CLOSE_TO_EXPIRY", SAID_NOT_SO },
    { 400, "ORDER_NOT_CANCELABLE", SAID_NOT_SO },
    { 400, "ORDER_NOT_REVERSIBLE", SAID_NOT_SO },
    { 400, "REFUND_LIMIT_EXCEEDED", SAID_REFUSED },
    { 400, "REFUND_WINDOW_EXCEED", SAID_REFUSED },

    { 401, "UNAUTHORIZED", SAID_SETTINGS },
    { 401, "OP_OUT_OF_SCOPE", SAID_SETTINGS },
    { 401, "INVALID_USER_AUTHORIZATION_ID", SAID_DECLINED },
    { 401, "EXPIRED_USER_AUTHORIZATION_ID", SAID_DECLINED },
    { 401, "USER_STATE_IS_NOT_ACTIVE", SAID_DECLINED },

    { 404, "RESOURCE_NOT_FOUND", SAID_MISSING },
    { 404, "NO_SUCH_REFUND_ORDER", SAID_MISSING },
    { 404, "OPA_CLIENT_NOT_FOUND", SAID_SETTINGS },
    { 404, "NO_VALID_PAYMENT_METHOD", SAID_DECLINED },
    { 404, "PAYMENT_METHOD_NOT_FOUND", SAID_DECLINED },

    { 429, "RATE_LIMIT", SAID_AGAIN },
    { 429, "", SAID_AGAIN }, /* from a proxy in front of PayPay */
    { 401, "", SAID_SETTINGS },
    { 403, "", SAID_SETTINGS },

    { 500, "TRANSACTION_FAILED", SAID_DECLINED }, /* for good, under this id */
    { 500, "INTERNAL_SERVER_ERROR", SAID_UNKNOWN },
    { 500, "SERVICE_ERROR", SAID_UNKNOWN },
    { 503, "MAINTENANCE_MODE", SAID_UNKNOWN }, /* it may have begun behind a request */
    { 502, "", SAID_UNKNOWN },
    { 503, "", SAID_UNKNOWN },
    { 504, "", SAID_UNKNOWN },
};

/* --- codes and messages --- */

/* In lower case, as all our codes are; empty where it is not a code. */
static void say_code(struct gateway_call *c, struct str code, struct str message, int status)
{
    char word[sizeof(c->error_code)];
    size_t i = 0;

    for (; i < code.n && i < sizeof(word) - 1; i++) {
        char ch = code.p[i];

        if (ch >= 'A' && ch <= 'Z')
            ch = (char)(ch | 0x20);
        else if (ch != '_' && (ch < '0' || ch > '9') && (ch < 'a' || ch > 'z'))
            break;
        word[i] = ch;
    }
    word[i] = '\0';
    if (!i || i < code.n)
        snprintf(word, sizeof(word), "http_%d", status);
    gateway_say(c, str_of(word), message);
}

/* --- the table --- */

static bool same_class(int row, int status)
{
    if (row == 200)
        return status == 200 || status == 201;
    return row == 202 ? status == 202 : row / 100 == status / 100;
}

static enum paypay_said paypay_answer_find(struct str code, int status)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (code.n ? str_eq(code, str_of(rows[i].code)) && same_class(rows[i].status, status)
                   : !rows[i].code[0] && rows[i].status == status)
            return rows[i].said;
    return SAID_UNKNOWN;
}

static struct paypay_reply judge_answer(struct gateway_call *c, const struct call *http,
                                        cJSON **ret_tree)
{
    bool read = http->answer.n && json_parse(http->answer, ret_tree, NULL) == OK;
    const cJSON *info = cJSON_GetObjectItemCaseSensitive(*ret_tree, "resultInfo");
    struct str code = str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(info, "code")));
    struct str message =
        str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(info, "message")));
    struct paypay_reply r = { .said = paypay_answer_find(code, http->status),
                              .data = cJSON_GetObjectItemCaseSensitive(*ret_tree, "data") };

    if (r.said == SAID_SETTINGS) /* of what it says there nothing is kept: it may repeat our key */
        message = S("the gateway does not take our key, our clock, or not for this");
    if (r.said != SAID_DONE)
        say_code(c, code, message, http->status);
    if (r.said == SAID_UNKNOWN && (!read || !code.n) && http->status < 500)
        gateway_say(c, S("unreadable_answer"), S("the answer is not what PayPay says"));
    return r;
}

struct paypay_reply paypay_judge(struct gateway_call *c, const struct call *http, bool timed_out,
                                 cJSON **ret_tree)
{
    *ret_tree = NULL;
    gateway_say(c, S(""), S(""));
    switch (http->result) {
    case CALL_ANSWERED: return judge_answer(c, http, ret_tree);
    case CALL_NOT_SENT:
        gateway_say(c, S("not_sent"), str_of(http->why));
        return (struct paypay_reply){ .said = SAID_AGAIN, .timed_out = timed_out };
    case CALL_UNCERTAIN:
        gateway_say(c, timed_out ? S("timeout") : S("connection_lost"), str_of(http->why));
        return (struct paypay_reply){ .said = SAID_UNKNOWN, .lost = true, .timed_out = timed_out };
    }
    abort();
}

enum gateway_answer paypay_answer_of(enum paypay_said said)
{
    static const enum gateway_answer answers[] = {
        [SAID_DONE] = GATEWAY_OK,           [SAID_ACCEPTED] = GATEWAY_OK,
        [SAID_CONFIRM] = GATEWAY_OK,        [SAID_MISSING] = GATEWAY_ABSENT,
        [SAID_UNPAID] = GATEWAY_ABSENT,     [SAID_DUPLICATE] = GATEWAY_REFUSED,
        [SAID_NOT_SO] = GATEWAY_REFUSED,    [SAID_DECLINED] = GATEWAY_DECLINED,
        [SAID_REFUSED] = GATEWAY_REFUSED,   [SAID_SETTINGS] = GATEWAY_RETRY_LATER,
        [SAID_LATER] = GATEWAY_RETRY_LATER, [SAID_AGAIN] = GATEWAY_RETRY_LATER,
        [SAID_UNKNOWN] = GATEWAY_UNCERTAIN,
    };

    return answers[said];
}
