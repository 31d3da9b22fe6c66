/* address.h - the forms of addresses that settings may have. */
#pragma once

#include "base/str.h"

/* http:// or https://, a host, and nothing that does not belong into an address. */
bool address_is_url(struct str value);
bool address_is_listen(struct str value); /* host:port, [v6]:port */
bool address_is_loopback(struct str listen);
bool address_is_network(struct str value); /* 10.0.0.0/8, 2001:db8::/32, or one address */
/* An address in ASCII that a mail can be sent to (RFC 5321), or has been: old ones of Japanese
 * carriers have dots where no other may ("taro.@", "a..b@"). */
bool address_is_mail(struct str value);
