/* command_store.h - opens the database for a command: SQLite's file only where no server has it,
 * PostgreSQL always (M4). */
#pragma once

#include "base/why.h"
#include "cli/admin_ask.h"
#include "server/node.h"

/* Opens it as n->store; node_close_store() closes it. command: "ichido dlq". CONFLICT: a server has
 * the file, and ret_owner is its address for admin_open(). NOT_FOUND: there is no file, and none is
 * made. */
enum err command_store_open(struct node *n, const char *command, char ret_owner[ADMIN_OWNER],
                            struct why *why);

/* The SQLite file in the settings; empty with PostgreSQL. */
struct str command_store_file(const struct node *n);
