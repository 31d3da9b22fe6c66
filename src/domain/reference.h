/* reference.h - the number that a customer gives with a bank transfer, so that the deposit is
 * matched to its payment (G4): nine digits, shown in groups of three. The first is not 0, which a
 * spreadsheet would drop. The last is a check digit (Damm), so one wrong digit or two swapped
 * neighbours never give another valid reference. */
#pragma once

#include "base/str.h"

enum { REFERENCE_TEXT = 9, REFERENCES_FOUND = 8, REFERENCES_NEAR = 32 };
#define REFERENCE_COUNT UINT64_C(90000000)

struct reference {
    char text[REFERENCE_TEXT + 1];
};

struct reference reference_make(uint64_t number); /* below REFERENCE_COUNT */
bool reference_is(struct str s);                  /* checks form and check digit */

/* Finds the references in a bank's text, each once. Digits may be full-width, and in groups
 * separated by a blank, a dash or a dot. A longer run of digits is no reference. */
size_t reference_find(struct str text, struct reference ret_found[REFERENCES_FOUND]);

/* Finds the references that the text may mean if it has none: with one digit wrong, missing or
 * extra, or two neighbours swapped. */
size_t reference_near(struct str text, struct reference ret_near[REFERENCES_NEAR]);
