/* What an operator's page asks every few seconds must cost the same at a million rows (O8): each
 * walk goes along a key from one end, and a limit ends it. The database is asked, with the tables
 * empty and full: plans are kept. */
#include "contract/plans.h"

static const struct plan_walk walks[] = {
    { STMT_qstash_schedules_seen, "PRIMARY KEY (id>?)", "qstash_schedules_pkey" },
    { STMT_collections_all, "PRIMARY KEY (collection_id<?)", "collections_pkey" },
};

/* By a key; or along one, cut off by a limit, and then summed: that may sort what is left. */
static const enum stmt lookups[] = { STMT_today_payments, STMT_messages_by_kind,
                                     STMT_messages_standing, STMT_qstash_queue_seen,
                                     STMT_qstash_schedule_seen };

static const char *const fill[] = {
    "INSERT INTO payments (id, context, subject_id, user_id, amount, currency, status, gateway,"
    " idempotency_key, claim_id, created_at, updated_at)"
    " SELECT @, 'purchase', @, @, 1, 'JPY', 'FAILED', 'g', @, @, i, i FROM n",
    "INSERT INTO message (id, kind, ready, due_at, added_at)"
    " SELECT @, 'k' || (i % 5), 1, i, i FROM n",
    "INSERT INTO qstash_queues (name, parallelism, created_at, updated_at)"
    " SELECT 'q' || i, 1, i, i FROM n WHERE i <= 10000",
    "INSERT INTO qstash_schedules (id, version, template, cron, delay_ms, created_at)"
    " SELECT 's' || i, i, @, '* * * * *', 0, i FROM n WHERE i <= 10000",
    "INSERT INTO collections (collection_id, owner_id, title, currency, time_zone, created_at,"
    " updated_at) SELECT @, @, 't', 'JPY', 'UTC', i, i FROM n",
};

/* Messages are walked by their own key: no index has all of them. */
static bool walks_all(const char *plan)
{
    return strstr(plan, "SCAN payments") || strstr(plan, "SCAN qstash") || strstr(plan, "SCAN s");
}

static const struct plan_rules rules = {
    .schema = "plans_live",
    .walks = walks,
    .walk_count = COUNT(walks),
    .lookups = lookups,
    .lookup_count = COUNT(lookups),
    .fill = fill,
    .fill_count = COUNT(fill),
    .bad_lookup = walks_all,
};

static void o8_a_glance_walks_along_keys_on_sqlite(void **state)
{
    (void)state;
    plans_hold_on_sqlite(&rules);
}

static void o8_a_glance_walks_along_keys_on_postgres(void **state)
{
    (void)state;
    plans_hold_on_postgres(&rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(o8_a_glance_walks_along_keys_on_sqlite),
        TEST(o8_a_glance_walks_along_keys_on_postgres),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
