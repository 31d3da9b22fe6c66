/* login_failures.c - counts go from the loops to the executor like this:
 *
 *   a loop adds --first one--> task --> the timer waits for the minute's end --> one unit of rows
 *
 * `called` is true from the first failure until its counts are taken, so that whoever adds behind
 * that calls again, and while nobody fails there is no timer. */
#include "admin/access/login_failures.h"

#include "observe/log.h"

#include <stdio.h>
#include <string.h>

enum { MINUTE_MS = 60 * 1000, DETAIL = 160 };

static struct str word_of(enum login_failure why)
{
    static const char *const words[LOGIN_FAILURES] = {
        [LOGIN_WRONG_TOKEN] = "wrong_token",   [LOGIN_WRONG_PASSWORD] = "wrong_password",
        [LOGIN_UNKNOWN_NAME] = "unknown_name", [LOGIN_DISABLED] = "disabled",
        [LOGIN_TOO_OFTEN] = "too_often",       [LOGIN_OTHER_SITE] = "other_site",
    };

    return str_of(words[why]);
}

/* --- on the request's loop --- */

static void log_at_most_once_a_second(struct login_failures *f, struct request *q,
                                      enum login_failure why, struct str name)
{
    int64_t now_s = env_now_ms(f->env) / 1000;
    int64_t last_s = atomic_load(&f->logged_s[why]);

    if (now_s == last_s || !atomic_compare_exchange_strong(&f->logged_s[why], &last_s, now_s))
        return;
    LOG(f->env->log, LOG_WARN, "login failed", LOG_TEXT("reason", word_of(why)),
        LOG_NUM("count", atomic_exchange(&f->unlogged[why], 0)), LOG_TEXT("requestId", q->id),
        LOG_TEXT("client", request_client_ip(q)), LOG_SOME("operator", name));
}

static void login_failures_set(char *to, size_t size, struct str s)
{
    snprintf(to, size, "%.*s", (int)(s.n < size ? s.n : 0), s.p);
}

/* Under the lock. */
static struct login_tried *place_of(struct login_failures *f, enum login_failure why,
                                    const char *name, const char *from)
{
    struct login_tried *x;

    for (size_t i = LOGIN_FAILURES; i < f->tried_count; i++) {
        x = &f->tried[i];
        if (x->why == why && !strcmp(x->name, name) && !strcmp(x->from, from))
            return x;
    }
    if (f->tried_count == LOGIN_TRIED || (!*name && !*from))
        return &f->tried[why];
    x = &f->tried[f->tried_count++];
    *x = (struct login_tried){ .why = why };
    memcpy(x->name, name, strlen(name) + 1);
    memcpy(x->from, from, strlen(from) + 1);
    return x;
}

static void count_tried(struct login_failures *f, const struct login_tried *one)
{
    struct login_tried *x;

    pthread_mutex_lock(&f->lock);
    x = place_of(f, one->why, one->name, one->from);
    x->times += one->times;
    if (x->last_ms < one->last_ms)
        x->last_ms = one->last_ms;
    pthread_mutex_unlock(&f->lock);
}

/* Under the lock, or before there are loops. */
static void forget_tried(struct login_failures *f)
{
    for (int i = 0; i < LOGIN_FAILURES; i++)
        f->tried[i] = (struct login_tried){ .why = (enum login_failure)i };
    f->tried_count = LOGIN_FAILURES;
}

void login_failures_add(struct login_failures *f, struct request *r, enum login_failure why,
                        struct str name)
{
    struct login_tried one = { .why = why, .times = 1, .last_ms = env_now_ms(f->env) };

    atomic_fetch_add(&f->unlogged[why], 1);
    log_at_most_once_a_second(f, r, why, name);
    login_failures_set(one.name, sizeof(one.name), name);
    login_failures_set(one.from, sizeof(one.from), request_client_ip(r));
    count_tried(f, &one);
    if (!atomic_exchange(&f->called, true))
        executor_post(f->executor, &f->call);
}

/* --- the rows --- */

static enum err write_row(struct tx *tx, const struct login_tried *x)
{
    char detail[DETAIL];

    snprintf(detail, sizeof(detail), STR_FMT "%s%s%s%s", STR_ARG(word_of(x->why)),
             *x->name ? " of " : "", x->name, *x->from ? " from " : "", x->from);
    return TX_DO(tx, STMT_audit_add, 1, V_INT(x->last_ms), V_TEXT(S("LOGIN_FAILED")),
                 *x->name ? V_TEXT(str_of(x->name)) : V_NULL, V_TEXT(S("failure")), V_INT(x->times),
                 V_TEXT(str_of(detail)));
}

static enum err write_rows(struct tx *tx, struct unit *u)
{
    struct login_failures *f = CONTAINER_OF(u, struct login_failures, unit);
    enum err e = OK;

    for (size_t i = 0; i < f->taken_count && !e; i++)
        if (f->taken[i].times)
            e = write_row(tx, &f->taken[i]);
    return e;
}

/* --- on the executor --- */

static void go_on_stopping(struct login_failures *f);

static void login_failures_arm(struct login_failures *f, int64_t due_ms)
{
    f->armed = due_ms != CLOCK_NEVER;
    executor_arm(f->executor, &f->timer, due_ms);
}

static void put_back(struct login_failures *f)
{
    for (size_t i = 0; i < f->taken_count; i++)
        if (f->taken[i].times)
            count_tried(f, &f->taken[i]);
    if (!atomic_exchange(&f->called, true))
        login_failures_arm(f, env_now_ms(f->env) + MINUTE_MS);
}

static void login_failures_written(struct unit *u)
{
    struct login_failures *f = CONTAINER_OF(u, struct login_failures, unit);

    f->writing = false;
    if (f->stopping)
        go_on_stopping(f);
    else if (u->err && u->err != ERR_UNCERTAIN)
        put_back(f);
}

static void write_counts(struct login_failures *f)
{
    static const struct unit_kind kind = { "login.failures", UNIT_BACK, write_rows, NULL };

    login_failures_arm(f, CLOCK_NEVER);
    atomic_store(&f->called, false);
    pthread_mutex_lock(&f->lock);
    memcpy(f->taken, f->tried, f->tried_count * sizeof(*f->tried));
    f->taken_count = f->tried_count;
    forget_tried(f);
    pthread_mutex_unlock(&f->lock);
    f->writing = true;
    f->unit =
        (struct unit){ .kind = &kind, .executor = f->executor, .done = login_failures_written };
    store_post(f->store, &f->unit);
}

static void minute_is_over(struct timer *t)
{
    struct login_failures *f = CONTAINER_OF(t, struct login_failures, timer);

    if (f->writing)
        login_failures_arm(f, env_now_ms(f->env) + 1000); /* a database that slow; let it finish */
    else
        write_counts(f);
}

static void first_of_a_minute(struct task *t)
{
    struct login_failures *f = CONTAINER_OF(t, struct login_failures, call);
    int64_t now = env_now_ms(f->env);

    login_failures_arm(f, now - now % MINUTE_MS + MINUTE_MS);
    if (f->stopping)
        go_on_stopping(f);
}

static void go_on_stopping(struct login_failures *f)
{
    if (f->writing)
        return;
    if (f->armed)
        write_counts(f);
    else if (!atomic_exchange(&f->called, true))
        f->stopped(f->stopped_ctx);
    /* else the task is on its way */
}

void login_failures_stop(struct login_failures *f, void (*stopped)(void *ctx), void *ctx)
{
    f->stopping = true;
    f->stopped = stopped;
    f->stopped_ctx = ctx;
    go_on_stopping(f);
}

void login_failures_init(struct login_failures *f, struct env *env, struct store *store,
                         struct executor *executor)
{
    *f = (struct login_failures){ .env = env, .store = store, .executor = executor };
    pthread_mutex_init(&f->lock, NULL);
    forget_tried(f);
    f->call.run = first_of_a_minute;
    f->timer = (struct timer){ .fire = minute_is_over, .due_ms = CLOCK_NEVER };
}
