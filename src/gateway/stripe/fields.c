/* fields.c - finds the fields of fields.h in a tree or in a body, and reads single values. */
#include "gateway/stripe/fields.h"

#include "base/limits.h"
#include "gateway/stripe/form.h"

#include <stdio.h>
#include <string.h>

#define SECONDS_MAX INT64_C(100000000000) /* so that milliseconds fit in any column */

#define OBJECT_PATH(name, path) [AT_##name] = "" path,
#define DATA_PATH(name, path) [AT_##name] = "data.object." path,

static const char *const object_paths[AT_OBJECT_FIELDS] = { STRIPE_FIELDS(OBJECT_PATH) };
static const char *const event_paths[AT_FIELDS] = { STRIPE_FIELDS(DATA_PATH)
                                                        STRIPE_EVENT_FIELDS(OBJECT_PATH) };
_Static_assert(AT_FIELDS <= 64, "one json_pick() finds them all");

void fields_fail(struct stripe_fields *f, enum err e)
{
    if (!f->err)
        f->err = e;
}

/* --- from a body --- */

enum err fields_of_event(struct stripe_fields *f, struct arena *a, struct str body,
                         struct json_fault *ret_fault)
{
    f->arena = a;
    f->object = NULL;
    f->err = OK;
    return json_pick(body, event_paths, AT_FIELDS, f->v, ret_fault);
}

/* --- from a tree --- */

static const cJSON *stripe_fields_walk(const cJSON *item, const char *path)
{
    struct str rest = str_of(path);
    char name[64];

    while (rest.n && item) {
        struct str part = str_cut(&rest, '.');

        memcpy(name, part.p, part.n);
        name[part.n] = '\0';
        item = cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, name) : NULL;
    }
    return item;
}

/* The number as it was written. Empty: a double cannot hold it, and its text was not kept. */
static struct str number_text(struct arena *a, const cJSON *item)
{
    char digits[32] = "";

    if (item->valuestring)
        return arena_str(a, str_of(item->valuestring));
    if (item->valuedouble > -1e15 && item->valuedouble < 1e15 &&
        (double)(int64_t)item->valuedouble == item->valuedouble)
        snprintf(digits, sizeof(digits), "%lld", (long long)item->valuedouble);
    return arena_str(a, str_of(digits));
}

static struct json_value value_of(struct arena *a, const cJSON *item)
{
    if (!item)
        return (struct json_value){ .type = JSON_ABSENT };
    if (cJSON_IsString(item))
        return (struct json_value){ JSON_STRING, arena_str(a, str_of(item->valuestring)), false };
    if (cJSON_IsNumber(item))
        return (struct json_value){ JSON_NUMBER, number_text(a, item), false };
    if (cJSON_IsBool(item))
        return (struct json_value){ JSON_BOOL, cJSON_IsTrue(item) ? S("true") : S("false"), false };
    if (cJSON_IsObject(item))
        return (struct json_value){ .type = JSON_OBJECT };
    return (struct json_value){ .type = cJSON_IsArray(item) ? JSON_ARRAY : JSON_NULL };
}

enum err fields_of_object(struct stripe_fields *f, struct arena *a, const cJSON *object)
{
    *f = (struct stripe_fields){ .arena = a, .object = object };
    for (int i = 0; i < AT_OBJECT_FIELDS; i++) {
        f->v[i] = value_of(a, stripe_fields_walk(object, object_paths[i]));
        if ((f->v[i].type == JSON_STRING || f->v[i].type == JSON_NUMBER) && !f->v[i].raw.p)
            return ERR_NO_MEMORY;
    }
    return OK;
}

/* The body was scanned before, so parsing fails only without memory. */
const cJSON *field_tree(struct stripe_fields *f, int at, cJSON **owned)
{
    *owned = NULL;
    if (f->v[at].type == JSON_ABSENT)
        return NULL;
    if (f->object)
        return stripe_fields_walk(f->object, object_paths[at]);
    if (json_parse(f->v[at].raw, owned, NULL))
        fields_fail(f, ERR_NO_MEMORY);
    return *owned;
}

/* --- single values --- */

bool field_is_absent(const struct stripe_fields *f, int at)
{
    return f->v[at].type == JSON_ABSENT || f->v[at].type == JSON_NULL;
}

bool field_is_true(const struct stripe_fields *f, int at)
{
    return f->v[at].type == JSON_BOOL && f->v[at].raw.p[0] == 't';
}

bool field_number(const struct stripe_fields *f, int at, int64_t *ret)
{
    return f->v[at].type == JSON_NUMBER && str_to_i64(f->v[at].raw, ret);
}

bool field_time(const struct stripe_fields *f, int at, int64_t *ret_ms)
{
    int64_t s;

    if (!field_number(f, at, &s) || s < 0 || s > SECONDS_MAX)
        return false;
    *ret_ms = s * 1000;
    return true;
}

int64_t field_time_ms(const struct stripe_fields *f, int at)
{
    int64_t ms;

    return field_time(f, at, &ms) ? ms : 0;
}

struct str field_text(struct stripe_fields *f, int at)
{
    const struct json_value *v = &f->v[at];
    struct str s = { 0 };
    enum err e;

    if (v->type != JSON_STRING)
        return s;
    if (!v->has_escape)
        return v->raw;
    e = json_unescape(f->arena, v, &s);
    if (e)
        fields_fail(f, e);
    return s;
}

/* For texts that are shown, logged, or sent in headers and URLs. */
static struct str stripe_fields_printable(struct str s, size_t most)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '!' || s.p[i] > '~')
            return (struct str){ 0 };
    return s.n <= most ? s : (struct str){ 0 };
}

struct str field_id(struct stripe_fields *f, int at)
{
    return stripe_fields_printable(field_text(f, at), LIMIT_GATEWAY_ID);
}

struct str field_url(struct stripe_fields *f, int at)
{
    return stripe_fields_printable(field_text(f, at), LIMIT_GATEWAY_URL);
}

struct str field_word(struct stripe_fields *f, int at)
{
    return utf8_cut_bytes(field_text(f, at), LIMIT_GATEWAY_ID);
}

struct str field_ref(struct stripe_fields *f, int at, int at_id)
{
    return field_id(f, f->v[at].type == JSON_OBJECT ? at_id : at);
}
