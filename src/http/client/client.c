/* client.c - the thread that owns libcurl.
 *
 *   client_call --inbox--> hosts (waiting) --turn--> transfer (under way) --executor_post--> done
 *
 * (1) A call is in exactly one of the inbox, the waiting turns and the list of calls under way. It
 *     comes back exactly once, with a result.
 * (2) Only the inbox is shared, under one mutex; everything else belongs to the thread.
 * (3) The thread sleeps in epoll until a socket, a timeout of libcurl or the inbox wakes it: an idle
 *     client costs nothing. While calls wait for their turn it checks their deadlines every SWEEP_MS.
 * (4) libcurl connects a mail and logs in. Then its socket and deadline are ours, and we speak SMTP
 *     (mail.h). */
#include "http/client/client.h"

#include "base/env.h"
#include "base/limits.h"
#include "base/thread.h"
#include "http/client/hosts.h"
#include "http/client/mail.h"
#include "http/client/transfer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS = 64, SWEEP_MS = 100, SPARES = 64 };

struct client {
    struct env *env;
    bool allow_private;
    const char *ca_file; /* SSL_CERT_FILE, as everywhere where there is OpenSSL */
    pthread_t thread;
    int epoll, wake; /* wake: an eventfd, written when the inbox gets its first call */

    pthread_mutex_t lock;
    struct call *inbox, *inbox_last; /* under lock */
    bool stopping;                   /* under lock */

    CURLM *multi;
    int64_t timer_us; /* when libcurl has to be called; CLOCK_NEVER: not set */
    struct hosts hosts;
    struct transfer *under_way;
    struct mails mails;     /* mails in the dialogue */
    struct transfer *spare; /* cleared ones, for the next calls */
    int spares;
};

/* --- returning calls --- */

static void run_done(struct task *task)
{
    struct call *c = CONTAINER_OF(task, struct call, back);

    c->done(c);
}

static void call_return(struct call *c)
{
    c->impl = NULL;
    c->back = (struct task){ .run = run_done };
    executor_post(c->executor, &c->back);
}

static void call_not_sent(struct call *c, const char *why)
{
    c->result = CALL_NOT_SENT;
    if (!c->why[0]) {
        snprintf(c->why, sizeof(c->why), "%s", why);
        c->ours = true;
    }
    call_return(c);
}

/* --- transfers --- */

static struct transfer *take_transfer(struct client *c)
{
    struct transfer *t = c->spare;

    if (!t)
        return transfer_new();
    c->spare = t->next;
    c->spares--;
    t->next = NULL;
    return t;
}

static void drop_transfer(struct client *c, struct transfer *t)
{
    if (c->spares == SPARES) {
        transfer_free(t);
        return;
    }
    transfer_clear(t);
    t->next = c->spare;
    c->spare = t;
    c->spares++;
}

static void link_transfer(struct client *c, struct transfer *t)
{
    t->prev = NULL;
    t->next = c->under_way;
    if (t->next)
        t->next->prev = t;
    c->under_way = t;
}

static void unlink_transfer(struct client *c, struct transfer *t)
{
    if (t->next)
        t->next->prev = t->prev;
    if (t->prev)
        t->prev->next = t->next;
    else
        c->under_way = t->next;
    t->next = t->prev = NULL;
}

static void client_finish(struct client *c, struct transfer *t, CURLcode code)
{
    struct call *call = t->turn.call;

    transfer_result(t, code);
    if (t->is_talking)
        mails_remove(&c->mails, t);
    curl_multi_remove_handle(c->multi, t->easy);
    unlink_transfer(c, t);
    hosts_done(&c->hosts, &t->turn);
    drop_transfer(c, t);
    call_return(call);
}

static int64_t timeout_of(const struct call *call)
{
    return call->timeout_ms > 0 ? call->timeout_ms : LIMIT_CALL_MS;
}

static void client_start(struct client *c, struct transfer *t)
{
    struct call *call = t->turn.call;
    int64_t left_ms = (t->turn.deadline_us - clock_mono_us(&c->env->clock)) / 1000;
    const char *why = "it waited too long for its turn";

    t->guarded = !c->allow_private;
    t->ca_file = c->ca_file;
    if (call->turn_ms > 0)
        left_ms = timeout_of(call);
    t->mail_deadline_us = clock_mono_us(&c->env->clock) + left_ms * 1000;
    if (left_ms > 0 && transfer_setup(t, left_ms)) {
        link_transfer(c, t);
        if (curl_multi_add_handle(c->multi, t->easy) == CURLM_OK)
            return;
        unlink_transfer(c, t);
        why = "needs more memory than there is";
    }
    hosts_done(&c->hosts, &t->turn);
    drop_transfer(c, t);
    call_not_sent(call, why);
}

/* --- the inbox --- */

static struct call *take_inbox(struct client *c, bool *ret_stopping)
{
    struct call *list;

    pthread_mutex_lock(&c->lock);
    list = c->inbox;
    c->inbox = c->inbox_last = NULL;
    *ret_stopping = c->stopping;
    pthread_mutex_unlock(&c->lock);
    return list;
}

static void await_turn(struct client *c, struct call *call)
{
    int64_t wait_ms = call->turn_ms > 0 ? call->turn_ms : timeout_of(call);
    struct transfer *t = take_transfer(c);

    if (!t) {
        call_not_sent(call, "needs more memory than there is");
        return;
    }
    t->turn = (struct turn){ .call = call,
                             .deadline_us = clock_mono_us(&c->env->clock) + wait_ms * 1000 };
    call->impl = t;
    if (!hosts_add(&c->hosts, &t->turn)) {
        drop_transfer(c, t);
        call_not_sent(call, "needs more memory than there is");
    }
}

static void take_calls(struct client *c, bool *ret_stopping)
{
    for (struct call *call = take_inbox(c, ret_stopping), *next; call; call = next) {
        next = call->next;
        await_turn(c, call);
    }
}

static void start_turns(struct client *c)
{
    struct turn *turn;

    while ((turn = hosts_next(&c->hosts)))
        client_start(c, CONTAINER_OF(turn, struct transfer, turn));
}

static void expire_turns(struct client *c, int64_t now_us, const char *why)
{
    struct turn *turn = hosts_expired(&c->hosts, now_us);

    while (turn) {
        struct turn *next = turn->next;
        struct call *call = turn->call;

        drop_transfer(c, CONTAINER_OF(turn, struct transfer, turn));
        call_not_sent(call, why);
        turn = next;
    }
}

/* --- mails in the SMTP dialogue --- */

static void mail_dialogue_continue(struct client *c, struct transfer *t)
{
    if (mail_step(t))
        client_finish(c, t, CURLE_OK);
    else
        mails_watch(&c->mails, t);
}

static void mail_dialogue_begin(struct client *c, struct transfer *t)
{
    if (mails_add(&c->mails, t))
        mail_dialogue_continue(c, t);
    else
        client_finish(c, t, CURLE_COULDNT_CONNECT);
}

static void mail_dialogue_expire(struct client *c)
{
    int64_t now_us = clock_mono_us(&c->env->clock);

    for (struct transfer *t = c->mails.first, *next; t; t = next) {
        next = t->mail_next;
        if (t->mail_deadline_us <= now_us)
            client_finish(c, t, CURLE_OPERATION_TIMEDOUT);
    }
}

/* --- finished transfers of libcurl --- */

static void finish_done(struct client *c)
{
    CURLMsg *m;
    int left;

    while ((m = curl_multi_info_read(c->multi, &left))) {
        struct transfer *t = NULL;
        CURLcode code = m->data.result; /* m is gone once the handle is removed */

        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        if (code == CURLE_OK && t->turn.call->mail_to.n)
            mail_dialogue_begin(c, t);
        else
            client_finish(c, t, code);
    }
}

/* --- libcurl's sockets and timer, by epoll --- */

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known)
{
    struct client *c = ctx;
    struct epoll_event e = { .data.fd = fd };

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(c->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    if (what & CURL_POLL_IN)
        e.events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        e.events |= EPOLLOUT;
    if (epoll_ctl(c->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e) < 0)
        epoll_ctl(c->epoll, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &e);
    curl_multi_assign(c->multi, fd, c); /* any pointer marks the socket as known */
    return 0;
}

static int set_timer(CURLM *multi, long ms, void *ctx)
{
    struct client *c = ctx;

    (void)multi;
    c->timer_us = ms < 0 ? CLOCK_NEVER : clock_mono_us(&c->env->clock) + ms * 1000;
    return 0;
}

static void run_timer(struct client *c)
{
    int running;

    /* libcurl may set a new one at once: for a transfer that was just added, say. */
    while (c->timer_us <= clock_mono_us(&c->env->clock)) {
        c->timer_us = CLOCK_NEVER;
        curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
}

static int sleep_ms(const struct client *c)
{
    int64_t due_us = mails_due_us(&c->mails, c->timer_us), ms = -1;

    if (due_us != CLOCK_NEVER) {
        ms = (due_us - clock_mono_us(&c->env->clock) + 999) / 1000;
        ms = ms < 0 ? 0 : ms;
    }
    if (c->hosts.waiting && (ms < 0 || ms > SWEEP_MS))
        ms = SWEEP_MS;
    return (int)ms;
}

static void run_event(struct client *c, const struct epoll_event *e)
{
    struct transfer *mail = mails_find(&c->mails, e->data.fd);
    int mask = 0, running;
    uint64_t count;

    if (e->data.fd == c->wake) {
        if (read(c->wake, &count, sizeof(count)) < 0)
            assert(errno == EAGAIN || errno == EINTR);
        return;
    }
    if (mail) {
        mail_dialogue_continue(c, mail);
        return;
    }
    if (e->events & EPOLLIN)
        mask |= CURL_CSELECT_IN;
    if (e->events & EPOLLOUT)
        mask |= CURL_CSELECT_OUT;
    if (e->events & (EPOLLERR | EPOLLHUP))
        mask |= CURL_CSELECT_ERR;
    curl_multi_socket_action(c->multi, e->data.fd, mask, &running);
}

/* Calls that wait are NOT_SENT. Calls under way are UNCERTAIN, unless they never sent a byte. */
static void client_end_all(struct client *c)
{
    expire_turns(c, INT64_MAX, "the client was stopped");
    while (c->under_way)
        client_finish(c, c->under_way, CURLE_ABORTED_BY_CALLBACK);
}

static void *client_run(void *ctx)
{
    struct epoll_event events[EVENTS];
    struct client *c = ctx;
    bool stopping = false;

    while (!stopping) {
        int n = epoll_wait(c->epoll, events, EVENTS, sleep_ms(c));

        for (int i = 0; i < n; i++)
            run_event(c, &events[i]);
        run_timer(c);
        finish_done(c);
        mail_dialogue_expire(c);
        take_calls(c, &stopping);
        if (c->hosts.waiting)
            expire_turns(c, clock_mono_us(&c->env->clock), "it waited too long for its turn");
        if (!stopping)
            start_turns(c);
    }
    client_end_all(c);
    return NULL;
}

/* --- for users --- */

static void wake_up(struct client *c)
{
    uint64_t one = 1;

    if (write(c->wake, &one, sizeof(one)) < 0)
        assert(errno == EAGAIN); /* it is awake: the counter is full */
}

void client_call(struct client *c, struct call *call)
{
    bool first;

    call->next = NULL;
    call->impl = NULL;
    call->status = 0;
    call->answer = (struct str){ 0 };
    call->answer_headers = NULL;
    call->answer_header_count = 0;
    call->ours = false;
    call->why[0] = '\0';
    pthread_mutex_lock(&c->lock);
    assert(!c->stopping); /* its callers were stopped before client_free() */
    first = !c->inbox;
    if (first)
        c->inbox = call;
    else
        c->inbox_last->next = call;
    c->inbox_last = call;
    pthread_mutex_unlock(&c->lock);
    if (first)
        wake_up(c);
}

static void client_release(struct client *c)
{
    while (c->spare) {
        struct transfer *next = c->spare->next;

        transfer_free(c->spare);
        c->spare = next;
    }
    if (c->multi)
        curl_multi_cleanup(c->multi);
    if (c->wake >= 0)
        close(c->wake);
    if (c->epoll >= 0)
        close(c->epoll);
    pthread_mutex_destroy(&c->lock);
    curl_global_cleanup();
    free(c);
}

static bool client_prepare(struct client *c, const char *thread)
{
    struct epoll_event e = { .events = EPOLLIN };

    c->mails.epoll = c->epoll = epoll_create1(EPOLL_CLOEXEC);
    c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->multi = curl_multi_init();
    if (c->epoll < 0 || c->wake < 0 || !c->multi)
        return false;
    e.data.fd = c->wake;
    if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->wake, &e) < 0)
        return false;
    curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
    curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
    curl_multi_setopt(c->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)c->hosts.max_total);
    return thread_start(&c->thread, thread ? thread : "egress", client_run, c);
}

/* *ret_file NULL: not set. False: it is set and cannot be used. */
static bool find_ca_file(const char **ret_file, struct why *why)
{
    const char *file = getenv("SSL_CERT_FILE");

    *ret_file = file && *file ? file : NULL;
    if (!*ret_file || !access(file, R_OK))
        return true;
    return why_false(why, "the file that SSL_CERT_FILE names cannot be read: %s",
                     strerrordesc_np(errno));
}

enum err client_open(const struct client_options *o, struct client **ret_client, struct why *why)
{
    struct client *c = calloc(1, sizeof(*c));

    if (c && !find_ca_file(&c->ca_file, why)) {
        free(c);
        return ERR_INTERNAL;
    }
    if (!c || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        why_set(why, "libcurl does not start");
        free(c);
        return ERR_INTERNAL;
    }
    c->env = o->env;
    c->allow_private = o->allow_private;
    c->timer_us = CLOCK_NEVER;
    c->hosts.max_per_host = o->max_per_host > 0 ? o->max_per_host : LIMIT_CALLS_PER_HOST;
    c->hosts.max_total = o->max_total > 0 ? o->max_total : LIMIT_CALLS;
    pthread_mutex_init(&c->lock, NULL);
    if (!client_prepare(c, o->thread)) {
        why_set(why, "the client thread does not start: %s", strerrordesc_np(errno));
        client_release(c);
        return ERR_INTERNAL;
    }
    *ret_client = c;
    return OK;
}

void client_free(struct client *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    pthread_mutex_unlock(&c->lock);
    wake_up(c);
    pthread_join(c->thread, NULL);
    client_release(c);
}
