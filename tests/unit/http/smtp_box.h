/* smtp_box.h - a small mail server of plain sockets on a thread of its own; at one stage it says
 * what the test wants. */
#pragma once

#include "unit/cm.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALLERS = 64, BYTES = 256 * 1024 };

struct caller {
    int fd;
    size_t n;
    bool in_text;
    char bytes[BYTES];
};

struct box {
    int listener, port, stop[2];
    pthread_t thread;
    struct caller *callers[CALLERS];
    int caller_count;
    const char *_Atomic stage; /* "CONNECT", "EHLO", "MAIL", "RCPT", "DATA", "." */
    const char *_Atomic words; /* a reply, "hang" or "close" */
    _Atomic int accepted, taken, hanging, logins;
    char last[BYTES]; /* the last text; read by a test only behind its answer */
};

static inline void say(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        return;
}

/* False: the connection is to be closed. */
static inline bool answer(struct box *b, int fd, const char *stage, const char *usual)
{
    const char *at = b->stage, *words = b->words;

    if (!at || strcmp(at, stage) != 0) {
        say(fd, usual);
        return true;
    }
    if (!strcmp(words, "hang")) {
        atomic_fetch_add(&b->hanging, 1);
        return true;
    }
    if (!strcmp(words, "close"))
        return false;
    say(fd, words);
    return true;
}

static inline bool command(struct box *b, struct caller *p, const char *line)
{
    if (!strncmp(line, "EHLO", 4))
        return answer(b, p->fd, "EHLO", "250-box\r\n250-AUTH PLAIN LOGIN\r\n250 SIZE 1000000\r\n");
    if (!strncmp(line, "AUTH", 4)) {
        atomic_fetch_add(&b->logins, 1);
        say(p->fd, "235 ok\r\n");
    } else if (!strncmp(line, "MAIL", 4)) {
        return answer(b, p->fd, "MAIL", "250 ok\r\n");
    } else if (!strncmp(line, "RCPT", 4)) {
        return answer(b, p->fd, "RCPT", "250 ok\r\n");
    } else if (!strncmp(line, "DATA", 4)) {
        p->in_text = !b->stage || strcmp(b->stage, "DATA") != 0;
        return answer(b, p->fd, "DATA", "354 go\r\n");
    } else if (!strncmp(line, "QUIT", 4)) {
        say(p->fd, "221 bye\r\n");
        return false;
    } else {
        say(p->fd, "502 what?\r\n");
    }
    return true;
}

static inline void consume(struct caller *p, size_t n)
{
    p->n -= n;
    memmove(p->bytes, p->bytes + n, p->n + 1);
}

static inline bool take_text(struct box *b, struct caller *p)
{
    char *end = strstr(p->bytes, "\r\n.\r\n");

    if (!end)
        return true;
    memcpy(b->last, p->bytes, (size_t)(end - p->bytes) + 2);
    b->last[end - p->bytes + 2] = '\0';
    consume(p, (size_t)(end - p->bytes) + 5);
    p->in_text = false;
    atomic_fetch_add(&b->taken, 1);
    return answer(b, p->fd, ".", "250 2.0.0 queued as 1\r\n");
}

static inline bool work(struct box *b, struct caller *p)
{
    char *end, line[600];

    while (!p->in_text && (end = strstr(p->bytes, "\r\n"))) {
        snprintf(line, sizeof(line), "%.*s", (int)(end - p->bytes), p->bytes);
        consume(p, (size_t)(end - p->bytes) + 2);
        if (!command(b, p, line))
            return false;
    }
    return !p->in_text || take_text(b, p);
}

static inline void drop_caller(struct box *b, int i)
{
    close(b->callers[i]->fd);
    free(b->callers[i]);
    b->callers[i] = b->callers[--b->caller_count];
}

static inline void hear(struct box *b, int i)
{
    struct caller *p = b->callers[i];
    ssize_t got = recv(p->fd, p->bytes + p->n, BYTES - 1 - p->n, 0);

    if (got > 0) {
        p->n += (size_t)got;
        p->bytes[p->n] = '\0';
    }
    if (got <= 0 || !work(b, p))
        drop_caller(b, i);
}

static inline void let_in(struct box *b)
{
    struct caller *p = calloc(1, sizeof(*p));

    p->fd = accept(b->listener, NULL, NULL);
    atomic_fetch_add(&b->accepted, 1);
    b->callers[b->caller_count++] = p;
    if (!answer(b, p->fd, "CONNECT", "220 box\r\n"))
        drop_caller(b, b->caller_count - 1);
}

/* False: it was told to stop. Otherwise those that hang are answered. */
static inline bool goes_on(struct box *b)
{
    char what;

    if (read(b->stop[0], &what, 1) != 1 || what == 'x')
        return false;
    b->stage = NULL;
    for (int i = 0; i < b->caller_count; i++)
        say(b->callers[i]->fd, "250 ok\r\n");
    return true;
}

static inline void box_well(struct box *b)
{
    assert_int_equal(write(b->stop[1], "w", 1), 1);
}

static inline void *box_run(void *ctx)
{
    struct box *b = ctx;

    for (;;) {
        struct pollfd fds[CALLERS + 2] = { { .fd = b->stop[0], .events = POLLIN },
                                           { .fd = b->listener, .events = POLLIN } };

        for (int i = 0; i < b->caller_count; i++)
            fds[i + 2] = (struct pollfd){ .fd = b->callers[i]->fd, .events = POLLIN };
        poll(fds, (nfds_t)b->caller_count + 2, -1);
        if (fds[0].revents && !goes_on(b))
            return NULL;
        for (int i = b->caller_count - 1; i >= 0; i--)
            if (fds[i + 2].revents)
                hear(b, i);
        if (fds[1].revents && b->caller_count < CALLERS)
            let_in(b);
    }
}

static inline struct box *box_new(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct box *b = calloc(1, sizeof(*b));
    socklen_t size = sizeof(a);

    b->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(b->listener, SOL_SOCKET, SO_RCVBUF, &(int){ 2048 },
               sizeof(int)); /* in small bites */
    assert_int_equal(bind(b->listener, (struct sockaddr *)&a, size), 0);
    getsockname(b->listener, (struct sockaddr *)&a, &size);
    b->port = ntohs(a.sin_port);
    listen(b->listener, 128);
    assert_int_equal(pipe(b->stop), 0);
    assert_int_equal(pthread_create(&b->thread, NULL, box_run, b), 0);
    return b;
}

static inline void box_free(struct box *b)
{
    assert_int_equal(write(b->stop[1], "x", 1), 1);
    pthread_join(b->thread, NULL);
    while (b->caller_count)
        drop_caller(b, 0);
    close(b->stop[0]);
    close(b->stop[1]);
    close(b->listener);
    free(b);
}
