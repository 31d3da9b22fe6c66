#include "http/systemd.h"
#include "unit/cm.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listen_on(const char *path, bool abstract)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    strcpy(a.sun_path + (abstract ? 1 : 0), path);
    assert_int_equal(bind(fd, (struct sockaddr *)&a,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) +
                                      (abstract ? 1 : 0))),
                     0);
    return fd;
}

static void hears(int fd, const char *text)
{
    char got[256] = "";

    assert_int_equal(recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT), (long)strlen(text));
    assert_string_equal(got, text);
}

static void nobody_to_tell_is_fine(void **state)
{
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    assert_true(systemd_notify("READY=1"));
    setenv("NOTIFY_SOCKET", "", 1);
    assert_true(systemd_notify("READY=1"));
}

static void a_path_gets_the_datagram(void **state)
{
    char dir[] = "/tmp/ichido-notify.XXXXXX", path[64];
    int fd;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/s", dir);
    fd = listen_on(path, false);
    setenv("NOTIFY_SOCKET", path, 1);
    assert_true(systemd_notify("READY=1\nSTATUS=fine"));
    hears(fd, "READY=1\nSTATUS=fine");
    close(fd);
    assert_false(systemd_notify("READY=1")); /* gone, and said so */
    unlink(path);
    rmdir(dir);
}

static void an_abstract_name_gets_the_datagram(void **state)
{
    char name[64], variable[80];
    int fd;

    (void)state;
    snprintf(name, sizeof(name), "ichido-notify-%d", (int)getpid());
    fd = listen_on(name, true);
    snprintf(variable, sizeof(variable), "@%s", name);
    setenv("NOTIFY_SOCKET", variable, 1);
    assert_true(systemd_notify("STOPPING=1"));
    hears(fd, "STOPPING=1");
    close(fd);
}

static void other_kinds_of_address_are_refused(void **state)
{
    char long_path[300];

    (void)state;
    memset(long_path, 'a', sizeof(long_path));
    long_path[0] = '/';
    long_path[sizeof(long_path) - 1] = '\0';
    setenv("NOTIFY_SOCKET", long_path, 1);
    assert_false(systemd_notify("READY=1"));
    setenv("NOTIFY_SOCKET", "vsock:2:1234", 1);
    assert_false(systemd_notify("READY=1"));
    setenv("NOTIFY_SOCKET", "/", 1);
    assert_false(systemd_notify("READY=1"));
}

/* The numbers are fixed by the protocol, so what stands at 3 and 4 steps aside for the test. */
static void put_at(int fd, int at)
{
    assert_int_equal(dup2(fd, at), at);
    if (fd != at)
        close(fd);
}

static int listening_socket(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0), high = fcntl(fd, F_DUPFD, 50);

    close(fd);
    assert_int_equal(bind(high, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(high, 1), 0);
    return high;
}

static void pass(const char *pid, const char *count)
{
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", count, 1);
    setenv("LISTEN_FDNAMES", "http", 1);
}

static const char *own_pid(void)
{
    static char text[16];

    snprintf(text, sizeof(text), "%d", (int)getpid());
    return text;
}

static void passed_sockets_are_adopted_once(void **state)
{
    (void)state;
    put_at(listening_socket(), 3);
    put_at(listening_socket(), 4);
    pass(own_pid(), "2");
    assert_int_equal(systemd_listen_fds(), 2);
    for (int fd = 3; fd <= 4; fd++) {
        assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
    assert_null(getenv("LISTEN_PID"));
    assert_null(getenv("LISTEN_FDS"));
    assert_null(getenv("LISTEN_FDNAMES"));
    assert_int_equal(systemd_listen_fds(), 0);
    close(3);
    close(4);
}

static void sockets_for_another_process_are_not_ours(void **state)
{
    static const char *const rows[][2] = { { "1", "1" },  { "", "1" },   { "x", "1" },
                                           { NULL, "" },  { NULL, "0" }, { NULL, "-1" },
                                           { NULL, "x" }, { NULL, "01" } };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pass(rows[i][0] ? rows[i][0] : own_pid(), rows[i][1]);
        if (systemd_listen_fds() != 0)
            fail_msg("row %zu", i);
        assert_null(getenv("LISTEN_FDS"));
    }
}

static void what_does_not_listen_is_refused(void **state)
{
    (void)state;
    put_at(socket(AF_INET, SOCK_DGRAM, 0), 3);
    pass(own_pid(), "1");
    assert_int_equal(systemd_listen_fds(), -1);
    close(3);
    pass(own_pid(), "1"); /* a closed one */
    assert_int_equal(systemd_listen_fds(), -1);
    put_at(listening_socket(), 3);
    pass(own_pid(), "9999999");
    assert_int_equal(systemd_listen_fds(), -1);
    close(3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nobody_to_tell_is_fine),
        TEST(a_path_gets_the_datagram),
        TEST(an_abstract_name_gets_the_datagram),
        TEST(other_kinds_of_address_are_refused),
        TEST(passed_sockets_are_adopted_once),
        TEST(sockets_for_another_process_are_not_ours),
        TEST(what_does_not_listen_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
