/* rules.h - PayPay's rules as tables: results with their numbers, what a state allows, test users,
 * days. Pure: no rows, no clock. */
#pragma once

#include "base/str.h"

/* --- results --- */

/* X(name, HTTP status, code, codeId, message). PayPay's reference has no number for the results
 * whose codeId begins with 99; these numbers are ours. */
#define PP_RESULT_LIST(X)                                                                          \
    X(PP_SUCCESS, 200, "SUCCESS", "08100001", "Success")                                           \
    X(PP_MADE, 201, "SUCCESS", "08100001", "Success")                                              \
    X(PP_ACCEPTED, 202, "REQUEST_ACCEPTED", "08100001", "Request accepted")                        \
    X(PP_ASKS_USER, 202, "USER_CONFIRMATION_REQUIRED", "08300103",                                 \
      "User confirmation required as requested amount is above allowed limit")                     \
    X(PP_INVALID, 400, "INVALID_REQUEST_PARAMS", "08100006", "Invalid request params")             \
    X(PP_MISSING, 400, "MISSING_REQUEST_PARAMS", "08100024", "Missing request params")             \
    X(PP_CODE_BAD, 400, "DYNAMIC_QR_BAD_REQUEST", "01650000", "Dynamic QR bad request error")      \
    X(PP_INVALID_PARAMS, 400, "INVALID_PARAMS", "00200004", "Invalid parameters received")         \
    X(PP_INVALID_REFUND, 400, "INVALID_PARAMS", "00200015", "Invalid refund amount")               \
    X(PP_CODE_EXISTS, 400, "DUPLICATE_DYNAMIC_QR_REQUEST", "01652073",                             \
      "Duplicate Dynamic QR request error")                                                        \
    X(PP_CODE_UNPAID, 400, "DYNAMIC_QR_PAYMENT_NOT_FOUND", "01652075",                             \
      "Dynamic QR payment not found")                                                              \
    X(PP_CODE_PAID, 400, "DYNAMIC_QR_ALREADY_PAID", "01652074", "Dynamic QR already paid")         \
    X(PP_CODE_MISSING, 404, "DYNAMIC_QR_NOT_FOUND", "01652072", "Dynamic qr code not found")       \
    X(PP_SIMILAR, 400, "SUSPECTED_DUPLICATE_PAYMENT", "99000001",                                  \
      "Suspected duplicate payment: same user, same amount, within 5 minutes")                     \
    X(PP_NO_FUND, 400, "NO_SUFFICIENT_FUND", "99000002", "No sufficient fund")                     \
    X(PP_NO_SUPPORT, 400, "UNSUPPORTED_PAYMENT_METHOD", "99000003",                                \
      "Payment method is not supported")                                                           \
    X(PP_CANCELED_USER, 400, "CANCELED_USER", "01103027", "Canceled user")                         \
    X(PP_OVER_LIMIT, 400, "UNACCEPTABLE_OP", "00400035",                                           \
      "Total transaction limit exceeds merchant limit")                                            \
    X(PP_NOT_REFUNDABLE, 400, "UNACCEPTABLE_OP", "00200013", "Order cannot be refunded")           \
    X(PP_SECOND_REFUND, 400, "UNACCEPTABLE_OP", "00200014", "Multiple refund not allowed")         \
    X(PP_REFUNDS_OVER, 400, "REFUND_LIMIT_EXCEEDED", "99000004", "Too many refunds of this order") \
    X(PP_REFUND_LATE, 400, "REFUND_WINDOW_EXCEED", "99000005", "The refund period is over")        \
    X(PP_NO_PREAUTH, 400, "PRE_AUTH_CAPTURE_UNSUPPORTED_MERCHANT", "00400060",                     \
      "Merchant do not support Pre-Auth-Capture")                                                  \
    X(PP_BAD_EXPIRY, 400, "PRE_AUTH_CAPTURE_INVALID_EXPIRY_DATE", "00400061",                      \
      "Provided Expiry Date is above the allowed limit of Max allowed expiry days")                \
    X(PP_ALREADY_CAPTURED, 400, "ALREADY_CAPTURED", "00200039",                                    \
      "Cannot capture already captured acquiring order")                                           \
    X(PP_REAUTHORIZES, 400, "REAUTHORIZATION_IN_PROGRESS", "00200038",                             \
      "Order is being reauthorized")                                                               \
    X(PP_ORDER_EXPIRED, 400, "ORDER_EXPIRED", "00200043",                                          \
      "Order cannot be captured or updated as it has already expired")                             \
    X(PP_NOT_CAPTURABLE, 400, "ORDER_NOT_CAPTURABLE", "00200035", "Order is not capturable")       \
    X(PP_HIGHER_CAPTURE, 400, "HIGHER_CAPTURE_NOT_PERMITTED", "00400062",                          \
      "Merchant not allowed to capture higher amount")                                             \
    X(PP_TOO_CLOSE, 400, "TOO_CLOSE_TO_EXPIRY", "00400064",                                        \
      "Order cannot be reauthorized as request is too close to expiry time")                       \
    X(PP_NOT_CANCELABLE, 400, "ORDER_NOT_CANCELABLE", "00200042", "Order is not cancelable")       \
    X(PP_NOT_REVERSIBLE, 400, "ORDER_NOT_REVERSIBLE", "00200044", "Order cannot be reversed")      \
    X(PP_UNAUTHORIZED, 401, "UNAUTHORIZED", "08100016", "Unauthorized request")                    \
    X(PP_OUT_OF_SCOPE, 401, "OP_OUT_OF_SCOPE", "08100023", "The operation is not permitted")       \
    X(PP_USER_UNKNOWN, 401, "INVALID_USER_AUTHORIZATION_ID", "99000006",                           \
      "The specified user authorization ID is invalid")                                            \
    X(PP_USER_EXPIRED, 401, "EXPIRED_USER_AUTHORIZATION_ID", "99000007",                           \
      "The user authorization ID expired")                                                         \
    X(PP_USER_INACTIVE, 401, "USER_STATE_IS_NOT_ACTIVE", "99000008", "Inactive user")              \
    X(PP_NOT_FOUND, 404, "RESOURCE_NOT_FOUND", "00200001", "Order not found")                      \
    X(PP_NO_CLIENT, 404, "OPA_CLIENT_NOT_FOUND", "08100007", "OPA Client not found")               \
    X(PP_NO_REFUND, 404, "NO_SUCH_REFUND_ORDER", "00200018", "Refund not found")                   \
    X(PP_NO_METHOD, 404, "NO_VALID_PAYMENT_METHOD", "99000009", "No available payment method")     \
    X(PP_METHOD_GONE, 404, "PAYMENT_METHOD_NOT_FOUND", "99000010", "Payment method not found")     \
    X(PP_RATE_LIMIT, 429, "RATE_LIMIT", "08100998", "Too many requests")                           \
    X(PP_FAILED, 500, "TRANSACTION_FAILED", "00200002", "Transaction failed")                      \
    X(PP_FAILED_TOO, 500, "TRANSACTION_FAILED", "00200003", "Transaction failed")                  \
    X(PP_BALANCE, 500, "TRANSACTION_FAILED", "00800017", "Balance exceeded")                       \
    X(PP_INTERNAL, 500, "INTERNAL_SERVER_ERROR", "08101000",                                       \
      "Something went wrong on PayPay service side")                                               \
    X(PP_TIMED_OUT, 500, "INTERNAL_SERVER_ERROR", "00200034", "Request timed out")                 \
    X(PP_SERVICE, 500, "SERVICE_ERROR", "08100026", "Service error")                               \
    X(PP_MAINTENANCE, 503, "MAINTENANCE_MODE", "08100999",                                         \
      "Sorry, we are down for scheduled maintenance")

#define PP_RESULT_NAME(name, status, code, number, message) name,
enum pp_result { PP_RESULT_LIST(PP_RESULT_NAME) PP_RESULTS };
#undef PP_RESULT_NAME

struct pp_result_row {
    int status;
    const char *code, *number, *message;
};
const struct pp_result_row *pp_result_row(enum pp_result r);

/* --- payments --- */

/*  X(name, wire) */
#define PP_STATUS_LIST(X)                                                                          \
    X(PP_AUTHORIZED, "AUTHORIZED")                                                                 \
    X(PP_REAUTHORIZING, "REAUTHORIZING")                                                           \
    X(PP_COMPLETED, "COMPLETED")                                                                   \
    X(PP_REFUNDED, "REFUNDED")                                                                     \
    X(PP_DECLINED, "FAILED")                                                                       \
    X(PP_CANCELED, "CANCELED")                                                                     \
    X(PP_EXPIRED, "EXPIRED")

#define PP_STATUS_NAME(name, wire) name,
enum pp_status { PP_STATUS_LIST(PP_STATUS_NAME) PP_STATUSES };
#undef PP_STATUS_NAME

struct str pp_status_text(enum pp_status s);
enum pp_status pp_status_of(struct str text); /* a text that no row can hold is EXPIRED */

enum pp_act { PP_DO_CAPTURE, PP_DO_REVERT, PP_DO_CANCEL, PP_DO_REFUND, PP_ACTS };
/* SUCCESS: the act is allowed in this state. Otherwise the result to answer with. */
enum pp_result pp_allowed(enum pp_act act, enum pp_status s);

/* --- users, by their authorization --- */

struct pp_user {
    enum pp_result result; /* SUCCESS: pays */
    bool leaves_payment;   /* a FAILED payment is stored */
};
/* The user behind an id. Every id that begins with "ua-" is known; some, like ua-no-fund, fail. */
struct pp_user pp_user_of(struct str authorization, bool preauthorize);

/* --- days, in Japan --- */

bool pp_cancel_in_time(int64_t paid_ms, int64_t now_ms);      /* before 00:15 of the next day */
bool pp_refund_in_time(int64_t completed_ms, int64_t now_ms); /* until the end of day 365 */
