/* Campaigns on a real store: how they are made, their counters, sold out and drawn once, and what a
 * cancellation does to the purchases. Gateway and notices are stand-ins that note what they were
 * asked for. */
#include "campaign/campaign.h"
#include "campaign/lottery.h"
#include "notify/notification.h"
#include "payment/rows.h"
#include "unit/queue/rig.h"

#define CAMPAIGN "11111111-1111-4111-8111-111111111111"
#define OPERATOR "22222222-2222-4222-8222-222222222222"
#define BUYER "33333333-3333-4333-8333-333333333333"

static struct {
    struct rig *rig;
    struct payments payments;
    int voids, refunds;
    int64_t refunded;
    int won, lost;
} w;

/* Instead of the program's own: the archive's are not taken where the test has one. */
enum err operation_start_own(struct tx *tx, struct payments *p, const struct payment *payment,
                             enum op_kind kind, int64_t amount, struct str cause)
{
    struct operation op = { .id = env_uuid(tx_env(tx)),
                            .payment_id = payment->id,
                            .message_id = env_uuid(tx_env(tx)),
                            .kind = kind,
                            .cause = cause,
                            .gateway_key = S("key"),
                            .amount = kind == OP_REFUND ? amount : -1,
                            .claimed_ms = env_now_ms(p->runtime.env) };

    assert_true(str_eq(cause, S("campaign_cancelled")));
    w.voids += kind == OP_VOID;
    w.refunds += kind == OP_REFUND;
    w.refunded += amount;
    return operation_add(tx, &op);
}

enum err notice_add(struct tx *tx, const struct notifier *by, struct arena *a,
                    const struct notice *n, int64_t now_ms, bool *ret_new)
{
    (void)tx, (void)by, (void)a, (void)now_ms, (void)ret_new;
    assert_true(n->user && n->campaign && n->purchase && n->payment);
    assert_true(uuid_eq(n->subject, *n->purchase));
    w.won += n->type == NOTICE_LOTTERY_WON && n->rank > 0;
    w.lost += n->type == NOTICE_LOTTERY_LOST && !n->rank;
    return OK;
}

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

static void begin(void **state)
{
    static struct job_kind kinds[2];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.payments =
        (struct payments){ .runtime.env = &w.rig->env[0], .runtime.store = w.rig->store[0] };
    kinds[0] = campaign_cancel_kind(&w.payments);
    kinds[1] = draw_kind(&w.payments);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = COUNT(kinds) });
    w.payments.runtime.queue = w.rig->queue[0];
}

static int64_t count(const char *sql)
{
    return sql_int(w.rig, sql);
}

/* --- making --- */

struct put {
    struct campaign_input in;
    enum campaign_put result;
};

static enum err do_put(struct tx *tx, void *ctx)
{
    struct put *p = ctx;

    return campaign_put(tx, &p->in, now(), &p->result);
}

static enum campaign_put put(const char *title, int64_t winners, struct layer_input *layers,
                             size_t n)
{
    struct put p = { .in = { .id = id_of(CAMPAIGN),
                             .created_by = id_of(OPERATOR),
                             .title = str_of(title),
                             .currency = "JPY",
                             .winners = winners,
                             .layers = layers,
                             .layer_count = n } };

    assert_int_equal(rig_do(w.rig, 0, do_put, &p), OK);
    return p.result;
}

static void make(int64_t positions, int64_t winners)
{
    struct layer_input layer = { S("A"), 500, positions };

    assert_int_equal(put("夏祭り", winners, &layer, 1), CAMPAIGN_MADE);
}

static void c1_the_same_content_again_changes_nothing(void **state)
{
    struct layer_input layers[] = { { S("S"), 3000, 2 }, { S("A"), 500, 3 } };
    struct layer_input other[] = { { S("S"), 3000, 3 }, { S("A"), 500, 2 } };
    char before[65], after[65];

    begin(state);
    assert_int_equal(put("x", 1, layers, 2), CAMPAIGN_MADE);
    sql_text(w.rig, "SELECT draw_commitment FROM campaigns", before, sizeof(before));
    assert_int_equal(put("x", 1, layers, 2), CAMPAIGN_UNCHANGED);
    assert_int_equal(put("y", 1, layers, 2), CAMPAIGN_DIFFERS);
    assert_int_equal(put("x", 2, layers, 2), CAMPAIGN_DIFFERS);
    assert_int_equal(put("x", 1, layers, 1), CAMPAIGN_DIFFERS);
    assert_int_equal(put("x", 1, other, 2), CAMPAIGN_DIFFERS);
    sql_text(w.rig, "SELECT draw_commitment FROM campaigns", after, sizeof(after));
    assert_string_equal(before, after);
    assert_int_equal(count("SELECT count(*) FROM campaigns"), 1);
    assert_int_equal(count("SELECT count(*) FROM layers"), 2);
    assert_int_equal(count("SELECT count(DISTINCT number) FROM positions WHERE number"
                           " BETWEEN 1 AND 5 AND status = 'available'"),
                     5);
    assert_int_equal(count("SELECT positions_total FROM campaigns"), 5);
    assert_int_equal(count("SELECT price FROM layers JOIN positions"
                           " ON positions.layer_id = layers.layer_id WHERE number = 2"),
                     3000);
    assert_int_equal(count("SELECT count(*) FROM audit WHERE operation = 'CAMPAIGN_MAKE'"), 1);
}

static void c1_ten_thousand_positions_are_made_in_one_unit(void **state)
{
    struct layer_input layers[] = { { S("S"), 3000, 1 }, { S("A"), 500, 9999 } };

    begin(state);
    assert_int_equal(put("x", 1, layers, 2), CAMPAIGN_MADE);
    assert_int_equal(count("SELECT count(DISTINCT number) FROM positions"), 10000);
    assert_int_equal(count("SELECT max(number) FROM positions"), 10000);
}

/* --- buying, as purchase.c does it --- */

struct sale {
    int64_t number;
    const char *payment; /* status of the payment */
    bool busy, disputed, no_intent;
    bool sell;
};

static struct uuid uuid_at(struct tx *tx, enum stmt stmt, struct uuid key)
{
    struct row row;
    struct uuid id;

    assert_int_equal(TX_ROW(tx, stmt, &row, v_uuid(&key)), OK);
    assert_true(uuid_of_bytes(row.col[0].s, &id));
    return id;
}

static struct uuid position_at(struct tx *tx, int64_t number)
{
    struct uuid campaign = id_of(CAMPAIGN), id;
    struct row row;

    assert_int_equal(TX_ROW(tx, STMT_positions_page, &row, v_uuid(&campaign), V_INT(number - 1),
                            V_TEXT(S("")), V_NULL, V_INT(1)),
                     OK);
    assert_true(uuid_of_bytes(row.col[0].s, &id));
    return id;
}

static enum err add_payment(struct tx *tx, const struct sale *s, struct payment *p)
{
    enum err e = payment_add(tx, p);

    p->version = 1;
    p->captured = p->refunded = MINOR_NONE;
    assert_true(payment_status_parse(str_of(s->payment), &p->status));
    if (p->status == PAYMENT_CAPTURED || p->status == PAYMENT_REFUNDED)
        p->captured.minor = p->money.minor;
    if (p->status == PAYMENT_REFUNDED)
        p->refunded = p->captured;
    if (!s->no_intent)
        p->gateway_transaction_id = S("pi_1");
    p->has_open_op = s->busy;
    p->open_op = p->claim_id;
    p->disputed = s->disputed;
    return e ? e : payment_store(tx, p, now());
}

static enum err sell(struct tx *tx, const struct payment *p, struct uuid campaign,
                     struct uuid position)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_position_sell, &row, V_INT(now()), v_uuid(&position),
                        v_uuid(&p->subject_id));

    if (!e)
        e = TX_DO(tx, STMT_purchase_store, 1, V_TEXT(S("completed")), V_INT(p->money.minor),
                  V_INT(now()), V_INT(now()), V_NULL, V_NULL, V_NULL, V_INT(now()),
                  v_uuid(&p->subject_id));
    if (!e)
        e = campaign_sold(tx, &w.payments, campaign, now());
    return e ? e : campaign_revenue(tx, campaign, p->money.minor, now());
}

static enum err do_sale(struct tx *tx, void *ctx)
{
    const struct sale *s = ctx;
    struct env *env = &w.rig->env[0];
    struct uuid campaign = id_of(CAMPAIGN), position = position_at(tx, s->number);
    struct uuid layer = uuid_at(tx, STMT_campaign_layers, campaign);
    struct payment p = { .id = env_uuid(env),
                         .context = CONTEXT_PURCHASE,
                         .subject_id = env_uuid(env),
                         .user_id = id_of(BUYER),
                         .gateway = S("sandbox"),
                         .idempotency_key = env_uuid(env),
                         .claim_id = env_uuid(env),
                         .created_ms = 1 };
    struct row row;
    enum err e;

    assert_true(money_make(500, S("JPY"), &p.money));
    e = TX_ROW(tx, STMT_position_reserve, &row, v_uuid(&p.user_id), v_uuid(&p.subject_id),
               V_INT(now()), v_uuid(&position));
    if (!e)
        e = campaign_count(tx, campaign, layer, +1, now());
    if (!e)
        e = TX_DO(tx, STMT_purchase_add, 1, v_uuid(&p.subject_id), v_uuid(&campaign),
                  v_uuid(&layer), v_uuid(&position), v_uuid(&p.user_id), v_uuid(&p.id), V_INT(500),
                  V_TEXT(S("JPY")), V_TEXT(S("card")), V_INT(now()), V_INT(now()));
    if (!e)
        e = add_payment(tx, s, &p);
    return e || !s->sell ? e : sell(tx, &p, campaign, position);
}

static enum err sale(struct sale s)
{
    return rig_do(w.rig, 0, do_sale, &s);
}

static void sold(int64_t number)
{
    assert_int_equal(sale((struct sale){ .number = number, .payment = "CAPTURED", .sell = true }),
                     OK);
}

static void is_counted(void)
{
    assert_int_equal(count("SELECT count(*) FROM campaigns c WHERE positions_sold ="
                           " (SELECT count(*) FROM positions WHERE status <> 'available')"
                           " AND positions_paid ="
                           " (SELECT count(*) FROM positions WHERE status = 'sold')"
                           " AND total_revenue = (SELECT coalesce(sum(revenue), 0) FROM purchases)"
                           " AND positions_sold = (SELECT sum(positions_sold) FROM layers)"),
                     1);
}

/* --- counters --- */

struct counting {
    int by;
    enum err (*how)(struct tx *, const struct counting *);
};

static enum err count_one(struct tx *tx, const struct counting *c)
{
    struct uuid campaign = id_of(CAMPAIGN);

    return campaign_count(tx, campaign, uuid_at(tx, STMT_campaign_layers, campaign), c->by, now());
}

static enum err earn(struct tx *tx, const struct counting *c)
{
    return campaign_revenue(tx, id_of(CAMPAIGN), c->by, now());
}

static enum err sell_one(struct tx *tx, const struct counting *c)
{
    (void)c;
    return campaign_sold(tx, &w.payments, id_of(CAMPAIGN), now());
}

static enum err do_counting(struct tx *tx, void *ctx)
{
    const struct counting *c = ctx;

    return c->how(tx, c);
}

static void d14_counters_stay_between_zero_and_all(void **state)
{
    static const struct {
        const char *why;
        struct counting c;
        enum err e;
    } rows[] = {
        { "nothing to release", { -1, count_one }, ERR_CONSTRAINT },
        { "one is reserved", { +1, count_one }, OK },
        { "and one more", { +1, count_one }, OK },
        { "there is no third", { +1, count_one }, ERR_CONSTRAINT },
        { "one is released", { -1, count_one }, OK },
        { "one is sold", { 0, sell_one }, OK },
        { "what is not reserved cannot be sold", { 0, sell_one }, ERR_CONSTRAINT },
        { "what is sold cannot be released", { -1, count_one }, ERR_CONSTRAINT },
        { "revenue", { +500, earn }, OK },
        { "revenue below zero", { -501, earn }, ERR_CONSTRAINT },
        { "all of it", { -500, earn }, OK },
    };

    begin(state);
    make(2, 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct counting c = rows[i].c;
        enum err e = rig_do(w.rig, 0, do_counting, &c);

        if (e != rows[i].e)
            fail_msg("%s: %s", rows[i].why, err_code(e));
    }
    assert_int_equal(count("SELECT positions_sold FROM campaigns"), 1);
    assert_int_equal(count("SELECT positions_paid FROM campaigns"), 1);
    assert_int_equal(count("SELECT positions_sold FROM layers"), 1);
}

static void c3_reserved_is_not_sold_out(void **state)
{
    begin(state);
    make(3, 1);
    sold(1);
    sold(2);
    assert_int_equal(sale((struct sale){ .number = 3, .payment = "PENDING" }), OK);
    assert_int_equal(count("SELECT positions_sold FROM campaigns WHERE status = 'active'"), 3);
    assert_int_equal(count("SELECT count(*) FROM message"), 0);
    is_counted();
}

static void c3_sold_out_once_with_one_draw(void **state)
{
    struct counting again = { 0, sell_one };

    begin(state);
    make(2, 1);
    sold(2);
    sold(1);
    assert_int_equal(count("SELECT count(*) FROM campaigns WHERE status = 'sold_out'"
                           " AND sold_out_at IS NOT NULL"),
                     1);
    assert_int_equal(count("SELECT count(*) FROM message WHERE kind = 'campaign.draw'"), 1);
    assert_int_equal(rig_do(w.rig, 0, do_counting, &again), ERR_UNAVAILABLE);
    assert_int_equal(count("SELECT count(*) FROM message"), 1);
    is_counted();
}

/* --- the draw --- */

static enum err do_draw_later(struct tx *tx, void *ctx)
{
    (void)ctx;
    return draw_later(tx, &w.payments, id_of(CAMPAIGN), now());
}

struct shown {
    struct arena arena;
    struct str text;
};

static enum err do_show(struct tx *tx, void *ctx)
{
    struct shown *s = ctx;

    return draw_json(tx, &s->arena, id_of(CAMPAIGN), &s->text);
}

static void c6_it_is_drawn_once_and_everybody_is_told(void **state)
{
    struct shown s = { 0 };
    char first[65], again[65];

    begin(state);
    arena_init(&s.arena, 1024 * 1024);
    make(120, 3);
    for (int i = 1; i <= 120; i++)
        sold(i);
    assert_int_equal(rig_do(w.rig, 0, do_show, &s), ERR_NOT_FOUND);
    assert_int_equal(rig_do(w.rig, 0, do_draw_later, NULL), OK); /* two messages by mistake */
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
    assert_int_equal(count("SELECT count(*) FROM message"), 0);
    assert_int_equal(count("SELECT count(*) FROM dead_letters"), 0);
    assert_int_equal(count("SELECT count(*) FROM campaigns WHERE status = 'drawn'"
                           " AND drawn_at IS NOT NULL"),
                     1);
    assert_int_equal(count("SELECT entries FROM draws"), 120);
    assert_int_equal(count("SELECT count(*) FROM draw_entries WHERE rank BETWEEN 1 AND 3"), 3);
    assert_int_equal(count("SELECT count(*) FROM draw_entries"), 120);
    assert_int_equal(count("SELECT count(*) FROM audit WHERE operation = 'DRAW'"), 1);
    assert_int_equal(w.won, 3);
    assert_int_equal(w.lost, 117);
    sql_text(w.rig, "SELECT entries_digest FROM draws", first, sizeof(first));
    assert_int_equal(rig_do(w.rig, 0, do_draw_later, NULL), OK);
    rig_settle(w.rig);
    sql_text(w.rig, "SELECT entries_digest FROM draws", again, sizeof(again));
    assert_string_equal(first, again);
    assert_int_equal(w.won + w.lost, 120);
    assert_int_equal(rig_do(w.rig, 0, do_show, &s), OK);
    arena_release(&s.arena);
}

static void c6_who_got_all_his_money_back_does_not_take_part(void **state)
{
    begin(state);
    make(3, 3);
    for (int i = 1; i <= 3; i++)
        sold(i);
    count("UPDATE purchases SET status = 'refunded', revenue = 0 WHERE position_id ="
          " (SELECT position_id FROM positions WHERE number = 2)");
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
    assert_int_equal(count("SELECT count(*) FROM draw_entries"), 2);
    assert_int_equal(count("SELECT count(*) FROM draw_entries WHERE number = 2"), 0);
    assert_int_equal(w.won, 2);
}

/* --- cancelling --- */

static enum err do_cancel(struct tx *tx, void *ctx)
{
    (void)ctx;
    return campaign_cancel(tx, &w.payments, id_of(CAMPAIGN), id_of(OPERATOR), now());
}

/* In one unit: between two, the queue that runs might draw what has just sold out. */
static enum err do_sell_out_and_cancel(struct tx *tx, void *ctx)
{
    enum err e = do_sale(tx, ctx);

    return e ? e : do_cancel(tx, NULL);
}

static void c1_what_a_cancellation_does_to_each_purchase(void **state)
{
    static const struct {
        const char *why;
        struct sale sale;
        int voids, refunds, notes;
        bool stays; /* is looked at again */
    } rows[] = {
        { "an open intent", { .payment = "PENDING" }, 1, 0, 0, true },
        { "no intent", { .payment = "PENDING", .no_intent = true }, 0, 0, 0, false },
        { "sold", { .payment = "CAPTURED", .sell = true }, 0, 1, 0, true },
        { "failed", { .payment = "FAILED" }, 0, 0, 0, false },
        { "refunded", { .payment = "REFUNDED", .sell = true }, 0, 0, 0, false },
        { "disputed", { .payment = "CAPTURED", .sell = true, .disputed = true }, 0, 0, 1, false },
        { "under way", { .payment = "PENDING", .busy = true }, 0, 0, 0, true },
        { "a refund under way",
          { .payment = "CAPTURED", .sell = true, .busy = true },
          0,
          0,
          0,
          true },
    };

    begin(state);
    make(20, 1);
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sale s = rows[i].sale;
        int64_t notes, left;

        count("DELETE FROM purchases");
        count("DELETE FROM message");
        count("UPDATE campaigns SET status = 'active'");
        w.voids = w.refunds = 0;
        notes = count("SELECT count(*) FROM audit WHERE operation = 'CAMPAIGN_CANCELLED'");
        s.number = (int64_t)i + 1;
        assert_int_equal(sale(s), OK);
        assert_int_equal(rig_do(w.rig, 0, do_cancel, NULL), OK);
        rig_settle(w.rig);
        left = count("SELECT count(*) FROM message");
        notes = count("SELECT count(*) FROM audit WHERE operation = 'CAMPAIGN_CANCELLED'") - notes;
        if (w.voids != rows[i].voids || w.refunds != rows[i].refunds || notes != rows[i].notes ||
            left != rows[i].stays)
            fail_msg("%s: %d voids, %d refunds, %d notes, %d messages", rows[i].why, w.voids,
                     w.refunds, (int)notes, (int)left);
    }
}

static void c1_a_long_walk_starts_everything_once(void **state)
{
    begin(state);
    make(300, 1);
    for (int i = 1; i <= 260; i++)
        sold(i);
    for (int i = 261; i <= 299; i++)
        assert_int_equal(sale((struct sale){ .number = i, .payment = "PENDING" }), OK);
    assert_int_equal(sale((struct sale){ .number = 300, .payment = "PENDING", .busy = true }), OK);
    assert_int_equal(rig_do(w.rig, 0, do_cancel, NULL), OK);
    assert_int_equal(rig_do(w.rig, 0, do_cancel, NULL), OK); /* again: nothing */
    assert_int_equal(count("SELECT count(*) FROM message"), 1);
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
    assert_int_equal(w.refunds, 260);
    assert_int_equal(w.refunded, 260 * 500);
    assert_int_equal(w.voids, 39);
    for (int i = 0; i < 10; i++)
        rig_pass(w.rig, 60 * 1000);
    assert_int_equal(w.refunds + w.voids, 299);
    assert_int_equal(count("SELECT count(*) FROM message"),
                     1); /* they are under way, one is busy */
    count("UPDATE payments SET open_op = NULL");
    rig_pass(w.rig, 3600 * 1000);
    assert_int_equal(w.refunds + w.voids, 300);
    count("UPDATE operations SET phase = 'done', result = 'done', ended_at = 1");
    count("UPDATE payments SET status = 'FAILED' WHERE status = 'PENDING'");
    count("UPDATE payments SET status = 'REFUNDED', refunded_amount = captured_amount"
          " WHERE status = 'CAPTURED'");
    rig_pass(w.rig, 3600 * 1000);
    assert_int_equal(w.refunds + w.voids, 300);
    assert_int_equal(count("SELECT count(*) FROM message"), 0);
    assert_int_equal(count("SELECT count(*) FROM dead_letters"), 0);
    is_counted();
}

/* Minutes after the cancellation at which it may have been started so often. */
static void c1_a_refund_that_fails_is_tried_five_times_ever_later(void **state)
{
    static const struct {
        int minute, most;
    } rows[] = { { 1, 2 }, { 8, 2 }, { 70, 3 }, { 120, 4 }, { 500, 4 }, { 1000, 5 }, { 2000, 5 } };
    int minute = 0;

    begin(state);
    make(3, 1);
    sold(1);
    assert_int_equal(rig_do(w.rig, 0, do_cancel, NULL), OK);
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
    assert_int_equal(w.refunds, 1);
    rig_pass(w.rig, 10 * 1000);
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (; minute < rows[i].minute; minute++) {
            count("UPDATE operations SET phase = 'done', result = 'refused', ended_at = 1");
            rig_pass(w.rig, 60 * 1000);
        }
        if (w.refunds > rows[i].most)
            fail_msg("%d tries within %d minutes", w.refunds, minute);
    }
    assert_int_equal(w.refunds, 5);
    assert_int_equal(count("SELECT count(*) FROM audit WHERE operation = 'CAMPAIGN_CANCELLED'"), 1);
    assert_int_equal(count("SELECT count(*) FROM message"), 0);
}

static void c1_nothing_is_reserved_or_sold_once_it_is_cancelled(void **state)
{
    struct counting up = { +1, count_one }, down = { -1, count_one }, one = { 0, sell_one };

    begin(state);
    make(3, 1);
    assert_int_equal(sale((struct sale){ .number = 1, .payment = "PENDING" }), OK);
    assert_int_equal(rig_do(w.rig, 0, do_cancel, NULL), OK);
    assert_int_equal(sale((struct sale){ .number = 2, .payment = "PENDING" }), ERR_UNAVAILABLE);
    assert_int_equal(rig_do(w.rig, 0, do_counting, &up), ERR_UNAVAILABLE);
    assert_int_equal(rig_do(w.rig, 0, do_counting, &one), ERR_UNAVAILABLE);
    is_counted(); /* the layer's counter was rolled back with the rest */
    assert_int_equal(rig_do(w.rig, 0, do_counting, &down), OK);
    assert_int_equal(count("SELECT positions_sold FROM campaigns"), 0);
}

static void c1_drawn_is_not_cancelled_and_cancelled_is_not_drawn(void **state)
{
    struct sale last = { .number = 1, .payment = "CAPTURED", .sell = true };

    begin(state);
    make(1, 1);
    assert_int_equal(rig_do(w.rig, 0, do_draw_later, NULL), OK);
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
    assert_int_equal(count("SELECT count(*) FROM draws"), 0);              /* it is not sold out */
    assert_int_equal(rig_do(w.rig, 0, do_sell_out_and_cancel, &last), OK); /* not drawn yet */
    rig_settle(w.rig);
    assert_int_equal(count("SELECT count(*) FROM draws"), 0);
    assert_int_equal(count("SELECT count(*) FROM campaigns WHERE status = 'cancelled'"), 1);
    assert_int_equal(w.refunds, 1);
    count("UPDATE campaigns SET status = 'drawn'");
    assert_int_equal(rig_do(w.rig, 0, do_cancel, NULL), ERR_UNPROCESSABLE);
    count("DELETE FROM campaigns");
    assert_int_equal(rig_do(w.rig, 0, do_cancel, NULL), ERR_NOT_FOUND);
}

#define TESTS(ON)                                                                                  \
    {                                                                                              \
        ON(c1_the_same_content_again_changes_nothing),                                             \
            ON(c1_ten_thousand_positions_are_made_in_one_unit),                                    \
            ON(d14_counters_stay_between_zero_and_all), ON(c3_reserved_is_not_sold_out),           \
            ON(c3_sold_out_once_with_one_draw), ON(c6_it_is_drawn_once_and_everybody_is_told),     \
            ON(c6_who_got_all_his_money_back_does_not_take_part),                                  \
            ON(c1_what_a_cancellation_does_to_each_purchase),                                      \
            ON(c1_a_long_walk_starts_everything_once),                                             \
            ON(c1_a_refund_that_fails_is_tried_five_times_ever_later),                             \
            ON(c1_nothing_is_reserved_or_sold_once_it_is_cancelled),                               \
            ON(c1_drawn_is_not_cancelled_and_cancelled_is_not_drawn),                              \
    }

int main(void)
{
    const struct CMUnitTest sqlite[] = TESTS(ON_SQLITE);
    const struct CMUnitTest postgres[] = TESTS(ON_POSTGRES);

    return RUN_BOTH(sqlite, postgres);
}
