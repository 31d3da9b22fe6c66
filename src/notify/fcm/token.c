/* token.c - one access token, and the request that renews it.
 *
 *   none --request--> under way --200--> valid until 5 minutes before its end, or a 401 of FCM
 *                        |
 *                        '--refused or failed--> a pause, 1 s doubled up to 60 s: a push in that
 *                                                time fails at once, without a request
 *
 *   (1) One request is under way at a time; every other push waits for it.
 *   (2) A refusal (invalid_grant and the like) is final for the pushes that waited. The next push
 *       after the pause requests again, since our clock may have been wrong.
 *   (3) The answer is read on the client's thread: our executor runs a task at once.
 *
 * Nothing is stored: a crash loses the token, and the next push requests another. */
#include "notify/fcm/token.h"

#include "base/json/json.h"
#include "http/client/client.h"
#include "observe/log.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIFE_MOST_S = 24 * 3600 };

struct fcm_tokens {
    struct env *env;
    struct client *client;
    const struct fcm_account *account;
    struct executor executor;
    struct call call;
    struct arena arena; /* of the call: request and answer */

    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t ended;
    bool asking;
    char text[LIMIT_FCM_TOKEN];
    size_t n;            /* 0: no token */
    int64_t good_until;  /* of env_now_ms */
    uint64_t generation; /* of the token */
    int64_t pause_ms;    /* after the last failure; 0: no failure */
    int64_t paused_until;
    bool refused; /* the last failure was final */
    struct fcm_want *first, **last;
    int waiting;
};

/* --- answering the waiters --- */

static void token_run_want(struct task *task)
{
    struct fcm_want *w = CONTAINER_OF(task, struct fcm_want, task);

    w->got(w);
}

static void token_post_want(struct fcm_want *w)
{
    w->task = (struct task){ .run = token_run_want };
    executor_post(w->executor, &w->task);
}

/* The current state, under the lock. */
static void token_fill_want(const struct fcm_tokens *t, struct fcm_want *w, int64_t now_ms)
{
    w->retry_after_ms = -1;
    w->generation = t->generation;
    w->n = t->n;
    if (t->n) {
        w->end = FCM_TOKEN_HERE;
        memcpy(w->text, t->text, t->n);
        return;
    }
    w->end = t->refused ? FCM_TOKEN_NEVER : FCM_TOKEN_LATER;
    if (t->paused_until > now_ms)
        w->retry_after_ms = t->paused_until - now_ms;
}

static void token_forget(struct fcm_tokens *t)
{
    OPENSSL_cleanse(t->text, sizeof(t->text));
    t->n = 0;
}

/* --- the answer --- */

struct token_answer {
    struct str token;
    int64_t life_s;
    char error[48]; /* of a refusal: "invalid_grant" */
};

/* Only a code of RFC 6749 5.2 goes to the log, no other text from the answer. */
static void token_keep_error(struct token_answer *a, const struct json_value *v)
{
    if (v->type != JSON_STRING || v->raw.n >= sizeof(a->error))
        return;
    for (size_t i = 0; i < v->raw.n; i++)
        if ((v->raw.p[i] < 'a' || v->raw.p[i] > 'z') && v->raw.p[i] != '_')
            return;
    memcpy(a->error, v->raw.p, v->raw.n);
    a->error[v->raw.n] = '\0';
}

/* The token goes into a header. Google's JSON may escape = as \u003d. */
static bool token_read(struct arena *arena, const struct json_value *v, struct str *ret_token)
{
    if (v->type != JSON_STRING || json_unescape(arena, v, ret_token))
        return false;
    for (size_t i = 0; i < ret_token->n; i++)
        if (ret_token->p[i] <= ' ' || ret_token->p[i] >= 0x7f)
            return false;
    return ret_token->n > 0 && ret_token->n <= LIMIT_FCM_TOKEN;
}

static void token_read_answer(struct arena *arena, struct str body, struct token_answer *ret_answer)
{
    static const char *const paths[] = { "access_token", "expires_in", "error", "token_type" };
    struct json_value v[COUNT(paths)];
    struct str token;

    if (json_pick(body, paths, COUNT(paths), v, NULL))
        return;
    token_keep_error(ret_answer, &v[2]);
    if (token_read(arena, &v[0], &token) && v[1].type == JSON_NUMBER &&
        str_to_i64(v[1].raw, &ret_answer->life_s) && ret_answer->life_s > 0 &&
        (v[3].type != JSON_STRING || str_eq_nocase(v[3].raw, S("Bearer"))))
        ret_answer->token = token;
}

static void token_accept(struct fcm_tokens *t, const struct token_answer *a, int64_t now_ms)
{
    int64_t life_s = a->life_s > LIFE_MOST_S ? LIFE_MOST_S : a->life_s;

    memcpy(t->text, a->token.p, a->token.n);
    t->n = a->token.n;
    t->generation++;
    t->pause_ms = t->paused_until = 0;
    t->refused = false;
    /* A token that lives shorter than the early renewal is used for half of its life. */
    t->good_until =
        now_ms + (life_s * 1000 > 2 * LIMIT_FCM_EARLY_MS ? life_s * 1000 - LIMIT_FCM_EARLY_MS
                                                         : life_s * 1000 / 2);
}

/* A 4xx is about our account and final, except 429 and 408. */
static bool token_is_refusal(const struct call *c)
{
    return c->result == CALL_ANSWERED && c->status >= 400 && c->status < 500 && c->status != 408 &&
           c->status != 429;
}

static void token_failed(struct fcm_tokens *t, const struct call *c, const struct token_answer *a,
                         int64_t now_ms)
{
    const char *why = c->result == CALL_ANSWERED ? a->error : c->why;

    if (c->result == CALL_ANSWERED && c->status == 200)
        why = "the answer is not a token";
    t->refused = token_is_refusal(c);
    t->pause_ms = t->pause_ms ? t->pause_ms * 2 : LIMIT_FCM_PAUSE_MS;
    if (t->refused || t->pause_ms > LIMIT_FCM_PAUSE_MOST_MS)
        t->pause_ms = LIMIT_FCM_PAUSE_MOST_MS;
    t->paused_until = now_ms + t->pause_ms;
    LOG(t->env->log, t->refused ? LOG_ERROR : LOG_WARN,
        t->refused
            ? "Google refuses the service account of ICHIDO_FCM_CREDENTIALS: no push goes out"
            : "no access token for push came",
        LOG_TEXT("why", str_of(why)), LOG_NUM("status", c->status),
        LOG_NUM("againMs", t->pause_ms));
}

static void token_wipe_call(struct fcm_tokens *t)
{
    OPENSSL_cleanse((void *)t->call.body.p, t->call.body.n);
    if (t->call.answer.p)
        OPENSSL_cleanse((void *)t->call.answer.p, t->call.answer.n);
    arena_release(&t->arena);
}

static struct fcm_want *token_take_waiters(struct fcm_tokens *t, int64_t now_ms)
{
    struct fcm_want *list = t->first;

    for (struct fcm_want *w = list; w; w = w->next)
        token_fill_want(t, w, now_ms);
    t->first = NULL;
    t->last = &t->first;
    t->waiting = 0;
    return list;
}

static void token_answered(struct call *c)
{
    struct fcm_tokens *t = CONTAINER_OF(c, struct fcm_tokens, call);
    int64_t now_ms = env_now_ms(t->env);
    struct fcm_want *waiters, *next;
    struct token_answer a = { 0 };

    if (c->result == CALL_ANSWERED)
        token_read_answer(&t->arena, c->answer, &a);
    pthread_mutex_lock(&t->lock);
    if (c->status == 200 && a.token.n)
        token_accept(t, &a, now_ms);
    else
        token_failed(t, c, &a, now_ms);
    if (a.token.p)
        OPENSSL_cleanse((void *)a.token.p, a.token.n);
    token_wipe_call(t);
    waiters = token_take_waiters(t, now_ms);
    t->asking = false;
    pthread_cond_broadcast(&t->ended);
    pthread_mutex_unlock(&t->lock);
    for (; waiters; waiters = next) { /* t may be freed by now; once posted, so may the waiter */
        next = waiters->next;
        token_post_want(waiters);
    }
}

/* --- asking --- */

static bool token_begin(struct fcm_tokens *t)
{
    static const struct header headers[] = {
        { { "Content-Type", 12 }, { "application/x-www-form-urlencoded", 33 } },
        { { "Accept", 6 }, { "application/json", 16 } },
    };
    struct str body = fcm_account_request(t->account, &t->arena, clock_wall_ms(&t->env->clock));

    if (!body.p)
        return false;
    t->asking = true;
    t->call = (struct call){ .method = S("POST"),
                             .url = t->account->token_uri,
                             .body = body,
                             .headers = headers,
                             .header_count = COUNT(headers),
                             .timeout_ms = LIMIT_FCM_TOKEN_MS,
                             .answer_max = LIMIT_FCM_ANSWER,
                             .arena = &t->arena,
                             .executor = &t->executor,
                             .done = token_answered };
    client_call(t->client, &t->call);
    return true;
}

static bool token_wait(struct fcm_tokens *t, struct fcm_want *w)
{
    if (t->waiting == LIMIT_FCM_WAITING)
        return false;
    w->next = NULL;
    *t->last = w;
    t->last = &w->next;
    t->waiting++;
    return true;
}

void fcm_token_ask(struct fcm_tokens *t, struct fcm_want *w)
{
    int64_t now_ms = env_now_ms(t->env);
    bool waits = false;

    pthread_mutex_lock(&t->lock);
    if (t->n && now_ms >= t->good_until)
        token_forget(t);
    if (!t->n && !t->asking && now_ms >= t->paused_until) {
        t->refused = false;
        token_begin(t); /* without memory: the caller gets FCM_TOKEN_LATER */
    }
    if (!t->n && t->asking)
        waits = token_wait(t, w);
    if (!waits)
        token_fill_want(t, w, now_ms);
    if (!waits && t->asking) /* too many wait already; this is no refusal */
        w->end = FCM_TOKEN_LATER;
    pthread_mutex_unlock(&t->lock);
    if (!waits)
        token_post_want(w);
}

void fcm_want_wipe(struct fcm_want *w)
{
    OPENSSL_cleanse(w->text, w->n);
    w->n = 0;
}

void fcm_token_drop(struct fcm_tokens *t, uint64_t generation)
{
    pthread_mutex_lock(&t->lock);
    if (t->generation == generation)
        token_forget(t);
    pthread_mutex_unlock(&t->lock);
}

/* --- its life --- */

static void token_run_at_once(struct executor *h, struct task *task)
{
    (void)h;
    task->run(task);
}

struct fcm_tokens *fcm_tokens_new(struct env *env, struct client *client,
                                  const struct fcm_account *account)
{
    static const struct executor_ops ops = { .post = token_run_at_once };
    struct fcm_tokens *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->env = env;
    t->client = client;
    t->account = account;
    t->executor.ops = &ops;
    t->last = &t->first;
    arena_init(&t->arena, LIMIT_TOKEN + 2 * LIMIT_FCM_ANSWER + 3 * LIMIT_CALL_HEADERS);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->ended, NULL);
    return t;
}

void fcm_tokens_free(struct fcm_tokens *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    while (t->asking)
        pthread_cond_wait(&t->ended, &t->lock);
    token_forget(t);
    pthread_mutex_unlock(&t->lock);
    pthread_cond_destroy(&t->ended);
    pthread_mutex_destroy(&t->lock);
    arena_release(&t->arena);
    free(t);
}
