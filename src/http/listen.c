/* listen.c - binds the address (or takes systemd's sockets) and accepts connections.
 *
 * Several loops share the port by SO_REUSEPORT. A connection for which there is no room is answered 503
 * and closed at once. Without descriptors or memory accepting pauses for a moment. */
#include "http/listen.h"

#include "base/limits.h"
#include "http/conn.h"
#include "http/server.h"
#include "http/systemd.h"
#include "observe/log.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

/* --- binding --- */

static enum err listen_fault(struct why *why, struct str address, const char *words)
{
    return why_err(why, ERR_VALIDATION, "cannot listen on " STR_FMT ": %s", STR_ARG(address),
                   words);
}

/* "host:port", "[::1]:port", ":port" -> a socket address */
static enum err listen_resolve(struct str address, union address *ret, struct why *why)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *found;
    char text[256], *port, *host = text;
    int e;

    if (address.n >= sizeof(text))
        return listen_fault(why, S("it"), "the address is too long");
    memcpy(text, address.p, address.n);
    text[address.n] = '\0';
    port = strrchr(text, ':');
    if (!port || !port[1])
        return listen_fault(why, address, "not of the form host:port");
    *port++ = '\0';
    if (host[0] == '[' && strlen(host) > 1 && host[strlen(host) - 1] == ']') {
        host[strlen(host) - 1] = '\0';
        host++;
    }
    e = getaddrinfo(host[0] ? host : NULL, port, &hints, &found);
    if (e)
        return listen_fault(why, address, gai_strerror(e));
    memcpy(ret, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return OK;
}

static socklen_t size_of(const union address *a)
{
    return a->any.sa_family == AF_INET6 ? sizeof(a->v6) : sizeof(a->v4);
}

/* The address of a listening socket. For a family that does not fit the union only the family. */
static union address address_at(int fd)
{
    struct sockaddr_storage s = { 0 };
    socklen_t n = sizeof(s);
    union address a = { 0 };

    if (!getsockname(fd, (struct sockaddr *)&s, &n))
        memcpy(&a, &s, sizeof(a));
    return a;
}

static int port_of(int fd)
{
    union address a = address_at(fd);

    if (a.any.sa_family == AF_INET6)
        return ntohs(a.v6.sin6_port);
    return a.any.sa_family == AF_INET ? ntohs(a.v4.sin_port) : 0;
}

/* A listening socket, or -errno. Its connections inherit TCP_NODELAY. */
static int listen_at(const union address *a, bool shared)
{
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1, e;

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (shared)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (!bind(fd, &a->any, size_of(a)) && !listen(fd, BACKLOG))
        return fd;
    e = -errno;
    close(fd);
    return e;
}

static void add_listener(struct loop *l, int fd, bool passed)
{
    l->listeners[l->listener_count++] = (struct listener){ .loop = l, .fd = fd, .passed = passed };
}

static void set_port(union address *a, int port)
{
    if (a->any.sa_family == AF_INET6)
        a->v6.sin6_port = htons((uint16_t)port);
    else
        a->v4.sin_port = htons((uint16_t)port);
}

/* With SO_REUSEPORT a second server could bind the same port unnoticed. So a socket without it is
 * bound first, which fails if the port is in use. */
static int listen_probe(const union address *a)
{
    int fd = listen_at(a, false);

    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

static enum err listen_each(struct server *s, struct str address, struct why *why)
{
    bool shared = s->loop_count > 1;
    union address a = { 0 };
    enum err e = listen_resolve(address, &a, why);
    int fd;

    if (e)
        return e;
    if (shared && (fd = listen_probe(&a)) < 0)
        return listen_fault(why, address, strerror(-fd));
    for (int i = 0; i < s->loop_count; i++) {
        fd = listen_at(&a, shared);
        if (fd < 0)
            return listen_fault(why, address, strerror(-fd));
        add_listener(&s->loops[i], fd, false);
        if (i == 0)
            s->port = port_of(fd);
        set_port(&a, s->port);
    }
    return OK;
}

static enum err listen_passed(struct server *s, int count, struct why *why)
{
    int on = 1;

    if (count > LIMIT_LISTENERS)
        return listen_fault(why, S("passed sockets"), "too many of them");
    for (int fd = SYSTEMD_FIRST_FD; fd < SYSTEMD_FIRST_FD + count; fd++) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        for (int i = 0; i < s->loop_count; i++) {
            int own = i ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : fd;

            if (own < 0)
                return listen_fault(why, S("passed sockets"), strerror(errno));
            add_listener(&s->loops[i], own, true);
        }
    }
    s->port = port_of(SYSTEMD_FIRST_FD);
    return OK;
}

static void unmap_v4(union address *a)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };

    if (a->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr))
        return;
    v4.sin_port = a->v6.sin6_port;
    memcpy(&v4.sin_addr, &a->v6.sin6_addr.s6_addr[12], 4);
    a->v4 = v4;
}

static bool is_loopback(int fd)
{
    union address a = address_at(fd);

    unmap_v4(&a);
    switch (a.any.sa_family) {
    case AF_INET: return ntohl(a.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    case AF_INET6: return IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
    default: return a.any.sa_family == AF_UNIX;
    }
}

/* The first loop has one of each. */
static enum err check_loopback(const struct server *s, struct str name, struct why *why)
{
    const struct loop *l = &s->loops[0];

    for (int i = 0; s->options.loopback_only && i < l->listener_count; i++)
        if (!is_loopback(l->listeners[i].fd))
            return listen_fault(why, name, "it is no loopback address, and only those are allowed");
    return OK;
}

enum err listen_open(struct server *s, struct str address, struct why *why)
{
    const struct str passed_name = S("the sockets that systemd passed (LISTEN_FDS)");
    int passed = s->options.guest ? 0 : systemd_listen_fds();
    enum err e;

    if (passed < 0)
        return listen_fault(why, passed_name, "one of them is no listening stream socket");
    e = passed ? listen_passed(s, passed, why) : listen_each(s, address, why);
    return e ? e : check_loopback(s, passed ? passed_name : address, why);
}

int listen_most_connections(int wanted)
{
    struct rlimit r;
    int room;

    if (getrlimit(RLIMIT_NOFILE, &r))
        return wanted;
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
    if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur > INT32_MAX)
        return wanted;
    room = (int)r.rlim_cur > LIMIT_SPARE_FILES * 2 ? (int)r.rlim_cur - LIMIT_SPARE_FILES
                                                   : (int)r.rlim_cur / 2;
    return wanted < room ? wanted : room;
}

/* --- accepting --- */

/* A server full of work answers 503 and closes, without a connection, a parser or memory. */
static void listen_reject(struct loop *l, int fd)
{
    static const char body[] = "{\"type\":\"/problems/overloaded\",\"title\":\"The server is full; "
                               "try again shortly.\",\"status\":503,\"code\":\"OVERLOADED\"}";
    char text[512], rest[4096];
    int n = snprintf(text, sizeof(text),
                     "HTTP/1.1 503 Service Unavailable\r\nDate: %s\r\nRetry-After: 1\r\n"
                     "Content-Type: application/problem+json\r\nContent-Length: %zu\r\n"
                     "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s",
                     loop_date(l), sizeof(body) - 1, body);

    if (!l->server->tls) {
        send(fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
        shutdown(fd, SHUT_WR);
        while (recv(fd, rest, sizeof(rest), MSG_DONTWAIT) > 0) /* unread bytes would reset it */
            ;
    }
    close(fd);
}

static void listen_accepted(struct loop *l, int fd, union address *peer)
{
    struct server *s = l->server;
    union address a = *peer;

    atomic_fetch_add(&s->accepted, 1);
    if (atomic_load(&s->connections) >= s->options.max_connections && !conn_make_way(l)) {
        atomic_fetch_add(&s->refused, 1);
        if (s->options.refused)
            s->options.refused(s->options.ctx, ERR_OVERLOADED, S(""));
        listen_reject(l, fd);
        return;
    }
    unmap_v4(&a);
    conn_open(l, fd, &a);
}

static void poll_listeners(struct loop *l, bool on);

static void on_again(uv_timer_t *t)
{
    poll_listeners(t->data, true);
}

/* No descriptor or no memory is left. Trying at once would spin, so accepting pauses. */
static void listen_pause(struct loop *l, int e)
{
    struct env *env = l->server->options.env;

    if (env->log)
        LOG(env->log, LOG_WARN, "cannot accept connections", LOG_TEXT("why", str_of(strerror(e))));
    poll_listeners(l, false);
    uv_timer_start(&l->accept_again, on_again, LIMIT_ACCEPT_PAUSE_MS, 0);
}

/* 0, EAGAIN if no connection waits, or another errno. */
static int listen_accept(struct listener *k)
{
    union address peer = { 0 };
    socklen_t n = sizeof(peer);
    int fd = accept4(k->fd, &peer.any, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0)
        return errno;
    listen_accepted(k->loop, fd, &peer);
    return 0;
}

static bool is_shortage(int e)
{
    return e == EMFILE || e == ENFILE || e == ENOBUFS || e == ENOMEM;
}

static void on_connections(uv_poll_t *poll, int status, int events)
{
    struct listener *k = CONTAINER_OF(poll, struct listener, poll);
    int e = 0;

    (void)status;
    (void)events;
    for (int i = 0; i < LIMIT_ACCEPTS && e != EAGAIN && !is_shortage(e); i++)
        e = listen_accept(k); /* other errors (ECONNABORTED) concern one connection only */
    if (is_shortage(e))
        listen_pause(k->loop, e);
}

static void poll_listeners(struct loop *l, bool on)
{
    for (int i = 0; i < l->listener_count; i++) {
        struct listener *k = &l->listeners[i];

        if (k->open && on)
            uv_poll_start(&k->poll, UV_READABLE, on_connections);
        else if (k->open)
            uv_poll_stop(&k->poll);
    }
}

bool listen_start(struct loop *l)
{
    for (int i = 0; i < l->listener_count; i++) {
        struct listener *k = &l->listeners[i];

        if (uv_poll_init(&l->uv, &k->poll, k->fd))
            return false;
        k->open = true;
    }
    poll_listeners(l, true);
    return true;
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct listener *k = CONTAINER_OF(handle, struct listener, poll);

    close(k->fd);
    k->fd = -1;
}

void listen_stop(struct loop *l)
{
    uv_timer_stop(&l->accept_again);
    for (int i = 0; i < l->listener_count; i++) {
        struct listener *k = &l->listeners[i];

        if (!k->open)
            continue;
        for (int n = 0; n < BACKLOG && !k->passed && listen_accept(k) == 0; n++)
            ;
        k->open = false;
        uv_close((uv_handle_t *)&k->poll, on_listener_closed);
    }
}

void listen_close(struct server *s)
{
    for (int i = 0; i < s->loop_count; i++)
        for (int n = 0; n < s->loops[i].listener_count; n++)
            if (s->loops[i].listeners[n].fd >= 0)
                close(s->loops[i].listeners[n].fd);
}
