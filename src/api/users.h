/* users.h - PUT, GET and DELETE /api/v1/users/{id} (N1): how a person wants to be notified. Open to
 * the person, service and admin. Device tokens are shown in full only to the person and to
 * admin. */
#pragma once

#include "auth/auth.h"
#include "http/http.h"
#include "notify/contact.h"

struct api_users {
    struct env *env;
    struct store *store;
    struct queue *queue;
};

/* ctx is a struct api_users; the path's first parameter is the user's id. */
void api_user_put(struct request *r, void *ctx, const struct principal *p);
void api_user_get(struct request *r, void *ctx, const struct principal *p);
void api_user_forget(struct request *r, void *ctx, const struct principal *p);

/* Reads and checks the body of a PUT. Texts go to the request's arena. False: 400 with every
 * problem was answered. */
bool user_input(struct request *r, struct contact *ret_contact) ANSWERS;
