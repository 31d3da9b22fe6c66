#include "observe/mask.h"

#include <stdbool.h>

enum { CARD_MIN = 13, CARD_MAX = 19 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool luhn(const char *const *digit, size_t n)
{
    int sum = 0;

    for (size_t i = 0; i < n; i++) {
        int d = *digit[n - 1 - i] - '0';

        if (i % 2 == 1)
            d = d > 4 ? d * 2 - 9 : d * 2;
        sum += d;
    }
    return sum % 10 == 0;
}

/* The run of digits that begins at p: where each digit stands, how many there are, where it ends.
 */
static size_t run_of_digits(char *p, char *end, char *digit[CARD_MAX + 1], char **ret_end)
{
    size_t n = 0;

    while (p < end) {
        if (is_digit(*p)) {
            if (n <= CARD_MAX)
                digit[n] = p;
            n += n <= CARD_MAX;
            *ret_end = p + 1;
        } else if ((*p != ' ' && *p != '-') || p + 1 == end || !is_digit(p[1])) {
            break;
        }
        p++;
    }
    return n;
}

void mask_cards(char *p, size_t n)
{
    char *const begin = p, *const end = p + n;

    while (p < end) {
        char *digit[CARD_MAX + 1];
        char *stop = p + 1;
        size_t count;

        if (!is_digit(*p) || (p > begin && is_word(p[-1]))) { /* part of an id, not a number */
            p++;
            continue;
        }
        count = run_of_digits(p, end, digit, &stop);
        if (count >= CARD_MIN && count <= CARD_MAX && !(stop < end && is_word(*stop)) &&
            luhn((const char *const *)digit, count))
            for (size_t i = 0; i + 4 < count; i++)
                *digit[i] = '*';
        p = stop;
    }
}
