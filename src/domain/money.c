#include "domain/money.h"

#include <assert.h>
#include <string.h>

bool money_make(int64_t minor, struct str currency, struct money *ret_money)
{
    struct money m = { .minor = minor };

    if (minor < 1 || minor > MONEY_MAX || !currency_parse(currency, m.currency))
        return false;
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

/* The last step of every sum: nothing below 0 leaves this file. */
static bool domain_money_settle(struct money like, int64_t minor, struct money *ret_money)
{
    if (minor < 0)
        return false;
    like.minor = minor;
    *ret_money = like;
    return true;
}

bool money_add(struct money a, struct money b, struct money *ret_sum)
{
    int64_t sum;

    return money_same_currency(a, b) && !__builtin_add_overflow(a.minor, b.minor, &sum) &&
           domain_money_settle(a, sum, ret_sum);
}

bool money_sub(struct money a, struct money b, struct money *ret_rest)
{
    int64_t rest;

    return money_same_currency(a, b) && !__builtin_sub_overflow(a.minor, b.minor, &rest) &&
           domain_money_settle(a, rest, ret_rest);
}

int money_cmp(struct money a, struct money b)
{
    assert(money_same_currency(a, b));
    return (a.minor > b.minor) - (a.minor < b.minor);
}
