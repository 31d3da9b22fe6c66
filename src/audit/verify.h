/* verify.h - compares the audit log with its seals (O6), in steps: first along the chain, then over
 * the rows, to find those without a seal.
 *
 *   changed       a row or its seal is not what was sealed
 *   reordered     a row has the content that was sealed as another row
 *   missing       a sealed row is gone
 *   unsealed_old  a row without a seal in a part of the log that was sealed completely
 *   chain_broken  seals are gone, or the chain is not the expected one
 *
 * Anyone who can write to the database can make a new chain over another log. Only a head that was
 * kept elsewhere (audit_expect) shows that. */
#pragma once

#include "audit/row.h"
#include "base/arena.h"

struct audit_place {                /* how far a verification is; all zero: the beginning */
    bool rows;                      /* past the chain: it goes over the rows */
    int64_t at;                     /* the last seal or row */
    unsigned char hash[AUDIT_HASH]; /* of that seal */
};
enum { AUDIT_PLACE_TEXT = 55 };
bool audit_place_read(struct str text, struct audit_place *ret_place);

struct audit_expect { /* a head that was kept elsewhere; n 0: none */
    int64_t n;
    unsigned char hash[AUDIT_HASH];
};
/* "1234:9f86d0..." */
bool audit_expect_read(struct str text, struct audit_expect *ret_expect);

/* One step, as JSON: {"verified","problems":[...],"head","unsealed","nextCursor"}. Reads only.
 * verified and unsealed count this step; the caller adds them up. */
enum err audit_verify_step(struct tx *tx, struct arena *a, const struct audit_place *from,
                           const struct audit_expect *expect, struct str *ret_json);
