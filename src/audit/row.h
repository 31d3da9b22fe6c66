/* row.h - a row of the audit log as bytes that are the same on every database, and the hash that
 * links it into the chain (O6):
 *
 *   hash(n) = SHA-256( hash(n - 1) || row )          hash(0) = 32 bytes of 0
 *   row     = 0x01, then for each column, in the order of enum audit_column:
 *             0x00                                    NULL
 *             0x01 and 8 bytes, big-endian            a whole number, two's complement
 *             0x02, 4 bytes length, big-endian, text  UTF-8
 *             0x03, 4 bytes length, big-endian, bytes
 *
 * docs/audit.md has the same format, for readers who check a chain without this program. */
#pragma once

#include "store/tx.h"

enum { AUDIT_HASH = 32, AUDIT_COLUMNS = 11 };
enum audit_column {
    AUDIT_SEQ,
    AUDIT_AT,
    AUDIT_OPERATION,
    AUDIT_SUBJECT,
    AUDIT_RESULT,
    AUDIT_TIMES,
    AUDIT_DETAIL,
    AUDIT_USER,
    AUDIT_PAYMENT,
    AUDIT_AMOUNT,
    AUDIT_KEY,
};

/* v: AUDIT_COLUMNS values, as the statements of store/statements/audit.h return them. */
void audit_link(const unsigned char before[AUDIT_HASH], const struct val *v,
                unsigned char ret_hash[AUDIT_HASH]);
