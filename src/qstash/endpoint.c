/* endpoint.c - all paths under /v2/: token, route, answers.
 *
 * Routes are matched against the raw path. It may contain a destination as it is
 * ("/v2/publish/https://h/a?b=c"), so nothing may be decoded, merged or normalized before the route
 * is known. */
#include "qstash/endpoint.h"

#include "base/limits.h"
#include "http/message/target.h"
#include "observe/log.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>

/* --- answers --- */

static void reply_json(struct qstash_request *v, int status, struct str json)
{
    reply_send(v->r, status, S("application/json"), json);
}

void qstash_reply(struct qstash_request *v, int status, struct buf *b)
{
    if (b->failed)
        qstash_reply_err(v, ERR_NO_MEMORY);
    else
        reply_json(v, status, buf_str(b));
    buf_release(b);
}

void qstash_reply_empty(struct qstash_request *v)
{
    reply_json(v, 200, S("{}"));
}

static void write_error(struct buf *out, struct str words)
{
    buf_add(out, S("{\"error\":"));
    buf_json(out, words);
    buf_char(out, '}');
}

void qstash_problem(struct buf *out, enum err e, const char *words)
{
    (void)e;
    write_error(out, str_of(words));
}

static void send_error(struct qstash_request *v, int status, struct str words)
{
    struct buf b;

    buf_init(&b, 8 * 1024);
    write_error(&b, words);
    reply_json(v, status, buf_str(&b));
    buf_release(&b);
}

void qstash_reply_error(struct qstash_request *v, int status, const char *format, ...)
{
    char words[512];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    send_error(v, status, str_of(words));
}

void qstash_reply_err(struct qstash_request *v, enum err e)
{
    int status = err_status(e);

    if (status >= 500)
        LOG(v->q->env->log, status == 503 ? LOG_WARN : LOG_ERROR, "A QStash call failed",
            LOG_TEXT("code", str_of(err_code(e))), LOG_TEXT("requestId", v->r->id));
    if (status == 503)
        reply_header(v->r, S("Retry-After"), S("1"));
    send_error(v, status, str_of(err_words(e, LANG_EN)));
}

/* --- the query --- */

struct str qstash_request_query(struct qstash_request *v, struct str key)
{
    struct str rest = v->query;

    while (rest.n) {
        struct str pair = str_cut(&rest, '&'), name = str_cut(&pair, '=');

        if (str_eq(name, key))
            return percent_decode(&v->r->arena, pair);
    }
    return (struct str){ 0 };
}

/* --- the token --- */

static struct str token_of(struct qstash_request *v)
{
    struct str header = request_header(v->r, S("Authorization"), NULL);
    struct str scheme = str_cut(&header, ' ');

    return str_eq_nocase(scheme, S("Bearer")) ? str_trim(header)
                                              : qstash_request_query(v, S("qstash_token"));
}

static bool token_is_valid(struct qstash_request *v)
{
    struct str token = token_of(v), ours = v->q->token;

    return ours.n && token.n == ours.n && !CRYPTO_memcmp(token.p, ours.p, ours.n);
}

/* --- the route --- */

static const struct {
    const char *method, *path;
    qstash_handler handle;
} routes[] = {
    { "POST", "publish/*", qstash_publish },
    { "PUT", "publish/*", qstash_publish },
    { "PATCH", "publish/*", qstash_publish },
    { "GET", "publish/*", qstash_publish },
    { "DELETE", "publish/*", qstash_publish },
    { "POST", "enqueue/{}/*", qstash_enqueue },
    { "POST", "batch", qstash_batch },
    { "GET", "messages/{}", qstash_message_get },
    { "DELETE", "messages/{}", qstash_message_cancel },
    { "DELETE", "messages", qstash_messages_cancel },
    { "GET", "events", qstash_logs },
    { "GET", "logs", qstash_logs },
    { "GET", "dlq", qstash_dlq_list },
    { "GET", "dlq/{}", qstash_dlq_get },
    { "DELETE", "dlq/{}", qstash_dlq_delete },
    { "DELETE", "dlq", qstash_dlq_delete_many },
    { "POST", "dlq/retry", qstash_dlq_retry },
    { "POST", "dlq/retry/{}", qstash_dlq_retry_one },
    { "POST", "queues", qstash_queue_upsert },
    { "GET", "queues", qstash_queue_list },
    { "GET", "queues/{}", qstash_queue_get },
    { "DELETE", "queues/{}", qstash_queue_delete },
    { "POST", "queues/{}/pause", qstash_queue_pause },
    { "POST", "queues/{}/resume", qstash_queue_resume },
    { "GET", "schedules", qstash_schedule_list },
    { "GET", "schedules/{}", qstash_schedule_get },
    { "DELETE", "schedules/{}", qstash_schedule_delete },
    { "PATCH", "schedules/{}/pause", qstash_schedule_pause },
    { "PATCH", "schedules/{}/resume", qstash_schedule_resume },
    { "POST", "schedules/{}/pause", qstash_schedule_pause },
    { "POST", "schedules/{}/resume", qstash_schedule_resume },
    { "POST", "schedules/*", qstash_schedule_create },
    { "POST", "topics/{}/endpoints", qstash_group_add },
    { "DELETE", "topics/{}/endpoints", qstash_group_remove },
    { "GET", "topics", qstash_group_list },
    { "GET", "topics/{}", qstash_group_get },
    { "DELETE", "topics/{}", qstash_group_delete },
    { "GET", "flowControl", qstash_flow_list },
    { "GET", "flowControl/{}", qstash_flow_get },
    { "POST", "flowControl/{}/pause", qstash_flow_pause },
    { "POST", "flowControl/{}/resume", qstash_flow_resume },
    { "POST", "flowControl/{}/pin", qstash_flow_pin },
    { "POST", "flowControl/{}/unpin", qstash_flow_unpin },
    { "POST", "flowControl/{}/resetRate", qstash_flow_reset_rate },
    { "GET", "globalParallelism", qstash_global_parallelism },
    { "GET", "keys", qstash_keys_get },
    { "POST", "keys/rotate", qstash_keys_rotate },
};

/* Parameters of raw routes are unchecked, and neither database accepts other text. */
static bool is_text(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return str_is_utf8(s);
}

static bool route_take_param(struct qstash_request *v, size_t at, struct str segment)
{
    v->param[at] = percent_decode(&v->r->arena, segment);
    return segment.n && v->param[at].p && is_text(v->param[at]);
}

/* The first segment matches in any case: some SDKs write /v2/Schedules. */
static bool route_matches(struct qstash_request *v, struct str pattern, struct str path)
{
    size_t params = 0;
    bool first = true;

    while (pattern.n) {
        struct str want = str_cut(&pattern, '/');

        if (str_eq(want, S("*"))) {
            v->rest = path;
            return path.n;
        }
        struct str have = str_cut(&path, '/');

        if (str_eq(want, S("{}")) ? !route_take_param(v, params++, have)
            : first               ? !str_eq_nocase(want, have)
                                  : !str_eq(want, have))
            return false;
        first = false;
    }
    return !path.n; /* one '/' at the end was cut off with the segment before it */
}

/* Whether a parameter is really the beginning of a destination. */
static bool is_address(struct str s)
{
    return str_starts(s, S("http:")) || str_starts(s, S("https:")) || str_starts(s, S("http%3A")) ||
           str_starts(s, S("https%3A"));
}

static qstash_handler route_find(struct qstash_request *v, struct str path, bool *ret_other_method)
{
    *ret_other_method = false;
    for (size_t i = 0; i < COUNT(routes); i++) {
        struct str pattern = str_of(routes[i].path);

        if (!route_matches(v, pattern, path) ||
            (!str_ends(pattern, S("*")) && is_address(v->param[0])))
            continue;
        if (str_eq(v->r->method, str_of(routes[i].method)))
            return routes[i].handle;
        *ret_other_method = true;
    }
    return NULL;
}

/* "/v2/a/b" gives "a/b", as a slice: on a raw route, path and query are neighbours in the
 * target. */
static struct str path_after_prefix(struct str path)
{
    size_t n = sizeof("/v2/") - 1;

    assert(str_starts(path, S("/v2/")));
    return (struct str){ path.p + n, path.n - n };
}

void qstash_handle(struct request *r, void *qstash)
{
    struct qstash_request *v = arena_alloc(&r->arena, 1, sizeof(*v));
    bool other_method;
    struct str path;
    qstash_handler handle;

    if (!v) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    *v = (struct qstash_request){ .q = qstash, .r = r, .query = r->query };
    path = path_after_prefix(r->path);
    if (!token_is_valid(v)) {
        qstash_reply_error(v, 401, "unauthorized: the bearer token is missing or wrong");
        return;
    }
    handle = route_find(v, path, &other_method);
    if (handle)
        handle(v);
    else if (other_method)
        qstash_reply_error(v, 405, "this path does not take " STR_FMT, STR_ARG(r->method));
    else
        qstash_reply_error(v, 404, "there is no such endpoint here");
}
