/* The manual gateway: its books are our own rows, on both databases. */
#include "base/time/civil.h"
#include "base/time/zone.h"
#include "domain/reference.h"
#include "gateway/manual.h"
#include "gateway/transfer_row.h"
#include "unit/queue/rig.h"

#define ACCOUNT S("みずほ銀行 渋谷支店 普通 1234567 \"カ）イチド\"")

static struct {
    struct rig *rig;
    struct gateway *gateway;
    struct arena arena;
    struct gateway_call call;
    bool back;
    struct uuid payment, refund;
} w;

static void begin(void **state)
{
    struct manual_options o = { .account = ACCOUNT, .days = 7 };

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    o.env = &w.rig->env[0];
    o.store = w.rig->store[0];
    assert_int_equal(zone_load(S("Asia/Tokyo"), &o.zone), OK);
    w.gateway = manual_gateway_new(&o);
    arena_init(&w.arena, 1 << 20);
    w.payment = env_uuid(o.env);
    w.refund = env_uuid(o.env);
}

static void finish(void)
{
    w.gateway->ops->free(w.gateway);
    arena_release(&w.arena);
}

static void done(struct gateway_call *c)
{
    (void)c;
    w.back = true;
}

static const struct fact *ask_for(enum gateway_ask ask, enum gateway_answer want, int64_t amount)
{
    w.call = (struct gateway_call){ .ask = ask,
                                    .payment = w.payment,
                                    .refund = w.refund,
                                    .reason = S("abandoned"),
                                    .arena = &w.arena,
                                    .executor = &w.rig->den.desk.executor,
                                    .done = done };
    assert_true(money_make(amount, S("JPY"), &w.call.money));
    w.back = false;
    gateway_call(w.gateway, &w.call);
    assert_false(w.back); /* never from within the call */
    while (!w.back)
        desk_next(&w.rig->den.desk);
    assert_int_equal(w.call.answer, want);
    return &w.call.fact;
}

static void came(void)
{
    sql_int(w.rig, "UPDATE bank_transfers SET state = 'received', received = amount");
}

static void authorize_makes_one_transfer_and_tells_the_customer(void **state)
{
    const struct fact *f;
    char reference[16], want[512], intent[64], id[UUID_TEXT + 1];

    begin(state);
    ask_for(GATEWAY_FETCH, GATEWAY_ABSENT, 1200);
    f = ask_for(GATEWAY_AUTHORIZE, GATEWAY_OK, 1200);
    assert_int_equal(f->state, INTENT_ACTION);
    assert_true(str_eq(f->action_type, S("bank_transfer")));
    assert_int_equal(f->amount, 1200);
    assert_int_equal(f->received, 0);
    assert_string_equal(f->currency, "JPY");
    uuid_text(w.payment, id);
    snprintf(intent, sizeof(intent), "bt_%s", id);
    assert_true(str_eq(f->intent_id, str_of(intent)) && str_eq(f->payment_id, str_of(id)));
    sql_text(w.rig, "SELECT reference FROM bank_transfers", reference, sizeof(reference));
    assert_true(reference_is(str_of(reference)));
    /* 1760000000 is 2025-10-09 17:53:20 in Japan */
    snprintf(
        want, sizeof(want),
        "{\"account\":\"みずほ銀行 渋谷支店 普通 1234567 \\\"カ）イチド\\\"\",\"reference\":\"%s\","
        "\"amount\":1200,\"currency\":\"JPY\",\"deadline\":\"2025-10-16\"}",
        reference);
    assert_true(str_eq(f->action_details, str_of(want)));
    assert_int_equal(f->action_expires_ms, 1760626799000);
    rig_pass(w.rig, 24 * 3600 * 1000); /* the same again, however late: the same transfer */
    f = ask_for(GATEWAY_AUTHORIZE, GATEWAY_OK, 1200);
    assert_true(str_eq(f->action_details, str_of(want)));
    assert_int_equal(f->action_expires_ms, 1760626799000);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM bank_transfers"), 1);
    f = ask_for(GATEWAY_FETCH, GATEWAY_OK, 1200);
    assert_true(str_eq(f->action_details, str_of(want)));
    finish();
}

static void void_cancels_unless_the_money_has_come(void **state)
{
    const struct fact *f;

    begin(state);
    ask_for(GATEWAY_VOID, GATEWAY_ABSENT, 5);
    ask_for(GATEWAY_AUTHORIZE, GATEWAY_OK, 5);
    for (int i = 0; i < 2; i++) {
        f = ask_for(GATEWAY_VOID, GATEWAY_OK, 5);
        assert_int_equal(f->state, INTENT_CANCELED);
        assert_true(str_eq(f->cancel_reason, S("abandoned")));
        assert_int_equal(f->action_details.n, 0);
    }
    w.payment = env_uuid(&w.rig->env[0]);
    ask_for(GATEWAY_AUTHORIZE, GATEWAY_OK, 5);
    came();
    f = ask_for(GATEWAY_VOID, GATEWAY_REFUSED, 5);
    assert_int_equal(f->state, INTENT_SUCCEEDED);
    assert_int_equal(f->received, 5);
    assert_string_equal(w.call.error_code, "transfer_received");
    finish();
}

static void capture_says_whether_the_money_has_come(void **state)
{
    const struct fact *f;

    begin(state);
    ask_for(GATEWAY_AUTHORIZE, GATEWAY_OK, 5);
    f = ask_for(GATEWAY_CAPTURE, GATEWAY_REFUSED, 5);
    assert_int_equal(f->state, INTENT_ACTION);
    came();
    f = ask_for(GATEWAY_CAPTURE, GATEWAY_OK, 5);
    assert_int_equal(f->state, INTENT_SUCCEEDED);
    finish();
}

static void a_refund_is_pending_until_it_was_sent(void **state)
{
    const struct fact *f;

    begin(state);
    ask_for(GATEWAY_FETCH_REFUND, GATEWAY_ABSENT, 5);
    ask_for(GATEWAY_AUTHORIZE, GATEWAY_OK, 5);
    ask_for(GATEWAY_REFUND, GATEWAY_REFUSED, 3);
    came();
    for (int i = 0; i < 2; i++) { /* the same refund: one return */
        f = ask_for(GATEWAY_REFUND, GATEWAY_OK, 3);
        assert_int_equal(f->kind, FACT_REFUND);
        assert_int_equal(f->refund, REFUND_PENDING);
        assert_int_equal(f->amount, 3);
    }
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM bank_returns WHERE state = 'due'"), 1);
    sql_int(w.rig, "UPDATE bank_returns SET state = 'paid'");
    f = ask_for(GATEWAY_FETCH_REFUND, GATEWAY_OK, 5);
    assert_int_equal(f->refund, REFUND_SUCCEEDED);
    assert_int_equal(f->amount, 3);
    assert_true(str_starts(f->refund_id, S("btr_")));
    finish();
}

static void there_is_no_page(void **state)
{
    begin(state);
    ask_for(GATEWAY_CHECKOUT, GATEWAY_REFUSED, 5);
    ask_for(GATEWAY_EXPIRE, GATEWAY_REFUSED, 5);
    finish();
}

static void it_is_found_by_its_own_ids(void **state)
{
    char intent[TRANSFER_ID_TEXT + 1];

    begin(state);
    ask_for(GATEWAY_AUTHORIZE, GATEWAY_OK, 5);
    transfer_intent_id(w.payment, intent);
    w.call = (struct gateway_call){ .ask = GATEWAY_FETCH,
                                    .intent_id = str_of(intent),
                                    .arena = &w.arena,
                                    .executor = &w.rig->den.desk.executor,
                                    .done = done };
    w.back = false;
    gateway_call(w.gateway, &w.call);
    while (!w.back)
        desk_next(&w.rig->den.desk);
    assert_int_equal(w.call.answer, GATEWAY_OK);
    finish();
}

static void a_call_without_memory_is_turned_away(void **state)
{
    begin(state);
    arena_release(&w.arena);
    arena_init(&w.arena, 16);
    ask_for(GATEWAY_AUTHORIZE, GATEWAY_RETRY_LATER, 5);
    assert_false(w.call.sent);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM bank_transfers"), 0);
    finish();
}

/* --- the deadline --- */

static void the_deadline_is_the_end_of_a_day_there(void **state)
{
    static const struct {
        const char *why, *zone;
        int64_t now_s;
        int days;
        int64_t want_s;
    } rows[] = {
        { "an hour before midnight in Japan", "Asia/Tokyo", 1760018400, 1, 1760108399 },
        { "an hour later it is the next day", "Asia/Tokyo", 1760022000, 1, 1760194799 },
        { "UTC", "UTC", 1760000000, 7, 1760659199 },
        { "clocks go back in between", "Europe/Berlin", 1761300000, 3, 1761605999 },
        { "clocks go forward in between", "Europe/Berlin", 1774600000, 3, 1774907999 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct zone *z = NULL;
        int64_t got;

        assert_int_equal(zone_load(str_of(rows[i].zone), &z), OK);
        got = manual_deadline_ms(z, rows[i].now_s * 1000, rows[i].days);
        if (got != rows[i].want_s * 1000)
            fail_msg("%s: %lld", rows[i].why, (long long)got);
        zone_free(z);
    }
}

#define ALL(X)                                                                                     \
    X(authorize_makes_one_transfer_and_tells_the_customer),                                        \
        X(void_cancels_unless_the_money_has_come), X(capture_says_whether_the_money_has_come),     \
        X(a_refund_is_pending_until_it_was_sent), X(there_is_no_page),                             \
        X(it_is_found_by_its_own_ids), X(a_call_without_memory_is_turned_away)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE),
                                                TEST(the_deadline_is_the_end_of_a_day_there) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
