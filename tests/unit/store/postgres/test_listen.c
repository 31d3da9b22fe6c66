/* test_postgres_listen.c - two nodes on one database tell each other that there is work. */
#include "base/limits.h"
#include "unit/store/postgres/rig.h"

#include <poll.h>

struct node {
    struct rig rig;
    _Atomic int hints;
};

static void heard(void *ctx)
{
    struct node *n = ctx;

    atomic_fetch_add(&n->hints, 1);
}

static void node_open(struct node *n, struct pg_rig *p)
{
    struct store_options o = { .hint = heard, .hint_ctx = n, .connections = 1 };
    struct why why;

    memset(n, 0, sizeof(*n));
    rig_init(&n->rig);
    snprintf(n->rig.url, sizeof(n->rig.url), "%s", p->rig.url);
    o.url = str_of(n->rig.url);
    if (store_open(&o, &n->rig.env, &n->rig.store, &why))
        fail_msg("%s", why.text);
    while (!atomic_load(&n->hints)) /* the first one: it listens from now on */
        poll(NULL, 0, 1);
}

static void wait_for_hints(struct node *n, int more_than)
{
    while (atomic_load(&n->hints) <= more_than)
        poll(NULL, 0, 1);
}

static void a_hint_reaches_the_other_node_and_not_oneself(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct node a, b;
    int own;

    node_open(&a, p);
    node_open(&b, p);
    own = atomic_load(&a.hints);
    store_hint(a.rig.store);
    wait_for_hints(&b, 1);
    store_hint(b.rig.store); /* the answer comes after what a might have told itself */
    wait_for_hints(&a, own);
    assert_int_equal(atomic_load(&a.hints), own + 1);
    rig_release(&a.rig);
    rig_release(&b.rig);
}

static void many_hints_are_few_notifications(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct node a, b;

    node_open(&a, p);
    node_open(&b, p);
    for (int i = 0; i < 100000; i++)
        store_hint(a.rig.store);
    wait_for_hints(&b, 1);
    assert_true(atomic_load(&b.hints) < 1000);
    rig_release(&a.rig);
    rig_release(&b.rig);
}

static void a_listener_that_was_cut_off_listens_again(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct node a, b;

    node_open(&a, p);
    node_open(&b, p);
    assert_true(pg_ask(p, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                          " WHERE datname = current_database() AND query LIKE 'LISTEN%'") == 2);
    wait_for_hints(&a, 1); /* it is back */
    wait_for_hints(&b, 1);
    store_hint(b.rig.store);
    wait_for_hints(&a, 2);
    rig_release(&a.rig);
    rig_release(&b.rig);
}

/* The reply to a node's own NOTIFY may bring another node's with it, and leave the socket empty. */
static void two_that_tell_at_once_both_hear(void **state)
{
    struct pg_rig *p = PG_RIG(state);
    struct node a, b;

    node_open(&a, p);
    node_open(&b, p);
    for (int i = 0; i < 50; i++) {
        int of_a = atomic_load(&a.hints), of_b = atomic_load(&b.hints);

        store_hint(a.rig.store);
        store_hint(b.rig.store);
        wait_for_hints(&a, of_a);
        wait_for_hints(&b, of_b);
    }
    rig_release(&a.rig);
    rig_release(&b.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PG_TEST(a_hint_reaches_the_other_node_and_not_oneself),
        PG_TEST(many_hints_are_few_notifications),
        PG_TEST(two_that_tell_at_once_both_hear),
        PG_TEST(a_listener_that_was_cut_off_listens_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
