#include "webhook/event.h"

#include "base/hex.h"
#include "base/json.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum { ID_MAX = 255, DIGEST = 32 };
#define CREATED_MAX_S INT64_C(100000000000) /* so that milliseconds fit in any column */

enum {
    AT_ID,
    AT_TYPE,
    AT_LIVEMODE,
    AT_CREATED,
    AT_ENVELOPE,
    AT_DATA_OBJECT,
    AT_OBJECT_ID,
    AT_OBJECT,
    AT_INTENT,
    AT_PAYMENT,
    AT_COUNT
};

static const char *const paths[AT_COUNT] = {
    [AT_ID] = "id",
    [AT_TYPE] = "type",
    [AT_LIVEMODE] = "livemode",
    [AT_CREATED] = "created",
    [AT_ENVELOPE] = "object",
    [AT_DATA_OBJECT] = "data.object",
    [AT_OBJECT_ID] = "data.object.id",
    [AT_OBJECT] = "data.object.object",
    [AT_INTENT] = "data.object.payment_intent",
    [AT_PAYMENT] = "data.object.metadata.payment_id",
};

static void sha256(struct str s, unsigned char ret_digest[DIGEST])
{
    unsigned int n = 0;

    if (!EVP_Digest(s.p, s.n, ret_digest, &n, EVP_sha256(), NULL) || n != DIGEST)
        abort(); /* only without memory, and then there is no safe name for it */
}

/* 1 to 255 characters that can be shown, logged and sent in a header. */
static bool is_sane(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '!' || s.p[i] > '~')
            return false;
    return s.n >= 1 && s.n <= ID_MAX;
}

/* Empty for anything but a sane string. */
static enum err take_text(struct arena *a, const struct json_value *v, struct str *ret_text)
{
    struct str text = { 0 };
    enum err e = OK;

    if (v->type == JSON_STRING && v->has_escape)
        e = json_unescape(a, v, &text);
    else if (v->type == JSON_STRING)
        text = v->raw;
    *ret_text = !e && is_sane(text) ? text : (struct str){ 0 };
    return e == ERR_NO_MEMORY ? e : OK;
}

static int take_livemode(const struct json_value *v)
{
    return v->type == JSON_BOOL ? str_eq(v->raw, S("true")) : -1;
}

static void take_created(const struct json_value *v, struct stripe_event *e)
{
    int64_t s;

    e->has_created =
        v->type == JSON_NUMBER && str_to_i64(v->raw, &s) && s >= 0 && s <= CREATED_MAX_S;
    e->created_ms = e->has_created ? s * 1000 : 0;
}

static void choose_lane(struct stripe_event *e)
{
    struct str key = e->payment_id.n ? e->payment_id : e->intent_id;

    e->has_lane = key.n;
    e->lane = key.n ? lane_of(key) : 0;
}

/* 003's own smallest event leaves the object's kind out: then the event's type says it. */
static bool is_intent_event(const struct json_value *v)
{
    if (v[AT_OBJECT].type == JSON_ABSENT)
        return v[AT_TYPE].type == JSON_STRING && str_starts(v[AT_TYPE].raw, S("payment_intent."));
    return v[AT_OBJECT].type == JSON_STRING && str_eq(v[AT_OBJECT].raw, S("payment_intent"));
}

/* Thin events of Stripe's v2 API carry no object; every other one does. */
static bool lacks_object(const struct json_value *v)
{
    return v[AT_DATA_OBJECT].type != JSON_OBJECT &&
           !(v[AT_ENVELOPE].type == JSON_STRING && str_eq(v[AT_ENVELOPE].raw, S("v2.core.event")));
}

static enum err take_fields(struct arena *a, const struct json_value *v, struct stripe_event *ret)
{
    bool is_intent = is_intent_event(v);
    enum err e = take_text(a, &v[AT_ID], &ret->id);

    if (!e)
        e = take_text(a, &v[AT_TYPE], &ret->type);
    if (!e)
        e = take_text(a, &v[AT_OBJECT_ID], &ret->object_id);
    if (!e)
        e = take_text(a, &v[is_intent ? AT_OBJECT_ID : AT_INTENT], &ret->intent_id);
    if (!e)
        e = take_text(a, &v[AT_PAYMENT], &ret->payment_id);
    ret->livemode = take_livemode(&v[AT_LIVEMODE]);
    take_created(&v[AT_CREATED], ret);
    return e;
}

/* It has no name of its own that can be trusted, so its content is its name: the same bytes again
 * are the same event. */
static enum err name_by_content(struct arena *a, struct str body, const char *why,
                                struct stripe_event *ret)
{
    static const char prefix[] = "sha256:";
    size_t skip = sizeof(prefix) - 1;
    unsigned char digest[DIGEST];
    char *name = arena_alloc(a, 1, skip + (size_t)DIGEST * 2);

    *ret = (struct stripe_event){ .why = why, .livemode = -1 };
    if (!name)
        return ERR_NO_MEMORY;
    memcpy(name, prefix, skip);
    sha256(body, digest);
    hex_put(name + skip, digest, DIGEST);
    ret->id = (struct str){ name, skip + (size_t)DIGEST * 2 };
    return OK;
}

enum err stripe_event_read(struct arena *a, struct str body, struct stripe_event *ret_event)
{
    struct json_value v[AT_COUNT];
    struct json_fault fault = { 0 };
    struct stripe_event event = { .livemode = -1 };
    enum err e = json_pick(body, paths, AT_COUNT, v, &fault);

    if (e == ERR_NO_MEMORY)
        return e; /* nothing is known about it: Stripe sends it again */
    if (e)
        return name_by_content(a, body, fault.why ? fault.why : "not JSON", ret_event);
    e = take_fields(a, v, &event);
    if (e)
        return e;
    if (!event.id.n)
        return name_by_content(a, body, "no sane id", ret_event);
    if (!event.type.n)
        return name_by_content(a, body, "no sane type", ret_event);
    if (lacks_object(v))
        return name_by_content(a, body, "no data.object", ret_event);
    event.readable = true;
    choose_lane(&event);
    *ret_event = event;
    return OK;
}
