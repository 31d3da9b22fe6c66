/* otlp_settings.c - reads OpenTelemetry's environment variables as its specification says. */
#include "base/buf.h"
#include "base/limits.h"
#include "http/message/target.h"
#include "telemetry/otlp.h"

#include <string.h>

/* --- where to --- */

static struct str otlp_settings_joined(struct arena *a, struct str one, struct str two)
{
    char *text = arena_alloc(a, 1, one.n + two.n);

    if (!text)
        return (struct str){ 0 };
    memcpy(text, one.p, one.n);
    memcpy(text + one.n, two.p, two.n);
    return (struct str){ text, one.n + two.n };
}

static bool has_path(struct str url)
{
    const char *host = memmem(url.p, url.n, "://", 3);
    size_t before = host ? (size_t)(host - url.p) + 3 : 0;

    return memchr(url.p + before, '/', url.n - before);
}

struct str otlp_url(struct arena *a, struct str base, struct str traces)
{
    if (traces.n)
        return otlp_settings_joined(a, traces, has_path(traces) ? S("") : S("/"));
    return otlp_settings_joined(a, base, str_ends(base, S("/")) ? S("v1/traces") : S("/v1/traces"));
}

/* --- lists --- */

/* Reads the next "k=v" and skips empty members. False: there is none, or it is wrong (*ret_bad). */
static bool next_pair(struct arena *a, struct str *list, struct str *ret_name,
                      struct str *ret_value, bool *ret_bad)
{
    struct str member = { 0 };

    while (list->n && !member.n)
        member = str_trim(str_cut(list, ','));
    if (!member.n)
        return false;
    *ret_bad = !memchr(member.p, '=', member.n);
    *ret_name = str_trim(str_cut(&member, '='));
    *ret_value = percent_decode(a, str_trim(member));
    *ret_bad |= !ret_name->n || (!ret_value->p && member.n);
    return !*ret_bad;
}

static bool is_header_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", s.p[i]))
            return false;
    return s.n > 0;
}

static bool is_header_value(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7f)
            return false;
    return true;
}

bool otlp_headers(struct arena *a, struct str list, struct header *headers, size_t *count)
{
    struct str name, value;
    bool bad = false;

    while (next_pair(a, &list, &name, &value, &bad)) {
        name = percent_decode(a, name);
        if (*count == LIMIT_OTLP_HEADERS || !is_header_name(name) || !is_header_value(value))
            return false;
        if (!str_eq_nocase(name, S("Content-Type")) && !str_eq_nocase(name, S("Content-Length")))
            headers[(*count)++] = (struct header){ arena_str(a, name), arena_str(a, value) };
    }
    return !bad;
}

/* --- the resource --- */

static void add_text(struct buf *b, struct str key, struct str value)
{
    buf_add(b, b->p[b->n - 1] == '[' ? S("{\"key\":") : S(",{\"key\":"));
    buf_json(b, key);
    buf_add(b, S(",\"value\":{\"stringValue\":"));
    buf_json(b, value);
    buf_add(b, S("}}"));
}

static bool is_ours(struct str key)
{
    return str_eq(key, S("service.name")) || str_eq(key, S("service.version")) ||
           str_eq(key, S("service.instance.id"));
}

static bool add_list(struct arena *a, struct str list, struct buf *b, struct str ours[3])
{
    struct str key, value;
    bool bad = false;
    size_t n = 0;

    while (next_pair(a, &list, &key, &value, &bad)) {
        key = percent_decode(a, key);
        if (!key.n || ++n > LIMIT_RESOURCE_ATTRIBUTES)
            return false;
        if (!is_ours(key))
            add_text(b, key, value);
        else if (str_eq(key, S("service.name")))
            ours[0] = value;
        else
            ours[str_eq(key, S("service.version")) ? 1 : 2] = value;
    }
    return !bad;
}

bool otlp_resource(struct arena *a, const struct otlp_options *o, struct buf *out)
{
    static const char *const names[] = { "service.name", "service.version", "service.instance.id" };
    char node[UUID_TEXT + 1];
    struct str ours[3] = { S("unknown_service:ichido"), o->version, { node, UUID_TEXT } };

    uuid_text(o->env->node, node);
    buf_add(out, S("{\"attributes\":["));
    if (!add_list(a, o->attributes, out, ours))
        return false;
    if (o->service_name.n)
        ours[0] = o->service_name;
    for (size_t i = 0; i < COUNT(ours); i++)
        add_text(out, str_of(names[i]), ours[i]);
    buf_add(out, S("]}"));
    return !out->failed;
}
