/* router.c - compares a path with the patterns of the route table, segment by segment. */
#include "http/router.h"

#include "base/buf.h"
#include "http/message/target.h"

#include <string.h>

enum { ALLOW_MAX = 128 };

static bool is_name(struct str segment)
{
    return segment.n > 2 && segment.p[0] == '{' && segment.p[segment.n - 1] == '}';
}

static bool decodes_to(struct str raw, struct str text)
{
    unsigned char c;
    size_t i = 0;

    while (percent_next(&raw, &c))
        if (i == text.n || c != (unsigned char)text.p[i++])
            return false;
    return i == text.n;
}

/* Compares segment by segment; raw[] gets the values of the names, still encoded. */
static bool router_matches(const char *pattern, struct str path, struct str raw[ROUTE_PARAMS])
{
    struct str rest = str_of(pattern);
    bool more_pattern = true, more_path = true;
    size_t names = 0;

    while (more_pattern && more_path) {
        struct str want, have;

        more_pattern = memchr(rest.p, '/', rest.n) != NULL;
        more_path = path.n && memchr(path.p, '/', path.n) != NULL;
        want = str_cut(&rest, '/');
        have = str_cut(&path, '/');
        if (!more_pattern && str_eq(want, S("*")))
            return true;
        if (is_name(want) && have.n)
            raw[names++] = have;
        else if (is_name(want) || !decodes_to(have, want))
            return false;
    }
    return more_pattern == more_path;
}

/* Compares byte for byte, without decoding: "/%76%32/x" is not "/v2/x". */
static bool matches_raw(const char *pattern, struct str path)
{
    struct str want = str_of(pattern);

    if (!str_ends(want, S("*")))
        return str_eq(path, want);
    want.n--;
    return str_starts(path, want);
}

bool route_is_raw(const struct route *routes, size_t count, struct str raw_path)
{
    for (size_t i = 0; i < count; i++)
        if (routes[i].raw && matches_raw(routes[i].path, raw_path))
            return true;
    return false;
}

/* A path that was not checked matches raw rows only. */
static bool router_fits(const struct route *r, bool is_raw, struct str path,
                        struct str raw[ROUTE_PARAMS])
{
    if (r->raw != is_raw)
        return false;
    return is_raw ? matches_raw(r->path, path) : router_matches(r->path, path, raw);
}

static bool router_takes(const struct route *r, struct str method)
{
    struct str own = str_of(r->method);

    return str_eq(own, method) || (str_eq(own, S("GET")) && str_eq(method, S("HEAD")));
}

static bool router_lists(const struct buf *b, struct str method)
{
    struct str rest = buf_str(b);

    while (rest.n)
        if (str_eq(str_trim(str_cut(&rest, ',')), method))
            return true;
    return false;
}

static void router_allow(struct buf *b, struct str method)
{
    if (router_lists(b, method))
        return;
    if (b->n)
        buf_add(b, S(", "));
    buf_add(b, method);
    if (str_eq(method, S("GET")))
        router_allow(b, S("HEAD"));
}

static enum err decode_params(struct arena *a, const struct str raw[ROUTE_PARAMS],
                              struct str params[ROUTE_PARAMS])
{
    for (size_t i = 0; i < ROUTE_PARAMS; i++) {
        params[i] = (struct str){ 0 };
        if (!raw[i].p)
            continue;
        params[i] = percent_decode(a, raw[i]);
        if (!params[i].p)
            return ERR_NO_MEMORY; /* its encoding was checked with the path */
    }
    return OK;
}

static enum err not_found(struct arena *a, struct buf *allowed, struct str *ret_allow)
{
    if (!allowed->n)
        return ERR_NOT_FOUND;
    router_allow(allowed, S("OPTIONS"));
    *ret_allow = arena_str(a, buf_str(allowed));
    return ret_allow->p ? ERR_METHOD : ERR_NO_MEMORY;
}

enum err route_find(struct arena *a, const struct route *routes, size_t count, struct str method,
                    struct str raw_path, const struct route **ret_route,
                    struct str params[ROUTE_PARAMS], struct str *ret_allow)
{
    bool is_raw = route_is_raw(routes, count, raw_path);
    struct buf allowed;
    enum err e;

    buf_init(&allowed, ALLOW_MAX);
    for (size_t i = 0; i < count; i++) {
        struct str raw[ROUTE_PARAMS] = { { 0 } };

        if (!router_fits(&routes[i], is_raw, raw_path, raw))
            continue;
        if (router_takes(&routes[i], method)) {
            *ret_route = &routes[i];
            buf_release(&allowed);
            return decode_params(a, raw, params);
        }
        router_allow(&allowed, str_of(routes[i].method));
    }
    e = not_found(a, &allowed, ret_allow);
    buf_release(&allowed);
    return e;
}

bool routes_are_sane(const struct route *routes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct str path = str_of(routes[i].path);
        size_t names = 0;

        if (!str_starts(path, S("/")) || !routes[i].method || !routes[i].handle)
            return false;
        while (path.n)
            names += is_name(str_cut(&path, '/'));
        if (names > (routes[i].raw ? 0 : ROUTE_PARAMS))
            return false;
    }
    return true;
}
