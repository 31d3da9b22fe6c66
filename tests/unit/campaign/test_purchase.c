/* Purchases on a real store: what each move of a payment makes of purchase, position and sums. Each
 * step is done twice, since twice is once; after each the sums are compared with the rows. */
#include "base/limits.h"
#include "campaign/campaign.h"
#include "campaign/lottery.h"
#include "campaign/purchase.h"
#include "notify/notification.h"
#include "payment/payable.h"
#include "server/payables.h"
#include "unit/queue/rig.h"

#define CAMPAIGN "11111111-1111-4111-8111-111111111111"
#define ALICE "33333333-3333-4333-8333-333333333333"
#define BOB "44444444-4444-4444-8444-444444444444"

enum { PRICE = 1000, HALF = 500 };

struct buyer {
    struct uuid user;
    struct payment payment;
};

static struct {
    struct rig *rig;
    struct payments payments;
    struct buyer alice, bob;
    struct uuid position;
    struct arena arena;
} w;

static struct uuid id_of(const char *text)
{
    struct uuid id;

    assert_true(uuid_parse(str_of(text), &id));
    return id;
}

static int64_t now(void)
{
    return env_now_ms(&w.rig->env[0]);
}

static enum err do_campaign(struct tx *tx, void *ctx)
{
    struct layer_input layers[] = { { S("A"), PRICE, 2 } };
    struct campaign_input in = { .id = id_of(CAMPAIGN),
                                 .created_by = id_of(BOB),
                                 .title = S("t"),
                                 .currency = "JPY",
                                 .winners = 1,
                                 .layers = layers,
                                 .layer_count = 1 };
    enum campaign_put put;

    (void)ctx;
    return campaign_put(tx, &in, now(), &put);
}

static void begin(void **state)
{
    static struct job_kind kinds[1];
    char hex[64];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.payments = (struct payments){ .notifier.runtime = &w.payments.runtime,
                                    .payables = &server_payables,
                                    .runtime.env = &w.rig->env[0],
                                    .runtime.store = w.rig->store[0],
                                    .reservation_ms = 60000 };
    kinds[0] = draw_kind(&w.payments);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = COUNT(kinds) });
    w.payments.runtime.queue = w.rig->queue[0];
    w.alice.user = id_of(ALICE);
    w.bob.user = id_of(BOB);
    assert_int_equal(rig_do(w.rig, 0, do_campaign, NULL), OK);
    sql_text(w.rig,
             w.rig->postgres ? "SELECT encode(position_id, 'hex') FROM positions WHERE number = 1"
                             : "SELECT hex(position_id) FROM positions WHERE number = 1",
             hex, sizeof(hex));
    for (size_t i = 0; i < sizeof(w.position.b); i++)
        assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &w.position.b[i]), 1);
}

static int64_t count(const char *sql)
{
    return sql_int(w.rig, sql);
}

/* --- steps --- */

struct step {
    struct buyer *buyer;
    const struct fact *fact;
    bool is_refund, konbini;
    struct operate operate;
};

static enum err do_buy(struct tx *tx, void *ctx)
{
    struct step *s = ctx;
    struct env *env = tx_env(tx);
    struct payment *p = &s->buyer->payment;
    struct claim c = { .o = &s->operate, .subject_id = env_uuid(env) };
    enum err e;

    s->operate = (struct operate){ .payments = &w.payments,
                                   .kind = OP_CREATE,
                                   .context = CONTEXT_PURCHASE,
                                   .user = s->buyer->user,
                                   .subject = w.position,
                                   .method_type = s->konbini ? S("konbini") : S("card") };
    *p = (struct payment){ .id = env_uuid(env),
                           .context = CONTEXT_PURCHASE,
                           .captured = MINOR_NONE,
                           .refunded = MINOR_NONE,
                           .gateway = S("sandbox"),
                           .gateway_transaction_id = S("pi_1") };
    e = purchase_subject.claim(tx, &c, p, now());
    return e ? e : purchase_subject.claimed(tx, &c, p);
}

static enum err do_move(struct tx *tx, void *ctx)
{
    struct step *s = ctx;
    struct taking t = { .payments = &w.payments, .arena = &w.arena, .now_ms = now() };
    struct payment *p = &s->buyer->payment;

    return s->is_refund ? purchase_subject.refunded(tx, &t, p)
                        : purchase_subject.moved(tx, &t, p, s->fact);
}

/* Counters equal a count of the rows (D14, D22). */
static void is_counted(void)
{
    static const char *const zeros[] = {
        "SELECT positions_sold - (SELECT count(*) FROM positions WHERE status <> 'available')"
        " FROM campaigns",
        "SELECT positions_sold - (SELECT count(*) FROM positions WHERE status <> 'available')"
        " FROM layers",
        "SELECT positions_paid - (SELECT count(*) FROM positions WHERE status = 'sold')"
        " FROM campaigns",
        "SELECT CAST(total_revenue - (SELECT coalesce(sum(revenue), 0) FROM purchases) AS BIGINT)"
        " FROM campaigns",
        "SELECT CAST((SELECT coalesce(sum(total_spent), 0) FROM users)"
        " - (SELECT coalesce(sum(revenue), 0) FROM purchases) AS BIGINT)",
        "SELECT CAST((SELECT coalesce(sum(purchases), 0) FROM users) - (SELECT count(*)"
        " FROM purchases WHERE status IN ('completed', 'refunded')) AS BIGINT)",
    };

    for (size_t i = 0; i < COUNT(zeros); i++)
        if (count(zeros[i]) != 0)
            fail_msg("%lld: %s", (long long)count(zeros[i]), zeros[i]);
}

static enum err buy(struct buyer *b, bool konbini)
{
    struct step s = { .buyer = b, .konbini = konbini };
    enum err e = rig_do(w.rig, 0, do_buy, &s);

    is_counted();
    return e;
}

static void move(struct buyer *b, enum payment_status status, int64_t captured, int64_t refunded,
                 const struct fact *f)
{
    struct step s = { .buyer = b, .fact = f, .is_refund = minor_known(b->payment.captured) };

    b->payment.status = status;
    b->payment.captured.minor = captured;
    b->payment.refunded.minor = refunded;
    for (int i = 0; i < 2; i++) {
        arena_init(&w.arena, 64 * 1024);
        assert_int_equal(rig_do(w.rig, 0, do_move, &s), OK);
        arena_release(&w.arena);
        is_counted();
    }
}

static const struct fact declined = { .kind = FACT_INTENT,
                                      .state = INTENT_DECLINED,
                                      .intent_id = { "pi_1", 4 },
                                      .charge_id = { "ch_1", 4 },
                                      .failure_code = { "card_declined", 13 } };
static const struct fact cancelled = { .kind = FACT_INTENT,
                                       .state = INTENT_CANCELED,
                                       .cancel_reason = { "abandoned", 9 } };
static const struct fact succeeded = { .kind = FACT_INTENT, .state = INTENT_SUCCEEDED };

static void decline(struct buyer *b)
{
    move(b, PAYMENT_PENDING, -1, -1, &declined);
}

static void cancel(struct buyer *b)
{
    move(b, PAYMENT_FAILED, -1, -1, &cancelled);
}

static void give_up(struct buyer *b)
{
    move(b, PAYMENT_FAILED, -1, -1, NULL);
}

static void capture(struct buyer *b, int64_t refunded)
{
    move(b, refunded == PRICE ? PAYMENT_REFUNDED : PAYMENT_CAPTURED, PRICE,
         refunded ? refunded : -1, &succeeded);
}

/* "purchase position revenue", of the first position and this buyer */
static void is_now(const struct buyer *b, const char *want)
{
    char sql[512], got[128], id[UUID_TEXT + 1], hex[33];
    size_t n = 0;

    uuid_text(b->payment.subject_id, id);
    for (const char *p = id; *p; p++)
        if (*p != '-')
            hex[n++] = *p;
    hex[n] = '\0';
    snprintf(sql, sizeof(sql),
             "SELECT u.status || ' ' || p.status || ' ' || CAST(u.revenue AS TEXT)"
             " FROM purchases u JOIN positions p ON p.position_id = u.position_id"
             " WHERE u.purchase_id = %s%s'",
             w.rig->postgres ? "'\\x" : "x'", hex);
    sql_text(w.rig, sql, got, sizeof(got));
    assert_string_equal(got, want);
}

struct looking {
    const struct payment *payment;
    bool open;
};

static enum err do_look(struct tx *tx, void *ctx)
{
    struct looking *l = ctx;

    return purchase_subject.is_open(tx, l->payment, &l->open);
}

static bool is_open(struct buyer *b)
{
    struct looking l = { .payment = &b->payment };

    assert_int_equal(rig_do(w.rig, 0, do_look, &l), OK);
    return l.open;
}

/* --- tests --- */

static void c3_money_makes_it_completed_and_refunds_follow_it(void **state)
{
    begin(state);
    assert_int_equal(buy(&w.alice, false), OK);
    is_now(&w.alice, "pending reserved 0");
    capture(&w.alice, 0);
    is_now(&w.alice, "completed sold 1000");
    capture(&w.alice, HALF);
    is_now(&w.alice, "completed sold 500");
    capture(&w.alice, PRICE);
    is_now(&w.alice, "refunded sold 0");
    capture(&w.alice, 0); /* the declared descent: it failed after all */
    is_now(&w.alice, "completed sold 1000");
    assert_int_equal(count("SELECT count(*) FROM purchases WHERE refunded_at IS NULL"), 1);
    assert_int_equal(count("SELECT count(*) FROM notifications"), 1);
}

static void d22_a_refund_that_was_heard_of_first_ends_in_the_same_rows(void **state)
{
    begin(state);
    assert_int_equal(buy(&w.alice, false), OK);
    capture(&w.alice, PRICE);
    is_now(&w.alice, "refunded sold 0");
    assert_int_equal(count("SELECT purchases FROM users"), 1);
}

static void c4_a_failure_frees_it_and_a_later_success_takes_it_back(void **state)
{
    begin(state);
    assert_int_equal(buy(&w.alice, false), OK);
    decline(&w.alice);
    is_now(&w.alice, "failed available 0");
    assert_true(is_open(&w.alice));
    capture(&w.alice, 0);
    is_now(&w.alice, "completed sold 1000");
}

static void d15_nobody_frees_what_another_one_has(void **state)
{
    begin(state);
    assert_int_equal(buy(&w.alice, false), OK);
    decline(&w.alice);
    assert_int_equal(buy(&w.bob, false), OK);
    decline(&w.alice);
    cancel(&w.alice);
    is_now(&w.bob, "pending reserved 0");
    assert_false(is_open(&w.alice));
    assert_true(is_open(&w.bob));
    capture(&w.bob, 0);
    give_up(&w.alice);
    is_now(&w.bob, "completed sold 1000");
}

static void status_only_climbs(void **state)
{
    begin(state);
    assert_int_equal(buy(&w.alice, false), OK);
    cancel(&w.alice);
    is_now(&w.alice, "cancelled available 0");
    decline(&w.alice);
    give_up(&w.alice);
    is_now(&w.alice, "cancelled available 0");
    assert_int_equal(count("SELECT count(*) FROM purchases WHERE failed_at IS NULL"), 1);
}

static void c2_only_one_has_it_and_the_other_hears_why(void **state)
{
    struct step s = { .buyer = &w.bob };

    begin(state);
    assert_int_equal(buy(&w.alice, false), OK);
    assert_int_equal(rig_do(w.rig, 0, do_buy, &s), ERR_UNPROCESSABLE);
    assert_string_equal(s.operate.why, "Somebody else has the position.");
    s.buyer = &(struct buyer){ .user = id_of(ALICE) };
    assert_int_equal(rig_do(w.rig, 0, do_buy, &s), ERR_PAYMENT_EXISTS);
    assert_true(uuid_eq(s.operate.payment_id, w.alice.payment.id));
    count("UPDATE campaigns SET status = 'cancelled'");
    s.buyer = &w.bob;
    assert_int_equal(rig_do(w.rig, 0, do_buy, &s), ERR_UNPROCESSABLE);
    assert_string_equal(s.operate.why, "The campaign is cancelled.");
    assert_false(is_open(&w.alice));
    w.position = id_of(ALICE);
    assert_int_equal(rig_do(w.rig, 0, do_buy, &s), ERR_NOT_FOUND);
    assert_int_equal(count("SELECT count(*) FROM purchases"), 1);
}

/* The campaign ends between the look at it and the count of its positions. */
static void a_campaign_that_ends_meanwhile_reserves_nothing(void **state)
{
    struct step s = { .buyer = &w.alice };

    begin(state);
    count("UPDATE campaigns SET status = 'sold_out'");
    assert_int_equal(rig_do(w.rig, 0, do_buy, &s), ERR_UNPROCESSABLE);
    assert_string_equal(s.operate.why, "The campaign is sold out.");
    assert_int_equal(count("SELECT count(*) FROM positions WHERE status = 'available'"), 2);
}

/* --- D19 --- */

struct ending {
    const struct payment *payment;
    const struct fact *fact;
    int64_t ends_ms;
};

static enum err do_end(struct tx *tx, void *ctx)
{
    struct ending *g = ctx;
    struct taking t = { .payments = &w.payments, .now_ms = now() };

    return purchase_subject.ends(tx, &t, g->payment, g->fact, &g->ends_ms);
}

static int64_t ends(const struct buyer *b, const struct fact *f)
{
    struct ending g = { .payment = &b->payment, .fact = f };

    assert_int_equal(rig_do(w.rig, 0, do_end, &g), OK);
    return g.ends_ms;
}

static void d19_a_card_has_minutes_and_a_slip_says_it_itself(void **state)
{
    const int64_t day = 24 * 3600 * 1000;
    struct fact slip = { .kind = FACT_INTENT, .state = INTENT_ACTION };

    begin(state);
    slip.action_expires_ms = now() + 5 * day;
    assert_int_equal(buy(&w.alice, false), OK);
    assert_int_equal(ends(&w.alice, &succeeded), now() + 60000);
    cancel(&w.alice);
    assert_int_equal(buy(&w.bob, true), OK);
    assert_int_equal(ends(&w.bob, NULL), now() + 60000); /* there is no slip yet */
    assert_int_equal(ends(&w.bob, &slip), slip.action_expires_ms + LIMIT_KONBINI_LATE_MS);
    assert_int_equal(ends(&w.bob, NULL), slip.action_expires_ms + LIMIT_KONBINI_LATE_MS);
}

#define TESTS(ON)                                                                                  \
    {                                                                                              \
        ON(c3_money_makes_it_completed_and_refunds_follow_it),                                     \
            ON(d22_a_refund_that_was_heard_of_first_ends_in_the_same_rows),                        \
            ON(c4_a_failure_frees_it_and_a_later_success_takes_it_back),                           \
            ON(d15_nobody_frees_what_another_one_has), ON(status_only_climbs),                     \
            ON(c2_only_one_has_it_and_the_other_hears_why),                                        \
            ON(a_campaign_that_ends_meanwhile_reserves_nothing),                                   \
            ON(d19_a_card_has_minutes_and_a_slip_says_it_itself),                                  \
    }

int main(void)
{
    const struct CMUnitTest sqlite[] = TESTS(ON_SQLITE);
    const struct CMUnitTest postgres[] = TESTS(ON_POSTGRES);

    return RUN_BOTH(sqlite, postgres);
}
