#include "observe/mask.h"

#include <stdbool.h>

enum { CARD_MIN = 13, CARD_MAX = 19, SHOWN = 4, RUN_MAX = 256 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool luhn(char *const *digit, size_t n)
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

/* A group of digits by itself, or groups with one blank or dash between them: where each digit
 * stands. *ret_end is behind the last one looked at. */
static size_t run_of_digits(char *p, char *end, char *digit[RUN_MAX], char **ret_end)
{
    size_t n = 0;

    while (p < end && n < RUN_MAX) {
        if (is_digit(*p))
            digit[n++] = p;
        else if ((*p != ' ' && *p != '-') || p + 1 == end || !is_digit(p[1]))
            break;
        p++;
    }
    *ret_end = p;
    return n;
}

static bool begins_group(char *const *digit, size_t i)
{
    return i == 0 || digit[i] != digit[i - 1] + 1;
}

static bool ends_group(char *const *digit, size_t n, size_t i)
{
    return i + 1 == n || digit[i + 1] != digit[i] + 1;
}

/* A card may have other groups before and behind it ("4242-4242-4242-4242-123"), so every stretch
 * of whole groups is tried, the longest first. Digits within a group are one number: a time in ms
 * that happens to hold a card's digits is left alone. */
static size_t card_at(char *const *digit, size_t n, size_t from)
{
    for (size_t length = CARD_MAX; length >= CARD_MIN; length--)
        if (from + length <= n && ends_group(digit, n, from + length - 1) &&
            luhn(digit + from, length))
            return length;
    return 0;
}

static void mask_run(char *const *digit, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t length = begins_group(digit, i) ? card_at(digit, n, i) : 0;

        for (size_t j = 0; j + SHOWN < length; j++)
            *digit[i + j] = '*';
        if (length)
            i += length - 1;
    }
}

void mask_cards(char *p, size_t n)
{
    char *const begin = p, *const end = p + n;

    while (p < end) {
        char *digit[RUN_MAX];
        char *stop = p + 1;
        size_t count;

        if (!is_digit(*p) || (p > begin && is_word(p[-1]))) { /* part of an id, not a number */
            p++;
            continue;
        }
        count = run_of_digits(p, end, digit, &stop);
        if (!(stop < end && is_word(*stop)))
            mask_run(digit, count);
        p = stop;
    }
}
