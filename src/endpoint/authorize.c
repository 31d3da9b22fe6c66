#include "endpoint/authorize.h"

#include <stdlib.h>

bool role_allows(enum role role, const struct principal *p, struct str method)
{
    switch (role) {
    case ROLE_OPERATOR:
        return p->admin || (p->viewer && (str_eq(method, S("GET")) || str_eq(method, S("HEAD"))));
    case ROLE_SERVICE: return p->service || p->admin;
    case ROLE_ANY_TOKEN: return true;
    }
    abort();
}

static void authorized_known(struct request *r, void *ctx, enum err e, const struct principal *p)
{
    const struct authorized *a = ctx;

    if (!e && !role_allows(a->route->role, p, r->method))
        e = ERR_FORBIDDEN;
    if (e)
        reply_problem(r, e, NULL);
    else
        a->route->handle(r, a->ctx, p);
}

void authorized_handle(struct request *r, void *authorized)
{
    auth_check(((const struct authorized *)authorized)->auth, r, authorized_known, authorized);
}

authorized_handler authorized_handler_of(const struct route *route)
{
    return route->handle == authorized_handle
               ? ((const struct authorized *)route->ctx)->route->handle
               : NULL;
}
