/* dev.h - what dev mode does for a newcomer: secrets for this run, and words on what to try. */
#pragma once

#include "cli/node.h"

/* Makes the webhook secret where none is set. Only in dev mode; production was refused before. */
bool dev_make_secrets(struct node *n);

/* Prints, on standard output, where it listens and three lines to paste. */
void dev_banner(const struct node *n, const char *address);
