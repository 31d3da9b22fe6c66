/* listen.h - "work may be due", told between nodes by LISTEN and NOTIFY. Only a hint: it
 * may be lost, come late or come twice. One thread with a connection of its own, so that no unit
 * ever carries a NOTIFY (it would serialise all commits); it sleeps without a timeout while all is
 * quiet. */
#pragma once

#include "store/store.h"

struct env;
struct pg_listener;

/* url and unnamed live longer than the listener. NULL: no memory or no thread. */
struct pg_listener *pg_listener_new(struct env *env, const char *url, _Atomic bool *unnamed,
                                    const struct store_options *o);
void pg_listener_free(struct pg_listener *l);

/* From any thread: tell the others, once for all calls within LIMIT_HINT_MS. */
void pg_listener_tell(struct pg_listener *l);
