/* Every statement that runs for each event must find its rows by an index, however many there are.
 * A wrong fetch index stays unnoticed until the table is large. So the tables are filled, then the
 * database itself is asked how it would run each statement. */
#include "contract/plans.h"

static const enum stmt hot[] = {
    STMT_webhook_event_add,   STMT_webhook_event_find, STMT_webhook_duplicate_add,
    STMT_webhook_outcome_add, STMT_message_add,        STMT_message_due,
    STMT_message_take,        STMT_message_renew,      STMT_message_finish,
    STMT_lane_promote,        STMT_message_retry,      STMT_message_bury,
    STMT_message_next_due,    STMT_event_names,        STMT_event_whole,
    STMT_event_standing,      STMT_event_letter_take,
};

/* Pages of dead letters: each walks its own index, in the order of the page, and sorts nothing
 * (Q6). */
static const struct {
    enum stmt stmt;
    const char *index;
} pages[] = {
    { STMT_letters_down, "dead_letters_" }, /* by time: its name differs */
    { STMT_letters_up, "dead_letters_" },
    { STMT_letters_newest, "dead_letters_" },
    { STMT_letters_of_kind_down, "dead_letters_kind" },
    { STMT_letters_of_kind_up, "dead_letters_kind" },
    { STMT_letters_of_cause_down, "dead_letters_cause" },
    { STMT_letters_of_cause_up, "dead_letters_cause" },
    { STMT_letters_nameless, "dead_letters_nameless" },
    { STMT_letters_of_ref_down, "dead_letters_ref" },
    { STMT_letters_of_ref_up, "dead_letters_ref" },
    { STMT_letters_of_payment_down, "dead_letters_payment" },
    { STMT_letters_of_payment_up, "dead_letters_payment" },
    { STMT_message_failures_of, "message_failures_message" },
};

/* Every statement that an act on dead letters runs finds its rows by a key. */
static const enum stmt acts[] = {
    STMT_letters_lock,   STMT_letters_read,         STMT_letter_get,
    STMT_letter_body,    STMT_letter_event,         STMT_letters_revive,
    STMT_letters_delete, STMT_outcomes_undo,        STMT_letters_failures_delete,
    STMT_letter_name,    STMT_webhook_event_stored, STMT_webhook_event_need,
    STMT_redrive_get,    STMT_redrive_lock,         STMT_redrives_page,
    STMT_redrive_move,   STMT_redrive_end,          STMT_message_edit_newest,
    STMT_replay_near,    STMT_replay_walk,          STMT_message_edit_first,
    STMT_replay_event,   STMT_replay_source,        STMT_message_edits_expire,
};

/* In SQL that both understand, n(i) being the numbers. */
static const char *const fill[] = {
    "INSERT INTO message (id, kind, lane, ready, due_at, added_at)"
    " SELECT @, 'k', i / 2, i % 2, i, i FROM n",
    "INSERT INTO dead_letters (id, kind, ref, payment_id, reason, cause, attempts, added_at,"
    " died_at) SELECT @, 'k' || (i % 5), 'evt_' || i, @, 'r', 'c' || (i % 50), 1, i, i FROM n",
    "INSERT INTO message_edits (message_id, at, body, sha256_after) SELECT @, i, @, '' FROM n",
    "INSERT INTO webhook_events (provider, stripe_event_id, received_at, message_id, request_id,"
    " trace, body) SELECT 'stripe', 'evt_' || i, i, @, '', '', @ FROM n",
};

static sqlite3 *filled; /* once for all tests of SQLite: each has a copy */

static int fill_once(void **state)
{
    (void)state;
    filled = empty_sqlite();
    fill_sqlite(filled, fill, COUNT(fill));
    return 0;
}

static int forget(void **state)
{
    (void)state;
    return sqlite3_close(filled);
}

static sqlite3 *filled_sqlite(void)
{
    sqlite3_backup *b;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    b = sqlite3_backup_init(db, "main", filled, "main");
    assert_int_equal(sqlite3_backup_step(b, -1), SQLITE_DONE);
    assert_int_equal(sqlite3_backup_finish(b), SQLITE_OK);
    return db;
}

static void walks_no_table_on_sqlite(sqlite3 *db, const enum stmt *list, size_t n)
{
    char plan[PLAN_TEXT];

    for (size_t i = 0; i < n; i++) {
        sqlite_plan(db, list[i], plan);
        if (walks_a_table(plan, NULL))
            fail_msg("%s:\n%s", stmt_name(list[i]), plan);
    }
}

static void no_hot_statement_walks_a_table_on_sqlite(void **state)
{
    sqlite3 *db = filled_sqlite();

    (void)state;
    walks_no_table_on_sqlite(db, hot, COUNT(hot));
    walks_no_table_on_sqlite(db, acts, COUNT(acts));
    sqlite3_close(db);
}

/* One step: "SEARCH dead_letters USING INDEX dead_letters_kind (kind=? AND (died_at,id)<(?,?))". */
static void q6_each_page_of_dead_letters_walks_its_index_on_sqlite(void **state)
{
    sqlite3 *db = filled_sqlite();

    (void)state;
    sqlite_must(db, "ANALYZE");
    for (size_t i = 0; i < COUNT(pages); i++) {
        char plan[PLAN_TEXT];

        sqlite_plan(db, pages[i].stmt, plan);
        if (!strstr(plan, pages[i].index) || strchr(plan, '\n')[1])
            fail_msg("%s:\n%s", stmt_name(pages[i].stmt), plan);
    }
    sqlite3_close(db);
}

/* Each step of the walk over groups is a jump within their index, and so is each count: only the
 * few groups themselves are scanned. */
static bool jumps_from_group_to_group(const char *plan, const char *step, int times)
{
    for (; times && (plan = strstr(plan, step)); times--)
        plan += strlen(step);
    return !times;
}

static void q6_groups_of_dead_letters_are_found_by_jumps_on_sqlite(void **state)
{
    sqlite3 *db = filled_sqlite();
    char plan[PLAN_TEXT];

    (void)state;
    for (int analyzed = 0; analyzed < 2; analyzed++) {
        sqlite_plan(db, STMT_letter_groups, plan);
        if (strstr(plan, "SCAN d") || strstr(plan, "dead_letters_kind") ||
            !jumps_from_group_to_group(plan, "USING COVERING INDEX dead_letters_cause", 9))
            fail_msg("%s", plan);
        sqlite_must(db, "ANALYZE");
    }
    sqlite3_close(db);
}

/* A look of the alerts stands in the one writer's line (M2): what it counts of the dead letters it
 * counts within an index, or it is the first row of one. */
static void m2_no_look_of_the_alerts_fetches_the_dead_letters_on_sqlite(void **state)
{
    sqlite3 *db = filled_sqlite();
    char plan[PLAN_TEXT];

    (void)state;
    for (int analyzed = 0; analyzed < 2; analyzed++) {
        for (enum stmt s = 0; s < STMT_COUNT; s++) {
            bool of_a_look = str_starts(str_of(stmt_name(s)), S("alert"));

            if ((!of_a_look || !strstr(stmt_sqlite(s), "dead_letters")) && s != STMT_dead_count)
                continue;
            sqlite_plan(db, s, plan);
            if (!strstr(plan, "dead_letters USING COVERING INDEX") || strstr(plan, "TEMP B-TREE"))
                fail_msg("%s:\n%s", stmt_name(s), plan);
        }
        sqlite_plan(db, STMT_dead_oldest, plan);
        if (!strstr(plan, "USING INDEX dead_letters_by_time") || strstr(plan, "TEMP B-TREE"))
            fail_msg("%s:\n%s", stmt_name(STMT_dead_oldest), plan);
        sqlite_must(db, "ANALYZE");
    }
    sqlite3_close(db);
}

static void none_walks_a_table(PGconn *c, const char *when, const enum stmt *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char plan[PLAN_TEXT];

        pg_plan(c, list[i], plan);
        if (strstr(plan, "Seq Scan on message") || strstr(plan, "Seq Scan on webhook") ||
            strstr(plan, "Seq Scan on dead"))
            fail_msg("%s, %s:\n%s", when, stmt_name(list[i]), plan);
    }
}

static void each_page_walks_its_index(PGconn *c, const char *when)
{
    for (size_t i = 0; i < COUNT(pages); i++) {
        char plan[PLAN_TEXT];

        pg_plan(c, pages[i].stmt, plan);
        if (!strstr(plan, pages[i].index) || strstr(plan, "Sort"))
            fail_msg("%s, %s:\n%s", when, stmt_name(pages[i].stmt), plan);
    }
}

static void groups_are_found_by_jumps(PGconn *c, const char *when)
{
    char plan[PLAN_TEXT];

    pg_plan(c, STMT_letter_groups, plan);
    if (strstr(plan, "Seq Scan on dead") || strstr(plan, "dead_letters_kind") ||
        strstr(plan, "dead_letters_time") ||
        !jumps_from_group_to_group(plan, "using dead_letters_cause", 5))
        fail_msg("%s: %s", when, plan);
}

/* Plans are kept, and a queue is empty most of the time: what is planned then must be right later.
 * So every transaction tells the planner to take the index (postgres_tx.c). */
static void no_hot_statement_walks_a_table_on_postgres(void **state)
{
    PGconn *c = empty_postgres("plans");

    (void)state;
    pg_must(c, "ANALYZE message; SET enable_seqscan = off; SET enable_bitmapscan = off");
    none_walks_a_table(c, "planned while empty", hot, COUNT(hot));
    none_walks_a_table(c, "planned while empty", acts, COUNT(acts));
    each_page_walks_its_index(c, "planned while empty");
    groups_are_found_by_jumps(c, "planned while empty");
    pg_must(c, "RESET enable_seqscan; RESET enable_bitmapscan");
    fill_postgres(c, fill, COUNT(fill));
    pg_must(c, "ANALYZE message; ANALYZE webhook_events; ANALYZE dead_letters");
    none_walks_a_table(c, "planned while full", hot, COUNT(hot));
    none_walks_a_table(c, "planned while full", acts, COUNT(acts));
    each_page_walks_its_index(c, "planned while full");
    groups_are_found_by_jumps(c, "planned while full");
    drop_postgres(c, "plans");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_hot_statement_walks_a_table_on_sqlite),
        TEST(q6_each_page_of_dead_letters_walks_its_index_on_sqlite),
        TEST(q6_groups_of_dead_letters_are_found_by_jumps_on_sqlite),
        TEST(m2_no_look_of_the_alerts_fetches_the_dead_letters_on_sqlite),
        TEST(no_hot_statement_walks_a_table_on_postgres),
    };

    return cmocka_run_group_tests(tests, fill_once, forget);
}
