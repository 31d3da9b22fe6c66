#include "base/limits.h"
#include "payment/waiting.h"
#include "unit/desk.h"

#include <stdlib.h>
#include <string.h>

static struct scope scope_of(unsigned char n)
{
    struct scope s = { { 0 } };

    s.b[SCOPE_BYTES - 1] = n;
    return s;
}

struct guest {
    struct waiter waiter;
    char heard[32];
    int times;
};

static void heard(struct waiter *w)
{
    struct guest *g = CONTAINER_OF(w, struct guest, waiter);

    g->times++;
    memcpy(g->heard, w->answer->body, w->answer->size);
    answer_release(w->answer);
}

static void come_in(struct waiting *r, struct desk *d, struct guest *g, unsigned char n)
{
    *g = (struct guest){ .waiter = {
                             .scope = scope_of(n), .executor = &d->executor, .answered = heard } };
    assert_true(waiting_enter(r, &g->waiter));
}

static void say(struct waiting *r, unsigned char n, const char *words)
{
    struct scope s = scope_of(n);

    waiting_answer(r, &s, answer_new(OK, 201, (struct uuid){ 0 }, str_of(words)));
}

static void everybody_who_waits_for_a_key_hears_its_answer_once(void **state)
{
    struct waiting *r = waiting_new();
    struct guest a[3], other;
    struct desk d;

    (void)state;
    desk_init(&d);
    for (size_t i = 0; i < COUNT(a); i++)
        come_in(r, &d, &a[i], 1);
    come_in(r, &d, &other, 2);
    say(r, 1, "one");
    say(r, 1, "nobody hears this");
    for (size_t i = 0; i < COUNT(a); i++)
        desk_next(&d);
    for (size_t i = 0; i < COUNT(a); i++) {
        assert_string_equal(a[i].heard, "one");
        assert_int_equal(a[i].times, 1);
    }
    assert_int_equal(other.times, 0);
    assert_true(waiting_leave(r, &other.waiter));
    assert_true(desk_is_empty(&d));
    waiting_free(r);
}

static void who_left_hears_nothing_and_who_is_called_cannot_leave(void **state)
{
    struct waiting *r = waiting_new();
    struct guest gone, called;
    struct desk d;

    (void)state;
    desk_init(&d);
    come_in(r, &d, &gone, 1);
    come_in(r, &d, &called, 1);
    assert_true(waiting_leave(r, &gone.waiter));
    say(r, 1, "x");
    assert_false(waiting_leave(r, &called.waiter));
    assert_false(waiting_leave(r, &gone.waiter));
    desk_next(&d);
    assert_int_equal(called.times, 1);
    assert_int_equal(gone.times, 0);
    assert_true(desk_is_empty(&d));
    waiting_free(r);
}

static void the_room_has_an_end(void **state)
{
    struct waiting *r = waiting_new();
    struct guest *g = calloc(LIMIT_WAITERS + 1, sizeof(*g));
    struct desk d;

    (void)state;
    assert_non_null(g);
    desk_init(&d);
    for (int i = 0; i < LIMIT_WAITERS; i++)
        come_in(r, &d, &g[i], (unsigned char)i);
    g[LIMIT_WAITERS].waiter = (struct waiter){ .scope = scope_of(1), .executor = &d.executor };
    assert_false(waiting_enter(r, &g[LIMIT_WAITERS].waiter));
    assert_true(waiting_leave(r, &g[0].waiter));
    assert_true(waiting_enter(r, &g[LIMIT_WAITERS].waiter));
    free(g);
    waiting_free(r);
}

/* A store's thread answers while guests come and go: each is answered or has left, never both. */
enum { ROUNDS = 5000 };

static void *answer_often(void *ctx)
{
    for (int i = 0; i < ROUNDS; i++)
        say(ctx, 1, "again");
    return NULL;
}

static void answering_and_leaving_at_once_is_one_of_the_two(void **state)
{
    struct waiting *r = waiting_new();
    struct guest *g = calloc(ROUNDS, sizeof(*g));
    pthread_t thread;
    struct desk d;
    int called = 0;

    (void)state;
    assert_non_null(g);
    desk_init(&d);
    assert_int_equal(pthread_create(&thread, NULL, answer_often, r), 0);
    for (int i = 0; i < ROUNDS; i++) {
        come_in(r, &d, &g[i], 1);
        called += !waiting_leave(r, &g[i].waiter);
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < called; i++)
        desk_next(&d);
    assert_true(desk_is_empty(&d));
    free(g);
    waiting_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(everybody_who_waits_for_a_key_hears_its_answer_once),
        TEST(who_left_hears_nothing_and_who_is_called_cannot_leave),
        TEST(the_room_has_an_end),
        TEST(answering_and_leaving_at_once_is_one_of_the_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
