/* mask.h - the last line of defence against card data in what we print (O1). All work in place,
 * keep the length, and leave an object or array of JSON what it was: JSON, also where it stands in
 * a string of JSON. Quiet on everything else. */
#pragma once

#include "base/str.h"

/* Overwrites every run of 13 to 19 digits (blanks or dashes between them allowed) that passes the
 * Luhn test, except its last four, with '*'. A bare number of a JSON text becomes 0. */
void mask_cards(char *p, size_t n);

/* The same for what follows the name of a card's security code, number or expiry ("cvc":"123",
 * exp_month=12, card[cvv2]=1234), also where the quotes around it are escaped. */
void mask_named(char *p, size_t n);

/* What a provider calls its objects and keys, "pi_3Abc...", keeps only its prefix (A6). */
void mask_ids(char *p, size_t n);

/* Is it such a name? In any case, with or without '_' and '-'. */
bool mask_is_card_name(struct str name);
