/* lottery.h - the draw of the winners, which anybody can check afterwards (C6). "ichido-draw-1":
 *
 *   commitment  hex(SHA-256(seed)), published when the campaign is made; the seed is 32 random bytes
 *   entries     completed purchases in the order of their positions; each is the line
 *               "<number> <purchase id>\n"
 *   digest      hex(SHA-256(all lines))
 *   pick i      HMAC-SHA-256(seed, "<digest>:<i>:<try>"), its first 8 bytes as a big-endian number x,
 *               with try = 0, 1, ... until x < 2^64 - (2^64 mod n): the entry x mod n of the n that
 *               are left, which is then removed (the last one takes its place). i = 1, 2, ...
 *
 * The seed is fixed before the first sale, when the entries are not known yet. docs/lottery.md says
 * what this proves and what it does not. */
#pragma once

#include "payment/payments.h"

enum { DRAW_SEED = 32, DRAW_HEX = 64 };

void draw_sha256(struct str bytes, char ret_hex[DRAW_HEX + 1]);
void draw_commit(const unsigned char seed[DRAW_SEED], char ret_hex[DRAW_HEX + 1]);

struct draw_entry {
    int64_t number;
    struct uuid purchase;
    int rank; /* out: 1 is the first winner, 0: none */
};
/* Pure. Entries are in the order of their numbers; POSITIONS_MAX of them at most. */
void draw_pick(const unsigned char seed[DRAW_SEED], struct draw_entry *entries, size_t n,
               size_t winners, char ret_digest[DRAW_HEX + 1]);

/* "campaign.draw": draws once, then notifies all participants, some at a time. */
struct job_kind draw_kind(struct payments *pp);
enum err draw_later(struct tx *tx, struct payments *pp, struct uuid campaign, int64_t now_ms);

/* Algorithm, commitment, seed, entries, digest, winners. NOT_FOUND: no campaign, or not drawn yet.
 */
enum err draw_json(struct tx *tx, struct arena *a, struct uuid campaign, struct str *ret_json);
