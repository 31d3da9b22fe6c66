/* render.c - messages, dead messages and lines of the log as members of JSON objects. */
#include "qstash/render.h"

#include "base/json/json.h"
#include "base/json/write.h"
#include "qstash/dlq/dead_letter.h"
#include "qstash/header_json.h"

#include <openssl/evp.h>

/* --- parts --- */

void render_text(struct buf *b, const char *name, struct str s)
{
    if (s.n)
        out_text(b, name, s);
}

void render_base64(struct buf *b, const char *name, struct str bytes)
{
    size_t size = (bytes.n + 2) / 3 * 4;

    if (!bytes.n)
        return;
    out_name(b, name);
    buf_char(b, '"');
    if (buf_reserve(b, size + 1)) { /* EVP_EncodeBlock() adds a NUL */
        EVP_EncodeBlock((unsigned char *)b->p + b->n, (const unsigned char *)bytes.p, (int)bytes.n);
        b->n += size;
    }
    buf_char(b, '"');
}

/* As text if it is UTF-8, else base64 under the other name; empty: left out. */
static void render_bytes(struct buf *b, const char *name, const char *base64_name, struct str bytes)
{
    if (str_is_utf8(bytes))
        render_text(b, name, bytes);
    else
        render_base64(b, base64_name, bytes);
}

static void value_out(struct buf *b, struct str value, bool hidden, bool secret)
{
    char text[REDACTED];

    if (hidden)
        buf_json(b, redact_value(value, text));
    else
        buf_json(b, secret ? S("[redacted]") : value);
}

static void values_out(struct buf *b, const cJSON *values, bool hidden, bool secret)
{
    const cJSON *one;

    buf_char(b, '[');
    cJSON_ArrayForEach(one, values)
    {
        if (one != values->child)
            buf_char(b, ',');
        value_out(b, str_of(cJSON_GetStringValue(one)), hidden, secret);
    }
    buf_char(b, ']');
}

static void headers_out(struct buf *b, const cJSON *headers, struct arena *a,
                        const struct redact *hide)
{
    const cJSON *one;

    buf_char(b, '{');
    cJSON_ArrayForEach(one, headers)
    {
        struct str name = header_name(a, str_of(one->string));

        if (one != headers->child)
            buf_char(b, ',');
        buf_json(b, name);
        buf_char(b, ':');
        values_out(b, one, hide && redact_hides(hide, name),
                   hide && hide->secrets && redact_is_secret(name));
    }
    buf_char(b, '}');
}

void render_header(struct buf *b, const char *name, struct str json, const struct redact *hide)
{
    CLEANUP(json_freep) cJSON *headers = NULL;
    struct arena a;

    if (!json.n || json_parse(json, &headers, NULL) || !cJSON_IsObject(headers) || !headers->child)
        return;
    arena_init(&a, json.n * 2 + 1024);
    out_name(b, name);
    headers_out(b, headers, &a, hide);
    arena_release(&a);
}

void render_body(struct buf *b, const struct parcel *p, const struct redact *hide)
{
    char text[REDACTED];

    if (p->body.n && hide->body)
        out_text(b, "body", redact_value(p->body, text));
    else
        render_bytes(b, "body", "bodyBase64", p->body);
}

void render_callbacks(struct buf *b, const struct parcel *p, const struct redact *hide,
                      const char *header_name, const char *failure_header_name)
{
    static const char *const paths[] = { "callback.url", "callback.header", "failure.url",
                                         "failure.header" };
    static const char *const urls[] = { "callback", "failureCallback" };
    const char *const headers[] = { header_name, failure_header_name };
    struct json_value v[COUNT(paths)];

    if (!p->callbacks.n || json_pick(p->callbacks, paths, COUNT(paths), v, NULL))
        return;
    for (size_t i = 0; i < COUNT(urls); i++) {
        const struct json_value *url = &v[2 * i], *header = url + 1;

        if (url->type != JSON_STRING)
            continue;
        out_name(b, urls[i]);
        buf_char(b, '"');
        buf_add(b, url->raw); /* its escapes are JSON's already */
        buf_char(b, '"');
        if (header->type == JSON_OBJECT)
            render_header(b, headers[i], header->raw, hide);
    }
}

void render_flow(struct buf *b, const struct parcel *p)
{
    if (!p->flow_key.n)
        return;
    out_text(b, "flowControlKey", p->flow_key);
    if (p->flow.parallelism)
        out_int(b, "parallelism", p->flow.parallelism);
    if (p->flow.rate)
        out_int(b, "rate", p->flow.rate);
    out_int(b, "period", p->flow.period_s);
}

void render_labels(struct buf *b, const struct parcel *p)
{
    struct str rest = p->labels;

    if (!rest.n)
        return;
    out_text(b, "label", str_cut(&rest, ','));
    rest = p->labels;
    out_name(b, "labels");
    buf_char(b, '[');
    while (rest.n) {
        buf_json(b, str_cut(&rest, ','));
        if (rest.n)
            buf_char(b, ',');
    }
    buf_char(b, ']');
}

void render_caller(struct buf *b, const struct parcel *p)
{
    out_text(b, "callerIP", p->caller_ip);
    out_text(b, "callerIp", p->caller_ip);
}

/* --- messages and dead letters --- */

static void message_id_out(struct buf *b, struct uuid id)
{
    char text[MESSAGE_ID_TEXT + 1];

    message_id_text(id, text);
    out_text(b, "messageId", str_of(text));
}

static void group_out(struct buf *b, const struct parcel *p)
{
    render_text(b, "topicName", p->topic);
    render_text(b, "endpointName", p->endpoint);
}

void render_message(struct buf *b, const struct parcel *p)
{
    const struct redact hide = redact_of(p->redact);

    message_id_out(b, p->id);
    out_text(b, "url", p->url);
    group_out(b, p);
    out_text(b, "method", p->method);
    render_header(b, "header", p->header, &hide);
    render_body(b, p, &hide);
    out_int(b, "maxRetries", p->retries);
    render_text(b, "retryDelayExpression", p->retry_delay);
    out_int(b, "notBefore", p->not_before_ms);
    out_int(b, "createdAt", p->created_ms);
    render_callbacks(b, p, &hide, "callbackHeader", "failureCallbackHeader");
    render_text(b, "queueName", p->queue);
    render_text(b, "scheduleId", p->schedule_id);
    render_caller(b, p);
    render_flow(b, p);
    render_labels(b, p);
}

void render_dead(struct buf *b, const struct parcel *p, const struct dead *d)
{
    char id[DLQ_ID_TEXT];

    dlq_id_text(d->died_ms, d->seq, id);
    out_text(b, "dlqId", str_of(id));
    render_message(b, p);
    out_int(b, "responseStatus", d->status);
    render_header(b, "responseHeader", d->response_header, NULL);
    render_bytes(b, "responseBody", "responseBodyBase64", d->response_body);
}

/* --- the log --- */

/* Always base64, hidden or not: readers of the log decode it. */
static void logged_body_out(struct buf *b, const struct parcel *p, const struct redact *hide)
{
    char text[REDACTED];

    if (p->body.n)
        render_base64(b, "body", hide->body ? redact_value(p->body, text) : p->body);
}

static void logged_content_out(struct buf *b, const struct parcel *p)
{
    const struct redact hide = redact_of(p->redact);

    group_out(b, p);
    render_text(b, "queueName", p->queue);
    render_text(b, "scheduleId", p->schedule_id);
    render_header(b, "header", p->header, &hide);
    logged_body_out(b, p, &hide);
    out_text(b, "method", p->method);
    if (p->timeout_ms)
        out_int(b, "timeout", p->timeout_ms);
    out_int(b, "maxRetries", p->retries);
    render_text(b, "retryDelayExpression", p->retry_delay);
    render_text(b, "retryDelayExpr", p->retry_delay);
    render_callbacks(b, p, &hide, "callbackHeaders", "failureCallbackHeaders");
    render_labels(b, p);
    render_flow(b, p);
    render_caller(b, p);
}

void render_log(struct buf *b, const struct log_entry *e, const struct parcel *p)
{
    out_int(b, "time", e->at_ms);
    message_id_out(b, e->id);
    out_text(b, "state", str_of(qstash_state_word(e->state)));
    out_name(b, "url");
    buf_json(b, p ? p->url : S(""));
    render_text(b, "error", e->error);
    if (e->next_ms)
        out_int(b, "nextDeliveryTime", e->next_ms);
    if (p)
        logged_content_out(b, p);
    if (!e->answered)
        return;
    out_int(b, "responseStatus", e->status);
    render_base64(b, "responseBody", e->response_body);
    render_header(b, "responseHeaders", e->response_header, NULL);
    render_header(b, "responseHeader", e->response_header, NULL);
}
