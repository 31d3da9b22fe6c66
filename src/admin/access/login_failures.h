/* login_failures.h - logins that failed, counted in memory (A3, as M16): one log line a second and
 * reason, one audit row a minute, reason, person and address. There are LIMIT_LOGIN_FAILURES of
 * these a minute; what comes on top is counted by reason alone. What was given as a password is
 * never told, nor a name that nobody has: people type one in the place of the other. A crash loses
 * counts only. */
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

struct login_tried {
    enum login_failure why;
    char name[LIMIT_OPERATOR_NAME + 1], from[48]; /* both empty: of whoever had no room */
    int64_t times, last_ms;
};

enum { LOGIN_TRIED = LOGIN_FAILURES + LIMIT_LOGIN_FAILURES };

struct login_failures {
    struct env *env;
    struct store *store;
    struct executor *executor;
    _Atomic int64_t unlogged[LOGIN_FAILURES];
    _Atomic int64_t logged_s[LOGIN_FAILURES]; /* the second of the last line */
    _Atomic bool called;                      /* the task is under way, or the timer armed */

    pthread_mutex_t lock;
    struct login_tried tried[LOGIN_TRIED]; /* the first of them by reason alone */
    size_t tried_count;

    /* on the executor */
    struct task call;
    struct timer timer;
    struct unit unit;
    bool armed, writing, stopping;
    struct login_tried taken[LOGIN_TRIED]; /* being written */
    size_t taken_count;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

void login_failures_init(struct login_failures *f, struct env *env, struct store *store,
                         struct executor *executor);
/* `name`: of the person who is meant, where he is known to be there; else empty. */
void login_failures_add(struct login_failures *f, struct request *r, enum login_failure why,
                        struct str name);
/* On the executor, once no request is left: what was counted is written, then `stopped` is
 * called. */
void login_failures_stop(struct login_failures *f, void (*stopped)(void *ctx), void *ctx);
