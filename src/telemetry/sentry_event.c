/* sentry_event.c - writes Sentry's envelopes. An envelope consists of lines: a head, then for each
 * item a head with its length and the item. All JSON is made here from texts that the log has
 * masked. */
#include "telemetry/sentry_event.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "base/time/civil.h"
#include "observe/log.h"
#include "observe/mask.h"

#include <string.h>

enum { TAG_CHARS = 200, TRACE_ID = 32, SPAN_ID = 16 };

/* The fields of a line that become tags, by which Sentry searches. All other fields are "extra". */
static const char *const tag_names[] = {
    "alert",     "code",      "day",         "declineCode", "errorCode", "error_type",
    "eventType", "gateway",   "gatewayName", "kind",        "operation", "phase",
    "reason",    "requestId", "sqlstate",    "statement",   "status",    "test",
};

/* Fields with free text. The first one that a line has is the reason of the error. */
static const char *const words_names[] = { "errorMessage", "why", "error", "words", "lastError" };

/* RFC 3339 in UTC, with milliseconds. */
static void sentry_time(struct buf *out, int64_t ms)
{
    struct civil day = civil_of(floor_div(ms, DAY_S * 1000LL));
    int64_t rest = floor_mod(ms, DAY_S * 1000LL);

    buf_fmt(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (int)day.year, day.month, day.day,
            (int)(rest / 3600000), (int)(rest / 60000 % 60), (int)(rest / 1000 % 60),
            (int)(rest % 1000));
}

void sentry_head(struct buf *out, struct str event_id, int64_t sent_ms, struct str release)
{
    buf_char(out, '{');
    if (event_id.n)
        buf_fmt(out, "\"event_id\":\"" STR_FMT "\",", STR_ARG(event_id));
    buf_add(out, S("\"sent_at\":\""));
    sentry_time(out, sent_ms);
    buf_add(out, S("\",\"sdk\":{\"name\":\"ichido\",\"version\":"));
    buf_json(out, release);
    buf_add(out, S("}}\n"));
}

static void add_item(struct buf *out, const char *type, const struct buf *payload)
{
    if (payload->failed)
        out->failed = true;
    buf_fmt(out, "{\"type\":\"%s\",\"length\":%zu,\"content_type\":\"application/json\"}\n", type,
            payload->n);
    buf_add(out, buf_str(payload));
    buf_char(out, '\n');
}

/* --- the event --- */

static struct str text_of(const cJSON *line, const char *name)
{
    const cJSON *f = cJSON_GetObjectItemCaseSensitive(line, name);

    return cJSON_IsString(f) ? str_of(f->valuestring) : (struct str){ 0 };
}

/* Adds ,"name":"value" unless the value is empty. */
static void add_text(struct buf *out, const char *name, struct str value)
{
    if (!value.n)
        return;
    buf_fmt(out, ",\"%s\":", name);
    buf_json(out, value);
}

static bool is_hex(struct str s, size_t n)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("0123456789abcdef", s.p[i]) || !s.p[i])
            return false;
    return s.n == n;
}

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_tag(const cJSON *f)
{
    return is_one_of(f->string, tag_names, COUNT(tag_names));
}

static bool is_empty(const cJSON *f)
{
    return cJSON_IsString(f) && !f->valuestring[0];
}

/* Fields that have a place of their own in the event, or that belong to a provider and stay in the
 * log (A6). */
static bool is_left_out(const cJSON *f)
{
    static const char *const names[] = {
        "time", "level",       "message", "traceId",         "spanId",
        "tags", "fingerprint", "own",     "paymentIntentId", "gatewayTransactionId"
    };

    return is_one_of(f->string, names, COUNT(names));
}

/* Hides the ids in a provider's messages: "No such payment_intent: 'pi_...'". */
static void hide_ids(cJSON *line)
{
    cJSON *f;

    cJSON_ArrayForEach(f, line) if (cJSON_IsString(f) &&
                                    is_one_of(f->string, words_names, COUNT(words_names)))
        mask_ids(f->valuestring, strlen(f->valuestring));
}

/* The first TAG_CHARS characters; none is cut in the middle. */
static struct str sentry_event_shortened(struct str s)
{
    size_t i = 0;

    for (int letters = 0; i < s.n && letters < TAG_CHARS; letters++)
        do
            i++;
        while (i < s.n && ((unsigned char)s.p[i] & 0xc0) == 0x80);
    return (struct str){ s.p, i };
}

static void add_member(struct buf *out, const cJSON *f, bool *first, bool as_tag)
{
    struct buf number;

    buf_add(out, *first ? S("") : S(","));
    *first = false;
    buf_json(out, str_of(f->string));
    buf_char(out, ':');
    buf_init(&number, 64);
    if (cJSON_IsNumber(f))
        buf_i64(&number, (int64_t)f->valuedouble);
    if (cJSON_IsString(f))
        buf_json(out,
                 as_tag ? sentry_event_shortened(str_of(f->valuestring)) : str_of(f->valuestring));
    else if (as_tag)
        buf_json(out, buf_str(&number));
    else
        buf_add(out, number.n ? buf_str(&number) : S("null"));
    buf_release(&number);
}

/* Adds ,"name":{...} of the fields that are tags, or of those that are not. */
static void add_fields(struct buf *out, const char *name, const cJSON *line, bool tags)
{
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(line, "tags"), *f;
    bool first = true;

    buf_fmt(out, ",\"%s\":{", name);
    cJSON_ArrayForEach(f, line) if (!is_left_out(f) && !is_empty(f) && is_tag(f) == tags)
        add_member(out, f, &first, tags);
    if (tags)
        cJSON_ArrayForEach(f, own) add_member(out, f, &first, true);
    buf_char(out, '}');
}

static void add_trace(struct buf *out, const cJSON *line)
{
    struct str trace = text_of(line, "traceId"), span = text_of(line, "spanId");

    if (!is_hex(trace, TRACE_ID))
        return;
    buf_fmt(out, ",\"contexts\":{\"trace\":{\"trace_id\":\"" STR_FMT "\"", STR_ARG(trace));
    if (is_hex(span, SPAN_ID))
        buf_fmt(out, ",\"span_id\":\"" STR_FMT "\"", STR_ARG(span));
    buf_add(out, S("}}"));
}

/* Writes the line as an exception: its type is the message, and its value is the reason. */
static void add_words(struct buf *out, const cJSON *line, struct str message)
{
    struct str why = { 0 };

    if (cJSON_GetObjectItemCaseSensitive(line, "own")) {
        add_text(out, "message", message);
        return;
    }
    for (size_t i = 0; i < COUNT(words_names) && !why.n; i++)
        why = text_of(line, words_names[i]);
    buf_add(out, S(",\"exception\":{\"values\":[{\"type\":"));
    buf_json(out, message);
    add_text(out, "value", why.n ? why : message);
    buf_add(out, S(",\"mechanism\":{\"type\":\"log\",\"handled\":true}}]}"));
}

static void add_event(struct buf *out, const cJSON *line, struct str event_id,
                      const struct sentry_about *about)
{
    struct str message = text_of(line, "message"), group = text_of(line, "fingerprint");

    buf_fmt(out, "{\"event_id\":\"" STR_FMT "\",\"platform\":\"native\",\"logger\":\"ichido\"",
            STR_ARG(event_id));
    add_text(out, "timestamp", text_of(line, "time"));
    add_text(out, "level", text_of(line, "level"));
    add_text(out, "server_name", about->server_name);
    add_text(out, "release", about->release);
    add_text(out, "environment", about->environment);
    buf_add(out, S(",\"fingerprint\":["));
    buf_json(out, group.n ? group : message);
    buf_add(out, S("]"));
    add_words(out, line, message);
    add_trace(out, line);
    add_fields(out, "tags", line, true);
    add_fields(out, "extra", line, false);
    buf_add(out, S(",\"sdk\":{\"name\":\"ichido\",\"version\":"));
    buf_json(out, about->release);
    buf_add(out, S("}}"));
}

enum err sentry_event(struct buf *out, struct str line, struct str event_id,
                      const struct sentry_about *about)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    struct buf payload;
    enum err e = json_parse(line, &tree, NULL);

    if (e)
        return e;
    if (!cJSON_IsObject(tree) || !text_of(tree, "message").n)
        return ERR_VALIDATION;
    hide_ids(tree);
    buf_init(&payload, LIMIT_SENTRY_EVENT);
    add_event(&payload, tree, event_id, about);
    add_item(out, "event", &payload);
    buf_release(&payload);
    return out->failed ? ERR_NO_MEMORY : OK;
}

/* --- the report --- */

void sentry_report(struct buf *out, const int64_t dropped[SENTRY_REASON_COUNT], int64_t at_ms)
{
#define SENTRY_REASON(id, word) word,
    static const char *const words[] = { SENTRY_REASONS(SENTRY_REASON) };
#undef SENTRY_REASON
    struct buf payload;
    bool first = true;

    buf_init(&payload, LIMIT_SENTRY_REPORT);
    buf_add(&payload, S("{\"timestamp\":\""));
    sentry_time(&payload, at_ms);
    buf_add(&payload, S("\",\"discarded_events\":["));
    for (size_t i = 0; i < SENTRY_REASON_COUNT; i++) {
        if (!dropped[i])
            continue;
        buf_fmt(&payload, "%s{\"reason\":\"%s\",\"category\":\"error\",\"quantity\":%lld}",
                first ? "" : ",", words[i], (long long)dropped[i]);
        first = false;
    }
    buf_add(&payload, S("]}"));
    add_item(out, "client_report", &payload);
    buf_release(&payload);
}

/* --- messages of our own --- */

static void add_own_tag(struct buf *out, const struct log_field *f)
{
    struct buf number;

    buf_init(&number, 64);
    buf_i64(&number, f->number);
    buf_json(out, str_of(f->name));
    buf_char(out, ':');
    buf_json(out, mask_is_card_name(str_of(f->name)) ? S("***")
                  : f->is_number                     ? buf_str(&number)
                                                     : f->text);
    buf_release(&number);
}

void sentry_own(struct buf *out, int64_t at_ms, const char *level, struct str message,
                struct str fingerprint, const struct log_field *tags, size_t count)
{
    bool first = true;
    size_t from;

    buf_add(out, S("{\"own\":1,\"time\":\""));
    sentry_time(out, at_ms);
    buf_fmt(out, "\",\"level\":\"%s\",\"message\":", level);
    from = out->n;
    buf_json(out, message);
    add_text(out, "fingerprint", fingerprint);
    buf_add(out, S(",\"tags\":{"));
    for (size_t i = 0; i < count; i++) {
        if (!tags[i].name)
            continue;
        buf_add(out, first ? S("") : S(","));
        first = false;
        add_own_tag(out, &tags[i]);
    }
    buf_add(out, S("}}"));
    if (out->failed)
        return;
    mask_cards(out->p + from, out->n - from);
    mask_named(out->p + from, out->n - from);
}
