/* admin_ask.h - what commands that go through the admin API do alike: find the server, ask it with
 * patience, tell its problems, read its answers. */
#pragma once

#include "base/buf.h"
#include "base/why.h"
#include "cli/admin_call.h"

#include <cjson/cJSON.h>

enum { ADMIN_OWNER = 300 };

/* Who has the SQLite file, in the words of its lock (M4): host:port of a server. Empty: nobody. */
void admin_owner(struct str file, char ret_owner[ADMIN_OWNER]);
/* The server of the settings' database: of a SQLite file who has it, of PostgreSQL the one where
 * the settings say. As admin_open(), and VALIDATION where nobody has the file. */
enum err admin_find(const struct settings *s, struct admin **ret_admin, struct why *why);

/* As admin_send(); a server that is busy (429, 503) is asked again, for half a minute. What is
 * asked must be harmless twice. */
enum err admin_ask(struct admin *a, struct arena *arena, const char *method, struct str path,
                   enum admin_type type, struct str body, int *ret_status, struct str *ret_answer,
                   struct why *why);
/* An answer that is a problem, in its own words. */
void admin_problem(int status, const cJSON *problem, struct why *why);

/* Adds ?name=value or &name=value; nothing where the value is empty. */
void admin_parameter(struct buf *path, const char *name, struct str value);

/* --- fields of an answer; what is not there, or something else, is empty or 0 --- */

const char *answer_words(const cJSON *o, const char *name);
struct str answer_text(const cJSON *o, const char *name);
long long answer_number(const cJSON *o, const char *name); /* as printf takes it */
void answer_print(const cJSON *tree);                      /* as JSON, on a line */
