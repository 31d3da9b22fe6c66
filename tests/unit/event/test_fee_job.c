/* Fees, asked for behind the events: once, spaced, and never a crowd. The gateway is a stand-in:
 * the test answers each call itself, when it likes. */
#include "event/fee_job.h"
#include "payment/rows.h"
#include "server/payables.h"
#include "unit/queue/rig.h"

enum { CALLS = 256 };

static struct {
    struct rig *rig;
    struct payments payments;
    struct charge_later later;
    struct gateway gateway;
    struct gateways gateways;
    struct gateway_call *calls[CALLS];
    int count, sent, alerts;
} w;

static void take_call(struct gateway *g, struct gateway_call *c)
{
    (void)g;
    assert_true(w.count < CALLS);
    assert_int_equal(c->ask, GATEWAY_FETCH);
    w.calls[w.count++] = c;
    w.sent++;
}

static void alert(void *ctx, const struct message *m, const char *why)
{
    (void)ctx, (void)m, (void)why;
    w.alerts++;
}

static void begin(void **state)
{
    static const struct gateway_ops ops = { .call = take_call };
    static struct job_kind kinds[2];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.gateway = (struct gateway){ .ops = &ops, .name = "stand-in", .provider = "stripe" };
    w.gateways = (struct gateways){ .all = { &w.gateway }, .count = 1 };
    w.later.payments = &w.payments;
    kinds[0] = charge_fee_kind(&w.later);
    kinds[1] = charge_refunds_kind(&w.payments);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = 2, .alert = alert });
    w.payments = (struct payments){ .notifier.runtime = &w.payments.runtime,
                                    .payables = &server_payables,
                                    .runtime.env = &w.rig->env[0],
                                    .runtime.store = w.rig->store[0],
                                    .runtime.queue = w.rig->queue[0],
                                    .runtime.executor = &w.rig->den.desk.executor,
                                    .gateways = &w.gateways };
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
}

static void answer(enum gateway_answer a, const char *charge, bool has_fee)
{
    struct gateway_call *c;

    assert_true(w.count > 0);
    c = w.calls[0];
    w.count--;
    memmove(w.calls, w.calls + 1, (size_t)w.count * sizeof(void *));
    c->answer = a;
    c->fact = (struct fact){ .kind = FACT_INTENT,
                             .intent_id = c->intent_id,
                             .charge_id = str_of(charge),
                             .has_fee = has_fee,
                             .fee = 36,
                             .net = 964 };
    c->done(c);
    rig_settle(w.rig);
}

/* --- charges --- */

static enum err do_charge(struct tx *tx, void *ctx)
{
    struct uuid id = env_uuid(&w.rig->env[0]);
    struct payment p = { .id = id };
    struct fact f = { .intent_id = str_of(ctx), .charge_id = S("ch_1") };
    enum err e =
        TX_DO(tx, STMT_transaction_charge, 1, v_uuid(&id), v_uuid(&id), V_TEXT(S("stand-in")),
              V_TEXT(f.intent_id), V_INT(1000), V_TEXT(S("JPY")), V_TEXT(f.charge_id),
              V_TEXT(S("txn_1")), V_NULL, V_NULL, V_NULL, V_NULL, V_NULL, V_INT(1), V_NULL);

    return e ? e : charge_ask_fee(tx, &w.later, &p, &f, env_now_ms(&w.rig->env[0]), S(""));
}

static void charge(const char *intent)
{
    char name[32];

    snprintf(name, sizeof(name), "%s", intent);
    assert_int_equal(rig_do(w.rig, 0, do_charge, name), OK);
}

static int64_t fees(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM payment_transactions WHERE fee = 36 AND net = 964");
}

static int64_t messages(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM message");
}

static void e3_the_fee_is_written_when_the_gateway_has_said_it(void **state)
{
    begin(state);
    charge("pi_1");
    rig_settle(w.rig);
    assert_true(str_eq(w.calls[0]->intent_id, S("pi_1")));
    assert_int_equal(fees(), 0);
    answer(GATEWAY_OK, "ch_1", true);
    assert_int_equal(fees(), 1);
    assert_int_equal(messages(), 0);
}

static void e3_no_fee_and_another_charge_are_no_reason_to_ask_for_ever(void **state)
{
    begin(state);
    charge("pi_1");
    charge("pi_2");
    rig_pass(w.rig, 1000);
    answer(GATEWAY_OK, "ch_1", false);
    answer(GATEWAY_OK, "ch_other", true);
    assert_int_equal(fees(), 0);
    assert_int_equal(messages(), 0);
    assert_int_equal(w.alerts, 0);
}

static void e3_a_gateway_that_is_gone_for_hours_is_asked_again(void **state)
{
    begin(state);
    charge("pi_1");
    rig_settle(w.rig);
    for (int i = 0; i < 20; i++) {
        answer(i % 2 ? GATEWAY_UNCERTAIN : GATEWAY_RETRY_LATER, "", false);
        rig_pass(w.rig, 3600 * 1000);
    }
    answer(GATEWAY_OK, "ch_1", true);
    assert_int_equal(fees(), 1);
    assert_int_equal(w.sent, 21);
    assert_int_equal(w.alerts, 0);
}

static void e3_an_intent_that_the_gateway_does_not_know_is_a_dead_letter(void **state)
{
    begin(state);
    charge("pi_1");
    rig_settle(w.rig);
    answer(GATEWAY_ABSENT, "", false);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM dead_letters"), 1);
    assert_int_equal(w.alerts, 1);
}

static void e3_many_charges_become_a_trickle(void **state)
{
    char intent[16];

    begin(state);
    for (int i = 0; i < 100; i++) {
        snprintf(intent, sizeof(intent), "pi_%d", i);
        charge(intent);
    }
    rig_settle(w.rig);
    assert_int_equal(w.sent, 1);
    rig_pass(w.rig, 10 * LIMIT_FEE_PAUSE_MS);
    assert_int_equal(w.sent, 11);
    rig_pass(w.rig, 10 * 1000);
    assert_int_equal(w.sent, LIMIT_FEES); /* nobody has answered yet: the others wait */
    while (w.count)
        answer(GATEWAY_OK, "ch_1", true);
    for (int i = 0; i < 200 && fees() < 100; i++) {
        rig_pass(w.rig, LIMIT_FEE_PAUSE_MS);
        while (w.count)
            answer(GATEWAY_OK, "ch_1", true);
    }
    assert_int_equal(fees(), 100);
    assert_int_equal(w.sent, 100);
    assert_int_equal(messages(), 0);
    assert_int_equal(atomic_load(&w.later.underway), 0);
}

static void e3_a_fee_that_is_known_is_not_written_again(void **state)
{
    begin(state);
    charge("pi_1");
    rig_settle(w.rig);
    sql_int(w.rig, "UPDATE payment_transactions SET fee = 1, net = 999");
    answer(GATEWAY_OK, "ch_1", true);
    assert_int_equal(sql_int(w.rig, "SELECT fee FROM payment_transactions"), 1);
    assert_int_equal(messages(), 0);
}

#define ALL(ON)                                                                                    \
    ON(e3_the_fee_is_written_when_the_gateway_has_said_it),                                        \
        ON(e3_no_fee_and_another_charge_are_no_reason_to_ask_for_ever),                            \
        ON(e3_a_gateway_that_is_gone_for_hours_is_asked_again),                                    \
        ON(e3_an_intent_that_the_gateway_does_not_know_is_a_dead_letter),                          \
        ON(e3_many_charges_become_a_trickle), ON(e3_a_fee_that_is_known_is_not_written_again)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
