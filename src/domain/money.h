/* money.h - amounts in the smallest unit of their currency, with the currency or without. The
 * functions here add and compare them and report overflow; tools/lint keeps operators on .minor out
 * of all other folders. Pure: no I/O, no clock. */
#pragma once

#include "base/buf.h"

#define MONEY_MAX INT64_C(99999999) /* the most that one payment may ask for (P1) */

struct money {
    int64_t minor;
    char currency[4]; /* ISO 4217, upper case, NUL behind it */
};

/* An amount in the currency of what it belongs to: the captured part of a payment, a fee, a sum of
 * one currency. It is a struct, so that no arithmetic operator accepts it. */
struct minor {
    int64_t minor; /* below 0: there is none (NULL) */
};
#define MINOR_NONE ((struct minor){ .minor = -1 })

static inline bool minor_known(struct minor m)
{
    return m.minor >= 0;
}

static inline struct minor minor_or_none(struct minor m) /* 0 becomes none */
{
    return m.minor > 0 ? m : MINOR_NONE;
}

static inline int64_t minor_or_0(struct minor m)
{
    return m.minor > 0 ? m.minor : 0;
}

/* The code in upper case, if ISO 4217 has it and it is money that people pay with (not XAU, XXX,
 * HRK). Accepts lower case. */
bool currency_parse(struct str text, char ret_code[4]);
int currency_digits(const char code[4]); /* minor units: JPY 0, USD 2, KWD 3; -1: not a code */

/* False: not from 1 to MONEY_MAX, or an unknown currency. */
bool money_make(int64_t minor, struct str currency, struct money *ret_money);
/* An amount from a row, whether or not the list of currencies still has its code. False: the code
 * does not have three letters. */
bool money_stored(int64_t minor, struct str currency, struct money *ret_money);
bool money_same_currency(struct money a, struct money b);
bool money_eq(struct money a, struct money b);
bool money_covers(struct money whole, int64_t part); /* part is 0 to the whole */

/* None counts as 0 in the next four functions. */
int minor_cmp(struct minor a, struct minor b); /* -1, 0, 1 */
/* Adds to *sum. False: overflow, and the sum stays as it was. */
bool minor_add(struct minor *sum, struct minor more) __attribute__((warn_unused_result));
/* to - from, which may be below 0. */
int64_t minor_change(struct minor from, struct minor to);
/* taken - given_back - fees, which may be below 0. False: overflow. */
bool minor_net(struct minor taken, struct minor given_back, struct minor fees, int64_t *ret_net)
    __attribute__((warn_unused_result));

/* --- for people and programs --- */

enum { MONEY_TEXT = 40 };
/* With the currency's digits and commas between thousands: "-12,345.67". An unknown code has no
 * digits. */
void money_text(int64_t minor, const char *currency, char ret_text[MONEY_TEXT]);
void money_out(struct buf *b, struct money m); /* "amount":1200,"currency":"JPY" */
void minor_out(struct buf *b, const char *name, struct minor m); /* none: null */
