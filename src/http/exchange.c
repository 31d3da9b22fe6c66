/* exchange.c - the life of a request: begun with its connection's first byte, admitted when a handler
 * has it, answered once, and recycled when the function that answered it has returned. */
#include "http/exchange.h"

#include "base/limits.h"
#include "http/conn.h"
#include "http/message/target.h"
#include "http/problem.h"
#include "http/router.h"
#include "http/server.h"
#include "observe/log.h"
#include "observe/span.h"

#include <stdlib.h>
#include <string.h>

/* With AddressSanitizer a request is freed when it is answered and its memory is never reused, so any
 * access after the answer is reported with its line. Without it the memory stays valid until the
 * function that answered has returned, so that such a mistake reads old bytes at worst. */
#ifdef __SANITIZE_ADDRESS__
enum { KEEPS_ANSWERED = 0, SPARE_EXCHANGES = 0 };
#else
enum { KEEPS_ANSWERED = 1, SPARE_EXCHANGES = LIMIT_SPARE_EXCHANGES };
#endif

static struct exchange *exchange_take_spare(struct loop *l)
{
    struct exchange *x = l->spare;

    if (x) {
        l->spare = x->next;
        l->spare_count--;
        return x;
    }
    x = calloc(1, sizeof(*x));
    if (!x)
        return NULL;
    parser_init(&x->parser, &x->request.arena);
    buf_init(&x->headers, LIMIT_REPLY_HEADERS);
    arena_init(&x->request.arena, LIMIT_REQUEST_ARENA);
    return x;
}

struct exchange *exchange_new(struct loop *l, struct conn *c)
{
    struct exchange *x = exchange_take_spare(l);

    if (!x)
        return NULL;
    x->loop = l;
    x->conn = c;
    x->request.executor = &l->executor;
    x->request.server = l->server;
    x->request.env = l->server->options.env;
    conn_peer(c, &x->request.peer, x->ip);
    x->request.peer_ip = str_of(x->ip);
    return x;
}

static void exchange_destroy(struct exchange *x)
{
    parser_release(&x->parser);
    buf_release(&x->headers);
    free(x);
}

void exchange_admit(struct exchange *x)
{
    struct loop *l = x->loop;

    x->admitted = true;
    x->before = NULL;
    x->next = l->admitted;
    if (l->admitted)
        l->admitted->before = x;
    l->admitted = x;
    l->live++;
    atomic_fetch_add(&l->server->in_flight, 1);
}

static void exchange_dismiss(struct exchange *x)
{
    struct loop *l = x->loop;

    if (x->before)
        x->before->next = x->next;
    else
        l->admitted = x->next;
    if (x->next)
        x->next->before = x->before;
    l->live--;
    atomic_fetch_sub(&l->server->in_flight, 1);
}

/* Keeps the structure as a spare one, or frees it. */
static void exchange_recycle(struct exchange *x)
{
    struct loop *l = x->loop;
    struct arena arena = { .limit = LIMIT_REQUEST_ARENA };
    struct parser parser;
    struct buf headers;

    arena_release(&x->request.arena);
    if (l->spare_count >= SPARE_EXCHANGES) {
        exchange_destroy(x);
        return;
    }
    parser_reset(&x->parser);
    buf_clear(&x->headers);
    parser = x->parser;
    headers = x->headers;
    *x = (struct exchange){ .next = l->spare, .parser = parser, .headers = headers };
    x->request.arena = arena;
    l->spare = x;
    l->spare_count++;
}

void exchange_free(struct exchange *x)
{
    struct loop *l = x->loop;

    if (x->admitted)
        exchange_dismiss(x);
    l->body_bytes -= x->body_bytes;
    x->answered = true;
    if (!KEEPS_ANSWERED) {
        exchange_recycle(x);
        return;
    }
    x->conn = NULL;
    x->next = l->answered;
    l->answered = x;
}

void exchanges_recycle(struct loop *l, const struct exchange *until)
{
    while (l->answered != until) {
        struct exchange *x = l->answered;

        l->answered = x->next;
        exchange_recycle(x);
    }
}

/* The server has ended, so these requests get no answer. Unless the stop was forced after
 * LIMIT_SHUTDOWN_MS, their handlers have forgotten to answer. */
static void exchanges_report_unanswered(const struct loop *l)
{
    const struct env *env = l->server->options.env;

    for (const struct exchange *x = l->admitted; x; x = x->next)
        LOG(env->log, LOG_ERROR, "The server ended before a request was answered",
            LOG_TEXT("method", x->request.method),
            LOG_SOME("route", str_of(x->request.route ? x->request.route->path : "")),
            LOG_TEXT("requestId", x->request.id),
            LOG_NUM("waitedMs", (clock_mono_us(&env->clock) - x->request.began_us) / 1000));
}

static void exchanges_destroy(struct exchange *x)
{
    while (x) {
        struct exchange *next = x->next;

        arena_release(&x->request.arena);
        exchange_destroy(x);
        x = next;
    }
}

void exchanges_free(struct loop *l)
{
    if (!atomic_load(&l->server->hurried))
        exchanges_report_unanswered(l);
    exchanges_destroy(l->admitted);
    exchanges_destroy(l->answered);
    exchanges_destroy(l->spare);
    l->admitted = l->answered = l->spare = NULL;
    l->spare_count = 0;
}

struct str request_header(const struct request *r, struct str name, size_t *ret_count)
{
    struct str value = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < r->header_count; i++)
        if (str_eq_nocase(r->headers[i].name, name) && !count++)
            value = r->headers[i].value;
    if (ret_count)
        *ret_count = count;
    return count == 1 ? value : (struct str){ 0 };
}

/* --- the client --- */

void exchange_client(struct exchange *x, struct sockaddr_storage *ret_client)
{
    const struct server_options *o = &x->loop->server->options;

    *ret_client = x->request.peer;
    if (o->client && !o->client(o->ctx, &x->request, ret_client))
        *ret_client = x->request.peer;
}

struct str request_client_ip(struct request *r)
{
    struct exchange *x = CONTAINER_OF(r, struct exchange, request);
    struct sockaddr_storage client;

    if (!x->client_ip[0]) {
        exchange_client(x, &client);
        conn_address_text((const struct sockaddr *)&client, x->client_ip);
    }
    return str_of(x->client_ip);
}

static bool is_request_id(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              c == '.' || c == '_' || c == '-'))
            return false;
    }
    return s.n > 0 && s.n <= REQUEST_ID_MAX;
}

/* The request's span is a child of the client's traceparent (O3). A guest server (the sandbox)
 * records no spans. */
static void exchange_read_trace(struct request *r, struct spans *spans)
{
    struct trace client;

    r->has_traceparent = trace_parse(request_header(r, S("traceparent"), NULL), &client);
    if (r->has_traceparent)
        memcpy(r->parent_span, client.span_id, sizeof(r->parent_span));
    r->trace = trace_enter(spans, &r->env->rng, r->has_traceparent ? &client : NULL);
}

void exchange_identify(struct exchange *x)
{
    struct request *r = &x->request;
    struct str id = request_header(r, S("X-Request-Id"), NULL);

    if (x->identified)
        return;
    x->identified = true;
    if (is_request_id(id)) {
        r->id = id;
    } else {
        uuid_text(env_uuid(r->env), x->id);
        r->id = (struct str){ x->id, UUID_TEXT };
    }
    exchange_read_trace(r, x->loop->server->options.guest ? NULL : r->env->spans);
    r->language = language_pick(request_header(r, S("Accept-Language"), NULL));
}

/* NOT_FOUND and METHOD are stored in route_error, since the request itself is valid and is answered
 * as one. */
enum err exchange_head(struct exchange *x, const char **ret_detail)
{
    struct request *r = &x->request;
    const struct server_options *o = &x->loop->server->options;
    struct target t;
    enum err e;

    r->method = x->parser.method;
    r->target = x->parser.target;
    r->headers = x->parser.headers;
    r->header_count = x->parser.header_count;
    exchange_identify(x);
    e = target_split(r->target, str_eq(r->method, S("OPTIONS")), &t, ret_detail);
    if (!e && !route_is_raw(o->routes, o->route_count, t.raw_path))
        e = target_decode(&r->arena, &t, ret_detail);
    if (e)
        return e;
    r->path = t.path;
    r->query = t.query;
    e = route_find(&r->arena, o->routes, o->route_count, r->method, t.raw_path, &r->route,
                   r->params, &x->allow);
    x->route_error = e;
    return e == ERR_NO_MEMORY ? e : OK;
}

bool exchange_is_unwanted(const struct exchange *x)
{
    return x->route_error && parser_has_body(&x->parser);
}

bool exchange_count_body(struct exchange *x)
{
    struct loop *l = x->loop;
    size_t holds = parser_has_body(&x->parser) ? x->parser.body.size : 0;
    bool grew = holds > x->body_bytes; /* a body's buffer never shrinks */

    if (!grew)
        return true;
    l->body_bytes += holds - x->body_bytes;
    x->body_bytes = holds;
    return l->body_bytes <= l->body_room;
}
