/* dev.h - makes the secrets of dev mode and prints commands to try. */
#pragma once

#include "server/node.h"

/* Makes the webhook secret, the key for tokens and the admin token where they are not set, and
 * keeps them beside the database (dev_secrets.h), which must be open. In production mode it only
 * makes a webhook secret where no gateway needs one. False: the reason was logged. */
bool dev_make_secrets(struct node *n);

/* Prints the addresses and some lines to paste on standard output. It shows only secrets that dev
 * mode made. With a key of the settings it signs a token for the demo user, valid for a day. */
void dev_banner(struct node *n, const char *address, const char *sandbox); /* NULL: none */
