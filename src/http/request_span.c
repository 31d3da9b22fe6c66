#include "http/request_span.h"

#include "http/server.h"
#include "observe/span.h"

#include <stdio.h>

enum { NAME_MAX_BYTES = 200, STATUS_DIGITS = 12 };

/* Known methods only, since a client may send any word. */
static struct str method_of(const struct request *r)
{
    static const char *const known[] = { "GET",    "HEAD",    "POST",    "PUT",  "PATCH",
                                         "DELETE", "OPTIONS", "CONNECT", "TRACE" };

    for (size_t i = 0; i < COUNT(known); i++)
        if (str_eq(r->method, str_of(known[i])))
            return r->method;
    return S("_OTHER");
}

static struct span request_span_begun(const struct request *r, const char *name)
{
    struct span s = { .spans = r->env->spans,
                      .name = name,
                      .kind = SPAN_SERVER,
                      .has_parent = r->has_traceparent,
                      .parent_is_remote = r->has_traceparent,
                      .trace = r->trace,
                      .began_us = r->began_us };

    if (!s.began_us) /* refused before its last byte */
        s.began_us = clock_mono_us(&r->env->clock);
    memcpy(s.parent, r->parent_span, sizeof(s.parent));
    return s;
}

/* Named by the route's pattern, never by the path, which may contain secrets. */
void request_span(const struct request *r, int status)
{
    struct str method = method_of(r), route = str_of(r->route ? r->route->path : "");
    char name[NAME_MAX_BYTES], digits[STATUS_DIGITS];
    struct span s;

    if (!r->env->spans || !(r->trace.flags & TRACE_SAMPLED))
        return;
    snprintf(name, sizeof(name), STR_FMT "%s" STR_FMT,
             STR_ARG(str_eq(method, S("_OTHER")) ? S("HTTP") : method), route.n ? " " : "",
             STR_ARG(route));
    snprintf(digits, sizeof(digits), "%d", status);
    s = request_span_begun(r, name);
    SPAN_END(&s, status >= 500 ? digits : NULL, SPAN_TEXT("http.request.method", method),
             SPAN_TEXT("http.route", route), SPAN_NUM("http.response.status_code", status),
             SPAN_TEXT("url.scheme", r->server->options.tls_cert ? S("https") : S("http")),
             SPAN_TEXT("network.protocol.version", S("1.1")), SPAN_TEXT("ichido.request_id", r->id),
             SPAN_TEXT("error.type", status >= 500 ? str_of(digits) : S("")));
}
