/* The client against a small server of plain sockets that behaves as badly as it is told to. */
#include "base/env.h"
#include "http/client/client.h"
#include "unit/cm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- the server: one thread, answers by path --- */

enum { PEERS = 128, REQUEST_MAX = 64 * 1024 };

struct peer {
    int fd;
    size_t n;
    char *bytes;
};

struct box {
    int listener, port, stop[2];
    pthread_t thread;
    struct peer peers[PEERS];
    int peer_count;
    _Atomic int accepted, requests, hanging;
    char last[REQUEST_MAX]; /* the last request; read by a test only behind its answer */
};

static void say(int fd, const char *text)
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

static void say_long(int fd, size_t n)
{
    char head[96], *body = calloc(1, n + 1);

    memset(body, 'x', n);
    snprintf(head, sizeof(head), "HTTP/1.1 201 Created\r\nContent-Length: %zu\r\n\r\n", n);
    say(fd, head);
    say(fd, body);
    free(body);
}

static void say_heads(int fd)
{
    say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n");
    for (int i = 0; i < 80; i++) {
        char line[1100];

        snprintf(line, sizeof(line), "X-%d: %01000d\r\n", i, i);
        say(fd, line);
    }
    say(fd, "\r\nok");
}

static void drop_peer(struct box *b, int i)
{
    close(b->peers[i].fd);
    free(b->peers[i].bytes);
    b->peers[i] = b->peers[--b->peer_count];
}

/* False: the connection is to be closed. */
static bool answer(struct box *b, int fd, const char *request)
{
    if (strstr(request, " /hang")) {
        atomic_fetch_add(&b->hanging, 1);
        return true;
    }
    if (strstr(request, " /close"))
        return false;
    if (strstr(request, " /half")) {
        say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal");
        return false;
    }
    if (strstr(request, " /die")) { /* gone for good, after the request was read */
        close(b->listener);
        b->listener = -1;
        return false;
    }
    if (strstr(request, " /heads"))
        say_heads(fd);
    else if (strstr(request, " /long"))
        say_long(fd, 5000);
    else if (strstr(request, " /moved"))
        say(fd, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    else if (strstr(request, " /continue"))
        say(fd, "HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\nHTTP/1.1 402 Payment Required\r\n"
                "X-Late:  2 \r\nContent-Length: 2\r\n\r\nno");
    else
        say(fd, "HTTP/1.1 200 OK\r\nX-Say: hello\r\nContent-Length: 5\r\n\r\nworld");
    return true;
}

static size_t request_size(const char *bytes)
{
    const char *end = strstr(bytes, "\r\n\r\n"), *length = strcasestr(bytes, "\r\nContent-Length:");

    if (!end)
        return 0;
    return (size_t)(end + 4 - bytes) +
           (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
}

static void hear(struct box *b, int i)
{
    struct peer *p = &b->peers[i];
    ssize_t got = recv(p->fd, p->bytes + p->n, REQUEST_MAX - 1 - p->n, 0);
    size_t size;

    if (got <= 0) {
        drop_peer(b, i);
        return;
    }
    p->n += (size_t)got;
    p->bytes[p->n] = '\0';
    size = request_size(p->bytes);
    if (!size || p->n < size)
        return;
    atomic_fetch_add(&b->requests, 1);
    memcpy(b->last, p->bytes, p->n + 1);
    p->n = 0;
    if (!answer(b, p->fd, b->last))
        drop_peer(b, i);
}

static void *box_run(void *ctx)
{
    struct box *b = ctx;

    for (;;) {
        struct pollfd fds[PEERS + 2] = { { .fd = b->stop[0], .events = POLLIN },
                                         { .fd = b->listener, .events = POLLIN } };

        for (int i = 0; i < b->peer_count; i++)
            fds[i + 2] = (struct pollfd){ .fd = b->peers[i].fd, .events = POLLIN };
        poll(fds, (nfds_t)b->peer_count + 2, -1);
        if (fds[0].revents)
            return NULL;
        for (int i = b->peer_count - 1; i >= 0; i--)
            if (fds[i + 2].revents)
                hear(b, i);
        if (fds[1].revents && b->listener >= 0 && b->peer_count < PEERS) {
            b->peers[b->peer_count++] = (struct peer){ .fd = accept(b->listener, NULL, NULL),
                                                       .bytes = calloc(1, REQUEST_MAX) };
            atomic_fetch_add(&b->accepted, 1);
        }
    }
}

static int bound_socket(int *ret_port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
    getsockname(fd, (struct sockaddr *)&a, &size);
    *ret_port = ntohs(a.sin_port);
    return fd;
}

static struct box *box_new(void)
{
    struct box *b = calloc(1, sizeof(*b));

    b->listener = bound_socket(&b->port);
    listen(b->listener, 128);
    assert_int_equal(pipe(b->stop), 0);
    assert_int_equal(pthread_create(&b->thread, NULL, box_run, b), 0);
    return b;
}

static void box_free(struct box *b)
{
    assert_int_equal(write(b->stop[1], "x", 1), 1);
    pthread_join(b->thread, NULL);
    while (b->peer_count)
        drop_peer(b, 0);
    close(b->stop[0]);
    close(b->stop[1]);
    if (b->listener >= 0)
        close(b->listener);
    free(b);
}

/* --- an executor: a list and a condition --- */

struct test_executor {
    struct executor executor;
    pthread_mutex_t lock;
    pthread_cond_t came;
    struct task *first;
};

static void executor_take(struct executor *h, struct task *t)
{
    struct test_executor *th = (struct test_executor *)(void *)h;

    pthread_mutex_lock(&th->lock);
    t->next = th->first;
    th->first = t;
    pthread_cond_signal(&th->came);
    pthread_mutex_unlock(&th->lock);
}

static void await_one(struct test_executor *th)
{
    struct task *t;

    pthread_mutex_lock(&th->lock);
    while (!th->first)
        pthread_cond_wait(&th->came, &th->lock);
    t = th->first;
    th->first = t->next;
    pthread_mutex_unlock(&th->lock);
    t->run(t);
}

/* --- what every test has --- */

struct fixture {
    struct env env;
    struct box *box;
    struct client *client;
    struct test_executor executor;
    struct arena arena;
    int done;
};

struct test_call {
    struct call call;
    struct fixture *f;
    char url[128];
    bool is_done;
};

static const struct executor_ops ops = { .post = executor_take };

static void open_client(struct fixture *f, int per_host, int total, bool allow_private)
{
    struct client_options o = {
        .env = &f->env, .max_per_host = per_host, .max_total = total, .allow_private = allow_private
    };
    struct why why = { 0 };

    assert_int_equal(client_open(&o, &f->client, &why), OK);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    clock_init(&f->env.clock);
    f->box = box_new();
    f->executor.executor.ops = &ops;
    pthread_mutex_init(&f->executor.lock, NULL);
    pthread_cond_init(&f->executor.came, NULL);
    arena_init(&f->arena, 1 << 20);
    open_client(f, 0, 0, true);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    client_free(f->client);
    box_free(f->box);
    arena_release(&f->arena);
    pthread_mutex_destroy(&f->executor.lock);
    pthread_cond_destroy(&f->executor.came);
    free(f);
    return 0;
}

static void reopen(struct fixture *f, int per_host, int total, bool allow_private)
{
    client_free(f->client);
    open_client(f, per_host, total, allow_private);
}

static void on_done(struct call *c)
{
    struct test_call *t = (struct test_call *)(void *)c;

    assert_false(t->is_done);
    t->is_done = true;
    t->f->done++;
}

static void begin(struct fixture *f, struct test_call *t, const char *method, const char *path)
{
    struct call given = t->call;

    *t = (struct test_call){ .call = given, .f = f };
    if (path[0] == '/')
        snprintf(t->url, sizeof(t->url), "http://127.0.0.1:%d%s", f->box->port, path);
    else
        snprintf(t->url, sizeof(t->url), "%s", path);
    t->call.method = str_of(method);
    t->call.url = str_of(t->url);
    t->call.arena = &f->arena;
    t->call.executor = &f->executor.executor;
    t->call.done = on_done;
    client_call(f->client, &t->call);
}

static void await_call(struct fixture *f, const struct test_call *t)
{
    while (!t->is_done)
        await_one(&f->executor);
}

static void call(struct fixture *f, struct test_call *t, const char *method, const char *path)
{
    begin(f, t, method, path);
    await_call(f, t);
}

static void await_hanging(struct fixture *f, int n)
{
    while (atomic_load(&f->box->hanging) < n)
        poll(NULL, 0, 1);
}

#define assert_str(s, text)                                                                        \
    do {                                                                                           \
        assert_int_equal((s).n, strlen(text));                                                     \
        assert_memory_equal((s).p, text, strlen(text));                                            \
    } while (0)

/* --- the tests --- */

static void an_answer_comes_home_with_status_headers_and_body(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };

    call(f, &t, "GET", "/");
    assert_int_equal(t.call.result, CALL_ANSWERED);
    assert_int_equal(t.call.status, 200);
    assert_str(t.call.answer, "world");
    assert_int_equal(t.call.answer_header_count, 2);
    assert_str(t.call.answer_headers[0].name, "X-Say");
    assert_str(t.call.answer_headers[0].value, "hello");
}

static void the_request_has_its_method_headers_and_body_and_nothing_unasked(void **state)
{
    struct fixture *f = *state;
    static const struct header headers[] = { { { "Idempotency-Key", 15 }, { "k-1", 3 } },
                                             { { "X-Empty", 7 }, { "", 0 } } };
    struct test_call t = { .call = {
                               .body = S("a=1&b=2"), .headers = headers, .header_count = 2 } };

    call(f, &t, "PATCH", "/x");
    assert_int_equal(t.call.result, CALL_ANSWERED);
    assert_memory_equal(f->box->last, "PATCH /x HTTP/1.1\r\n", 19);
    assert_non_null(strstr(f->box->last, "\r\nIdempotency-Key: k-1\r\n"));
    assert_non_null(strstr(f->box->last, "\r\nX-Empty:\r\n"));
    assert_non_null(strstr(f->box->last, "\r\nContent-Length: 7\r\n"));
    assert_non_null(strstr(f->box->last, "\r\n\r\na=1&b=2"));
    assert_null(strcasestr(f->box->last, "\r\nContent-Type"));
    assert_null(strcasestr(f->box->last, "\r\nExpect"));
    assert_null(strcasestr(f->box->last, "\r\nAccept"));
}

static void the_address_is_sent_byte_for_byte(void **state)
{
    static const char *const paths[] = { "/a/./b/../c//d", "/%7e?x=/../y&z=%2F", "/a;b=c", "/?" };
    struct fixture *f = *state;
    char line[64];

    for (size_t i = 0; i < COUNT(paths); i++) {
        struct test_call t = { 0 };

        call(f, &t, "GET", paths[i]);
        assert_int_equal(t.call.result, CALL_ANSWERED);
        snprintf(line, sizeof(line), "GET %s HTTP/1.1\r\n", paths[i]);
        if (strncmp(f->box->last, line, strlen(line)) != 0)
            fail_msg("%s: %.60s", paths[i], f->box->last);
    }
}

static void every_method_may_have_a_body(void **state)
{
    static const char *const methods[] = { "GET", "DELETE", "PUT", "PATCH", "POST" };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(methods); i++) {
        struct test_call t = { .call = { .body = S("12345") } };

        call(f, &t, methods[i], "/x");
        assert_int_equal(t.call.result, CALL_ANSWERED);
        assert_memory_equal(f->box->last, methods[i], strlen(methods[i]));
        assert_non_null(strstr(f->box->last, "\r\nContent-Length: 5\r\n"));
        assert_non_null(strstr(f->box->last, "\r\n\r\n12345"));
    }
}

static void an_empty_post_says_that_it_is_empty(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };

    call(f, &t, "POST", "/");
    assert_int_equal(t.call.result, CALL_ANSWERED);
    assert_non_null(strstr(f->box->last, "\r\nContent-Length: 0\r\n"));
}

static void a_hundred_continue_is_not_the_answer(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };

    call(f, &t, "GET", "/continue");
    assert_int_equal(t.call.status, 402);
    assert_str(t.call.answer, "no");
    assert_str(t.call.answer_headers[0].name, "X-Late");
    assert_str(t.call.answer_headers[0].value, "2");
}

static void a_redirect_is_an_answer_and_is_not_followed(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };

    call(f, &t, "POST", "/moved");
    assert_int_equal(t.call.result, CALL_ANSWERED);
    assert_int_equal(t.call.status, 302);
}

static void a_refused_connection_was_not_sent(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };
    char url[64];
    int port, fd = bound_socket(&port); /* bound, never listening: nobody else gets the port */

    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", port);
    call(f, &t, "POST", url);
    assert_int_equal(t.call.result, CALL_NOT_SENT);
    assert_true(t.call.why[0]);
    close(fd);
}

static void what_cannot_be_sent_is_not_sent(void **state)
{
    static const char *const urls[] = { "",
                                        "ftp://127.0.0.1/",
                                        "file:///etc/passwd",
                                        "http://127.0.0.1:99999/",
                                        "http://no.such.host.invalid/",
                                        "http://127.0.0.1\r\nX: y/",
                                        "nonsense" };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(urls); i++) {
        struct test_call t = { 0 };

        call(f, &t, "POST", urls[i]);
        if (t.call.result != CALL_NOT_SENT || !t.call.why[0])
            fail_msg("%s: %d %s", urls[i], t.call.result, t.call.why);
    }
    assert_int_equal(atomic_load(&f->box->requests), 0);
}

static void a_header_with_a_line_break_is_not_sent(void **state)
{
    static const struct header bad[] = { { { "X-A", 3 }, { "1\r\nX-B: 2", 9 } },
                                         { { "X:A", 3 }, { "1", 1 } },
                                         { { "", 0 }, { "1", 1 } },
                                         { { "X-A", 3 }, { "1\0002", 3 } } };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(bad); i++) {
        struct test_call t = { .call = { .headers = &bad[i], .header_count = 1 } };

        call(f, &t, "POST", "/");
        assert_int_equal(t.call.result, CALL_NOT_SENT);
    }
    assert_int_equal(atomic_load(&f->box->requests), 0);
}

static void a_connection_closed_after_the_request_is_uncertain(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };

    call(f, &t, "POST", "/close");
    assert_int_equal(t.call.result, CALL_UNCERTAIN);
    assert_int_equal(t.call.status, 0);
}

static void half_an_answer_is_uncertain_and_keeps_its_status(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };

    call(f, &t, "POST", "/half");
    assert_int_equal(t.call.result, CALL_UNCERTAIN);
    assert_int_equal(t.call.status, 200);
}

static void a_timeout_after_the_request_is_uncertain(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { .call = { .timeout_ms = 50 } };

    call(f, &t, "POST", "/hang");
    assert_int_equal(t.call.result, CALL_UNCERTAIN);
}

/* A full accept queue lets connects hang, as a host behind a firewall would. */
static void a_timeout_while_connecting_was_not_sent(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { .call = { .timeout_ms = 300 } };
    int port, fd = bound_socket(&port), filler[8];
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    char url[64];

    listen(fd, 0);
    a.sin_port = htons((uint16_t)port);
    for (size_t i = 0; i < COUNT(filler); i++) {
        filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)!connect(filler[i], (struct sockaddr *)&a, sizeof(a));
    }
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", port);
    call(f, &t, "POST", url);
    assert_int_equal(t.call.result, CALL_NOT_SENT);
    for (size_t i = 0; i < COUNT(filler); i++)
        close(filler[i]);
    close(fd);
}

/* The plain server waits for the end of a request that is none: the handshake never ends. */
static void a_tls_handshake_that_fails_was_not_sent(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { .call = { .timeout_ms = 100 } };
    char url[64];

    snprintf(url, sizeof(url), "https://127.0.0.1:%d/", f->box->port);
    call(f, &t, "POST", url);
    assert_int_equal(t.call.result, CALL_NOT_SENT);
    assert_int_equal(atomic_load(&f->box->requests), 0);
}

static void an_answer_over_its_limit_is_uncertain_and_keeps_its_status(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { .call = { .answer_max = 4999 } };

    call(f, &t, "GET", "/long");
    assert_int_equal(t.call.result, CALL_UNCERTAIN);
    assert_int_equal(t.call.status, 201);
    assert_int_equal(t.call.answer.n, 0);
    t = (struct test_call){ .call = { .answer_max = 5000 } };
    call(f, &t, "GET", "/long");
    assert_int_equal(t.call.result, CALL_ANSWERED);
    assert_int_equal(t.call.answer.n, 5000);
}

static void an_answer_over_its_limit_is_cut_where_that_is_wanted(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { .call = { .answer_max = 4999, .cut_answer = true } };

    call(f, &t, "GET", "/long");
    assert_int_equal(t.call.result, CALL_ANSWERED);
    assert_int_equal(t.call.status, 201);
    assert_int_equal(t.call.answer.n, 4999);
    assert_int_equal(t.call.answer_header_count, 1);
    t = (struct test_call){ .call = { .answer_max = 5000, .cut_answer = true } };
    call(f, &t, "GET", "/long");
    assert_int_equal(t.call.result, CALL_ANSWERED);
    assert_int_equal(t.call.answer.n, 5000);
}

/* 80 KB of headers, and 64 KB is the limit. */
static void headers_over_the_limit_are_cut_where_that_is_wanted(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };

    call(f, &t, "GET", "/heads");
    assert_int_equal(t.call.result, CALL_UNCERTAIN);
    t = (struct test_call){ .call = { .cut_answer = true } };
    call(f, &t, "GET", "/heads");
    assert_int_equal(t.call.result, CALL_ANSWERED);
    assert_str(t.call.answer, "ok");
    assert_in_range(t.call.answer_header_count, 50, 70);
    assert_int_equal(t.call.answer_headers[40].value.n, 1000);
}

static void an_answer_that_the_arena_cannot_hold_is_uncertain(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };

    arena_release(&f->arena);
    arena_init(&f->arena, 256);
    call(f, &t, "GET", "/long");
    assert_int_equal(t.call.result, CALL_UNCERTAIN);
    assert_int_equal(t.call.status, 201);
}

/* The first request may have been carried out; that the second connection was refused says nothing
 * about it. libcurl's own code is "could not connect" here. */
static void a_resend_that_is_refused_does_not_hide_the_first_request(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };

    call(f, &t, "GET", "/");
    call(f, &t, "POST", "/die");
    assert_int_equal(atomic_load(&f->box->accepted), 1);
    assert_int_equal(t.call.result, CALL_UNCERTAIN);
}

/* Money must not be asked for twice behind our back (P6): a server may have done it and then died.
 */
static void what_is_to_be_sent_once_is_not_sent_again_where_a_kept_connection_breaks(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };

    call(f, &t, "POST", "/close");
    assert_int_equal(atomic_load(&f->box->requests), 1); /* a new connection: nobody sends again */
    call(f, &t, "GET", "/");
    call(f, &t, "POST", "/close");
    assert_int_equal(atomic_load(&f->box->requests), 4); /* libcurl did */
    call(f, &t, "GET", "/");
    t.call.once = true;
    call(f, &t, "POST", "/close");
    assert_int_equal(atomic_load(&f->box->requests), 6);
    assert_int_equal(t.call.result, CALL_UNCERTAIN);
    assert_false(t.call.ours);
    assert_string_equal(t.call.why, "the connection broke without an answer");
    call(f, &t, "POST", "/");
    assert_int_equal(t.call.result, CALL_ANSWERED);
}

static void connections_are_used_again(void **state)
{
    struct fixture *f = *state;
    struct test_call t = { 0 };

    for (int i = 0; i < 20; i++) {
        call(f, &t, "POST", "/");
        assert_int_equal(t.call.result, CALL_ANSWERED);
    }
    assert_int_equal(atomic_load(&f->box->accepted), 1);
    assert_int_equal(atomic_load(&f->box->requests), 20);
}

static void a4_the_guard_refuses_loopback_by_address_and_by_name(void **state)
{
    static const char *const hosts[] = { "127.0.0.1",  "localhost", "[::1]", "[::ffff:127.0.0.1]",
                                         "2130706433", "0x7f.1",    "0" };
    struct fixture *f = *state;

    reopen(f, 0, 0, false);
    for (size_t i = 0; i < COUNT(hosts); i++) {
        struct test_call t = { 0 };
        char url[64];

        snprintf(url, sizeof(url), "http://%s:%d/", hosts[i], f->box->port);
        call(f, &t, "POST", url);
        if (t.call.result != CALL_NOT_SENT)
            fail_msg("%s", hosts[i]);
    }
    assert_int_equal(atomic_load(&f->box->accepted), 0);
}

static void a_host_has_no_more_than_its_share_under_way(void **state)
{
    struct fixture *f = *state;
    struct test_call hang[3] = { 0 };

    reopen(f, 2, 100, true);
    for (size_t i = 0; i < COUNT(hang); i++)
        hang[i].call.timeout_ms = i == 2 ? 30 : 60000;
    for (size_t i = 0; i < COUNT(hang); i++)
        begin(f, &hang[i], "POST", "/hang");
    await_call(f, &hang[2]); /* never had its turn, so it was never sent */
    assert_int_equal(hang[2].call.result, CALL_NOT_SENT);
    await_hanging(f, 2);
    assert_int_equal(atomic_load(&f->box->hanging), 2);
    client_free(f->client);
    f->client = NULL;
    await_call(f, &hang[0]);
    await_call(f, &hang[1]);
}

/* The wait for its turn is not the receiver's fault, and need not shorten the attempt. */
static void the_wait_for_a_turn_may_have_a_limit_of_its_own(void **state)
{
    struct fixture *f = *state;
    struct test_call hang = { .call.timeout_ms = 200 };
    struct test_call late = { .call = { .timeout_ms = 10000, .turn_ms = 20 } };
    struct test_call patient = { .call = { .timeout_ms = 100, .turn_ms = 10000 } };

    reopen(f, 1, 100, true);
    begin(f, &hang, "POST", "/hang");
    begin(f, &late, "POST", "/");
    begin(f, &patient, "POST", "/");
    await_call(f, &late);
    assert_int_equal(late.call.result, CALL_NOT_SENT);
    assert_true(late.call.ours);
    await_call(f, &hang);
    assert_int_equal(hang.call.result, CALL_UNCERTAIN);
    assert_false(hang.call.ours);
    await_call(f, &patient);
    assert_int_equal(patient.call.result, CALL_ANSWERED);
}

static void whose_fault_it_was_is_told(void **state)
{
    struct fixture *f = *state;
    struct test_call refused = { 0 }, bad = { 0 }, hang = { 0 };

    call(f, &refused, "POST", "http://127.0.0.1:1/");
    assert_false(refused.call.ours);
    call(f, &bad, "POST", "nonsense");
    assert_false(bad.call.ours);
    begin(f, &hang, "POST", "/hang");
    await_hanging(f, 1);
    client_free(f->client);
    f->client = NULL;
    await_call(f, &hang);
    assert_int_equal(hang.call.result, CALL_UNCERTAIN);
    assert_true(hang.call.ours);
}

static void a_host_that_hangs_holds_up_nobody_else(void **state)
{
    struct fixture *f = *state;
    struct test_call hang[20] = { 0 }, fine = { 0 };
    char url[64];

    reopen(f, 2, 3, true);
    for (size_t i = 0; i < COUNT(hang); i++)
        begin(f, &hang[i], "POST", "/hang");
    await_hanging(f, 2);
    snprintf(url, sizeof(url), "http://localhost:%d/", f->box->port); /* another host by name */
    for (int i = 0; i < 5; i++) {
        call(f, &fine, "GET", url);
        assert_int_equal(fine.call.result, CALL_ANSWERED);
    }
    client_free(f->client);
    f->client = NULL;
    for (size_t i = 0; i < COUNT(hang); i++)
        await_call(f, &hang[i]);
}

static void stopping_ends_every_call_once_and_says_what_may_have_happened(void **state)
{
    struct fixture *f = *state;
    struct test_call hang[4] = { 0 };
    int uncertain = 0, not_sent = 0;

    reopen(f, 2, 2, true);
    for (size_t i = 0; i < COUNT(hang); i++)
        begin(f, &hang[i], "POST", "/hang");
    await_hanging(f, 2);
    client_free(f->client);
    f->client = NULL;
    for (size_t i = 0; i < COUNT(hang); i++) {
        await_call(f, &hang[i]);
        uncertain += hang[i].call.result == CALL_UNCERTAIN;
        not_sent += hang[i].call.result == CALL_NOT_SENT;
    }
    assert_int_equal(uncertain, 2);
    assert_int_equal(not_sent, 2);
}

static void stopping_right_after_a_call_loses_nothing(void **state)
{
    struct fixture *f = *state;

    for (int round = 0; round < 20; round++) {
        struct test_call t[5] = { 0 };

        for (size_t i = 0; i < COUNT(t); i++)
            begin(f, &t[i], "POST", "/");
        reopen(f, 0, 0, true);
        for (size_t i = 0; i < COUNT(t); i++)
            await_call(f, &t[i]);
    }
}

struct caller {
    struct fixture *f;
    struct test_call calls[50];
};

static void *call_many(void *ctx)
{
    struct caller *c = ctx;

    for (size_t i = 0; i < COUNT(c->calls); i++)
        begin(c->f, &c->calls[i], "POST", "/");
    return NULL;
}

static void many_threads_may_call_at_once(void **state)
{
    struct fixture *f = *state;
    struct caller *callers = calloc(4, sizeof(*callers));
    pthread_t threads[4];

    reopen(f, 8, 8, true);
    for (size_t i = 0; i < COUNT(threads); i++) {
        callers[i].f = f;
        pthread_create(&threads[i], NULL, call_many, &callers[i]);
    }
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < COUNT(threads) * COUNT(callers->calls); i++)
        await_one(&f->executor);
    assert_int_equal(f->done, 200);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(callers[i / 50].calls[i % 50].call.result, CALL_ANSWERED);
    assert_true(atomic_load(&f->box->accepted) <= 8);
    free(callers);
}

static void free_takes_null(void **state)
{
    (void)state;
    client_free(NULL);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_answer_comes_home_with_status_headers_and_body),
        CASE(the_request_has_its_method_headers_and_body_and_nothing_unasked),
        CASE(an_empty_post_says_that_it_is_empty),
        CASE(a_hundred_continue_is_not_the_answer),
        CASE(a_redirect_is_an_answer_and_is_not_followed),
        CASE(a_refused_connection_was_not_sent),
        CASE(what_cannot_be_sent_is_not_sent),
        CASE(a_header_with_a_line_break_is_not_sent),
        CASE(a_connection_closed_after_the_request_is_uncertain),
        CASE(half_an_answer_is_uncertain_and_keeps_its_status),
        CASE(a_timeout_after_the_request_is_uncertain),
        CASE(a_timeout_while_connecting_was_not_sent),
        CASE(a_tls_handshake_that_fails_was_not_sent),
        CASE(an_answer_over_its_limit_is_uncertain_and_keeps_its_status),
        CASE(an_answer_that_the_arena_cannot_hold_is_uncertain),
        CASE(a_resend_that_is_refused_does_not_hide_the_first_request),
        CASE(what_is_to_be_sent_once_is_not_sent_again_where_a_kept_connection_breaks),
        CASE(connections_are_used_again),
        CASE(a4_the_guard_refuses_loopback_by_address_and_by_name),
        CASE(a_host_has_no_more_than_its_share_under_way),
        CASE(the_address_is_sent_byte_for_byte),
        CASE(every_method_may_have_a_body),
        CASE(an_answer_over_its_limit_is_cut_where_that_is_wanted),
        CASE(headers_over_the_limit_are_cut_where_that_is_wanted),
        CASE(the_wait_for_a_turn_may_have_a_limit_of_its_own),
        CASE(whose_fault_it_was_is_told),
        CASE(a_host_that_hangs_holds_up_nobody_else),
        CASE(stopping_ends_every_call_once_and_says_what_may_have_happened),
        CASE(stopping_right_after_a_call_loses_nothing),
        CASE(many_threads_may_call_at_once),
        cmocka_unit_test(free_takes_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
