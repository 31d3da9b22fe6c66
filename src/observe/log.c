/* log.c - the caller's thread makes a line, masks it, and puts it into one of two buffers under a
 * short lock; the writer thread swaps the buffers and writes the full one. A terminal or pipe that
 * is not read can fill 1 MiB, but it never blocks a loop. A crash loses the lines that are still
 * buffered.
 *
 * Lines below WARN wait some milliseconds for others, because waking the writer and calling
 * write(2) cost more than making the line, and a busy server writes thousands of lines a second. */
#include "observe/log.h"

#include "base/buf.h"
#include "base/thread.h"
#include "observe/log_line.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LOG_LINE_MAX = 16 * 1024,
    LOG_LINE_USUAL = 512,
    LOG_WAITING_MAX = 1024 * 1024,
    LOG_WAITING_MANY = 64 * 1024, /* these do not wait for more */
    LOG_GATHER_MS = 5,
    LOG_LAST_WORDS_S = 1,
};

struct log {
    const struct clock *clock;
    int fd;
    enum log_level least;
    enum log_style style;
    bool threaded, stopping, urgent;
    void (*hook)(void *ctx, struct str json);
    void *hook_ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct buf waiting, writing;
    int64_t dropped,
        dropped_untold; /* since the last line that said so; since log_take_dropped() */
};

static void write_all(int fd, struct str s)
{
    while (s.n) {
        ssize_t n = write(fd, s.p, s.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* standard error is broken: there is nowhere to report it */
        s = (struct str){ s.p + n, s.n - (size_t)n };
    }
}

/* Under the lock. Waits until there are lines and waiting for more would not help. */
static void observe_log_gather(struct log *l)
{
    struct timespec until;
    int64_t until_us;

    while (!l->waiting.n && !l->stopping)
        pthread_cond_wait(&l->more, &l->lock);
    until_us = clock_mono_us(l->clock) + LOG_GATHER_MS * 1000;
    until = (struct timespec){ until_us / 1000000, until_us % 1000000 * 1000 };
    while (!l->urgent && !l->stopping && l->waiting.n < LOG_WAITING_MANY)
        if (pthread_cond_timedwait(&l->more, &l->lock, &until) != 0)
            break;
    l->urgent = false;
}

static void *observe_log_writer(void *arg)
{
    struct log *l = arg;

    pthread_mutex_lock(&l->lock);
    for (;;) {
        struct buf full;

        observe_log_gather(l);
        if (!l->waiting.n)
            break;
        full = l->waiting;
        l->waiting = l->writing;
        pthread_mutex_unlock(&l->lock);
        write_all(l->fd, buf_str(&full));
        buf_clear(&full);
        pthread_mutex_lock(&l->lock);
        l->writing = full;
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

struct log *log_new(const struct clock *clock, int fd, enum log_level least, bool threaded)
{
    struct log *l = calloc(1, sizeof(*l));
    pthread_condattr_t monotonic;

    if (!l)
        return NULL;
    *l = (struct log){ .clock = clock, .fd = fd, .least = least, .threaded = threaded };
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&l->more, &monotonic);
    pthread_condattr_destroy(&monotonic);
    buf_init(&l->waiting, LOG_WAITING_MAX);
    buf_init(&l->writing, LOG_WAITING_MAX);
    if (threaded && !thread_start(&l->thread, "log", observe_log_writer, l))
        l->threaded = false;
    return l;
}

/* False: the output is not read, and the writer hangs in write(2). */
static bool writer_ends(struct log *l)
{
    struct timespec until;

    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
    timespec_get(&until, TIME_UTC);
    until.tv_sec += LOG_LAST_WORDS_S;
    return pthread_timedjoin_np(l->thread, NULL, &until) == 0;
}

void log_free(struct log *l)
{
    if (!l)
        return;
    if (l->threaded && !writer_ends(l)) {
        pthread_detach(l->thread); /* it keeps the log until the process ends */
        return;
    }
    buf_release(&l->waiting);
    buf_release(&l->writing);
    pthread_cond_destroy(&l->more);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static void observe_log_drop(struct log *l)
{
    l->dropped++;
    l->dropped_untold++;
}

int64_t log_take_dropped(struct log *l)
{
    int64_t n;

    if (!l)
        return 0;
    pthread_mutex_lock(&l->lock);
    n = l->dropped_untold;
    l->dropped_untold = 0;
    pthread_mutex_unlock(&l->lock);
    return n;
}

static struct log_line line_of(const struct log *l, enum log_level level, const char *message,
                               const struct log_field *fields, size_t count)
{
    return (struct log_line){ clock_wall_ms(l->clock), level, message, fields, count };
}

/* Under the lock. Writes how many lines were dropped, once there is room again. */
static void tell_dropped(struct log *l)
{
    struct log_field count = LOG_NUM("count", l->dropped);
    struct log_line line = line_of(l, LOG_WARN, "log lines dropped", &count, 1);

    log_line_add(&l->waiting, &line, l->style);
    l->dropped = 0;
}

/* Under the lock. */
static void observe_log_put(struct log *l, struct str line, bool urgent)
{
    size_t before = l->waiting.n;

    if (l->dropped && l->waiting.n + line.n + 200 <= LOG_WAITING_MAX)
        tell_dropped(l);
    if (l->waiting.n + line.n > LOG_WAITING_MAX)
        observe_log_drop(l);
    else
        buf_add(&l->waiting, line);
    l->urgent = l->urgent || urgent;
    if (urgent || !before || (before < LOG_WAITING_MANY && l->waiting.n >= LOG_WAITING_MANY))
        pthread_cond_signal(&l->more);
}

/* Under the lock, so that the hook does not run any more once log_hook() has replaced it. */
static void call_hook(struct log *l, const struct log_line *line, const struct buf *made)
{
    struct buf json;
    struct str s;

    buf_init(&json, LOG_LINE_MAX);
    if (l->style != LOG_JSON)
        log_line_add(&json, line, LOG_JSON);
    s = buf_str(l->style == LOG_JSON ? made : &json);
    if (s.n && !json.failed)
        l->hook(l->hook_ctx, (struct str){ s.p, s.n - 1 });
    buf_release(&json);
}

bool log_wants(const struct log *l, enum log_level level)
{
    return l && level >= l->least;
}

void log_write(struct log *l, enum log_level level, const char *message,
               const struct log_field *fields, size_t count)
{
    struct log_line line;
    struct buf made;

    if (!log_wants(l, level))
        return;
    line = line_of(l, level, message, fields, count);
    buf_init(&made, LOG_LINE_MAX);
    buf_reserve(&made, LOG_LINE_USUAL);
    log_line_add(&made, &line, l->style);
    pthread_mutex_lock(&l->lock);
    if (made.failed)
        observe_log_drop(l);
    else if (l->threaded)
        observe_log_put(l, buf_str(&made), level >= LOG_WARN);
    else
        write_all(l->fd, buf_str(&made));
    if (level == LOG_ERROR && l->hook && !made.failed)
        call_hook(l, &line, &made);
    pthread_mutex_unlock(&l->lock);
    buf_release(&made);
}

void log_hook(struct log *l, void (*hook)(void *ctx, struct str json), void *ctx)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->hook = hook;
    l->hook_ctx = ctx;
    pthread_mutex_unlock(&l->lock);
}

void log_set_text(struct log *l, bool colours)
{
    if (l)
        l->style = colours ? LOG_COLOURS : LOG_PLAIN;
}
