/* log.c - lines are made by the caller (into a buffer of its own stack), masked, and put into one
 * of two buffers under a short lock; the writer thread swaps the buffers and writes the full one.
 * A terminal or pipe that does not read can so fill 1 MiB, but never stop a loop. */
#include "observe/log.h"

#include "base/buf.h"
#include "observe/mask.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOG_LINE_MAX = 16 * 1024, LOG_WAITING_MAX = 1024 * 1024, LOG_LAST_WORDS_S = 1 };

struct log {
    const struct clock *clock;
    int fd;
    enum log_level least;
    bool threaded, stopping;
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
            return; /* nobody to tell */
        s = (struct str){ s.p + n, s.n - (size_t)n };
    }
}

static void *writer(void *arg)
{
    struct log *l = arg;

    pthread_mutex_lock(&l->lock);
    for (;;) {
        struct buf full;

        while (!l->waiting.n && !l->stopping)
            pthread_cond_wait(&l->more, &l->lock);
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

    if (!l)
        return NULL;
    *l = (struct log){ .clock = clock, .fd = fd, .least = least, .threaded = threaded };
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    buf_init(&l->waiting, LOG_WAITING_MAX);
    buf_init(&l->writing, LOG_WAITING_MAX);
    if (threaded && pthread_create(&l->thread, NULL, writer, l) != 0)
        l->threaded = false;
    return l;
}

/* False: nobody reads our lines, and the writer hangs in write(2) with them. */
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

static void add_time(struct buf *line, int64_t ms)
{
    time_t s = (time_t)(ms / 1000);
    struct tm tm;

    gmtime_r(&s, &tm);
    buf_fmt(line, "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"", tm.tm_year + 1900,
            tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ms % 1000));
}

static void add_field(struct buf *line, const struct log_field *f)
{
    buf_char(line, ',');
    buf_json(line, str_of(f->name));
    buf_char(line, ':');
    if (f->is_number)
        buf_i64(line, f->number);
    else
        buf_json(line, f->text);
}

static void make_line(struct buf *line, const struct log *l, enum log_level level,
                      const char *message, const struct log_field *fields, size_t count)
{
    static const char *const names[] = { "debug", "info", "warn", "error" };

    add_time(line, clock_wall_ms(l->clock));
    buf_fmt(line, ",\"level\":\"%s\",\"message\":", names[level]);
    buf_json(line, str_of(message));
    for (size_t i = 0; i < count && fields[i].name; i++)
        add_field(line, &fields[i]);
    buf_add(line, S("}\n"));
    mask_cards(line->p, line->n);
}

static void drop(struct log *l)
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

/* Under the lock. A dropped line is told by the next one that finds room. */
static void put(struct log *l, struct str line)
{
    if (l->dropped && l->waiting.n + line.n + 100 <= LOG_WAITING_MAX) {
        buf_fmt(&l->waiting,
                "{\"level\":\"warn\",\"message\":\"log lines dropped\",\"count\":%lld}\n",
                (long long)l->dropped);
        l->dropped = 0;
    }
    if (l->waiting.n + line.n > LOG_WAITING_MAX)
        drop(l);
    else
        buf_add(&l->waiting, line);
}

void log_write(struct log *l, enum log_level level, const char *message,
               const struct log_field *fields, size_t count)
{
    struct buf line;

    if (!l || level < l->least)
        return;
    buf_init(&line, LOG_LINE_MAX);
    make_line(&line, l, level, message, fields, count);
    pthread_mutex_lock(&l->lock);
    if (line.failed)
        drop(l);
    else if (l->threaded)
        put(l, buf_str(&line));
    else
        write_all(l->fd, buf_str(&line));
    pthread_cond_signal(&l->more);
    pthread_mutex_unlock(&l->lock);
    buf_release(&line);
}
