/* hex.h - hexadecimal digits, and numbers as eight bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int hex_value(char c);       /* 0 to 15, either case; -1: not a digit */
int hex_value_lower(char c); /* the same, but upper case is refused */

/* Writes 2 n lower-case digits without a NUL and returns the place after them. */
char *hex_put(char *p, const unsigned char *bytes, size_t n);

/* Eight bytes, the highest first, so that they sort as the numbers do where none is negative. */
void i64_put(unsigned char *p, int64_t v);
int64_t i64_get(const void *bytes);
