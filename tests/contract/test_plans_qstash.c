/* Filters stay fast at a million rows because none of them looks at a row that its key does not
 * have: each walk goes along its own index, from where the last one ended, in its order (issue 5:
 * cancel and DLQ filters below 50 ms). The database is asked, with the tables empty and full: plans
 * are kept, and a queue is empty most of the time. */
#include "contract/plans.h"

static const struct plan_walk walks[] = {
    { STMT_qstash_live_walk, "INTEGER PRIMARY KEY (rowid<?)", "qstash_live_pkey" },
    { STMT_qstash_live_of_queue, "qstash_live_queue (queue_id=? AND place=? AND seq<?)",
      "qstash_live_queue" },
    { STMT_qstash_live_of_flow, "qstash_live_flow (flow_key=? AND place=? AND seq<?)",
      "qstash_live_flow" },
    { STMT_qstash_live_of_schedule, "qstash_live_schedule (schedule_id=? AND seq<?)",
      "qstash_live_schedule" },
    { STMT_qstash_live_of_topic, "qstash_live_topic (topic=? AND seq<?)", "qstash_live_topic" },
    { STMT_qstash_live_of_caller, "qstash_live_caller (caller_ip=? AND seq<?)",
      "qstash_live_caller" },
    { STMT_qstash_live_of_address, "qstash_live_address (host_hash=? AND path_hash=? AND seq<?)",
      "qstash_live_address" },
    { STMT_qstash_live_of_path, "qstash_live_path (path_hash=? AND seq<?)", "qstash_live_path" },
    { STMT_qstash_live_of_host, "qstash_live_address (host_hash=? AND path_hash=? AND seq<?)",
      "qstash_live_address" },
    { STMT_qstash_live_of_time, "qstash_live_1 (id>? AND id<?)", "qstash_live_id_key" },
    { STMT_qstash_live_of_label, "PRIMARY KEY (label=? AND dead=? AND seq=? AND id>? AND id<?)",
      "qstash_labels_pkey" },
    { STMT_qstash_dead_walk, "INTEGER PRIMARY KEY (rowid>?)", "qstash_dead_pkey" },
    { STMT_qstash_dead_of_url, "qstash_dead_url (url_hash=? AND seq>?)", "qstash_dead_url" },
    { STMT_qstash_dead_of_status, "qstash_dead_status (status=? AND seq>?)", "qstash_dead_status" },
    { STMT_qstash_dead_of_caller, "qstash_dead_caller (caller_ip=? AND seq>?)",
      "qstash_dead_caller" },
    { STMT_qstash_dead_of_queue, "qstash_dead_queue (queue=? AND seq>?)", "qstash_dead_queue" },
    { STMT_qstash_dead_of_topic, "qstash_dead_topic (topic=? AND seq>?)", "qstash_dead_topic" },
    { STMT_qstash_dead_of_schedule, "qstash_dead_schedule (schedule_id=? AND seq>?)",
      "qstash_dead_schedule" },
    { STMT_qstash_dead_of_flow, "qstash_dead_flow (flow_key=? AND seq>?)", "qstash_dead_flow" },
    { STMT_qstash_dead_of_time, "qstash_dead_time (died_at=? AND seq>?)", "qstash_dead_time" },
    { STMT_qstash_dead_of_label, "PRIMARY KEY (label=? AND dead=? AND seq>?)",
      "qstash_labels_pkey" },
    { STMT_qstash_log_walk, "INTEGER PRIMARY KEY (rowid<?)", "qstash_log_pkey" },
    { STMT_qstash_log_of_id, "qstash_log_id (id=? AND seq<?)", "qstash_log_id" },
    { STMT_qstash_log_near, "INTEGER PRIMARY KEY (rowid<?)", "qstash_log_pkey" },
    { STMT_qstash_log_oldest, "SCAN qstash_log", "qstash_log_pkey" }, /* the first of them */
    { STMT_qstash_queue_waiting, "qstash_live_queue (queue_id=? AND place=?)",
      "qstash_live_queue" },
    { STMT_qstash_flow_waiting, "qstash_live_flow (flow_key=? AND place=?)", "qstash_live_flow" },
    { STMT_qstash_dead_oldest, "qstash_dead_time (died_at<?)", "qstash_dead_time" },
    { STMT_qstash_flows_idle, "qstash_flows_idle (used_at<?)", "qstash_flows_idle" },
};

/* By a key, or by several: what else they compare does not matter. */
static const enum stmt lookups[] = {
    STMT_qstash_dead_need,       STMT_qstash_dead_of_id,
    STMT_qstash_dead_show,       STMT_qstash_dead_at,
    STMT_qstash_dead_find,       STMT_qstash_dead_remove,
    STMT_qstash_facts,           STMT_qstash_message_show,
    STMT_qstash_message_read,    STMT_qstash_message_read_all,
    STMT_qstash_message_release, STMT_qstash_log_line,
    STMT_qstash_log_forget,      STMT_qstash_messages_forget,
    STMT_qstash_dedup_forget,    STMT_qstash_flow_forget,
    STMT_qstash_forget_known,    STMT_qstash_live_read,
    STMT_qstash_live_remove,     STMT_qstash_label_remove,
    STMT_qstash_queue_find,      STMT_qstash_begin_many,
    STMT_qstash_live_give_slot,  STMT_qstash_live_give_token,
    STMT_qstash_queue_left,      STMT_qstash_dedup_put,
    STMT_qstash_flow_used,       STMT_qstash_live_read_to_leave,
};

/* --- the tables, full: in SQL that both understand, n(i) being the numbers --- */

static const char *const fill[] = {
    "INSERT INTO qstash_messages (id, created_at, not_before, method, url, host, path, retries,"
    " timeout_ms, labels, caller_ip) SELECT @, i, i, 'POST', 'http://a/' || i, 'a', '/' || i, 3, "
    "0,"
    " 'l', 'c' FROM n",
    "INSERT INTO qstash_live (id, place, due_at, queue_id, flow_key, bytes, host_hash, path_hash,"
    " caller_ip, schedule_id, topic) SELECT @, i % 3, i, i % 7, 'k' || i % 5, 0, i % 9, i % "
    "11,"
    " 'c' || i % 13, 's' || i % 17, 't' || i % 19 FROM n",
    "INSERT INTO qstash_dead (id, died_at, retried, status, url_hash, queue, topic, schedule_id,"
    " flow_key, caller_ip) SELECT @, i, 0, 500 + i % 5, i % 7, 'q' || i % 9, 't' || i % 11,"
    " 's' || i % 13, 'k' || i % 17, 'c' || i % 19 FROM n",
    "INSERT INTO qstash_log (at, id, state) SELECT i, @, 1 FROM n",
    "INSERT INTO qstash_labels (label, dead, seq, id) SELECT 'l' || i % 9, 0, 0, @ FROM n",
    "INSERT INTO qstash_labels (label, dead, seq, id) SELECT 'l' || i % 9, 1, i, @ FROM n",
    "INSERT INTO qstash_flows (key, used_at, running) SELECT 'k' || i, i, i % 2 FROM n",
};

static bool scans_a_table(const char *plan)
{
    const char *scan = strstr(plan, "SCAN qstash_");

    return scan || strstr(plan, "SCAN c\n") || strstr(plan, "SCAN l\n") || strstr(plan, "SCAN d\n");
}

static const struct plan_rules rules = {
    .schema = "plans_qstash",
    .walks = walks,
    .walk_count = COUNT(walks),
    .lookups = lookups,
    .lookup_count = COUNT(lookups),
    .fill = fill,
    .fill_count = COUNT(fill),
    .bad_lookup = scans_a_table,
    .never = "Filter:", /* it would be a row that was looked at in vain */
};

static void q9_every_filter_walks_its_index_on_sqlite(void **state)
{
    (void)state;
    plans_hold_on_sqlite(&rules);
}

static void q9_every_filter_walks_its_index_on_postgres(void **state)
{
    (void)state;
    plans_hold_on_postgres(&rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(q9_every_filter_walks_its_index_on_sqlite),
        TEST(q9_every_filter_walks_its_index_on_postgres),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
