/* redact.h - what readers may not see (Upstash-Redact-Fields, section 15.3 of the reference):
 * "body", "header" (all of them) and "header[Name]", with commas between. A hidden value is shown
 * as REDACTED: and its SHA-256, so that two equal ones can be told. Only what is shown is changed:
 * the parcel itself is delivered, signed and retried as it is. */
#pragma once

#include "base/str.h"

struct redact {
    bool body, headers; /* headers: all */
    bool secrets;       /* set by who shows it to operators: nor what lets somebody in */
    struct str fields;  /* borrowed */
};

/* False: one of the fields is none of these. Empty: nothing is hidden. */
bool redact_read(struct str fields, struct redact *ret_redact);
/* The same for what is stored; what cannot be read hides all. */
struct redact redact_of(struct str fields);

bool redact_hides(const struct redact *r, struct str header_name);
/* Authorization, Cookie, and what calls itself a key, a token, a password and the like. */
bool redact_is_secret(struct str header_name);

enum { REDACTED = 9 + 64 };
struct str redact_value(struct str value, char text[REDACTED]);
