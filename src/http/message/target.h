/* target.h - the request target: which path and query it names, and percent-decoding.
 *
 * Accepted: "/path?query", "http://host/path?query" and, for OPTIONS alone, "*". Rejected: fragments,
 * broken percent-encoding, paths that decode to NUL, control bytes or invalid UTF-8, and the segments
 * "." and "..", which another reader would resolve to another path. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct target {
    struct str raw_path; /* as it came, a slice; the router walks it, so that %2F divides nothing */
    struct str path;     /* decoded; a slice where nothing was decoded */
    struct str query;    /* as it came, without its '?' */
};

/* VALIDATION: not such a target; *ret_why (static) says more. The path is not checked, and is the raw
 * one until target_decode(). */
enum err target_split(struct str target, bool is_options, struct target *ret, const char **ret_why);
/* VALIDATION: the path is rejected. NO_MEMORY: the arena is full. */
enum err target_decode(struct arena *a, struct target *t, const char **ret_why);

/* Takes the next byte of *s, decoded. False: at the end, or broken encoding. */
bool percent_next(struct str *s, unsigned char *ret_byte);
/* The decoded text; s itself where there is no '%'. .p is NULL: broken, or the arena is full. */
struct str percent_decode(struct arena *a, struct str s);
