/* fault.c - parses ICHIDO_FAULTS and counts how often each named place was passed. The rules never
 * change after the start; only their counters do, and any thread may pass a place. */
#include "base/fault.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool parse_action(struct str s, struct fault_rule *r)
{
    static const struct {
        struct str word;
        enum err err;
    } actions[] = {
        { { "fail", 4 }, ERR_VALIDATION }, { { "retry", 5 }, ERR_UNAVAILABLE },
        { { "full", 4 }, ERR_STORE_FULL }, { { "uncertain", 9 }, ERR_UNCERTAIN },
        { { "io", 2 }, ERR_INTERNAL },
    };

    if (str_eq(s, S("crash"))) {
        r->crash = true;
        return true;
    }
    for (size_t i = 0; i < COUNT(actions); i++)
        if (str_eq(s, actions[i].word)) {
            r->err = actions[i].err;
            return true;
        }
    return false;
}

static bool fault_has(struct str s, char c)
{
    return s.n && memchr(s.p, c, s.n);
}

static bool parse_range(struct str s, struct fault_rule *r)
{
    bool is_range = fault_has(s, '-');
    struct str from = str_cut(&s, '-');

    if (!str_to_i64(from, &r->from) || r->from < 1)
        return false;
    r->to = r->from;
    return !is_range || (str_to_i64(s, &r->to) && r->to >= r->from);
}

static bool parse_rule(struct str s, struct fault_rule *r)
{
    struct str name = str_cut(&s, '=');
    bool is_counted = fault_has(s, '@');
    struct str action = str_cut(&s, '@');

    if (!name.n || name.n >= sizeof(r->name) || !parse_action(action, r))
        return false;
    memcpy(r->name, name.p, name.n);
    r->from = 1;
    r->to = INT64_MAX;
    return !is_counted || parse_range(s, r);
}

bool faults_parse(struct faults *f, struct str text)
{
    *f = (struct faults){ 0 };
    while (text.n) {
        struct str rule = str_trim(str_cut(&text, ','));

        if (f->count == FAULT_RULES || !parse_rule(rule, &f->rules[f->count]))
            return false;
        f->count++;
    }
    return true;
}

static enum err fault_pass(struct faults *f, struct str name)
{
    for (int i = 0; i < f->count; i++) {
        struct fault_rule *r = &f->rules[i];
        int64_t time;

        if (!str_eq(str_of(r->name), name))
            continue;
        time = atomic_fetch_add(&r->passed, 1) + 1;
        if (time < r->from || time > r->to)
            continue;
        if (r->crash)
            kill(getpid(), SIGKILL);
        return r->err;
    }
    return OK;
}

enum err fault_point(struct faults *f, const char *name)
{
    return f->count ? fault_pass(f, str_of(name)) : OK;
}

enum err fault_point_at(struct faults *f, const char *name, struct str detail)
{
    char full[FAULT_NAME];
    int n;

    if (!f->count)
        return OK;
    n = snprintf(full, sizeof(full), "%s:" STR_FMT, name, STR_ARG(detail));
    if (n < 0 || (size_t)n >= sizeof(full))
        return OK;
    return fault_pass(f, (struct str){ full, (size_t)n });
}
