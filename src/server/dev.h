/* dev.h - what dev mode does for a newcomer: secrets, and words on what to try. */
#pragma once

#include "server/node.h"

/* The webhook secret, the key for tokens and the admin token where none is set: made once, and kept
 * beside the database (dev_secrets.h), which is open by now. Production mode has its own, but for a
 * webhook secret where no gateway needs one. False: it was logged why. */
bool dev_make_secrets(struct node *n);

/* Prints, on standard output, where it listens and some lines to paste. Of the secrets it shows
 * only those that it made; with yours it signs a day's token for a user that only it uses. */
void dev_banner(struct node *n, const char *address, const char *sandbox); /* NULL: none */
