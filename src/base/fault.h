/* fault.h - named places at which a test can make a step fail. They do nothing unless ICHIDO_FAULTS
 * is set, which production mode refuses.
 *
 *   ICHIDO_FAULTS="apply:poison.me=fail,commit=crash@3,store.commit=uncertain@2-4"
 *
 * name=action[@n[-m]]: the n-th (to m-th) time that the place is passed, or every time. Actions:
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

/* Returns false where the text does not have that form. */
bool faults_parse(struct faults *f, struct str text);

/* Passes the place called name. Returns OK or the error of its rule, or crashes. */
enum err fault_point(struct faults *f, const char *name);
enum err fault_point_at(struct faults *f, const char *name, struct str detail); /* "name:detail" */
