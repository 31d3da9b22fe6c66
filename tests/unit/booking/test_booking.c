/* Bookings: what may change, what a cancellation does to the payment, what a capture makes of the
 * booking. */
#include "booking/booking.h"
#include "payment/rows.h"
#include "unit/queue/rig.h"

#define BOOKING "11111111-1111-4111-8111-111111111111"
#define OWNER "22222222-2222-4222-8222-222222222222"
#define OTHER "33333333-3333-4333-8333-333333333333"

static struct {
    struct rig *rig;
    struct payments payments;
} w;

/* What was started at the gateway for a cancelled booking. */
static int64_t voids(void)
{
    return sql_int(w.rig, "SELECT count(*) FROM operations WHERE kind = 'void'"
                          " AND cause = 'booking_cancelled'");
}

static struct uuid id_of(const char *text)
{
    struct uuid id;

    assert_true(uuid_parse(str_of(text), &id));
    return id;
}

static void begin(void **state)
{
    static struct job_kind kinds[2];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.payments =
        (struct payments){ .runtime.env = &w.rig->env[0], .runtime.store = w.rig->store[0] };
    kinds[0] = booking_confirm_kind(&w.payments);
    kinds[1] = booking_cancelled_kind(&w.payments);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = COUNT(kinds) });
    w.payments.runtime.queue = w.rig->queue[0];
}

/* --- saying things about the booking --- */

struct say {
    const char *status, *user; /* NULL: not said */
    int64_t version;           /* 0: not said */
    bool is_time;              /* the version */
    int64_t amount;            /* 0: not said */
    const char *currency;
    struct booking_result result;
};

static struct booking_change change_of(const struct say *s)
{
    struct booking_change c = { .id = id_of(BOOKING), .version = s->version };

    c.has_version = s->version;
    c.version_is_time = s->is_time;
    c.has_user = s->user;
    if (s->user)
        c.user_id = id_of(s->user);
    c.has_money = s->amount;
    if (s->amount)
        assert_true(money_make(s->amount, str_of(s->currency ? s->currency : "JPY"), &c.money));
    c.has_status = s->status;
    if (s->status)
        assert_true(booking_status_parse(str_of(s->status), &c.status));
    return c;
}

static enum err do_say(struct tx *tx, void *ctx)
{
    struct say *s = ctx;
    struct booking_change c = change_of(s);

    return booking_change(tx, &w.payments, &c, env_now_ms(&w.rig->env[0]), &s->result);
}

static enum booking_put say(struct say s)
{
    assert_int_equal(rig_do(w.rig, 0, do_say, &s), OK);
    return s.result.put;
}

static void is_now(const char *status, int64_t amount, int64_t version)
{
    char text[64], want[64];

    sql_text(w.rig,
             "SELECT status || ' ' || CAST(amount AS TEXT) || ' ' || CAST(version AS TEXT)"
             " FROM bookings",
             text, sizeof(text));
    snprintf(want, sizeof(want), "%s %lld %lld", status, (long long)amount, (long long)version);
    assert_string_equal(text, want);
}

/* --- a payment of it --- */

static enum err do_pay(struct tx *tx, void *ctx)
{
    struct payment p = { .id = env_uuid(&w.rig->env[0]),
                         .context = CONTEXT_BOOKING,
                         .subject_id = id_of(BOOKING),
                         .user_id = id_of(OWNER),
                         .gateway = S("sandbox"),
                         .idempotency_key = env_uuid(&w.rig->env[0]),
                         .claim_id = env_uuid(&w.rig->env[0]),
                         .created_ms = 1 };

    (void)ctx;
    assert_true(money_make(1000, S("JPY"), &p.money));
    return payment_add(tx, &p);
}

static void payment_is(const char *status, bool busy)
{
    char sql[256];

    if (sql_int(w.rig, "SELECT count(*) FROM payments") == 0)
        assert_int_equal(rig_do(w.rig, 0, do_pay, NULL), OK);
    snprintf(sql, sizeof(sql),
             "UPDATE payments SET status = '%s', gateway_transaction_id = 'pi_1',"
             " captured_amount = %s%s",
             status, strcmp(status, "CAPTURED") == 0 ? "1000" : "NULL",
             busy ? ", open_op = claim_id" : ", open_op = NULL");
    sql_int(w.rig, sql);
}

static void start_paid_for(const char *status, bool busy)
{
    assert_int_equal(say((struct say){ .user = OWNER, .amount = 1000, .version = 1 }),
                     BOOKING_STORED);
    payment_is(status, busy);
}

/* --- B1 --- */

static void b1_a_version_only_rises(void **state)
{
    begin(state);
    assert_int_equal(say((struct say){ .user = OWNER, .amount = 1000, .version = 5 }),
                     BOOKING_STORED);
    is_now("PENDING", 1000, 5);
    assert_int_equal(say((struct say){ .user = OWNER, .amount = 900, .version = 4 }),
                     BOOKING_OLDER);
    assert_int_equal(say((struct say){ .user = OWNER, .amount = 900, .version = 5 }),
                     BOOKING_UNCHANGED);
    is_now("PENDING", 1000, 5);
    assert_int_equal(say((struct say){ .user = OTHER, .amount = 900, .version = 6 }),
                     BOOKING_STORED);
    is_now("PENDING", 900, 6);
}

static void b1_without_a_version_it_is_the_newest(void **state)
{
    int64_t now = 1760000000000;

    begin(state);
    say((struct say){ .user = OWNER, .amount = 1000 });
    is_now("PENDING", 1000, now);
    say((struct say){ .user = OWNER, .amount = 1001 }); /* within the same millisecond */
    is_now("PENDING", 1001, now + 1);
    say((struct say){ .user = OWNER, .amount = 1002, .version = now * 2 });
    say((struct say){ .user = OWNER, .amount = 1003 }); /* the sender's numbers are ahead */
    is_now("PENDING", 1003, now * 2 + 1);
}

static void b1_cancelled_is_final(void **state)
{
    begin(state);
    say((struct say){ .user = OWNER, .amount = 1000, .version = 1 });
    assert_int_equal(say((struct say){ .status = "CANCELLED", .version = 2 }), BOOKING_STORED);
    is_now("CANCELLED", 1000, 2);
    assert_int_equal(say((struct say){ .status = "PENDING", .version = 3 }), BOOKING_OLDER);
    assert_int_equal(say((struct say){ .status = "CONFIRMED" }), BOOKING_OLDER);
    is_now("CANCELLED", 1000, 2);
    assert_int_equal(say((struct say){ .amount = 900, .version = 4 }), BOOKING_STORED);
    is_now("CANCELLED", 900, 4);
}

static void b1_a_cancellation_in_the_same_second_counts(void **state)
{
    begin(state);
    say((struct say){ .user = OWNER, .amount = 1000, .version = 1000 });
    assert_int_equal(say((struct say){ .status = "CANCELLED", .version = 1000 }), BOOKING_STORED);
    assert_int_equal(say((struct say){ .status = "CANCELLED", .version = 1000 }),
                     BOOKING_UNCHANGED);
    is_now("CANCELLED", 1000, 1000);
}

static void b1_a_cancellation_is_true_however_late_it_comes(void **state)
{
    begin(state);
    say((struct say){ .user = OWNER, .amount = 1000, .version = 3 });
    assert_int_equal(say((struct say){ .status = "PENDING", .version = 2 }), BOOKING_OLDER);
    assert_int_equal(say((struct say){ .status = "CANCELLED", .amount = 800, .version = 2 }),
                     BOOKING_STORED);
    is_now("CANCELLED", 1000, 3); /* its terms are older than what is known */
    assert_int_equal(say((struct say){ .status = "CANCELLED", .version = 2 }), BOOKING_OLDER);
    assert_int_equal(say((struct say){ .status = "CANCELLED", .version = 3 }), BOOKING_UNCHANGED);
}

static void b1_numbers_and_times_are_not_compared(void **state)
{
    const int64_t now = 1760000000000;

    begin(state);
    say((struct say){ .user = OWNER, .amount = 1000 });
    assert_int_equal(say((struct say){ .amount = 1001, .version = 2 }), BOOKING_STORED);
    is_now("PENDING", 1001, now);
    assert_int_equal(say((struct say){ .amount = 1002, .version = 1 }), BOOKING_OLDER);
    say((struct say){ .amount = 1003 });
    assert_int_equal(say((struct say){ .amount = 1004, .version = 2 }), BOOKING_UNCHANGED);
    assert_int_equal(say((struct say){ .amount = 1005, .version = now - 1, .is_time = true }),
                     BOOKING_OLDER);
    is_now("PENDING", 1003, now + 1);
    assert_int_equal(say((struct say){ .amount = 1006, .version = now + 2, .is_time = true }),
                     BOOKING_STORED);
    assert_int_equal(say((struct say){ .amount = 1007, .version = 3 }), BOOKING_STORED);
    is_now("PENDING", 1007, now + 2);
}

static void b1_what_is_not_said_stays(void **state)
{
    begin(state);
    say((struct say){ .user = OWNER, .amount = 1000, .version = 1, .status = "CONFIRMED" });
    say((struct say){ .user = OWNER, .amount = 1000, .version = 2 });
    is_now("CONFIRMED", 1000, 2);
    say((struct say){ .status = "PENDING", .version = 3 }); /* nothing was captured: it may */
    is_now("PENDING", 1000, 3);
}

static void b1_a_cancellation_of_nothing_known_is_not_found(void **state)
{
    struct say s = { .status = "CANCELLED", .version = 2 };

    begin(state);
    assert_int_equal(rig_do(w.rig, 0, do_say, &s), ERR_NOT_FOUND);
    say((struct say){ .user = OWNER, .amount = 1000, .version = 2, .status = "CANCELLED" });
    is_now("CANCELLED", 1000, 2);
    assert_int_equal(say((struct say){ .user = OWNER, .amount = 1000, .version = 1 }),
                     BOOKING_OLDER);
    is_now("CANCELLED", 1000, 2);
}

static void b1_terms_stand_still_while_money_is_under_way(void **state)
{
    static const struct {
        const char *why, *status;
        struct say say;
        enum booking_put put;
    } rows[] = {
        { "pending", "PENDING", { .amount = 900 }, BOOKING_REFUSED },
        { "authorised", "AUTHORIZED", { .amount = 900 }, BOOKING_REFUSED },
        { "captured", "CAPTURED", { .amount = 900 }, BOOKING_REFUSED },
        { "another currency", "PENDING", { .amount = 1000, .currency = "USD" }, BOOKING_REFUSED },
        { "another owner", "PENDING", { .user = OTHER }, BOOKING_REFUSED },
        { "the same terms", "CAPTURED", { .user = OWNER, .amount = 1000 }, BOOKING_STORED },
        { "failed", "FAILED", { .amount = 1100 }, BOOKING_STORED },
        { "all went back", "REFUNDED", { .amount = 1200 }, BOOKING_STORED },
    };

    begin(state);
    start_paid_for("PENDING", false);
    for (size_t i = 0; i < COUNT(rows); i++) {
        payment_is(rows[i].status, false);
        if (say(rows[i].say) != rows[i].put)
            fail_msg("%s", rows[i].why);
    }
    assert_int_equal(sql_int(w.rig, "SELECT amount FROM bookings"), 1200);
}

static void b1_pending_does_not_undo_a_paid_booking(void **state)
{
    begin(state);
    start_paid_for("CAPTURED", false);
    say((struct say){ .status = "CONFIRMED", .version = 2 });
    assert_int_equal(say((struct say){ .status = "PENDING", .version = 3 }), BOOKING_STORED);
    is_now("CONFIRMED", 1000, 3);
    payment_is("REFUNDED", false);
    say((struct say){ .status = "PENDING", .version = 4 });
    is_now("PENDING", 1000, 4);
}

/* --- D21 --- */

static void cancel(int64_t version)
{
    assert_int_equal(say((struct say){ .status = "CANCELLED", .version = version, .amount = 1 }),
                     BOOKING_STORED);
}

static void d21_what_is_not_captured_is_cancelled_at_the_gateway(void **state)
{
    begin(state);
    start_paid_for("AUTHORIZED", false);
    cancel(2);
    assert_int_equal(voids(), 1);
    is_now("CANCELLED", 1000, 2); /* its terms are the payment's, whatever the event said */
    say((struct say){ .status = "CANCELLED", .version = 3 });
    assert_int_equal(voids(), 1);
}

static void d21_pending_too(void **state)
{
    begin(state);
    start_paid_for("PENDING", false);
    cancel(2);
    assert_int_equal(voids(), 1);
}

static void d21_captured_money_is_left_to_an_operator(void **state)
{
    char log[4096] = "";

    begin(state);
    start_paid_for("CAPTURED", false);
    cancel(2);
    assert_int_equal(voids(), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM audit WHERE payment_id IS NOT NULL"
                                    " AND operation = 'BOOKING_CANCELLED' AND amount = 1000"),
                     1);
    assert_true(pread(w.rig->log_fd, log, sizeof(log) - 1, 0) > 0);
    assert_non_null(strstr(log, "Booking cancelled after capture"));
    is_now("CANCELLED", 1000, 2);
}

static void d21_an_operation_under_way_is_waited_for(void **state)
{
    begin(state);
    start_paid_for("AUTHORIZED", true);
    cancel(2);
    assert_int_equal(voids(), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 1);
    queue_start(w.rig->queue[0]);
    for (int i = 0; i < 20; i++)
        rig_pass(w.rig, 60 * 1000);
    assert_int_equal(voids(), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 1);
    payment_is("AUTHORIZED", false); /* it was a capture that failed, say */
    rig_pass(w.rig, 5 * 60 * 1000);
    assert_int_equal(voids(), 1);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message WHERE kind <> 'op'"), 0);
}

static void d21_money_that_went_back_meanwhile_needs_nothing(void **state)
{
    begin(state);
    start_paid_for("PENDING", true);
    cancel(2);
    payment_is("FAILED", false);
    queue_start(w.rig->queue[0]);
    rig_pass(w.rig, 10 * 1000);
    assert_int_equal(voids(), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 0);
}

/* --- B3 --- */

static enum err do_confirm(struct tx *tx, void *ctx)
{
    (void)ctx;
    return booking_confirm_later(tx, w.payments.runtime.queue, id_of(BOOKING), id_of(OTHER),
                                 env_now_ms(&w.rig->env[0]));
}

static void confirm(void)
{
    assert_int_equal(rig_do(w.rig, 0, do_confirm, NULL), OK);
    rig_pass(w.rig, 10);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM message"), 0);
}

static void b3_a_capture_confirms_the_booking(void **state)
{
    begin(state);
    say((struct say){ .user = OWNER, .amount = 1000, .version = 1 });
    queue_start(w.rig->queue[0]);
    confirm();
    is_now("CONFIRMED", 1000, 1); /* the version is the sender's */
    confirm();
    is_now("CONFIRMED", 1000, 1);
    assert_int_equal(say((struct say){ .user = OWNER, .amount = 1000, .version = 2 }),
                     BOOKING_STORED);
    is_now("CONFIRMED", 1000, 2);
}

static void b3_cancelled_never_becomes_confirmed(void **state)
{
    begin(state);
    say((struct say){ .user = OWNER, .amount = 1000, .version = 1, .status = "CANCELLED" });
    queue_start(w.rig->queue[0]);
    confirm();
    is_now("CANCELLED", 1000, 1);
}

/* --- two at once --- */

struct racer {
    struct unit unit;
    struct rig *rig;
    struct say say;
};

static enum err run_racer(struct tx *tx, struct unit *u)
{
    return do_say(tx, &CONTAINER_OF(u, struct racer, unit)->say);
}

static void racer_done(struct unit *u)
{
    CONTAINER_OF(u, struct racer, unit)->rig->asked--;
}

static void b1_of_many_at_once_the_newest_stands(void **state)
{
    static const struct unit_kind kind = { "test.race", UNIT_FRONT, run_racer, NULL };
    struct racer racers[24] = { 0 };
    int added = 0;

    begin(state);
    for (size_t i = 0; i < COUNT(racers); i++) {
        racers[i] = (struct racer){
            .rig = w.rig,
            .unit = { .kind = &kind, .executor = &w.rig->den.desk.executor, .done = racer_done },
            .say = { .user = OWNER, .amount = (int64_t)i + 1, .version = (int64_t)i * 7 % 24 + 1 },
        };
        w.rig->asked++;
        store_post(w.rig->store[i % RIG_NODES], &racers[i].unit);
    }
    rig_settle(w.rig);
    for (size_t i = 0; i < COUNT(racers); i++) {
        assert_int_equal(racers[i].unit.err, OK);
        added += racers[i].say.result.is_new;
    }
    assert_int_equal(added, 1);
    assert_int_equal(sql_int(w.rig, "SELECT version FROM bookings"), 24);
}

static void a_booking_is_shown_as_the_contract_says(void **state)
{
    struct booking b = { .id = id_of(BOOKING),
                         .user_id = id_of(OWNER),
                         .status = BOOKING_CONFIRMED,
                         .version = 7,
                         .created_ms = 1768728600000,
                         .updated_ms = 1768728600123 };
    struct arena a;
    struct str json;

    (void)state;
    arena_init(&a, 4096);
    assert_true(money_make(1200, S("jpy"), &b.money));
    json = booking_json(&a, &b);
    assert_true(str_eq(json, S("{\"id\":\"" BOOKING "\",\"userId\":\"" OWNER
                               "\",\"amount\":1200,\"currency\":\"JPY\",\"status\":\"CONFIRMED\","
                               "\"version\":7,\"createdAt\":\"2026-01-18T09:30:00.000Z\","
                               "\"updatedAt\":\"2026-01-18T09:30:00.123Z\"}")));
    arena_release(&a);
}

#define ALL(X)                                                                                     \
    X(b1_a_version_only_rises), X(b1_without_a_version_it_is_the_newest),                          \
        X(b1_cancelled_is_final), X(b1_a_cancellation_in_the_same_second_counts),                  \
        X(b1_a_cancellation_is_true_however_late_it_comes),                                        \
        X(b1_numbers_and_times_are_not_compared), X(b1_what_is_not_said_stays),                    \
        X(b1_a_cancellation_of_nothing_known_is_not_found),                                        \
        X(b1_terms_stand_still_while_money_is_under_way),                                          \
        X(b1_pending_does_not_undo_a_paid_booking),                                                \
        X(d21_what_is_not_captured_is_cancelled_at_the_gateway), X(d21_pending_too),               \
        X(d21_captured_money_is_left_to_an_operator), X(d21_an_operation_under_way_is_waited_for), \
        X(d21_money_that_went_back_meanwhile_needs_nothing), X(b3_a_capture_confirms_the_booking), \
        X(b3_cancelled_never_becomes_confirmed), X(b1_of_many_at_once_the_newest_stands),          \
        X(a_booking_is_shown_as_the_contract_says)

int main(void)
{
    static const struct CMUnitTest sqlite[] = { ALL(ON_SQLITE) };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
