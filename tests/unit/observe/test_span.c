#include "base/limits.h"
#include "observe/metrics.h"
#include "observe/span.h"
#include "unit/cm.h"

#include <pthread.h>
#include <stdio.h>

static int64_t wall_ms, mono_us;

static int64_t read_wall(const struct clock *c)
{
    (void)c;
    return wall_ms;
}

static int64_t read_mono(const struct clock *c)
{
    (void)c;
    return mono_us;
}

static void env_of(struct spans_options o, struct env *e)
{
    wall_ms = 1700000000000;
    mono_us = 5000000;
    *e = (struct env){ .clock = { .wall_ms = read_wall, .mono_us = read_mono } };
    rng_init_seeded(&e->rng, 11);
    e->metrics = metrics_new();
    o.env = e;
    if (!o.max)
        o.max = 100;
    e->spans = spans_new(&o);
}

static void close_env(struct env *e)
{
    spans_free(e->spans);
    metrics_free(e->metrics);
}

static struct trace sampled(struct env *e)
{
    struct trace t = trace_new(&e->rng);

    t.flags |= TRACE_SAMPLED;
    return t;
}

static struct ended_span *take_one(struct env *e)
{
    size_t n;
    struct ended_span *s = spans_take(e->spans, 10, &n);

    assert_int_equal(n, 1);
    assert_null(s->next);
    return s;
}

static int64_t dropped(const struct env *e)
{
    return metrics_read(e->metrics, COUNT_SPANS, S("dropped"));
}

/* --- */

static void a_span_has_its_parent_its_times_and_what_it_was_told(void **state)
{
    struct env e;
    struct trace parent;
    struct span s;
    struct ended_span *x;

    (void)state;
    env_of((struct spans_options){ .sampler = SAMPLE_ALL }, &e);
    parent = sampled(&e);
    s = span_begin_child(&e, &parent, SPAN_CLIENT, "Payment.callGateway");
    mono_us += 1500;
    SPAN_END(&s, "timeout", SPAN_TEXT("a", S("b")), SPAN_TEXT("empty", S("")), SPAN_NUM("n", -7),
             SPAN_BOOL("yes", true));
    x = take_one(&e);
    assert_memory_equal(x->span.trace.trace_id, parent.trace_id, 16);
    assert_memory_equal(x->span.parent, parent.span_id, 8);
    assert_memory_not_equal(x->span.trace.span_id, parent.span_id, 8);
    assert_true(x->span.has_parent && !x->span.parent_is_remote);
    assert_true(x->began_ns == INT64_C(1700000000000) * 1000000);
    assert_true(x->ended_ns == x->began_ns + 1500000);
    assert_true(x->failed && str_eq(x->why, S("timeout")));
    assert_true(str_eq(x->name, S("Payment.callGateway")));
    assert_int_equal(x->count, 3);
    assert_true(str_eq(x->attributes[0].text, S("b")));
    assert_int_equal(x->attributes[1].number, -7);
    assert_int_equal(x->attributes[2].type, ATTRIBUTE_BOOL);
    ended_spans_free(x);
    close_env(&e);
}

static void what_is_not_sampled_or_not_wanted_is_nothing(void **state)
{
    struct env e, nobody = { 0 };
    struct trace not_sampled;
    char text[TRACE_TEXT + 1];
    struct span s;
    size_t n;

    (void)state;
    env_of((struct spans_options){ .sampler = SAMPLE_ALL }, &e);
    not_sampled = trace_new(&e.rng);
    s = span_begin_child(&e, &not_sampled, SPAN_INTERNAL, "x");
    assert_null(s.spans);
    SPAN_END(&s, NULL, SPAN_NUM("n", 1));
    span_end(&s, NULL, NULL, 0);
    trace_text(&not_sampled, text);
    s = span_begin(&e, str_of(text), SPAN_INTERNAL, "x");
    assert_null(s.spans);
    not_sampled.flags |= TRACE_SAMPLED;
    s = span_begin_child(&nobody, &not_sampled, SPAN_INTERNAL, "x");
    assert_null(s.spans);
    s = span_begin(&e, S("00-not-a-trace-01"), SPAN_INTERNAL, "x");
    assert_null(s.spans);
    assert_null(spans_take(e.spans, 10, &n));
    close_env(&e);
}

static void what_is_handed_on_is_the_span_or_what_it_would_have_been_a_child_of(void **state)
{
    struct env e;
    struct trace parent, t;
    char text[TRACE_TEXT + 1], handed[TRACE_TEXT + 1];
    struct span s;

    (void)state;
    env_of((struct spans_options){ .sampler = SAMPLE_ALL }, &e);
    parent = sampled(&e);
    trace_text(&parent, text);
    s = span_begin(&e, str_of(text), SPAN_INTERNAL, "x");
    span_place(&s, str_of(text), handed);
    assert_true(trace_parse(str_of(handed), &t));
    assert_memory_equal(t.span_id, s.trace.span_id, 8);
    s = (struct span){ 0 };
    span_place(&s, str_of(text), handed);
    assert_string_equal(handed, text);
    span_place(&s, S(""), handed);
    assert_string_equal(handed, "");
    close_env(&e);
}

static void a_span_never_ends_before_it_began(void **state)
{
    struct env e;
    struct trace parent;
    struct span s;
    struct ended_span *x;
    size_t n;

    (void)state;
    env_of((struct spans_options){ .sampler = SAMPLE_ALL }, &e);
    parent = sampled(&e);
    s = span_begin_child(&e, &parent, SPAN_INTERNAL, "x");
    wall_ms -= 3600 * 1000; /* somebody sets the machine's clock back, and a test moves ours */
    clock_advance(&e.clock, -86400000);
    mono_us += 10;
    span_end(&s, NULL, NULL, 0);
    s = span_begin_child(&e, &parent, SPAN_INTERNAL, "x");
    span_end_at(&s, s.began_us - 5, NULL, NULL, 0);
    x = spans_take(e.spans, 2, &n);
    assert_int_equal(n, 2);
    assert_true(x->ended_ns == x->began_ns + 10000);
    assert_true(x->next->began_ns >= x->ended_ns && x->next->ended_ns == x->next->began_ns);
    ended_spans_free(x);
    close_env(&e);
}

static void card_data_is_masked_by_form_and_by_name(void **state)
{
    struct env e;
    struct trace parent;
    struct span s;
    struct ended_span *x;

    (void)state;
    env_of((struct spans_options){ .sampler = SAMPLE_ALL }, &e);
    parent = sampled(&e);
    s = span_begin_child(&e, &parent, SPAN_CLIENT, "x");
    SPAN_END(&s, "cvc=123", SPAN_TEXT("a", S("4242424242424242 exp_year=2030")));
    x = take_one(&e);
    assert_true(str_eq(x->why, S("cvc=***")));
    assert_true(str_eq(x->attributes[0].text, S("************4242 exp_year=****")));
    ended_spans_free(x);
    close_env(&e);
}

static void ended_twice_it_is_told_once(void **state)
{
    struct env e;
    struct trace parent;
    struct span s;

    (void)state;
    env_of((struct spans_options){ .sampler = SAMPLE_ALL }, &e);
    parent = sampled(&e);
    s = span_begin_child(&e, &parent, SPAN_INTERNAL, "x");
    span_end(&s, NULL, NULL, 0);
    span_end(&s, "again", NULL, 0);
    ended_spans_free(take_one(&e));
    close_env(&e);
}

static void texts_and_attributes_have_their_bounds(void **state)
{
    static char longest[1000], japanese[1000];
    struct attribute many[SPAN_ATTRIBUTES + 3];
    struct env e;
    struct trace parent;
    struct span s;
    struct ended_span *x;

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    for (size_t i = 0; i + 3 < sizeof(japanese); i += 3)
        memcpy(japanese + i, "\xe6\xb1\xba", 3);
    for (size_t i = 0; i < COUNT(many); i++)
        many[i] = SPAN_NUM("n", (int64_t)i);
    many[0] = SPAN_TEXT("longest", str_of(longest));
    many[1] = SPAN_TEXT("japanese", str_of(japanese));
    many[2] = SPAN_TEXT("card", S("4242424242424242"));
    env_of((struct spans_options){ .sampler = SAMPLE_ALL }, &e);
    parent = sampled(&e);
    s = span_begin_child(&e, &parent, SPAN_INTERNAL, longest);
    span_end(&s, longest, many, COUNT(many));
    x = take_one(&e);
    assert_int_equal(x->name.n, LIMIT_SPAN_TEXT);
    assert_int_equal(x->why.n, LIMIT_SPAN_TEXT);
    assert_int_equal(x->count, SPAN_ATTRIBUTES);
    assert_int_equal(x->dropped, 3);
    assert_int_equal(x->attributes[0].text.n, LIMIT_SPAN_TEXT);
    assert_int_equal(x->attributes[1].text.n % 3, 0);
    assert_true(str_is_utf8(x->attributes[1].text));
    assert_true(str_eq(x->attributes[2].text, S("************4242")));
    ended_spans_free(x);
    close_env(&e);
}

static int told;

static void tell(void *ctx)
{
    (void)ctx;
    told++;
}

static void a_full_list_drops_and_counts_and_many_are_told_once(void **state)
{
    struct env e;
    struct trace parent;
    size_t n;
    struct ended_span *x;

    (void)state;
    told = 0;
    env_of((struct spans_options){ .sampler = SAMPLE_ALL, .max = 5 }, &e);
    spans_on_many(e.spans, 3, tell, NULL);
    parent = sampled(&e);
    for (int i = 0; i < 8; i++) {
        struct span s = span_begin_child(&e, &parent, SPAN_INTERNAL, "x");

        SPAN_END(&s, NULL, SPAN_NUM("i", i));
    }
    assert_int_equal(told, 1);
    assert_int_equal(dropped(&e), 3);
    assert_int_equal(spans_waiting(e.spans), 5);
    x = spans_take(e.spans, 2, &n);
    assert_int_equal(n, 2);
    assert_int_equal(x->attributes[0].number, 0); /* the oldest first */
    assert_int_equal(x->next->attributes[0].number, 1);
    ended_spans_free(x);
    for (int i = 0; i < 8; i++) {
        struct span s = span_begin_child(&e, &parent, SPAN_INTERNAL, "x");

        SPAN_END(&s, NULL, SPAN_NUM("i", i));
    }
    assert_int_equal(told, 2);
    assert_int_equal(dropped(&e), 9);
    close_env(&e);
}

/* --- sampling --- */

static void samplers_have_the_names_of_the_specification(void **state)
{
    static const struct {
        const char *name;
        bool known, by_parent;
        enum sampler sampler;
    } rows[] = {
        { "always_on", true, false, SAMPLE_ALL },
        { "always_off", true, false, SAMPLE_NONE },
        { "traceidratio", true, false, SAMPLE_RATIO },
        { "parentbased_always_on", true, true, SAMPLE_ALL },
        { "parentbased_always_off", true, true, SAMPLE_NONE },
        { "parentbased_traceidratio", true, true, SAMPLE_RATIO },
        { "parentbased_", false, true, SAMPLE_ALL },
        { "jaeger_remote", false, false, SAMPLE_ALL },
    };
    struct spans_options o;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        o = (struct spans_options){ 0 };
        if (sampler_parse(str_of(rows[i].name), &o) != rows[i].known)
            fail_msg("%s", rows[i].name);
        if (rows[i].known && (o.by_parent != rows[i].by_parent || o.sampler != rows[i].sampler))
            fail_msg("%s is another one", rows[i].name);
    }
}

static void the_parent_decides_only_where_it_may(void **state)
{
    static const struct {
        const char *why;
        enum sampler sampler;
        bool by_parent;
        double ratio;
        int parent; /* -1: none; else its flag */
        bool recorded;
    } rows[] = {
        { "all, new", SAMPLE_ALL, false, 0, -1, true },
        { "all, whatever the parent says", SAMPLE_ALL, false, 0, 0, true },
        { "none, new", SAMPLE_NONE, false, 0, -1, false },
        { "none, whatever the parent says", SAMPLE_NONE, false, 0, 1, false },
        { "by the parent, who wants it", SAMPLE_NONE, true, 0, 1, true },
        { "by the parent, who does not", SAMPLE_ALL, true, 0, 0, false },
        { "by the parent, where there is none", SAMPLE_ALL, true, 0, -1, true },
        { "ratio 0", SAMPLE_RATIO, false, 0, -1, false },
        { "ratio 0, whatever the parent says", SAMPLE_RATIO, false, 0, 1, false },
        { "ratio 1", SAMPLE_RATIO, false, 1, -1, true },
        { "ratio 1, whatever the parent says", SAMPLE_RATIO, false, 1, 0, true },
        { "ratio 0, but by the parent", SAMPLE_RATIO, true, 0, 1, true },
        { "ratio 1, but by the parent", SAMPLE_RATIO, true, 1, 0, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct trace parent, t;
        struct env e;

        env_of((struct spans_options){ .sampler = rows[i].sampler,
                                       .by_parent = rows[i].by_parent,
                                       .ratio = rows[i].ratio },
               &e);
        parent = trace_new(&e.rng);
        parent.flags |= (unsigned char)(rows[i].parent > 0);
        t = trace_enter(e.spans, &e.rng, rows[i].parent < 0 ? NULL : &parent);
        if (!(t.flags & TRACE_SAMPLED) == rows[i].recorded)
            fail_msg("row %zu: %s", i, rows[i].why);
        if (rows[i].parent >= 0 && memcmp(t.trace_id, parent.trace_id, 16) != 0)
            fail_msg("row %zu: it is another trace", i);
        if (!(t.flags & TRACE_RANDOM))
            fail_msg("row %zu: the random flag is lost", i);
        close_env(&e);
    }
}

static void without_a_list_the_flags_of_others_are_passed_on(void **state)
{
    struct trace parent, t;
    struct rng r;

    (void)state;
    rng_init_seeded(&r, 3);
    for (unsigned char flags = 0; flags < 4; flags++) {
        parent = trace_new(&r);
        parent.flags = flags;
        t = trace_enter(NULL, &r, &parent);
        assert_int_equal(t.flags, flags);
        assert_memory_not_equal(t.span_id, parent.span_id, 8);
    }
    assert_int_equal(trace_enter(NULL, &r, NULL).flags, TRACE_RANDOM);
}

static void a_ratio_is_decided_by_the_id_and_about_right(void **state)
{
    int recorded = 0;
    struct env e, other;

    (void)state;
    env_of((struct spans_options){ .sampler = SAMPLE_RATIO, .ratio = 0.1 }, &e);
    env_of((struct spans_options){ .sampler = SAMPLE_RATIO, .ratio = 0.1 }, &other);
    for (int i = 0; i < 20000; i++) {
        struct trace t = trace_enter(e.spans, &e.rng, NULL), same;

        recorded += t.flags & TRACE_SAMPLED;
        mono_us += 1000000; /* the bound for outsiders is not the subject */
        same = trace_enter(other.spans, &other.rng, &t);
        assert_int_equal(same.flags & TRACE_SAMPLED, t.flags & TRACE_SAMPLED);
    }
    assert_in_range(recorded, 1800, 2200);
    close_env(&e);
    close_env(&other);
}

static void outsiders_cannot_force_more_than_the_bound_a_second(void **state)
{
    int recorded = 0, ours = 0;
    struct env e;

    (void)state;
    env_of((struct spans_options){ .sampler = SAMPLE_RATIO, .by_parent = true, .ratio = 1 }, &e);
    for (int i = 0; i < 3 * LIMIT_TRACES_FORCED; i++) {
        struct trace parent = sampled(&e);

        recorded += trace_enter(e.spans, &e.rng, &parent).flags & TRACE_SAMPLED;
        ours += trace_enter(e.spans, &e.rng, NULL).flags & TRACE_SAMPLED;
    }
    assert_int_equal(recorded, LIMIT_TRACES_FORCED);
    assert_int_equal(ours, 3 * LIMIT_TRACES_FORCED);
    mono_us += 1000000;
    for (int i = 0; i < 3; i++) {
        struct trace parent = sampled(&e);

        recorded += trace_enter(e.spans, &e.rng, &parent).flags & TRACE_SAMPLED;
    }
    assert_int_equal(recorded, LIMIT_TRACES_FORCED + 3);
    close_env(&e);
}

/* --- threads --- */

enum { THREADS = 4, EACH = 2000 };

static void *end_many(void *ctx)
{
    struct env *e = ctx;
    struct rng r;
    struct trace parent;

    rng_init_kernel(&r);
    parent = trace_new(&r);
    for (int i = 0; i < EACH; i++) {
        struct span s = { .spans = e->spans, .name = "x", .trace = parent };

        SPAN_END(&s, NULL, SPAN_NUM("i", i));
    }
    return NULL;
}

static void any_thread_may_end_a_span(void **state)
{
    pthread_t threads[THREADS];
    size_t n, all = 0;
    struct env e;

    (void)state;
    env_of((struct spans_options){ .sampler = SAMPLE_ALL, .max = 1000 }, &e);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, end_many, &e), 0);
    for (int i = 0; i < 50; i++) {
        ended_spans_free(spans_take(e.spans, 100, &n));
        all += n;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ended_spans_free(spans_take(e.spans, SIZE_MAX, &n));
    assert_int_equal(all + n + (size_t)dropped(&e), THREADS * EACH);
    close_env(&e);
}

static void a_lap_is_from_the_first_begin_to_the_last_end(void **state)
{
    struct env e;
    struct lap lap = { 0 }, *nobody = NULL;

    (void)state;
    env_of((struct spans_options){ .sampler = SAMPLE_ALL }, &e);
    lap_begin(nobody);
    lap_end(nobody, S("x"));
    lap_begin(&lap);
    lap_end(&lap, S("x"));
    assert_int_equal(lap.ended_us, 0);
    lap.env = &e;
    lap_begin(&lap);
    mono_us += 5;
    lap_end(&lap, S("one"));
    mono_us += 5;
    lap_begin(&lap);
    mono_us += 5;
    lap_end(&lap, S("two"));
    assert_int_equal(lap.ended_us - lap.began_us, 15);
    assert_true(str_eq(lap.what, S("two")));
    close_env(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_span_has_its_parent_its_times_and_what_it_was_told),
        TEST(what_is_not_sampled_or_not_wanted_is_nothing),
        TEST(what_is_handed_on_is_the_span_or_what_it_would_have_been_a_child_of),
        TEST(a_span_never_ends_before_it_began),
        TEST(card_data_is_masked_by_form_and_by_name),
        TEST(ended_twice_it_is_told_once),
        TEST(texts_and_attributes_have_their_bounds),
        TEST(a_full_list_drops_and_counts_and_many_are_told_once),
        TEST(samplers_have_the_names_of_the_specification),
        TEST(the_parent_decides_only_where_it_may),
        TEST(without_a_list_the_flags_of_others_are_passed_on),
        TEST(a_ratio_is_decided_by_the_id_and_about_right),
        TEST(outsiders_cannot_force_more_than_the_bound_a_second),
        TEST(any_thread_may_end_a_span),
        TEST(a_lap_is_from_the_first_begin_to_the_last_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
