#include "base/text.h"

#include <string.h>
#include <time.h>

#define YEAR_10000_S INT64_C(253402300800)

static void base_text_digits(char *p, int value, int count)
{
    for (int i = count; i-- > 0; value /= 10)
        p[i] = (char)('0' + value % 10);
}

void time_text(int64_t ms, char text[TIME_TEXT + 1])
{
    static const char form[TIME_TEXT + 1] = "0000-00-00T00:00:00.000Z";
    struct tm tm = { 0 };
    time_t s;

    if (ms < 0)
        ms = 0;
    if (ms / 1000 >= YEAR_10000_S)
        ms = YEAR_10000_S * 1000 - 1;
    s = (time_t)(ms / 1000);
    gmtime_r(&s, &tm);
    memcpy(text, form, sizeof(form));
    base_text_digits(text, tm.tm_year + 1900, 4);
    base_text_digits(text + 5, tm.tm_mon + 1, 2);
    base_text_digits(text + 8, tm.tm_mday, 2);
    base_text_digits(text + 11, tm.tm_hour, 2);
    base_text_digits(text + 14, tm.tm_min, 2);
    base_text_digits(text + 17, tm.tm_sec, 2);
    base_text_digits(text + 20, (int)(ms % 1000), 3);
}

struct str cut_utf8(struct str s, size_t max_chars)
{
    size_t chars = 0, i = 0;

    while (i < s.n) {
        if (((unsigned char)s.p[i] & 0xc0) != 0x80 && chars++ == max_chars)
            break;
        i++;
    }
    return (struct str){ s.p, i };
}
