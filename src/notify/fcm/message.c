/* message.c - the JSON of one push, at most LIMIT_FCM_PAYLOAD bytes for the phone. See
 * message.h. */
#include "notify/fcm/message.h"

#include "base/json/json.h"
#include "base/limits.h"

#include <stdio.h>
#include <string.h>

enum {
    BODY_LEAST = 64, /* bytes: a body that is cut shorter says too little */
    TTL_LEAST_S = 3600,
    MESSAGE_MAX = 8 * LIMIT_FCM_PAYLOAD + 8 * LIMIT_DEVICE_TOKEN,
};

#define ELLIPSIS "\xe2\x80\xa6" /* ... as one character */

/* --- data --- */

static bool fcm_message_is_reserved(struct str name)
{
    return str_eq(name, S("from")) || str_eq(name, S("message_type")) ||
           str_starts(name, S("google.")) || str_starts(name, S("gcm.notification."));
}

static void fcm_message_add_pair(struct buf *b, struct str name, struct str value)
{
    if (b->n > 1)
        buf_char(b, ',');
    buf_json(b, name);
    buf_char(b, ':');
    buf_json(b, value);
}

/* Every value becomes a text: 12 is "12", true is "true", a list is its JSON. */
static bool fcm_message_add_value(struct buf *b, const cJSON *item)
{
    struct str name = str_of(item->string);
    char number[32], *json;

    if (cJSON_IsString(item) || (cJSON_IsNumber(item) && item->valuestring)) {
        fcm_message_add_pair(b, name, str_of(item->valuestring));
    } else if (cJSON_IsNumber(item)) {
        snprintf(number, sizeof(number), "%.17g", item->valuedouble);
        fcm_message_add_pair(b, name, str_of(number));
    } else if (cJSON_IsBool(item)) {
        fcm_message_add_pair(b, name, cJSON_IsTrue(item) ? S("true") : S("false"));
    } else if (!cJSON_IsNull(item)) {
        json = cJSON_PrintUnformatted(item);
        if (!json)
            return false;
        fcm_message_add_pair(b, name, str_of(json));
        cJSON_free(json);
    }
    return true;
}

static enum err fcm_message_add_items(struct buf *b, const cJSON *tree, struct why *why)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, tree)
    {
        struct str name = str_of(item->string);

        if (str_eq(name, S("type")) || str_eq(name, S("notificationId")))
            continue; /* these names are ours */
        if (fcm_message_is_reserved(name))
            return why_err(why, ERR_VALIDATION, "the data has a name that FCM keeps for itself");
        if (!fcm_message_add_value(b, item))
            return ERR_NO_MEMORY;
    }
    return OK;
}

static enum err fcm_message_add_data(struct buf *b, const struct parcel_out *p, const char *id,
                                     struct why *why)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    enum err e = OK;

    if (p->data.n && (json_parse(p->data, &tree, NULL) || !cJSON_IsObject(tree)))
        return why_err(why, ERR_VALIDATION, "the data is not a JSON object");
    buf_char(b, '{');
    fcm_message_add_pair(b, S("type"), p->type);
    fcm_message_add_pair(b, S("notificationId"), str_of(id));
    if (tree)
        e = fcm_message_add_items(b, tree, why);
    buf_char(b, '}');
    return e;
}

/* --- the words --- */

static size_t fcm_message_json_cost(unsigned char c)
{
    return c == '"' || c == '\\' ? 2 : c < 0x20 || c == 0x7f ? 6 : 1;
}

/* How many bytes of s fit into `room` bytes of JSON, in whole characters. */
static size_t fcm_message_fitting(struct str s, size_t room)
{
    size_t used = 0, end = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (((unsigned char)s.p[i] & 0xc0) != 0x80)
            end = i;
        used += fcm_message_json_cost((unsigned char)s.p[i]);
        if (used > room)
            return end;
    }
    return s.n;
}

/* Only the end of the body may be cut; title and data are whole, or nothing is sent. */
static enum err fcm_message_add_body(struct buf *b, const struct parcel_out *p, size_t used,
                                     struct why *why)
{
    size_t taken = used + strlen("\"\"" ELLIPSIS), n;
    struct buf cut;

    n = fcm_message_fitting(p->body, taken < LIMIT_FCM_PAYLOAD ? LIMIT_FCM_PAYLOAD - taken : 0);
    if (n == p->body.n && taken <= LIMIT_FCM_PAYLOAD) {
        buf_json(b, p->body);
        return OK;
    }
    if (n < BODY_LEAST)
        return why_err(why, ERR_VALIDATION, "it is longer than the %d bytes that a phone takes",
                       LIMIT_FCM_PAYLOAD);
    buf_init(&cut, LIMIT_FCM_PAYLOAD);
    buf_add(&cut, (struct str){ p->body.p, n });
    buf_add(&cut, S(ELLIPSIS));
    buf_json(b, buf_str(&cut));
    b->failed |= cut.failed;
    buf_release(&cut);
    return OK;
}

/* --- delivery options --- */

/* A reminder of yesterday would mislead; other messages stay valid until the phone is on again. */
static int64_t fcm_message_ttl_s(const struct parcel_out *p, int64_t now_ms)
{
    int64_t life_s = str_starts(p->type, S("reminder")) ? 24 * 3600 : LIMIT_FCM_TTL_S;
    int64_t left_s = life_s - (now_ms - p->created_ms) / 1000;

    return left_s < TTL_LEAST_S ? TTL_LEAST_S : left_s > life_s ? life_s : left_s;
}

static void fcm_message_add_delivery(struct buf *b, const char *id, int64_t ttl_s, int64_t now_ms)
{
    int64_t end_s = now_ms / 1000 + ttl_s;

    buf_fmt(b,
            "\"android\":{\"priority\":\"high\",\"ttl\":\"%llds\",\"collapse_key\":\"%s\","
            "\"notification\":{\"tag\":\"%s\"}},",
            (long long)ttl_s, id, id);
    buf_fmt(b,
            "\"apns\":{\"headers\":{\"apns-priority\":\"10\",\"apns-collapse-id\":\"%s\","
            "\"apns-expiration\":\"%lld\"}},",
            id, (long long)end_s);
    buf_fmt(b,
            "\"webpush\":{\"headers\":{\"TTL\":\"%lld\",\"Urgency\":\"high\"},"
            "\"notification\":{\"tag\":\"%s\"}}",
            (long long)ttl_s, id);
}

static enum err fcm_message_write(struct buf *b, const struct parcel_out *p, struct str data,
                                  const char *id, int64_t now_ms, struct why *why)
{
    size_t before;
    enum err e;

    buf_add(b, S("{\"message\":{\"token\":"));
    buf_json(b, p->target);
    before = b->n;
    buf_add(b, S(",\"notification\":{\"title\":"));
    buf_json(b, p->title);
    buf_add(b, S(",\"body\":"));
    if (b->failed)
        return ERR_NO_MEMORY;
    e = fcm_message_add_body(b, p, b->n - before + data.n, why);
    if (e)
        return e;
    buf_add(b, S("},\"data\":"));
    buf_add(b, data);
    buf_char(b, ',');
    fcm_message_add_delivery(b, id, fcm_message_ttl_s(p, now_ms), now_ms);
    buf_add(b, S("}}"));
    return OK;
}

enum err fcm_message(const struct parcel_out *p, int64_t now_ms, struct str *ret_json,
                     struct why *why)
{
    char id[UUID_TEXT + 1];
    struct buf b, data;
    enum err e;

    uuid_text(p->notification, id);
    buf_init(&b, MESSAGE_MAX);
    buf_init(&data, LIMIT_JSON_TEXT);
    e = fcm_message_add_data(&data, p, id, why);
    if (!e)
        e = data.failed ? ERR_NO_MEMORY : fcm_message_write(&b, p, buf_str(&data), id, now_ms, why);
    if (!e) {
        *ret_json = b.failed ? (struct str){ 0 } : arena_str(p->arena, buf_str(&b));
        e = ret_json->p ? OK : ERR_NO_MEMORY;
    }
    buf_release(&data);
    buf_release(&b);
    return e;
}
