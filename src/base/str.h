/* str.h - borrowed bytes. A str points into memory that it does not own, and no NUL follows it.
 * Code that keeps a str longer than that memory lives copies it with arena_str(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
    const char *p;
    size_t n;
};

#define S(literal) ((struct str){ "" literal, sizeof(literal) - 1 })
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)(s).n, (s).p /* twice: give it a variable, never str_cut() */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

struct str str_of(const char *c); /* NULL gives the empty slice */
bool str_eq(struct str a, struct str b);
bool str_eq_nocase(struct str a, struct str b); /* ASCII only, as HTTP wants it */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
int str_cmp(struct str a, struct str b); /* bytewise, the shorter first */

/* Returns the part of *s before the first sep and leaves the part after it in *s. Without a sep it
 * returns all of *s and leaves *s empty. */
struct str str_cut(struct str *s, char sep);

struct str str_trim(struct str s); /* without blanks and tabs at both ends */

/* A plain decimal number and nothing else: "-12", "0", "34". False for "", "+1", "01", "1 ". */
bool str_to_i64(struct str s, int64_t *ret_value);

/* The Levenshtein distance: how many letters to add, drop or change until a is b, for "did you
 * mean". SIZE_MAX: one of them is longer than a name. */
size_t str_distance(struct str a, struct str b);

bool str_is_utf8(struct str s); /* well-formed: no surrogates, no overlong forms */
