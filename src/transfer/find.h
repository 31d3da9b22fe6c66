/* find.h - pages of transfers, lines, imports and returns for an operator, newest first (G4). */
#pragma once

#include "transfer/transfer.h"

struct transfer_page {
    /* in */
    struct str state;     /* empty: any; else a state of the list */
    struct str reference; /* transfers only: this one; empty: all */
    bool has_before;
    struct uuid before; /* exclusive */
    int limit;

    /* out */
    struct str data; /* a JSON array */
    bool has_more;
    struct uuid last; /* the next page's `before` */
};

enum err transfers_page(struct tx *tx, struct arena *a, struct transfer_page *p);
/* An open line comes with candidates: payments by its reference, by a reference that differs in one
 * digit, by the same amount, or of a user for whom the same payer paid before. */
enum err lines_page(struct tx *tx, struct arena *a, struct transfer_page *p);
enum err imports_page(struct tx *tx, struct arena *a, struct transfer_page *p);
enum err returns_page(struct tx *tx, struct arena *a, struct transfer_page *p);
