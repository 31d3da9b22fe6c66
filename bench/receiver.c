/* receiver.c - a destination that costs little: it answers every request with 200 and counts them.
 *
 *   receiver      prints {"port":N}; a line on its standard input is answered by {"count":N}
 *
 * Requests are told apart by their length alone: the server that is measured sends them
 * well-formed. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { READ_MAX = 64 * 1024, EVENTS_AT_ONCE = 256, PEERS = 4096 };

struct peer {
    int fd;
    char in[READ_MAX];
    size_t got;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int listen_somewhere(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1024) ||
        getsockname(fd, (struct sockaddr *)&at, &size))
        die("listen");
    printf("{\"port\":%d}\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

static void watch(int epoll, int fd, void *who)
{
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = who };

    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e))
        die("epoll_ctl");
}

static void take_peers(int epoll, int listener)
{
    static struct peer peers[PEERS]; /* by descriptor; what nobody uses costs nothing */
    int yes = 1, fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct peer *p = &peers[fd];

        if (fd >= PEERS)
            die("too many connections");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        p->fd = fd;
        p->got = 0;
        watch(epoll, fd, p);
    }
}

/* How long the first request is; 0: not all of it is there. */
static size_t request_size(const struct peer *p)
{
    const char *end = memmem(p->in, p->got, "\r\n\r\n", 4), *length;
    size_t size;

    if (!end)
        return 0;
    size = (size_t)(end - p->in) + 4;
    length = memmem(p->in, size, "Content-Length: ", 16);
    if (length)
        size += strtoul(length + 16, NULL, 10);
    return p->got >= size ? size : 0;
}

static size_t answer(struct peer *p)
{
    static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    size_t count = 0, size;

    while ((size = request_size(p)) > 0) {
        if (write(p->fd, ok, sizeof(ok) - 1) < 0)
            break;
        memmove(p->in, p->in + size, p->got - size);
        p->got -= size;
        count++;
    }
    return count;
}

static size_t hear(struct peer *p)
{
    ssize_t n = read(p->fd, p->in + p->got, sizeof(p->in) - p->got);

    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n <= 0) {
        close(p->fd);
        return 0;
    }
    p->got += (size_t)n;
    return answer(p);
}

static void tell(size_t count)
{
    char line[64];

    if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
        exit(0);
    printf("{\"count\":%zu}\n", count);
    fflush(stdout);
}

int main(void)
{
    int epoll = epoll_create1(0), listener = listen_somewhere();
    struct epoll_event e[EVENTS_AT_ONCE];
    size_t count = 0;
    char asked;

    watch(epoll, listener, &listener);
    watch(epoll, STDIN_FILENO, &asked);
    for (;;) {
        int n = epoll_wait(epoll, e, EVENTS_AT_ONCE, -1);

        for (int i = 0; i < n; i++)
            if (e[i].data.ptr == &listener)
                take_peers(epoll, listener);
            else if (e[i].data.ptr == &asked)
                tell(count);
            else
                count += hear(e[i].data.ptr);
    }
}
