#include "base/str.h"
#include "observe/mask.h"
#include "unit/cm.h"

#include <string.h>

static void card_numbers_are_masked_and_nothing_else(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        { "card 4242424242424242 ok", "card ************4242 ok" },
        { "4242 4242 4242 4242", "**** **** **** 4242" },
        { "5555-5555-5555-4444.", "****-****-****-4444." },
        { "378282246310005", "***********0005" },
        { "4242424242424241", "4242424242424241" },       /* fails Luhn */
        { "pi_4242424242424242", "pi_4242424242424242" }, /* an id */
        { "1760000000000", "1760000000000" },             /* a time in ms */
        { "\"amount\":99999999", "\"amount\":99999999" },
        { "42424242424242424242", "42424242424242424242" }, /* 20 digits */
        { "4242424242424242", "************4242" },
        { "4242-4242-4242-4242-123", "****-****-****-4242-123" }, /* more groups behind it */
        { "12 4242 4242 4242 4242 12", "12 **** **** **** 4242 12" },
        { "2026 4242424242424242", "2026 ************4242" },
        { "", "" },
        { "4", "4" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[64];

        strcpy(text, rows[i].in);
        mask_cards(text, strlen(text));
        assert_string_equal(text, rows[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(card_numbers_are_masked_and_nothing_else) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
