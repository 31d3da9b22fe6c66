/* money.c - the arithmetic on amounts: every sum is exact or reports overflow. */
#include "domain/money.h"

#include "base/json/write.h"

#include <stdio.h>
#include <string.h>

bool money_make(int64_t minor, struct str currency, struct money *ret_money)
{
    struct money m = { .minor = minor };

    if (minor < 1 || minor > MONEY_MAX || !currency_parse(currency, m.currency))
        return false;
    *ret_money = m;
    return true;
}

bool money_stored(int64_t minor, struct str currency, struct money *ret_money)
{
    struct money m = { .minor = minor };

    if (currency.n != sizeof(m.currency) - 1)
        return false;
    memcpy(m.currency, currency.p, currency.n);
    *ret_money = m;
    return true;
}

bool money_same_currency(struct money a, struct money b)
{
    return strncmp(a.currency, b.currency, sizeof(a.currency)) == 0;
}

bool money_eq(struct money a, struct money b)
{
    return a.minor == b.minor && money_same_currency(a, b);
}

bool money_covers(struct money whole, int64_t part)
{
    return part >= 0 && part <= whole.minor;
}

/* --- without a currency --- */

int minor_cmp(struct minor a, struct minor b)
{
    int64_t x = minor_or_0(a), y = minor_or_0(b);

    return (x > y) - (x < y);
}

bool minor_add(struct minor *sum, struct minor more)
{
    int64_t total;

    if (__builtin_add_overflow(minor_or_0(*sum), minor_or_0(more), &total))
        return false;
    sum->minor = total;
    return true;
}

int64_t minor_change(struct minor from, struct minor to)
{
    return minor_or_0(to) - minor_or_0(from); /* neither is below 0: no overflow */
}

bool minor_net(struct minor taken, struct minor given_back, struct minor fees, int64_t *ret_net)
{
    int64_t net;

    if (__builtin_sub_overflow(minor_change(given_back, taken), minor_or_0(fees), &net))
        return false;
    *ret_net = net;
    return true;
}

/* --- for people and programs --- */

/* Writes the digits from the last to the first. */
void money_text(int64_t minor, const char *currency, char ret_text[MONEY_TEXT])
{
    int digits = currency_digits(currency), written = 0;
    uint64_t left = minor < 0 ? 0 - (uint64_t)minor : (uint64_t)minor;
    char text[MONEY_TEXT];
    size_t at = sizeof(text) - 1;

    digits = digits > 0 ? digits : 0;
    text[at] = '\0';
    for (; left || written <= digits; written++, left /= 10) {
        if (digits && written == digits)
            text[--at] = '.';
        else if (written > digits && (written - digits) % 3 == 0)
            text[--at] = ',';
        text[--at] = (char)('0' + left % 10);
    }
    snprintf(ret_text, MONEY_TEXT, "%s%s", minor < 0 ? "-" : "", text + at);
}

void money_out(struct buf *b, struct money m)
{
    out_int(b, "amount", m.minor);
    out_text(b, "currency", str_of(m.currency));
}

void minor_out(struct buf *b, const char *name, struct minor m)
{
    if (m.minor >= 0)
        out_int(b, name, m.minor);
    else
        out_json(b, name, S("null"));
}
