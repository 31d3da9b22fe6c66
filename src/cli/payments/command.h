/* command.h - the parts of `ichido payments` and `ichido keys`. Only their own files include
 * this.
 *
 *   payments_args     reads the arguments
 *   payments_source   reads payments from the database, or by the admin API of the server that has
 *                     the database (M4)
 *   payments_print    prints them */
#pragma once

#include "base/why.h"
#include "cli/admin_ask.h"
#include "payment/search/search.h"
#include "server/node.h"

/* --- arguments --- */

enum payments_verb {
    PAYMENTS_LIST,
    PAYMENTS_FIND,
    PAYMENTS_SHOW,
    PAYMENTS_TIMELINE,
    PAYMENTS_CAPTURE,
    PAYMENTS_REFUND,
    PAYMENTS_VOID,
    PAYMENTS_VERBS
};

struct payments_options {
    enum payments_verb verb;
    struct payment_query query;
    struct uuid id, key;
    bool has_key;
    int64_t limit;  /* 0: not given */
    int64_t amount; /* 0: not given */
    struct str reason;
    bool all, json, yes;
    int64_t now_ms; /* in: for --from 24h */
};

enum payments_parsed { PAYMENTS_ASKED, PAYMENTS_HELP, PAYMENTS_WRONG };

/* argv[0] is "payments". Texts are argv's own. WRONG: `why` says what to write instead. */
enum payments_parsed payments_args(int argc, char **argv, int64_t now_ms,
                                   struct payments_options *ret_options, struct why *why);
void payments_usage(void);

/* --- where it is looked for --- */

struct payments_source;

/* `command` is written into the lock file: "ichido payments". False: `why` says why. */
bool payments_source_open(struct node *n, const char *command, struct payments_source **ret_source,
                          struct why *why);
void payments_source_free(struct payments_source *s); /* NULL is fine */

/* All give the API's JSON, in the arena. They fail with NOT_FOUND, or with another err and
 * `why`. */
enum err payments_source_page(struct payments_source *s, struct arena *a,
                              const struct payment_query *q, struct str cursor, int limit,
                              struct str *ret_json, struct why *why);
enum err payments_source_show(struct payments_source *s, struct arena *a, struct uuid id,
                              struct str *ret_json, struct why *why);
enum err payments_source_timeline(struct payments_source *s, struct arena *a, struct uuid id,
                                  struct str *ret_json, struct why *why);
enum err payments_source_key(struct payments_source *s, struct arena *a, struct uuid key,
                             struct str *ret_json, struct why *why);

/* --- what is shown --- */

struct payments_table {
    bool terminal, headed;
    int width;
};
void payments_table_init(struct payments_table *t);
void payments_table_row(struct payments_table *t, const cJSON *payment);
void payments_table_use(struct payments_table *t, const cJSON *use); /* of a key */
void payments_print(const cJSON *payment);                           /* all of it */
/* "1,200 JPY", "12.50 USD". */
void payments_money(long long minor, const char *currency, char ret_text[64]);
