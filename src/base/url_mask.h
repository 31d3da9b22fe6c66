/* url_mask.h - hides passwords and tokens in a URL that an operator is shown. */
#pragma once

#include "base/buf.h"

/* postgres://user:secret@host/db?sslmode=x  -->  postgres://user:***@host/db?***
 *
 * A user name stays where a password follows it. A user name alone may be a token and is hidden.
 * With `bare`, for webhook URLs that are themselves secrets, the path is hidden too. Where it is
 * not clear what belongs to a password (it may hold "@", "/" or "?"), too much is hidden rather
 * than too little. A text that is no URL is shown unchanged. */
void url_mask(struct buf *out, struct str url, bool bare);
