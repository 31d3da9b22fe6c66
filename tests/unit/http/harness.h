/* harness.h - a real server on a free loopback port, on a thread of its own, and a plain client. */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "base/why.h"
#include "http/http.h"
#include "unit/cm.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
enum { PATIENCE_S = 20 }; /* what takes longer has failed; nothing waits for it otherwise */

struct fixture {
    struct env env;
    struct server_options options;
    struct server *server;
    pthread_t thread;
    bool running;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct request *held; /* by the handler of /hold */
    int holds, drained, replied, refused;
    struct task release;
    struct sockaddr_in at;
};

static void handle_echo(struct request *r, void *ctx)
{
    (void)ctx;
    reply_header(r, S("X-Peer"), r->peer_ip);
    reply_send(r, 200, S("text/plain"), r->body);
}

struct later {
    struct task task;
    struct request *request;
};

static void reply_later(struct task *t)
{
    struct request *r = CONTAINER_OF(t, struct later, task)->request;

    reply_send(r, 200, S("text/plain"), r->path);
}

static void handle_later(struct request *r, void *ctx)
{
    struct later *l = arena_alloc(&r->arena, 1, sizeof(*l));

    (void)ctx;
    *l = (struct later){ .task = { .run = reply_later }, .request = r };
    executor_post(r->executor, &l->task);
}

static void handle_param(struct request *r, void *ctx)
{
    (void)ctx;
    reply_send(r, 200, S("text/plain"), r->params[0]);
}

static void handle_client(struct request *r, void *ctx)
{
    struct str first = request_client_ip(r), again = request_client_ip(r);

    (void)ctx;
    reply_send(r, 200, S("text/plain"), str_eq(first, again) ? again : S("another one"));
}

static void problem_word(struct buf *out, enum err e, const char *words)
{
    buf_fmt(out, "%s: %s", err_code(e), words);
}

static void handle_big(struct request *r, void *ctx)
{
    size_t n = 3 * 1024 * 1024;
    char *p = arena_alloc(&r->arena, n, 1);

    (void)ctx;
    memset(p, 'b', n);
    reply_send(r, 200, S("text/plain"), (struct str){ p, n });
}

static void handle_hold(struct request *r, void *ctx)
{
    struct fixture *f = ctx;

    pthread_mutex_lock(&f->lock);
    f->held = r;
    f->holds++;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void release_held(struct task *t)
{
    struct fixture *f = CONTAINER_OF(t, struct fixture, release);
    struct request *r;

    pthread_mutex_lock(&f->lock);
    r = f->held;
    f->held = NULL;
    pthread_mutex_unlock(&f->lock);
    reply_send(r, 200, S("text/plain"), S("released"));
}

UNUSED static void let_go(struct fixture *f)
{
    struct executor *executor;

    pthread_mutex_lock(&f->lock);
    executor = f->held->executor;
    pthread_mutex_unlock(&f->lock);
    f->release.run = release_held;
    executor_post(executor, &f->release);
}

/* Waits until *number, guarded by the lock, is at least `least`. */
UNUSED static void wait_for(struct fixture *f, const int *number, int least)
{
    struct timespec end;
    int e = 0;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&f->lock);
    while (*number < least && !e)
        e = pthread_cond_timedwait(&f->changed, &f->lock, &end);
    pthread_mutex_unlock(&f->lock);
    assert_int_equal(e, 0);
}

static void count(struct fixture *f, int *number)
{
    pthread_mutex_lock(&f->lock);
    ++*number;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void on_drained(void *ctx)
{
    struct fixture *f = ctx;

    count(f, &f->drained);
    server_finish(f->server);
}

static void on_replied(void *ctx, const struct request *r, int status)
{
    struct fixture *f = ctx;

    assert(r->id.n > 0 && status >= 200);
    count(f, &f->replied);
}

static void on_refused(void *ctx, enum err e, struct str peer_ip)
{
    struct fixture *f = ctx;

    (void)peer_ip;
    assert(e != OK);
    count(f, &f->refused);
}

static void *run_server(void *arg)
{
    server_run(arg);
    return NULL;
}

static struct route *routes_for(struct fixture *f)
{
    static const struct route table[] = {
        { .method = "POST", .path = "/echo", .handle = handle_echo, .body_max = 2 * 1024 * 1024 },
        { .method = "GET", .path = "/echo", .handle = handle_echo },
        { .method = "GET", .path = "/later/{n}", .handle = handle_later },
        { .method = "POST", .path = "/later/{n}", .handle = handle_later },
        { .method = "POST", .path = "/small", .handle = handle_echo, .body_max = 16 },
        { .method = "GET", .path = "/param/{id}/end", .handle = handle_param },
        { .method = "GET", .path = "/big", .handle = handle_big },
        { .method = "GET", .path = "/hold", .handle = handle_hold },
        { .method = "GET", .path = "/probe", .handle = handle_echo, .unlimited = true },
        { .method = "GET", .path = "/client", .handle = handle_client },
        { .method = "POST",
          .path = "/raw/*",
          .handle = handle_later,
          .body_max = 16,
          .raw = true,
          .problem = problem_word },
    };
    struct route *routes = malloc(sizeof(table));

    assert_non_null(routes);
    memcpy(routes, table, sizeof(table));
    for (size_t i = 0; i < COUNT(table); i++)
        routes[i].ctx = f;
    f->options.routes = routes;
    f->options.route_count = COUNT(table);
    return routes;
}

static struct fixture *fixture_new(void)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    clock_init(&f->env.clock);
    rng_init_kernel(&f->env.rng);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->options.env = &f->env;
    f->options.listen = S("127.0.0.1:0");
    f->options.replied = on_replied;
    f->options.refused = on_refused;
    f->options.ctx = f;
    routes_for(f);
    return f;
}

static void fixture_start(struct fixture *f)
{
    struct why why = { 0 };

    if (server_open(&f->options, &f->server, &why))
        fail_msg("%s", why.text);
    server_on_drain(f->server, on_drained, f);
    f->at = (struct sockaddr_in){ .sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server_port(f->server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    assert_int_equal(pthread_create(&f->thread, NULL, run_server, f->server), 0);
    f->running = true;
}

static void fixture_join(struct fixture *f)
{
    if (f->running)
        pthread_join(f->thread, NULL);
    f->running = false;
}

static void fixture_free(struct fixture *f)
{
    if (f->running)
        server_stop(f->server);
    fixture_join(f);
    server_free(f->server);
    free((void *)f->options.routes);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->changed);
    free(f);
}

/* --- the client --- */

static int dial(const struct fixture *f)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = { .tv_sec = PATIENCE_S };

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    assert_int_equal(connect(fd, (const struct sockaddr *)&f->at, sizeof(f->at)), 0);
    return fd;
}

static void say(int fd, struct str s)
{
    while (s.n) {
        ssize_t n = send(fd, s.p, s.n, MSG_NOSIGNAL);

        if (n <= 0)
            fail_msg("send: %s", strerror(errno));
        s.p += n;
        s.n -= (size_t)n;
    }
}

struct answer {
    int status;
    char *text; /* head and body, NUL behind */
    char *body;
    size_t body_n;
};

static void answer_free(struct answer *a)
{
    free(a->text);
    *a = (struct answer){ 0 };
}

/* Reads one byte at a time, so that what follows stays in the socket. */
static bool hear_byte(int fd, char *c)
{
    ssize_t n = recv(fd, c, 1, 0);

    if (n < 0)
        fail_msg("recv: %s", strerror(errno));
    return n == 1;
}

static struct answer hear(int fd, bool has_body)
{
    struct answer a = { .text = calloc(1, 8192) };
    size_t n = 0;
    char *length;

    while (n < 8000 && !strstr(a.text, "\r\n\r\n"))
        if (!hear_byte(fd, &a.text[n++]))
            fail_msg("the connection ended in \"%s\"", a.text);
    a.status = atoi(a.text + 9);
    length = strcasestr(a.text, "\r\nContent-Length: ");
    a.body_n = length && has_body ? (size_t)atol(length + 18) : 0;
    a.text = realloc(a.text, n + a.body_n + 1);
    a.body = a.text + n;
    for (size_t got = 0; got < a.body_n;) {
        ssize_t k = recv(fd, a.body + got, a.body_n - got, 0);

        if (k <= 0)
            fail_msg("the body ended at %zu of %zu", got, a.body_n);
        got += (size_t)k;
    }
    a.body[a.body_n] = '\0';
    return a;
}

UNUSED static void expect_answer(int fd, int status, const char *body)
{
    struct answer a = hear(fd, true);

    if (a.status != status || (body && strcmp(a.body, body)))
        fail_msg("not %d \"%s\" but: %s", status, body ? body : "*", a.text);
    answer_free(&a);
}

/* The server's end of stream (a reset counts too). */
UNUSED static void expect_end(int fd)
{
    char c;
    ssize_t n = recv(fd, &c, 1, 0);

    if (n > 0)
        fail_msg("a byte more: %d", c);
    if (n < 0 && errno != ECONNRESET)
        fail_msg("recv: %s", strerror(errno));
    close(fd);
}
