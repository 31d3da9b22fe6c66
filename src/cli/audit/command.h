/* command.h - the parts of `ichido audit`. Only its own files include this.
 *
 *   audit_args     reads the arguments
 *   audit_source   reads the log from the database, or by the admin API of the server that has the
 *                  database (M4). Both give the API's JSON. */
#pragma once

#include "audit/list.h"
#include "audit/verify.h"
#include "base/why.h"
#include "cli/admin_ask.h"
#include "server/node.h"

enum audit_verb { AUDIT_DO_LIST, AUDIT_DO_VERIFY, AUDIT_DO_EXPORT };

struct audit_options {
    enum audit_verb verb;
    struct audit_filter filter;
    struct audit_expect expect;
    struct str expect_text;
    enum audit_format format;
    int64_t limit; /* 0: not given */
    bool all, json;
};

enum audit_parsed { AUDIT_ASKED, AUDIT_HELP, AUDIT_WRONG };

/* argv[0] is "audit". Texts are argv's own. WRONG: `why` says what to write instead. */
enum audit_parsed audit_args(int argc, char **argv, int64_t now_ms,
                             struct audit_options *ret_options, struct why *why);
void audit_usage(void);

enum { AUDIT_NEXT = 64 }; /* holds any of the cursors */

struct audit_source;
/* `why` says what is wrong. */
enum err audit_source_open(struct node *n, struct audit_source **ret_source, struct why *why);
void audit_source_free(struct audit_source *s); /* NULL is fine */
/* Reads one part: JSON, or the text of an export. next goes in and out; empty means the start and,
 * afterwards, the end. limit is for lists. */
enum err audit_source_read(struct audit_source *s, struct arena *a,
                           const struct audit_options *options, int limit, char next[AUDIT_NEXT],
                           struct str *ret_text, struct why *why);
