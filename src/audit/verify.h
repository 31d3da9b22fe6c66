/* verify.h - is the audit log what was sealed (O6)? In steps: first along the chain, then
 * over the rows, for those that no seal knows.
 *
 *   changed       a row is not what was sealed, or its seal is not
 *   reordered     it holds what was sealed as another row
 *   missing       it was sealed, and is gone
 *   unsealed_old  it came into a part of the log that was sealed already, or its seal was taken
 * away chain_broken  seals are gone, or the chain is not the one that was expected
 *
 * Whoever can write to the database can make a new chain of another log. Only a head that was kept
 * elsewhere (audit_expect) tells that. */
#pragma once

#include "audit/row.h"
#include "base/arena.h"

struct audit_place {                /* how far a walk is; all zero: at its beginning */
    bool rows;                      /* behind the chain: over the rows */
    int64_t at;                     /* the last seal, or row */
    unsigned char hash[AUDIT_HASH]; /* of that seal */
};
enum { AUDIT_PLACE_TEXT = 55 };
bool audit_place_read(struct str text, struct audit_place *ret_place);

struct audit_expect { /* n 0: nothing is expected */
    int64_t n;
    unsigned char hash[AUDIT_HASH];
};
/* "1234:9f86d0..." */
bool audit_expect_read(struct str text, struct audit_expect *ret_expect);

/* One step, as JSON: {"verified","problems":[...],"head","unsealed","nextCursor"}. Reads only.
 * verified and unsealed are of this step: who walks adds them up. */
enum err audit_verify_step(struct tx *tx, struct arena *a, const struct audit_place *from,
                           const struct audit_expect *expect, struct str *ret_json);
