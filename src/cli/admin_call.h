/* admin_call.h - calls to the admin API of the server that has the database (M4), one after
 * another, on the thread of the caller. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/settings/settings.h"
#include "base/why.h"

struct admin;

/* address: host:port, as the server wrote it into the lock file. VALIDATION: `why` says which
 * setting is missing. The settings are borrowed; the server must have the same TLS files and admin
 * token. */
enum err admin_open(const struct settings *s, const char *address, struct admin **ret_admin,
                    struct why *why);
void admin_free(struct admin *a); /* NULL is fine */

/* Sends this Idempotency-Key with every later call. False: no memory. */
bool admin_use_key(struct admin *a, const char *key);

/* An empty body is not sent. OK: there is an answer, with any status. Other errors: `why` says
 * why. */
enum err admin_call(struct admin *a, struct arena *arena, const char *method, struct str path,
                    struct str body, int *ret_status, struct str *ret_answer, struct why *why);

/* A header of the last answer; empty where it has none, or one that does not fit. */
void admin_header(struct admin *a, const char *name, char *ret_value, size_t size);

/* Does the same with a body of that type. */
enum admin_type { ADMIN_JSON, ADMIN_CSV, ADMIN_TYPES };
enum err admin_send(struct admin *a, struct arena *arena, const char *method, struct str path,
                    enum admin_type type, struct str body, int *ret_status, struct str *ret_answer,
                    struct why *why);
