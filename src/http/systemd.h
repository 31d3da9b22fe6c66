/* systemd.h - what a service says to systemd and gets from it, without its library: it is one
 * datagram and four variables. All of it does nothing where systemd did not start us. */
#pragma once

#include <stdbool.h>

enum { SYSTEMD_FIRST_FD = 3 };

/* Sends "READY=1", "STOPPING=1", "STATUS=..." (lines joined by LF) to NOTIFY_SOCKET.
 * Never blocks. True: sent, or there is nobody to tell. Any thread. */
bool systemd_notify(const char *lines);

/* How many listening sockets were passed to us, from SYSTEMD_FIRST_FD on; made non-blocking and
 * close-on-exec. 0: none, bind yourself. -1: something was passed that is no listening stream
 * socket. Forgets the variables, so a second call says 0: call it before threads start. */
int systemd_listen_fds(void);
