/* reply.c - puts a reply together in one piece, so that one write sends it. */
#include "base/limits.h"
#include "http/conn.h"
#include "http/exchange.h"
#include "http/problem.h"
#include "http/server.h"
#include "observe/log.h"

#include <string.h>

static bool is_safe(struct str s)
{
    return !s.n || (!memchr(s.p, '\r', s.n) && !memchr(s.p, '\n', s.n) && !memchr(s.p, '\0', s.n));
}

static bool is_ours(struct str name)
{
    return str_eq_nocase(name, S("Content-Length")) || str_eq_nocase(name, S("Connection")) ||
           str_eq_nocase(name, S("Transfer-Encoding")) || str_eq_nocase(name, S("Date"));
}

static void add_header(struct buf *b, struct str name, struct str value)
{
    buf_add(b, name);
    buf_add(b, S(": "));
    buf_add(b, value);
    buf_add(b, S("\r\n"));
}

void reply_header(struct request *r, struct str name, struct str value)
{
    struct exchange *x = CONTAINER_OF(r, struct exchange, request);

    if (!name.n || !is_safe(name) || !is_safe(value) || is_ours(name))
        return;
    if (name.n + value.n + 4 > LIMIT_REPLY_HEADERS - x->headers.n)
        return; /* a header is added whole or not at all */
    x->has_cache_control |= str_eq_nocase(name, S("Cache-Control"));
    x->has_retry_after |= str_eq_nocase(name, S("Retry-After"));
    add_header(&x->headers, name, value);
}

static void add_status(struct buf *b, int status)
{
    buf_add(b, S("HTTP/1.1 "));
    buf_i64(b, status);
    buf_char(b, ' ');
    buf_add(b, str_of(status_phrase(status)));
    buf_add(b, S("\r\n"));
}

/* The headers of every reply. */
static void add_common(struct exchange *x, struct buf *b, int status)
{
    char trace[TRACE_TEXT + 1];

    trace_text(&x->request.trace, trace);
    add_status(b, status);
    add_header(b, S("Date"), str_of(loop_date(x->loop)));
    add_header(b, S("X-Request-Id"), x->request.id);
    add_header(b, S("traceparent"), (struct str){ trace, TRACE_TEXT });
    buf_add(b, S("X-Content-Type-Options: nosniff\r\n"));
    buf_add(b, buf_str(&x->headers));
    if (status >= 400 && !x->has_cache_control)
        buf_add(b, S("Cache-Control: no-store\r\n"));
    if (x->close)
        buf_add(b, S("Connection: close\r\n"));
    else if (x->parser.http_1_0)
        buf_add(b, S("Connection: keep-alive\r\n"));
}

static void write_reply(struct exchange *x, int status, struct str type, struct str body)
{
    struct buf *b = &x->loop->out;

    buf_clear(b);
    add_common(x, b, status);
    if (status == 204 || status == 304) {
        buf_add(b, S("\r\n"));
        return;
    }
    if (type.n && is_safe(type))
        add_header(b, S("Content-Type"), type);
    buf_add(b, S("Content-Length: "));
    buf_i64(b, (int64_t)body.n);
    buf_add(b, S("\r\n\r\n"));
    if (!str_eq(x->request.method, S("HEAD")))
        buf_add(b, (struct str){ body.p, body.n - x->cut });
}

static void reply_report(struct exchange *x, int status, enum err e)
{
    const struct server_options *o = &x->loop->server->options;

    if (x->refused && o->refused)
        o->refused(o->ctx, e, x->request.peer_ip);
    else if (!x->refused && o->replied)
        o->replied(o->ctx, &x->request, status);
}

/* A second answer is a bug of the handler. The first one stands; this one is dropped. */
static bool is_second(const struct exchange *x)
{
    if (x->answered)
        LOG(x->request.env->log, LOG_ERROR, "A request was answered twice: please report this bug",
            LOG_TEXT("path", x->request.path));
    return x->answered;
}

static void send_reply(struct exchange *x, int status, struct str type, struct str body, enum err e)
{
    struct loop *l = x->loop;
    struct conn *c = x->conn;
    bool close;

    if (is_second(x))
        return;
    exchange_identify(x);
    x->close |= !x->parser.keep_alive || server_stopping(l->server);
    close = x->close;
    if (c)
        write_reply(x, status, type, body);
    reply_report(x, status, e);
    if (c)
        c->exchange = NULL;
    exchange_free(x);
    if (c && l->out.failed)
        conn_close(c);
    else if (c)
        conn_reply(c, buf_str(&l->out), close);
    if (l->out.size > LIMIT_PENDING)
        buf_release(&l->out);
    server_loop_settled(l);
}

void reply_drop(struct request *r)
{
    struct exchange *x = CONTAINER_OF(r, struct exchange, request);
    struct loop *l = x->loop;
    struct conn *c = x->conn;

    if (is_second(x))
        return;
    if (c)
        c->exchange = NULL;
    exchange_free(x);
    if (c)
        conn_close(c);
    server_loop_settled(l);
}

void reply_send(struct request *r, int status, struct str content_type, struct str body)
{
    send_reply(CONTAINER_OF(r, struct exchange, request), status, content_type, body, OK);
}

void reply_cut(struct request *r, int status, struct str content_type, struct str body, size_t cut)
{
    struct exchange *x = CONTAINER_OF(r, struct exchange, request);

    x->cut = cut < body.n ? cut : body.n;
    x->close |= x->cut > 0;
    send_reply(x, status, content_type, body, OK);
}

void reply_problem(struct request *r, enum err e, const char *detail)
{
    reply_problem_errors(r, e, detail, S(""));
}

void reply_problem_errors(struct request *r, enum err e, const char *detail, struct str errors)
{
    reply_problem_more(r, e, detail, errors, S(""));
}

static void add_retry_after(struct exchange *x, enum err e)
{
    char seconds[2] = { (char)('0' + retry_after_s(e)), 0 };

    if (retry_after_s(e) && !x->has_retry_after)
        reply_header(&x->request, S("Retry-After"), str_of(seconds));
}

void reply_problem_more(struct request *r, enum err e, const char *detail, struct str errors,
                        struct str members)
{
    struct exchange *x = CONTAINER_OF(r, struct exchange, request);
    struct str type = S("application/problem+json");
    struct buf body;

    exchange_identify(x);
    buf_init(&body, LIMIT_REPLY);
    add_retry_after(x, e);
    if (r->route && r->route->problem) {
        type = S("application/json");
        r->route->problem(&body, e, detail ? detail : err_words(e, LANG_EN));
    } else {
        problem_write(&body, e, r->language, detail, r->id, errors, members);
        reply_header(r, S("Content-Language"), r->language == LANG_JA ? S("ja") : S("en"));
    }
    send_reply(x, err_status(e), type, buf_str(&body), e);
    buf_release(&body);
}
