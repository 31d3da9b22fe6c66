#include "base/hex.h"
#include "base/str.h"
#include "unit/cm.h"

#include <string.h>

static void every_byte_is_a_digit_or_is_not(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        const char *lower = "0123456789abcdef", *at = c ? strchr(lower, c) : NULL;
        bool upper = c >= 'A' && c <= 'F';

        assert_int_equal(hex_value_lower((char)c), at ? at - lower : -1);
        assert_int_equal(hex_value((char)c), upper ? c - 'A' + 10 : at ? at - lower : -1);
    }
}

static void bytes_are_written_in_lower_case(void **state)
{
    const unsigned char bytes[] = { 0x00, 0x9a, 0xff };
    char text[7] = "......";

    (void)state;
    assert_ptr_equal(hex_put(text, bytes, sizeof(bytes)), text + 6);
    assert_string_equal(text, "009aff");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_byte_is_a_digit_or_is_not),
        TEST(bytes_are_written_in_lower_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
