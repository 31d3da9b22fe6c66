/* json.h - transfers, lines and returns as JSON for the admin API. */
#pragma once

#include "base/buf.h"
#include "transfer/transfer.h"

enum { TRANSFER_JSON_MAX = 64 * 1024 };

void out_transfer(struct buf *b, const struct transfer *t);
/* candidates: a JSON array; empty: the field is left out. */
void out_line(struct buf *b, const struct statement_line *l, struct str candidates);
void out_return(struct buf *b, const struct row *row); /* a row of return_get or of a page */
