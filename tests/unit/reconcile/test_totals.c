/* The sums of a day, which hold whatever a provider says: exact, or an error. */
#include "reconcile/run.h"
#include "unit/queue/rig.h"

static struct books_theirs theirs(int64_t received, int64_t refunded, int64_t fee)
{
    return (struct books_theirs){ .known = true,
                                  .state = INTENT_SUCCEEDED,
                                  .currency = "JPY",
                                  .received = { received },
                                  .refunded = { refunded },
                                  .fee = { fee } };
}

static enum err add_theirs(struct totals *t, int64_t received, int64_t refunded, int64_t fee)
{
    struct books_theirs b = theirs(received, refunded, fee);

    return totals_theirs(t, S("stripe"), "theirs", &b);
}

static enum err add_ours(struct totals *t, int64_t captured, int64_t refunded, int64_t fee)
{
    struct our_payment p = { .gateway = S("stripe"),
                             .books = { .known = true,
                                        .money = { .minor = 1000, .currency = "JPY" },
                                        .captured = { captured },
                                        .refunds_done = { refunded },
                                        .fee = { fee } } };

    return totals_ours(t, &p);
}

static void what_was_taken_adds_up_by_side(void **state)
{
    struct totals *t = calloc(1, sizeof(*t));

    (void)state;
    assert_non_null(t);
    assert_int_equal(add_ours(t, 1000, 0, -1), OK);
    assert_int_equal(add_ours(t, -1, 0, -1), OK); /* nothing was taken */
    assert_int_equal(add_ours(t, 700, 300, 25), OK);
    assert_int_equal(add_theirs(t, 1000, -1, -1), OK);
    assert_int_equal(add_theirs(t, 0, 0, 0), OK);
    assert_int_equal(t->count, 2);
    assert_int_equal(t->all[0].payments, 2);
    assert_int_equal(t->all[0].captured.minor, 1700);
    assert_int_equal(t->all[0].refunded.minor, 300);
    assert_int_equal(t->all[0].fees.minor, 25);
    assert_int_equal(t->all[1].payments, 1);
    assert_int_equal(t->all[1].captured.minor, 1000);
    assert_int_equal(t->all[1].refunded.minor, 0);
    free(t);
}

static void a_sum_that_is_too_large_is_an_error(void **state)
{
    static const struct {
        const char *why;
        int64_t received, refunded, fee;
    } rows[] = {
        { "captured", INT64_MAX, 0, 0 },
        { "refunded", 1, INT64_MAX, 0 },
        { "fees", 1, 0, INT64_MAX },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct totals *t = calloc(1, sizeof(*t));

        assert_non_null(t);
        if (add_theirs(t, rows[i].received, rows[i].refunded, rows[i].fee) != OK ||
            add_theirs(t, 1, 1, 1) != ERR_SUM_TOO_LARGE)
            fail_msg("theirs: %s", rows[i].why);
        if (add_ours(t, rows[i].received, rows[i].refunded, rows[i].fee) != OK ||
            add_ours(t, 1, 1, 1) != ERR_SUM_TOO_LARGE)
            fail_msg("ours: %s", rows[i].why);
        free(t);
    }
}

static void refunds_that_are_too_much_are_no_sum(void **state)
{
    struct books_theirs b = { .known = true };
    struct fact f = { .kind = FACT_REFUND, .amount = INT64_MAX, .refund = REFUND_FAILED };

    (void)state;
    assert_true(theirs_add_refund(&b, &f)); /* it never went back */
    f.refund = REFUND_PENDING;
    assert_true(theirs_add_refund(&b, &f));
    assert_false(theirs_add_refund(&b, &f));
    assert_true(b.refunded.minor == INT64_MAX);
}

/* --- the report --- */

static enum err show_large_totals(struct tx *tx, void *ctx)
{
    struct uuid run = env_uuid(tx_env(tx));
    struct arena *a = ctx;
    struct str text;
    struct row row;
    enum err e = TX_ROW(tx, STMT_reconcile_add, &row, V_TEXT(S("2026-11-19")), V_TEXT(S("UTC")),
                        V_INT(1), V_INT(2), V_BLOB(uuid_bytes(&run)), V_TEXT(S("admin")), V_INT(3));

    if (!e)
        e = TX_DO(tx, STMT_reconcile_step, 1, V_TEXT(S("done")), V_TEXT(S("")), V_INT(0), V_INT(0),
                  V_INT(0), V_INT(0), V_INT(0), V_INT(0), V_INT(4), V_INT(4),
                  V_TEXT(S("2026-11-19")), V_BLOB(uuid_bytes(&run)), V_TEXT(S("clear")),
                  V_TEXT(S("")));
    if (!e)
        e = TX_DO(tx, STMT_reconcile_total_add, 1, V_TEXT(S("2026-11-19")), V_TEXT(S("stripe")),
                  V_TEXT(S("theirs")), V_TEXT(S("JPY")), V_INT(2), V_INT(0), V_INT(INT64_MAX),
                  V_INT(INT64_MAX));
    assert_int_equal(e, OK);
    assert_int_equal(reconcile_show(tx, a, S("2026-11-19"), &text), ERR_SUM_TOO_LARGE);
    assert_int_equal(reconcile_show_csv(tx, a, S("2026-11-19"), &text), ERR_SUM_TOO_LARGE);
    return OK;
}

static void a_report_says_no_wrong_net(void **state)
{
    struct rig *r = *state;
    struct arena a;

    arena_init(&a, 1024 * 1024);
    assert_int_equal(rig_do(r, 0, show_large_totals, &a), OK);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest sqlite[] = {
        TEST(what_was_taken_adds_up_by_side),
        TEST(a_sum_that_is_too_large_is_an_error),
        TEST(refunds_that_are_too_much_are_no_sum),
        ON_SQLITE(a_report_says_no_wrong_net),
    };
    const struct CMUnitTest postgres[] = { ON_POSTGRES(a_report_says_no_wrong_net) };

    return RUN_BOTH(sqlite, postgres);
}
