/* command_store.h - the database itself, for a command: SQLite's file where no server has it,
 * PostgreSQL always (M4). */
#pragma once

#include "cli/admin_ask.h"
#include "cli/node.h"

/* Opens it as n->store; node_close_store() closes it. command: "ichido dlq". CONFLICT: a server has
 * the file, and ret_owner says where; ask that one. NOT_FOUND: there is none, and none is made. */
enum err command_store_open(struct node *n, const char *command, char ret_owner[ADMIN_OWNER],
                            char why[512]);

/* Seals what is in the audit (O6), for who wrote there and ends: where no server runs nobody else
 * does, and a row without a seal can be taken away unseen. Bounded; what is left of it, or fails,
 * is the next server's. */
void command_store_seal(struct node *n);

/* The file of the settings' SQLite; empty: it is PostgreSQL. */
struct str command_store_file(const struct node *n);
