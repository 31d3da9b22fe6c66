/* operators.h - /api/v1/admin/operators (A3): the people who may log in. A viewer may read the
 * list. An operator adds people, changes their role and password, and disables them; each such
 * change ends that person's sessions. A password is never shown. */
#pragma once

#include "auth/auth.h"
#include "auth/hasher.h"
#include "auth/operators.h"

struct buf;

struct api_operators {
    struct env *env;
    struct store *store;
    struct hasher *hasher;
};

/* ctx is a struct api_operators. */
void api_operator_list(struct request *r, void *ctx, const struct principal *p);
void api_operator_add(struct request *r, void *ctx, const struct principal *p);
/* The path's first parameter is the person's id. */
void api_operator_change(struct request *r, void *ctx, const struct principal *p);

/* A person as JSON; the command line prints the same. */
void operator_json(struct buf *b, const struct person *o);
