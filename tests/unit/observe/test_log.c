#include "base/json/json.h"
#include "observe/log.h"
#include "unit/cm.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *read_all(FILE *f)
{
    char *text = calloc(1, 4 * 1024 * 1024);

    rewind(f);
    assert_non_null(text);
    assert_true(fread(text, 1, 4 * 1024 * 1024 - 1, f) > 0);
    return text;
}

static int64_t fixed_time(const struct clock *c)
{
    (void)c;
    return 1760000000123;
}

static void a_line_is_one_json_object(void **state)
{
    struct clock clock;
    FILE *f = tmpfile();
    struct log *l;
    char *text;

    (void)state;
    clock_init(&clock);
    clock.wall_ms = fixed_time;
    clock.mono_us = fixed_time;
    l = log_new(&clock, fileno(f), LOG_INFO, true);
    LOG(l, LOG_DEBUG, "not this one", LOG_NUM("n", 1));
    LOG(l, LOG_WARN, "say \"hi\"\n", LOG_TEXT("who", S("領収書\xff\x01")), LOG_NUM("n", -5),
        LOG_NUM("at", 4222222222222), LOG_TEXT("card", S("4242 4242 4242 4242")));
    log_free(l);
    text = read_all(f);
    assert_string_equal(text,
                        "{\"time\":\"2025-10-09T08:53:20.123Z\",\"level\":\"warn\","
                        "\"message\":\"say \\\"hi\\\"\\n\",\"who\":\"領収書\xef\xbf\xbd\\u0001\","
                        "\"n\":-5,\"at\":4222222222222,\"card\":\"**** **** **** 4242\"}\n");
    free(text);
    fclose(f);
}

static void *chatter(void *arg)
{
    for (int i = 0; i < 1000; i++)
        LOG(arg, LOG_INFO, "line", LOG_NUM("i", i));
    return NULL;
}

static void lines_of_many_threads_stay_whole(void **state)
{
    FILE *f = tmpfile();
    pthread_t threads[4];
    struct clock clock;
    struct log *l;
    char *text, *save, *line;
    int lines = 0;

    (void)state;
    clock_init(&clock);
    l = log_new(&clock, fileno(f), LOG_INFO, true);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_create(&threads[i], NULL, chatter, l);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    log_free(l);
    text = read_all(f);
    for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        assert_true(line[0] == '{' && line[strlen(line) - 1] == '}');
        lines++;
    }
    assert_int_equal(lines, 4000);
    free(text);
    fclose(f);
}

/* Fills the pipe until nobody reads; the writer thread blocks, the callers never do. */
static void a_reader_that_hangs_costs_lines_not_time(void **state)
{
    char page[65536];
    int ends[2], dropped = 0;
    struct clock clock;
    struct log *l;
    ssize_t n;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    clock_init(&clock);
    l = log_new(&clock, ends[1], LOG_INFO, true);
    for (int i = 0; i < 30000; i++)
        LOG(l, LOG_INFO, "nobody reads this", LOG_NUM("i", i));
    while (!dropped && (n = read(ends[0], page, sizeof(page) - 1)) > 0) {
        page[n] = '\0';
        LOG(l, LOG_INFO, "now there is room", LOG_NUM("n", n));
        dropped = strstr(page, "log lines dropped") != NULL;
    }
    assert_true(dropped);
    close(ends[0]); /* the rest goes to nobody: EPIPE */
    log_free(l);
    close(ends[1]);
}

/* The bug: log_free() joined a writer that hung in write(2), so a stop hung as well. */
static void a_reader_that_hangs_does_not_hold_the_exit(void **state)
{
    int ends[2];
    struct clock clock;
    struct log *l;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    clock_init(&clock);
    l = log_new(&clock, ends[1], LOG_INFO, true);
    for (int i = 0; i < 30000; i++)
        LOG(l, LOG_INFO, "nobody reads this", LOG_NUM("i", i));
    assert_true(log_take_dropped(l) > 0);
    assert_int_equal(log_take_dropped(l), 0);
    log_free(l); /* comes back; the pipe is still full and open */
}

/* One line of the given style, at the fixed time. */
static void expect_line(void (*style)(struct log *l), void (*write)(struct log *l),
                        const char *expected)
{
    FILE *f = tmpfile();
    struct clock clock;
    struct log *l;
    char *text;

    clock_init(&clock);
    clock.wall_ms = fixed_time;
    clock.mono_us = fixed_time;
    l = log_new(&clock, fileno(f), LOG_DEBUG, true);
    if (style)
        style(l);
    write(l);
    log_free(l);
    text = read_all(f);
    assert_string_equal(text, expected);
    free(text);
    fclose(f);
}

static void as_words(struct log *l)
{
    log_set_text(l, false);
}

static void in_colours(struct log *l)
{
    log_set_text(l, true);
}

static void write_hostile(struct log *l)
{
    LOG(l, LOG_ERROR, "two\nlines", LOG_TEXT("plain", S("領収書")), LOG_TEXT("blank", S("a b")),
        LOG_TEXT("empty", S("")), LOG_TEXT("esc", S("\x1b[31m\r\n")), LOG_TEXT("c1", S("\xc2\x9b")),
        LOG_TEXT("rtl", S("a\xe2\x80\xae"
                          "b")),
        LOG_TEXT("bad", S("\xff")), LOG_TEXT("forged", S("x=1 y=2")), LOG_NUM("n", -5),
        LOG_TEXT("card", S("4242 4242 4242 4242")), LOG_TEXT("cvc", S("123")),
        LOG_NUM("exp_year", 2030));
}

static void a_line_for_a_person_stays_one_line_whatever_the_values(void **state)
{
    (void)state;
    expect_line(as_words, write_hostile,
                "2025-10-09T08:53:20.123Z ERROR two\\nlines plain=領収書 blank=\"a b\" empty=\"\""
                " esc=\"\\u001b[31m\\r\\n\" c1=\\u{9b} rtl=a\\u{202e}b bad=\xef\xbf\xbd"
                " forged=\"x=1 y=2\" n=-5 card=\"**** **** **** 4242\" cvc=*** exp_year=***\n");
}

static void write_short(struct log *l)
{
    LOG(l, LOG_WARN, "m", LOG_NUM("n", 1));
}

static void colours_only_surround_what_is_ours(void **state)
{
    (void)state;
    expect_line(in_colours, write_short,
                "2025-10-09T08:53:20.123Z \x1b[33mWARN\x1b[0m  m \x1b[2mn=\x1b[0m1\n");
}

static void write_cards(struct log *l)
{
    LOG(l, LOG_INFO, "m", LOG_TEXT("body", S("{\"exp_month\":12,\"cvc\":\"123\"}")),
        LOG_NUM("expMonth", 12), LOG_TEXT("Card-Number", S("1")));
}

static void card_data_is_masked_by_name_and_inside_texts(void **state)
{
    (void)state;
    expect_line(NULL, write_cards,
                "{\"time\":\"2025-10-09T08:53:20.123Z\",\"level\":\"info\",\"message\":\"m\","
                "\"body\":\"{\\\"exp_month\\\": 0,\\\"cvc\\\":\\\"***\\\"}\",\"expMonth\":\"***\","
                "\"Card-Number\":\"***\"}\n");
}

static void write_fields_in_a_message(struct log *l)
{
    LOG(l, LOG_INFO, "Unhandled event type: x paymentId=1", LOG_NUM("n", 1));
}

static void a_message_cannot_pass_for_fields(void **state)
{
    (void)state;
    expect_line(as_words, write_fields_in_a_message,
                "2025-10-09T08:53:20.123Z INFO  \"Unhandled event type: x paymentId=1\" n=1\n");
}

/* Whatever the texts hold: one line each, of JSON, without the card. */
static void every_text_makes_a_line_of_json_without_card_data(void **state)
{
    static const char *const texts[] = {
        "card\n4242424242424242",
        "card\t4242424242424242",
        "card\r4242424242424242\r",
        "card\x01"
        "4242424242424242",
        "card\"4242424242424242\"",
        "card\\4242424242424242\\",
        "card\\n4242424242424242",
        "card\\\\n4242424242424242",
        "4242424242424242 2025-01-01T00:00:00Z",
        "4242424242424242 3rd try",
        "{\"a\":\"x\\n4242424242424242\",\"cvc\":789}",
        "{\"a\":4242424242424242.5,\"cvc\":-789}",
        "[4242424242424242]",
        "cvc:\n789",
        "cvc:\\n789",
        "cvc=\x02"
        "789",
        "\ncvc=789",
        "cvc:\t\"789\"",
        "cvc:\\\"789\\\"\\",
        "expiry:{\n\"month\":\n789\n}",
        "\xff"
        "cvc=789\xff",
        "領収書\n4242424242424242領収書",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        FILE *f = tmpfile();
        struct clock clock;
        struct log *l;
        char *text, *end;

        clock_init(&clock);
        l = log_new(&clock, fileno(f), LOG_DEBUG, false);
        LOG(l, LOG_ERROR, texts[i], LOG_TEXT("text", str_of(texts[i])));
        log_free(l);
        text = read_all(f);
        end = strchr(text, '\n');
        assert_true(end && !end[1]);
        if (json_check((struct str){ text, (size_t)(end - text) }, NULL) ||
            strstr(text, "4242424242424242") || strstr(text, "789"))
            fail_msg("row %zu: %s", i, text);
        free(text);
        fclose(f);
    }
}

static void write_trace(struct log *l)
{
    LOG(l, LOG_INFO, "m", LOG_TRACE(S("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")),
        LOG_SOME("none", S("")), LOG_TRACE(S("nonsense")), LOG_SOME("last", S("x")));
}

static void a_traceparent_becomes_two_fields_and_nothing_none(void **state)
{
    (void)state;
    expect_line(NULL, write_trace,
                "{\"time\":\"2025-10-09T08:53:20.123Z\",\"level\":\"info\",\"message\":\"m\","
                "\"traceId\":\"0af7651916cd43dd8448eb211c80319c\",\"spanId\":\"b7ad6b7169203331\","
                "\"last\":\"x\"}\n");
}

static void keep(void *ctx, struct str json)
{
    snprintf(ctx, 400, STR_FMT, STR_ARG(json));
}

/* Also where people get words: the hook gets JSON, masked, and of errors alone. */
static void errors_go_to_the_hook(void **state)
{
    FILE *f = tmpfile();
    char got[400] = "";
    struct clock clock;
    struct log *l;

    (void)state;
    clock_init(&clock);
    clock.wall_ms = fixed_time;
    clock.mono_us = fixed_time;
    l = log_new(&clock, fileno(f), LOG_INFO, true);
    log_set_text(l, true);
    log_hook(l, keep, got);
    LOG(l, LOG_WARN, "not this one");
    assert_string_equal(got, "");
    LOG(l, LOG_ERROR, "bad", LOG_TEXT("card", S("4242424242424242")));
    assert_string_equal(got, "{\"time\":\"2025-10-09T08:53:20.123Z\",\"level\":\"error\","
                             "\"message\":\"bad\",\"card\":\"************4242\"}");
    log_hook(l, NULL, NULL);
    got[0] = '\0';
    LOG(l, LOG_ERROR, "not any more");
    assert_string_equal(got, "");
    log_free(l);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_is_one_json_object),
        TEST(lines_of_many_threads_stay_whole),
        TEST(a_reader_that_hangs_costs_lines_not_time),
        TEST(a_reader_that_hangs_does_not_hold_the_exit),
        TEST(a_line_for_a_person_stays_one_line_whatever_the_values),
        TEST(colours_only_surround_what_is_ours),
        TEST(card_data_is_masked_by_name_and_inside_texts),
        TEST(a_message_cannot_pass_for_fields),
        TEST(every_text_makes_a_line_of_json_without_card_data),
        TEST(a_traceparent_becomes_two_fields_and_nothing_none),
        TEST(errors_go_to_the_hook),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
