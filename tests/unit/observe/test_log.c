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
        LOG_TEXT("card", S("4242 4242 4242 4242")));
    log_free(l);
    text = read_all(f);
    assert_string_equal(text,
                        "{\"time\":\"2025-10-09T08:53:20.123Z\",\"level\":\"warn\","
                        "\"message\":\"say \\\"hi\\\"\\n\",\"who\":\"領収書\xef\xbf\xbd\\u0001\","
                        "\"n\":-5,\"card\":\"**** **** **** 4242\"}\n");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_is_one_json_object),
        TEST(lines_of_many_threads_stay_whole),
        TEST(a_reader_that_hangs_costs_lines_not_time),
        TEST(a_reader_that_hangs_does_not_hold_the_exit),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
