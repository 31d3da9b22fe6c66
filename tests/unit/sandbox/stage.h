/* stage.h - as much of a sandbox as events and switches need: its own file, a server with a loop of
 * its own, a client, a queue; and a receiver on the same server that writes down what it is sent.
 */
#pragma once

#include "base/why.h"
#include "http/client/client.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "sandbox/fault/switches.h"
#include "unit/cm.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECRET "whsec_ichido_test_secret_A_0123456789abcdef"
enum { HEARD = 64, STAGE_ROUTES = 64, STAGE_PATIENCE_S = 30 };

struct heard {
    char *body, signature[256], agent[128], type[128];
};

struct stage {
    struct sandbox s;
    struct job_kind kind;
    struct route routes[STAGE_ROUTES];
    struct control_endpoint endpoints[STAGE_ROUTES];
    char dir[64], file[128], url[160], hook[128];
    int log_fd;
    pthread_t thread;
    struct task task;

    pthread_mutex_t lock;
    pthread_cond_t more;
    struct heard heard[HEARD];
    size_t count;
    int answers[16]; /* the first deliveries get these; 0 and later ones: 200 */
    int every;       /* all deliveries get this; 0: answers */
    bool back;
};

static inline void stage_copy(char *to, size_t size, struct str s)
{
    snprintf(to, size, STR_FMT, STR_ARG(s));
}

static inline void stage_hear(struct request *r, void *ctx)
{
    struct stage *g = ctx;
    struct heard *h;
    int status = 200;

    pthread_mutex_lock(&g->lock);
    if (g->count < 16 && g->answers[g->count])
        status = g->answers[g->count];
    if (g->every)
        status = g->every;
    if (g->count < HEARD) {
        h = &g->heard[g->count];
        h->body = strndup(r->body.p, r->body.n);
        stage_copy(h->signature, 256, request_header(r, S("Stripe-Signature"), NULL));
        stage_copy(h->agent, 128, request_header(r, S("User-Agent"), NULL));
        stage_copy(h->type, 128, request_header(r, S("Content-Type"), NULL));
    }
    g->count++;
    pthread_cond_broadcast(&g->more);
    pthread_mutex_unlock(&g->lock);
    reply_send(r, status, S("text/plain"), S("heard"));
}

/* Waits until n deliveries have come. */
static inline void stage_heard(struct stage *g, size_t n)
{
    struct timespec end;
    int e = 0;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += STAGE_PATIENCE_S;
    pthread_mutex_lock(&g->lock);
    while (g->count < n && !e)
        e = pthread_cond_timedwait(&g->more, &g->lock, &end);
    pthread_mutex_unlock(&g->lock);
    if (e)
        fail_msg("only %zu of %zu deliveries came", g->count, n);
}

static inline void stage_stopped(void *ctx)
{
    server_finish(((struct stage *)ctx)->s.server);
}

static inline void stage_drained(void *ctx)
{
    queue_stop(((struct stage *)ctx)->s.queue, stage_stopped, ctx);
}

static inline void *stage_run(void *ctx)
{
    server_run(ctx);
    return NULL;
}

static inline void stage_queue_start(struct task *t)
{
    queue_start(CONTAINER_OF(t, struct stage, task)->s.queue);
}

static inline void stage_open_parts(struct stage *g)
{
    struct sandbox *s = &g->s;
    struct why why = { 0 };

    if (store_open(
            &(struct store_options){ .url = str_of(g->url), .owner = S("a test"), .sandbox = true },
            &s->env, &s->store, &why) ||
        server_open(&(struct server_options){ .env = &s->env, .listen = S("127.0.0.1:0") },
                    &s->server, &why) ||
        client_open(&(struct client_options){ .env = &s->env, .allow_private = true }, &s->client,
                    &why))
        fail_msg("%s", why.text);
    s->faults = sandbox_faults_new();
    g->kind = sandbox_webhook_kind(s);
    s->queue = queue_new_runner(&(struct queue_options){ .store = s->store,
                                                         .executor = server_executor(s->server),
                                                         .env = &s->env,
                                                         .kinds = &g->kind,
                                                         .kind_count = 1 });
    snprintf(g->hook, sizeof(g->hook), "http://127.0.0.1:%d/hook", server_port(s->server));
    s->o.webhook_url = str_of(g->hook);
    s->o.webhook_secret = S(SECRET);
}

/* With the routes of /_sandbox beside the receiver's, where `control`. */
static inline struct stage *stage_new(bool control)
{
    struct stage *g = calloc(1, sizeof(*g));
    struct env *env = &g->s.env;
    size_t n = control ? sandbox_control_route_count : 0;

    snprintf(g->dir, sizeof(g->dir), "%s/ichido-sandbox.XXXXXX", getenv("TMPDIR") ?: "/tmp");
    assert_non_null(mkdtemp(g->dir));
    snprintf(g->file, sizeof(g->file), "%s/log", g->dir);
    g->log_fd = open(g->file, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    snprintf(g->file, sizeof(g->file), "%s/sandbox.db", g->dir);
    snprintf(g->url, sizeof(g->url), "sqlite:%s", g->file);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->more, NULL);
    clock_init(&env->clock);
    rng_init_kernel(&env->rng);
    env->node = env_uuid(env);
    env->log = log_new(&env->clock, g->log_fd, LOG_DEBUG, false);
    env->metrics = metrics_new();
    stage_open_parts(g);
    assert_true(n < STAGE_ROUTES);
    if (control)
        sandbox_control_fill(&g->s, g->endpoints, g->routes);
    g->routes[n] =
        (struct route){ .method = "POST", .path = "/hook", .handle = stage_hear, .ctx = g };
    server_set_routes(g->s.server, g->routes, n + 1);
    server_on_drain(g->s.server, stage_drained, g);
    g->task.run = stage_queue_start;
    executor_post(server_executor(g->s.server), &g->task);
    assert_int_equal(pthread_create(&g->thread, NULL, stage_run, g->s.server), 0);
    return g;
}

static inline void stage_free(struct stage *g)
{
    char command[128];

    server_stop(g->s.server);
    pthread_join(g->thread, NULL);
    client_free(g->s.client);
    store_free(g->s.store);
    queue_free(g->s.queue);
    server_free(g->s.server);
    sandbox_faults_free(g->s.faults);
    log_free(g->s.env.log);
    metrics_free(g->s.env.metrics);
    for (size_t i = 0; i < HEARD; i++)
        free(g->heard[i].body);
    close(g->log_fd);
    snprintf(command, sizeof(command), "rm -rf %s", g->dir);
    assert_int_equal(system(command), 0);
    free(g);
}

/* --- a unit of the test's own --- */

struct stage_unit {
    struct unit unit;
    struct stage *stage;
    enum err (*run)(struct stage *g, struct tx *tx, struct arena *a, void *ctx);
    void *ctx;
    struct arena arena;
};

static inline enum err stage_unit_run(struct tx *tx, struct unit *u)
{
    struct stage_unit *x = CONTAINER_OF(u, struct stage_unit, unit);

    return x->run(x->stage, tx, &x->arena, x->ctx);
}

static inline void stage_unit_done(struct unit *u)
{
    struct stage *g = CONTAINER_OF(u, struct stage_unit, unit)->stage;

    pthread_mutex_lock(&g->lock);
    g->back = true;
    pthread_cond_broadcast(&g->more);
    pthread_mutex_unlock(&g->lock);
}

static inline enum err stage_do(struct stage *g,
                                enum err (*run)(struct stage *, struct tx *, struct arena *,
                                                void *),
                                void *ctx)
{
    static const struct unit_kind kind = { "test.do", UNIT_FRONT, stage_unit_run, NULL };
    struct stage_unit x = { .stage = g, .run = run, .ctx = ctx };

    arena_init(&x.arena, 1 << 20);
    x.unit = (struct unit){ .kind = &kind,
                            .executor = server_executor(g->s.server),
                            .done = stage_unit_done,
                            .arena = &x.arena };
    g->back = false;
    store_post(g->s.store, &x.unit);
    pthread_mutex_lock(&g->lock);
    while (!g->back)
        pthread_cond_wait(&g->more, &g->lock);
    pthread_mutex_unlock(&g->lock);
    arena_release(&x.arena);
    return x.unit.err;
}

/* --- plain SQL, beside the store --- */

static inline void stage_sql(struct stage *g, const char *sql, char *text, size_t size)
{
    sqlite3_stmt *s = NULL;
    sqlite3 *db = NULL;

    text[0] = '\0';
    assert_int_equal(sqlite3_open_v2(g->file, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_text(s, 0))
        snprintf(text, size, "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    sqlite3_close(db);
}

static inline int64_t stage_int(struct stage *g, const char *sql)
{
    char text[64];

    stage_sql(g, sql, text, sizeof(text));
    return text[0] ? strtoll(text, NULL, 10) : -1;
}

/* Asks again until the answer is n. */
static inline void stage_until(struct stage *g, const char *sql, int64_t n)
{
    struct timespec pause = { .tv_nsec = 2000000 };

    for (int i = 0; i < STAGE_PATIENCE_S * 500; i++) {
        if (stage_int(g, sql) == n)
            return;
        nanosleep(&pause, NULL);
    }
    fail_msg("%s is still not %lld", sql, (long long)n);
}

/* --- a client for one request --- */

/* Head and body as they came, NUL behind; the caller frees it. */
static inline char *stage_ask(struct stage *g, const char *method, const char *path,
                              const char *type, const char *body)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)server_port(g->s.server)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t size = 1 << 20, n = 0;
    char *text = calloc(1, size);
    ssize_t got;

    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    dprintf(fd,
            "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: %s\r\n"
            "Content-Length: %zu\r\n\r\n%s",
            method, path, type, strlen(body), body);
    while (n + 1 < size && (got = recv(fd, text + n, size - 1 - n, 0)) > 0)
        n += (size_t)got;
    close(fd);
    return text;
}
