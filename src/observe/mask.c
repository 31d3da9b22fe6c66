/* mask.c - finds card numbers, values after names of card data, and ids of a provider in any text,
 * and overwrites them in place. The length never changes, and JSON stays JSON. */
#include "observe/mask.h"

#include "base/uuid.h"

#include <string.h>

enum { CARD_MIN = 13, CARD_MAX = 19, SHOWN = 4, RUN_MAX = 256 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool mask_luhn(char *const *digit, size_t n)
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

/* Collects the places of the digits of one group, or of groups with one blank or dash between them.
 * *ret_end is after the last byte that was read. */
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

/* Other groups may stand before and after a card number ("4242-4242-4242-4242-123"), so every run
 * of whole groups is tried, the longest first. A group is never split: a time in ms that happens to
 * contain the digits of a card is not masked. */
static size_t card_at(char *const *digit, size_t n, size_t from)
{
    for (size_t length = CARD_MAX; length >= CARD_MIN; length--)
        if (from + length <= n && ends_group(digit, n, from + length - 1) &&
            mask_luhn(digit + from, length))
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

/* --- JSON, as it is or within a string --- */

static bool is_one_of(char c, const char *these)
{
    return c && strchr(these, c);
}

static bool is_hex(char c)
{
    return is_digit(c) || is_one_of(c, "abcdefABCDEF");
}

/* Skips the backslashes at p and the letter that they escape: in "card\\n4242" the n is no letter
 * of a word. A text may be a string of JSON inside JSON, so there may be many backslashes. */
static char *after_escape(char *p, char *end)
{
    while (p < end && *p == '\\')
        p++;
    if (end - p >= 5 && *p == 'u' && is_hex(p[1]) && is_hex(p[2]) && is_hex(p[3]) && is_hex(p[4]))
        return p + 5;
    return p < end && is_one_of(*p, "bfnrt") ? p + 1 : p;
}

struct mask_range {
    char *from, *stop;
};

/* The range of the number at p if it is a JSON value, between ':', '[' or ',' and ',', '}' or ']',
 * where stars would not be JSON. Otherwise an empty range. */
static struct mask_range bare_number(char *begin, char *p, char *end)
{
    static const char letters[] = "0123456789+-.eE", blanks[] = " \t\r\n";
    struct mask_range n = { p, p };
    char *before, *behind;

    while (n.from > begin && is_one_of(n.from[-1], letters))
        n.from--;
    while (n.stop < end && is_one_of(*n.stop, letters))
        n.stop++;
    for (before = n.from; before > begin && is_one_of(before[-1], blanks);)
        before--;
    for (behind = n.stop; behind < end && is_one_of(*behind, blanks);)
        behind++;
    if (before == begin || !is_one_of(before[-1], ":[,") || behind == end ||
        !is_one_of(*behind, ",}]"))
        return (struct mask_range){ 0 };
    return n;
}

static char *blot_number(struct mask_range n)
{
    memset(n.from, ' ', (size_t)(n.stop - n.from));
    n.stop[-1] = '0';
    return n.stop;
}

/* --- numbers --- */

static size_t without_last_group(char *const *digit, size_t n)
{
    while (n && !begins_group(digit, n - 1))
        n--;
    return n ? n - 1 : 0;
}

static bool has_card(char *const *digit, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (begins_group(digit, i) && card_at(digit, n, i))
            return true;
    return false;
}

/* The last group does not count where a letter follows it: "3rd", "01T00:00". Returns the place
 * after the number. */
static char *mask_number(char *begin, char *p, char *end)
{
    char *digit[RUN_MAX], *stop;
    size_t count = run_of_digits(p, end, digit, &stop);
    struct mask_range bare = { 0 };

    if (count >= CARD_MIN && has_card(digit, count))
        bare = bare_number(begin, p, end);
    if (bare.from)
        return blot_number(bare);
    if (stop < end && is_word(*stop))
        count = without_last_group(digit, count);
    mask_run(digit, count);
    return stop;
}

/* Our ids have groups of digits too, and some of them pass for card numbers. */
static bool is_uuid(const char *p, const char *end)
{
    struct uuid id;

    return end - p >= UUID_TEXT && p[8] == '-' && uuid_parse((struct str){ p, UUID_TEXT }, &id) &&
           (end - p == UUID_TEXT || !is_word(p[UUID_TEXT]));
}

void mask_cards(char *p, size_t n)
{
    char *const begin = p, *const end = p + n;
    bool in_word = false; /* part of an id, not a number */

    while (p < end) {
        if (*p == '\\') {
            p = after_escape(p, end);
            in_word = false;
        } else if (!in_word && is_uuid(p, end)) {
            p += UUID_TEXT;
        } else if (is_digit(*p) && !in_word) {
            p = mask_number(begin, p, end);
            in_word = true;
        } else {
            in_word = is_word(*p++);
        }
    }
}

/* --- by name --- */

enum { NAME_MAX_LETTERS = 24 };

bool mask_is_card_name(struct str name)
{
    static const char *const names[] = {
        "cardcvc",
        "cardcvv",
        "cardexpiry",
        "cardexpmonth",
        "cardexpyear",
        "cardnumber",
        "cardpan",
        "cvc",
        "cvc2",
        "cvccode",
        "cvv",
        "cvv2",
        "cvvcode",
        "expdate",
        "expiration",
        "expirationdate",
        "expirationmonth",
        "expirationyear",
        "expiry",
        "expirydate",
        "expirymonth",
        "expiryyear",
        "expmonth",
        "expyear",
        "pan",
        "securitycode",
    };
    char plain[NAME_MAX_LETTERS + 1];
    size_t n = 0;

    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (c == '_' || c == '-')
            continue;
        if (n == NAME_MAX_LETTERS)
            return false;
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        plain[n++] = c;
    }
    plain[n] = '\0';
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(plain, names[i]) == 0)
            return true;
    return false;
}

static char *mask_skip(char *p, char *end, const char *these)
{
    while (p < end && (*p == '\\' || is_one_of(*p, these)))
        p = *p == '\\' ? after_escape(p, end) : p + 1;
    return p;
}

static char *end_of_word(char *p, char *end)
{
    while (p < end && (is_word(*p) || *p == '-'))
        p++;
    return p;
}

/* 12/34, 1234 5678 */
static bool is_between_digits(const char *p, const char *end)
{
    return *p && strchr("/-. ", *p) && p + 1 < end && is_digit(p[1]);
}

static bool is_harmless(struct str word)
{
    return str_eq(word, S("null")) || str_eq(word, S("true")) || str_eq(word, S("false"));
}

/* Masks the value that begins at p and returns the place after it. Words like null tell nothing and
 * stay, so that the text stays JSON. */
static char *mask_blot(char *begin, char *p, char *end)
{
    char *stop = p;
    struct mask_range bare = { 0 };

    while (stop < end && (is_word(*stop) || is_between_digits(stop, end)))
        stop++;
    if (stop == p || is_harmless((struct str){ p, (size_t)(stop - p) }))
        return stop;
    if (is_digit(*p) || *p == '-')
        bare = bare_number(begin, p, end);
    if (bare.from)
        return blot_number(bare);
    for (char *c = p; c < stop; c++)
        if (is_word(*c))
            *c = '*';
    return stop;
}

/* Masks the numbers of an object like {"month":12,"year":34}. */
static char *blot_object(char *begin, char *p, char *end)
{
    bool in_word = false;

    while (p < end && *p != '}') {
        bool escape = *p == '\\', number = !in_word && is_digit(*p);

        in_word = !escape && is_word(*p);
        p = escape ? after_escape(p, end) : number ? mask_blot(begin, p, end) : p + 1;
    }
    return p;
}

static char *after_name(char *begin, char *p, char *end)
{
    char *value = mask_skip(p, end, "\"'] \t\r\n");

    if (value == end || (*value != ':' && *value != '='))
        return p;
    value = mask_skip(value + 1, end, "\"' \t\r\n");
    if (value < end && *value == '{')
        return blot_object(begin, value, end);
    return mask_blot(begin, value, end);
}

void mask_named(char *p, size_t n)
{
    char *const begin = p, *const end = p + n;

    while (p < end) {
        char *stop;

        if (!is_word(*p)) {
            p = *p == '\\' ? after_escape(p, end) : p + 1;
            continue;
        }
        stop = end_of_word(p, end);
        if (is_one_of(*p, "cCeEpPsS") && mask_is_card_name((struct str){ p, (size_t)(stop - p) }))
            stop = after_name(begin, stop, end);
        p = stop;
    }
}

/* --- ids --- */

enum { PREFIX_MIN = 2, PREFIX_MAX = 6, ID_MIN = 8 };

static size_t prefix_of(struct str word)
{
    size_t n = 0;

    while (n < word.n && word.p[n] >= 'a' && word.p[n] <= 'z')
        n++;
    return n >= PREFIX_MIN && n <= PREFIX_MAX && n < word.n && word.p[n] == '_' ? n : 0;
}

/* True for a part of at least eight letters that has a digit or a capital; "card_declined" has
 * none. */
static bool has_random_part(struct str rest)
{
    while (rest.n) {
        struct str part = str_cut(&rest, '_');
        bool random = false;

        for (size_t i = 0; i < part.n; i++)
            random |= part.p[i] < 'a' || part.p[i] > 'z';
        if (random && part.n >= ID_MIN)
            return true;
    }
    return false;
}

void mask_ids(char *p, size_t n)
{
    char *const end = p + n;

    while (p < end) {
        struct str word = { p, 0 };
        size_t prefix;

        while (p + word.n < end && is_word(p[word.n]))
            word.n++;
        prefix = prefix_of(word);
        if (prefix && has_random_part((struct str){ p + prefix + 1, word.n - prefix - 1 }))
            memset(p + prefix + 1, '*', word.n - prefix - 1);
        p += word.n ? word.n : 1;
    }
}
