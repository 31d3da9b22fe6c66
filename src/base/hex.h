/* hex.h - hexadecimal digits. */
#pragma once

#include <stddef.h>

int hex_value(char c);       /* 0 to 15, either case; -1: not a digit */
int hex_value_lower(char c); /* the same, but upper case is refused */

/* Writes 2 n lower-case digits without a NUL and returns the place after them. */
char *hex_put(char *p, const unsigned char *bytes, size_t n);
