/* keys_server.h - a server of plain sockets that answers every GET with the JWKS it was given, or
 * behaves as badly as it is told to. One connection a request. */
#pragma once

#include "unit/cm.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum manner { SAYS_200, SAYS_500, MOVED, HANGS_UP, HOLDS };

struct keys_server {
    int listener, port;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum manner manner; /* under lock; HOLDS: the answer waits until it is another */
    char body[32 * 1024];
    _Atomic int asked;
    bool stop;
};

static inline void keys_server_say(int fd, const char *text)
{
    size_t n = strlen(text);

    while (n) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        text += sent;
        n -= (size_t)sent;
    }
}

static inline void keys_server_answer(struct keys_server *s, int fd)
{
    char head[128], in[4096];

    if (recv(fd, in, sizeof(in), 0) <= 0)
        return;
    pthread_mutex_lock(&s->lock);
    s->asked++;
    pthread_cond_broadcast(&s->changed);
    while (s->manner == HOLDS && !s->stop)
        pthread_cond_wait(&s->changed, &s->lock);
    snprintf(head, sizeof(head), "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
             s->manner == SAYS_500 ? "500 No"
             : s->manner == MOVED  ? "302 Found\r\nLocation: /keys"
                                   : "200 OK",
             strlen(s->body));
    if (s->manner != HANGS_UP && !s->stop) {
        keys_server_say(fd, head);
        keys_server_say(fd, s->body);
    }
    pthread_mutex_unlock(&s->lock);
}

static inline void *keys_server_run(void *ctx)
{
    struct keys_server *s = ctx;
    int fd;

    while ((fd = accept(s->listener, NULL, NULL)) >= 0) {
        keys_server_answer(s, fd);
        close(fd);
    }
    return NULL;
}

static inline struct keys_server *keys_server_new(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct keys_server *s = calloc(1, sizeof(*s));
    socklen_t size = sizeof(a);

    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&a, size), 0);
    assert_int_equal(listen(s->listener, 64), 0);
    getsockname(s->listener, (struct sockaddr *)&a, &size);
    s->port = ntohs(a.sin_port);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    strcpy(s->body, "{\"keys\":[]}");
    assert_int_equal(pthread_create(&s->thread, NULL, keys_server_run, s), 0);
    return s;
}

/* From now on: what it does, and with which set (NULL: as before). */
static inline void keys_server_set(struct keys_server *s, enum manner manner, const char *body)
{
    pthread_mutex_lock(&s->lock);
    s->manner = manner;
    if (body)
        snprintf(s->body, sizeof(s->body), "%s", body);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* Waits until it was asked so often. */
static inline void keys_server_await(struct keys_server *s, int times)
{
    pthread_mutex_lock(&s->lock);
    while (s->asked < times)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static inline void keys_server_free(struct keys_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listener);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s);
}
