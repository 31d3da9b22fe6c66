/* redact.h - what is hidden from readers (Upstash-Redact-Fields, section 15.3 of the reference):
 * "body", "header" (all of them) and "header[Name]", separated by commas. A hidden value is shown
 * as "REDACTED:" and its SHA-256, so that equal values can be recognized. Only what is shown
 * changes: the message is delivered, signed and retried as published. */
#pragma once

#include "base/str.h"

struct redact {
    bool body, headers; /* headers: all */
    bool secrets;       /* for operators: headers that grant access are hidden too */
    struct str fields;  /* borrowed */
};

/* False: one of the fields is unknown. Empty: nothing is hidden. */
bool redact_read(struct str fields, struct redact *ret_redact);
/* The same for stored fields; if they cannot be read, everything is hidden. */
struct redact redact_of(struct str fields);

bool redact_hides(const struct redact *r, struct str header_name);
/* Authorization, Cookie, and names that end with key, token, password and so on. */
bool redact_is_secret(struct str header_name);

enum { REDACTED = 9 + 64 };
struct str redact_value(struct str value, char text[REDACTED]);
