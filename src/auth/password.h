/* password.h - how a person's password is kept (A3): scrypt, a salt of its own, in one text that
 * says how it was made: scrypt$15$8$1$<salt>$<hash>, N as a power of two, base64url.
 *
 * Both calls take about 80 ms and 32 MB: never on a loop. See hasher.h. */
#pragma once

#include "base/rng.h"
#include "base/str.h"

enum { PASSWORD_TEXT = 95 };

/* Well-formed, and no password matches it: checked for unknown names, so that they take as long. */
#define PASSWORD_OF_NOBODY                                                                         \
    S("scrypt$15$8$1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")

bool password_is_fit(struct str password); /* LIMIT_PASSWORD_MIN to LIMIT_PASSWORD bytes, UTF-8 */
/* False: no memory. */
bool password_hash(struct str password, struct rng *rng, char ret_text[PASSWORD_TEXT + 1]);
/* False also for a malformed text. The hashes are compared in constant time. */
bool password_matches(struct str password, struct str text);
