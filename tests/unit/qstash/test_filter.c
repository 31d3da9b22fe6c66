#include "base/limits.h"
#include "qstash/filter.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

#define MSG(c) "msg_" c c c c c c c c
#define A "aaaa"
#define B "bbbb"

static const char *const names[FILTER_TEXTS] = { "url",  "host",     "path",  "label", "queue",
                                                 "flow", "schedule", "topic", "caller" };

/* What was understood, in one line. */
static void list(const struct selection *s, char *text, size_t size)
{
    const struct filter *f = &s->filter;
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < FILTER_TEXTS; i++)
        for (size_t j = 0; j < f->text[i].n; j++) {
            struct str v = f->text[i].v[j];

            n += (size_t)snprintf(text + n, size - n, "%s%s=" STR_FMT, n ? " " : "", names[i],
                                  STR_ARG(v));
        }
    if (f->has_ids)
        n += (size_t)snprintf(text + n, size - n, "%smessages=%zu", n ? " " : "", f->id_count);
    for (size_t j = 0; j < f->status_count; j++)
        n += (size_t)snprintf(text + n, size - n, "%sstatus=%lld", n ? " " : "",
                              (long long)f->status[j]);
    if (f->states)
        n += (size_t)snprintf(text + n, size - n, "%sstates=%x", n ? " " : "", f->states);
    if (f->has_dates)
        n += (size_t)snprintf(text + n, size - n, "%s%lld..%lld", n ? " " : "",
                              (long long)f->from_ms,
                              f->to_ms == INT64_MAX ? -1LL : (long long)f->to_ms);
    if (s->by_ids)
        n += (size_t)snprintf(text + n, size - n, "%sids=%zu", n ? " " : "", s->ids.n);
    if (s->count)
        n +=
            (size_t)snprintf(text + n, size - n, "%scount=%lld", n ? " " : "", (long long)s->count);
    if (s->cursor.n)
        snprintf(text + n, size - n, "%scursor=" STR_FMT, n ? " " : "", STR_ARG(s->cursor));
}

struct row_of_input {
    const char *why;
    enum selection_of of;
    const char *query, *body;
    const char *want; /* NULL: it is refused */
};

static void check(const struct row_of_input *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[1024];
        struct why why = { 0 };
        struct selection s;
        struct arena a;
        enum err e;

        arena_init(&a, 1 << 20);
        e = selection_read(&a, rows[i].of, str_of(rows[i].query), str_of(rows[i].body), &s, &why);
        if (e != (rows[i].want ? OK : ERR_VALIDATION) || (e && !why.text[0]))
            fail_msg("row %zu: %s: err %d, %s", i, rows[i].why, e, why.text);
        if (!e) {
            list(&s, text, sizeof(text));
            if (strcmp(text, rows[i].want) != 0)
                fail_msg("row %zu: %s\nhave %s\nwant %s", i, rows[i].why, text, rows[i].want);
        }
        arena_release(&a);
    }
}

static void a_query_is_understood(void **state)
{
    static const struct row_of_input rows[] = {
        { "nothing", SELECT_LIVE, "", "", "" },
        { "nothing but a count", SELECT_LIVE, "count=100", "", "count=100" },
        { "the token is not ours to read", SELECT_LIVE, "qstash_token=x", "", "" },
        { "one of each", SELECT_LIVE,
          "url=https%3A%2F%2Fa.test%2Fx&topicName=t&queueName=q&scheduleId=s&callerIp=1.2.3.4"
          "&label=l&flowControlKey=k&host=a.test%3A80&path=%2Fx",
          "",
          "url=https://a.test/x host=a.test:80 path=/x label=l queue=q flow=k schedule=s topic=t "
          "caller=1.2.3.4" },
        { "the other spelling", SELECT_DEAD, "callerIP=::1", "", "caller=::1" },
        { "a key twice", SELECT_LIVE, "label=a&label=b", "", "label=a label=b" },
        { "with a comma", SELECT_LIVE, "label=a,b&queueName=x%2Cy", "",
          "label=a label=b queue=x queue=y" },
        { "blanks around a comma", SELECT_LIVE, "label=a,%20b", "", "label=a label=b" },
        { "a plus is a blank", SELECT_LIVE, "flowControlKey=k+1&label=%2B", "",
          "label=+ flow=k 1" },
        { "a comma in an address is its own", SELECT_LIVE, "url=https://a.test/1,2&path=/1,2", "",
          "url=https://a.test/1,2 path=/1,2" },
        { "two addresses", SELECT_LIVE, "url=https://a.test/1,http://b.test&path=/1,/2", "",
          "url=https://a.test/1 url=http://b.test path=/1 path=/2" },
        { "a flow key may have a comma", SELECT_LIVE, "flowControlKey=a,b", "",
          "flow=a,b flow=a flow=b" },
        { "dates", SELECT_LIVE, "fromDate=10&toDate=20", "", "10..20" },
        { "one date", SELECT_DEAD, "toDate=946684800000", "", "0..946684800000" },
        { "the other", SELECT_LOG, "fromDate=5", "", "5..-1" },
        { "statuses", SELECT_DEAD, "responseStatus=500&responseStatus=0,502", "",
          "status=500 status=0 status=502" },
        { "a message", SELECT_DEAD, "messageId=" MSG(A), "", "messages=1" },
        { "what is no message's id is nobody's", SELECT_DEAD, "messageId=nobody", "",
          "messages=0" },
        { "ids of messages", SELECT_LIVE, "messageIds=" MSG(A) "&messageIds=" MSG(B), "", "ids=2" },
        { "in the log they are a filter", SELECT_LOG, "messageIds=" MSG(A) "&messageId=" MSG(B), "",
          "messages=2" },
        { "ids of dead ones", SELECT_DEAD, "dlqIds=1-1,2-2&dlqIds=3-3", "", "ids=3" },
        { "a state", SELECT_LOG, "state=CREATED", "", "states=2" },
        { "states", SELECT_LOG, "state=DELIVERED&state=FAILED", "", "states=60" },
        { "in progress", SELECT_LOG, "state=IN_PROGRESS", "", "states=1c" },
        { "both ways to spell it", SELECT_LOG, "state=CANCELLED,CANCELED", "", "states=100" },
        { "a cursor", SELECT_LOG, "cursor=12&count=5", "", "count=5 cursor=12" },
        { "an empty cursor is none", SELECT_LOG, "cursor=", "", "" },
        { "empty pairs", SELECT_LOG, "&&count=5&", "", "count=5" },
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void a_slip_is_refused(void **state)
{
    static const struct row_of_input rows[] = {
        { "a typo", SELECT_DEAD, "labeel=a", "", NULL },
        { "another case", SELECT_DEAD, "Label=a", "", NULL },
        { "a host is no key of the dead", SELECT_DEAD, "host=a.test", "", NULL },
        { "nor is a path", SELECT_DEAD, "path=/x", "", NULL },
        { "a status is none of the living", SELECT_LIVE, "responseStatus=500", "", NULL },
        { "a state is none of the dead", SELECT_DEAD, "state=FAILED", "", NULL },
        { "a state that is none", SELECT_LOG, "state=DONE", "", NULL },
        { "dlqIds of the living", SELECT_LIVE, "dlqIds=1-1", "", NULL },
        { "an empty label", SELECT_LIVE, "label=", "", NULL },
        { "a key alone", SELECT_LIVE, "label", "", NULL },
        { "an empty one among them", SELECT_LIVE, "label=a,,b", "", NULL },
        { "a comma alone", SELECT_LIVE, "label=,", "", NULL },
        { "no id", SELECT_LIVE, "messageIds=", "", NULL },
        { "a bad date", SELECT_LIVE, "fromDate=yesterday", "", NULL },
        { "a date with a fraction", SELECT_LIVE, "fromDate=1.5", "", NULL },
        { "a date before 1970", SELECT_LIVE, "toDate=-1", "", NULL },
        { "two dates", SELECT_LIVE, "toDate=1&toDate=2", "", NULL },
        { "a bad count", SELECT_LIVE, "count=many", "", NULL },
        { "no count", SELECT_LIVE, "count=0", "", NULL },
        { "a negative count", SELECT_LIVE, "count=-5", "", NULL },
        { "a bad status", SELECT_DEAD, "responseStatus=5xx", "", NULL },
        { "broken encoding", SELECT_LIVE, "label=%2", "", NULL },
        { "bytes that are no text", SELECT_LIVE, "label=%ff", "", NULL },
        { "a NUL", SELECT_LIVE, "label=a%00", "", NULL },
        { "a key that is no text", SELECT_LIVE, "%ff=a", "", NULL },
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void a_body_is_as_good_as_a_query(void **state)
{
    static const struct row_of_input rows[] = {
        { "ids", SELECT_LIVE, "", "{\"messageIds\":[\"" MSG(A) "\",\"" MSG(B) "\"]}", "ids=2" },
        { "no ids are none, not all", SELECT_LIVE, "", "{\"messageIds\":[]}", "ids=0" },
        { "of the dead", SELECT_DEAD, "", "{\"dlqIds\":[\"1-1\"]}", "ids=1" },
        { "a filter", SELECT_LIVE, "",
          "{\"label\":[\"a\",\"b\"],\"queueName\":\"q\",\"fromDate\":1700000000000}",
          "label=a label=b queue=q 1700000000000..-1" },
        { "both", SELECT_LIVE, "count=5", "{\"label\":\"a\"}", "label=a count=5" },
        { "an empty object", SELECT_LIVE, "", "{}", "" },
        { "a cursor that is null", SELECT_DEAD, "", "{\"cursor\":null,\"label\":\"a\"}",
          "label=a" },
        { "a typo", SELECT_LIVE, "", "{\"messageIDs\":[]}", NULL },
        { "null is no label", SELECT_LIVE, "", "{\"label\":null}", NULL },
        { "nor is no label at all", SELECT_LIVE, "", "{\"label\":[]}", NULL },
        { "nor an empty one", SELECT_LIVE, "", "{\"label\":\"\"}", NULL },
        { "nor an object", SELECT_LIVE, "", "{\"label\":{}}", NULL },
        { "nor a list in a list", SELECT_LIVE, "", "{\"label\":[[\"a\"]]}", NULL },
        { "a count with a fraction", SELECT_LIVE, "", "{\"count\":1.5}", NULL },
        { "a list", SELECT_LIVE, "", "[\"" MSG(A) "\"]", NULL },
        { "no JSON", SELECT_LIVE, "", "messageIds", NULL },
        { "given twice", SELECT_LIVE, "count=5", "{\"count\":6}", NULL },
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void values_have_a_limit(void **state)
{
    char query[LIMIT_QSTASH_VALUES * 8 + 32];
    struct why why;
    struct selection s;
    struct arena a;
    size_t n = 0;

    (void)state;
    arena_init(&a, 1 << 20);
    for (int i = 0; i < LIMIT_QSTASH_VALUES; i++)
        n += (size_t)snprintf(query + n, sizeof(query) - n, "%slabel=%c", i ? "&" : "", 'a');
    assert_int_equal(selection_read(&a, SELECT_LIVE, str_of(query), S(""), &s, &why), OK);
    snprintf(query + n, sizeof(query) - n, "&label=a");
    assert_int_equal(selection_read(&a, SELECT_LIVE, str_of(query), S(""), &s, &why),
                     ERR_VALIDATION);
    arena_release(&a);
}

/* --- what fits --- */

static void what_fits_has_one_value_of_every_key(void **state)
{
    static const struct filter_facts facts = {
        .text = { [FILTER_URL] = { "https://a.test/x?y", 18 },
                  [FILTER_HOST] = { "a.test", 6 },
                  [FILTER_PATH] = { "/x", 2 },
                  [FILTER_LABEL] = { "one,two", 7 },
                  [FILTER_QUEUE] = { "q", 1 },
                  [FILTER_CALLER] = { "::1", 3 } },
    };
    static const struct {
        const char *query;
        bool fits;
    } rows[] = {
        { "", true },
        { "url=https://a.test/x?y", true },
        { "url=https://a.test/x", false },
        { "host=a.test", true },
        { "host=b.test&host=a.test", true },
        { "path=/x", true },
        { "path=/x%3Fy", false },
        { "label=one", true },
        { "label=two", true },
        { "label=three", false },
        { "label=three,two", true },
        { "label=one%2Ctwo", true },
        { "label=on", false },
        { "queueName=q&label=one&host=a.test", true },
        { "queueName=q&label=four", false },
        { "flowControlKey=k", false },
        { "topicName=t", false },
        { "callerIp=::1", true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct selection s;
        struct arena a;
        struct why why;

        arena_init(&a, 1 << 16);
        assert_int_equal(selection_read(&a, SELECT_LIVE, str_of(rows[i].query), S(""), &s, &why),
                         OK);
        if (filter_fits_texts(&s.filter, &facts) != rows[i].fits)
            fail_msg("row %zu: %s", i, rows[i].query);
        arena_release(&a);
    }
}

static void an_address_without_a_path_has_the_root(void **state)
{
    static const struct filter_facts facts = { .text = { [FILTER_PATH] = { "", 0 } } };
    struct str root[] = { S("/") };
    const struct filter f = { .text = { [FILTER_PATH] = { root, 1, 1 } } };

    (void)state;
    assert_true(filter_fits_texts(&f, &facts));
}

static void times_are_within_both_ends(void **state)
{
    const struct filter f = { .has_dates = true, .from_ms = 10, .to_ms = 20 };

    (void)state;
    assert_false(filter_fits_time(&f, 9));
    assert_true(filter_fits_time(&f, 10));
    assert_true(filter_fits_time(&f, 20));
    assert_false(filter_fits_time(&f, 21));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_query_is_understood),
        TEST(a_slip_is_refused),
        TEST(a_body_is_as_good_as_a_query),
        TEST(values_have_a_limit),
        TEST(what_fits_has_one_value_of_every_key),
        TEST(an_address_without_a_path_has_the_root),
        TEST(times_are_within_both_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
