/* login_failures.h - failed logins, counted in memory (A3, as M16): at most one log line a second
 * and reason, and one audit row a minute for each reason, person and address. There are at most
 * LIMIT_LOGIN_FAILURES such rows a minute; further failures are counted by reason alone. Neither a
 * password nor an unknown name is recorded, since people type one in the place of the other. A
 * crash loses counts only. */
#pragma once

#include "base/limits.h"
#include "http/http.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

enum login_failure {
    LOGIN_WRONG_TOKEN,
    LOGIN_WRONG_PASSWORD,
    LOGIN_UNKNOWN_NAME,
    LOGIN_DISABLED,
    LOGIN_TOO_OFTEN,
    LOGIN_OTHER_SITE,
    LOGIN_FAILURES
};

struct login_failure_count {
    enum login_failure why;
    char name[LIMIT_OPERATOR_NAME + 1], from[48]; /* both empty: counted by reason alone */
    int64_t times, last_ms;
};

enum { LOGIN_FAILURE_COUNTS = LOGIN_FAILURES + LIMIT_LOGIN_FAILURES };

struct login_failures {
    struct env *env;
    struct store *store;
    struct executor *executor;
    _Atomic int64_t unlogged[LOGIN_FAILURES];
    _Atomic int64_t logged_s[LOGIN_FAILURES]; /* the second of the last log line */
    _Atomic bool scheduled;                   /* the task is posted or the timer armed */

    pthread_mutex_t lock;
    struct login_failure_count counts[LOGIN_FAILURE_COUNTS]; /* the first ones by reason alone */
    size_t counts_used;

    /* on the executor */
    struct task call;
    struct timer timer;
    struct unit unit;
    bool armed, writing, stopping;
    struct login_failure_count writing_counts[LOGIN_FAILURE_COUNTS]; /* taken for the rows */
    size_t writing_used;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

void login_failures_init(struct login_failures *f, struct env *env, struct store *store,
                         struct executor *executor);
/* name: of the person, if such a person exists; else empty. */
void login_failures_add(struct login_failures *f, struct request *r, enum login_failure why,
                        struct str name);
/* Writes the remaining counts, then calls `stopped`. Call it on the executor, when no request is
 * left. */
void login_failures_stop(struct login_failures *f, void (*stopped)(void *ctx), void *ctx);
