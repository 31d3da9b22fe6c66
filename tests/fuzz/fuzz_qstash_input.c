/* Any bytes as a publish: "target\nname: value\n...\n\nbody", or as a batch. The first byte says
 * which, and whether the headers are text. What is taken must keep every promise that the rest of
 * the program builds on: an address with a host, UTF-8 without control characters, JSON that reads
 * back, nothing in the headers that could begin a line or speak for us. A batch is an array in the
 * eyes of cJSON too, with as many items. */
#include "base/limits.h"
#include "domain/expression.h"
#include "qstash/header_json.h"
#include "qstash/publish/batch_item.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADERS = 64, NOW = 1700000000 };

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7f)
            return true;
    return false;
}

static void is_text(struct str s, size_t most, const char *what)
{
    must(s.n <= most && str_is_utf8(s) && !has_control(s), what);
}

static void check_url(struct str url, bool allow_private)
{
    struct parcel p = { 0 };

    must(!input_url_fault(url, allow_private) && parcel_set_url(&p, url), "an address");
    is_text(url, LIMIT_QSTASH_URL, "an address is text");
    must(p.host.n && p.host.n <= LIMIT_QSTASH_HOST && !memchr(url.p, ' ', url.n), "with a host");
}

static void check_headers(struct arena *a, struct str json)
{
    static const char *const never[] = { "Host", "Connection", "Content-Length",
                                         "Transfer-Encoding", "Upstash-Signature" };
    struct header *h;
    size_t n;

    must(header_json_read(a, json, &h, &n) == OK && n <= LIMIT_HEADER_COUNT, "headers read back");
    must(!json.n || json_check(json, NULL) == OK, "headers are JSON");
    for (size_t i = 0; i < n; i++) {
        must(header_name_is_valid(h[i].name) && !has_control(h[i].value), "a header is one line");
        for (size_t k = 0; k < COUNT(never); k++)
            must(!str_eq_nocase(h[i].name, str_of(never[k])), "ours are not forwarded");
    }
}

static void check_callbacks(struct arena *a, struct str json, bool allow_private)
{
    static const char *const paths[] = { "callback.url", "callback.header", "failure.url",
                                         "failure.header" };
    struct json_value v[COUNT(paths)];
    struct str url;

    if (!json.n)
        return;
    must(json_pick(json, paths, COUNT(paths), v, NULL) == OK, "callbacks are JSON");
    must(v[0].type == JSON_STRING || v[2].type == JSON_STRING, "one of them is there");
    for (size_t i = 0; i < COUNT(paths); i += 2) {
        if (v[i].type != JSON_STRING)
            continue;
        must(json_unescape(a, &v[i], &url) == OK, "its address");
        check_url(url, allow_private);
        check_headers(a, v[i + 1].raw);
    }
}

static void check_labels(struct str labels)
{
    int count = 0;

    is_text(labels, LIMIT_HEADERS, "labels are text");
    for (; labels.n; count++) {
        struct str one = str_cut(&labels, ',');

        must(one.n && one.n <= LIMIT_QSTASH_NAME && str_eq(one, str_trim(one)), "a label");
    }
    must(count <= LIMIT_QSTASH_LABELS, "so many labels");
}

static void check_flow(const struct parcel *p)
{
    const struct flow_limits *f = &p->flow;

    is_text(p->flow_key, LIMIT_QSTASH_KEY, "a flow key");
    if (p->flow_key.n)
        must((f->parallelism || f->rate) && f->parallelism >= 0 && f->rate >= 0 &&
                 f->period_s >= 1 && f->period_s <= LIMIT_QSTASH_PERIOD_S,
             "its limits");
}

static void check_taken(struct arena *a, const struct input_source *s, const struct input *in)
{
    const struct parcel *p = &in->parcel;
    int64_t due_ms = input_due_ms(in, s->now_ms);
    struct why why;

    if (in->group.n)
        must(input_name_is_valid(in->group) && !p->url.n, "a group");
    else
        check_url(p->url, s->allow_private);
    check_headers(a, p->header);
    check_callbacks(a, p->callbacks, s->allow_private);
    check_labels(p->labels);
    check_flow(p);
    must(!p->retry_delay.n || expression_check(p->retry_delay, &why), "an expression");
    must(p->retries >= 0 && p->retries <= LIMIT_QSTASH_RETRIES, "retries");
    must(p->timeout_ms >= 0 && p->timeout_ms <= LIMIT_QSTASH_ATTEMPT_MOST_MS, "a timeout");
    must(due_ms >= s->now_ms &&
             due_ms <= s->now_ms + LIMIT_QSTASH_DELAY_DAYS * INT64_C(86400000) + 1000,
         "a time to leave");
    is_text(p->redact, LIMIT_HEADERS, "redact");
    must(!p->queue.n || input_name_is_valid(p->queue), "a queue");
    must(!in->schedule_id.n || input_name_is_valid(in->schedule_id), "a schedule's id");
    must(str_eq(p->body, s->body), "the body as it came");
}

/* What the query keeps is none of ours. */
static void check_query(const struct input_source *s, struct str url)
{
    if (!s->has_query || str_starts(url, S("http%")) || memchr(s->destination.p, '%', 8))
        return;
    str_cut(&url, '?');
    while (url.n) {
        struct str pair = str_cut(&url, '&');

        must(!str_starts(pair, S("upstash-")) && !str_starts(pair, S("qstash_token=")),
             "ours are cut");
    }
}

static void check_input(struct arena *a, const struct input_source *s)
{
    struct input in, again;
    enum err e = input_read(a, s, &in), second = input_read(a, s, &again);

    must(e == OK || e == ERR_VALIDATION, "taken, or refused");
    must(e == second && str_eq(str_of(in.why.text), str_of(again.why.text)), "the same each time");
    must(!e || in.why.text[0], "a refusal has words");
    if (e)
        return;
    must(str_eq(in.parcel.url, again.parcel.url) && str_eq(in.parcel.header, again.parcel.header) &&
             !memcmp(in.dedup_base, again.dedup_base, DEDUP_KEY),
         "the same result each time");
    check_taken(a, s, &in);
    if (!in.group.n && s->destination.n >= 8)
        check_query(s, in.parcel.url);
}

static void publish(struct arena *a, struct str text, unsigned flags)
{
    struct header headers[HEADERS];
    struct str target = str_cut(&text, '\n');
    struct input_source s = { .headers = headers,
                              .is_text = flags & 1,
                              .allow_private = flags & 2,
                              .now_ms = NOW * INT64_C(1000) };

    s.has_query = target.n && memchr(target.p, '?', target.n);
    s.query = target;
    s.destination = str_cut(&s.query, '?');
    while (text.n && s.header_count < HEADERS) {
        struct str line = str_cut(&text, '\n'), name = str_cut(&line, ':');

        if (!name.n)
            break;
        /* as the parser of HTTP, or of JSON, would have passed them */
        if (s.is_text ? str_is_utf8(line) && str_is_utf8(name)
                      : header_name_is_valid(name) && !has_control(line))
            headers[s.header_count++] = (struct header){ name, str_trim(line) };
    }
    s.body = text;
    check_input(a, &s);
}

static void check_item(struct arena *a, const struct batch_item *item, const cJSON *tree)
{
    const struct input_source common = { .now_ms = NOW * INT64_C(1000), .allow_private = true };
    const cJSON *body = cJSON_GetObjectItemCaseSensitive(tree, "body");
    struct input_source seen = common;
    struct input in = { 0 };
    enum err e = batch_item_input(a, item, &common, &in);

    must(e == OK || (e == ERR_VALIDATION && in.why.text[0]),
         "an item is taken, or refused with words");
    if (e)
        return;
    seen.body = str_of(cJSON_IsString(body) ? body->valuestring : "");
    check_taken(a, &seen, &in);
}

static void batch(struct arena *a, struct str text)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    struct json_fault fault = { 0 };
    struct batch_item *items = NULL;
    const cJSON *item;
    size_t n = 0, i = 0;
    bool is_array = json_parse(text, &tree, NULL) == OK && cJSON_IsArray(tree);
    enum err e = batch_items_read(a, text, &items, &n, &fault);

    must(e == OK || (e == ERR_VALIDATION && fault.why && fault.offset <= text.n), "read, or why");
    if (is_array)
        must(e == OK && n == (size_t)cJSON_GetArraySize(tree), "as many items");
    if (e || !is_array)
        return;
    cJSON_ArrayForEach(item, tree) check_item(a, &items[i++], item);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;

    if (!size)
        return 0;
    arena_init(&a, 4 * LIMIT_REQUEST_ARENA);
    if (data[0] % 4 == 3)
        batch(&a, (struct str){ (const char *)data + 1, size - 1 });
    else
        publish(&a, (struct str){ (const char *)data + 1, size - 1 }, data[0] >> 2);
    arena_release(&a);
    return 0;
}
