/* source.h - reads the text of a setting from the environment, from the file that ICHIDO_CONFIG
 * names, or from the file that NAME_FILE names; and the rules between settings. Only this folder
 * uses it. */
#pragma once

#include "base/settings/settings.h"

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

/* Writes one line, "NAME: ...". */
void source_problem(struct source *s, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads ICHIDO_CONFIG's file and checks all names. Problems are written, not returned. */
void source_open(struct source *s);
void source_release(struct source *s);

/* Copies the value of NAME to the arena. The slice is empty where NAME is not set and where a
 * problem was written. *ret_source is set where there is a value. */
struct str source_value(struct source *s, struct arena *a, const char *name,
                        enum setting_source *ret_source);

/* The start of a value that is no secret, as much as a line of problems can show. */
#define SOURCE_SHOWN(s) (int)((s).n < 60 ? (s).n : 60), (s).p

/* routes.c: checks "paypay=paypay,card:USD=stripe" (G5). False: the problem was written. */
bool settings_check_routes(struct source *src, const char *setting, struct str rules);
/* Checks that `name`, which is part of the element `one` of a list, names a gateway. */
bool settings_check_gateway(struct source *src, const char *setting, struct str one,
                            struct str name);

/* rules.c. Called only when every setting is right by itself, since a refused setting looks like
 * one that is not set. */
bool settings_are_days(struct str list); /* "-3,0,7": LIMIT_REMINDERS at most, each once */
void settings_check(struct settings *s, struct source *src);
