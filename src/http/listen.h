/* listen.h - listening sockets, and accepting connections. */
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
bool listen_start(struct loop *l); /* false: a system call failed */
/* Accepts the connections that wait, then closes the listeners. Connections that wait at a socket of
 * systemd stay there for the next process. */
void listen_stop(struct loop *l);
void listen_close(struct server *s); /* of loops that never ran */

/* Raises the limit of open files as far as possible. Returns the number of connections it allows. */
int listen_most_connections(int wanted);
