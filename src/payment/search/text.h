/* text.h - what a person types or pastes to find a payment (O8), made plain. Pure. */
#pragma once

#include "base/arena.h"
#include "base/uuid.h"

/* Fit to be looked for: UTF-8, at most LIMIT_FIND_TEXT characters, no NUL (PostgreSQL has no such
 * text). May be empty. */
bool find_text_fits(struct str typed);

/* Full-width letters and digits become ASCII, dashes '-'; marks that nobody sees (directions, zero
 * width, soft hyphen) go; so do blanks and a pair of quotes around it, and what makes a secret of a
 * Stripe id ("pi_1_secret_2"). Empty: nothing is left. .p NULL: no memory. */
struct str find_text_plain(struct arena *a, struct str typed);

/* A UUID in either case, with its dashes or without. */
bool find_text_uuid(struct str plain, struct uuid *ret_id);
