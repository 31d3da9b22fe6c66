/* json_values.h - a column of a row as one field of a JSON object. */
#pragma once

#include "base/json/write.h"
#include "store/tx.h"

void out_val_uuid(struct buf *b, const char *name, const struct val *v); /* no UUID: null */
void out_val_text(struct buf *b, const char *name, const struct val *v); /* no text: null */
