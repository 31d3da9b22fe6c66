/* node.h - what serve and the other commands need first: settings, log, metrics, clock, and the
 * database. */
#pragma once

#include "base/env.h"
#include "base/settings/settings.h"
#include "observe/log.h"
#include "store/store.h"

struct node {
    struct env env;
    struct settings settings;
    /* true where dev.c made that secret because the settings have none */
    bool made_secret, made_jwt_secret, made_admin_token;
    struct store *store;
};

/* Reads the settings and makes the environment. False: the reason was printed on standard error. */
bool node_init(struct node *n);
/* Opens the database; hint may be NULL. */
bool node_open_store(struct node *n, void (*hint)(void *ctx), void *hint_ctx);
void node_close_store(struct node *n); /* before freeing anything that its threads call */
void node_release(struct node *n);
/* Replaces the log by one that writes ERROR lines only, at once: a command prints its results, and
 * the information lines of the database are for operators of servers. */
void node_log_errors_only(struct node *n);
