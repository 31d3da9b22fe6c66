/* url_mask.h - an address as an operator may see it: without what lets somebody in. */
#pragma once

#include "base/buf.h"

/*   postgres://user:secret@host/db?sslmode=x  -->  postgres://user:***@host/db?***
 *
 * The name of a user stays, where a password stands behind it; one that stands alone may be a
 * token, and goes. With `bare` (a webhook's address is itself a secret) the path goes too. Where it
 * is not clear what belongs to a password (one with "@", "/" or "?" in it) rather too much is
 * hidden. What is no URL is shown as it is. */
void url_mask(struct buf *out, struct str url, bool bare);
