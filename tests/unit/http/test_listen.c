/* Where the server listens: sockets of its own and those that systemd passed. */
#include "unit/http/harness.h"

#include <fcntl.h>
#include <sys/un.h>

/* The number is fixed by the protocol, so what stands at 3 steps aside for the test. */
static void pass(int fd)
{
    char pid[16];

    if (fd != 3) {
        assert_int_equal(dup2(fd, 3), 3);
        close(fd);
    }
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "1", 1);
}

static int listening_socket(struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), high = fcntl(fd, F_DUPFD, 50);
    socklen_t n = sizeof(*at);

    close(fd);
    assert_int_equal(bind(high, (struct sockaddr *)at, n), 0);
    assert_int_equal(listen(high, 8), 0);
    assert_int_equal(getsockname(high, (struct sockaddr *)at, &n), 0);
    return high;
}

static struct sockaddr_in v4(uint32_t address)
{
    return (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
}

static void a_passed_socket_serves(void **state)
{
    struct fixture *f = fixture_new();
    struct sockaddr_in at = v4(INADDR_LOOPBACK);
    int fd;

    (void)state;
    f->options.loops = 2;
    f->options.loopback_only = true;
    pass(listening_socket(&at));
    fixture_start(f);
    assert_int_equal(f->at.sin_port, at.sin_port);
    fd = dial(f);
    say(fd, S("GET /later/1 HTTP/1.1\r\nHost: a\r\n\r\n"));
    expect_answer(fd, 200, "/later/1");
    close(fd);
    fixture_free(f);
}

/* The next process takes it: ops/ichido.socket. */
static void what_waits_at_a_passed_socket_stays_there_at_the_end(void **state)
{
    struct fixture *f = fixture_new();
    struct sockaddr_in at = v4(INADDR_LOOPBACK);
    int kept = listening_socket(&at), client, taken;
    struct why why = { 0 };

    (void)state;
    pass(fcntl(kept, F_DUPFD_CLOEXEC, 50));
    assert_int_equal(server_open(&f->options, &f->server, &why), OK);
    f->at = at;
    client = dial(f);
    say(client, S("hello"));
    server_stop(f->server); /* before it accepts anything */
    server_run(f->server);
    taken = accept4(kept, NULL, NULL, SOCK_NONBLOCK);
    assert_true(taken >= 0);
    assert_int_equal(recv(taken, why.text, 5, 0), 5);
    close(taken);
    close(client);
    close(kept);
    fixture_free(f);
}

static void a_passed_socket_that_does_not_listen_is_told(void **state)
{
    struct fixture *f = fixture_new();
    struct why why = { 0 };

    (void)state;
    pass(socket(AF_INET, SOCK_DGRAM, 0));
    assert_int_equal(server_open(&f->options, &f->server, &why), ERR_VALIDATION);
    assert_string_equal(why.text, "cannot listen on the sockets that systemd passed (LISTEN_FDS): "
                                  "one of them is no listening stream socket");
    assert_null(f->server);
    fixture_free(f);
}

static void d25_only_loopback_where_that_is_asked_for(void **state)
{
    static const struct {
        struct str listen;
        enum err e;
    } rows[] = {
        { { "127.0.0.1:0", 11 }, OK },
        { { "127.9.9.9:0", 11 }, OK },
        { { "0.0.0.0:0", 9 }, ERR_VALIDATION },
        { { ":0", 2 }, ERR_VALIDATION },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture *f = fixture_new();
        struct why why = { 0 };

        f->options.listen = rows[i].listen;
        f->options.loops = 2;
        f->options.loopback_only = true;
        if (server_open(&f->options, &f->server, &why) != rows[i].e)
            fail_msg("row %zu: %s", i, why.text);
        if (rows[i].e)
            assert_non_null(strstr(why.text, "is no loopback address"));
        fixture_free(f);
    }
}

static void d25_a_passed_socket_must_be_on_loopback_too(void **state)
{
    struct fixture *f = fixture_new();
    struct sockaddr_in at = v4(INADDR_ANY);
    struct why why = { 0 };

    (void)state;
    f->options.loopback_only = true;
    pass(listening_socket(&at));
    assert_int_equal(server_open(&f->options, &f->server, &why), ERR_VALIDATION);
    assert_non_null(strstr(why.text, "LISTEN_FDS"));
    assert_non_null(strstr(why.text, "is no loopback address"));
    fixture_free(f);
}

static void d25_a_unix_socket_is_fine(void **state)
{
    struct fixture *f = fixture_new();
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct why why = { 0 };

    (void)state;
    snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "ichido-listen-%d", (int)getpid());
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 8), 0);
    f->options.loopback_only = true;
    pass(fd);
    if (server_open(&f->options, &f->server, &why))
        fail_msg("%s", why.text);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_passed_socket_serves),
        TEST(what_waits_at_a_passed_socket_stays_there_at_the_end),
        TEST(a_passed_socket_that_does_not_listen_is_told),
        TEST(d25_only_loopback_where_that_is_asked_for),
        TEST(d25_a_passed_socket_must_be_on_loopback_too),
        TEST(d25_a_unix_socket_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
