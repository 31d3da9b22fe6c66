/* dev_secrets.h - keeps the secrets that dev mode makes in a file beside the database, so that a
 * pasted token works after the next start too. Production mode does not use it. */
#pragma once

#include "base/rng.h"
#include "base/str.h"
#include "base/why.h"

enum { DEV_ADMIN_TOKEN, DEV_JWT_SECRET, DEV_WEBHOOK_SECRET, DEV_SECRETS };
enum { DEV_SECRET_BYTES = 32, DEV_SECRET_TEXT = 8 + 2 * DEV_SECRET_BYTES };

struct dev_secrets {
    char text[DEV_SECRETS][DEV_SECRET_TEXT + 1];
};

enum dev_kept {
    DEV_KEPT,
    DEV_NOT_KEPT, /* the file cannot be written: the secrets are valid for this run */
    DEV_REFUSED,  /* the file exists and cannot be trusted or read: there are no secrets */
};

/* Reads the secrets from the file, or makes them and writes the file. db: ICHIDO_DB. A crash leaves
 * no half file, and two processes that do it at once use the same secrets. why: the problem and
 * what to do about it, without a secret. */
enum dev_kept dev_secrets_get(struct rng *rng, struct str db, struct dev_secrets *s,
                              struct why *why);

/* Makes one new secret of that kind. */
void dev_secret_make(struct rng *rng, size_t kind, char text[DEV_SECRET_TEXT + 1]);
