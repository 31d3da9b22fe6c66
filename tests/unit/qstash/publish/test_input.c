/* What a publisher asks for, and what becomes of it: every row of sections 1.3, 4.1, 4.2 and 4.4.
 */
#include "base/limits.h"
#include "qstash/header_json.h"
#include "qstash/publish/input.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

enum { HEADERS = 128 };
#define NOW (INT64_C(1700000000) * 1000)

struct asked {
    struct arena arena;
    struct header headers[HEADERS];
    struct input_source s;
    struct input in;
    enum err err;
};

/* "a: 1|b: 2" */
static void add_headers(struct asked *k, const char *text)
{
    struct str rest = str_of(text);

    while (rest.n) {
        struct str line = str_cut(&rest, '|'), name = str_cut(&line, ':');

        assert_true(k->s.header_count < HEADERS);
        k->headers[k->s.header_count++] = (struct header){ name, str_trim(line) };
    }
}

static void begin(struct asked *k, const char *target, const char *headers)
{
    struct str rest = str_of(target), d = str_cut(&rest, '?');

    *k = (struct asked){ 0 };
    arena_init(&k->arena, LIMIT_REQUEST_ARENA);
    k->s = (struct input_source){ .destination = d,
                                  .query = rest,
                                  .has_query = strchr(target, '?') != NULL,
                                  .headers = k->headers,
                                  .caller_ip = S("203.0.113.9"),
                                  .now_ms = NOW };
    add_headers(k, headers);
}

static void ask(struct asked *k, const char *target, const char *headers)
{
    begin(k, target, headers);
    k->err = input_read(&k->arena, &k->s, &k->in);
}

static void end(struct asked *k)
{
    arena_release(&k->arena);
}

static void same(size_t row, const char *what, struct str have, const char *want)
{
    if (!str_eq(have, str_of(want)))
        fail_msg("row %zu: %s is \"" STR_FMT "\", not \"%s\"", row, what, STR_ARG(have), want);
}

/* --- destinations --- */

static void a_destination_is_taken_byte_for_byte(void **state)
{
    static const struct {
        const char *target, *url, *host, *path;
    } rows[] = {
        { "https://example.com", "https://example.com", "example.com", "" },
        { "https://example.com/a?b=c", "https://example.com/a?b=c", "example.com", "/a" },
        { "http://example.com:8080/a//b/", "http://example.com:8080/a//b/", "example.com:8080",
          "/a//b/" },
        { "HTTPS://Example.COM/A", "HTTPS://Example.COM/A", "Example.COM", "/A" },
        { "https://u:p@example.com/", "https://u:p@example.com/", "example.com", "/" },
        { "https://e.com/a%2Fb%20c;d?x=%20&y=+", "https://e.com/a%2Fb%20c;d?x=%20&y=+", "e.com",
          "/a%2Fb%20c;d" },
        { "https://[2606:4700::1111]:8443/x", "https://[2606:4700::1111]:8443/x",
          "[2606:4700::1111]:8443", "/x" },
        { "https://e.com/\xe3\x81\x82", "https://e.com/\xe3\x81\x82", "e.com", "/\xe3\x81\x82" },
        { "https://\xe4\xbe\x8b.jp/", "https://\xe4\xbe\x8b.jp/", "\xe4\xbe\x8b.jp", "/" },
        { "https://under_score.example/x", "https://under_score.example/x", "under_score.example",
          "/x" },
        /* the query is the destination's */
        { "https://e.com/?", "https://e.com/?", "e.com", "/" },
        { "https://e.com?", "https://e.com?", "e.com", "" },
        { "https://e.com/?a&&b=&c=1?d", "https://e.com/?a&&b=&c=1?d", "e.com", "/" },
        { "https://e.com/?a=%zz&b=%", "https://e.com/?a=%zz&b=%", "e.com", "/" },
        /* without what is ours */
        { "https://e.com/?qstash_token=t", "https://e.com/", "e.com", "/" },
        { "https://e.com/?a=1&qstash_token=t&b=%2f", "https://e.com/?a=1&b=%2f", "e.com", "/" },
        { "https://e.com/?upstash-retries=1&a=1&", "https://e.com/?a=1&", "e.com", "/" },
        { "https://e.com/?a=1&UPSTASH-Retries=1", "https://e.com/?a=1", "e.com", "/" },
        { "https://e.com/?a=1&%75pstash-retries=1", "https://e.com/?a=1", "e.com", "/" },
        { "https://e.com/?a=upstash-retries&xupstash-a=1",
          "https://e.com/?a=upstash-retries&xupstash-a=1", "e.com", "/" },
        /* mended */
        { "https:/example.com/a?b=c", "https://example.com/a?b=c", "example.com", "/a" },
        { "http:/example.com", "http://example.com", "example.com", "" },
        { "https%3A%2F%2Fexample.com%2Fa%3Fb%3Dc", "https://example.com/a?b=c", "example.com",
          "/a" },
        { "https%3a%2f%2fexample.com%2fa", "https://example.com/a", "example.com", "/a" },
        { "https%3A%2F%2Fexample.com%2F%2541", "https://example.com/%41", "example.com", "/%41" },
        { "https%3A%2F%2Fe.com%2F%3Fa%3D1?b=2&qstash_token=t", "https://e.com/?a=1&b=2", "e.com",
          "/" },
        { "https%3A%2F%2Fe.com%2F?b=2", "https://e.com/?b=2", "e.com", "/" },
        { "https:%2F%2Fe.com%2Fx", "https://e.com/x", "e.com", "/x" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct asked k;

        ask(&k, rows[i].target, "");
        if (k.err)
            fail_msg("row %zu: %s is refused: %s", i, rows[i].target, k.in.why.text);
        same(i, "url", k.in.parcel.url, rows[i].url);
        same(i, "host", k.in.parcel.host, rows[i].host);
        same(i, "path", k.in.parcel.path, rows[i].path);
        assert_int_equal(k.in.group.n, 0);
        end(&k);
    }
}

static void a_plain_destination_is_not_copied(void **state)
{
    static const char target[] = "https://example.com/a?b=c";
    struct asked k;

    (void)state;
    ask(&k, target, "");
    assert_ptr_equal(k.in.parcel.url.p, target);
    end(&k);
}

static void a_bad_destination_is_refused_with_words(void **state)
{
#define SCHEME "invalid destination url: endpoint has invalid scheme, add http:// or https://"
    static const struct {
        const char *target, *why;
    } rows[] = {
        { "", "invalid destination url: it is empty" },
        { "ftp://example.com", SCHEME },
        { "example.com/path", SCHEME },
        { "my group", SCHEME },
        { "my%20group", SCHEME },
        { "javascript:alert(1)", SCHEME },
        { "https:", SCHEME },
        { "https", "" }, /* a group may be called so */
        { "httpsx:/e.com", SCHEME },
        { "api/llm", "api/llm is not offered here" },
        { "api/llm/", "api/llm is not offered here" },
        { "api/email", SCHEME },
        { "https://", "invalid destination url: it has no host" },
        { "https:///path", "invalid destination url: it has no host" },
        { "https://:80/", "invalid destination url: it has no host" },
        { "https://u@/x", "invalid destination url: it has no host" },
        { "https://e.com:0/", "invalid destination url: its port is not a number from 1 to 65535" },
        { "https://e.com:/", "invalid destination url: its port is not a number from 1 to 65535" },
        { "https://e.com:65536/",
          "invalid destination url: its port is not a number from 1 to 65535" },
        { "https://e.com:8a/",
          "invalid destination url: its port is not a number from 1 to 65535" },
        { "https://e.com:1:2/",
          "invalid destination url: its port is not a number from 1 to 65535" },
        { "https://e.com\\@127.0.0.1/",
          "invalid destination url: forbidden destination, the address is not public" },
        { "https://e.com\\x/", "invalid destination url: its host is not a name or an address" },
        { "https://%31%32%37.0.0.1/",
          "invalid destination url: its host is not a name or an address" },
        { "https://[::1/", "invalid destination url: its host is no IPv6 address" },
        { "https://[::1]x/", "invalid destination url: its host is no IPv6 address" },
        { "https://[fe80::1%25eth0]/", "invalid destination url: its host is no IPv6 address" },
        { "https://[]/", "invalid destination url: its host is no IPv6 address" },
        { "https://e.com/a b",
          "invalid destination url: it has blanks, control characters or is not UTF-8" },
        { "https%3A%2F%2Fe.com%2F%0d%0aX",
          "invalid destination url: it has blanks, control characters or is not UTF-8" },
        { "https%3A%2F%2Fe.com%2F%00",
          "invalid destination url: it has blanks, control characters or is not UTF-8" },
        { "https://e.com/\xff",
          "invalid destination url: it has blanks, control characters or is not UTF-8" },
        { "https://e.com/?\x7f",
          "invalid destination url: it has blanks, control characters or is not UTF-8" },
        { "https%3A%2F%2Fe.com%2", "invalid destination url: broken percent-encoding" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct asked k;

        ask(&k, rows[i].target, "");
        if (k.err != (rows[i].why[0] ? ERR_VALIDATION : OK))
            fail_msg("row %zu: \"%s\" gives %s", i, rows[i].target, err_code(k.err));
        same(i, "why", str_of(k.in.why.text), rows[i].why);
        end(&k);
    }
}

static void an_address_has_at_most_8_KB_and_its_host_260_bytes(void **state)
{
    char target[LIMIT_QSTASH_URL + 2];
    struct asked k;

    (void)state;
    memset(target, 'a', sizeof(target));
    memcpy(target, "https://e.com/", 14);
    target[LIMIT_QSTASH_URL] = '\0';
    ask(&k, target, "");
    assert_int_equal(k.err, OK);
    end(&k);
    target[LIMIT_QSTASH_URL] = 'a';
    target[LIMIT_QSTASH_URL + 1] = '\0';
    ask(&k, target, "");
    assert_int_equal(k.err, ERR_VALIDATION);
    assert_string_equal(k.in.why.text, "invalid destination url: it is longer than 8192 bytes");
    end(&k);

    memset(target, 'a', sizeof(target));
    memcpy(target, "https://", 8);
    target[8 + LIMIT_QSTASH_HOST] = '\0';
    ask(&k, target, "");
    assert_int_equal(k.err, OK);
    end(&k);
    target[8 + LIMIT_QSTASH_HOST] = 'a';
    target[8 + LIMIT_QSTASH_HOST + 1] = '\0';
    ask(&k, target, "");
    assert_string_equal(k.in.why.text, "invalid destination url: its host is too long");
    end(&k);
}

static void private_addresses_are_refused_unless_allowed(void **state)
{
    static const struct {
        const char *url;
        bool public;
    } rows[] = {
        { "http://93.184.216.34/", true },
        { "http://example.com/", true },
        { "http://localhost.example.com/", true },
        { "http://[2606:4700::1111]/", true },
        { "http://127.0.0.1/", false },
        { "http://127.0.0.1:8080/", false },
        { "http://127.0.0.1./", false },
        { "http://127.1/", false },
        { "http://2130706433/", false },
        { "http://0x7f000001/", false },
        { "http://0177.0.0.1/", false },
        { "http://0/", false },
        { "http://10.1.2.3/", false },
        { "http://172.16.0.1/", false },
        { "http://192.168.1.1/", false },
        { "http://169.254.169.254/latest/meta-data/", false },
        { "http://[::1]/", false },
        { "http://[::ffff:127.0.0.1]:80/", false },
        { "http://[fd00::1]/", false },
        { "http://u:p@127.0.0.1/", false },
        { "http://localhost/", false },
        { "http://LOCALHOST:3000/", false },
        { "http://localhost./", false },
        { "http://a.b.localhost/", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *fault = input_url_fault(str_of(rows[i].url), false);

        if (rows[i].public != !fault)
            fail_msg("row %zu: %s: %s", i, rows[i].url, fault ? fault : "taken");
        if (fault)
            assert_non_null(strstr(fault, "forbidden destination"));
        assert_null(input_url_fault(str_of(rows[i].url), true));
    }
}

static void a_name_is_a_group(void **state)
{
    static const struct {
        const char *target, *group;
    } rows[] = {
        { "my-group", "my-group" },
        { "A.b_c-9", "A.b_c-9" },
        { "my-group/", "my-group" },
        { "my-group?x=1", "my-group" },
        { "%6dine", "mine" },
        { "example.com", "example.com" },
        { "mine?qstash_token=1", "mine" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct asked k;

        ask(&k, rows[i].target, "");
        assert_int_equal(k.err, OK);
        same(i, "group", k.in.group, rows[i].group);
        assert_int_equal(k.in.parcel.url.n, 0);
        end(&k);
    }
}

static void names_have_a_narrow_alphabet(void **state)
{
    char longest[LIMIT_QSTASH_NAME + 1];
    static const struct {
        const char *name;
        bool valid;
    } rows[] = { { "a", true },    { "A.b_c-9", true }, { "", false },         { "a b", false },
                 { "a/b", false }, { "a:b", false },    { "\xc3\xbc", false }, { "a\n", false } };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (input_name_is_valid(str_of(rows[i].name)) != rows[i].valid)
            fail_msg("row %zu: %s", i, rows[i].name);
    memset(longest, 'x', sizeof(longest));
    assert_true(input_name_is_valid((struct str){ longest, LIMIT_QSTASH_NAME }));
    assert_false(input_name_is_valid((struct str){ longest, LIMIT_QSTASH_NAME + 1 }));
}

/* --- headers --- */

static void what_is_not_asked_for_has_its_default(void **state)
{
    struct asked k;

    (void)state;
    ask(&k, "https://e.com",
        "host: h|connection: keep-alive|accept: */*|user-agent: node|authorization: Bearer t|"
        "upstash-telemetry-sdk: x|upstash-telemetry-runtime: y|upstash-no-such-thing: 1|x-own: 1");
    assert_int_equal(k.err, OK);
    same(0, "method", k.in.parcel.method, "POST");
    assert_int_equal(k.in.parcel.retries, 3);
    assert_int_equal(k.in.parcel.header.n, 0);
    assert_int_equal(k.in.parcel.timeout_ms, 0);
    assert_int_equal(k.in.parcel.callbacks.n + k.in.parcel.labels.n + k.in.parcel.redact.n +
                         k.in.parcel.queue.n + k.in.parcel.flow_key.n + k.in.parcel.retry_delay.n,
                     0);
    same(0, "caller", k.in.parcel.caller_ip, "203.0.113.9");
    assert_int_equal(k.in.dedup, DEDUP_NONE);
    assert_int_equal(input_due_ms(&k.in, NOW), NOW);
    assert_true(parcel_is_plain(&k.in.parcel));
    end(&k);
}

struct wanted { /* fields as one text: "retries=3 delay=10000" */
    const char *headers, *field, *value;
};

static struct str field_of(const struct asked *k, const char *field, char number[32])
{
    const struct parcel *p = &k->in.parcel;
    const struct {
        const char *name;
        struct str text;
    } texts[] = {
        { "method", p->method },
        { "retry-delay", p->retry_delay },
        { "labels", p->labels },
        { "redact", p->redact },
        { "queue", p->queue },
        { "flow-key", p->flow_key },
        { "header", p->header },
        { "callbacks", p->callbacks },
        { "cron", k->in.cron },
        { "schedule-id", k->in.schedule_id },
        { "why", str_of(k->in.why.text) },
    };
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        { "retries", p->retries },
        { "timeout", p->timeout_ms },
        { "delay", k->in.delay_ms },
        { "not-before", k->in.not_before_ms },
        { "due", input_due_ms(&k->in, NOW) - NOW },
        { "parallelism", p->flow.parallelism },
        { "rate", p->flow.rate },
        { "period", p->flow.period_s },
        { "dedup", k->in.dedup },
    };

    for (size_t i = 0; i < COUNT(texts); i++)
        if (!strcmp(field, texts[i].name))
            return texts[i].text;
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (!strcmp(field, numbers[i].name)) {
            snprintf(number, 32, "%lld", (long long)numbers[i].value);
            return str_of(number);
        }
    fail_msg("no field %s", field);
    return S("");
}

static void check_rows(const struct wanted *rows, size_t n, enum err err)
{
    for (size_t i = 0; i < n; i++) {
        struct asked k;
        char number[32];

        ask(&k, "https://e.com/", rows[i].headers);
        if (k.err != err)
            fail_msg("row %zu: %s gives %s %s", i, rows[i].headers, err_code(k.err), k.in.why.text);
        same(i, rows[i].field, field_of(&k, rows[i].field, number), rows[i].value);
        end(&k);
    }
}

static void each_header_says_one_thing(void **state)
{
    static const struct wanted rows[] = {
        { "upstash-method: PUT", "method", "PUT" },
        { "Upstash-Method: delete", "method", "DELETE" },
        { "upstash-method: ", "method", "POST" },
        { "upstash-delay: 10s", "delay", "10000" },
        { "upstash-delay: 1d10h30m", "delay", "124200000" },
        { "upstash-delay: 0s", "due", "0" },
        { "upstash-delay: 365d", "delay", "31536000000" },
        { "upstash-not-before: 1700000060", "due", "60000" },
        { "upstash-not-before: 1600000000", "due", "0" },
        { "upstash-not-before: 0", "due", "0" },
        { "upstash-delay: 10s|upstash-not-before: 1700000060", "due", "60000" },
        { "upstash-retries: 0", "retries", "0" },
        { "upstash-retries: 1000", "retries", "1000" },
        { "upstash-retry-delay: 1000 * (1 + retried)", "retry-delay", "1000 * (1 + retried)" },
        { "upstash-timeout: 12.5s", "timeout", "12500" },
        { "upstash-timeout: 2h", "timeout", "7200000" },
        { "upstash-label: a", "labels", "a" },
        { "upstash-label:  a , b,,c ", "labels", "a,b,c" },
        { "upstash-label: \xfc", "labels", "\xc3\xbc" },
        { "upstash-redact-fields: body", "redact", "body" },
        { "upstash-redact-fields: header[Authorization], headers[X],header,headers, body", "redact",
          "header[Authorization], headers[X],header,headers, body" },
        { "upstash-queue-name: q.1", "queue", "q.1" },
        { "upstash-flow-control-key: k 1/x?y|upstash-flow-control-value: rate=1", "flow-key",
          "k 1/x?y" },
        { "upstash-flow-control-key: k|upstash-flow-control-value: parallelism=2, rate=10, "
          "period=60s",
          "rate", "10" },
        { "upstash-flow-control-key: k|upstash-flow-control-value: period=1m,parallelism=2",
          "period", "60" },
        { "upstash-flow-control-key: k|upstash-flow-control-value: parallelism = 2 ,", "period",
          "1" },
        { "upstash-flow-control-key: k|upstash-flow-control-value: rate=5, period=30", "period",
          "30" },
        { "upstash-flow-control-key: k|upstash-flow-control-value: rate=5, period=0.5s", "period",
          "1" },
        { "upstash-flow-control-key: k|upstash-flow-control-value: rate=5, period=7d", "period",
          "604800" },
        { "upstash-deduplication-id: x", "dedup", "1" },
        { "upstash-deduplication-id: ", "dedup", "0" },
        { "upstash-content-based-deduplication: True", "dedup", "2" },
        { "upstash-content-based-deduplication: False", "dedup", "0" },
        { "upstash-content-based-deduplication: true|upstash-deduplication-id: x", "dedup", "1" },
        { "upstash-cron:  */5 * * * * ", "cron", "*/5 * * * *" },
        { "upstash-cron: CRON_TZ=Asia/Tokyo 0 9 * * 1-5", "cron",
          "CRON_TZ=Asia/Tokyo 0 9 * * 1-5" },
        { "upstash-schedule-id: my.id", "schedule-id", "my.id" },
    };

    (void)state;
    check_rows(rows, COUNT(rows), OK);
}

static void a_bad_value_is_refused_with_words(void **state)
{
#define FLOW                                                                                       \
    "Upstash-Flow-Control-Value must be like parallelism=2, rate=10, period=60s: each at most "    \
    "once, and one of the first two"
#define NAME_WORDS " may have letters, digits, '.', '_' and '-', 255 at most"
    static const struct wanted rows[] = {
        { "upstash-method: HEAD", "why", "upstash-method must be GET, POST, PUT, PATCH or DELETE" },
        { "upstash-delay: 10", "why", "upstash-delay must be a duration like 10s, 5m or 1d10h30m" },
        { "upstash-delay: -1s", "why",
          "upstash-delay must be a duration like 10s, 5m or 1d10h30m" },
        { "upstash-delay: 366d", "why", "upstash-delay is longer than 31536000 seconds" },
        { "upstash-delay: 99999999999999999999d", "why",
          "upstash-delay is longer than 31536000 seconds" },
        { "upstash-not-before: 1.5", "why",
          "upstash-not-before must be a time in seconds since 1970" },
        { "upstash-not-before: -1", "why",
          "upstash-not-before must be a time in seconds since 1970" },
        { "upstash-not-before: 1700000000000", "why",
          "upstash-not-before is more than 365 days ahead" },
        { "upstash-not-before: 99999999999999999999", "why",
          "upstash-not-before must be a time in seconds since 1970" },
        { "upstash-not-before: 1700000060|upstash-delay: x", "why",
          "upstash-delay must be a duration like 10s, 5m or 1d10h30m" },
        { "upstash-retries: -1", "why", "upstash-retries must be a whole number from 0 to 1000" },
        { "upstash-retries: 1001", "why", "upstash-retries must be a whole number from 0 to 1000" },
        { "upstash-retries: 3.0", "why", "upstash-retries must be a whole number from 0 to 1000" },
        { "upstash-timeout: 3h", "why", "upstash-timeout is longer than 7200 seconds" },
        { "upstash-timeout: soon", "why",
          "upstash-timeout must be a duration like 10s, 5m or 1d10h30m" },
        { "upstash-callback: nowhere", "why",
          "invalid callback url: endpoint has invalid scheme, add http:// or https://" },
        { "upstash-callback: http://127.0.0.1/", "why",
          "invalid callback url: forbidden destination, the address is not public" },
        { "upstash-failure-callback: ftp://x", "why",
          "invalid failure callback url: endpoint has invalid scheme, add http:// or https://" },
        { "upstash-callback-delay: 10s", "why",
          "upstash-callback-delay: a callback cannot be delayed" },
        { "upstash-failure-callback-delay: 10s", "why",
          "upstash-failure-callback-delay: a callback cannot be delayed" },
        { "upstash-callback-method: HEAD", "why",
          "upstash-callback-method must be GET, POST, PUT, PATCH or DELETE" },
        { "upstash-callback-retries: x", "why",
          "upstash-callback-retries must be a whole number from 0 to 1000" },
        { "upstash-failure-callback-timeout: 1", "why",
          "upstash-failure-callback-timeout must be a duration like 10s, 5m or 1d10h30m" },
        { "upstash-deduplication-id: a:b", "why", "DeduplicationId cannot contain ':'" },
        { "upstash-content-based-deduplication: yes", "why",
          "upstash-content-based-deduplication must be true or false" },
        { "upstash-header-forward: 1", "why", "upstash-header-forward must be true or false" },
        { "upstash-flow-control-key: k", "why", FLOW },
        { "upstash-flow-control-value: rate=1", "why",
          "Upstash-Flow-Control-Value needs an Upstash-Flow-Control-Key" },
        { "upstash-flow-control-key: k|upstash-flow-control-value: period=1s", "why", FLOW },
        { "upstash-flow-control-key: k|upstash-flow-control-value: rate=0", "why", FLOW },
        { "upstash-flow-control-key: k|upstash-flow-control-value: rate=-1", "why", FLOW },
        { "upstash-flow-control-key: k|upstash-flow-control-value: rate=1,rate=2", "why", FLOW },
        { "upstash-flow-control-key: k|upstash-flow-control-value: rate=1,period=8d", "why", FLOW },
        { "upstash-flow-control-key: k|upstash-flow-control-value: rate=1,period=0s", "why", FLOW },
        { "upstash-flow-control-key: k|upstash-flow-control-value: rate=1,pace=2", "why", FLOW },
        { "upstash-flow-control-key: k|upstash-flow-control-value: rate=1000000001", "why", FLOW },
        { "upstash-redact-fields: body,password", "why",
          "upstash-redact-fields may name body, header and header[Name]" },
        { "upstash-redact-fields: header[]", "why",
          "upstash-redact-fields may name body, header and header[Name]" },
        { "upstash-queue-name: a b", "why", "upstash-queue-name" NAME_WORDS },
        { "upstash-schedule-id: a/b", "why", "upstash-schedule-id" NAME_WORDS },
        { "upstash-cron: CRON_TZ=Mars/Base 0 9 * * *", "why",
          "invalid cron: there is no time zone Mars/Base" },
        { "upstash-workflow-runid: 1", "why",
          "upstash-workflow-runid: workflows are not offered here" },
        { "upstash-callback-workflow-runid: 1", "why",
          "upstash-callback-workflow-runid: workflows are not offered here" },
        { "upstash-failure-callback-workflow-x: 1", "why",
          "upstash-failure-callback-workflow-x: workflows are not offered here" },
        { "upstash-feature-set: LazyFetch", "why",
          "upstash-feature-set: workflows are not offered here" },
        { "upstash-retries: 1|Upstash-Retries: 2", "why", "Upstash-Retries is given twice" },
        { "content-type: a/b|content-type: c/d", "why", "Content-Type is given twice" },
        { "upstash-forward-: x", "why", "a header that is to be sent along has no valid name" },
    };

    (void)state;
    check_rows(rows, COUNT(rows), ERR_VALIDATION);
}

static void other_parsers_words_come_through(void **state)
{
    static const struct wanted rows[] = {
        { "upstash-retry-delay: pow(2", "upstash-retry-delay is no expression: ", "" },
        { "upstash-callback-retry-delay: system()",
          "upstash-callback-retry-delay is no expression: ", "" },
        { "upstash-cron: 61 * * * *", "invalid cron: ", "" },
        { "upstash-cron: * * * *", "invalid cron: ", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct asked k;

        ask(&k, "https://e.com/", rows[i].headers);
        assert_int_equal(k.err, ERR_VALIDATION);
        if (!str_starts(str_of(k.in.why.text), str_of(rows[i].field)) ||
            strlen(k.in.why.text) <= strlen(rows[i].field))
            fail_msg("row %zu: %s", i, k.in.why.text);
        end(&k);
    }
}

static void headers_are_forwarded_under_their_own_names(void **state)
{
    static const struct wanted rows[] = {
        { "content-type: application/json", "header", "{\"Content-Type\":[\"application/json\"]}" },
        { "upstash-forward-test-header: v", "header", "{\"Test-Header\":[\"v\"]}" },
        { "Upstash-Forward-X-API-key: v|content-type: text/plain;charset=UTF-8", "header",
          "{\"X-Api-Key\":[\"v\"],\"Content-Type\":[\"text/plain;charset=UTF-8\"]}" },
        { "upstash-forward-a: 1|upstash-forward-b: 2|upstash-forward-A: 3", "header",
          "{\"A\":[\"1\",\"3\"],\"B\":[\"2\"]}" },
        { "upstash-forward-empty:", "header", "{\"Empty\":[\"\"]}" },
        { "upstash-forward-quote: \"\\", "header", "{\"Quote\":[\"\\\"\\\\\"]}" },
        { "upstash-forward-umlaut: \xfc\x80", "header", "{\"Umlaut\":[\"\xc3\xbc\xc2\x80\"]}" },
        { "upstash-forward-authorization: Bearer mine", "header",
          "{\"Authorization\":[\"Bearer mine\"]}" },
        { "upstash-forward-user-agent: mine", "header", "{\"User-Agent\":[\"mine\"]}" },
        /* the explicit one wins */
        { "content-type: a/b|upstash-forward-content-type: c/d", "header",
          "{\"Content-Type\":[\"c/d\"]}" },
        /* never forwarded */
        { "upstash-forward-host: evil|upstash-forward-connection: close|"
          "upstash-forward-transfer-encoding: chunked|upstash-forward-content-length: 5|"
          "upstash-forward-keep-alive: 1|upstash-forward-te: x|upstash-forward-upgrade: h2c|"
          "upstash-forward-trailer: x|upstash-forward-expect: 100-continue|"
          "upstash-forward-proxy-authorization: x|upstash-forward-upstash-message-id: x|"
          "upstash-forward-upstash-signature: x|upstash-forward-upstash-retried: 9|"
          "upstash-forward-webhook-id: x|upstash-forward-webhook-signature: x",
          "header", "" },
        /* all of them, where it is asked for */
        { "x-own: 1|upstash-header-forward: false", "header", "" },
        { "upstash-header-forward: true|host: h|x-own: 1|user-agent: node|accept: */*|"
          "accept-encoding: gzip|accept-language: *|sec-fetch-mode: cors|content-length: 5|"
          "connection: keep-alive, X-Hop|x-hop: 1|authorization: Bearer secret|"
          "upstash-retries: 1|upstash-telemetry-sdk: 1|stripe-signature: t=1",
          "header", "{\"X-Own\":[\"1\"],\"Stripe-Signature\":[\"t=1\"]}" },
        { "upstash-header-forward: true|authorization: Basic abc", "header",
          "{\"Authorization\":[\"Basic abc\"]}" },
        { "upstash-header-forward: TRUE|x-own: 1|upstash-forward-x-own: 2|content-type: a/b",
          "header", "{\"X-Own\":[\"2\"],\"Content-Type\":[\"a/b\"]}" },
    };

    (void)state;
    check_rows(rows, COUNT(rows), OK);
}

static void callbacks_are_configured_by_their_headers(void **state)
{
    static const struct wanted rows[] = {
        { "upstash-callback: https://c.com/x?y=1", "callbacks",
          "{\"callback\":{\"url\":\"https://c.com/x?y=1\"}}" },
        { "upstash-failure-callback: https://f.com", "callbacks",
          "{\"failure\":{\"url\":\"https://f.com\"}}" },
        { "upstash-failure-callback: https://f.com|upstash-callback: https://c.com", "callbacks",
          "{\"callback\":{\"url\":\"https://c.com\"},\"failure\":{\"url\":\"https://f.com\"}}" },
        { "upstash-callback: https://c.com|upstash-callback-method: put|"
          "upstash-callback-retries: 0|upstash-callback-retry-delay: 1000|"
          "upstash-callback-timeout: 5s|upstash-callback-forward-x-a: 1|"
          "upstash-callback-forward-host: evil|upstash-callback-forward-x-a: 2",
          "callbacks",
          "{\"callback\":{\"url\":\"https://c.com\",\"method\":\"PUT\",\"retries\":0,"
          "\"retryDelay\":\"1000\",\"timeoutMs\":5000,\"header\":{\"X-A\":[\"1\",\"2\"]}}}" },
        { "upstash-failure-callback: https://f.com|upstash-failure-callback-retries: 7|"
          "upstash-callback-retries: 2",
          "callbacks", "{\"failure\":{\"url\":\"https://f.com\",\"retries\":7}}" },
        { "upstash-callback-retries: 2", "callbacks", "" },
        { "upstash-callback:", "callbacks", "" },
    };

    (void)state;
    check_rows(rows, COUNT(rows), OK);
}

/* --- the query in their place --- */

static void the_query_may_stand_for_headers(void **state)
{
    static const struct {
        const char *target, *headers, *field, *value;
    } rows[] = {
        { "https://e.com/?upstash-retries=7&upstash-delay=100s", "", "retries", "7" },
        { "https://e.com/?upstash-retries=7&upstash-delay=100s", "", "delay", "100000" },
        { "https://e.com/?UPSTASH-RETRIES=7", "", "retries", "7" },
        { "https://e.com/?upstash-retries=7", "upstash-retries: 1", "retries", "1" },
        { "https://e.com/?upstash-retries=7", "upstash-retries: ", "retries", "7" },
        { "https://e.com/?upstash-retries=bad", "upstash-retries: 1", "retries", "1" },
        { "https://e.com/?upstash-retry-delay=1000+%2b+retried", "", "retry-delay",
          "1000 + retried" },
        { "https://e.com/?upstash-label=%c3%bc", "", "labels", "\xc3\xbc" },
        { "https://e.com/?upstash-forward-x-a=1&upstash-forward-x-b=2", "upstash-forward-x-a: 9",
          "header", "{\"X-A\":[\"9\"],\"X-B\":[\"2\"]}" },
        { "https://e.com/?upstash-callback=https%3A%2F%2Fc.com%2F%3Fa%3Db", "", "callbacks",
          "{\"callback\":{\"url\":\"https://c.com/?a=b\"}}" },
        { "https://e.com/?upstash-callback-forward-a=1",
          "upstash-callback: https://c.com|"
          "upstash-callback-forward-A: 2",
          "callbacks", "{\"callback\":{\"url\":\"https://c.com\",\"header\":{\"A\":[\"2\"]}}}" },
        { "https://e.com/?upstash-header-forward=true", "x-own: 1", "header",
          "{\"X-Own\":[\"1\"]}" },
        { "my-group?upstash-retries=7", "", "retries", "7" },
        { "https://e.com/?upstash-retries", "", "retries", "3" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct asked k;
        char number[32];

        ask(&k, rows[i].target, rows[i].headers);
        if (k.err)
            fail_msg("row %zu: %s", i, k.in.why.text);
        same(i, rows[i].field, field_of(&k, rows[i].field, number), rows[i].value);
        end(&k);
    }
}

static void the_query_cannot_smuggle_headers(void **state)
{
    static const char *const rows[] = {
        "https://e.com/?upstash-forward-x=a%0d%0aEvil:%201",
        "https://e.com/?upstash-forward-x=a%00b",
        "https://e.com/?upstash-forward-x%0d%0aevil=1",
        "https://e.com/?upstash-forward-x%3aevil=1",
        "https://e.com/?upstash-forward-=1",
        "https://e.com/?upstash-forward-%=1",
        "https://e.com/?upstash-retries%2=1",
        "https://e.com/?upstash-forward-x=%zz",
        "https://e.com/?upstash-forward-x=%ff",
        "https://e.com/?upstash-label=a%0a",
        "https://e.com/?upstash-retries=1&upstash-retries=2",
        "https://e.com/?upstash-callback-forward-x=%0a",
        "https://e.com/?upstash-deduplication-id=a%3ab",
        "https://e.com/?upstash-workflow-init=1",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct asked k;

        ask(&k, rows[i], "");
        if (k.err != ERR_VALIDATION || !k.in.why.text[0])
            fail_msg("row %zu: %s gives %s", i, rows[i], err_code(k.err));
        end(&k);
    }
}

static void there_are_at_most_100_headers(void **state)
{
    char target[8192] = "https://e.com/?a=1", headers[4096] = "";
    struct asked k;

    (void)state;
    for (int i = 0; i < 101; i++)
        snprintf(target + strlen(target), 32, "&upstash-forward-h%d=1", i);
    ask(&k, target, "");
    assert_int_equal(k.err, ERR_VALIDATION);
    end(&k);
    for (int i = 0; i < 101; i++)
        snprintf(headers + strlen(headers), 32, "%supstash-forward-h%d:1", i ? "|" : "", i);
    ask(&k, "https://e.com/", headers);
    assert_int_equal(k.err, ERR_VALIDATION);
    assert_string_equal(k.in.why.text, "more than 100 headers are to be sent along");
    end(&k);
}

static void there_are_at_most_20_labels_of_255_bytes(void **state)
{
    char headers[8192] = "upstash-label:";
    struct asked k;

    (void)state;
    for (int i = 0; i < 20; i++)
        snprintf(headers + strlen(headers), 32, "l%d,", i);
    ask(&k, "https://e.com/", headers);
    assert_int_equal(k.err, OK);
    end(&k);
    strcat(headers, "one-more");
    ask(&k, "https://e.com/", headers);
    assert_int_equal(k.err, ERR_VALIDATION);
    end(&k);
    snprintf(headers, sizeof(headers), "upstash-label: %0255d", 1);
    ask(&k, "https://e.com/", headers);
    assert_int_equal(k.err, OK);
    end(&k);
    snprintf(headers, sizeof(headers), "upstash-label: %0256d", 1);
    ask(&k, "https://e.com/", headers);
    assert_int_equal(k.err, ERR_VALIDATION);
    end(&k);
    snprintf(headers, sizeof(headers),
             "upstash-flow-control-value: rate=1|upstash-flow-control-key: %0513d", 1);
    ask(&k, "https://e.com/", headers);
    assert_int_equal(k.err, ERR_VALIDATION);
    end(&k);
}

/* --- body, queue, memory --- */

static void a_body_over_the_limit_is_too_large(void **state)
{
    char *body = test_calloc(1, LIMIT_QSTASH_BODY + 1);
    struct asked k;

    (void)state;
    begin(&k, "https://e.com/", "");
    k.s.body = (struct str){ body, LIMIT_QSTASH_BODY };
    assert_int_equal(input_read(&k.arena, &k.s, &k.in), OK);
    assert_ptr_equal(k.in.parcel.body.p, body);
    k.s.body.n++;
    assert_int_equal(input_read(&k.arena, &k.s, &k.in), ERR_TOO_LARGE);
    end(&k);
    test_free(body);
}

static void the_queue_of_the_path_wins_and_has_a_valid_name(void **state)
{
    struct asked k;

    (void)state;
    begin(&k, "https://e.com/", "upstash-queue-name: other");
    k.s.queue = S("mine");
    assert_int_equal(input_read(&k.arena, &k.s, &k.in), OK);
    same(0, "queue", k.in.parcel.queue, "mine");
    assert_false(parcel_is_plain(&k.in.parcel));
    k.s.queue = S("not mine");
    assert_int_equal(input_read(&k.arena, &k.s, &k.in), ERR_VALIDATION);
    end(&k);
}

static void want_of_memory_is_told(void **state)
{
    static const char headers[] = "content-type: a/b|upstash-forward-x: \xfc|upstash-label: a,b|"
                                  "upstash-callback: https://c.com|upstash-forward-y: 1|"
                                  "upstash-callback-forward-x: 1|upstash-header-forward: true|"
                                  "x-more: 1";
    bool worked = false;

    (void)state;
    for (size_t limit = 0; !worked; limit += 16) {
        struct asked k;

        begin(&k, "https%3A%2F%2Fe.com%2F?a=%31&upstash-forward-q=1+2&b=2", headers);
        arena_init(&k.arena, limit);
        k.err = input_read(&k.arena, &k.s, &k.in);
        worked = !k.err;
        if (!worked && k.err != ERR_NO_MEMORY)
            fail_msg("limit %zu: %s", limit, err_code(k.err));
        assert_true(limit < 64 * 1024);
        end(&k);
    }
}

/* --- an item of a batch --- */

static void an_items_headers_are_text(void **state)
{
    struct asked k;

    (void)state;
    begin(&k, "https://e.com/\xc3\xbc#part?upstash-retries=1",
          "upstash-label: \xe3\x81\x82|upstash-forward-x: \xc3\xbc");
    k.s.destination = S("https://e.com/\xc3\xbc?upstash-retries=1");
    k.s.query = (struct str){ 0 };
    k.s.has_query = false;
    k.s.is_text = true;
    assert_int_equal(input_read(&k.arena, &k.s, &k.in), OK);
    same(0, "url", k.in.parcel.url, "https://e.com/\xc3\xbc?upstash-retries=1");
    same(0, "labels", k.in.parcel.labels, "\xe3\x81\x82");
    same(0, "header", k.in.parcel.header, "{\"X\":[\"\xc3\xbc\"]}");
    assert_int_equal(k.in.parcel.retries, 3);
    end(&k);
}

static void an_items_headers_may_not_break_lines(void **state)
{
    static const char *const values[] = { "a\r\nEvil: 1", "a\nb", "a\x01", "\x7f" };

    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        struct asked k;

        begin(&k, "https://e.com/", "");
        k.s.is_text = true;
        k.headers[0] = (struct header){ S("upstash-forward-x"), str_of(values[i]) };
        k.s.header_count = 1;
        assert_int_equal(input_read(&k.arena, &k.s, &k.in), ERR_VALIDATION);
        end(&k);
    }
}

/* --- the same one again --- */

static void key_of(const char *target, const char *headers, const char *body, const char *url,
                   unsigned char key[DEDUP_KEY])
{
    struct asked k;

    begin(&k, target, headers);
    k.s.body = str_of(body);
    assert_int_equal(input_read(&k.arena, &k.s, &k.in), OK);
    assert_true(k.in.dedup != DEDUP_NONE);
    input_dedup_key(&k.in, url ? str_of(url) : k.in.parcel.url, key);
    end(&k);
}

static void two_are_the_same_by_id_or_by_content(void **state)
{
#define BY_ID "upstash-deduplication-id: x"
#define BY_CONTENT "upstash-content-based-deduplication: true"
    static const struct {
        const char *why;
        bool same;
        const char *target, *headers, *body, *url;
        const char *target2, *headers2, *body2, *url2;
    } rows[] = {
        { "an id counts in the whole account", true, "https://a.com", BY_ID, "1", NULL,
          "https://b.com", BY_ID "|upstash-retries: 1", "2", NULL },
        { "another id", false, "https://a.com", BY_ID, "1", NULL, "https://a.com",
          "upstash-deduplication-id: y", "1", NULL },
        { "of a group each member has its own", false, "group", BY_ID, "1", "https://a.com",
          "group", BY_ID, "1", "https://b.com" },
        { "a member again", true, "group", BY_ID, "1", "https://a.com", "group", BY_ID, "2",
          "https://a.com" },
        { "a member and a URL", false, "group", BY_ID, "1", "https://a.com", "https://a.com", BY_ID,
          "1", NULL },
        { "the same content", true, "https://a.com", BY_CONTENT, "1", NULL, "https://a.com",
          BY_CONTENT "|upstash-retries: 1|upstash-telemetry-sdk: x|authorization: Bearer z", "1",
          NULL },
        { "another body", false, "https://a.com", BY_CONTENT, "1", NULL, "https://a.com",
          BY_CONTENT, "2", NULL },
        { "another destination", false, "https://a.com", BY_CONTENT, "1", NULL, "https://a.com/",
          BY_CONTENT, "1", NULL },
        { "another type", false, "https://a.com", BY_CONTENT "|content-type: a/b", "1", NULL,
          "https://a.com", BY_CONTENT "|content-type: a/c", "1", NULL },
        { "another header", false, "https://a.com", BY_CONTENT "|upstash-forward-a: 1", "1", NULL,
          "https://a.com", BY_CONTENT "|upstash-forward-a: 2", "1", NULL },
        { "headers in another order", true, "https://a.com",
          BY_CONTENT "|upstash-forward-a: 1|upstash-forward-b: 2", "1", NULL, "https://a.com",
          "upstash-forward-b: 2|upstash-forward-a: 1|" BY_CONTENT, "1", NULL },
        { "parts do not run into each other", false, "https://a.com",
          BY_CONTENT "|upstash-forward-a: 1b", "", NULL, "https://a.com",
          BY_CONTENT "|upstash-forward-a: 1", "b", NULL },
        { "an id wins over the content", true, "https://a.com", BY_ID "|" BY_CONTENT, "1", NULL,
          "https://a.com", BY_ID, "2", NULL },
        { "two members with the same content", false, "group", BY_CONTENT, "1", "https://a.com",
          "group", BY_CONTENT, "1", "https://b.com" },
        { "two groups with the same content", false, "group", BY_CONTENT, "1", "https://a.com",
          "other", BY_CONTENT, "1", "https://a.com" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned char a[DEDUP_KEY], b[DEDUP_KEY];

        key_of(rows[i].target, rows[i].headers, rows[i].body, rows[i].url, a);
        key_of(rows[i].target2, rows[i].headers2, rows[i].body2, rows[i].url2, b);
        if (rows[i].same != !memcmp(a, b, DEDUP_KEY))
            fail_msg("row %zu: %s", i, rows[i].why);
    }
}

/* --- a retry with other options --- */

static void an_override_changes_only_what_it_names(void **state)
{
    struct asked k;

    (void)state;
    begin(&k, "", "upstash-retries: 9|upstash-forward-a: new|upstash-callback: https://new.com");
    k.in.parcel = (struct parcel){
        .method = S("PUT"),
        .retries = 1,
        .queue = S("q"),
        .labels = S("l"),
        .header = S("{\"A\":[\"old\"],\"B\":[\"\xc3\xbc\"]}"),
        .callbacks = S("{\"callback\":{\"url\":\"https://c.com\"},"
                       "\"failure\":{\"url\":\"https://f.com\",\"retries\":2}}"),
    };
    parcel_set_url(&k.in.parcel, S("https://e.com/x"));
    assert_int_equal(input_override(&k.arena, &k.s, &k.in), OK);
    assert_int_equal(k.in.parcel.retries, 9);
    same(0, "method", k.in.parcel.method, "PUT");
    same(0, "url", k.in.parcel.url, "https://e.com/x");
    same(0, "labels", k.in.parcel.labels, "l");
    same(0, "header", k.in.parcel.header, "{\"A\":[\"new\"],\"B\":[\"\xc3\xbc\"]}");
    same(0, "callbacks", k.in.parcel.callbacks,
         "{\"callback\":{\"url\":\"https://new.com\"},"
         "\"failure\":{\"url\":\"https://f.com\",\"retries\":2}}");
    end(&k);

    begin(&k, "", "content-length: 0");
    k.in.parcel = (struct parcel){ .method = S("PUT"), .header = S("{\"A\":[\"old\"]}") };
    assert_int_equal(input_override(&k.arena, &k.s, &k.in), OK);
    same(0, "header", k.in.parcel.header, "{\"A\":[\"old\"]}");
    end(&k);
}

/* --- headers as JSON --- */

static void headers_survive_the_way_there_and_back(void **state)
{
    static const struct header given[] = {
        { { "A", 1 }, { "1", 1 } },
        { { "B", 1 }, { "\"\\\t", 3 } },
        { { "a", 1 }, { "2", 1 } },
        { { "Latin", 5 }, { "\xc3\xbc\xc2\x80\xc3\xbf", 6 } },
        { { "Kana", 4 }, { "\xe3\x81\x82\xc3\xbc", 5 } },
        { { "Empty", 5 }, { "", 0 } },
    };
    static const struct header wanted[] = {
        { { "A", 1 }, { "1", 1 } },
        { { "A", 1 }, { "2", 1 } },
        { { "B", 1 }, { "\"\\\t", 3 } },
        { { "Latin", 5 }, { "\xfc\x80\xff", 3 } },
        { { "Kana", 4 }, { "\xe3\x81\x82\xc3\xbc", 5 } },
        { { "Empty", 5 }, { "", 0 } },
    };
    struct arena a;
    struct header *back;
    size_t n;
    struct buf b;

    (void)state;
    arena_init(&a, 64 * 1024);
    buf_init(&b, 64 * 1024);
    header_json_write(&b, given, COUNT(given));
    same(0, "json", buf_str(&b),
         "{\"A\":[\"1\",\"2\"],\"B\":[\"\\\"\\\\\\t\"],\"Latin\":[\"\xc3\xbc\xc2\x80\xc3\xbf\"],"
         "\"Kana\":[\"\xe3\x81\x82\xc3\xbc\"],\"Empty\":[\"\"]}");
    assert_int_equal(header_json_read(&a, buf_str(&b), &back, &n), OK);
    assert_int_equal(n, COUNT(wanted));
    for (size_t i = 0; i < n; i++)
        if (!str_eq(back[i].name, wanted[i].name) || !str_eq(back[i].value, wanted[i].value))
            fail_msg("header %zu: " STR_FMT ": " STR_FMT, i, STR_ARG(back[i].name),
                     STR_ARG(back[i].value));
    buf_clear(&b);
    header_json_write(&b, NULL, 0);
    same(0, "none", buf_str(&b), "{}");
    assert_int_equal(header_json_read(&a, S("{}"), &back, &n), OK);
    assert_int_equal(n, 0);
    assert_int_equal(header_json_read(&a, S(""), &back, &n), OK);
    assert_int_equal(n, 0);
    buf_release(&b);
    arena_release(&a);
}

static void damaged_headers_are_our_fault(void **state)
{
    static const char *const rows[] = {
        "{",
        "[]",
        "{\"A\"}",
        "{\"A\":\"1\"}",
        "{\"A\":[1]}",
        "{\"A\":[]}",
        "{\"A\":[\"1\"",
        "{\"A\":[\"1]}",
        "{\"A\":[\"\\\"]}",
        "{\"A\":[\"1\"]}x",
        "{\"A\":[\"\\u12\"]}",
        "{\"A\":[\"1\"],}",
        "{,}",
        "\"",
        "{\"A\":[\"1\",]}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena a;
        struct header *h;
        size_t n;

        arena_init(&a, 64 * 1024);
        if (header_json_read(&a, str_of(rows[i]), &h, &n) != ERR_INTERNAL)
            fail_msg("row %zu: %s", i, rows[i]);
        arena_release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_destination_is_taken_byte_for_byte),
        TEST(a_plain_destination_is_not_copied),
        TEST(a_bad_destination_is_refused_with_words),
        TEST(an_address_has_at_most_8_KB_and_its_host_260_bytes),
        TEST(private_addresses_are_refused_unless_allowed),
        TEST(a_name_is_a_group),
        TEST(names_have_a_narrow_alphabet),
        TEST(what_is_not_asked_for_has_its_default),
        TEST(each_header_says_one_thing),
        TEST(a_bad_value_is_refused_with_words),
        TEST(other_parsers_words_come_through),
        TEST(headers_are_forwarded_under_their_own_names),
        TEST(callbacks_are_configured_by_their_headers),
        TEST(the_query_may_stand_for_headers),
        TEST(the_query_cannot_smuggle_headers),
        TEST(there_are_at_most_100_headers),
        TEST(there_are_at_most_20_labels_of_255_bytes),
        TEST(a_body_over_the_limit_is_too_large),
        TEST(the_queue_of_the_path_wins_and_has_a_valid_name),
        TEST(want_of_memory_is_told),
        TEST(an_items_headers_are_text),
        TEST(an_items_headers_may_not_break_lines),
        TEST(two_are_the_same_by_id_or_by_content),
        TEST(an_override_changes_only_what_it_names),
        TEST(headers_survive_the_way_there_and_back),
        TEST(damaged_headers_are_our_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
