/* answer.c - FCM's errors, as a table.
 *
 * The row is found by errorCode of the detail that is an FcmError, else by `status`, else by the
 * HTTP status. The body may not be JSON: Google's front end answers in HTML. */
#include "notify/fcm/answer.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "domain/retry.h"

#include <assert.h>
#include <stdlib.h>

#define FCM_ERROR "type.googleapis.com/google.firebase.fcm.v1.FcmError"
#define BAD_REQUEST "type.googleapis.com/google.rpc.BadRequest"

enum from { DETAIL = 1, STATUS = 2, BOTH = 3 };

/* A device is deleted only where FCM says that this device is gone. A token of another project does
 * not count: with the wrong account configured, all devices would be lost. What only an operator
 * can correct raises an alarm and is retried for a day, then it is a dead letter. */
static const struct meaning {
    const char *code;
    enum from from;
    enum fcm_end end;
    bool alarm;
    int64_t usual_ms; /* without Retry-After; -1: by the retry policy */
    int64_t least_ms;
} rows[] = {
    { "UNREGISTERED", DETAIL, FCM_GONE, false, -1, 0 },
    { "INVALID_ARGUMENT", BOTH, FCM_NEVER, false, -1, 0 }, /* or GONE: fcm_answer_is_bad_token() */
    { "SENDER_ID_MISMATCH", DETAIL, FCM_LATER, true, -1, 0 },
    { "THIRD_PARTY_AUTH_ERROR", DETAIL, FCM_LATER, true, -1, 0 },
    { "UNAUTHENTICATED", STATUS, FCM_REFRESH, true, -1, 0 },
    { "PERMISSION_DENIED", STATUS, FCM_LATER, true, -1, 0 },
    { "NOT_FOUND", STATUS, FCM_LATER, true, -1, 0 }, /* the project, not the device */
    { "QUOTA_EXCEEDED", DETAIL, FCM_LATER, false, LIMIT_FCM_QUOTA_MS, 0 },
    { "RESOURCE_EXHAUSTED", STATUS, FCM_LATER, false, LIMIT_FCM_QUOTA_MS, 0 },
    { "UNAVAILABLE", BOTH, FCM_LATER, false, -1, 0 },
    { "INTERNAL", BOTH, FCM_LATER, false, LIMIT_FCM_INTERNAL_MS, LIMIT_FCM_INTERNAL_MS },
    { "UNSPECIFIED_ERROR", DETAIL, FCM_LATER, false, -1, 0 },
    /* The front end got no answer from the rest of FCM: the push may have been sent. */
    { "DEADLINE_EXCEEDED", STATUS, FCM_UNKNOWN, false, -1, 0 },
    /* Where no code was found: by the class of the HTTP status. */
    { "a redirection", 0, FCM_LATER, true, -1, 0 },
    { "a refusal", 0, FCM_NEVER, false, -1, 0 },
    { "a failure", 0, FCM_LATER, false, -1, 0 },
};
_Static_assert(COUNT(rows) <= FCM_ROWS, "an alarm for each");

static const struct meaning *fcm_answer_find(struct str code, enum from from)
{
    for (size_t i = 0; code.n && i < COUNT(rows); i++)
        if ((rows[i].from & from) && str_eq(code, str_of(rows[i].code)))
            return &rows[i];
    return NULL;
}

static struct str fcm_answer_text(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return str_of(cJSON_IsString(item) ? item->valuestring : NULL);
}

/* Returns the detail of that type, or NULL. */
static const cJSON *fcm_answer_detail(const cJSON *error, struct str type)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(error, "details"))
    {
        if (cJSON_IsObject(item) && str_eq(fcm_answer_text(item, "@type"), type))
            return item;
    }
    return NULL;
}

static bool fcm_answer_contains(struct str text, struct str words)
{
    for (size_t i = 0; i + words.n <= text.n; i++)
        if (str_eq_nocase((struct str){ text.p + i, words.n }, words))
            return true;
    return false;
}

/* A BadRequest is about a field of the request, not about the device. */
static bool fcm_answer_is_bad_token(const cJSON *error)
{
    const cJSON *fcm = fcm_answer_detail(error, S(FCM_ERROR));

    return fcm && str_eq(fcm_answer_text(fcm, "errorCode"), S("INVALID_ARGUMENT")) &&
           !fcm_answer_detail(error, S(BAD_REQUEST)) &&
           fcm_answer_contains(fcm_answer_text(error, "message"), S("registration token"));
}

static const char *fcm_answer_name(int status)
{
    switch (status) {
    case 400: return "INVALID_ARGUMENT";
    case 401: return "UNAUTHENTICATED";
    case 403: return "PERMISSION_DENIED";
    case 404: return "NOT_FOUND";
    case 408:
    case 503: return "UNAVAILABLE";
    case 429: return "RESOURCE_EXHAUSTED";
    case 500: return "INTERNAL";
    case 502: /* from a proxy that lost the answer (D28) */
    case 504: return "DEADLINE_EXCEEDED";
    default: return status >= 500 ? "a failure" : status >= 400 ? "a refusal" : "a redirection";
    }
}

static const struct meaning *fcm_answer_row_by_http(int status)
{
    struct str name = str_of(fcm_answer_name(status));

    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_eq(name, str_of(rows[i].code)))
            return &rows[i];
    abort(); /* fcm_answer_name() returns only names of the table */
}

static const struct meaning *fcm_answer_row(const cJSON *error, int status)
{
    const cJSON *fcm = fcm_answer_detail(error, S(FCM_ERROR));
    const struct meaning *row =
        fcm ? fcm_answer_find(fcm_answer_text(fcm, "errorCode"), DETAIL) : NULL;

    if (!row)
        row = fcm_answer_find(fcm_answer_text(error, "status"), STATUS);
    return row ? row : fcm_answer_row_by_http(status);
}

static int64_t fcm_answer_wait_ms(const struct meaning *row, struct str retry_after,
                                  int64_t wall_ms)
{
    int64_t ms = retry_after_ms(retry_after, wall_ms);

    if (ms < 0)
        ms = row->usual_ms;
    return ms >= 0 && ms < row->least_ms ? row->least_ms : ms;
}

struct fcm_verdict fcm_answer(int status, struct str retry_after, struct str body, int64_t wall_ms)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    const struct meaning *row;
    const cJSON *error;
    struct fcm_verdict v;

    assert(status);
    if (status >= 200 && status < 300)
        return (struct fcm_verdict){ .end = FCM_SENT, .retry_after_ms = -1, .code = "OK" };
    if (json_parse(body, &tree, NULL))
        tree = NULL;
    error = cJSON_GetObjectItemCaseSensitive(tree, "error");
    row = fcm_answer_row(error, status);
    v = (struct fcm_verdict){ .end = row->end,
                              .retry_after_ms = fcm_answer_wait_ms(row, retry_after, wall_ms),
                              .alarm = row->alarm,
                              .row = (int)(row - rows),
                              .code = row->code };
    if (row == fcm_answer_find(S("INVALID_ARGUMENT"), BOTH) && fcm_answer_is_bad_token(error))
        v.end = FCM_GONE;
    return v;
}
