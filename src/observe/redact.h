/* redact.h - what we keep of a provider holds a card's last digits and expiry, and its owner's name
 * and address. Whoever is shown a stored text is not shown those (A6). */
#pragma once

#include "base/buf.h"

/* Adds json, which json_check() has taken, with "[redacted]" in the place of every value under such
 * a name, however that is written, and card data in texts masked; a number that may be a card's is
 * 0. A string that is JSON itself is treated the same. All else stays byte for byte, so that it is
 * JSON again. No more than three times as long. */
void redact_json(struct buf *out, struct str json);

/* The same for what may be JSON; of all else only card data goes. */
void redact_text(struct buf *out, struct str text);
