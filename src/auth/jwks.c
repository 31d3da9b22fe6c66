/* jwks.c - one set of keys and the fetch that renews it.
 *
 *    age of the set    0 ........ 9 min ......... 10 min ................. 24 h
 *    what happens      nothing    fetched in      who asks waits for       dropped: all its
 *                                 the background  the fetch; has it        tokens are refused
 *                                                 failed: goes on
 *
 *   (1) Two fetches begin at least LIMIT_JWKS_PAUSE_MS apart, so tokens with invented kids cannot
 *       cause many requests to the JWKS server.
 *   (2) Only a complete, well-formed set replaces the previous one. The cache gets it under the same
 *       lock, so that a removed key verifies nothing more.
 *   (3) The answer is read on the client's thread: our executor runs its tasks at once. */
#include "auth/jwks.h"

#include "base/limits.h"
#include "http/client/client.h"
#include "observe/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct jwks {
    struct env *env;
    struct client *client;
    struct cache *cache;
    char *url;
    struct executor executor;
    struct call call;
    struct arena arena;          /* of the call's answer */
    _Atomic int64_t quiet_ms;    /* jwks_tend has nothing to do until then */
    _Atomic uint64_t generation; /* of the set */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t ended;
    struct key_set *set;
    int64_t fetched_ms, tried_ms;
    bool known;    /* set was fetched, and is not dropped */
    bool fetching, /* the call is under way */
        failed;    /* the last fetch did */
    struct jwks_waiter *first, **last;
    int waiting;
};

/* --- the set --- */

static void jwks_install(struct jwks *j, struct key_set *set)
{
    set->generation = j->generation + 1;
    atomic_store(&j->generation, set->generation);
    cache_rekey(j->cache, set);
    key_set_unref(j->set);
    j->set = set;
}

static struct key_set *empty_set(void)
{
    return key_set_parse(S("{\"keys\":[]}"));
}

static void jwks_drop(struct jwks *j)
{
    struct key_set *none = empty_set();

    if (!none)
        return; /* the next request tries again */
    jwks_install(j, none);
    j->known = false;
    LOG(j->env->log, LOG_ERROR,
        "the keys of ICHIDO_JWKS_URL could not be fetched for too long: their tokens are refused");
}

/* --- a fetch --- */

static void jwks_begin(struct jwks *j, int64_t now_ms)
{
    static const struct header accept[] = {
        { { "Accept", 6 }, { "application/jwk-set+json, application/json", 42 } }
    };

    j->fetching = true;
    j->tried_ms = now_ms;
    j->call.method = S("GET");
    j->call.url = str_of(j->url);
    j->call.headers = accept;
    j->call.header_count = COUNT(accept);
    j->call.timeout_ms = LIMIT_JWKS_CALL_MS;
    j->call.answer_max = LIMIT_JWKS_BYTES;
    j->call.arena = &j->arena;
    j->call.executor = &j->executor;
    client_call(j->client, &j->call);
}

static bool jwks_may_begin(const struct jwks *j, int64_t now_ms)
{
    int64_t pause = j->known ? LIMIT_JWKS_PAUSE_MS : LIMIT_JWKS_FIRST_MS;

    return !j->fetching && now_ms - j->tried_ms >= pause;
}

static void jwks_replace(struct jwks *j, struct key_set *set, int64_t now_ms)
{
    jwks_install(j, set);
    j->known = true;
    j->failed = false;
    j->fetched_ms = now_ms;
    atomic_store(&j->quiet_ms, now_ms + LIMIT_JWKS_MS - LIMIT_JWKS_AHEAD_MS);
    LOG(j->env->log, set->count ? LOG_INFO : LOG_WARN, "keys fetched",
        LOG_NUM("keys", (int64_t)set->count), LOG_NUM("passedOver", (int64_t)set->skipped),
        LOG_TEXT("why", str_of(set->skipped_why)));
}

static void jwks_failed(struct jwks *j, const struct call *c, int64_t now_ms)
{
    const char *why = c->why;

    if (c->result == CALL_ANSWERED)
        why = c->status == 200 ? "the answer is not a JWKS" : "the status is not 200";
    j->failed = true;
    LOG(j->env->log, LOG_WARN, "the keys of ICHIDO_JWKS_URL could not be fetched",
        LOG_TEXT("why", str_of(why)), LOG_NUM("status", c->status),
        LOG_NUM("ageMs", j->known ? now_ms - j->fetched_ms : -1));
}

static void jwks_wake(struct jwks_waiter *w)
{
    while (w) {
        struct jwks_waiter *next = w->next; /* once given, it is not ours to read */

        executor_post(w->executor, &w->task);
        w = next;
    }
}

static void jwks_fetched(struct call *c)
{
    struct jwks *j = CONTAINER_OF(c, struct jwks, call);
    bool answered = c->result == CALL_ANSWERED && c->status == 200;
    struct key_set *set = answered ? key_set_parse(c->answer) : NULL;
    int64_t now_ms = env_now_ms(j->env);
    struct jwks_waiter *waiters;

    pthread_mutex_lock(&j->lock);
    if (set)
        jwks_replace(j, set, now_ms);
    else
        jwks_failed(j, c, now_ms);
    arena_release(&j->arena);
    waiters = j->first;
    j->first = NULL;
    j->last = &j->first;
    j->waiting = 0;
    j->fetching = false;
    pthread_cond_broadcast(&j->ended);
    pthread_mutex_unlock(&j->lock);
    jwks_wake(waiters); /* j may be gone by now */
}

static void run_task_at_once(struct executor *h, struct task *t)
{
    (void)h;
    t->run(t);
}

/* --- for users --- */

bool jwks_tend(struct jwks *j)
{
    int64_t now_ms = env_now_ms(j->env), age;
    bool better_wait;

    if (now_ms < atomic_load(&j->quiet_ms))
        return false;
    pthread_mutex_lock(&j->lock);
    age = now_ms - j->fetched_ms;
    if (j->known && age >= LIMIT_JWKS_DOWN_MS && j->failed)
        jwks_drop(j);
    if ((!j->known || age >= LIMIT_JWKS_MS - LIMIT_JWKS_AHEAD_MS) && jwks_may_begin(j, now_ms))
        jwks_begin(j, now_ms);
    better_wait = j->known && age >= LIMIT_JWKS_MS && j->fetching && !j->failed;
    pthread_mutex_unlock(&j->lock);
    return better_wait;
}

uint64_t jwks_generation(struct jwks *j)
{
    return atomic_load(&j->generation);
}

enum jwks_wait jwks_await(struct jwks *j, uint64_t seen, struct jwks_waiter *w)
{
    int64_t now_ms = env_now_ms(j->env);
    enum jwks_wait result = JWKS_NO_USE;

    pthread_mutex_lock(&j->lock);
    if (j->set->generation != seen) {
        pthread_mutex_unlock(&j->lock);
        return JWKS_NEWER;
    }
    if (jwks_may_begin(j, now_ms))
        jwks_begin(j, now_ms);
    if (j->fetching && j->waiting == LIMIT_JWKS_WAITERS) {
        result = JWKS_FULL;
    } else if (j->fetching) {
        w->next = NULL;
        *j->last = w;
        j->last = &w->next;
        j->waiting++;
        result = JWKS_WAITS;
    }
    pthread_mutex_unlock(&j->lock);
    return result;
}

struct key_set *jwks_keys(struct jwks *j)
{
    struct key_set *set;

    pthread_mutex_lock(&j->lock);
    set = key_set_ref(j->set);
    pthread_mutex_unlock(&j->lock);
    return set;
}

/* --- start and end --- */

struct jwks *jwks_new(const struct jwks_options *o)
{
    static const struct executor_ops ops = { .post = run_task_at_once };
    struct jwks *j = calloc(1, sizeof(*j));
    struct key_set *none = empty_set();

    if (!j || !none || !(j->url = strndup(o->url.p, o->url.n))) {
        key_set_unref(none);
        free(j);
        return NULL;
    }
    j->env = o->env;
    j->client = o->client;
    j->cache = o->cache;
    j->executor.ops = &ops;
    j->call.done = jwks_fetched;
    j->last = &j->first;
    arena_init(&j->arena, 2 * LIMIT_JWKS_BYTES + LIMIT_CALL_HEADERS);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->ended, NULL);
    pthread_mutex_lock(&j->lock);
    jwks_install(j, none);
    jwks_begin(j, env_now_ms(j->env));
    pthread_mutex_unlock(&j->lock);
    return j;
}

void jwks_free(struct jwks *j)
{
    if (!j)
        return;
    pthread_mutex_lock(&j->lock);
    while (j->fetching)
        pthread_cond_wait(&j->ended, &j->lock);
    pthread_mutex_unlock(&j->lock);
    pthread_cond_destroy(&j->ended);
    pthread_mutex_destroy(&j->lock);
    key_set_unref(j->set);
    free(j->url);
    free(j);
}
