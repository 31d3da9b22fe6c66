/* command.h - the parts of `ichido dlq`. Only its own files include this; reconcile and transfers
 * for what they print.
 *
 *   dlq_args     reads the arguments
 *   dlq_local    works on the database, where no other process has it
 *   dlq_remote   works by the admin API of the server that has the database (M4)
 *   dlq_print    prints the results
 *
 * Both sources give the API's JSON, so the other files do not differ between them. */
#pragma once

#include "base/why.h"
#include "cli/admin_ask.h"
#include "dlq/dead_letter.h"
#include "server/node.h"

#include <stdio.h>

/* --- arguments --- */

enum dlq_verb { DLQ_LIST, DLQ_GROUPS, DLQ_SHOW, DLQ_RETRY, DLQ_DELETE };

struct dlq_options {
    enum dlq_verb verb;
    struct dead_filter filter;
    struct uuid *ids; /* LIMIT_DEAD_IDS at most */
    size_t id_count;
    int64_t limit;   /* 0: not given */
    int64_t rate;    /* dead letters a second; 0: not given */
    struct str body; /* the file of an edited one; empty: not given */
    bool all, dry_run, json, yes;
};

enum dlq_parsed { DLQ_ASKED, DLQ_HELP, DLQ_WRONG };

/* argv[0] is "dlq". Texts are argv's own. WRONG: `why` says what to write instead. */
enum dlq_parsed dlq_args(int argc, char **argv, struct arena *a, int64_t now_ms,
                         struct dlq_options *ret_options, struct why *why);
void dlq_usage(void);

/* --- where the letters are --- */

struct dlq_span { /* a part of a retry or deletion */
    bool dry_run;
    struct str cursor; /* empty: from the start */
    int64_t limit;
    size_t first_id, id_count; /* where ids were given */
};

struct dlq_source {
    /* All give JSON in the arena. They fail with NOT_FOUND, or with another err and why. */
    enum err (*page)(struct dlq_source *s, struct arena *a, const struct dead_filter *f,
                     struct str cursor, int limit, struct str *ret_json);
    enum err (*show)(struct dlq_source *s, struct arena *a, struct uuid id, struct str *ret_json);
    enum err (*act)(struct dlq_source *s, struct arena *a, const struct dlq_options *options,
                    const struct dlq_span *span, struct str *ret_json);
    enum err (*groups)(struct dlq_source *s, struct arena *a, const struct dead_filter *f,
                       struct str cursor, int limit, struct str *ret_json);
    /* UNPROCESSABLE and VALIDATION also fill why. */
    enum err (*edit)(struct dlq_source *s, struct arena *a, struct uuid id, struct str body);
    void (*free)(struct dlq_source *s);
    const char *afterwards; /* says when a retried message will run */
    struct why why;
};

/* Opens the database. CONFLICT: another process has it, and ret_owner names that process. */
enum err dlq_local_open(struct node *n, struct dlq_source **ret_source, char ret_owner[ADMIN_OWNER],
                        struct why *why);
enum err dlq_remote_open(struct node *n, const char *address, struct dlq_source **ret_source,
                         struct why *why);

/* Adds the filter, or the choice of all dead letters, as members of a JSON object. */
void dlq_choice(struct buf *b, const struct dlq_options *options, size_t first_id, size_t id_count);

/* --- redrives, which the server does: redrive.c --- */

/* Starts a redrive, shows its progress until it ends, and cancels it at Ctrl-C. Returns the exit
 * code. */
int dlq_redrive(struct node *n, const char *command, struct str path, struct str body, bool dry_run,
                bool json);

/* --- what is shown --- */

struct dlq_table {
    bool terminal;
    int width;
    bool headed;
};
void dlq_table_init(struct dlq_table *t);
void dlq_table_group(struct dlq_table *t, const cJSON *group);
void dlq_table_letter(struct dlq_table *t, const cJSON *letter);
void dlq_print_letter(const cJSON *letter); /* all of it */
void dlq_print_refusals(const cJSON *refusals);
/* Prints text from outside, at most max_chars, with control characters replaced. */
void dlq_put(FILE *out, struct str text, size_t max_chars);
size_t dlq_chars(struct str text); /* how many it has */

struct dlq_progress { /* a line on standard error, for many */
    struct env *env;
    const char *verb; /* "retried" */
    int64_t total, began_ms, told_ms;
    bool terminal, shown;
};
void dlq_progress_begin(struct dlq_progress *p, struct env *env, const char *verb, int64_t total);
void dlq_progress_print(struct dlq_progress *p, int64_t done);
void dlq_progress_end(struct dlq_progress *p, int64_t done);
