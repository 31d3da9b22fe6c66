/* Collections: what may change while money is under way, and what sessions of the gateway's page
 * make of a payment, in every order. */
#include "collection/collection.h"
#include "payment/payable.h"
#include "payment/transition.h"
#include "unit/queue/rig.h"

#define COLLECTION "11111111-1111-4111-8111-111111111111"
#define ELSEWHERE "99999999-9999-4999-8999-999999999999"
#define OWNER "22222222-2222-4222-8222-222222222222"
#define ANN "33333333-3333-4333-8333-333333333333"
#define BOB "44444444-4444-4444-8444-444444444444"
#define PAYMENT "55555555-5555-4555-8555-555555555555"

static struct {
    struct rig *rig;
    struct payments payments;
    struct arena arena;
} w;

static struct uuid id_of(const char *text)
{
    struct uuid id;

    assert_true(uuid_parse(str_of(text), &id));
    return id;
}

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    rig_queue(w.rig, 0, (struct queue_options){ 0 });
    w.payments = (struct payments){ .notifier.runtime = &w.payments.runtime,
                                    .runtime.env = &w.rig->env[0],
                                    .runtime.store = w.rig->store[0],
                                    .runtime.queue = w.rig->queue[0] };
    arena_init(&w.arena, 1024 * 1024);
}

static void end(void)
{
    arena_release(&w.arena);
}

/* --- putting --- */

struct put {
    const char *collection, *owner, *title, *currency, *zone;
    struct participant_input people[3];
    size_t count;
    bool may_any;
    struct arena *arena; /* NULL: the test's own */
    struct collection_result result;
};

static enum err do_put(struct tx *tx, void *ctx)
{
    struct put *p = ctx;
    struct collection_input in = { .id = id_of(p->collection ? p->collection : COLLECTION),
                                   .owner = id_of(p->owner ? p->owner : OWNER),
                                   .title = str_of(p->title ? p->title : "trip"),
                                   .time_zone = str_of(p->zone ? p->zone : "Asia/Tokyo"),
                                   .participants = p->people,
                                   .participant_count = p->count };

    snprintf(in.currency, sizeof(in.currency), "%s", p->currency ? p->currency : "JPY");
    return collection_put(tx, &w.payments, p->arena ? p->arena : &w.arena, &in, p->may_any,
                          env_now_ms(&w.rig->env[0]), &p->result);
}

static struct participant_input owes(const char *id, int64_t amount)
{
    return (struct participant_input){ .id = id_of(id), .name = S("x"), .amount = amount };
}

static enum err put(struct put *p)
{
    return rig_do(w.rig, 0, do_put, p);
}

static void make(void)
{
    struct put p = { .people = { owes(ANN, 500), owes(BOB, 700) }, .count = 2 };

    assert_int_equal(put(&p), OK);
    assert_int_equal(p.result.put, COLLECTION_MADE);
}

static enum err do_pay(struct tx *tx, void *ctx)
{
    struct payment p = { .id = id_of(PAYMENT),
                         .context = CONTEXT_PARTICIPANT,
                         .subject_id = id_of(ANN),
                         .user_id = id_of(OWNER),
                         .gateway = S("sandbox"),
                         .idempotency_key = id_of(PAYMENT),
                         .claim_id = id_of(PAYMENT),
                         .created_ms = 1 };

    (void)ctx;
    assert_true(money_make(500, S("JPY"), &p.money));
    return payment_add(tx, &p);
}

static void ann_is_paying(void)
{
    make();
    assert_int_equal(rig_do(w.rig, 0, do_pay, NULL), OK);
    sql_int(w.rig, "UPDATE payments SET open_op = NULL");
}

static void the_same_again_changes_nothing(void **state)
{
    struct put same = { .people = { owes(BOB, 700) }, .count = 1 };
    struct put more = { .people = { owes(BOB, 800) }, .count = 1 };

    begin(state);
    make();
    assert_int_equal(put(&same), OK);
    assert_int_equal(same.result.put, COLLECTION_UNCHANGED);
    assert_int_equal(put(&more), OK);
    assert_int_equal(more.result.put, COLLECTION_CHANGED);
    assert_int_equal(sql_int(w.rig, "SELECT CAST(sum(amount) AS BIGINT) FROM participants"), 1300);
    end();
}

static void a_zone_that_is_not_known_is_refused_with_nothing_changed(void **state)
{
    static const char *const zones[] = { "Nowhere/Else", "asia/tokyo", "../etc/passwd" };

    begin(state);
    make();
    for (size_t i = 0; i < COUNT(zones); i++) {
        struct put p = { .title = "x", .zone = zones[i] };

        assert_int_equal(put(&p), ERR_UNPROCESSABLE);
        assert_int_equal(p.result.refusal, REFUSED_ZONE);
    }
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM collections WHERE title = 'trip'"), 1);
    end();
}

static void only_its_owner_changes_it(void **state)
{
    struct put stranger = { .owner = ANN, .title = "mine" };
    struct put service = { .owner = ANN, .title = "ours", .may_any = true };

    begin(state);
    make();
    assert_int_equal(put(&stranger), ERR_FORBIDDEN);
    assert_int_equal(put(&service), OK);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM collections WHERE title = 'ours'"), 1);
    end();
}

static void what_is_being_paid_stands_still(void **state)
{
    static const struct {
        const char *why, *status;
        bool refused;
    } rows[] = {
        { "it waits for its customer", "PENDING", true },
        { "its money is held", "AUTHORIZED", true },
        { "its money is here", "CAPTURED", true },
        { "it came to nothing", "FAILED", false },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct put amount = { .people = { owes(ANN, 501 + (int64_t)i), owes(BOB, 1) }, .count = 2 };
        struct put currency = { .currency = "USD" };
        char sql[128];

        if (!i) {
            begin(state);
            ann_is_paying();
        }
        snprintf(sql, sizeof(sql), "UPDATE payments SET status = '%s'", rows[i].status);
        sql_int(w.rig, sql);
        if (put(&amount) != (rows[i].refused ? ERR_UNPROCESSABLE : OK))
            fail_msg("amount, row %zu: %s", i, rows[i].why);
        if (put(&currency) != (rows[i].refused ? ERR_UNPROCESSABLE : OK))
            fail_msg("currency, row %zu: %s", i, rows[i].why);
        if (!rows[i].refused)
            continue;
        assert_int_equal(amount.result.refusal, REFUSED_AMOUNT);
        assert_true(uuid_eq(amount.result.participant, id_of(ANN)));
        assert_int_equal(currency.result.refusal, REFUSED_CURRENCY);
        assert_int_equal(sql_int(w.rig, "SELECT CAST(sum(amount) AS BIGINT) FROM participants"),
                         1200); /* Bob's change went with hers */
    }
    end();
}

static void a_participant_has_one_collection(void **state)
{
    struct put other = { .collection = ELSEWHERE, .people = { owes(BOB, 700) }, .count = 1 };

    begin(state);
    make();
    assert_int_equal(put(&other), ERR_UNPROCESSABLE);
    assert_int_equal(other.result.refusal, REFUSED_ELSEWHERE);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM collections"), 1);
    end();
}

/* --- two collections want the same new people, and both name them in one order --- */

struct racer { /* on threads of their own: nothing is shared */
    struct unit unit;
    struct put put;
    struct arena arena;
    char id[UUID_TEXT + 1];
};

static enum err race(struct tx *tx, struct unit *u)
{
    return do_put(tx, &CONTAINER_OF(u, struct racer, unit)->put);
}

static void race_done(struct unit *u)
{
    (void)u;
    w.rig->asked--;
}

static void of_two_collections_one_gets_them_all(void **state)
{
    static const struct unit_kind kind = { "test.race", UNIT_FRONT, race, NULL };
    struct racer r[8];
    int made = 0;

    begin(state);
    for (size_t i = 0; i < COUNT(r); i++) {
        r[i] = (struct racer){
            .unit = { .kind = &kind, .executor = &w.rig->den.desk.executor, .done = race_done },
            .put = { .people = { owes(ANN, 1), owes(BOB, 1) }, .count = 2 },
        };
        snprintf(r[i].id, sizeof(r[i].id), "%08zu-1111-4111-8111-111111111111", i);
        arena_init(&r[i].arena, 64 * 1024);
        r[i].put.collection = r[i].id;
        r[i].put.arena = &r[i].arena;
        w.rig->asked++;
        store_post(w.rig->store[i % RIG_NODES], &r[i].unit);
    }
    rig_settle(w.rig);
    for (size_t i = 0; i < COUNT(r); i++) {
        made += r[i].unit.err == OK;
        arena_release(&r[i].arena);
    }
    assert_int_equal(made, 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM collections"), 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM participants"), 2);
    end();
}

/* --- sessions --- */

struct saying {
    bool answer; /* of our own call; else an event */
    enum session_status status;
    const char *id, *intent, *money;
};

static enum err do_say(struct tx *tx, void *ctx)
{
    const struct saying *s = ctx;
    struct fact f = { .kind = FACT_SESSION,
                      .session = s->status,
                      .session_id = str_of(s->id),
                      .intent_id = str_of(s->intent),
                      .session_payment_status = str_of(s->money),
                      .session_expires_ms = 1760086400000 };
    struct taking t = { .payments = &w.payments,
                        .arena = &w.arena,
                        .now_ms = env_now_ms(&w.rig->env[0]),
                        .event_id = s->answer ? S("") : S("evt_1") };
    struct payment p;
    enum verdict v;
    enum err e = payment_read(tx, &w.arena, id_of(PAYMENT), true, &p);

    if (s->answer)
        f.session_url = S("https://pay.example/1");
    return e ? e : take_session(tx, &t, &p, &f, &v);
}

static void say(const struct saying *s)
{
    assert_int_equal(rig_do(w.rig, 0, do_say, (void *)(uintptr_t)s), OK);
}

#define PAYMENT_TEXT                                                                               \
    "SELECT status || ' ' || coalesce(checkout_session_id, '-') || ' '"                            \
    " || coalesce(gateway_transaction_id, '-') || ' ' || coalesce(action, '-') FROM payments"
#define SESSION_TEXT                                                                               \
    "SELECT session_id || ' ' || status || ' ' || coalesce(payment_status, '-') || ' '"            \
    " || coalesce(intent_id, '-') || ' ' || coalesce(url, '-') FROM checkout_sessions"             \
    " WHERE session_id = 'cs_1'"

static void is(const char *sql, const char *want)
{
    char text[512];

    sql_text(w.rig, sql, text, sizeof(text));
    assert_string_equal(text, want);
}

static void e1_a_session_only_informs(void **state)
{
    static const struct saying made = { true, SESSION_OPEN, "cs_1", NULL, "unpaid" };
    static const struct saying ended = { false, SESSION_EXPIRED, "cs_1", NULL, "unpaid" };
    static const struct saying paid = { false, SESSION_COMPLETE, "cs_1", "pi_1", "paid" };

    begin(state);
    ann_is_paying();
    say(&made);
    is(PAYMENT_TEXT, "PENDING cs_1 - {\"type\":\"checkout\",\"url\":\"https://pay.example/1\","
                     "\"expiresAt\":\"2025-10-10T08:53:20.000Z\"}");
    say(&ended);
    is(PAYMENT_TEXT, "PENDING cs_1 - -");
    say(&paid);
    is(PAYMENT_TEXT, "PENDING cs_1 pi_1 -");
    is("SELECT status FROM participants WHERE paid_amount = 0 AND amount = 500", "unpaid");
    end();
}

/* Every order of the three, each of them once more at the end: the same rows. */
static void e7_sessions_climb_in_any_order(void **state)
{
    static const struct saying all[] = {
        { true, SESSION_OPEN, "cs_1", NULL, "unpaid" },
        { false, SESSION_EXPIRED, "cs_1", NULL, "unpaid" },
        { false, SESSION_COMPLETE, "cs_1", "pi_1", "paid" },
        { false, SESSION_COMPLETE, "cs_1", "pi_1", "unpaid" },
    };
    static const int n = COUNT(all);

    begin(state);
    ann_is_paying();
    for (int code = 0; code < n * n * n * n; code++) {
        int order[] = { code % n, code / n % n, code / n / n % n, code / n / n / n };
        unsigned seen = 0;

        for (int i = 0; i < n; i++)
            seen |= 1U << order[i];
        if (seen != (1U << n) - 1)
            continue;
        sql_int(w.rig, "DELETE FROM checkout_sessions");
        sql_int(w.rig, "DELETE FROM payment_transactions");
        sql_int(w.rig, "UPDATE payments SET checkout_session_id = NULL, action = NULL,"
                       " gateway_transaction_id = NULL");
        for (int i = 0; i < 2 * n; i++)
            say(&all[order[i % n]]);
        is(PAYMENT_TEXT, "PENDING cs_1 pi_1 -");
        is(SESSION_TEXT, "cs_1 complete paid pi_1 https://pay.example/1");
        assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM payment_transactions"
                                        " WHERE status = 'pending'"),
                         1);
    }
    end();
}

static void d18_the_end_of_an_old_session_is_not_the_new_ones(void **state)
{
    static const struct saying first = { true, SESSION_OPEN, "cs_1", NULL, "unpaid" };
    static const struct saying second = { true, SESSION_OPEN, "cs_2", NULL, "unpaid" };
    static const struct saying ended = { false, SESSION_EXPIRED, "cs_1", "pi_1", "unpaid" };
    static const struct saying late = { false, SESSION_COMPLETE, "cs_1", "pi_1", "paid" };
    static const struct saying both = { false, SESSION_COMPLETE, "cs_2", "pi_2", "paid" };
    char text[512];

    begin(state);
    ann_is_paying();
    say(&first);
    say(&second);
    say(&ended);
    sql_text(w.rig, PAYMENT_TEXT, text, sizeof(text));
    assert_non_null(strstr(text, "PENDING cs_2 - {\"type\":\"checkout\""));
    say(&late); /* it was paid after all: its intent will say so, and only that counts (E1) */
    sql_text(w.rig, PAYMENT_TEXT, text, sizeof(text));
    assert_non_null(strstr(text, "PENDING cs_2 - {\"type\":\"checkout\""));
    say(&both);
    is(PAYMENT_TEXT, "PENDING cs_2 pi_2 -");
    say(&late);
    is(PAYMENT_TEXT, "PENDING cs_2 pi_2 -");
    end();
}

/* Whoever copies our metadata into a session of his own has a row of it, and nothing else. */
static void d18_a_session_that_we_did_not_make_is_never_the_payments(void **state)
{
    static const struct saying strange[] = {
        { false, SESSION_OPEN, "cs_1", NULL, "unpaid" },
        { false, SESSION_COMPLETE, "cs_1", "pi_1", "unpaid" },
        { false, SESSION_COMPLETE, "cs_1", "pi_1", "paid" },
    };
    static const struct saying made = { true, SESSION_OPEN, "cs_1", NULL, "unpaid" };

    begin(state);
    ann_is_paying();
    for (size_t i = 0; i < COUNT(strange); i++) {
        say(&strange[i]);
        is(PAYMENT_TEXT, "PENDING - - -");
    }
    is(SESSION_TEXT, "cs_1 complete paid pi_1 -");
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM payment_transactions"), 0);
    say(&made); /* it was ours, and its answer came late */
    is(PAYMENT_TEXT, "PENDING cs_1 pi_1 -");
    end();
}

#define ALL(X)                                                                                     \
    X(the_same_again_changes_nothing),                                                             \
        X(a_zone_that_is_not_known_is_refused_with_nothing_changed), X(only_its_owner_changes_it), \
        X(what_is_being_paid_stands_still), X(a_participant_has_one_collection),                   \
        X(of_two_collections_one_gets_them_all), X(e1_a_session_only_informs),                     \
        X(e7_sessions_climb_in_any_order), X(d18_the_end_of_an_old_session_is_not_the_new_ones),   \
        X(d18_a_session_that_we_did_not_make_is_never_the_payments)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
