/* prompt.h - a secret that a person types: not shown, and never an argument, which others could
 * read in the list of processes. */
#pragma once

#include "base/str.h"
#include "base/why.h"

enum { PROMPT_MAX = 512 };

/* At a terminal: asks twice, without echo. Else: one line of standard input. The caller wipes it.
 * False: `why` says why. */
bool prompt_new_password(const char *name, char ret[PROMPT_MAX], struct why *why);
