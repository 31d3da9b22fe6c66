/* mask.h - the last line of defence against card numbers in what we print. */
#pragma once

#include <stddef.h>

/* Overwrites every run of 13 to 19 digits (blanks or dashes between them allowed) that passes the
 * Luhn test, except its last four, with '*'. Quiet on everything else. */
void mask_cards(char *p, size_t n);
