#include "gateway/stripe/events.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "gateway/stripe/form.h"

struct str stripe_events_path(struct arena *a, int64_t from_ms, int64_t until_ms)
{
    struct str path = { 0 };
    struct buf b;

    buf_init(&b, LIMIT_GATEWAY_FORM);
    buf_add(&b, S("/v1/events?"));
    form_int(&b, "created[gte]", from_ms / 1000);
    form_int(&b, "created[lt]", until_ms / 1000);
    if (!b.failed)
        path = arena_str(a, buf_str(&b));
    buf_release(&b);
    return path;
}

static bool is_name(const struct json_value *v)
{
    if (v->type != JSON_STRING || v->has_escape || !v->raw.n || v->raw.n > LIMIT_GATEWAY_ID)
        return false;
    for (size_t i = 0; i < v->raw.n; i++)
        if (v->raw.p[i] <= ' ' || v->raw.p[i] > '~')
            return false;
    return true;
}

bool stripe_listed_event(struct str item, struct stripe_listed_event *ret)
{
    static const char *const paths[] = { "id", "type", "object" };
    struct json_value v[COUNT(paths)];

    if (json_pick(item, paths, COUNT(paths), v, NULL) || !is_name(&v[0]) || !is_name(&v[1]) ||
        v[2].type != JSON_STRING || !str_eq(v[2].raw, S("event")))
        return false;
    *ret = (struct stripe_listed_event){ .body = item, .id = v[0].raw, .type = v[1].raw };
    return true;
}
