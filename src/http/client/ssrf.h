/* ssrf.h - which addresses a call may go to when its target was written by somebody else. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* False for everything that is not a public unicast address: loopback, private, link-local (cloud
 * metadata), carrier NAT, multicast, reserved; also where IPv6 wraps such an IPv4 address. */
bool ssrf_is_public(const struct sockaddr *address);
