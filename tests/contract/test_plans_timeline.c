/* What a timeline reads of one payment is found by an index, however many others there are (O7):
 * among a million rows it takes as long as among ten. */
#include "contract/plans.h"

static const struct {
    enum stmt stmt;
    const char *sqlite, *postgres; /* the index; SQLite calls a table's own key PRIMARY KEY */
} reads[] = {
    { STMT_attempts_of, "PRIMARY KEY (payment_id=?)", "gateway_attempts_pkey" },
    { STMT_replays_of, "PRIMARY KEY (payment_id=?)", "replays_pkey" },
    { STMT_timeline_operations, "operations_payment", "operations_payment" },
    { STMT_timeline_audit, "audit_payment", "audit_payment" },
    { STMT_timeline_changes, "(aggregate_id=?)", "domain_events_aggregate_id" },
    { STMT_timeline_refunds, "refunds_payment", "refunds_payment" },
    { STMT_timeline_transactions, "payment_transactions_payment", "payment_transactions_payment" },
    { STMT_timeline_disputes, "disputes_payment", "disputes_payment" },
    { STMT_timeline_webhooks, "webhook_outcomes_payment", "webhook_outcomes_payment" },
    { STMT_timeline_letters, "dead_letters_payment", "dead_letters_payment" },
    { STMT_timeline_notices, "notifications_payment", "notifications_payment" },
    { STMT_timeline_sends, "(notification_id=?)", "sends_notification_id" },
    { STMT_timeline_failures, "message_failures_message", "message_failures_message" },
    { STMT_attempts_walk, "PRIMARY KEY (payment_id>?)", "gateway_attempts_pkey" },
    { STMT_attempts_forget, "PRIMARY KEY (payment_id>? AND payment_id<?)",
      "gateway_attempts_pkey" },
    { STMT_replays_forget, "replays_last", "replays_last" },
};

static const char *const fill[] = {
    "INSERT INTO gateway_attempts (payment_id, at, operation_id, n, took_ms, ask, outcome, retried,"
    " times) SELECT @, i, @, 1, 1, 'authorize', 'ok', 0, 1 FROM n",
    "INSERT INTO replays (payment_id, operation_id, operation, times, first_at, last_at)"
    " SELECT @, @, 'create', 1, i, i FROM n",
    "INSERT INTO audit (at, operation, result, payment_id) SELECT i, 'CREATE', 'success', @ FROM n",
    "INSERT INTO webhook_outcomes (message_id, outcome, at, payment_id, event_id)"
    " SELECT @, 'applied', i, @, 'evt_' || i FROM n",
    "INSERT INTO webhook_events (provider, stripe_event_id, received_at, message_id, request_id,"
    " trace, body) SELECT 'stripe', 'evt_' || i, i, @, '', '', @ FROM n",
    "INSERT INTO sends (id, notification_id, channel, target, status, tries, created_at,"
    " updated_at) SELECT @, @, 'mail', '', 'sent', 1, i, i FROM n",
    "INSERT INTO notifications (id, dedupe, payment_id, type, language, title, body, data,"
    " created_at) SELECT @, 'd' || i, @, 't', 'ja', '', '', '{}', i FROM n",
    "INSERT INTO message_failures (message_id, attempt, at, error) SELECT @, 1, i, 'e' FROM n",
};

static void o7_a_timeline_walks_no_table_on_sqlite(void **state)
{
    sqlite3 *db = empty_sqlite();

    (void)state;
    fill_sqlite(db, fill, COUNT(fill));
    sqlite_must(db, "ANALYZE");
    for (size_t i = 0; i < COUNT(reads); i++) {
        char plan[PLAN_TEXT];

        sqlite_plan(db, reads[i].stmt, plan);
        if (!strstr(plan, reads[i].sqlite))
            fail_msg("%s:\n%s", stmt_name(reads[i].stmt), plan);
    }
    sqlite3_close(db);
}

static void each_by_its_index(PGconn *c, const char *when)
{
    for (size_t i = 0; i < COUNT(reads); i++) {
        char plan[PLAN_TEXT];

        pg_plan(c, reads[i].stmt, plan);
        if (!strstr(plan, reads[i].postgres) || strstr(plan, "Seq Scan"))
            fail_msg("%s, %s:\n%s", when, stmt_name(reads[i].stmt), plan);
    }
}

/* As every transaction of ours is planned (postgres_tx.c), empty and full. */
static void o7_a_timeline_walks_no_table_on_postgres(void **state)
{
    PGconn *c = empty_postgres("timeline_plans");

    (void)state;
    pg_must(c, "SET enable_seqscan = off; SET enable_bitmapscan = off");
    each_by_its_index(c, "planned while empty");
    fill_postgres(c, fill, COUNT(fill));
    pg_must(c, "ANALYZE");
    each_by_its_index(c, "planned while full");
    drop_postgres(c, "timeline_plans");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(o7_a_timeline_walks_no_table_on_sqlite),
        TEST(o7_a_timeline_walks_no_table_on_postgres),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
