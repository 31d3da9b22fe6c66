#include "event/apply_event.h"
#include "unit/queue/rig.h"

static struct arena arena;

static struct str body_of(const char *type, int livemode)
{
    struct event_job j = { .type = str_of(type), .livemode = livemode, .trace = S("00-t-s-01") };
    struct str body = event_job_write(&arena, &j);

    assert_non_null(body.p);
    return body;
}

static void what_is_written_is_read_again(void **state)
{
    static const struct event_job rows[] = {
        { .type = { "a.b", 3 }, .livemode = -1 },
        { .type = { "\"\\/", 3 }, .livemode = 1, .object_id = { "\"", 1 } },
        { .type = { "payment_intent.succeeded", 24 },
          .livemode = 0,
          .object_id = { "pi_1", 4 },
          .intent_id = { "pi_1", 4 },
          .payment_id = { "p", 1 },
          .trace = { "00-x-y-01", 9 } },
    };

    (void)state;
    arena_init(&arena, 1 << 16);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str text = event_job_write(&arena, &rows[i]);
        struct event_job j;

        assert_int_equal(event_job_read(&arena, text, &j), OK);
        assert_true(str_eq(j.type, rows[i].type));
        assert_int_equal(j.livemode, rows[i].livemode);
        assert_true(str_eq(j.object_id, rows[i].object_id));
        assert_true(str_eq(j.intent_id, rows[i].intent_id));
        assert_true(str_eq(j.payment_id, rows[i].payment_id));
        assert_true(str_eq(j.trace, rows[i].trace));
    }
    arena_release(&arena);
}

/* What the door let in has room behind it: the longest fact of a body of LIMIT_WEBHOOK_BODY. */
static void a_long_fact_is_written_too(void **state)
{
    static char fact[LIMIT_WEBHOOK_BODY];
    struct event_job j = { .type = S("charge.failed"), .fact = { fact, sizeof(fact) } }, again;
    struct str text;

    (void)state;
    memset(fact, 'x', sizeof(fact));
    memcpy(fact, "{\"a\":\"", 6);
    memcpy(fact + sizeof(fact) - 2, "\"}", 2);
    arena_init(&arena, 1 << 20);
    text = event_job_write(&arena, &j);
    assert_non_null(text.p);
    assert_int_equal(event_job_read(&arena, text, &again), OK);
    assert_true(str_eq(again.fact, j.fact));
    arena_release(&arena);
}

static void a_body_of_another_making_is_refused(void **state)
{
    static const char *const rows[] = {
        "", "{}", "[]", "{\"type\":1}", "{\"type\":\"\"}", "{\"type\":\"a\",\"object\":1}"
    };
    struct event_job j;

    (void)state;
    arena_init(&arena, 1 << 16);
    for (size_t i = 0; i < COUNT(rows); i++)
        if (event_job_read(&arena, str_of(rows[i]), &j) != ERR_VALIDATION)
            fail_msg("%s", rows[i]);
    arena_release(&arena);
}

static void the_table_of_types_is_sorted_and_found(void **state)
{
    static const char *const known[] = {
        "payment_intent.created",
        "payment_intent.succeeded",
        "payment_intent.payment_failed",
        "payment_intent.canceled",
        "payment_intent.requires_action",
        "payment_intent.amount_capturable_updated",
        "payment_intent.processing",
        "payment_intent.partially_funded",
        "charge.succeeded",
        "charge.updated",
        "charge.captured",
        "charge.expired",
        "charge.failed",
        "charge.pending",
        "charge.refunded",
        "charge.dispute.created",
        "charge.dispute.updated",
        "charge.dispute.closed",
        "charge.dispute.funds_withdrawn",
        "charge.dispute.funds_reinstated",
        "refund.created",
        "refund.updated",
        "refund.failed",
        "charge.refund.updated",
        "checkout.session.completed",
        "checkout.session.async_payment_succeeded",
        "checkout.session.async_payment_failed",
        "checkout.session.expired",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(known); i++)
        if (!event_type_is_known(str_of(known[i])))
            fail_msg("%s", known[i]);
    assert_false(event_type_is_known(S("payment_intent")));
    assert_false(event_type_is_known(S("payment_intent.succeeded2")));
    assert_false(event_type_is_known(S("Payment_intent.succeeded")));
    assert_false(event_type_is_known(S("")));
}

/* --- on a store --- */

struct adding {
    struct rig *rig;
    struct queue_new m[100];
    size_t n;
};

static enum err do_add(struct tx *tx, void *ctx)
{
    struct adding *a = ctx;

    return queue_add(a->rig->queue[0], tx, env_now_ms(&a->rig->env[0]), a->m, a->n);
}

static struct apply_event apply;
static struct job_kind kind;

static struct rig *begin(void **state, const char *faults)
{
    struct rig *r = *state;

    arena_init(&arena, 1 << 20);
    apply = (struct apply_event){ .expect_livemode = false };
    kind = apply_event_kind(&apply, 3, 1000);
    assert_true(faults_parse(&r->store_env[0].faults, str_of(faults)));
    rig_queue(r, 0, (struct queue_options){ .kinds = &kind, .kind_count = 1 });
    queue_start(r->queue[0]);
    rig_settle(r);
    return r;
}

static void add(struct rig *r, size_t n, const char *ref, const char *type, int livemode)
{
    static struct adding a;

    a.rig = r;
    a.n = n;
    for (size_t i = 0; i < n; i++)
        a.m[i] = (struct queue_new){ .id = env_uuid(&r->env[0]),
                                     .kind = APPLY_EVENT_KIND,
                                     .ref = str_of(ref),
                                     .body = body_of(type, livemode),
                                     .due_ms = env_now_ms(&r->env[0]) };
    assert_int_equal(rig_do(r, 0, do_add, &a), OK);
}

static int64_t outcomes(struct rig *r, const char *outcome)
{
    char sql[128];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM webhook_outcomes WHERE outcome = '%s'",
             outcome);
    assert_int_equal(metrics_read(r->env[0].metrics, COUNT_EVENT_OUTCOME, str_of(outcome)),
                     sql_int(r, sql));
    return sql_int(r, sql);
}

static void w6_w9_each_event_gets_the_outcome_it_deserves(void **state)
{
    struct rig *r = begin(state, "");

    add(r, 1, "evt_1", "payment_intent.succeeded", 0);
    add(r, 1, "evt_2", "payment_intent.succeeded", -1);
    add(r, 1, "evt_3", "customer.created", 0);
    add(r, 1, "evt_4", "payment_intent.succeeded", 1);
    add(r, 1, "evt_5", "customer.created", 1);
    rig_settle(r);
    assert_int_equal(outcomes(r, "processed"), 2);
    assert_int_equal(outcomes(r, "ignored"), 1);
    assert_int_equal(outcomes(r, "wrong_mode"), 2);
    assert_int_equal(queue_live(r->queue[0]), 0);
    arena_release(&arena);
}

static void many_events_are_applied_in_few_statements(void **state)
{
    struct rig *r = begin(state, "");

    add(r, 100, "evt", "charge.succeeded", 0);
    add(r, 100, "evt", "nobody.knows", 0);
    rig_settle(r);
    assert_int_equal(outcomes(r, "processed"), 100);
    assert_int_equal(outcomes(r, "ignored"), 100);
    arena_release(&arena);
}

static void q2_a_failing_type_is_retried_and_then_dead_with_its_outcome(void **state)
{
    struct rig *r = begin(state, "apply:charge.failed=retry,apply:charge.expired=fail,"
                                 "apply:charge.pending=retry@1-2");
    char text[512];

    add(r, 1, "evt_retry", "charge.failed", 0);
    add(r, 1, "evt_fail", "charge.expired", 0);
    add(r, 1, "evt_heals", "charge.pending", 0);
    add(r, 50, "evt_fine", "charge.succeeded", 0);
    rig_settle(r);
    assert_int_equal(outcomes(r, "processed"), 50);
    assert_int_equal(outcomes(r, "dead"), 1);
    for (int i = 0; i < 8; i++)
        rig_pass(r, 1000);
    assert_int_equal(outcomes(r, "dead"), 2);
    assert_int_equal(outcomes(r, "processed"), 51);
    assert_int_equal(sql_int(r, "SELECT attempts FROM dead_letters WHERE ref = 'evt_retry'"), 4);
    sql_text(r, "SELECT detail FROM webhook_outcomes WHERE outcome = 'dead' LIMIT 1", text,
             sizeof(text));
    assert_non_null(strstr(text, "fault point apply:charge."));
    assert_int_equal(queue_live(r->queue[0]), 0);
    r->store_env[0].faults.count = 0;
    arena_release(&arena);
}

static void q2_a_message_that_cannot_be_read_is_a_dead_letter(void **state)
{
    struct rig *r = begin(state, "");
    static struct adding a;

    a.rig = r;
    a.n = 2;
    for (size_t i = 0; i < a.n; i++)
        a.m[i] = (struct queue_new){ .id = env_uuid(&r->env[0]),
                                     .kind = APPLY_EVENT_KIND,
                                     .body = i ? S("rubbish") : body_of("charge.succeeded", 0),
                                     .due_ms = env_now_ms(&r->env[0]) };
    assert_int_equal(rig_do(r, 0, do_add, &a), OK);
    rig_settle(r);
    assert_int_equal(outcomes(r, "dead"), 1);
    assert_int_equal(outcomes(r, "processed"), 1);
    arena_release(&arena);
}

static enum err do_apply_backwards(struct tx *tx, void *ctx)
{
    static struct message m[20];
    const struct message *given[COUNT(m)];

    (void)ctx;
    for (size_t i = 0; i < COUNT(m); i++) {
        m[i] = (struct message){ .body = S("{\"type\":\"charge.succeeded\"}") };
        m[i].id.b[0] = (uint8_t)(7 * i % COUNT(m));
        given[i] = &m[i];
    }
    return kind.run_many(tx, given, COUNT(m), kind.ctx);
}

/* PostgreSQL: ctid is the order in which the rows, and their locks, came. */
static void outcomes_are_written_in_the_order_of_their_ids(void **state)
{
    struct rig *r = begin(state, "");

    assert_int_equal(rig_do(r, 0, do_apply_backwards, NULL), OK);
    assert_int_equal(sql_int(r, "SELECT count(*) FROM webhook_outcomes"), 20);
    assert_int_equal(sql_int(r, "SELECT count(*) FROM webhook_outcomes a, webhook_outcomes b"
                                " WHERE a.ctid < b.ctid AND a.message_id > b.message_id"),
                     0);
    arena_release(&arena);
}

static void q2_no_retry_is_later_than_a_day(void **state)
{
    struct job_kind k = apply_event_kind(&apply, 1000, 1000);

    (void)state;
    assert_int_equal(retry_delay_ms(&k.retry, 3), 4000);
    assert_int_equal(retry_delay_ms(&k.retry, 999), 24 * 3600 * 1000);
}

#define ALL(ON)                                                                                    \
    ON(w6_w9_each_event_gets_the_outcome_it_deserves),                                             \
        ON(many_events_are_applied_in_few_statements),                                             \
        ON(q2_a_failing_type_is_retried_and_then_dead_with_its_outcome),                           \
        ON(q2_a_message_that_cannot_be_read_is_a_dead_letter)

int main(void)
{
    static const struct CMUnitTest sqlite[] = {
        TEST(what_is_written_is_read_again),       TEST(a_long_fact_is_written_too),
        TEST(a_body_of_another_making_is_refused), TEST(the_table_of_types_is_sorted_and_found),
        TEST(q2_no_retry_is_later_than_a_day),     ALL(ON_SQLITE),
    };
    static const struct CMUnitTest postgres[] = {
        ALL(ON_POSTGRES),
        ON_POSTGRES(outcomes_are_written_in_the_order_of_their_ids),
    };

    return RUN_BOTH(sqlite, postgres);
}
