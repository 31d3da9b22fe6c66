/* listen.h - hints between nodes that work may be due, by LISTEN and NOTIFY. A hint may be lost,
 * late or repeated. One thread with a connection of its own sends them, so that no unit contains a
 * NOTIFY (which would serialise all commits). While there is nothing to do it sleeps without a
 * timeout. */
#pragma once

#include "store/store.h"

struct env;
struct pg_listener;

/* url and unnamed outlive the listener. NULL: out of memory, or no thread could be started. */
struct pg_listener *pg_listener_new(struct env *env, const char *url, _Atomic bool *unnamed,
                                    const struct store_options *o);
void pg_listener_free(struct pg_listener *l);

/* From any thread: sends a hint to the other nodes, one for all calls within LIMIT_HINT_MS. */
void pg_listener_notify(struct pg_listener *l);
