/* sentry_dsn.h - reads a DSN, the URL of a Sentry project:
 * {protocol}://{key}[:{secret}]@{host}[:{port}][/{path}]/{project} */
#pragma once

#include "base/str.h"
#include "base/why.h"

enum { SENTRY_DSN_MAX = 512, SENTRY_URL = SENTRY_DSN_MAX + 32, SENTRY_AUTH = SENTRY_DSN_MAX + 96 };

struct sentry_dsn {
    char url[SENTRY_URL];   /* .../api/{project}/envelope/ */
    char auth[SENTRY_AUTH]; /* the value of X-Sentry-Auth */
};

/* False: why says what is wrong with the DSN, without showing it. client is "name/version". */
bool sentry_dsn_parse(struct str dsn, struct str client, struct sentry_dsn *ret_dsn,
                      struct why *why);
