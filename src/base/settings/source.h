/* source.h - where a setting's text comes from: the environment, the file that
 * ICHIDO_CONFIG names, or the file that NAME_FILE names; and the rules between settings. Only
 * settings*.c uses it. */
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

/* One line: "NAME: words". */
void source_problem(struct source *s, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads ICHIDO_CONFIG's file and looks at all names. Problems are written, not returned. */
void source_open(struct source *s);
void source_release(struct source *s);

/* The value of NAME, copied to the arena, or an empty slice: not set, or a problem that is written.
 * *ret_source is set where there is a value. */
struct str source_value(struct source *s, struct arena *a, const char *name,
                        enum setting_source *ret_source);

/* Of a value that is no secret, as much as a line can show. */
#define SOURCE_SHOWN(s) (int)((s).n < 60 ? (s).n : 60), (s).p

/* routes.c: "paypay=paypay,card:USD=stripe" (G5). False: it was said what is wrong. */
bool settings_check_routes(struct source *src, const char *setting, struct str rules);
/* Is `name`, which stands in `one` of a list, a gateway's? */
bool settings_check_gateway(struct source *src, const char *setting, struct str one,
                            struct str name);

/* rules.c: only when every setting is right by itself. What was refused looks like what is
 * not set. */
bool settings_are_days(struct str list); /* "-3,0,7": LIMIT_REMINDERS at most, each once */
void settings_check(struct settings *s, struct source *src);
