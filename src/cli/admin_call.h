/* admin_call.h - one call after another to the admin API of the server that has our database (M4),
 * on the caller's own thread. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/settings/settings.h"
#include "base/why.h"

struct admin;

/* address: host:port, as the server wrote it into the lock file. VALIDATION: `why` says which
 * setting is missing. The settings are borrowed: TLS and the token are those that the server has,
 * too. */
enum err admin_open(const struct settings *s, const char *address, struct admin **ret_admin,
                    struct why *why);
void admin_free(struct admin *a); /* NULL is fine */

/* Every call from now on carries this Idempotency-Key. False: no memory. */
bool admin_use_key(struct admin *a, const char *key);

/* body empty: none. OK: status and answer are there, whatever they say. Anything else: `why`. */
enum err admin_call(struct admin *a, struct arena *arena, const char *method, struct str path,
                    struct str body, int *ret_status, struct str *ret_answer, struct why *why);

/* A header of the last answer; empty: it has none, or one that is longer. */
void admin_header(struct admin *a, const char *name, char *ret_value, size_t size);

/* The same with a body of that type. */
enum admin_type { ADMIN_JSON, ADMIN_CSV, ADMIN_TYPES };
enum err admin_send(struct admin *a, struct arena *arena, const char *method, struct str path,
                    enum admin_type type, struct str body, int *ret_status, struct str *ret_answer,
                    struct why *why);
