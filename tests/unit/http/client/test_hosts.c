/* Whose turn it is: shares, and what is left for those who come later. */
#include "http/client/hosts.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static struct {
    struct hosts hosts;
    struct turn turns[MOST];
    struct call calls[MOST];
    char urls[MOST][64];
    int count;
} w;

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof(w));
    return 0;
}

static void limits(int per_host, int total)
{
    w.hosts.max_per_host = per_host;
    w.hosts.max_total = total;
}

static struct turn *wants(int host)
{
    int i = w.count++;

    snprintf(w.urls[i], sizeof(w.urls[i]), "http://h%d.test/%d", host, i);
    w.calls[i].url = str_of(w.urls[i]);
    w.turns[i] = (struct turn){ .call = &w.calls[i], .deadline_us = 100 };
    assert_true(hosts_add(&w.hosts, &w.turns[i]));
    return &w.turns[i];
}

static int run_all(void)
{
    int n = 0;

    while (hosts_next(&w.hosts))
        n++;
    return n;
}

static void release(void)
{
    for (struct turn *t = hosts_expired(&w.hosts, INT64_MAX); t; t = t->next)
        t->host = NULL;
    for (int i = 0; i < w.count; i++)
        if (w.turns[i].host)
            hosts_done(&w.hosts, &w.turns[i]);
    assert_int_equal(w.hosts.running, 0);
    assert_int_equal(w.hosts.waiting, 0);
    for (int i = 0; i < HOST_BUCKETS; i++)
        assert_null(w.hosts.buckets[i]);
}

/* Each of them hangs for ever. Before, eight of 64 filled 512 places, and nobody else was called.
 */
static void many_hosts_that_hang_do_not_keep_out_the_next(void **state)
{
    struct turn *fine;

    (void)state;
    limits(64, 512);
    for (int host = 0; host < 30; host++)
        for (int i = 0; i < 100; i++)
            wants(host);
    assert_in_range(run_all(), 300, 511);
    fine = wants(1000);
    assert_ptr_equal(hosts_next(&w.hosts), fine);
    assert_null(hosts_next(&w.hosts));
    hosts_done(&w.hosts, fine);
    fine->host = NULL;
    fine = wants(1000); /* and again, one at a time */
    assert_ptr_equal(hosts_next(&w.hosts), fine);
    release();
}

static void a_few_busy_hosts_use_nearly_all(void **state)
{
    (void)state;
    limits(64, 512);
    for (int i = 0; i < 200; i++)
        wants(1);
    assert_int_equal(run_all(), 64);
    for (int host = 2; host < 5; host++)
        for (int i = 0; i < 200; i++)
            wants(host);
    assert_int_equal(run_all(), 3 * 64);
    release();
}

static void one_host_that_may_have_all_gets_all(void **state)
{
    (void)state;
    limits(100, 100);
    for (int i = 0; i < 200; i++)
        wants(1);
    assert_int_equal(run_all(), 100);
    release();
}

/* Whoever was passed over is looked at again when places come free, and in its order. */
static void who_was_passed_over_goes_on_when_there_is_room(void **state)
{
    struct turn *first[60], *next;

    (void)state;
    limits(60, 80);
    for (int i = 0; i < 60; i++)
        first[i] = wants(1);
    for (int i = 0; i < 10; i++)
        wants(2);
    run_all();
    next = hosts_next(&w.hosts);
    assert_null(next);
    for (int i = 0; i < 60 && w.hosts.waiting; i++) {
        hosts_done(&w.hosts, first[i]);
        first[i]->host = NULL;
        run_all();
    }
    assert_int_equal(w.hosts.waiting, 0);
    release();
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(many_hosts_that_hang_do_not_keep_out_the_next),
        T(a_few_busy_hosts_use_nearly_all),
        T(one_host_that_may_have_all_gets_all),
        T(who_was_passed_over_goes_on_when_there_is_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
