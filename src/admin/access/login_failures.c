/* login_failures.c - counts go from the loops to the executor like this:
 *
 *   a loop adds --first one--> task --> the timer waits for the minute's end --> one unit of rows
 *
 * `scheduled` is true from the first failure until the counts are taken for writing; the next
 * failure posts the task again. Without failures there is no timer. If the write fails, the counts
 * go back into memory; after ERR_UNCERTAIN they do not, since the rows may exist. */
#include "admin/access/login_failures.h"

#include "observe/log.h"

#include <stdio.h>
#include <string.h>

enum { MINUTE_MS = 60 * 1000, DETAIL = 160 };

static struct str login_failure_word(enum login_failure why)
{
    static const char *const words[LOGIN_FAILURES] = {
        [LOGIN_WRONG_TOKEN] = "wrong_token",   [LOGIN_WRONG_PASSWORD] = "wrong_password",
        [LOGIN_UNKNOWN_NAME] = "unknown_name", [LOGIN_DISABLED] = "disabled",
        [LOGIN_TOO_OFTEN] = "too_often",       [LOGIN_OTHER_SITE] = "other_site",
    };

    return str_of(words[why]);
}

/* --- on the request's loop --- */

static void login_failures_log(struct login_failures *f, struct request *q, enum login_failure why,
                               struct str name)
{
    int64_t now_s = env_now_ms(f->env) / 1000;
    int64_t last_s = atomic_load(&f->logged_s[why]);

    if (now_s == last_s || !atomic_compare_exchange_strong(&f->logged_s[why], &last_s, now_s))
        return;
    LOG(f->env->log, LOG_WARN, "login failed", LOG_TEXT("reason", login_failure_word(why)),
        LOG_NUM("count", atomic_exchange(&f->unlogged[why], 0)), LOG_TEXT("requestId", q->id),
        LOG_TEXT("client", request_client_ip(q)), LOG_SOME("operator", name));
}

static void login_failures_set(char *to, size_t size, struct str s)
{
    snprintf(to, size, "%.*s", (int)(s.n < size ? s.n : 0), s.p);
}

/* The entry to count in. The caller holds the lock. */
static struct login_failure_count *login_failures_slot(struct login_failures *f,
                                                       enum login_failure why, const char *name,
                                                       const char *from)
{
    struct login_failure_count *x;

    for (size_t i = LOGIN_FAILURES; i < f->counts_used; i++) {
        x = &f->counts[i];
        if (x->why == why && !strcmp(x->name, name) && !strcmp(x->from, from))
            return x;
    }
    if (f->counts_used == LOGIN_FAILURE_COUNTS || (!*name && !*from))
        return &f->counts[why];
    x = &f->counts[f->counts_used++];
    *x = (struct login_failure_count){ .why = why };
    memcpy(x->name, name, strlen(name) + 1);
    memcpy(x->from, from, strlen(from) + 1);
    return x;
}

static void login_failures_count(struct login_failures *f, const struct login_failure_count *one)
{
    struct login_failure_count *x;

    pthread_mutex_lock(&f->lock);
    x = login_failures_slot(f, one->why, one->name, one->from);
    x->times += one->times;
    if (x->last_ms < one->last_ms)
        x->last_ms = one->last_ms;
    pthread_mutex_unlock(&f->lock);
}

/* The caller holds the lock, or the loops have not started. */
static void login_failures_reset(struct login_failures *f)
{
    for (int i = 0; i < LOGIN_FAILURES; i++)
        f->counts[i] = (struct login_failure_count){ .why = (enum login_failure)i };
    f->counts_used = LOGIN_FAILURES;
}

void login_failures_add(struct login_failures *f, struct request *r, enum login_failure why,
                        struct str name)
{
    struct login_failure_count one = { .why = why, .times = 1, .last_ms = env_now_ms(f->env) };

    atomic_fetch_add(&f->unlogged[why], 1);
    login_failures_log(f, r, why, name);
    login_failures_set(one.name, sizeof(one.name), name);
    login_failures_set(one.from, sizeof(one.from), request_client_ip(r));
    login_failures_count(f, &one);
    if (!atomic_exchange(&f->scheduled, true))
        executor_post(f->executor, &f->call);
}

/* --- the rows --- */

static enum err login_failures_write_row(struct tx *tx, const struct login_failure_count *x)
{
    char detail[DETAIL];

    snprintf(detail, sizeof(detail), STR_FMT "%s%s%s%s", STR_ARG(login_failure_word(x->why)),
             *x->name ? " of " : "", x->name, *x->from ? " from " : "", x->from);
    return TX_DO(tx, STMT_audit_add, 1, V_INT(x->last_ms), V_TEXT(S("LOGIN_FAILED")),
                 *x->name ? V_TEXT(str_of(x->name)) : V_NULL, V_TEXT(S("failure")), V_INT(x->times),
                 V_TEXT(str_of(detail)));
}

static enum err login_failures_write_rows(struct tx *tx, struct unit *u)
{
    struct login_failures *f = CONTAINER_OF(u, struct login_failures, unit);
    enum err e = OK;

    for (size_t i = 0; i < f->writing_used && !e; i++)
        if (f->writing_counts[i].times)
            e = login_failures_write_row(tx, &f->writing_counts[i]);
    return e;
}

/* --- on the executor --- */

static void login_failures_continue_stop(struct login_failures *f);

static void login_failures_arm(struct login_failures *f, int64_t due_ms)
{
    f->armed = due_ms != CLOCK_NEVER;
    executor_arm(f->executor, &f->timer, due_ms);
}

static void login_failures_put_back(struct login_failures *f)
{
    for (size_t i = 0; i < f->writing_used; i++)
        if (f->writing_counts[i].times)
            login_failures_count(f, &f->writing_counts[i]);
    if (!atomic_exchange(&f->scheduled, true))
        login_failures_arm(f, env_now_ms(f->env) + MINUTE_MS);
}

static void login_failures_written(struct unit *u)
{
    struct login_failures *f = CONTAINER_OF(u, struct login_failures, unit);

    f->writing = false;
    if (f->stopping)
        login_failures_continue_stop(f);
    else if (u->err && u->err != ERR_UNCERTAIN)
        login_failures_put_back(f);
}

static void login_failures_write(struct login_failures *f)
{
    static const struct unit_kind kind = { "login.failures", UNIT_BACK, login_failures_write_rows,
                                           NULL };

    login_failures_arm(f, CLOCK_NEVER);
    atomic_store(&f->scheduled, false);
    pthread_mutex_lock(&f->lock);
    memcpy(f->writing_counts, f->counts, f->counts_used * sizeof(*f->counts));
    f->writing_used = f->counts_used;
    login_failures_reset(f);
    pthread_mutex_unlock(&f->lock);
    f->writing = true;
    f->unit =
        (struct unit){ .kind = &kind, .executor = f->executor, .done = login_failures_written };
    store_post(f->store, &f->unit);
}

static void login_failures_minute_over(struct timer *t)
{
    struct login_failures *f = CONTAINER_OF(t, struct login_failures, timer);

    if (f->writing)
        login_failures_arm(f, env_now_ms(f->env) + 1000); /* the last write has not finished */
    else
        login_failures_write(f);
}

static void login_failures_arm_minute(struct task *t)
{
    struct login_failures *f = CONTAINER_OF(t, struct login_failures, call);
    int64_t now = env_now_ms(f->env);

    login_failures_arm(f, now - now % MINUTE_MS + MINUTE_MS);
    if (f->stopping)
        login_failures_continue_stop(f);
}

static void login_failures_continue_stop(struct login_failures *f)
{
    if (f->writing)
        return;
    if (f->armed)
        login_failures_write(f);
    else if (!atomic_exchange(&f->scheduled, true))
        f->stopped(f->stopped_ctx);
    /* else the posted task calls this function again */
}

void login_failures_stop(struct login_failures *f, void (*stopped)(void *ctx), void *ctx)
{
    f->stopping = true;
    f->stopped = stopped;
    f->stopped_ctx = ctx;
    login_failures_continue_stop(f);
}

void login_failures_init(struct login_failures *f, struct env *env, struct store *store,
                         struct executor *executor)
{
    *f = (struct login_failures){ .env = env, .store = store, .executor = executor };
    pthread_mutex_init(&f->lock, NULL);
    login_failures_reset(f);
    f->call.run = login_failures_arm_minute;
    f->timer = (struct timer){ .fire = login_failures_minute_over, .due_ms = CLOCK_NEVER };
}
