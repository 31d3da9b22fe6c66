/* Whether a line pays a transfer: the whole table. */
#include "domain/bank_match.h"
#include "unit/cm.h"

static void a_line_pays_by_reference_and_exact_amount_or_is_left(void **state)
{
    static const struct {
        const char *why;
        struct bank_view view;
        enum bank_match want;
    } rows[] = {
        { "nothing that could be a reference", { .has_digits = false }, BANK_NO_REFERENCE },
        { "digits that are none", { .has_digits = true }, BANK_UNKNOWN_REFERENCE },
        { "two known ones",
          { true, 2, TRANSFER_OPEN, false, true, 5, 5 },
          BANK_SEVERAL_REFERENCES },
        { "the money it waits for", { true, 1, TRANSFER_OPEN, false, true, 5, 5 }, BANK_TAKE },
        { "too little", { true, 1, TRANSFER_OPEN, false, true, 4, 5 }, BANK_TOO_LITTLE },
        { "too much", { true, 1, TRANSFER_OPEN, false, true, 6, 5 }, BANK_TOO_MUCH },
        { "another currency", { true, 1, TRANSFER_OPEN, false, false, 5, 5 }, BANK_OTHER_CURRENCY },
        { "paid by another line",
          { true, 1, TRANSFER_RECEIVED, true, true, 5, 5 },
          BANK_ALREADY_PAID },
        { "paid, and another amount",
          { true, 1, TRANSFER_RECEIVED, false, true, 4, 5 },
          BANK_ALREADY_PAID },
        { "an operator had said so",
          { true, 1, TRANSFER_RECEIVED, false, true, 5, 5 },
          BANK_EXPLAIN },
        { "the same for what goes back",
          { true, 1, TRANSFER_RETURNING, false, true, 5, 5 },
          BANK_EXPLAIN },
        { "came back once already",
          { true, 1, TRANSFER_RETURNING, true, true, 5, 5 },
          BANK_ALREADY_PAID },
        { "too late", { true, 1, TRANSFER_CANCELED, false, true, 5, 5 }, BANK_PAYMENT_ENDED },
        { "too late, and another amount",
          { true, 1, TRANSFER_CANCELED, false, true, 6, 5 },
          BANK_PAYMENT_ENDED },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum bank_match got = bank_match(&rows[i].view);

        if (got != rows[i].want)
            fail_msg("%s: %s", rows[i].why, bank_match_name(got));
    }
}

static void states_are_written_and_read(void **state)
{
    (void)state;
    for (int i = 0; i < TRANSFER_STATES; i++) {
        enum transfer_state s = TRANSFER_STATES;

        assert_true(transfer_state_parse(str_of(transfer_state_name((enum transfer_state)i)), &s));
        assert_int_equal(s, i);
    }
    assert_false(transfer_state_parse(S("OPEN"), &(enum transfer_state){ 0 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_pays_by_reference_and_exact_amount_or_is_left),
        cmocka_unit_test(states_are_written_and_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
