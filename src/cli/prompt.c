/* prompt.c - reads a password without echo.
 *
 * The terminal is restored before a signal takes effect, and the password is wiped, so that neither
 * a stop nor a crash leaves one of them behind. */
#include "cli/prompt.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* Reads a line without its end, byte by byte, because the input after the line belongs to another
 * reader. */
static bool read_line(char ret[PROMPT_MAX], int signals)
{
    struct pollfd fds[] = { { STDIN_FILENO, POLLIN, 0 }, { signals, POLLIN, 0 } };
    size_t n = 0;

    while (n < PROMPT_MAX - 1) {
        ssize_t got;

        if (poll(fds, signals < 0 ? 1 : 2, -1) < 0 && errno != EINTR)
            return false;
        if (signals >= 0 && fds[1].revents)
            return false;
        if (!fds[0].revents)
            continue;
        got = read(STDIN_FILENO, ret + n, 1);
        if (got <= 0 || ret[n] == '\n')
            break;
        n++;
    }
    if (n && ret[n - 1] == '\r')
        n--;
    ret[n] = '\0';
    return n > 0;
}

/* --- at a terminal --- */

/* Signals are held until the terminal is restored and the password is wiped: after Ctrl-C, Ctrl-\
 * and Ctrl-Z the terminal is as before, and a core file has no password. */
struct held {
    sigset_t mask, before;
    int fd; /* readable while one waits */
};

static void hold_signals(struct held *h)
{
    static const int kinds[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };

    sigemptyset(&h->mask);
    for (size_t i = 0; i < COUNT(kinds); i++)
        sigaddset(&h->mask, kinds[i]);
    sigprocmask(SIG_BLOCK, &h->mask, &h->before);
    h->fd = signalfd(-1, &h->mask, SFD_CLOEXEC);
}

/* After Ctrl-Z the process continues here. False: no such signal waits. */
static bool has_been_away(const struct held *h)
{
    sigset_t waiting, stop;

    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    if (sigpending(&waiting) || !sigismember(&waiting, SIGTSTP))
        return false;
    sigprocmask(SIG_UNBLOCK, &stop, NULL); /* stops here */
    sigprocmask(SIG_BLOCK, &h->mask, NULL);
    return true;
}

static void release_signals(struct held *h)
{
    if (h->fd >= 0)
        close(h->fd);
    sigprocmask(SIG_SETMASK, &h->before, NULL);
}

static bool read_unseen(const char *words, const struct held *h, char ret[PROMPT_MAX])
{
    struct termios before, quiet;
    bool ok = tcgetattr(STDIN_FILENO, &before) == 0;

    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    ok = ok && tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) == 0;
    if (!ok)
        return false;
    fprintf(stderr, "%s: ", words);
    ok = read_line(ret, h->fd);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    fputc('\n', stderr);
    return ok;
}

static bool ask_twice(const char *words, const struct held *h, char ret[PROMPT_MAX],
                      struct why *why)
{
    char again[PROMPT_MAX] = "";
    bool ok = read_unseen(words, h, ret) && read_unseen("the same again", h, again);

    if (ok && strcmp(ret, again) != 0) {
        why_set(why, "the two are not the same; nothing was changed");
        ok = false;
    }
    OPENSSL_cleanse(again, sizeof(again));
    if (!ok)
        OPENSSL_cleanse(ret, PROMPT_MAX);
    return ok;
}

bool prompt_new_password(const char *name, char ret[PROMPT_MAX], struct why *why)
{
    struct held h;
    char words[128];
    bool ok;

    why_set(why, "a password is needed: type it, or give it as a line on standard input");
    if (!isatty(STDIN_FILENO))
        return read_line(ret, -1);
    snprintf(words, sizeof(words), "new password for %.64s", name);
    hold_signals(&h);
    do
        ok = ask_twice(words, &h, ret, why);
    while (!ok && has_been_away(&h));
    release_signals(&h);
    return ok;
}
