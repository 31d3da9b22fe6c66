/* command_store.h - the database itself, for a command: SQLite's file where no server has it,
 * PostgreSQL always (M4). */
#pragma once

#include "base/why.h"
#include "cli/admin_ask.h"
#include "server/node.h"

/* Opens it as n->store; node_close_store() closes it. command: "ichido dlq". CONFLICT: a server has
 * the file, and ret_owner says where; ask that one. NOT_FOUND: there is none, and none is made. */
enum err command_store_open(struct node *n, const char *command, char ret_owner[ADMIN_OWNER],
                            struct why *why);

/* The file of the settings' SQLite; empty: it is PostgreSQL. */
struct str command_store_file(const struct node *n);
