/* reference.h - what a customer writes into the bank's form, so that the money finds its payment
 * (G4): nine digits, said in threes. The first is not 0, which a spreadsheet would eat; the last is
 * a check digit (Damm): one wrong digit, or two neighbours in the wrong order, never make another
 * reference. */
#pragma once

#include "base/str.h"

enum { REFERENCE_TEXT = 9, REFERENCES_FOUND = 8, REFERENCES_NEAR = 32 };
#define REFERENCE_COUNT UINT64_C(90000000)

struct reference {
    char text[REFERENCE_TEXT + 1];
};

struct reference reference_make(uint64_t number); /* below REFERENCE_COUNT */
bool reference_is(struct str s);                  /* its form and its check digit */

/* Those that stand in a bank's text, each once. Digits may be full-width, and in groups with a
 * blank, a dash or a dot between them; a longer row of digits is no reference. */
size_t reference_find(struct str text, struct reference ret_found[REFERENCES_FOUND]);

/* Those that may have been meant, where none stands there: one digit is wrong, missing or too many,
 * or two neighbours are swapped. */
size_t reference_near(struct str text, struct reference ret_near[REFERENCES_NEAR]);
