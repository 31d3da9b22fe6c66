/* args.h - reads the arguments of a command with verbs: `ichido dlq list --limit 5`. A table says
 * which verbs take an option, and its reader checks the value. */
#pragma once

#include "base/str.h"
#include "base/why.h"

struct args_option {
    const char *name; /* "--limit" */
    int verbs;        /* a bit for each that takes it */
    bool flag;        /* takes no value */
    bool often;       /* may be given more than once */
    bool (*read)(void *ctx, struct str value);
    const char *must; /* the message where read() returns false: "needs a number" */
};

struct args {
    const char *command; /* "ichido dlq" */
    const struct args_option *options;
    size_t count; /* of them; at most 64 */
    void *ctx;    /* passed to the readers */
    int verb;
    uint64_t seen;   /* a bit for each option that was given */
    struct why *why; /* what to write instead */
};

/* Sets why to "what words" and returns false. */
bool args_wrong(struct args *a, const char *what, const char *words);
/* True with --help or -h anywhere, or with help as the first word. argv[0] is the command's
 * name. */
bool args_ask_for_help(int argc, char **argv);
/* The verb of that name; false where there is none, which the caller reports. */
bool args_verb(struct args *a, const char *const *verbs, size_t n, const char *word);
/* Takes the option at argv[*i] and its value, which is the next word or follows '='. False: why
 * says why. */
bool args_take_option(struct args *a, int argc, char **argv, int *i);

/* Reads 2026-11-16T09:30:00Z, 2026-11-16 (midnight UTC), or a time before now_ms like "24h". */
bool args_time(struct str value, int64_t now_ms, int64_t *ret_ms);
