/* address.h - checks the URLs, addresses and networks in settings. */
#pragma once

#include "base/str.h"

/* http:// or https://, a host, and only characters that a URL may have. */
bool address_is_url(struct str value);
bool address_is_listen(struct str value); /* host:port, [v6]:port */
bool address_is_loopback(struct str listen);
bool address_is_network(struct str value); /* 10.0.0.0/8, 2001:db8::/32, or one address */
/* A mail address in ASCII (RFC 5321). Dots may also stand where the RFC forbids them ("taro.@",
 * "a..b@"), because old addresses of Japanese carriers have them there. */
bool address_is_mail(struct str value);
