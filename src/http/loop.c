/* loop.c - a libuv loop as an executor: tasks, timers, and the deadlines of its connections.
 *
 *   (1) Any thread may post a task; it runs on the loop's thread, in the order of posting.
 *   (2) One libuv timer serves all timers of the executor, another one all deadlines. */
#include "http/loop.h"

#include "base/time/clock.h"
#include "http/exchange.h"
#include "http/server.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SWEEP_STEP_MS = 64, ALARM_MOST_MS = 3600 * 1000 };

/* --- the executor: tasks --- */

static struct loop *loop_of(struct executor *h)
{
    return CONTAINER_OF(h, struct loop, executor);
}

static bool link_task(struct loop *l, struct task *t)
{
    bool first = !l->first;

    if (first)
        l->first = t;
    else
        l->last->next = t;
    l->last = t;
    return first;
}

/* After the loop has ended a task is dropped. It would never run, and the tasks that are in the list
 * may have been freed. */
static void loop_post(struct executor *h, struct task *t)
{
    struct loop *l = loop_of(h);
    bool wake;

    t->next = NULL;
    pthread_mutex_lock(&l->lock);
    wake = !l->closed && link_task(l, t);
    pthread_mutex_unlock(&l->lock);
    if (wake)
        uv_async_send(&l->wake);
}

static void run_tasks(struct loop *l)
{
    struct task *t, *next;

    pthread_mutex_lock(&l->lock);
    t = l->first;
    l->first = l->last = NULL;
    pthread_mutex_unlock(&l->lock);
    for (; t; t = next) {
        next = t->next; /* t may be freed or posted again while it runs */
        t->run(t);
    }
}

static void on_wake(uv_async_t *a)
{
    struct loop *l = a->data;

    run_tasks(l);
    server_loop_woken(l);
}

void loop_wake(struct loop *l)
{
    bool closed;

    pthread_mutex_lock(&l->lock);
    closed = l->closed;
    if (!closed)
        uv_async_send(&l->wake);
    pthread_mutex_unlock(&l->lock);
}

/* --- the executor: timers --- */

static void on_alarm(uv_timer_t *alarm);

/* The wall clock may be stepped, so the alarm is checked at least once an hour, and a timer fires
 * only when its wall time has come. */
static void set_alarm(struct loop *l)
{
    int64_t next = timers_next(&l->timers);
    int64_t wait;

    if (l->closed)
        return;
    if (next == CLOCK_NEVER) {
        uv_timer_stop(&l->alarm);
        return;
    }
    if (__builtin_sub_overflow(next, env_now_ms(l->server->options.env), &wait))
        wait = ALARM_MOST_MS;
    if (wait < 0)
        wait = 0;
    if (wait > ALARM_MOST_MS)
        wait = ALARM_MOST_MS;
    uv_update_time(&l->uv);
    uv_timer_start(&l->alarm, on_alarm, (uint64_t)wait, 0);
}

static void on_alarm(uv_timer_t *alarm)
{
    struct loop *l = alarm->data;
    int64_t now = env_now_ms(l->server->options.env);
    struct timer *t;

    while ((t = timers_due(&l->timers, now)))
        t->fire(t);
    set_alarm(l);
}

static void loop_arm(struct executor *h, struct timer *t, int64_t due_ms)
{
    struct loop *l = loop_of(h);

    timers_arm(&l->timers, t, due_ms);
    set_alarm(l);
}

static const struct executor_ops ops = { .post = loop_post, .arm = loop_arm };

/* --- deadlines of connections --- */

static void on_sweep(uv_timer_t *sweep);

static void set_sweep(struct loop *l, uint64_t due)
{
    uint64_t now = loop_now(l);
    uint64_t wait = due > now ? due - now : 0;

    l->sweep_due = due;
    uv_timer_start(&l->sweep, on_sweep, wait + SWEEP_STEP_MS, 0);
}

static void on_sweep(uv_timer_t *sweep)
{
    struct loop *l = sweep->data;
    struct deadline *x;
    uint64_t next;

    l->sweep_due = DEADLINE_NONE;
    while ((x = deadlines_expired(&l->deadlines, loop_now(l))))
        loop_expired(l, x);
    next = deadlines_next(&l->deadlines);
    if (next < l->sweep_due)
        set_sweep(l, next);
}

void loop_watch(struct loop *l, struct deadline *x, int kind)
{
    deadline_enter(&l->deadlines, x, kind, loop_now(l));
    if (x->due < l->sweep_due) /* a sweep that fires too early only sets the timer again */
        set_sweep(l, x->due);
}

void loop_unwatch(struct loop *l, struct deadline *x)
{
    deadline_leave(&l->deadlines, x);
    if (deadlines_next(&l->deadlines) != DEADLINE_NONE)
        return;
    uv_timer_stop(&l->sweep);
    l->sweep_due = DEADLINE_NONE;
}

/* --- start and end --- */

static void on_recycle(uv_prepare_t *recycle)
{
    exchanges_recycle(recycle->data, NULL);
}

static void init_fields(struct loop *l, struct server *s, int index)
{
    *l = (struct loop){ .executor = { &ops }, .server = s, .index = index, .date_s = -1 };
    l->sweep_due = DEADLINE_NONE;
    buf_init(&l->plain, LIMIT_PENDING);
    buf_init(&l->out, LIMIT_REPLY);
    buf_init(&l->cipher, LIMIT_CIPHER);
    pthread_mutex_init(&l->lock, NULL);
}

bool loop_init(struct loop *l, struct server *s, int index)
{
    init_fields(l, s, index);
    l->read_bytes = malloc(LIMIT_READ);
    if (!l->read_bytes || uv_loop_init(&l->uv)) {
        free(l->read_bytes);
        return false;
    }
    if (uv_async_init(&l->uv, &l->wake, on_wake)) {
        uv_loop_close(&l->uv);
        free(l->read_bytes);
        return false;
    }
    uv_timer_init(&l->uv, &l->alarm);
    uv_timer_init(&l->uv, &l->sweep);
    uv_timer_init(&l->uv, &l->accept_again);
    uv_prepare_init(&l->uv, &l->recycle);
    uv_prepare_start(&l->recycle, on_recycle);
    uv_unref((uv_handle_t *)&l->recycle);
    l->wake.data = l->alarm.data = l->sweep.data = l->accept_again.data = l->recycle.data = l;
    return true;
}

void loop_run(struct loop *l)
{
    uv_run(&l->uv, UV_RUN_DEFAULT);
}

void loop_close(struct loop *l)
{
    bool was;

    pthread_mutex_lock(&l->lock);
    was = l->closed;
    l->closed = true;
    pthread_mutex_unlock(&l->lock);
    if (was)
        return;
    uv_close((uv_handle_t *)&l->wake, NULL);
    uv_close((uv_handle_t *)&l->alarm, NULL);
    uv_close((uv_handle_t *)&l->sweep, NULL);
    uv_close((uv_handle_t *)&l->accept_again, NULL);
    uv_close((uv_handle_t *)&l->recycle, NULL);
}

void loop_release(struct loop *l)
{
    loop_close(l);
    uv_run(&l->uv, UV_RUN_DEFAULT); /* lets the closed handles go */
    uv_loop_close(&l->uv);
    exchanges_free(l);
    timers_release(&l->timers);
    buf_release(&l->plain);
    buf_release(&l->out);
    buf_release(&l->cipher);
    free(l->read_bytes);
    pthread_mutex_destroy(&l->lock);
}

const char *loop_date(struct loop *l)
{
    int64_t now_s = env_now_ms(l->server->options.env) / 1000;
    time_t seconds = (time_t)now_s;
    struct tm t;

    if (now_s == l->date_s)
        return l->date;
    gmtime_r(&seconds, &t);
    strftime(l->date, sizeof(l->date), "%a, %d %b %Y %H:%M:%S GMT", &t);
    l->date_s = now_s;
    return l->date;
}
