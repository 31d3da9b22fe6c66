/* operators.h - the people who may log in (A3), as rows. Each function runs in the caller's
 * transaction, and adds its audit row there. */
#pragma once

#include "auth/password.h"
#include "base/arena.h"
#include "base/uuid.h"
#include "store/tx.h"

struct person {
    struct uuid id;
    struct str name;
    bool viewer;                                   /* else an operator */
    struct str password;                           /* its text: password.h */
    int64_t disabled_ms;                           /* 0: not disabled */
    int64_t created_ms, updated_ms, last_login_ms; /* the last: 0: never */
};

/* Lower-case letters, digits, . _ -; the first a letter or digit; at most LIMIT_OPERATOR_NAME. */
bool operator_name_is_fit(struct str name);
/* "viewer" or "operator". False: neither. */
bool operator_role(struct str word, bool *ret_viewer);
const char *operator_role_word(bool viewer);

struct operator_by {         /* who does it */
    const struct uuid *user; /* all zero: the admin token; NULL: the command line, on the store */
    const char *words;       /* "the admin API" */
};

/* CONFLICT: the name is taken. UNPROCESSABLE: there are LIMIT_OPERATORS already. */
enum err operator_add(struct tx *tx, const struct person *o, const struct operator_by *by);

struct operator_change {
    bool has_role, viewer;
    bool has_disabled, disabled;
    struct str password; /* its text; empty: it stays */
};
/* Ends the person's sessions if anything changed. NOT_FOUND: no person has that id. *ret: the new
 * state, with texts in the arena. */
enum err operator_change(struct tx *tx, struct arena *a, struct uuid id,
                         const struct operator_change *c, const struct operator_by *by,
                         int64_t now_ms, struct person *ret);

struct operator_own { /* a person changes the own password, from one session */
    struct uuid id;
    struct str was, password; /* texts: the old one, which was verified, and the new one */
    struct str session;       /* the hash of that session: it stays, the others end */
};
/* STALE: the password was changed meanwhile, or the person was disabled or removed. */
enum err operator_own_password(struct tx *tx, struct arena *a, const struct operator_own *own,
                               int64_t now_ms);

/* NOT_FOUND. Texts in the arena. */
enum err operator_find(struct tx *tx, struct arena *a, struct str name, struct person *ret);
/* The people after `after` (all zero: from the first), in the order in which they were added. */
enum err operators_page(struct tx *tx, struct arena *a, struct uuid after, size_t limit,
                        struct person *ret, size_t *ret_count);
