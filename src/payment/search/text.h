/* text.h - normalizes what a person types or pastes to find a payment (O8). Pure. */
#pragma once

#include "base/arena.h"
#include "base/uuid.h"

/* True for UTF-8 of at most LIMIT_FIND_TEXT characters without NUL, which PostgreSQL rejects. May be
 * empty. */
bool find_text_fits(struct str typed);

/* Full-width letters and digits become ASCII, dashes become '-'. Removed are invisible characters
 * (directions, zero width, soft hyphen), blanks and a pair of quotes around the text, and the secret
 * part of a Stripe client secret ("pi_1_secret_2"). Empty: nothing is left. .p NULL: no memory. */
struct str find_text_plain(struct arena *a, struct str typed);

/* A UUID in either case, with its dashes or without. */
bool find_text_uuid(struct str plain, struct uuid *ret_id);
