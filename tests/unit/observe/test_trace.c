#include "observe/trace.h"
#include "unit/cm.h"

#include <string.h>

static void traceparent_is_read_as_the_standard_says(void **state)
{
    static const struct {
        const char *why, *text;
        bool ok;
    } rows[] = {
        { "the standard's own", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true },
        { "not sampled", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", true },
        { "a later version with more", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
          true },
        { "a later version glued", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
          false },
        { "version 0 with more", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
          false },
        { "version ff", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false },
        { "upper case", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false },
        { "zero trace", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", false },
        { "zero span", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false },
        { "short", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", false },
        { "empty", "", false },
    };
    struct trace t;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (trace_parse(str_of(rows[i].text), &t) != rows[i].ok)
            fail_msg("row %zu: %s", i, rows[i].why);
}

static void a_trace_is_written_as_it_was_read(void **state)
{
    const char *text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    char again[TRACE_TEXT + 1];
    struct trace t;

    (void)state;
    assert_true(trace_parse(str_of(text), &t));
    trace_text(&t, again);
    assert_string_equal(text, again);
}

static void a_new_trace_is_valid(void **state)
{
    char text[TRACE_TEXT + 1];
    struct trace t;
    struct rng r;

    (void)state;
    rng_init_seeded(&r, 7);
    t = trace_new(&r);
    trace_text(&t, text);
    assert_true(trace_parse(str_of(text), &t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(traceparent_is_read_as_the_standard_says),
        TEST(a_trace_is_written_as_it_was_read),
        TEST(a_new_trace_is_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
