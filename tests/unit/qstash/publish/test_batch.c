/* The items of a batch: what is an array of them, and what each says. */
#include "base/limits.h"
#include "qstash/publish/batch_item.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

static void a_batch_is_an_array_of_anything(void **state)
{
    static const struct {
        const char *text;
        int count; /* -1: refused */
    } rows[] = {
        { "[]", 0 },
        { " [ ] \n", 0 },
        { "[{}]", 1 },
        { "[{},{}]", 2 },
        { "\t[ { } ,\r\n{ } , null, 1, \"x\", [1,{\"a\":[]}] ]", 6 },
        { "[{\"body\":\"],[\\\"}{\\\\\"},{}]", 2 },
        { "[{\"body\":\"\\u00fc\"}]", 1 },
        { "", -1 },
        { "{}", -1 },
        { "null", -1 },
        { "[", -1 },
        { "[,]", -1 },
        { "[{}", -1 },
        { "[{},]", -1 },
        { "[{}]]", -1 },
        { "[{}] x", -1 },
        { "[{}{}]", -1 },
        { "[{]", -1 },
        { "[{\"a\":1]]", -1 },
        { "[\"", -1 },
        { "[\"\\", -1 },
        { "[{\"body\":\"\\u0000\"}]", -1 },
        { "[{\"body\":\"\n\"}]", -1 },
        { "[{\"body\":\"\xff\"}]", -1 },
        { "[{\"body\":1,\"body\":2}]", -1 },
        { "[{},tru]", -1 },
        { "[01]", -1 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct json_fault fault = { 0 };
        struct batch_item *items;
        struct arena a;
        size_t n = 0;
        enum err e;

        arena_init(&a, LIMIT_QSTASH_BATCH);
        e = batch_items_read(&a, str_of(rows[i].text), &items, &n, &fault);
        if (rows[i].count < 0 ? e != ERR_VALIDATION : e || n != (size_t)rows[i].count)
            fail_msg("row %zu: %s gives %s, %zu", i, rows[i].text, err_code(e), n);
        if (e && (!fault.why || fault.offset > strlen(rows[i].text)))
            fail_msg("row %zu: the fault is at %zu", i, fault.offset);
        arena_release(&a);
    }
}

static void a_fault_names_its_place_in_the_whole_text(void **state)
{
    struct json_fault fault;
    struct batch_item *items;
    struct arena a;
    size_t n;

    (void)state;
    arena_init(&a, LIMIT_QSTASH_BATCH);
    assert_int_equal(batch_items_read(&a, S("[{}, {\"a\": ?}]"), &items, &n, &fault),
                     ERR_VALIDATION);
    assert_int_equal(fault.offset, 11);
    arena_release(&a);
}

static void a_batch_has_at_most_10000_items(void **state)
{
    enum { SIZE = 3 * (LIMIT_QSTASH_ITEMS + 1) + 2 };
    char *text = test_malloc(SIZE);
    struct batch_item *items;
    struct json_fault fault;
    struct arena a;
    size_t n = 0, at = 1;

    (void)state;
    text[0] = '[';
    for (size_t i = 0; i <= LIMIT_QSTASH_ITEMS; i++, at += 3)
        memcpy(text + at, "{},", 3);
    arena_init(&a, LIMIT_QSTASH_BATCH);
    text[at - 4] = ']';
    assert_int_equal(batch_items_read(&a, (struct str){ text, at - 3 }, &items, &n, &fault), OK);
    assert_int_equal(n, LIMIT_QSTASH_ITEMS);
    text[at - 4] = ',';
    text[at - 1] = ']';
    assert_int_equal(batch_items_read(&a, (struct str){ text, at }, &items, &n, &fault),
                     ERR_VALIDATION);
    assert_string_equal(fault.why, "the batch has too many items");
    arena_release(&a);
    test_free(text);
}

struct asked {
    struct arena arena;
    struct input in;
    enum err err;
};

static void ask(struct asked *k, const char *item)
{
    static const struct input_source common = { .caller_ip = { "1.2.3.4", 7 } };
    char text[4096];
    struct json_fault fault;
    struct batch_item *items;
    size_t n;

    snprintf(text, sizeof(text), "[%s]", item);
    *k = (struct asked){ 0 };
    arena_init(&k->arena, LIMIT_QSTASH_BATCH);
    /* what is read borrows the text */
    k->err = batch_items_read(&k->arena, arena_str(&k->arena, str_of(text)), &items, &n, &fault);
    if (k->err || n != 1)
        fail_msg("%s: %s", item, k->err ? fault.why : "not one item");
    k->err = batch_item_input(&k->arena, items, &common, &k->in);
}

static void an_item_says_what_a_publish_says(void **state)
{
    static const struct {
        const char *item, *url, *body, *header, *queue;
        int retries;
    } rows[] = {
        { "{\"destination\":\"https://e.com\"}", "https://e.com", "", "", "", 3 },
        { "{\"destination\":\"https:\\/\\/e.com\\/\\u00fc\",\"body\":\"a\\n\\\"\\u3042\"}",
          "https://e.com/\xc3\xbc", "a\n\"\xe3\x81\x82", "", "", 3 },
        { "{\"destination\":\"https://e.com\",\"body\":null,\"queue\":null,\"headers\":null}",
          "https://e.com", "", "", "", 3 },
        { "{\"destination\":\"https://e.com\",\"body\":\"\",\"headers\":{}}", "https://e.com", "",
          "", "", 3 },
        { "{\"queue\":\"q\",\"headers\": { \"upstash-retries\" : \"5\" , "
          "\"upstash-forward-x\":\"\\u3042\" , \"upstash-telemetry-sdk\":\"t\"},"
          "\"destination\":\"https://e.com\",\"other\":[1,{}]}",
          "https://e.com", "", "{\"X\":[\"\xe3\x81\x82\"]}", "q", 5 },
        { "{\"destination\":\"https://e.com\",\"headers\":{\"upstash-retries\":7 ,"
          "\"upstash-content-based-deduplication\":false,\"upstash-delay\":null}}",
          "https://e.com", "", "", "", 7 },
        { "{\"destination\":\"https://e.com\",\"headers\":{\"\\u0075pstash-retries\":\"\\u0037\"}}",
          "https://e.com", "", "", "", 7 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct parcel *p;
        struct asked k;

        ask(&k, rows[i].item);
        p = &k.in.parcel;
        if (k.err)
            fail_msg("row %zu: %s", i, k.in.why.text);
        if (!str_eq(p->url, str_of(rows[i].url)) || !str_eq(p->body, str_of(rows[i].body)) ||
            !str_eq(p->header, str_of(rows[i].header)) ||
            !str_eq(p->queue, str_of(rows[i].queue)) || p->retries != rows[i].retries)
            fail_msg("row %zu: " STR_FMT " " STR_FMT " " STR_FMT " " STR_FMT, i, STR_ARG(p->url),
                     STR_ARG(p->body), STR_ARG(p->header), STR_ARG(p->queue));
        arena_release(&k.arena);
    }
}

static void a_bad_item_is_refused_with_words(void **state)
{
    static const struct {
        const char *item, *why;
    } rows[] = {
        { "1", "an item must be an object" },
        { "[]", "an item must be an object" },
        { "{}", "destination must be a string" },
        { "{\"destination\":1}", "destination must be a string" },
        { "{\"destination\":\"\"}", "invalid destination url: it is empty" },
        { "{\"destination\":\"https://e.com\",\"headers\":[]}", "headers must be an object" },
        { "{\"destination\":\"https://e.com\",\"headers\":{\"a\":[]}}",
          "the values of headers must be strings" },
        { "{\"destination\":\"https://e.com\",\"body\":{\"0\":1}}", "body must be a string" },
        { "{\"destination\":\"https://e.com\",\"body\":1}", "body must be a string" },
        { "{\"destination\":\"https://e.com\",\"queue\":1}", "queue must be a string" },
        { "{\"destination\":\"https://e.com\",\"queue\":\"a b\"}",
          "a queue's name may have letters, digits, '.', '_' and '-', 255 at most" },
        { "{\"destination\":\"http://127.0.0.1\"}",
          "invalid destination url: forbidden destination, the address is not public" },
        { "{\"destination\":\"https://e.com\",\"headers\":{\"upstash-retries\":\"x\"}}",
          "upstash-retries must be a whole number from 0 to 1000" },
        { "{\"destination\":\"https://e.com\",\"headers\":{\"Upstash-Retries\":\"1\","
          "\"upstash-retries\":\"1\"}}",
          "upstash-retries is given twice" },
        { "{\"destination\":\"https://e.com\",\"headers\":{\"upstash-forward-x\":\"a\\r\\nb\"}}",
          "upstash-forward-x has a control character" },
        { "{\"destination\":\"https://e.com\",\"headers\":{\"upstash-forward-x\\r\\ny\":\"a\"}}",
          "a header that is to be sent along has no valid name" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct asked k;

        ask(&k, rows[i].item);
        if (k.err != ERR_VALIDATION || strcmp(k.in.why.text, rows[i].why))
            fail_msg("row %zu: %s: %s", i, rows[i].item, k.in.why.text);
        arena_release(&k.arena);
    }
}

static void an_item_has_at_most_100_headers(void **state)
{
    char item[4096] = "{\"destination\":\"https://e.com\",\"headers\":{\"x\":\"1\"";
    struct asked k;

    (void)state;
    for (int i = 1; i < LIMIT_HEADER_COUNT; i++)
        snprintf(item + strlen(item), 32, ",\"x%d\":\"1\"", i);
    strcat(item, "}}");
    ask(&k, item);
    assert_int_equal(k.err, OK);
    arena_release(&k.arena);
    strcpy(item + strlen(item) - 2, ",\"y\":\"1\"}}");
    ask(&k, item);
    assert_int_equal(k.err, ERR_VALIDATION);
    assert_string_equal(k.in.why.text, "there are too many headers");
    arena_release(&k.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_batch_is_an_array_of_anything),  TEST(a_fault_names_its_place_in_the_whole_text),
        TEST(a_batch_has_at_most_10000_items),  TEST(an_item_says_what_a_publish_says),
        TEST(a_bad_item_is_refused_with_words), TEST(an_item_has_at_most_100_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
