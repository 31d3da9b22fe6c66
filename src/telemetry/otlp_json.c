/* otlp_json.c - writes spans as OTLP's JSON: ids are hex, 64-bit numbers are strings, enums are
 * numbers, and fields with their default value are left out. */
#include "base/buf.h"
#include "base/hex.h"
#include "base/limits.h"
#include "telemetry/otlp.h"

enum { PARENT_KNOWN = 0x100, PARENT_REMOTE = 0x200, STATUS_ERROR = 2 };

static void add_id(struct buf *b, const char *name, const unsigned char *id, size_t n)
{
    char text[32];

    hex_put(text, id, n);
    buf_fmt(b, "\"%s\":\"%.*s\",", name, (int)(2 * n), text);
}

static void add_attribute(struct buf *b, const struct attribute *a)
{
    buf_fmt(b, "{\"key\":\"%s\",\"value\":{", a->name);
    switch (a->type) {
    case ATTRIBUTE_TEXT:
        buf_add(b, S("\"stringValue\":"));
        buf_json(b, a->text);
        break;
    case ATTRIBUTE_NUMBER: buf_fmt(b, "\"intValue\":\"%lld\"", (long long)a->number); break;
    case ATTRIBUTE_BOOL: buf_fmt(b, "\"boolValue\":%s", a->number ? "true" : "false"); break;
    }
    buf_add(b, S("}}"));
}

static void add_attributes(struct buf *b, const struct ended_span *e)
{
    if (e->count)
        buf_add(b, S(",\"attributes\":["));
    for (size_t i = 0; i < e->count; i++) {
        if (i)
            buf_char(b, ',');
        add_attribute(b, &e->attributes[i]);
    }
    if (e->count)
        buf_char(b, ']');
    if (e->dropped)
        buf_fmt(b, ",\"droppedAttributesCount\":%zu", e->dropped);
}

static void add_span(struct buf *b, const struct ended_span *e)
{
    const struct span *s = &e->span;

    buf_char(b, '{');
    add_id(b, "traceId", s->trace.trace_id, sizeof(s->trace.trace_id));
    add_id(b, "spanId", s->trace.span_id, sizeof(s->trace.span_id));
    if (s->has_parent)
        add_id(b, "parentSpanId", s->parent, sizeof(s->parent));
    buf_fmt(b, "\"flags\":%d,\"name\":",
            s->trace.flags | PARENT_KNOWN | (s->parent_is_remote ? PARENT_REMOTE : 0));
    buf_json(b, e->name);
    buf_fmt(b, ",\"kind\":%d,\"startTimeUnixNano\":\"%lld\",\"endTimeUnixNano\":\"%lld\"",
            (int)s->kind, (long long)e->began_ns, (long long)e->ended_ns);
    add_attributes(b, e);
    if (e->failed) {
        buf_fmt(b, ",\"status\":{\"code\":%d,\"message\":", STATUS_ERROR);
        buf_json(b, e->why);
        buf_char(b, '}');
    }
    buf_char(b, '}');
}

size_t otlp_write(struct buf *out, struct str resource, struct str version,
                  struct ended_span *first, struct ended_span **ret_rest)
{
    size_t n = 0;

    buf_add(out, S("{\"resourceSpans\":[{\"resource\":"));
    buf_add(out, resource);
    buf_add(out, S(",\"scopeSpans\":[{\"scope\":{\"name\":\"ichido\",\"version\":"));
    buf_json(out, version);
    buf_add(out, S("},\"spans\":["));
    while (first && out->n < LIMIT_OTLP_BODY / 2) {
        if (n++)
            buf_char(out, ',');
        add_span(out, first);
        first = first->next;
    }
    buf_add(out, S("]}]}]}"));
    *ret_rest = first;
    return n;
}
