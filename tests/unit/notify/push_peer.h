/* push_peer.h - a server of plain sockets for transports: it keeps what it was sent, and answers as
 * it is told to, in turn. One connection a request. And a parcel to send there. */
#pragma once

#include "base/env.h"
#include "base/why.h"
#include "http/client/client.h"
#include "notify/notify.h"
#include "observe/log.h"
#include "unit/desk.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
enum { PEER_KEPT = 64, PEER_REQUEST = 16 * 1024, PEER_REPLIES = 8 };

#define REPLY(status, headers, body)                                                               \
    "HTTP/1.1 " status "\r\nConnection: close\r\n" headers "\r\n" body
#define HANGS_UP ""

struct peer {
    int listener, port;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held, stop;                   /* held: no answer until peer_go_on() */
    const char *replies[PEER_REPLIES]; /* in turn; the last one is for all that follow */
    int reply;
    char got[PEER_KEPT][PEER_REQUEST];
    int asked;
};

static inline void peer_read(int fd, char *in)
{
    size_t n = 0;
    char *end = NULL;

    for (;;) {
        ssize_t more = recv(fd, in + n, PEER_REQUEST - 1 - n, 0);
        const char *length;

        if (more <= 0)
            return;
        n += (size_t)more;
        in[n] = '\0';
        end = strstr(in, "\r\n\r\n");
        length = strcasestr(in, "content-length: ");
        if (end && (!length || n >= (size_t)(end - in) + 4 + strtoul(length + 16, NULL, 10)))
            return;
    }
}

static inline void peer_answer(struct peer *p, int fd)
{
    const char *text;

    pthread_mutex_lock(&p->lock);
    peer_read(fd, p->got[p->asked % PEER_KEPT]);
    p->asked++;
    pthread_cond_broadcast(&p->changed);
    while (p->held && !p->stop)
        pthread_cond_wait(&p->changed, &p->lock);
    text = p->replies[p->reply];
    if (p->reply + 1 < PEER_REPLIES && p->replies[p->reply + 1])
        p->reply++;
    if (text && *text)
        assert_true(send(fd, text, strlen(text), MSG_NOSIGNAL) > 0);
    pthread_mutex_unlock(&p->lock);
}

static inline void *peer_run(void *ctx)
{
    struct peer *p = ctx;
    int fd;

    while ((fd = accept(p->listener, NULL, NULL)) >= 0) {
        peer_answer(p, fd);
        close(fd);
    }
    return NULL;
}

static inline struct peer *peer_new(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct peer *p = calloc(1, sizeof(*p));
    socklen_t size = sizeof(a);

    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->listener, (struct sockaddr *)&a, size), 0);
    assert_int_equal(listen(p->listener, 128), 0);
    getsockname(p->listener, (struct sockaddr *)&a, &size);
    p->port = ntohs(a.sin_port);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    assert_int_equal(pthread_create(&p->thread, NULL, peer_run, p), 0);
    return p;
}

static inline void peer_free(struct peer *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    shutdown(p->listener, SHUT_RDWR);
    pthread_join(p->thread, NULL);
    close(p->listener);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    free(p);
}

/* From now on: a, then b for ever (NULL: a). */
static inline void peer_says(struct peer *p, const char *a, const char *b)
{
    pthread_mutex_lock(&p->lock);
    memset(p->replies, 0, sizeof(p->replies));
    p->replies[0] = a;
    p->replies[1] = b;
    p->reply = 0;
    pthread_mutex_unlock(&p->lock);
}

UNUSED static inline void peer_hold(struct peer *p, bool held)
{
    pthread_mutex_lock(&p->lock);
    p->held = held;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

UNUSED static inline void peer_await(struct peer *p, int times)
{
    pthread_mutex_lock(&p->lock);
    while (p->asked < times)
        pthread_cond_wait(&p->changed, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static inline int peer_asked(struct peer *p)
{
    int n;

    pthread_mutex_lock(&p->lock);
    n = p->asked;
    pthread_mutex_unlock(&p->lock);
    return n;
}

/* Of the request with that number, 0: the first. They stay where they are. */
static inline const char *peer_got(struct peer *p, int i)
{
    assert_true(i >= 0 && i < peer_asked(p));
    return p->got[i % PEER_KEPT];
}

static inline const char *body_of(const char *request)
{
    const char *end = strstr(request, "\r\n\r\n");

    assert_non_null(end);
    return end + 4;
}

/* The header's value, up to the line's end, in a buffer of the caller's. */
UNUSED static inline const char *header_of(const char *request, const char *name, char value[4096])
{
    char line[64];
    const char *at;

    snprintf(line, sizeof(line), "\r\n%s: ", name);
    at = strcasestr(request, line);
    if (!at)
        return NULL;
    at += strlen(line);
    snprintf(value, 4096, "%.*s", (int)strcspn(at, "\r"), at);
    return value;
}

/* --- where the transport lives --- */

struct stage {
    struct env env;
    struct client *client;
    struct desk desk;
    struct arena arena;
    int log[2];
};

static inline void stage_init(struct stage *s)
{
    struct why why;

    clock_init(&s->env.clock);
    rng_init_kernel(&s->env.rng);
    assert_int_equal(pipe(s->log), 0);
    s->env.log = log_new(&s->env.clock, s->log[1], LOG_DEBUG, false);
    desk_init(&s->desk);
    arena_init(&s->arena, 256 << 20);
    assert_int_equal(client_open(&(struct client_options){ .env = &s->env, .allow_private = true },
                                 &s->client, &why),
                     OK);
}

static inline void stage_stop(struct stage *s)
{
    client_free(s->client);
    s->client = NULL;
}

static inline void stage_release(struct stage *s)
{
    client_free(s->client);
    log_free(s->env.log);
    close(s->log[0]);
    close(s->log[1]);
    arena_release(&s->arena);
}

/* What was logged since the last call. */
static inline const char *stage_logged(struct stage *s)
{
    char *text = arena_alloc(&s->arena, 64 * 1024, 1);
    ssize_t n;

    assert_int_equal(write(s->log[1], "\n", 1), 1);
    n = read(s->log[0], text, 64 * 1024 - 1);
    assert_true(n > 0);
    return text;
}

/* --- a parcel --- */

struct sent {
    struct parcel_out p;
    int times;
};

static inline void sent_done(struct parcel_out *p)
{
    CONTAINER_OF(p, struct sent, p)->times++;
}

static inline struct uuid uuid_of(unsigned char last)
{
    struct uuid id = { { 0x01, 0x90, 0xd5, 0xc2, 0x7e, 0x1a, 0x7b, 0x3c, 0x8d, 0x4e, 0x5f } };

    id.b[15] = last;
    return id;
}

static inline struct sent *sent_new(struct stage *s)
{
    static const struct uuid user = { { 9, 9, 9 } };
    struct sent *one = arena_alloc(&s->arena, 1, sizeof(*one));

    one->p = (struct parcel_out){ .send = uuid_of(1),
                                  .notification = uuid_of(2),
                                  .type = S("purchase_confirmed"),
                                  .title = S("購入が完了しました"),
                                  .body = S("ポジションの購入が確定しました。"),
                                  .data = S("{\"purchaseId\":\"p-1\",\"rank\":3,\"won\":true}"),
                                  .target = S("device-token-1"),
                                  .is_japanese = true,
                                  .user = &user,
                                  .created_ms = clock_wall_ms(&s->env.clock),
                                  .arena = &s->arena,
                                  .executor = &s->desk.executor,
                                  .done = sent_done };
    return one;
}

static inline enum told sent_end(struct stage *s, struct sent *one)
{
    while (!one->times)
        desk_next(&s->desk);
    assert_int_equal(one->times, 1);
    return one->p.told;
}
