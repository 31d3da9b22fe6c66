/* bank_value.h - parses amounts, dates and names as banks write them: half-width or full-width,
 * with or without commas and signs, in Western or Japanese years. A value that could be read in two
 * ways is rejected. */
#pragma once

#include "base/str.h"

#define BANK_AMOUNT_MAX INT64_C(1000000000000000)

/* "1,200", "￥１，２００", "1200円", "-500", "▲500", "1,234.50" where the currency has digits
 * behind the point. Blank: 0. Below 0: a withdrawal. False: not an
 * amount. */
bool bank_amount(struct str text, int currency_digits, int64_t *ret_minor);

/* "2026/11/16", "2026-11-16", "2026.11.16", "20261116", "2026年11月16日", "R8.11.16",
 * "令和8年11月16日", optionally followed by a time of day. Days since 1970. False: not a date
 * from 2000 to 2099. */
bool bank_date(struct str text, int64_t *ret_days);

/* A heading in the form in which headings are compared: half-width, lower case, without blanks and
 * "(円)". Cut at `size` bytes. */
struct str bank_heading(struct str text, char *room, size_t size);

/* bank_heading() without hiragana, brackets and a final 円, since banks spell the same heading
 * differently: "お預かり金額" and "預り金額" give the same text. */
struct str bank_heading_core(struct str text, char *room, size_t size);

/* The payer's name without digits, blanks and signs, so that different spellings compare equal. */
struct str bank_payer(struct str text, char *room, size_t size);
