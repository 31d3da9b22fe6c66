/* Replays are summed in memory and written a part at a time (M16, O7). */
#include "payment/replays.h"
#include "unit/queue/rig.h"

static struct uuid numbered(unsigned n)
{
    struct uuid id = { { 0 } };

    memcpy(id.b + sizeof(id.b) - sizeof(n), &n, sizeof(n));
    return id;
}

static int64_t rows(struct rig *r)
{
    return sql_int(r, "SELECT count(*) FROM replays");
}

static int64_t times(struct rig *r)
{
    return sql_int(r, "SELECT sum(times) FROM replays");
}

static struct replays *open_on(struct rig *r, int node)
{
    struct replays *replays = replays_new(&r->env[node], r->store[node], &r->den.desk.executor);

    assert_non_null(replays);
    return replays;
}

static void stop(struct rig *r, struct replays *replays)
{
    bool stopped = false;

    replays_stop(replays, rig_note_stopped, &stopped);
    while (!stopped)
        desk_next(&r->den.desk);
    replays_free(replays);
}

static void wait_for_rows(struct rig *r, int64_t n)
{
    while (rows(r) < n) /* settling may have met its unit already, or not */
        rig_settle(r);
    rig_settle(r);
    assert_int_equal(rows(r), n);
}

/* More is to follow: executor has heard that they are written, and waits for its pause to end. */
static void wait_for_pause(struct rig *r, int64_t n)
{
    wait_for_rows(r, n);
    while (den_next_timer(&r->den) == CLOCK_NEVER)
        desk_next(&r->den.desk);
}

static void what_is_replayed_often_is_one_row_with_its_sum(void **state)
{
    struct rig *r = *state;
    struct replays *replays = open_on(r, 0);

    for (int i = 0; i < 1000; i++)
        replays_add(replays, numbered(1), numbered(2), OP_CREATE);
    replays_add(replays, numbered(1), numbered(3), OP_CAPTURE);
    rig_settle(r); /* the first of them calls the executor */
    rig_pass(r, LIMIT_REPLAYS_MS - 1);
    assert_int_equal(rows(r), 0);
    rig_pass(r, 1);
    wait_for_rows(r, 2);
    assert_int_equal(times(r), 1001);
    assert_int_equal(den_next_timer(&r->den), CLOCK_NEVER); /* idle: nobody polls */
    rig_pass(r, 5);
    replays_add(replays, numbered(1), numbered(2), OP_CREATE);
    stop(r, replays);
    assert_int_equal(rows(r), 2);
    assert_int_equal(times(r), 1002);
    assert_int_equal(sql_int(r, "SELECT max(last_at - first_at) FROM replays"),
                     LIMIT_REPLAYS_MS + 5);
}

static void many_are_written_with_pauses_and_at_once_where_it_stops(void **state)
{
    struct rig *r = *state;
    struct replays *replays = open_on(r, 0);

    for (unsigned n = 0; n < 4 * LIMIT_REPLAYS_STEP; n++)
        replays_add(replays, numbered(n), numbered(n), OP_CREATE);
    rig_settle(r);
    rig_pass(r, LIMIT_REPLAYS_MS);
    wait_for_pause(r, LIMIT_REPLAYS_STEP);
    rig_pass(r, LIMIT_REPLAYS_PAUSE_MS - 1);
    assert_int_equal(rows(r), LIMIT_REPLAYS_STEP);
    rig_pass(r, 1);
    wait_for_pause(r, 2 * LIMIT_REPLAYS_STEP);
    replays_add(replays, numbered(0), numbered(0), OP_CREATE); /* while the others wait */
    rig_settle(r);
    stop(r, replays);
    assert_int_equal(rows(r), 4 * LIMIT_REPLAYS_STEP);
    assert_int_equal(times(r), 4 * LIMIT_REPLAYS_STEP + 1);
}

static void more_operations_than_there_is_room_for_are_dropped_and_the_others_kept(void **state)
{
    struct rig *r = *state;
    struct replays *replays = open_on(r, 0);

    for (int round = 0; round < 2; round++)
        for (unsigned n = 0; n < LIMIT_REPLAYS + 10; n++)
            replays_add(replays, numbered(n), numbered(n * 8192), OP_REFUND); /* all in one slot */
    stop(r, replays);
    assert_int_equal(rows(r), LIMIT_REPLAYS);
    assert_int_equal(times(r), 2 * LIMIT_REPLAYS);
}

static void two_nodes_add_up(void **state)
{
    struct rig *r = *state;
    struct replays *a = open_on(r, 0), *b = open_on(r, 1);

    for (unsigned n = 0; n < 500; n++) {
        replays_add(a, numbered(n), numbered(n), OP_CREATE);
        replays_add(b, numbered(499 - n), numbered(499 - n), OP_CREATE);
    }
    stop(r, a);
    stop(r, b);
    assert_int_equal(rows(r), 500);
    assert_int_equal(times(r), 1000);
}

static void nobody_counts_where_there_is_nothing_to_count_with(void **state)
{
    bool stopped = false;

    (void)state;
    replays_add(NULL, numbered(1), numbered(2), OP_VOID);
    replays_stop(NULL, rig_note_stopped, &stopped);
    assert_true(stopped);
    replays_free(NULL);
}

#define ALL(ON)                                                                                    \
    ON(what_is_replayed_often_is_one_row_with_its_sum),                                            \
        ON(many_are_written_with_pauses_and_at_once_where_it_stops),                               \
        ON(more_operations_than_there_is_room_for_are_dropped_and_the_others_kept),                \
        ON(two_nodes_add_up), ON(nobody_counts_where_there_is_nothing_to_count_with)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
