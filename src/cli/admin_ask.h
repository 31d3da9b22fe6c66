/* admin_ask.h - what the commands share that call the admin API: find the server, call it with
 * retries, report its problems, read its answers. */
#pragma once

#include "base/buf.h"
#include "base/why.h"
#include "cli/admin_call.h"

#include <cjson/cJSON.h>

enum { ADMIN_OWNER = 300 };

/* The owner of the SQLite file as its lock file names it (M4): host:port of a server. Empty: it is
 * not locked. */
void admin_owner(struct str file, char ret_owner[ADMIN_OWNER]);
/* Opens the server of the settings' database: the owner of the SQLite file, or with PostgreSQL the
 * server at the address in the settings. Fails as admin_open() does, and with VALIDATION where no
 * process has the file. */
enum err admin_find(const struct settings *s, struct admin **ret_admin, struct why *why);

/* Does the same as admin_send(), and calls a busy server (429, 503) again for half a minute. The
 * request must be harmless when it is sent twice. */
enum err admin_ask(struct admin *a, struct arena *arena, const char *method, struct str path,
                   enum admin_type type, struct str body, int *ret_status, struct str *ret_answer,
                   struct why *why);
/* Writes an answer that is a problem into why, with the server's text. */
void admin_problem(int status, const cJSON *problem, struct why *why);

/* Adds ?name=value or &name=value, or nothing where the value is empty. */
void admin_parameter(struct buf *path, const char *name, struct str value);

/* --- fields of an answer; what is not there, or something else, is empty or 0 --- */

const char *answer_words(const cJSON *o, const char *name);
struct str answer_text(const cJSON *o, const char *name);
long long answer_number(const cJSON *o, const char *name); /* as printf takes it */
void answer_print(const cJSON *tree);                      /* as JSON, on a line */
