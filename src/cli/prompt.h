/* prompt.h - reads a secret that a person types, without showing it. It is never an argument,
 * because other users can read those in the list of processes. */
#pragma once

#include "base/str.h"
#include "base/why.h"

enum { PROMPT_MAX = 512 };

/* Asks twice, without echo, at a terminal; otherwise reads one line of standard input. The caller
 * wipes the password. False: `why` says why. */
bool prompt_new_password(const char *name, char ret[PROMPT_MAX], struct why *why);
