/* why.h - the words that say why something failed, for a log line or an operator. Whoever may fail
 * takes a struct why * and fills it before it returns its error. It never holds a secret. */
#pragma once

#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>

struct why {
    char text[512]; /* one line */
};

/* Replaces the words. What is too long is cut between two characters. The arguments may not point
 * into w. */
void why_set(struct why *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void why_vset(struct why *w, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Sets the words and has the value with which the caller returns. */
#define why_err(w, e, ...) (why_set(w, __VA_ARGS__), (enum err)(e))
#define why_false(w, ...) (why_set(w, __VA_ARGS__), false)
