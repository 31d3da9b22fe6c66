#include "domain/payment.h"
#include "unit/cm.h"

#include <stdlib.h>
#include <string.h>

/* --- the move, cell by cell ---
 *
 * Written out by hand, not derived from the table under test. A row holds for all flags it does not
 * name; the walk proves that every combination is spoken of by one row and by no second. */

enum flag { NO, YES, ANY };

enum { GIVEN_UP = 1, OPEN = 2, SERVER = 4, DECLINED = 8, FLAGS = 16 }; /* of view() */

enum { PRICE = 1000, PART = 600, OURS = 700 }; /* asked for, received now, captured before */

struct row {
    enum payment_status from;
    enum intent_state says;
    enum flag given_up, open, server, captured, declined;
    enum verdict verdict;
    enum payment_status to;
    int64_t after; /* captured: -1 or an amount */
    bool voided;
};

#define APPLY VERDICT_APPLY
#define SAME VERDICT_SAME
#define LESS VERDICT_SUPERSEDED
#define VOID_IT VERDICT_STRAY_AUTHORIZED
#define REFUND_IT VERDICT_STRAY_SUCCEEDED
#define PENDING PAYMENT_PENDING
#define AUTHORIZED PAYMENT_AUTHORIZED
#define CAPTURED PAYMENT_CAPTURED
#define REFUNDED PAYMENT_REFUNDED
#define FAILED PAYMENT_FAILED

// clang-format off
static const struct row rows[] = {
    /* from      says               given up, open, server, captured, declined  verdict  to  after */
    { PENDING, INTENT_OPEN,         ANY, ANY, ANY, ANY, ANY,   SAME,      PENDING,    -1, false },
    { PENDING, INTENT_ACTION,       ANY, ANY, ANY, ANY, NO,    APPLY,     PENDING,    -1, false },
    { PENDING, INTENT_ACTION,       ANY, ANY, ANY, ANY, YES,   LESS,      PENDING,    -1, false },
    { PENDING, INTENT_DECLINED,     ANY, ANY, YES, ANY, ANY,   APPLY,     FAILED,     -1, false },
    { PENDING, INTENT_DECLINED,     ANY, ANY, NO,  ANY, ANY,   APPLY,     PENDING,    -1, false },
    { PENDING, INTENT_AUTHORIZED,   NO,  YES, ANY, ANY, ANY,   APPLY,     AUTHORIZED, -1, false },
    { PENDING, INTENT_AUTHORIZED,   NO,  NO,  ANY, ANY, ANY,   VOID_IT,   PENDING,    -1, false },
    { PENDING, INTENT_AUTHORIZED,   YES, YES, ANY, ANY, ANY,   VOID_IT,   PENDING,    -1, false },
    { PENDING, INTENT_AUTHORIZED,   YES, NO,  ANY, ANY, ANY,   VOID_IT,   PENDING,    -1, false },
    { PENDING, INTENT_SUCCEEDED,    NO,  YES, ANY, ANY, ANY,   APPLY,     CAPTURED, PART, false },
    { PENDING, INTENT_SUCCEEDED,    NO,  NO,  ANY, ANY, ANY,   REFUND_IT, PENDING,    -1, false },
    { PENDING, INTENT_SUCCEEDED,    YES, YES, ANY, ANY, ANY,   REFUND_IT, PENDING,    -1, false },
    { PENDING, INTENT_SUCCEEDED,    YES, NO,  ANY, ANY, ANY,   REFUND_IT, PENDING,    -1, false },
    { PENDING, INTENT_CANCELED,     ANY, ANY, ANY, ANY, ANY,   APPLY,     FAILED,     -1, false },

    { AUTHORIZED, INTENT_OPEN,       ANY, ANY, ANY, ANY, ANY,   LESS,      AUTHORIZED, -1, false },
    { AUTHORIZED, INTENT_ACTION,     ANY, ANY, ANY, ANY, ANY,   LESS,      AUTHORIZED, -1, false },
    { AUTHORIZED, INTENT_DECLINED,   ANY, ANY, ANY, ANY, ANY,   LESS,      AUTHORIZED, -1, false },
    { AUTHORIZED, INTENT_AUTHORIZED, ANY, ANY, ANY, ANY, ANY,   SAME,      AUTHORIZED, -1, false },
    { AUTHORIZED, INTENT_SUCCEEDED,  ANY, ANY, ANY, ANY, ANY,   APPLY,     CAPTURED, PART, false },
    { AUTHORIZED, INTENT_CANCELED,   ANY, ANY, ANY, ANY, ANY,   APPLY,     REFUNDED,   -1, true },

    { CAPTURED, INTENT_OPEN,       ANY, ANY, ANY, ANY, ANY,   LESS,      CAPTURED, OURS, false },
    { CAPTURED, INTENT_ACTION,     ANY, ANY, ANY, ANY, ANY,   LESS,      CAPTURED, OURS, false },
    { CAPTURED, INTENT_DECLINED,   ANY, ANY, ANY, ANY, ANY,   LESS,      CAPTURED, OURS, false },
    { CAPTURED, INTENT_AUTHORIZED, ANY, ANY, ANY, ANY, ANY,   LESS,      CAPTURED, OURS, false },
    { CAPTURED, INTENT_SUCCEEDED,  ANY, ANY, ANY, ANY, ANY,   SAME,      CAPTURED, OURS, false },
    { CAPTURED, INTENT_CANCELED,   ANY, ANY, ANY, ANY, ANY,   LESS,      CAPTURED, OURS, false },

    { REFUNDED, INTENT_OPEN,       ANY, ANY, ANY, NO, ANY,   LESS,      REFUNDED,   -1, false },
    { REFUNDED, INTENT_ACTION,     ANY, ANY, ANY, NO, ANY,   LESS,      REFUNDED,   -1, false },
    { REFUNDED, INTENT_DECLINED,   ANY, ANY, ANY, NO, ANY,   LESS,      REFUNDED,   -1, false },
    { REFUNDED, INTENT_AUTHORIZED, ANY, ANY, ANY, NO, ANY,   LESS,      REFUNDED,   -1, false },
    { REFUNDED, INTENT_SUCCEEDED,  ANY, ANY, ANY, NO, ANY,   REFUND_IT, REFUNDED,   -1, false },
    { REFUNDED, INTENT_CANCELED,   ANY, ANY, ANY, NO, ANY,   SAME,      REFUNDED,   -1, false },
    { REFUNDED, INTENT_OPEN,       ANY, ANY, ANY, YES, ANY,   LESS,      REFUNDED, OURS, false },
    { REFUNDED, INTENT_ACTION,     ANY, ANY, ANY, YES, ANY,   LESS,      REFUNDED, OURS, false },
    { REFUNDED, INTENT_DECLINED,   ANY, ANY, ANY, YES, ANY,   LESS,      REFUNDED, OURS, false },
    { REFUNDED, INTENT_AUTHORIZED, ANY, ANY, ANY, YES, ANY,   LESS,      REFUNDED, OURS, false },
    { REFUNDED, INTENT_SUCCEEDED,  ANY, ANY, ANY, YES, ANY,   SAME,      REFUNDED, OURS, false },
    { REFUNDED, INTENT_CANCELED,   ANY, ANY, ANY, YES, ANY,   LESS,      REFUNDED, OURS, false },

    { FAILED, INTENT_OPEN,         ANY, ANY, ANY, ANY, ANY,   LESS,      FAILED,     -1, false },
    { FAILED, INTENT_ACTION,       ANY, ANY, ANY, ANY, ANY,   LESS,      FAILED,     -1, false },
    { FAILED, INTENT_DECLINED,     ANY, ANY, ANY, ANY, ANY,   SAME,      FAILED,     -1, false },
    { FAILED, INTENT_AUTHORIZED,   NO,  YES, ANY, ANY, ANY,   APPLY,     AUTHORIZED, -1, false },
    { FAILED, INTENT_AUTHORIZED,   NO,  NO,  ANY, ANY, ANY,   VOID_IT,   FAILED,     -1, false },
    { FAILED, INTENT_AUTHORIZED,   YES, YES, ANY, ANY, ANY,   VOID_IT,   FAILED,     -1, false },
    { FAILED, INTENT_AUTHORIZED,   YES, NO,  ANY, ANY, ANY,   VOID_IT,   FAILED,     -1, false },
    { FAILED, INTENT_SUCCEEDED,    NO,  YES, ANY, ANY, ANY,   APPLY,     CAPTURED, PART, false },
    { FAILED, INTENT_SUCCEEDED,    NO,  NO,  ANY, ANY, ANY,   REFUND_IT, FAILED,     -1, false },
    { FAILED, INTENT_SUCCEEDED,    YES, YES, ANY, ANY, ANY,   REFUND_IT, FAILED,     -1, false },
    { FAILED, INTENT_SUCCEEDED,    YES, NO,  ANY, ANY, ANY,   REFUND_IT, FAILED,     -1, false },
    { FAILED, INTENT_CANCELED,     ANY, ANY, ANY, ANY, ANY,   SAME,      FAILED,     -1, false },
};
// clang-format on

static bool fits(enum flag f, bool value)
{
    return f == ANY || (f == YES) == value;
}

static bool row_fits(const struct row *r, const struct payment_view *p, enum intent_state says)
{
    return r->from == p->status && r->says == says && fits(r->given_up, p->given_up) &&
           fits(r->open, p->subject_open) && fits(r->server, p->server_confirmed) &&
           fits(r->captured, minor_known(p->captured)) && fits(r->declined, p->declined);
}

/* A part of it, where that can be: only what the server confirms is captured in parts (D10). */
static int64_t money_of(const struct payment_view *p)
{
    return p->server_confirmed ? PART : PRICE;
}

static struct fact intent(const struct payment_view *p, enum intent_state says)
{
    return (struct fact){ .kind = FACT_INTENT,
                          .currency = "JPY",
                          .amount = PRICE,
                          .state = says,
                          .received = says == INTENT_SUCCEEDED ? money_of(p) : 0 };
}

static struct payment_view view(enum payment_status s, bool was_captured, unsigned flags)
{
    return (struct payment_view){ .status = s,
                                  .money = { PRICE, "JPY" },
                                  .captured = { was_captured ? OURS : -1 },
                                  .given_up = flags & GIVEN_UP,
                                  .subject_open = flags & OPEN,
                                  .server_confirmed = flags & SERVER,
                                  .declined = flags & DECLINED };
}

static void check_cell(const struct payment_view *p, enum intent_state says)
{
    struct fact f = intent(p, says);
    struct move m = payment_move(p, &f);
    int spoken = 0;

    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!row_fits(&rows[i], p, says))
            continue;
        int64_t after = rows[i].after == PART ? money_of(p) : rows[i].after;

        spoken++;
        if (m.verdict != rows[i].verdict || m.to != rows[i].to || m.captured.minor != after ||
            m.voided != rows[i].voided || m.lapsed)
            fail_msg("row %zu: verdict %d to %s captured %lld", i, (int)m.verdict,
                     payment_status_name(m.to), (long long)m.captured.minor);
    }
    if (spoken != 1)
        fail_msg("%s, intent %d: %d rows speak of it", payment_status_name(p->status), (int)says,
                 spoken);
}

static void every_cell_moves_as_the_contract_says(void **state)
{
    int walked = 0;

    (void)state;
    for (unsigned s = 0; s < PAYMENT_STATUSES; s++)
        for (unsigned says = 0; says < INTENT_STATES; says++)
            for (unsigned flags = 0; flags < FLAGS * 2; flags++) {
                bool was_captured = flags & FLAGS;
                struct payment_view p = view((enum payment_status)s, was_captured, flags);

                if (s != PAYMENT_REFUNDED && was_captured != (s == PAYMENT_CAPTURED))
                    continue; /* the database refuses such a row (D8) */
                check_cell(&p, (enum intent_state)says);
                walked++;
            }
    assert_int_equal(walked, (4 + 2) * INTENT_STATES * FLAGS);
}

static void only_an_expired_authorisation_lapses(void **state)
{
    static const struct {
        const char *reason;
        bool lapsed;
    } reasons[] = {
        { "expired", true },    { "automatic", true },  { "", false },
        { "abandoned", false }, { "duplicate", false }, { "requested_by_customer", false },
        { "expire", false },    { "EXPIRED", false },   { "failed_invoice", false },
    };

    (void)state;
    for (unsigned s = 0; s < PAYMENT_STATUSES; s++)
        for (size_t i = 0; i < COUNT(reasons); i++) {
            struct payment_view p = view((enum payment_status)s, s == PAYMENT_CAPTURED, OPEN);
            struct fact f = intent(&p, INTENT_CANCELED);
            struct move m;

            f.cancel_reason = str_of(reasons[i].reason);
            m = payment_move(&p, &f);
            assert_int_equal(m.voided, s == PAYMENT_AUTHORIZED);
            assert_int_equal(m.lapsed, s == PAYMENT_AUTHORIZED && reasons[i].lapsed);
        }
}

/* --- D10 --- */

static void other_money_than_asked_for_changes_nothing(void **state)
{
    static const struct {
        const char *why, *currency;
        int64_t amount, received;
        bool mismatch, mismatch_if_succeeded;
    } money[] = {
        { "what was asked for", "JPY", PRICE, PRICE, false, false },
        { "a part of it", "JPY", PRICE, 1, false, false },
        { "one too much", "JPY", PRICE, PRICE + 1, true, true },
        { "an intent for one too much", "JPY", PRICE + 1, PRICE, true, true },
        { "an intent for less", "JPY", PRICE - 1, PRICE - 1, false, false },
        { "the intent's amount is not said", "JPY", 0, PRICE, false, false },
        { "the currency is not said", "", PRICE, PRICE, false, false },
        { "another currency", "USD", PRICE, PRICE, true, true },
        { "another currency, nothing received", "USD", 0, 0, true, true },
        { "nothing received", "JPY", PRICE, 0, false, true },
        { "less than nothing received", "JPY", PRICE, -1, true, true },
        { "an intent for less than nothing", "JPY", -1, PRICE, true, true },
        { "very much", "JPY", INT64_MAX, INT64_MAX, true, true },
        { "very little", "JPY", INT64_MIN, INT64_MIN, true, true },
    };

    (void)state;
    for (unsigned cell = 0; cell < PAYMENT_STATUSES * INTENT_STATES; cell++)
        for (size_t i = 0; i < COUNT(money); i++) {
            enum payment_status s = (enum payment_status)(cell / INTENT_STATES);
            enum intent_state says = (enum intent_state)(cell % INTENT_STATES);
            struct payment_view p = view(s, s == PAYMENT_CAPTURED, OPEN | SERVER);
            struct fact f = { .kind = FACT_INTENT,
                              .state = says,
                              .amount = money[i].amount,
                              .received = money[i].received };
            bool dead = says == INTENT_CANCELED && !money[i].received; /* no money is there */
            struct move m;

            memcpy(f.currency, money[i].currency, strlen(money[i].currency));
            m = payment_move(&p, &f);
            if ((m.verdict == VERDICT_MISMATCH) != (says == INTENT_SUCCEEDED
                                                        ? money[i].mismatch_if_succeeded
                                                        : money[i].mismatch && !dead))
                fail_msg("%s, intent %d: %s", payment_status_name(s), (int)says, money[i].why);
            if (m.verdict == VERDICT_MISMATCH)
                assert_true(m.to == s && m.captured.minor == p.captured.minor && !m.voided &&
                            !m.lapsed);
        }
}

static void what_is_received_is_what_was_captured(void **state)
{
    static const int64_t received[] = { 1, 2, PRICE - 1, PRICE };

    (void)state;
    for (unsigned s = PAYMENT_PENDING; s <= PAYMENT_AUTHORIZED; s++)
        for (size_t i = 0; i < COUNT(received); i++) {
            struct payment_view p = view((enum payment_status)s, false, OPEN | SERVER);
            struct fact f = intent(&p, INTENT_SUCCEEDED);
            struct move m;

            f.received = received[i];
            m = payment_move(&p, &f);
            assert_int_equal(m.verdict, VERDICT_APPLY);
            assert_int_equal(m.to, PAYMENT_CAPTURED);
            assert_int_equal(m.captured.minor, received[i]);
        }
}

static void less_is_other_money_where_all_is_captured_at_once(void **state)
{
    static const int64_t received[] = { 0, 1, PRICE - 1, PRICE, PRICE + 1 };

    (void)state;
    for (unsigned s = 0; s < PAYMENT_STATUSES; s++)
        for (size_t i = 0; i < COUNT(received); i++) {
            struct payment_view p = view((enum payment_status)s, s == PAYMENT_CAPTURED, OPEN);
            struct fact f = intent(&p, INTENT_SUCCEEDED);

            f.received = received[i];
            assert_int_equal(payment_move(&p, &f).verdict == VERDICT_MISMATCH,
                             received[i] != PRICE);
        }
}

/* --- E6, E7: what follows from the table, checked over whole histories --- */

static void follow(struct payment_view *p, enum intent_state says, bool *stray)
{
    struct fact f = intent(p, says);
    struct move m = payment_move(p, &f);

    if (m.verdict == VERDICT_APPLY) {
        p->status = m.to;
        p->captured = m.captured;
        p->declined |= says == INTENT_DECLINED; /* it is stored with the failure's words */
    }
    *stray |= m.verdict == VERDICT_STRAY_AUTHORIZED || m.verdict == VERDICT_STRAY_SUCCEEDED;
}

static void the_same_fact_twice_is_no_second_change(void **state)
{
    (void)state;
    for (unsigned cell = 0; cell < PAYMENT_STATUSES * INTENT_STATES * FLAGS; cell++) {
        enum payment_status s = (enum payment_status)(cell / FLAGS / INTENT_STATES);
        enum intent_state says = (enum intent_state)(cell / FLAGS % INTENT_STATES);
        struct payment_view p = view(s, s == PAYMENT_CAPTURED, cell % FLAGS), once;
        bool stray = false, again = false;

        follow(&p, says, &stray);
        once = p;
        follow(&p, says, &again);
        assert_true(p.status == once.status && p.captured.minor == once.captured.minor &&
                    stray == again);
    }
}

/* Heap's algorithm; each order of a real history ends in the same state. */
static void try_orders(enum intent_state *facts, size_t k, size_t n, unsigned flags,
                       enum payment_status end)
{
    struct payment_view p = view(PAYMENT_PENDING, false, flags);
    bool stray = false;

    for (size_t i = 0; k == 1 && i < n; i++)
        follow(&p, facts[i], &stray);
    if (k == 1) {
        assert_int_equal(p.status, end);
        assert_false(stray);
        return;
    }
    for (size_t i = 0; i < k; i++) {
        enum intent_state x = facts[k % 2 ? 0 : i];

        try_orders(facts, k - 1, n, flags, end);
        x = facts[k % 2 ? 0 : i];
        facts[k % 2 ? 0 : i] = facts[k - 1];
        facts[k - 1] = x;
    }
}

static void every_order_of_a_history_ends_the_same(void **state)
{
    static const struct {
        enum intent_state facts[6];
        size_t n;
        enum payment_status end;
    } histories[] = {
        { { INTENT_OPEN, INTENT_ACTION, INTENT_AUTHORIZED, INTENT_SUCCEEDED }, 4, CAPTURED },
        { { INTENT_OPEN, INTENT_DECLINED, INTENT_OPEN, INTENT_AUTHORIZED, INTENT_SUCCEEDED },
          5,
          CAPTURED },
        { { INTENT_OPEN, INTENT_ACTION, INTENT_DECLINED, INTENT_DECLINED, INTENT_SUCCEEDED },
          5,
          CAPTURED },
        { { INTENT_OPEN, INTENT_ACTION, INTENT_DECLINED, INTENT_CANCELED }, 4, FAILED },
        { { INTENT_OPEN, INTENT_ACTION, INTENT_AUTHORIZED, INTENT_AUTHORIZED }, 4, AUTHORIZED },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(histories); i++)
        for (unsigned server = 0; server < 2; server++) {
            enum intent_state facts[6];

            memcpy(facts, histories[i].facts, sizeof(facts));
            try_orders(facts, histories[i].n, histories[i].n, OPEN | (server ? SERVER : 0),
                       histories[i].end);
        }
}

/* Equal seconds are no order: what is left of an action and a decline must not depend on which of
 * them was read first. */
static void e6_a_failed_try_outranks_an_action_in_any_order(void **state)
{
    static const enum intent_state orders[][3] = {
        { INTENT_ACTION, INTENT_DECLINED, INTENT_OPEN },
        { INTENT_ACTION, INTENT_OPEN, INTENT_DECLINED },
        { INTENT_DECLINED, INTENT_ACTION, INTENT_OPEN },
        { INTENT_DECLINED, INTENT_OPEN, INTENT_ACTION },
        { INTENT_OPEN, INTENT_ACTION, INTENT_DECLINED },
        { INTENT_OPEN, INTENT_DECLINED, INTENT_ACTION },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(orders); i++) {
        struct payment_view p = view(PAYMENT_PENDING, false, OPEN);
        enum intent_state shown = INTENT_OPEN;

        for (size_t k = 0; k < COUNT(orders[i]); k++) {
            struct fact f = intent(&p, orders[i][k]);
            bool stray = false;

            if (payment_move(&p, &f).verdict == VERDICT_APPLY)
                shown = orders[i][k];
            follow(&p, orders[i][k], &stray);
        }
        assert_int_equal(p.status, PAYMENT_PENDING);
        assert_int_equal(shown, INTENT_DECLINED);
    }
}

/* --- names, requests, refunds --- */

static void each_status_has_its_name_and_no_other_text_is_one(void **state)
{
    static const char *const names[] = { "PENDING", "AUTHORIZED", "CAPTURED", "REFUNDED",
                                         "FAILED" };
    static const char *const refunds[] = { "pending", "requires_action", "succeeded", "failed",
                                           "canceled" };
    static const char *const wrong[] = {
        "", "Pending", "PENDINGS", "PENDIN", "cancelled", "VOIDED"
    };
    enum payment_status s = PAYMENT_FAILED;
    enum refund_status r = REFUND_FAILED;

    (void)state;
    assert_int_equal(COUNT(names), PAYMENT_STATUSES);
    assert_int_equal(COUNT(refunds), REFUND_STATUSES);
    for (unsigned i = 0; i < COUNT(names); i++) {
        assert_string_equal(payment_status_name((enum payment_status)i), names[i]);
        assert_true(payment_status_parse(str_of(names[i]), &s) && s == i);
        assert_string_equal(refund_status_name((enum refund_status)i), refunds[i]);
        assert_true(refund_status_parse(str_of(refunds[i]), &r) && r == i);
    }
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_true(!payment_status_parse(str_of(wrong[i]), &s) &&
                    !refund_status_parse(str_of(wrong[i]), &r));
    assert_true(s == PAYMENT_FAILED && r == REFUND_CANCELED);
}

static void d16_each_context_has_its_name_and_no_other_text_is_one(void **state)
{
    static const char *const names[] = { "booking", "purchase", "participant" };
    static const char *const wrong[] = { "", "Booking", "bookings", "book", "subject" };
    enum payment_context c = CONTEXT_PARTICIPANT;

    (void)state;
    assert_int_equal(COUNT(names), PAYMENT_CONTEXTS);
    for (unsigned i = 0; i < COUNT(names); i++) {
        assert_string_equal(payment_context_name((enum payment_context)i), names[i]);
        assert_true(payment_context_parse(str_of(names[i]), &c) && c == i);
    }
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_false(payment_context_parse(str_of(wrong[i]), &c));
    assert_int_equal(c, CONTEXT_PARTICIPANT);
}

static void the_api_may_ask_for_what_the_state_allows(void **state)
{
    static const bool may[PAYMENT_STATUSES][PAYMENT_REQUESTS] = {
        /* capture refund void */
        { false, false, true },  /* PENDING */
        { true, false, true },   /* AUTHORIZED */
        { false, true, false },  /* CAPTURED */
        { false, false, false }, /* REFUNDED */
        { false, false, false }, /* FAILED */
    };

    (void)state;
    for (unsigned s = 0; s < PAYMENT_STATUSES; s++)
        for (unsigned r = 0; r < PAYMENT_REQUESTS; r++)
            if (payment_allows((enum payment_status)s, (enum payment_request)r) != may[s][r])
                fail_msg("%s, request %u", payment_status_name((enum payment_status)s), r);
}

static void a_refund_moves_only_as_the_contract_says(void **state)
{
    static const bool may[REFUND_STATUSES][REFUND_STATUSES] = {
        /* pending action succeeded failed canceled */
        { false, true, true, true, true },     /* pending */
        { true, false, true, true, true },     /* requires_action */
        { false, false, false, true, false },  /* succeeded: the one descent */
        { false, false, false, false, false }, /* failed */
        { false, false, false, false, false }, /* canceled */
    };

    (void)state;
    for (unsigned from = 0; from < REFUND_STATUSES; from++)
        for (unsigned to = 0; to < REFUND_STATUSES; to++)
            if (refund_moves((enum refund_status)from, (enum refund_status)to) != may[from][to])
                fail_msg("%s to %s", refund_status_name((enum refund_status)from),
                         refund_status_name((enum refund_status)to));
}

static void no_more_goes_back_than_was_captured(void **state)
{
    static const struct {
        struct minor captured, reserved;
        int64_t available;
    } sums[] = {
        { { 1000 }, { 0 }, 1000 },   { { 1000 }, { 1 }, 999 },
        { { 1000 }, { 999 }, 1 },    { { 1000 }, { 1000 }, 0 },
        { { 1000 }, { 1001 }, 0 },   { { 1 }, { 0 }, 1 },
        { { 0 }, { 0 }, 0 },         { { -1 }, { 0 }, 0 },
        { { -1 }, { 5 }, 0 },        { { INT64_MAX }, { 0 }, INT64_MAX },
        { { 0 }, { INT64_MAX }, 0 }, { { -1 }, { INT64_MAX }, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(sums); i++)
        assert_int_equal(refund_available(sums[i].captured, sums[i].reserved), sums[i].available);
}

static void the_sums_of_a_payment_fit_into_each_other(void **state)
{
    static const struct {
        const char *why;
        int64_t captured, refunded;
        bool fits;
    } sums[] = {
        { "nothing was captured", -1, -1, true },
        { "nothing was captured, but it went back", -1, 1, false },
        { "nothing is not captured", 0, -1, false },
        { "in part", 1, -1, true },
        { "the whole, and all of it went back", 1000, 1000, true },
        { "more than the whole", 1001, -1, false },
        { "nothing of it went back", 1000, 0, true },
        { "more went back than came", 700, 701, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(sums); i++)
        if (payment_sums_fit((struct money){ 1000, "JPY" }, (struct minor){ sums[i].captured },
                             (struct minor){ sums[i].refunded }) != sums[i].fits)
            fail_msg("%s", sums[i].why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_sums_of_a_payment_fit_into_each_other),
        TEST(every_cell_moves_as_the_contract_says),
        TEST(only_an_expired_authorisation_lapses),
        TEST(other_money_than_asked_for_changes_nothing),
        TEST(what_is_received_is_what_was_captured),
        TEST(less_is_other_money_where_all_is_captured_at_once),
        TEST(the_same_fact_twice_is_no_second_change),
        TEST(every_order_of_a_history_ends_the_same),
        TEST(e6_a_failed_try_outranks_an_action_in_any_order),
        TEST(each_status_has_its_name_and_no_other_text_is_one),
        TEST(d16_each_context_has_its_name_and_no_other_text_is_one),
        TEST(the_api_may_ask_for_what_the_state_allows),
        TEST(a_refund_moves_only_as_the_contract_says),
        TEST(no_more_goes_back_than_was_captured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
