/* authorize.h - who may call a route is an attribute of the route, checked once, before its
 * handler.
 *
 * A handler that takes a principal can only be put into a struct authorized_route, and that has a
 * role: nothing reaches such a handler unchecked. Routes that are open, or that check signatures
 * or sessions by themselves, are rows of struct route (http/http.h). */
#pragma once

#include "auth/auth.h"
#include "http/http.h"

enum role {
    ROLE_OPERATOR,  /* operators; viewers for GET and HEAD (A3). 0, as it is the strictest */
    ROLE_SERVICE,   /* service and admin tokens */
    ROLE_ANY_TOKEN, /* every caller with a token; the handler decides by owner */
};

typedef void (*authorized_handler)(struct request *r, void *ctx, const struct principal *p);

struct authorized_route {
    const char *method, *path; /* as in struct route */
    authorized_handler handle;
    enum role role;
    size_t body_max; /* 0: LIMIT_BODY */
};

/* The context of one authorized route; it lives as long as the server. */
struct authorized {
    const struct authorized_route *route;
    struct auth *auth;
    void *ctx; /* the handler's */
};

/* The handler of every authorized route; ctx is its struct authorized. A caller without a token or
 * without the role gets 401, 403 or whatever error auth_check() reports. */
void authorized_handle(struct request *r, void *authorized);

/* The handler behind a route, whether or not the request reached it. NULL: the route is open. */
authorized_handler authorized_handler_of(const struct route *route);

/* Pure. */
bool role_allows(enum role role, const struct principal *p, struct str method);
