/* What is known of a person grows for years: who pays by transfer each month, who is told each day.
 * What looks there reads the newest rows, from the end of an index, and no more of them than it
 * wants (M2, G4). The database is asked, with the tables empty and full: plans are kept. */
#include "contract/plans.h"

static const struct {
    enum stmt stmt;
    const char *sqlite[2], *postgres[2]; /* both are in the plan */
} reads[] = {
    { STMT_users_of_payer,
      { "bank_lines USING INDEX bank_lines_payer (payer=?)\nSCAN l\n", "CO-ROUTINE l" },
      { "Index Scan Backward using bank_lines_payer", "Limit" } },
    { STMT_transfers_of_user,
      { "payments USING COVERING INDEX idx_payments_user_id (user_id=?)\nSCAN p\n",
        "CO-ROUTINE p" },
      { "Scan Backward using idx_payments_user_id", "Limit" } },
    { STMT_sends_forget,
      { "s USING INDEX sends_user (user_id=?)\n", "sends USING PRIMARY KEY (id=?)" },
      { "Index Scan Backward using sends_user", "sends_pkey" } },
    { STMT_sends_forget_participant,
      { "participants_user (user_id=?)", "(notification_id=?)" },
      { "participants_user", "sends_notification_id" } },
};

static const char *const fill[] = {
    "INSERT INTO payments (id, context, subject_id, user_id, amount, currency, status, gateway,"
    " gateway_transaction_id, idempotency_key, claim_id, created_at, updated_at)"
    " SELECT @, 'purchase', @, @, 1, 'JPY', 'FAILED', 'g', 'pi_' || i, @, @, i, i FROM n",
    "INSERT INTO bank_transfers (payment_id, reference, amount, currency, account, expires_at,"
    " created_at, updated_at) SELECT @, CAST(100000000 + i AS TEXT), 1, 'JPY', '{}', i, i, i FROM "
    "n",
    "INSERT INTO participants (participant_id, collection_id, name, user_id, amount, status,"
    " created_at, updated_at) SELECT @, @, 'n', @, 1, 'unpaid', i, i FROM n",
    "INSERT INTO notifications (id, dedupe, participant_id, type, language, title, body, data,"
    " created_at) SELECT @, 'd' || i, @, 't', 'ja', '', '', '{}', i FROM n",
    "INSERT INTO sends (id, notification_id, channel, target, user_id, status, tries, created_at,"
    " updated_at) SELECT @, @, 'mail', 't' || i, @, 'sent', 1, i, i FROM n",
};

/* Three payers have all lines: an identity has 32 bytes, which each database makes in its own way.
 */
#define LINES(numbers, id, identity)                                                               \
    numbers "INSERT INTO bank_lines (id, identity, import_id, line, booked_on, amount, currency,"  \
            " text, payer, state, reason, payment_id, created_at) SELECT " id ", " identity        \
            ", " id ", i, '2026-11-16', 1, 'JPY', '', 'p' || (i % 3), 'matched', 'r', " id         \
            ", i FROM n"
static const char sqlite_lines[] =
    LINES("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) ",
          "randomblob(16)", "randomblob(32)");
static const char postgres_lines[] =
    LINES("WITH n AS (SELECT generate_series(1, 50000) AS i) ", "decode(md5(i::text), 'hex')",
          "decode(md5(i::text) || md5(i::text), 'hex')");

static bool walks(const char *plan)
{
    return walks_a_table(plan, "SCAN l") && walks_a_table(plan, "SCAN p");
}

static void check_sqlite(sqlite3 *db)
{
    char plan[PLAN_TEXT];

    for (size_t i = 0; i < COUNT(reads); i++) {
        sqlite_plan(db, reads[i].stmt, plan);
        if (!strstr(plan, reads[i].sqlite[0]) || !strstr(plan, reads[i].sqlite[1]) || walks(plan))
            fail_msg("%s:\n%s", stmt_name(reads[i].stmt), plan);
    }
}

static void g4_n1_the_newest_rows_of_a_person_are_read_from_an_index_on_sqlite(void **state)
{
    sqlite3 *db = empty_sqlite();

    (void)state;
    check_sqlite(db);
    fill_sqlite(db, fill, COUNT(fill));
    sqlite_must(db, sqlite_lines);
    sqlite_must(db, "ANALYZE");
    check_sqlite(db);
    sqlite3_close(db);
}

static void check_postgres(PGconn *c, const char *when)
{
    char plan[PLAN_TEXT];

    for (size_t i = 0; i < COUNT(reads); i++) {
        pg_plan(c, reads[i].stmt, plan);
        if (!strstr(plan, reads[i].postgres[0]) || !strstr(plan, reads[i].postgres[1]) ||
            strstr(plan, "Seq Scan"))
            fail_msg("%s, %s:\n%s", when, stmt_name(reads[i].stmt), plan);
    }
}

/* As every transaction of ours plans (postgres_tx.c). */
static void g4_n1_the_newest_rows_of_a_person_are_read_from_an_index_on_postgres(void **state)
{
    PGconn *c = empty_postgres("plans_people");

    (void)state;
    pg_must(c, "SET enable_seqscan = off; SET enable_bitmapscan = off");
    check_postgres(c, "planned while empty");
    fill_postgres(c, fill, COUNT(fill));
    pg_must(c, postgres_lines);
    pg_must(c, "ANALYZE");
    check_postgres(c, "planned while full");
    drop_postgres(c, "plans_people");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(g4_n1_the_newest_rows_of_a_person_are_read_from_an_index_on_sqlite),
        TEST(g4_n1_the_newest_rows_of_a_person_are_read_from_an_index_on_postgres),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
