/* Who may go, who waits and who is put off, by a clock that the test moves. */
#include "base/limits.h"
#include "domain/retry.h"
#include "qstash/deliver/destinations.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 120000, PLACES = LIMIT_QSTASH_PER_HOST };

static int64_t now_ms;

static int64_t wall(const struct clock *c)
{
    (void)c;
    return now_ms;
}

static int64_t mono(const struct clock *c)
{
    (void)c;
    return now_ms * 1000;
}

struct guest {
    struct stay stay;
    bool told;
};

static struct {
    struct env env;
    struct destinations *all;
    struct guest *guests;
    int count;
    int went, put_off;
    int64_t first_ms, last_ms; /* of those that were put off */
} w;

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof(w));
    now_ms = INT64_C(1760000000000);
    clock_init(&w.env.clock);
    w.env.clock.wall_ms = wall;
    w.env.clock.mono_us = mono;
    rng_init_seeded(&w.env.rng, 7);
    w.all = destinations_new(&w.env);
    w.guests = calloc(MOST, sizeof(*w.guests));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < w.count; i++)
        destinations_leave(w.all, &w.guests[i].stay, STAY_UNUSED);
    destinations_free(w.all); /* asserts that nobody stays */
    free(w.guests);
    return 0;
}

static void decided(struct stay *s)
{
    struct guest *g = CONTAINER_OF(s, struct guest, stay);
    int64_t at = s->put_off_ms;

    assert_false(g->told);
    g->told = true;
    w.went += !at;
    w.put_off += at > 0;
    if (!at)
        return;
    assert_true(at > now_ms);
    w.first_ms = !w.first_ms || at < w.first_ms ? at : w.first_ms;
    w.last_ms = at > w.last_ms ? at : w.last_ms;
}

static struct guest *enters(const char *host, size_t bytes, bool fresh)
{
    struct guest *g = &w.guests[w.count++];

    assert_true(w.count < MOST);
    *g = (struct guest){ .stay = { .bytes = bytes, .fresh = fresh, .decided = decided } };
    destinations_enter(w.all, str_of(host), &g->stay);
    return g;
}

static struct guest *enter(const char *host)
{
    return enters(host, 10, true);
}

static struct guest *again(const char *host)
{
    return enters(host, 10, false);
}

static void leave(struct guest *g, enum stay_end end)
{
    destinations_leave(w.all, &g->stay, end);
}

static bool goes(const struct guest *g)
{
    return g->told && !g->stay.put_off_ms;
}

static bool waits(const struct guest *g)
{
    return !g->told;
}

static bool is_put_off(const struct guest *g)
{
    return g->told && g->stay.put_off_ms;
}

/* n calls of took_ms each, all begun at once. */
static void fill(const char *host, int n, struct guest **ret)
{
    for (int i = 0; i < n; i++) {
        ret[i] = enter(host);
        assert_true(goes(ret[i]));
    }
}

static void silences(const char *host, int n, int64_t took_ms)
{
    struct guest *g[PLACES];

    fill(host, n, g);
    now_ms += took_ms;
    for (int i = 0; i < n; i++)
        leave(g[i], STAY_SILENT);
}

/* --- places --- */

static void a_destination_has_its_places_and_then_a_line(void **state)
{
    struct guest *g[PLACES], *next, *after;

    (void)state;
    fill("a.test", PLACES, g);
    next = enter("a.test");
    after = enter("A.TEST"); /* the same one */
    assert_true(waits(next) && waits(after));
    assert_true(goes(enter("b.test")));
    leave(g[17], STAY_ANSWERED);
    assert_true(goes(next));
    assert_true(waits(after));
    leave(g[18], STAY_UNUSED);
    assert_true(goes(after));
}

static void who_is_gone_before_its_turn_is_not_called(void **state)
{
    struct guest *g[PLACES], *gone, *next;

    (void)state;
    fill("a.test", PLACES, g);
    gone = enter("a.test");
    next = enter("a.test");
    leave(gone, STAY_UNUSED);
    leave(gone, STAY_UNUSED); /* twice is fine */
    leave(g[0], STAY_ANSWERED);
    assert_false(gone->told);
    assert_true(goes(next));
}

static void a_host_that_is_faster_than_its_line_is_used_at_once(void **state)
{
    struct guest *g[PLACES];
    bool some_were_put_off = false;

    (void)state;
    fill("a.test", PLACES, g);
    now_ms += 20000;
    while (!some_were_put_off)
        some_were_put_off = is_put_off(enter("a.test"));
    for (int i = 0; i < PLACES; i++)
        leave(g[i], STAY_ANSWERED);
    for (int i = 0; i < w.count; i++)
        leave(&w.guests[i], STAY_ANSWERED);
    assert_true(goes(enter("a.test")));
}

/* (3): each has its own time, at the pace of the destination. */
static void a_long_line_is_put_off_at_the_pace_of_the_destination(void **state)
{
    static int64_t times[40000];
    struct guest *g[PLACES];
    int64_t before = 0;
    int n = 0;

    (void)state;
    fill("a.test", PLACES, g);
    now_ms += 500; /* a call takes half a second: 512 a second */
    for (int i = 0; i < PLACES; i++) {
        leave(g[i], STAY_ANSWERED);
        g[i] = enter("a.test");
    }
    for (int i = 0; i < 20000; i++) {
        struct guest *late = enter("a.test");

        if (is_put_off(late))
            times[n++] = late->stay.put_off_ms;
    }
    assert_true(n > 18000);
    for (int i = 0; i < n; i++) {
        assert_true(times[i] >= before);
        before = times[i];
    }
    assert_in_range(times[0], now_ms + 500, now_ms + 2500);
    assert_in_range(times[n - 1] - times[0], 30000, 45000); /* 20,000 at 512 a second: 39 s */
}

static void who_was_put_off_goes_before_who_comes_now(void **state)
{
    struct guest *g[PLACES], *late;

    (void)state;
    fill("a.test", PLACES, g);
    now_ms += 1000;
    do
        late = enter("a.test");
    while (!is_put_off(late));
    while (w.went < w.count - w.put_off) /* serve who waits in memory */
        for (int i = 0; i < w.count; i++)
            if (goes(&w.guests[i]) && w.went < w.count - w.put_off)
                leave(&w.guests[i], STAY_ANSWERED);
    for (int i = 0, freed = 0; i < w.count && freed < 10; i++)
        if (goes(&w.guests[i]) && w.guests[i].stay.at) {
            leave(&w.guests[i], STAY_ANSWERED);
            freed++;
        }
    assert_true(is_put_off(enter("a.test"))); /* there are places, but they are spoken for */
    assert_true(goes(again("a.test")));
}

/* A black hole, before anybody knows: as time passes without an end, the line stretches. */
static void a_line_that_does_not_move_is_not_asked_over_and_over(void **state)
{
    struct guest *g[PLACES];
    int asked = 0;

    (void)state;
    fill("hole.test", PLACES, g);
    for (int i = 0; i < 20000; i++)
        enter("hole.test");
    for (int64_t end = now_ms + 30000; now_ms < end; now_ms += 10)
        for (int i = PLACES, n = w.count; i < n; i++)
            if (is_put_off(&w.guests[i]) && w.guests[i].stay.put_off_ms <= now_ms) {
                struct guest *one = &w.guests[i];

                one->told = false;
                one->stay.fresh = false;
                destinations_enter(w.all, S("hole.test"), &one->stay);
                asked++;
            }
    assert_in_range(asked, 1, 30000); /* 20,000 parcels, 30 seconds */
}

static void nothing_is_put_off_beyond_the_horizon(void **state)
{
    struct guest *g[PLACES];

    (void)state;
    fill("slow.test", PLACES, g);
    now_ms += 60 * 1000; /* each takes a minute: four a second */
    leave(g[0], STAY_ANSWERED);
    for (int i = 0; i < 100000; i++)
        enter("slow.test");
    assert_in_range(w.last_ms, now_ms + LIMIT_QSTASH_HORIZON_MS / 2,
                    now_ms + LIMIT_QSTASH_HORIZON_MS);
}

/* --- the house --- */

static void many_that_hang_leave_places_to_who_comes_later(void **state)
{
    char host[32];

    (void)state;
    for (int i = 0; i < 200; i++) {
        snprintf(host, sizeof(host), "hole%d.test", i);
        for (int k = 0; k < 400; k++)
            enter(host);
    }
    assert_true(w.went < LIMIT_QSTASH_UNDER_WAY);
    assert_true(goes(enter("good.test")));
}

static void bodies_under_way_have_a_limit_together(void **state)
{
    enum { MEGABYTE = 1 << 20, FIT = LIMIT_QSTASH_FLIGHT_BYTES / MEGABYTE };
    struct guest *g[FIT], *next, *small;

    (void)state;
    for (int i = 0; i < FIT; i++) {
        g[i] = enters("a.test", MEGABYTE, true);
        assert_true(goes(g[i]));
    }
    next = enters("a.test", MEGABYTE, true);
    assert_true(waits(next)); /* somebody of its own will leave */
    assert_true(is_put_off(enters("b.test", MEGABYTE, true)));
    small = enters("b.test", 0, true);
    assert_true(goes(small));
    leave(g[0], STAY_ANSWERED);
    assert_true(goes(next));
    for (int i = 1; i < FIT; i++)
        leave(g[i], STAY_ANSWERED);
    leave(next, STAY_ANSWERED);
    assert_true(goes(enters("c.test", 2 * LIMIT_QSTASH_FLIGHT_BYTES, true))); /* alone it may */
}

static void large_bodies_get_times_of_their_own_too(void **state)
{
    enum { MEGABYTE = 1 << 20, FIT = LIMIT_QSTASH_FLIGHT_BYTES / MEGABYTE };

    (void)state;
    for (int i = 0; i < FIT; i++)
        enters("a.test", MEGABYTE, true);
    for (int i = 0; i < 640; i++)
        enters("b.test", MEGABYTE, true);
    assert_int_equal(w.put_off, 640); /* ten times what fits: ten times a quarter of a second */
    assert_in_range(w.last_ms - w.first_ms, 2000, 3000);
}

static void the_longest_unused_are_forgotten(void **state)
{
    char host[32];

    (void)state;
    silences("dead.test", LIMIT_QSTASH_SILENT, 30000);
    assert_true(is_put_off(enter("dead.test")));
    for (int i = 0; i < LIMIT_QSTASH_DESTINATIONS - 1; i++) {
        snprintf(host, sizeof(host), "h%d.test", i);
        leave(enter(host), STAY_ANSWERED);
    }
    assert_true(is_put_off(enter("dead.test")));
    leave(enter("one-more.test"), STAY_ANSWERED);
    assert_true(goes(enter("dead.test"))); /* it was: nobody remembers */
}

static void somebody_at_every_one_of_them_is_no_reason_to_fail(void **state)
{
    char host[32];

    (void)state;
    for (int i = 0; i < LIMIT_QSTASH_DESTINATIONS + 10; i++) {
        snprintf(host, sizeof(host), "h%d.test", i);
        enter(host);
    }
    assert_int_equal(w.went + w.put_off, w.count);
    assert_in_range(w.put_off, 1, 20);
}

/* --- the breaker --- */

static void silence_opens_the_breaker_and_any_answer_closes_it(void **state)
{
    struct guest *probe;
    int64_t at;

    (void)state;
    silences("a.test", LIMIT_QSTASH_SILENT - 1, 1000);
    leave(enter("a.test"), STAY_ANSWERED); /* a 500 is an answer */
    silences("a.test", LIMIT_QSTASH_SILENT - 1, 1000);
    assert_true(goes(probe = enter("a.test")));
    now_ms += 1000;
    leave(probe, STAY_SILENT);
    probe = enter("a.test");
    assert_true(is_put_off(probe));
    at = probe->stay.put_off_ms;
    assert_in_range(at - now_ms, retry_table[RETRY_QSTASH_HOST].first_ms * 3 / 4,
                    retry_table[RETRY_QSTASH_HOST].first_ms * 5 / 4);
    assert_true(goes(enter("b.test")));
    now_ms = at;
    probe = again("a.test");
    assert_true(goes(probe));                 /* one is let through, */
    assert_true(is_put_off(again("a.test"))); /* and no other */
    leave(probe, STAY_ANSWERED);
    assert_true(goes(again("a.test")));
    assert_true(goes(enter("a.test")));
}

static void the_pause_grows_to_a_minute(void **state)
{
    int64_t pause = 0;

    (void)state;
    silences("a.test", LIMIT_QSTASH_SILENT, 30000);
    for (int i = 0; i < 10; i++) {
        struct guest *g = enter("a.test");
        int64_t least = retry_table[RETRY_QSTASH_HOST].first_ms << i;

        least = least < retry_table[RETRY_QSTASH_HOST].max_ms
                    ? least
                    : retry_table[RETRY_QSTASH_HOST].max_ms;
        assert_true(is_put_off(g));
        pause = g->stay.put_off_ms - now_ms;
        assert_in_range(pause, least * 3 / 4, least * 5 / 4);
        now_ms += pause;
        g = again("a.test");
        assert_true(goes(g));
        now_ms += 30000;
        leave(g, STAY_SILENT);
    }
    assert_true(pause > retry_table[RETRY_QSTASH_HOST].max_ms * 3 / 4 - 1);
}

/* Refused connections hold nobody up, and what is meant for such a host has retries of its own to
 * spend. */
static void failures_that_cost_nothing_are_hardly_slowed_down(void **state)
{
    int tries = 0;

    (void)state;
    silences("down.test", LIMIT_QSTASH_SILENT, 1);
    for (int64_t end = now_ms + 10000; now_ms < end; now_ms++) {
        struct guest *g = again("down.test");

        if (goes(g)) {
            tries++;
            leave(g, STAY_SILENT);
        }
    }
    assert_in_range(tries, 300, 700); /* some 50 a second */
}

static void a_probe_that_called_nobody_leaves_it_to_the_next(void **state)
{
    struct guest *probe;

    (void)state;
    silences("a.test", LIMIT_QSTASH_SILENT, 30000);
    now_ms += 2000;
    probe = again("a.test");
    assert_true(goes(probe));
    leave(probe, STAY_UNUSED);
    assert_true(goes(again("a.test")));
}

/* Those that began before it opened are late news; but an answer is an answer. */
static void late_silence_does_not_count_and_a_late_answer_does(void **state)
{
    struct guest *g[PLACES], *probe;

    (void)state;
    fill("a.test", 40, g);
    now_ms += 30000;
    for (int i = 0; i < 39; i++)
        leave(g[i], STAY_SILENT);
    now_ms += 2000;
    probe = again("a.test");
    assert_true(goes(probe)); /* after the first pause, however many failed */
    leave(g[39], STAY_ANSWERED);
    assert_true(goes(enter("a.test")));
    leave(probe, STAY_SILENT); /* of another age: it does not open it again */
    assert_true(goes(enter("a.test")));
}

static void who_waits_when_it_opens_is_put_off(void **state)
{
    struct guest *g[PLACES], *waiting[20];

    (void)state;
    fill("a.test", PLACES, g);
    for (int i = 0; i < 20; i++) {
        waiting[i] = enter("a.test");
        assert_true(waits(waiting[i]));
    }
    now_ms += 30000;
    for (int i = 0; i < PLACES; i++)
        leave(g[i], STAY_SILENT);
    for (int i = 0; i < 20; i++)
        assert_true(waiting[i]->told);
    assert_true(w.put_off >= 20 - LIMIT_QSTASH_SILENT);
}

/* 20,000 parcels behind an open breaker: each comes back by itself, and nobody else waits. */
static void a_crowd_behind_a_breaker_is_spread_out(void **state)
{
    (void)state;
    silences("a.test", LIMIT_QSTASH_SILENT, 30000);
    for (int i = 0; i < 20000; i++)
        assert_true(is_put_off(enter("a.test")));
    assert_in_range(w.last_ms - w.first_ms, 90 * 1000, 110 * 1000);
    assert_true(goes(enter("b.test")));
}

/* A host whose name is unknown fails at once: what is for it comes to its end in its own time. */
static void who_comes_while_a_quick_call_is_tried_waits_no_minute(void **state)
{
    struct guest *probe, *other;

    (void)state;
    silences("a.test", LIMIT_QSTASH_SILENT, 5);
    for (int i = 0; i < 20; i++) {
        now_ms += 1000;
        probe = enter("a.test");
        assert_true(goes(probe));
        other = enter("a.test");
        assert_true(is_put_off(other));
        assert_in_range(other->stay.put_off_ms, now_ms + 1, now_ms + 500);
        now_ms += 5;
        leave(probe, STAY_SILENT);
    }
    now_ms += 1000;
    probe = enter("a.test");
    now_ms += 1000; /* this time it hangs */
    assert_true(is_put_off(other = enter("a.test")));
    assert_in_range(other->stay.put_off_ms, now_ms + retry_table[RETRY_QSTASH_HOST].max_ms / 2,
                    now_ms + 2 * retry_table[RETRY_QSTASH_HOST].max_ms);
    leave(probe, STAY_SILENT);
}

/* --- anything --- */

static void whatever_happens_the_counts_agree(void **state)
{
    static const char *const hosts[] = { "a.test", "b.test", "c.test", "d.test:8080" };
    struct rng rng;

    (void)state;
    rng_init_seeded(&rng, 11);
    for (int i = 0; i < 60000; i++) {
        struct guest *g;

        now_ms += (int64_t)rng_below(&rng, 3);
        enters(hosts[rng_below(&rng, COUNT(hosts))], rng_below(&rng, 2 << 20), rng_below(&rng, 2));
        g = &w.guests[w.count - 1 - (int)rng_below(&rng, w.count < 300 ? (uint64_t)w.count : 300)];
        if (g->told || rng_below(&rng, 10) == 0)
            leave(g, (enum stay_end)rng_below(&rng, 3));
        if (w.count > 600)
            leave(&w.guests[w.count - 600], (enum stay_end)rng_below(&rng, 3));
    }
    assert_true(w.went > 1000 && w.put_off > 1000);
} /* teardown lets all leave, and destinations_free() asserts that nobody is left */

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_destination_has_its_places_and_then_a_line),
        T(who_is_gone_before_its_turn_is_not_called),
        T(a_host_that_is_faster_than_its_line_is_used_at_once),
        T(a_long_line_is_put_off_at_the_pace_of_the_destination),
        T(who_was_put_off_goes_before_who_comes_now),
        T(a_line_that_does_not_move_is_not_asked_over_and_over),
        T(nothing_is_put_off_beyond_the_horizon),
        T(many_that_hang_leave_places_to_who_comes_later),
        T(bodies_under_way_have_a_limit_together),
        T(large_bodies_get_times_of_their_own_too),
        T(the_longest_unused_are_forgotten),
        T(somebody_at_every_one_of_them_is_no_reason_to_fail),
        T(silence_opens_the_breaker_and_any_answer_closes_it),
        T(the_pause_grows_to_a_minute),
        T(failures_that_cost_nothing_are_hardly_slowed_down),
        T(a_probe_that_called_nobody_leaves_it_to_the_next),
        T(late_silence_does_not_count_and_a_late_answer_does),
        T(who_waits_when_it_opens_is_put_off),
        T(a_crowd_behind_a_breaker_is_spread_out),
        T(who_comes_while_a_quick_call_is_tried_waits_no_minute),
        T(whatever_happens_the_counts_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
