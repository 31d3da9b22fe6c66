#include "http/systemd.h"

#include "base/str.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A path, or "@name" for the abstract namespace, whose length does not include a NUL. */
static bool to_address(const char *text, struct sockaddr_un *ret_address, socklen_t *ret_size)
{
    size_t n = strlen(text);

    if ((text[0] != '/' && text[0] != '@') || n < 2 || n >= sizeof(ret_address->sun_path))
        return false;
    *ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(ret_address->sun_path, text, n);
    if (text[0] == '@')
        ret_address->sun_path[0] = '\0';
    *ret_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return true;
}

bool systemd_notify(const char *lines)
{
    const char *where = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    socklen_t size;
    ssize_t sent;
    int fd;

    if (!where || !where[0])
        return true;
    if (!to_address(where, &address, &size))
        return false;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    sent = sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    close(fd);
    return sent >= 0;
}

/* A whole number from the environment; -1: absent or malformed. */
static int64_t number_of(const char *name)
{
    int64_t v;

    return str_to_i64(str_of(getenv(name)), &v) && v >= 0 ? v : -1;
}

static bool is_listening_stream(int fd)
{
    int type = 0, listening = 0;
    socklen_t size = sizeof(int);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
           getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening;
}

/* systemd passes sockets that block and survive exec. */
static bool systemd_adopt(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return is_listening_stream(fd) && flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

int systemd_listen_fds(void)
{
    int64_t pid = number_of("LISTEN_PID"), count = number_of("LISTEN_FDS");

    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (pid != getpid() || count <= 0)
        return 0;
    for (int64_t i = 0; i < count; i++)
        if (i > 1024 || !systemd_adopt(SYSTEMD_FIRST_FD + (int)i))
            return -1;
    return (int)count;
}
