/* dev.h - what dev mode does for a newcomer: secrets for this run, and words on what to try. */
#pragma once

#include "cli/node.h"

/* Makes the webhook secret, the key for tokens and the admin token where none is set. Only in dev
 * mode; production was refused before. */
bool dev_make_secrets(struct node *n);

/* Prints, on standard output, where it listens and some lines to paste. Of the secrets it shows
 * only those that it made. */
void dev_banner(struct node *n, const char *address);
