/* redact.h - removes personal data from stored texts before they are shown (A6). What is stored of
 * a provider holds a card's last digits and expiry, and the name and address of its owner. */
#pragma once

#include "base/buf.h"

/* Adds json, which json_check() has accepted, with "[redacted]" for every value under a name of
 * personal data, in any spelling. Card data in texts is masked, and a number that may be a card's
 * becomes 0. A string that is JSON itself is treated the same. All other bytes are unchanged, so
 * the result is JSON. It is at most three times as long. */
void redact_json(struct buf *out, struct str json);

/* Does the same where the text is JSON. In other text only card data is masked. */
void redact_text(struct buf *out, struct str text);
