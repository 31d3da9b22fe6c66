/* money.h - an amount in the smallest unit of its currency. Sums are functions that may refuse;
 * nobody else touches .minor. Pure: no I/O, no clock. */
#pragma once

#include "base/str.h"

#define MONEY_MAX INT64_C(99999999) /* P1: what one payment may ask for */

struct money {
    int64_t minor;
    char currency[4]; /* ISO 4217, upper case, NUL behind it */
};

/* The code in upper case, where ISO 4217 has it and it can be paid with (no XAU, XXX, HRK). Takes
 * lower case too. */
bool currency_parse(struct str text, char ret_code[4]);
int currency_digits(const char code[4]); /* minor units: JPY 0, USD 2, KWD 3; -1: not a code */

/* False: not 1 to MONEY_MAX, or no such currency. */
bool money_make(int64_t minor, struct str currency, struct money *ret_money);
bool money_same_currency(struct money a, struct money b);
bool money_eq(struct money a, struct money b);
/* False: another currency, overflow, or a result below 0. */
bool money_add(struct money a, struct money b, struct money *ret_sum)
    __attribute__((warn_unused_result));
bool money_sub(struct money a, struct money b, struct money *ret_rest)
    __attribute__((warn_unused_result));
/* -1, 0, 1; both must be of one currency. */
int money_cmp(struct money a, struct money b);
