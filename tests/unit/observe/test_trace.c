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
        { "one blank before it", " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true },
        { "blanks and tabs around it, which @opentelemetry/core refuses",
          " \t 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\t \t", true },
        { "a later version without more", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
          true },
        { "a later version that only ends in a dash",
          "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-", true },
        { "a later version with a dot", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.x",
          false },
        { "a later version that is too short",
          "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", false },
        { "upper case in the version", "CC-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
          false },
        { "upper case in the span", "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01",
          false },
        { "upper case in the flags", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0A",
          false },
        { "no hex in the flags", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-.1", false },
        { "version 0 with a dash", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
          false },
        { "other dividers", "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01", false },
        { "a blank within", "00-4bf92f3577b34da6a3ce929d0e0e4736 -0f067aa0ba902b7-01", false },
        { "two of them joined",
          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01,00-"
          "4bf92f3577b34da6a3ce929d0e0e4736-"
          "00f067aa0ba902b7-01",
          false },
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

static void only_the_flags_that_have_a_meaning_are_kept(void **state)
{
    static const struct {
        const char *sent, *kept;
    } rows[] = { { "00", "00" }, { "01", "01" }, { "02", "02" }, { "03", "03" },
                 { "ff", "03" }, { "f1", "01" }, { "08", "00" } };
    char text[TRACE_TEXT + 1] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-";
    char again[TRACE_TEXT + 1];
    struct trace t;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        memcpy(text + 53, rows[i].sent, 3);
        assert_true(trace_parse(str_of(text), &t));
        trace_text(&t, again);
        assert_string_equal(again + 53, rows[i].kept);
        assert_int_equal(trace_is_sampled(str_of(again)), t.flags & TRACE_SAMPLED);
    }
}

static void what_a_later_version_said_is_handed_on_as_ours(void **state)
{
    char text[TRACE_TEXT + 1];
    struct trace t;

    (void)state;
    assert_true(trace_parse(S("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"), &t));
    trace_text(&t, text);
    assert_string_equal(text, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
}

static void a_child_is_another_place_in_the_same_trace(void **state)
{
    struct trace parent, child;
    struct rng r;

    (void)state;
    rng_init_seeded(&r, 7);
    parent = trace_new(&r);
    assert_int_equal(parent.flags, TRACE_RANDOM);
    parent.flags |= TRACE_SAMPLED;
    child = trace_child(&r, &parent);
    assert_memory_equal(child.trace_id, parent.trace_id, sizeof(child.trace_id));
    assert_memory_not_equal(child.span_id, parent.span_id, sizeof(child.span_id));
    assert_int_equal(child.flags, parent.flags);
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
        TEST(only_the_flags_that_have_a_meaning_are_kept),
        TEST(what_a_later_version_said_is_handed_on_as_ours),
        TEST(a_child_is_another_place_in_the_same_trace),
        TEST(a_new_trace_is_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
