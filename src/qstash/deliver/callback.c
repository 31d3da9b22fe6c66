/* callback.c - makes the message that reports an attempt of another one (section 8 of the
 * reference): its options from the source's configuration, its body from the attempt. */
#include "qstash/deliver/callback.h"

#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "qstash/header_json.h"
#include "qstash/render.h"

/* --- its options --- */

enum { URL, METHOD, RETRIES, RETRY_DELAY, TIMEOUT, HEADER, FIELDS };

static enum err callback_pick(const struct parcel *source, bool failure,
                              struct json_value v[FIELDS])
{
    static const char *const callback[FIELDS] = { "callback.url",       "callback.method",
                                                  "callback.retries",   "callback.retryDelay",
                                                  "callback.timeoutMs", "callback.header" };
    static const char *const failed[FIELDS] = { "failure.url",       "failure.method",
                                                "failure.retries",   "failure.retryDelay",
                                                "failure.timeoutMs", "failure.header" };

    if (!source->callbacks.n)
        return ERR_NOT_FOUND;
    if (json_pick(source->callbacks, failure ? failed : callback, FIELDS, v, NULL))
        return ERR_INTERNAL;
    return v[URL].type == JSON_ABSENT ? ERR_NOT_FOUND : OK;
}

static enum err read_text(struct arena *a, const struct json_value *v, struct str otherwise,
                          struct str *ret_text)
{
    *ret_text = otherwise;
    return v->type == JSON_STRING ? json_unescape(a, v, ret_text) : OK;
}

static void read_number(const struct json_value *v, int64_t *ret_number)
{
    if (v->type == JSON_NUMBER)
        str_to_i64(v->raw, ret_number);
}

static enum err callback_header(struct arena *a, struct str forwarded, struct str *ret_json)
{
    struct header *given, *all;
    size_t count, n = 0;
    struct buf b;
    enum err e = header_json_read(a, forwarded, &given, &count);

    if (e)
        return e;
    all = arena_alloc(a, count + 1, sizeof(*all));
    if (!all)
        return ERR_NO_MEMORY;
    all[n++] = (struct header){ S("Content-Type"), S("application/json") };
    for (size_t i = 0; i < count; i++) {
        if (str_eq_nocase(given[i].name, S("Content-Type")))
            continue; /* the body is always JSON */
        all[n] = (struct header){ given[i].name, header_text(a, given[i].value) };
        if (!all[n++].value.p)
            return ERR_NO_MEMORY;
    }
    buf_init(&b, LIMIT_QSTASH_ARENA);
    header_json_write(&b, all, n);
    *ret_json = out_done(&b, a);
    return ret_json->p ? OK : ERR_NO_MEMORY;
}

static enum err callback_options(struct arena *a, const struct json_value v[FIELDS],
                                 struct parcel *p)
{
    struct str url, header = v[HEADER].type == JSON_OBJECT ? v[HEADER].raw : (struct str){ 0 };
    enum err e = read_text(a, &v[URL], (struct str){ 0 }, &url);

    if (!e)
        e = read_text(a, &v[METHOD], S("POST"), &p->method);
    if (!e)
        e = read_text(a, &v[RETRY_DELAY], (struct str){ 0 }, &p->retry_delay);
    if (!e)
        e = callback_header(a, header, &p->header);
    if (e)
        return e;
    read_number(&v[RETRIES], &p->retries);
    read_number(&v[TIMEOUT], &p->timeout_ms);
    return parcel_set_url(p, url) ? OK : ERR_INTERNAL; /* it was checked before it was stored */
}

/* --- its body --- */

static void put_base64(struct buf *b, const char *name, struct str bytes)
{
    if (bytes.n)
        render_base64(b, name, bytes);
    else
        out_json(b, name, S("\"\"")); /* out_text() would write null */
}

static void put_header(struct buf *b, const char *name, struct str json)
{
    out_name(b, name);
    buf_add(b, json.n ? json : S("{}"));
}

static void put_attempt(struct buf *b, const struct attempt *at)
{
    buf_fmt(b, "{\"status\":%d", at->status);
    put_header(b, "header", at->response_header);
    put_base64(b, "body", at->response_body);
}

static void put_source(struct buf *b, const struct parcel *p)
{
    char id[MESSAGE_ID_TEXT + 1];

    message_id_text(p->id, id);
    out_text(b, "sourceMessageId", str_of(id));
    render_text(b, "topicName", p->topic);
    render_text(b, "endpointName", p->endpoint);
    out_text(b, "url", p->url);
    out_text(b, "method", p->method);
    put_header(b, "sourceHeader", p->header);
    put_base64(b, "sourceBody", p->body);
    out_int(b, "notBefore", p->not_before_ms);
    out_int(b, "createdAt", p->created_ms);
    render_text(b, "scheduleId", p->schedule_id);
    render_text(b, "callerIP", p->caller_ip);
}

static enum err callback_body(struct arena *a, const struct parcel *p, const struct attempt *at,
                              int64_t retried, struct str dlq_id, struct str *ret_body)
{
    struct buf b;

    buf_init(&b, LIMIT_QSTASH_ARENA);
    put_attempt(&b, at);
    out_int(&b, "retried", retried);
    out_int(&b, "maxRetries", p->retries);
    render_text(&b, "dlqId", dlq_id);
    put_source(&b, p);
    buf_char(&b, '}');
    *ret_body = out_done(&b, a);
    return ret_body->p ? OK : ERR_NO_MEMORY;
}

enum err callback_make(struct arena *a, const struct parcel *source, const struct attempt *at,
                       int64_t retried, bool failure, struct str dlq_id, struct parcel *ret_parcel)
{
    struct parcel p = { .has_source = true,
                        .source = source->id,
                        .retries = source->retries,
                        .caller_ip = source->caller_ip,
                        .flow.period_s = 1 };
    struct json_value v[FIELDS];
    enum err e = callback_pick(source, failure, v);

    if (!e)
        e = callback_options(a, v, &p);
    if (!e)
        e = callback_body(a, source, at, retried, failure ? dlq_id : (struct str){ 0 }, &p.body);
    if (e)
        return e;
    if (source->redact.n) /* this body contains what the source hides */
        p.redact = S("body");
    *ret_parcel = p;
    return OK;
}
