/* read.h - the rows of the settings table, and the readers that make a value of a setting's text.
 * Only settings.c uses it. */
#pragma once

#include "base/settings/settings.h"
#include "base/settings/source.h"

struct setting;

struct load {
    struct settings *s;
    struct source source;
};

/* Sets the field, or writes a problem and leaves the field unchanged. */
typedef void reader(struct load *l, const struct setting *row, struct str value, void *field);

reader read_mode, read_listen, read_db, read_text, read_secret, read_secrets, read_switch;
reader read_int, read_i64, read_networks, read_faults, read_pem, read_url, read_owner_may;
reader read_sandbox_listen, read_base, read_queue, read_skip, read_private;
reader read_numbers, read_hour, read_zone, read_routes, read_true, read_ratio, read_smtp;
reader read_mail, read_days;

struct setting {
    const char *name;
    reader *read; /* NULL: the name is known, but another file reads it */
    size_t field;
    const char *fallback;
    int64_t least, most;
    const char *choices; /* separated by commas; NULL: not a choice */
    bool secret;         /* it holds a secret, although its reader is an ordinary one */
    bool bare;           /* the URL is itself a secret: only its host is shown */
};
