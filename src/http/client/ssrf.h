/* ssrf.h - the addresses that a call may connect to if an outsider chose its URL. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* False for everything that is not a public unicast address: loopback, private, link-local (cloud
 * metadata), carrier NAT, multicast, reserved; also where IPv6 wraps such an IPv4 address. */
bool ssrf_is_public(const struct sockaddr *address);
