/* cause.c - one pass over the reason. A word is a run of letters, digits, _ and -. A word with a
 * digit is an id, a number or a time, and includes further ones joined by . : / , or +, as in
 * 127.0.0.1:8080. */
#include "domain/cause.h"

#include <string.h>

struct cause_writer {
    char *text;
    size_t n;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-';
}

/* False: it does not fit. Callers pass whole characters, so the text is never cut inside of one. */
static bool cause_put(struct cause_writer *w, const char *p, size_t n)
{
    if (w->n + n > CAUSE_TEXT)
        return false;
    memcpy(w->text + w->n, p, n);
    w->n += n;
    return true;
}

static size_t word_length(struct str s)
{
    size_t n = 0;

    while (n < s.n && is_word(s.p[n]))
        n++;
    return n;
}

static bool has_digit(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_digit(p[i]))
            return true;
    return false;
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

/* 0: the text does not begin with a word that has a digit. */
static size_t number_length(struct str s)
{
    size_t n = word_length(s);

    if (!has_digit(s.p, n))
        return 0;
    while (n + 1 < s.n && is_one_of(s.p[n], ".:/,+")) {
        size_t more = word_length((struct str){ s.p + n + 1, s.n - n - 1 });

        if (!has_digit(s.p + n + 1, more))
            break;
        n += 1 + more;
    }
    return n;
}

/* A quote opens only after a non-word character and closes only before one, so "the message's" has
 * none. 0: the text does not begin with a quoted text. */
static size_t quote_length(struct str s, char before)
{
    if (!is_one_of(s.p[0], "\"'`") || is_word(before))
        return 0;
    for (size_t i = 1; i < s.n; i++)
        if (s.p[i] == '\\')
            i++;
        else if (s.p[i] == s.p[0] && (i + 1 == s.n || !is_word(s.p[i + 1])))
            return i + 1;
    return 0;
}

static size_t char_length(struct str s, bool is_utf8)
{
    unsigned char c = (unsigned char)s.p[0];
    size_t n = c < 0xc0 || !is_utf8 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

    return n < s.n ? n : s.n;
}

static bool put_char(struct cause_writer *w, struct str one, bool is_utf8)
{
    unsigned char c = (unsigned char)one.p[0];

    if (c < 0x20 || c == 0x7f)
        return cause_put(w, " ", 1);
    if (c >= 0x80 && !is_utf8)
        return cause_put(w, "?", 1);
    return cause_put(w, one.p, one.n);
}

/* Copies or replaces the next word, number, quote or character. False: it did not fit. */
static bool cause_take(struct cause_writer *w, struct str *s, char before, bool is_utf8)
{
    size_t number = is_word(before) ? 0 : number_length(*s), quote = quote_length(*s, before);
    size_t word = word_length(*s), n = number ? number : quote ? quote : word;
    bool fits = number  ? cause_put(w, "#", 1)
                : quote ? cause_put(w, "\"*\"", 3)
                : word  ? cause_put(w, s->p, word)
                        : put_char(w, (struct str){ s->p, char_length(*s, is_utf8) }, is_utf8);

    n = n ? n : char_length(*s, is_utf8);
    *s = (struct str){ s->p + n, s->n - n };
    return fits;
}

struct str cause_of(struct str reason, char text[CAUSE_TEXT + 1])
{
    struct cause_writer w = { .text = text };
    bool is_utf8 = str_is_utf8(reason);
    struct str rest = str_trim(reason);
    char before = ' ';

    while (rest.n) {
        const char *p = rest.p;

        if (!cause_take(&w, &rest, before, is_utf8))
            break;
        before = *(rest.p > p ? rest.p - 1 : p);
    }
    if (!w.n)
        cause_put(&w, "no reason given", strlen("no reason given"));
    text[w.n] = '\0';
    return (struct str){ text, w.n };
}
