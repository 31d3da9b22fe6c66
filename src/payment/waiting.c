/* waiting.c - the waiting room: a hash table of requests by scope, behind one mutex that is held for
 * a few memory accesses and never across I/O. A waiter is linked by its request's own memory; `prev`
 * is NULL once it has been taken out, so it is either answered or leaves, never both. */
#include "payment/waiting.h"

#include "base/limits.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096 };

struct waiting {
    pthread_mutex_t lock;
    struct waiter *buckets[BUCKETS];
    int count;
};

struct waiting *waiting_new(void)
{
    struct waiting *r = calloc(1, sizeof(*r));

    if (r)
        pthread_mutex_init(&r->lock, NULL);
    return r;
}

void waiting_free(struct waiting *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* FNV-1a. A client that picks colliding keys slows down only requests with those keys. */
static struct waiter **waiting_bucket(struct waiting *r, const struct scope *s)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < SCOPE_BYTES; i++)
        h = (h ^ s->b[i]) * 16777619u;
    return &r->buckets[h % BUCKETS];
}

bool waiting_enter(struct waiting *r, struct waiter *w)
{
    struct waiter **head = waiting_bucket(r, &w->scope);
    bool room;

    pthread_mutex_lock(&r->lock);
    room = r->count < LIMIT_WAITERS;
    if (room) {
        w->answer = NULL;
        w->next = *head;
        w->prev = head;
        if (w->next)
            w->next->prev = &w->next;
        *head = w;
        r->count++;
    }
    pthread_mutex_unlock(&r->lock);
    return room;
}

static void waiter_unlink(struct waiting *r, struct waiter *w)
{
    *w->prev = w->next;
    if (w->next)
        w->next->prev = w->prev;
    w->prev = NULL;
    r->count--;
}

bool waiting_leave(struct waiting *r, struct waiter *w)
{
    bool was_there;

    pthread_mutex_lock(&r->lock);
    was_there = w->prev != NULL;
    if (was_there)
        waiter_unlink(r, w);
    pthread_mutex_unlock(&r->lock);
    return was_there;
}

static void waiter_answered(struct task *t)
{
    struct waiter *w = CONTAINER_OF(t, struct waiter, task);

    w->answered(w);
}

void waiting_answer(struct waiting *r, const struct scope *s, struct answer *a)
{
    struct waiter *next, *list = NULL;

    if (!a)
        return;
    pthread_mutex_lock(&r->lock);
    for (struct waiter *w = *waiting_bucket(r, s); w; w = next) {
        next = w->next;
        if (memcmp(&w->scope, s, sizeof(*s)) != 0)
            continue;
        waiter_unlink(r, w);
        w->next = list;
        list = w;
    }
    pthread_mutex_unlock(&r->lock);
    for (; list; list = next) {
        next = list->next;
        list->answer = a;
        atomic_fetch_add(&a->refs, 1);
        list->task = (struct task){ .run = waiter_answered };
        executor_post(list->executor, &list->task); /* from here on it is not ours */
    }
    answer_release(a);
}

struct answer *answer_new(enum err e, int status, struct uuid payment, struct str body)
{
    struct answer *a = calloc(1, sizeof(*a) + body.n);

    if (!a)
        return NULL;
    atomic_init(&a->refs, 1);
    a->err = e;
    a->status = status;
    a->payment = payment;
    a->size = body.n;
    if (body.n)
        memcpy(a->body, body.p, body.n);
    return a;
}

void answer_release(struct answer *a)
{
    if (a && atomic_fetch_sub(&a->refs, 1) == 1)
        free(a);
}
