/* bank_value.h - amounts, dates and names as banks write them: half-width or full-width, with or
 * without commas and signs, by our years or the emperor's. What could be read in two ways is not
 * read. */
#pragma once

#include "base/str.h"

#define BANK_AMOUNT_MAX INT64_C(1000000000000000)

/* "1,200", "￥１，２００", "1200円", "-500", "▲500", "1,234.50" where the currency has digits
 * behind the point. Blank: 0. Below 0: it went out. False: no amount. */
bool bank_amount(struct str text, int currency_digits, int64_t *ret_minor);

/* "2026/11/16", "2026-11-16", "2026.11.16", "20261116", "2026年11月16日", "R8.11.16",
 * "令和8年11月16日", a time of day behind it or not. Days since 1970. False: no date, or not
 * between 2000 and 2099. */
bool bank_date(struct str text, int64_t *ret_days);

/* A column's name as it is compared: half-width, lower case, without blanks and "(円)". The text is
 * cut where `size` ends. */
struct str bank_heading(struct str text, char *room, size_t size);

/* What is left of a heading where banks differ only in how they write it: of what bank_heading()
 * makes, without hiragana ("お預かり金額" and "預り金額" are one), brackets and 円 at the end. */
struct str bank_heading_core(struct str text, char *room, size_t size);

/* Who paid, without digits, blanks and signs, so that the same name written anew is the same. */
struct str bank_payer(struct str text, char *room, size_t size);
