/* args.h - the arguments of a command with verbs: `ichido dlq list --limit 5`. A table says which
 * option goes with which verb, and its reader what it may be. */
#pragma once

#include "base/str.h"
#include "base/why.h"

struct args_option {
    const char *name; /* "--limit" */
    int verbs;        /* a bit for each that takes it */
    bool flag;        /* takes no value */
    bool often;       /* may be given more than once */
    bool (*read)(void *ask, struct str value);
    const char *must; /* what is said where read() says no: "needs a number" */
};

struct args {
    const char *command; /* "ichido dlq" */
    const struct args_option *options;
    size_t count; /* of them; at most 64 */
    void *ask;    /* the readers' own */
    int verb;
    uint64_t seen;   /* a bit for each option that was given */
    struct why *why; /* what to write instead */
};

/* False, always: why = "what words". */
bool args_wrong(struct args *a, const char *what, const char *words);
/* --help or -h anywhere, or help first. argv[0] is the command's own name. */
bool args_ask_for_help(int argc, char **argv);
/* The verb of that name; false: none of them has it, and nothing is said yet. */
bool args_verb(struct args *a, const char *const *verbs, size_t n, const char *word);
/* Takes the option at argv[*i], and its value behind it or behind '='. False: why says why. */
bool args_take_option(struct args *a, int argc, char **argv, int *i);

/* A value: 2026-11-16T09:30:00Z, 2026-11-16 (its midnight, UTC), or "24h": so long before now_ms.
 */
bool args_time(struct str value, int64_t now_ms, int64_t *ret_ms);
