/* find.h - pages of transfers, lines, imports and returns, newest first, for an operator
 * (G4). Each is {"data":[...],"last":id or NULL}: the id at which the next page begins. */
#pragma once

#include "transfer/transfer.h"

struct transfer_page {
    /* in */
    struct str state;     /* empty: any. A word that the list knows */
    struct str reference; /* transfers: this one only */
    bool has_before;
    struct uuid before; /* exclusive */
    int limit;

    /* out */
    struct str data; /* a JSON array */
    bool has_more;
    struct uuid last;
};

enum err transfers_page(struct tx *tx, struct arena *a, struct transfer_page *p);
/* Lines that are open come with whom they may have meant: their reference, one that is off by a
 * digit, the same amount, or somebody whose earlier payments the same name has paid. */
enum err lines_page(struct tx *tx, struct arena *a, struct transfer_page *p);
enum err imports_page(struct tx *tx, struct arena *a, struct transfer_page *p);
enum err returns_page(struct tx *tx, struct arena *a, struct transfer_page *p);
