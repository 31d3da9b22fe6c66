/* fault.h - named places where a test may let something go wrong. Off unless ICHIDO_FAULTS is set,
 * which production mode refuses.
 *
 *   ICHIDO_FAULTS="apply:poison.me=fail,commit=crash@3,store.commit=uncertain@2-4"
 *
 * name=action[@n[-m]]: at the n-th (to m-th) time the place is passed, or always. Actions:
 * fail (a terminal error), retry (a retryable one), full, uncertain, crash (as kill -9 would). */
#pragma once

#include "base/err.h"
#include "base/str.h"

enum { FAULT_RULES = 16, FAULT_NAME = 64 };

struct fault_rule {
    char name[FAULT_NAME];
    enum err err;
    bool crash;
    int64_t from, to;
    _Atomic int64_t passed;
};

struct faults {
    struct fault_rule rules[FAULT_RULES];
    int count;
};

/* False: the text is not of that form. */
bool faults_parse(struct faults *f, struct str text);

/* Passes the place called name: OK, or what the rule says. Crashes where it says so. */
enum err fault_point(struct faults *f, const char *name);
enum err fault_point_at(struct faults *f, const char *name, struct str detail); /* "name:detail" */
