/* D6: who looks for a payment by our id reads the list with everybody else who does. The gateway is
 * a stand-in: the test answers each reading. */
#include "base/limits.h"
#include "gateway/create_lookup.h"
#include "unit/desk.h"
#include "unit/gateway/stand_in.h"

enum { CALLS = 16, AGO_MS = 1000000 };

static struct world {
    struct desk desk;
    struct stand_in inner;
    struct gateway *finder;
    struct gateway_call calls[CALLS];
    struct arena arena;
    void (*on_done)(struct gateway_call *c); /* of the next calls */
    int made, done;
} w;

static void on_done(struct gateway_call *c)
{
    (void)c;
    w.done++;
}

static int set_up(void **state)
{
    (void)state;
    w = (struct world){ .inner = stand_in_new(), .on_done = on_done };
    desk_init(&w.desk);
    arena_init(&w.arena, 1 << 16);
    w.finder = finder_new(&w.inner.gateway);
    assert_non_null(w.finder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    w.finder->ops->free(w.finder);
    arena_release(&w.arena);
    return 0;
}

static struct gateway_call *look_from(int64_t since_ms, int64_t until_ms, struct str after)
{
    struct gateway_call *c = &w.calls[w.made++];

    *c = (struct gateway_call){ .ask = GATEWAY_FETCH,
                                .since_ms = since_ms,
                                .until_ms = until_ms,
                                .list_after = after,
                                .arena = &w.arena,
                                .executor = &w.desk.executor,
                                .done = w.on_done };
    c->payment.b[0] = (unsigned char)w.made;
    gateway_call(w.finder, c);
    return c;
}

static struct gateway_call *look(void)
{
    return look_from(AGO_MS, AGO_MS, S(""));
}

static int sought(const struct gateway_call *reading)
{
    int n = 0;

    for (const struct gateway_call *c = reading->wanted; c; c = c->next)
        n++;
    return n;
}

/* As the adapter does it. */
static void find(struct gateway_call *reading, struct gateway_call *c, enum gateway_answer a)
{
    struct gateway_call **at = &reading->wanted;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->answer = a;
    c->next = reading->found;
    reading->found = c;
}

static void end(struct gateway_call *reading, enum gateway_answer a)
{
    reading->answer = a;
    reading->status = 200;
    reading->tries = 3;
    reading->sent = true;
    reading->done(reading);
}

/* --- the tests --- */

static void what_is_no_search_passes(void **state)
{
    struct gateway_call c = { .ask = GATEWAY_FETCH, .intent_id = S("pi_1") };
    struct gateway_call d = { .ask = GATEWAY_FETCH_REFUND };

    (void)state;
    gateway_call(w.finder, &c);
    gateway_call(w.finder, &d);
    assert_ptr_equal(w.inner.taken[0], &c);
    assert_ptr_equal(w.inner.taken[1], &d);
    assert_string_equal(w.finder->name, "x");
}

static void d6_who_comes_while_a_list_is_read_waits_for_the_next(void **state)
{
    struct gateway_call *a = look(), *b = look(), *c = look();

    (void)state;
    assert_int_equal(w.inner.count, 1);
    assert_int_equal(sought(w.inner.taken[0]), 1);
    end(w.inner.taken[0], GATEWAY_ABSENT);
    assert_int_equal(w.done, 1);
    assert_int_equal(a->answer, GATEWAY_ABSENT);
    assert_int_equal(a->tries, 3);
    assert_int_equal(w.inner.count, 2);
    assert_int_equal(sought(w.inner.taken[1]), 2);
    find(w.inner.taken[1], c, GATEWAY_OK);
    end(w.inner.taken[1], GATEWAY_ABSENT);
    assert_int_equal(w.done, 3);
    assert_int_equal(b->answer, GATEWAY_ABSENT);
    assert_int_equal(c->answer, GATEWAY_OK);
    assert_int_equal(c->status, 200);
    assert_int_equal(w.inner.count, 2);
}

static void d6_a_reading_that_ends_early_gives_all_the_same_place(void **state)
{
    struct gateway_call *a, *b;
    char place[] = "pi_9";

    (void)state;
    look();
    a = look();
    b = look();
    end(w.inner.taken[0], GATEWAY_ABSENT);
    w.inner.taken[1]->list_after = (struct str){ place, 4 };
    w.inner.taken[1]->list_more = true;
    strcpy(w.inner.taken[1]->error_code, "too_many_pages");
    end(w.inner.taken[1], GATEWAY_UNCERTAIN);
    place[3] = '0'; /* it was the reading's */
    assert_true(str_eq(a->list_after, S("pi_9")) && str_eq(b->list_after, S("pi_9")));
    assert_true(a->list_more && b->list_more);
    assert_string_equal(b->error_code, "too_many_pages");
    assert_int_equal(b->answer, GATEWAY_UNCERTAIN);
}

static void d6_other_places_and_other_hours_are_readings_of_their_own(void **state)
{
    int64_t near = AGO_MS + LIMIT_GATEWAY_SKEW_MS, far = near + 1;

    (void)state;
    look();
    look_from(AGO_MS, AGO_MS + 5, S(""));
    look_from(AGO_MS, AGO_MS, S("pi_5"));
    look_from(far, far, S(""));
    look_from(near, near, S(""));
    end(w.inner.taken[0], GATEWAY_ABSENT);
    assert_int_equal(sought(w.inner.taken[1]), 2);
    assert_int_equal(w.inner.taken[1]->since_ms, AGO_MS);
    assert_int_equal(w.inner.taken[1]->until_ms, near);
    end(w.inner.taken[1], GATEWAY_ABSENT);
    assert_true(str_eq(w.inner.taken[2]->list_after, S("pi_5")));
    assert_int_equal(sought(w.inner.taken[2]), 1);
    end(w.inner.taken[2], GATEWAY_ABSENT);
    assert_int_equal(w.inner.taken[3]->since_ms, far);
    end(w.inner.taken[3], GATEWAY_ABSENT);
    assert_int_equal(w.done, 5);
    look();
    assert_int_equal(w.inner.count, 5);
    end(w.inner.taken[4], GATEWAY_ABSENT);
}

static void d6_a_window_without_an_end_stays_open(void **state)
{
    (void)state;
    look();
    look_from(AGO_MS, 0, S(""));
    look_from(AGO_MS - 1, AGO_MS, S(""));
    end(w.inner.taken[0], GATEWAY_RETRY_LATER);
    assert_int_equal(w.inner.taken[1]->until_ms, 0);
    assert_int_equal(w.inner.taken[1]->since_ms, AGO_MS - 1);
    end(w.inner.taken[1], GATEWAY_RETRY_LATER);
    assert_int_equal(w.calls[2].answer, GATEWAY_RETRY_LATER);
}

static void look_again(struct gateway_call *c)
{
    w.done++;
    c->done = on_done;
    gateway_call(w.finder, c);
}

static void who_asks_again_at_once_is_in_the_next_reading(void **state)
{
    (void)state;
    w.on_done = look_again;
    look();
    w.on_done = on_done;
    look();
    end(w.inner.taken[0], GATEWAY_RETRY_LATER);
    assert_int_equal(w.inner.count, 2);
    assert_int_equal(sought(w.inner.taken[1]), 2);
    end(w.inner.taken[1], GATEWAY_ABSENT);
    assert_int_equal(w.done, 3);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_no_search_passes),
        CASE(d6_who_comes_while_a_list_is_read_waits_for_the_next),
        CASE(d6_a_reading_that_ends_early_gives_all_the_same_place),
        CASE(d6_other_places_and_other_hours_are_readings_of_their_own),
        CASE(d6_a_window_without_an_end_stays_open),
        CASE(who_asks_again_at_once_is_in_the_next_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
