/* mask.h - masks card data in everything that is printed (O1), in case it got there by mistake. The
 * functions work in place and keep the length. JSON stays JSON, also inside a JSON string. Other
 * text is not changed. */
#pragma once

#include "base/str.h"

/* Overwrites every run of 13 to 19 digits (blanks or dashes between them allowed) that passes the
 * Luhn test with '*', except its last four digits. A number that is a JSON value becomes 0. */
void mask_cards(char *p, size_t n);

/* Overwrites the value after the name of a card's security code, number or expiry ("cvc":"123",
 * exp_month=12, card[cvv2]=1234), also where the quotes around it are escaped. */
void mask_named(char *p, size_t n);

/* Overwrites the ids and keys of a provider, "pi_3Abc...", except their prefix (A6). */
void mask_ids(char *p, size_t n);

/* True for a name whose value mask_named() overwrites, in any case, with or without '_' and '-'. */
bool mask_is_card_name(struct str name);
