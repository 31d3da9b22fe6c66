/* A message that kills its server must take nobody along: those whose last owner never said what
 * became of them are run one at a time, with nothing beside them. */
#include "unit/queue/rig.h"

#include <sys/wait.h>

enum { MOST = 50 };

static struct {
    struct rig *rig;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool gate_open;
    _Atomic int at_gate;
    struct task arrived;
    int done, beside; /* beside: suspects that were not alone */
    char order[256];
} w;

static void arrived_run(struct task *t)
{
    (void)t;
}

static void wait_at_gate(void)
{
    pthread_mutex_lock(&w.lock);
    w.at_gate++;
    w.arrived.run = arrived_run;
    executor_post(&w.rig->den.desk.executor, &w.arrived);
    while (!w.gate_open)
        pthread_cond_wait(&w.moved, &w.lock);
    pthread_mutex_unlock(&w.lock);
}

static enum err run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    (void)tx, (void)ctx, (void)why;
    if (str_eq(m->ref, S("killer")))
        _exit(9);
    if (str_eq(m->ref, S("slow")))
        wait_at_gate();
    return OK;
}

static void ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                  const char *why)
{
    size_t used = strlen(w.order);

    (void)env, (void)ctx, (void)why;
    w.done += end == JOB_DONE;
    if (m->attempt > 1 && w.rig->queue[0]->held > 1)
        w.beside++;
    snprintf(w.order + used, sizeof(w.order) - used, "%s" STR_FMT, used ? " " : "",
             STR_ARG(m->ref));
}

static const struct job_kind kinds[] = {
    { .name = "test",
      .run = run,
      .retry = { .retries = 3, .first_ms = 1000, .factor = 2 },
      .ended = ended },
};
static const struct queue_options options = { .kinds = kinds, .kind_count = COUNT(kinds) };

static struct rig *begin(void **state)
{
    memset(&w, 0, sizeof(w));
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.moved, NULL);
    w.rig = *state;
    return w.rig;
}

struct adding {
    const char *ref;
    size_t n;
    int64_t delay_ms;
};

static enum err do_add(struct tx *tx, void *ctx)
{
    const struct adding *a = ctx;
    struct env *env = &w.rig->env[0];
    struct queue_new m[MOST];

    for (size_t i = 0; i < a->n; i++)
        m[i] = (struct queue_new){ .id = env_uuid(env),
                                   .kind = S("test"),
                                   .ref = str_of(a->ref),
                                   .due_ms = env_now_ms(env) + a->delay_ms };
    return queue_add(w.rig->queue[0], tx, env_now_ms(env), m, a->n);
}

static void add(const char *ref, size_t n, int64_t delay_ms)
{
    struct adding a = { ref, n, delay_ms };

    assert_int_equal(rig_do(w.rig, 0, do_add, &a), OK);
}

/* As a node leaves them that died with them. */
static void suspect(const char *ref)
{
    char sql[200];

    snprintf(sql, sizeof(sql),
             "UPDATE message SET due_at = %lld, attempt = 1, owner = %s WHERE ref = '%s'",
             (long long)atomic_load(&rig_now_ms) - 1, w.rig->postgres ? "'\\x00'::bytea" : "x'00'",
             ref);
    sql_int(w.rig, sql);
}

static void start(void)
{
    rig_queue(w.rig, 0, options);
    queue_start(w.rig->queue[0]);
}

static void q12_suspects_run_one_at_a_time_and_the_others_as_ever(void **state)
{
    struct rig *r = begin(state);

    add("s", 20, 0);
    suspect("s");
    add("o", 20, 0);
    start();
    rig_settle(r);
    assert_int_equal(w.done, 40);
    assert_int_equal(w.beside, 0);
    assert_false(r->queue[0]->suspect);
    assert_int_equal(sql_int(r, "SELECT count(*) FROM message"), 0);
    add("o", 20, 0);
    rig_settle(r);
    assert_int_equal(w.done, 60);
}

static void q12_suspects_among_others_are_alone_too(void **state)
{
    struct rig *r = begin(state);

    for (int i = 0; i < 8; i++) { /* o s o s ..., by due time */
        char ref[16];

        snprintf(ref, sizeof(ref), "%c%d", i % 2 ? 's' : 'o', i);
        add(ref, 2, 0);
        if (i % 2)
            suspect(ref);
        atomic_fetch_add(&rig_now_ms, 10);
    }
    start();
    rig_settle(r);
    assert_int_equal(w.done, 16);
    assert_int_equal(w.beside, 0);
}

static void open_gate(void)
{
    pthread_mutex_lock(&w.lock);
    w.gate_open = true;
    pthread_cond_broadcast(&w.moved);
    pthread_mutex_unlock(&w.lock);
}

static void let_home_rest(struct rig *r)
{
    struct queue *q = r->queue[0];

    for (int tasks = 0; q->fetching || q->renewal || q->counting || !desk_is_empty(&r->den.desk);
         tasks++) {
        assert_true(tasks < 100);
        desk_next(&r->den.desk);
    }
}

/* PostgreSQL only: SQLite's one writer is busy with the slow job itself. */
static void q12_a_suspect_waits_for_what_is_under_way_and_nobody_spins(void **state)
{
    struct rig *r = begin(state);
    int64_t units;

    start();
    add("slow", 1, 0);
    while (w.at_gate < 1)
        desk_next(&r->den.desk);
    add("s", 1, 60000);
    suspect("s");
    add("behind", 3, 0);
    let_home_rest(r);
    assert_true(r->queue[0]->suspect);
    assert_int_equal(r->queue[0]->held, 1);
    units = store_health(r->store[0]).units;
    for (int i = 0; i < 5; i++) {
        atomic_fetch_add(&rig_now_ms, 500);
        den_fire(&r->den);
        queue_wake(r->queue[0]);
        let_home_rest(r);
    }
    assert_int_equal(store_health(r->store[0]).units, units);
    assert_int_equal(sql_int(r, "SELECT attempt FROM message WHERE ref = 's'"), 1);
    open_gate();
    rig_settle(r);
    assert_string_equal(w.order, "slow s behind behind behind");
    assert_int_equal(w.beside, 0);
}

static void q12_nothing_is_fetched_while_a_suspect_runs(void **state)
{
    struct rig *r = begin(state);

    add("slow", 1, 0);
    suspect("slow");
    start();
    while (w.at_gate < 1)
        desk_next(&r->den.desk);
    add("behind", 2, 0);
    queue_wake(r->queue[0]);
    let_home_rest(r);
    assert_int_equal(r->queue[0]->held, 1);
    assert_int_equal(sql_int(r, "SELECT max(attempt) FROM message WHERE ref = 'behind'"), 0);
    open_gate();
    rig_settle(r);
    assert_string_equal(w.order, "slow behind behind");
}

/* A process of its own: true if the killer took it. */
static bool server_dies(struct rig *r)
{
    int status;
    pid_t child;

    child = fork();
    assert_true(child >= 0);
    if (!child) {
        den_init(&r->den);
        rig_env(r, &r->env[0]);
        r->store[0] = rig_store(r, &r->env[0]);
        start();
        rig_settle(r);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 9;
}

static void q12_a_message_that_kills_its_server_takes_nobody_along(void **state)
{
    struct rig *r = begin(state);
    int deaths = 0;

    add("innocent", MOST / 2, 0);
    add("killer", 1, 0);
    add("innocent", MOST / 2, 0);
    store_free(r->store[0]);
    while (server_dies(r))
        if (++deaths > 10)
            break;
    r->store[0] = r->store[1] = rig_store(r, &r->store_env[0]);
    assert_int_equal(deaths, 4); /* its budget */
    assert_int_equal(sql_int(r, "SELECT count(*) FROM message"), 0);
    assert_int_equal(sql_int(r, "SELECT count(*) FROM dead_letters WHERE ref = 'innocent'"), 0);
    assert_int_equal(sql_int(r, "SELECT attempts FROM dead_letters WHERE ref = 'killer'"), 5);
}

#define ALL(ON)                                                                                    \
    ON(q12_suspects_run_one_at_a_time_and_the_others_as_ever),                                     \
        ON(q12_suspects_among_others_are_alone_too)

int main(void)
{
    static const struct CMUnitTest sqlite[] = {
        ALL(ON_SQLITE),
        ON_SQLITE(q12_a_message_that_kills_its_server_takes_nobody_along),
    };
    static const struct CMUnitTest postgres[] = {
        ALL(ON_POSTGRES),
        ON_POSTGRES(q12_a_suspect_waits_for_what_is_under_way_and_nobody_spins),
        ON_POSTGRES(q12_nothing_is_fetched_while_a_suspect_runs),
    };

    return RUN_BOTH(sqlite, postgres);
}
