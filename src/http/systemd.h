/* systemd.h - notifications to systemd and sockets from it, without its library: one datagram and
 * four environment variables. Without systemd these functions do nothing. */
#pragma once

#include <stdbool.h>

enum { SYSTEMD_FIRST_FD = 3 };

/* Sends "READY=1", "STOPPING=1", "STATUS=..." (lines joined by LF) to NOTIFY_SOCKET.
 * Never blocks. True: sent, or NOTIFY_SOCKET is not set. Any thread. */
bool systemd_notify(const char *lines);

/* The number of listening sockets that systemd passed, from SYSTEMD_FIRST_FD on; they are made
 * non-blocking and close-on-exec. 0: none. -1: a passed descriptor is no listening stream socket.
 * Unsets the variables, so a second call returns 0. Call it before threads start. */
int systemd_listen_fds(void);
