/* dev_secrets.h - the secrets that dev mode makes, kept in a file beside the database, so that a
 * token that was pasted works after the next start too. Never in production mode. */
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
    DEV_NOT_KEPT, /* the file cannot be written: they are good for this run */
    DEV_REFUSED,  /* the file is there and cannot be trusted or read: there are none */
};

/* Fills *s from the file, or makes all of them and then the file. db: ICHIDO_DB. Whoever is killed
 * in between leaves no half file; of two that make it at once both use the same. why: what is the
 * matter and what to do, without a secret in it. */
enum dev_kept dev_secrets_get(struct rng *rng, struct str db, struct dev_secrets *s,
                              struct why *why);

/* One new secret of that kind. */
void dev_secret_make(struct rng *rng, size_t kind, char text[DEV_SECRET_TEXT + 1]);
