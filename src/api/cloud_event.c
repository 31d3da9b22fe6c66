/* cloud_event.c - the three forms of a CloudEvent in a request:
 *
 *   application/cloudevents+json, application/json   one event, all of it in the body
 *   application/cloudevents-batch+json               an array of such
 *   ce- headers                                      the body is the event's data
 *
 * Only the last part of the type counts: "BookingCreated" and "com.example.booking.BookingCreated"
 * mean the same. An event of an unknown type is stored and ignored. */
#include "api/cloud_event.h"

#include "api/payment_input.h"
#include "base/hex.h"
#include "base/limits.h"
#include "base/time/parse.h"
#include "endpoint/media_type.h"

#include <stdio.h>
#include <string.h>

enum cloud_event_form { FORM_NONE, FORM_STRUCTURED, FORM_BATCH, FORM_BINARY };

static struct str media_type(const struct request *r)
{
    struct str type = request_header(r, S("Content-Type"), NULL);

    return str_trim(str_cut(&type, ';'));
}

static bool has_ce_headers(const struct request *r)
{
    size_t count;

    request_header(r, S("ce-specversion"), &count);
    return count > 0;
}

static enum cloud_event_form form_of(const struct request *r)
{
    struct str type = media_type(r);

    if (str_eq_nocase(type, S("application/cloudevents+json")))
        return FORM_STRUCTURED;
    if (str_eq_nocase(type, S("application/cloudevents-batch+json")))
        return FORM_BATCH;
    if (!media_type_is_json(request_header(r, S("Content-Type"), NULL)))
        return FORM_NONE;
    return has_ce_headers(r) ? FORM_BINARY : FORM_STRUCTURED;
}

bool cloud_event_is_binary(const struct request *r)
{
    return form_of(r) == FORM_BINARY;
}

/* --- attributes, whichever form they came in --- */

struct attributes {
    struct str specversion, id, source, type, time; /* .p NULL: absent */
};

static void cloud_event_need(struct json_problems *p, const char *field, struct str value,
                             size_t most)
{
    char en[80], ja[80];

    if (value.n && value.n <= most)
        return;
    snprintf(en, sizeof(en), "must be a text of 1 to %zu bytes", most);
    snprintf(ja, sizeof(ja), "1〜%zu バイトの文字列にしてください", most);
    json_problem_in(p, field, en, ja);
}

/* A URI reference has neither blanks nor control characters, which makes the key unambiguous. */
static bool is_source(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
            return false;
    return true;
}

static bool is_storable(struct str s) /* PostgreSQL's text takes no NUL, and only UTF-8 */
{
    return str_is_utf8(s) && (!s.n || !memchr(s.p, '\0', s.n));
}

static void check_attributes(const struct attributes *a, struct json_problems *p)
{
    if (!str_eq(a->specversion, S("1.0")))
        json_problem_in(p, "specversion", "must be 1.0", "1.0 にしてください");
    cloud_event_need(p, "id", a->id, LIMIT_EVENT_ID);
    cloud_event_need(p, "source", a->source, LIMIT_EVENT_SOURCE);
    cloud_event_need(p, "type", a->type, LIMIT_EVENT_TYPE);
    if (!is_source(a->source))
        json_problem_in(p, "source", "must be a URI reference", "URI 参照にしてください");
    if (!is_storable(a->id) || !is_storable(a->source) || !is_storable(a->type))
        json_problem_in(p, "id", "id, source and type must be UTF-8 text",
                        "id・source・type は UTF-8 の文字列にしてください");
}

static struct str event_key(struct arena *a, const struct attributes *at)
{
    char *key = arena_alloc(a, 1, at->source.n + 1 + at->id.n);

    if (!key || !at->source.n || !at->id.n)
        return (struct str){ 0 };
    memcpy(key, at->source.p, at->source.n);
    key[at->source.n] = ' ';
    memcpy(key + at->source.n + 1, at->id.p, at->id.n);
    return (struct str){ key, at->source.n + 1 + at->id.n };
}

static struct str last_part(struct str type)
{
    while (type.n && memchr(type.p, '.', type.n))
        str_cut(&type, '.');
    return type;
}

/* --- what it says about a booking --- */

static void read_version(const struct attributes *at, struct booking_change *c,
                         struct json_problems *p)
{
    int64_t ms;

    if (!at->time.p)
        return;
    if (!time_parse(at->time, &ms)) {
        json_problem_in(p, "time", "must be a time as in RFC 3339",
                        "RFC 3339 の日時にしてください");
    } else if (!c->has_version && ms > 0) {
        c->version = ms;
        c->has_version = c->version_is_time = true;
    }
}

static void read_booking(const struct attributes *at, bool cancels, const cJSON *data,
                         struct cloud_event *e, struct json_problems *p)
{
    struct booking_change *c = &e->change;

    e->is_booking = true;
    if (!cJSON_IsObject(data)) {
        json_problem_in(p, "data", "must be a JSON object", "JSON オブジェクトにしてください");
        return;
    }
    fields_uuid(data, "bookingId", true, &c->id, p);
    fields_booking(data, !cancels, c, p);
    read_version(at, c, p);
    if (cancels) {
        c->has_status = true;
        c->status = BOOKING_CANCELLED;
    }
}

static enum err read_event(struct arena *a, const struct attributes *at, const cJSON *data,
                           struct cloud_event *e, struct json_problems *p)
{
    struct str kind = last_part(at->type);
    bool cancels = str_eq(kind, S("BookingCancelled"));

    check_attributes(at, p);
    if (cancels || str_eq(kind, S("BookingCreated")) || str_eq(kind, S("BookingUpdated")))
        read_booking(at, cancels, data, e, p);
    if (p->count)
        return OK;
    e->key = event_key(a, at);
    e->type = arena_str(a, at->type);
    return e->key.p && e->type.p ? OK : ERR_NO_MEMORY;
}

/* --- structured --- */

/* null counts as absent; a member that is not a string gives an empty text, which is invalid. */
static struct str cloud_event_attribute(const cJSON *event, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, name);

    if (!item || cJSON_IsNull(item))
        return (struct str){ 0 };
    return cJSON_IsString(item) ? str_of(item->valuestring) : S("");
}

static enum err read_structured(struct arena *a, const cJSON *event, struct cloud_event *e,
                                struct json_problems *p)
{
    struct attributes at = { .specversion = cloud_event_attribute(event, "specversion"),
                             .id = cloud_event_attribute(event, "id"),
                             .source = cloud_event_attribute(event, "source"),
                             .type = cloud_event_attribute(event, "type"),
                             .time = cloud_event_attribute(event, "time") };

    if (!cJSON_IsObject(event)) {
        json_problem_in(p, "body", "must be a CloudEvent", "CloudEvent にしてください");
        return OK;
    }
    return read_event(a, &at, cJSON_GetObjectItemCaseSensitive(event, "data"), e, p);
}

static enum err read_batch(struct arena *a, const cJSON *batch, struct cloud_event *events,
                           size_t *ret_count, struct json_problems *p)
{
    size_t n = 0;
    enum err e = OK;

    if (!cJSON_IsArray(batch) || cJSON_GetArraySize(batch) > LIMIT_EVENTS) {
        json_problem_in(p, "body", "must be an array of at most 100 CloudEvents",
                        "100 件以内の CloudEvent の配列にしてください");
        return OK;
    }
    for (const cJSON *item = batch->child; item && !e; item = item->next)
        e = read_structured(a, item, &events[n++], p);
    *ret_count = n;
    return e;
}

/* --- binary --- */

/* Header values are percent-encoded UTF-8; a percent sign without two hex digits stays as it is. */
static struct str header_text(struct request *r, struct str name)
{
    size_t count, n = 0;
    struct str value = request_header(r, name, &count);
    char *out = value.n ? arena_alloc(&r->arena, 1, value.n) : NULL;

    if (!out)
        return count ? S("") : (struct str){ 0 };
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];

        if (c == '%' && i + 2 < value.n && hex_value(value.p[i + 1]) >= 0 &&
            hex_value(value.p[i + 2]) >= 0) {
            c = (char)(hex_value(value.p[i + 1]) << 4 | hex_value(value.p[i + 2]));
            i += 2;
        }
        out[n++] = c;
    }
    return (struct str){ out, n };
}

static enum err read_binary(struct request *r, const cJSON *data, struct cloud_event *e,
                            struct json_problems *p)
{
    struct attributes at = { .specversion = header_text(r, S("ce-specversion")),
                             .id = header_text(r, S("ce-id")),
                             .source = header_text(r, S("ce-source")),
                             .type = header_text(r, S("ce-type")),
                             .time = header_text(r, S("ce-time")) };

    return read_event(&r->arena, &at, data, e, p);
}

/* --- all of it --- */

static enum err read_body(struct request *r, enum cloud_event_form form, struct cloud_event *events,
                          size_t *ret_count, struct json_problems *p)
{
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_fault fault = { 0 };
    enum err e = json_parse(r->body, &body, &fault);

    *ret_count = 1;
    if (e == ERR_VALIDATION) {
        json_problem_fault(p, "body", &fault);
        return OK;
    }
    if (e)
        return e;
    if (form == FORM_BATCH)
        return read_batch(&r->arena, body, events, ret_count, p);
    return form == FORM_BINARY ? read_binary(r, body, events, p)
                               : read_structured(&r->arena, body, events, p);
}

bool cloud_events_read(struct request *r, struct cloud_event **ret_events, size_t *ret_count)
{
    enum cloud_event_form form = form_of(r);
    struct json_problems problems;
    enum err e;

    if (form == FORM_NONE) {
        reply_problem(r, ERR_MEDIA_TYPE, NULL);
        return false;
    }
    *ret_events =
        arena_alloc(&r->arena, form == FORM_BATCH ? LIMIT_EVENTS : 1, sizeof(**ret_events));
    if (!*ret_events) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return false;
    }
    fields_problems(r, &problems);
    e = read_body(r, form, *ret_events, ret_count, &problems);
    if (fields_refused(r, &problems))
        return false;
    if (e)
        reply_problem(r, e, NULL);
    return !e;
}
