/* settings_source.h - where a setting's text comes from: the environment, the file that
 * ICHIDO_CONFIG names, or the file that NAME_FILE names. Only settings.c uses it. */
#pragma once

#include "base/settings.h"

struct source {
    settings_getenv get;
    char *const *env;  /* NULL: the names cannot be listed */
    struct buf config; /* the text of ICHIDO_CONFIG's file; wiped at the end */
    const char *config_name;
    bool (*is_known)(struct str name);
    struct str (*nearest)(struct str name); /* for "did you mean"; empty: none is near */
    struct buf *problems;
    int problem_count;
};

/* One line: "NAME: words". */
void source_problem(struct source *s, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads ICHIDO_CONFIG's file and looks at all names. Problems are written, not returned. */
void source_open(struct source *s);
void source_release(struct source *s);

/* The value of NAME, copied to the arena, or an empty slice: not set, or a problem that is written.
 */
struct str source_value(struct source *s, struct arena *a, const char *name);
