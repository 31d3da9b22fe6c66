/* Feeds the HTTP parser whole and in pieces chosen by the input: both must agree, and whatever is
 * taken must keep its promises. */
#include "base/limits.h"
#include "http/message/parse.h"
#include "http/message/target.h"
#include "http/problem.h"
#include "http/router.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
    enum parse parse;
    enum err error;
    size_t used, body, headers;
};

static void ignore(struct request *r, void *ctx)
{
    (void)r;
    (void)ctx;
}

static const struct route routes[] = {
    { .method = "GET", .path = "/", .handle = ignore },
    { .method = "POST", .path = "/payments", .handle = ignore },
    { .method = "POST", .path = "/payments/{id}/capture", .handle = ignore },
    { .method = "GET", .path = "/{a}/{b}/{c}/{d}", .handle = ignore },
    { .method = "POST", .path = "/v2/*", .handle = ignore, .raw = true },
};

static void promise(int holds)
{
    if (!holds)
        abort();
}

/* What a handler would be given. */
static void check_request(struct parser *p)
{
    const struct route *route = NULL;
    struct str params[ROUTE_PARAMS] = { { 0 } }, allow = { 0 };
    struct target t;
    const char *why;

    promise(p->method.n > 0 && p->target.n > 0);
    promise(p->header_count <= LIMIT_HEADER_COUNT && p->body.n <= p->body_max);
    for (size_t i = 0; i < p->header_count; i++) {
        promise(p->headers[i].name.n > 0);
        promise(!p->headers[i].value.n || !memchr(p->headers[i].value.p, 0, p->headers[i].value.n));
        language_pick(p->headers[i].value);
    }
    if (target_split(p->target, false, &t, &why))
        return;
    promise(t.path.n > 0 && t.path.p[0] == '/');
    if (route_is_raw(routes, COUNT(routes), t.raw_path))
        promise(str_starts(t.path, S("/v2/")));
    else if (target_decode(p->arena, &t, &why))
        return;
    else
        promise(t.path.p[0] == '/' && str_is_utf8(t.path));
    route_find(p->arena, routes, COUNT(routes), p->method, t.raw_path, &route, params, &allow);
}

static size_t piece(const uint8_t *data, size_t size, size_t at)
{
    return 1 + (data[at] * 31u + at) % (size < 64 ? 7 : 251);
}

static struct result run(const uint8_t *data, size_t size, bool in_pieces)
{
    struct result r = { .parse = PARSE_MORE };
    struct arena arena;
    struct parser p;

    arena_init(&arena, LIMIT_REQUEST_ARENA);
    parser_init(&p, &arena);
    while (r.used < size && r.parse == PARSE_MORE) {
        size_t n = in_pieces ? piece(data, size, r.used) : size;
        struct str in;

        n = n < size - r.used ? n : size - r.used;
        in = (struct str){ (const char *)data + r.used, n };
        while ((r.parse = parser_feed(&p, &in)) == PARSE_HEAD)
            if (parser_take_body(&p, 512)) {
                p.error = ERR_TOO_LARGE;
                p.stage = STAGE_BAD;
            }
        r.used += n - in.n;
    }
    r.error = r.parse == PARSE_BAD ? p.error : OK;
    if (r.parse == PARSE_DONE) {
        r.body = p.body.n;
        r.headers = p.header_count;
        check_request(&p);
    }
    parser_release(&p);
    arena_release(&arena);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct result whole = run(data, size, false);
    struct result pieces = run(data, size, true);

    promise(whole.parse == pieces.parse);
    promise(whole.body == pieces.body && whole.headers == pieces.headers);
    if (whole.parse == PARSE_DONE)
        promise(whole.used == pieces.used);
    return 0;
}
