#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "telemetry/otlp.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>

/* --- where to --- */

static void the_endpoint_is_read_as_the_specification_says(void **state)
{
    static const struct {
        const char *base, *traces, *url;
    } rows[] = {
        { "http://h:4318", "", "http://h:4318/v1/traces" },
        { "http://h:4318/", "", "http://h:4318/v1/traces" },
        { "http://h:4318/base", "", "http://h:4318/base/v1/traces" },
        { "http://h:4318/base/", "", "http://h:4318/base/v1/traces" },
        { "http://other", "http://h:4318/as/it/is", "http://h:4318/as/it/is" },
        { "", "http://h:4318", "http://h:4318/" },
        { "", "https://h/", "https://h/" },
    };
    struct arena a;

    (void)state;
    arena_init(&a, 4096);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str url = otlp_url(&a, str_of(rows[i].base), str_of(rows[i].traces));

        if (!str_eq(url, str_of(rows[i].url)))
            fail_msg("row %zu: " STR_FMT, i, STR_ARG(url));
    }
    arena_release(&a);
}

static void headers_are_a_list_of_percent_encoded_pairs(void **state)
{
    static const struct {
        const char *list, *first, *second; /* NULL: refused; "": no header */
    } rows[] = {
        { "", "", "" },
        { "a=b", "a: b", "" },
        { " a = b , c=d ", "a: b", "c: d" },
        { "Authorization=Basic%20dXNlcjpwYXNz%3D", "Authorization: Basic dXNlcjpwYXNz=", "" },
        { "a=b=c", "a: b=c", "" },
        { ",a=b,,c=,", "a: b", "c: " },
        { "Content-Type=text/plain,a=b", "a: b", "" },
        { "a", NULL, NULL },
        { "=b", NULL, NULL },
        { "a=%0d%0aX-Evil:%201", NULL, NULL },
        { "a=%00", NULL, NULL },
        { "a=%zz", NULL, NULL },
        { "a%0d=b", NULL, NULL },
        { "a b=c", NULL, NULL },
    };
    struct arena a;

    (void)state;
    arena_init(&a, 64 * 1024);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *wanted[] = { rows[i].first, rows[i].second };
        struct header h[LIMIT_OTLP_HEADERS + 1] = { 0 };
        size_t n = 0;

        if (otlp_headers(&a, str_of(rows[i].list), h, &n) != (rows[i].first != NULL))
            fail_msg("row %zu: %s", i, rows[i].list);
        for (size_t k = 0; rows[i].first && k < 2; k++) {
            char text[200] = "";

            if (k < n)
                snprintf(text, sizeof(text), STR_FMT ": " STR_FMT, STR_ARG(h[k].name),
                         STR_ARG(h[k].value));
            assert_string_equal(text, wanted[k]);
        }
    }
    arena_release(&a);
}

static void too_many_headers_are_refused(void **state)
{
    struct header h[LIMIT_OTLP_HEADERS + 1];
    struct arena a;
    struct buf b;
    size_t n = 0;

    (void)state;
    arena_init(&a, 64 * 1024);
    buf_init(&b, 64 * 1024);
    for (int i = 0; i <= LIMIT_OTLP_HEADERS; i++)
        buf_fmt(&b, "h%d=1,", i);
    assert_false(otlp_headers(&a, buf_str(&b), h, &n));
    buf_release(&b);
    arena_release(&a);
}

/* --- who we are --- */

static void resource_is(const char *name, const char *list, const char *wanted)
{
    struct env e = { 0 };
    struct otlp_options o = {
        .env = &e, .service_name = str_of(name), .attributes = str_of(list), .version = S("1.2")
    };
    struct arena a;
    struct buf b;

    arena_init(&a, 64 * 1024);
    buf_init(&b, 64 * 1024);
    if (otlp_resource(&a, &o, &b) != (wanted != NULL))
        fail_msg("%s", list);
    if (wanted && !memmem(b.p, b.n, wanted, strlen(wanted)))
        fail_msg("%s: " STR_FMT, wanted, STR_ARG(buf_str(&b)));
    if (wanted)
        assert_int_equal(json_check(buf_str(&b), NULL), OK);
    buf_release(&b);
    arena_release(&a);
}

#define NAMED(v) "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"" v "\"}}"

static void the_service_name_beats_the_list(void **state)
{
    (void)state;
    resource_is("", "", NAMED("unknown_service:ichido"));
    resource_is("", "service.name=shop", NAMED("shop"));
    resource_is("pay", "service.name=shop", NAMED("pay"));
    resource_is("", "deployment.environment=a%20b",
                "{\"key\":\"deployment.environment\",\"value\":{\"stringValue\":\"a b\"}}");
    resource_is("", "a=%22", "{\"key\":\"a\",\"value\":{\"stringValue\":\"\\\"\"}}");
    resource_is("", "service.version=9",
                "{\"key\":\"service.version\",\"value\":{\"stringValue\":\"9\"}}");
    resource_is("", "", "{\"key\":\"service.version\",\"value\":{\"stringValue\":\"1.2\"}}");
    resource_is("", "a", NULL);
    resource_is("", "=a", NULL);
    resource_is("", "a=%zz", NULL);
}

/* --- spans --- */

static struct ended_span *span_of(const char *name, size_t count)
{
    struct ended_span *e = calloc(1, sizeof(*e) + count * sizeof(e->attributes[0]));

    e->name = str_of(name);
    e->count = count;
    e->span = (struct span){ .kind = SPAN_SERVER, .trace = { .flags = 3 } };
    memset(e->span.trace.trace_id, 0xab, 16);
    memset(e->span.trace.span_id, 0x01, 8);
    memset(e->span.parent, 0xff, 8);
    e->began_ns = 1544712660000000000;
    e->ended_ns = 1544712661000000001;
    return e;
}

static void written_as(struct ended_span *e, const char *wanted)
{
    struct ended_span *rest;
    struct buf b;

    buf_init(&b, LIMIT_OTLP_BODY);
    assert_int_equal(otlp_write(&b, S("{\"attributes\":[]}"), S("1.2"), e, &rest), 1);
    assert_null(rest);
    assert_int_equal(json_check(buf_str(&b), NULL), OK);
    buf_char(&b, '\0');
    assert_string_equal(b.p, wanted);
    buf_release(&b);
    ended_spans_free(e);
}

#define WHOLE(span)                                                                                \
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[]},\"scopeSpans\":[{\"scope\":{\"name\":"  \
    "\"ichido\",\"version\":\"1.2\"},\"spans\":[" span "]}]}]}"
#define IDS "{\"traceId\":\"abababababababababababababababab\",\"spanId\":\"0101010101010101\","
#define TIMES                                                                                      \
    "\"startTimeUnixNano\":\"1544712660000000000\",\"endTimeUnixNano\":\"1544712661000000001\""

static void a_span_is_written_byte_for_byte(void **state)
{
    struct ended_span *e = span_of("POST /payments", 0);

    (void)state;
    written_as(e, WHOLE(IDS "\"flags\":259,\"name\":\"POST /payments\",\"kind\":2," TIMES "}"));

    e = span_of("x", 3);
    e->span.has_parent = e->span.parent_is_remote = true;
    e->span.trace.flags = 1;
    e->span.kind = SPAN_CONSUMER;
    e->attributes[0] = SPAN_TEXT("t", S("\"\n\xe6\xb1\xba\xff"));
    e->attributes[1] = SPAN_NUM("n", INT64_MIN);
    e->attributes[2] = SPAN_BOOL("b", false);
    e->dropped = 2;
    e->failed = true;
    e->why = S("it failed");
    written_as(e,
               WHOLE(IDS "\"parentSpanId\":\"ffffffffffffffff\",\"flags\":769,\"name\":\"x\","
                         "\"kind\":5," TIMES ",\"attributes\":["
                         "{\"key\":\"t\",\"value\":{\"stringValue\":\"\\\"\\n\xe6\xb1\xba\xef\xbf"
                         "\xbd\"}},"
                         "{\"key\":\"n\",\"value\":{\"intValue\":\"-9223372036854775808\"}},"
                         "{\"key\":\"b\",\"value\":{\"boolValue\":false}}],"
                         "\"droppedAttributesCount\":2,"
                         "\"status\":{\"code\":2,\"message\":\"it failed\"}}"));
}

/* Whatever the batch's size: a request has its bound, and what is over it comes with the next. */
static void a_request_has_its_bound(void **state)
{
    enum { SPANS = 4000, TEXTS = 12 };
    static char text[LIMIT_SPAN_TEXT];
    struct ended_span *first = NULL, *rest;
    size_t n, all = 0, requests = 0;
    struct buf b;

    (void)state;
    memset(text, 1, sizeof(text)); /* six bytes each, in JSON */
    for (size_t i = 0; i < SPANS; i++) {
        struct ended_span *e = span_of("x", TEXTS);

        for (size_t k = 0; k < TEXTS; k++)
            e->attributes[k] = SPAN_TEXT("t", ((struct str){ text, sizeof(text) }));
        e->next = first;
        first = e;
    }
    buf_init(&b, LIMIT_OTLP_BODY);
    for (rest = first; rest; requests++) {
        buf_clear(&b);
        n = otlp_write(&b, S("{}"), S("1"), rest, &rest);
        assert_true(n > 0);
        assert_false(b.failed);
        all += n;
    }
    assert_int_equal(all, SPANS);
    assert_true(requests > 1);
    buf_release(&b);
    ended_spans_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_endpoint_is_read_as_the_specification_says),
        TEST(headers_are_a_list_of_percent_encoded_pairs),
        TEST(too_many_headers_are_refused),
        TEST(the_service_name_beats_the_list),
        TEST(a_span_is_written_byte_for_byte),
        TEST(a_request_has_its_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
