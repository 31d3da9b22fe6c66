/* listen.h - the listening sockets and what comes through them. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/why.h"

struct loop;
struct server;

/* Gives every loop its listeners: those that systemd passed, or one each for host:port. Sets the
 * server's port. VALIDATION: `why` says what is wrong with the address, or who has it, or that a
 * passed socket does not listen or is not on loopback where only that is allowed. */
enum err listen_open(struct server *s, struct str address, struct why *why);
bool listen_start(struct loop *l); /* false: the system refuses */
/* Takes what has connected already, then closes the listeners. What waits at a passed socket stays
 * there: systemd keeps it for the next process. */
void listen_stop(struct loop *l);
void listen_close(struct server *s); /* of loops that never ran */

/* Raises the limit on open files as far as it goes; gives the connections that leaves room for. */
int listen_most_connections(int wanted);
