/* hasher.c - a queue of jobs for the threads that run scrypt. A crash loses the logins under way:
 * their clients get no answer and log in again. */
#include "auth/hasher.h"

#include "base/limits.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>

struct hasher {
    struct env *env;
    pthread_t threads[LIMIT_PASSWORD_THREADS];
    int started;

    pthread_mutex_t lock;
    pthread_cond_t more;
    struct hash_job *first, **last;
    int waiting;
    bool stopping;
};

/* NULL: the hasher ends. */
static struct hash_job *next_job(struct hasher *h)
{
    struct hash_job *job = NULL;

    pthread_mutex_lock(&h->lock);
    while (!h->first && !h->stopping)
        pthread_cond_wait(&h->more, &h->lock);
    if (!h->stopping) {
        job = h->first;
        h->first = job->next;
        if (!h->first)
            h->last = &h->first;
        h->waiting--;
    }
    pthread_mutex_unlock(&h->lock);
    return job;
}

static void *hasher_work(void *ctx)
{
    struct hasher *h = ctx;
    struct hash_job *job;

    while ((job = next_job(h))) {
        job->ok = job->makes ? password_hash(job->password, &h->env->rng, job->text)
                             : password_matches(job->password, str_of(job->text));
        executor_post(job->executor, &job->back);
    }
    return NULL;
}

static bool hasher_post(struct hasher *h, struct hash_job *job)
{
    bool room;

    job->next = NULL;
    pthread_mutex_lock(&h->lock);
    room = h->waiting < LIMIT_PASSWORD_WAITING && !h->stopping;
    if (room) {
        *h->last = job;
        h->last = &job->next;
        h->waiting++;
        pthread_cond_signal(&h->more);
    }
    pthread_mutex_unlock(&h->lock);
    return room;
}

bool hasher_make(struct hasher *h, struct hash_job *job)
{
    job->makes = true;
    return hasher_post(h, job);
}

bool hasher_check(struct hasher *h, struct hash_job *job)
{
    job->makes = false;
    return hasher_post(h, job);
}

/* --- start and end --- */

static bool hasher_start(struct hasher *h)
{
    while (h->started < LIMIT_PASSWORD_THREADS &&
           thread_start_nth(&h->threads[h->started], "password", h->started, hasher_work, h))
        h->started++;
    return h->started == LIMIT_PASSWORD_THREADS;
}

struct hasher *hasher_new(struct env *env)
{
    struct hasher *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->env = env;
    h->last = &h->first;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->more, NULL);
    if (hasher_start(h))
        return h;
    hasher_free(h);
    return NULL;
}

void hasher_free(struct hasher *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->stopping = true;
    pthread_cond_broadcast(&h->more);
    pthread_mutex_unlock(&h->lock);
    for (int i = 0; i < h->started; i++)
        pthread_join(h->threads[i], NULL);
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->more);
    free(h);
}
