/* command.h - `ichido operators`, taken apart: where the people are kept, and what is asked
 * of that place. Only its own files include this. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/why.h"
#include "cli/admin_ask.h"
#include "server/node.h"

struct operators_order {
    struct str name;
    struct str password; /* empty: none, or it stays */
    bool has_role, viewer;
    bool has_disabled, disabled;
};

/* A person's JSON, or that of a page, as the admin API has it. Where it is not OK, why says more,
 * if there is more to say. */
struct operators_source {
    enum err (*page)(struct operators_source *s, struct arena *a, struct str cursor,
                     struct str *ret_json);
    enum err (*add)(struct operators_source *s, struct arena *a, const struct operators_order *o,
                    struct str *ret_json);
    enum err (*change)(struct operators_source *s, struct arena *a, const struct operators_order *o,
                       struct str *ret_json);
    void (*free)(struct operators_source *s);
    struct why why;
};

/* CONFLICT: a server has the file; ret_owner is its address. */
enum err operators_local_open(struct node *n, struct operators_source **ret_source,
                              char ret_owner[ADMIN_OWNER], struct why *why);
enum err operators_remote_open(struct node *n, const char *address,
                               struct operators_source **ret_source, struct why *why);
