/* tries.c - budget, tries and pauses of a call, and the record of its tries. Everything lives in the
 * call and its arena; after a crash the operation's job begins a new call with the same key. */
#include "gateway/tries.h"

#include "base/limits.h"
#include "domain/retry.h"
#include "gateway/stripe/form.h"

#include <string.h>

enum { CLOCK_SLACK_MS = 5 };

/* --- an ask --- */

static void tries_put(char *room, size_t size, struct str s)
{
    s = utf8_cut_bytes(s, size - 1);
    if (s.n)
        memcpy(room, s.p, s.n);
    room[s.n] = '\0';
}

void gateway_say(struct gateway_call *c, struct str code, struct str message)
{
    tries_put(c->error_code, sizeof(c->error_code), code);
    tries_put(c->error_message, sizeof(c->error_message), message);
}

void gateway_clear(struct gateway_call *c)
{
    c->answer = GATEWAY_UNCERTAIN;
    c->fact = (struct fact){ 0 };
    c->timed_out = c->sent = c->list_more = false;
    c->status = c->tries = 0;
    gateway_say(c, S(""), S(""));
}

static void gateway_call_done(struct task *t)
{
    struct gateway_call *c = CONTAINER_OF(t, struct gateway_call, back);

    c->done(c);
}

void gateway_done_later(struct gateway_call *c)
{
    c->back = (struct task){ .run = gateway_call_done };
    executor_post(c->executor, &c->back);
}

void gateway_turn_away(struct gateway_call *c, enum gateway_answer answer, const char *code,
                       const char *message)
{
    gateway_clear(c);
    gateway_say(c, str_of(code), str_of(message));
    c->answer = answer;
    gateway_done_later(c);
}

/* --- the record of its tries --- */

/* NULL: the list is full, and the try is counted in its last entry. */
static struct gateway_try *tries_add(struct gateway_tries *seen, struct arena *a)
{
    struct gateway_try *t = NULL;

    if (seen->count < LIMIT_GATEWAY_TRIES)
        t = arena_alloc(a, 1, sizeof(*t));
    if (!t) {
        if (seen->last)
            seen->last->times++;
        return NULL;
    }
    t->times = 1;
    if (seen->last)
        seen->last->next = t;
    else
        seen->first = t;
    seen->last = t;
    seen->count++;
    return t;
}

void note_try(struct gateway_call *c, int64_t at_ms, int64_t began_us)
{
    struct gateway_try *t = c->seen ? tries_add(c->seen, c->arena) : NULL;

    if (!t)
        return;
    t->ask = c->ask;
    t->answer = GATEWAY_UNCERTAIN;
    t->at_ms = at_ms;
    t->began_us = began_us;
}

void note_answer(struct gateway_call *c, enum gateway_answer answer, bool sent, bool timed_out,
                 int status)
{
    struct gateway_try *t = c->seen ? c->seen->last : NULL;

    if (!t || t->times > 1)
        return;
    t->answer = answer;
    t->sent = sent;
    t->timed_out = timed_out;
    t->status = status;
    t->took_ms = (clock_mono_us(&c->seen->env->clock) - t->began_us) / 1000;
    if (c->error_code[0] && answer != GATEWAY_OK)
        t->code = arena_str(c->arena, str_of(c->error_code));
}

/* --- its tries --- */

static int64_t tries_mono_ms(const struct tries *t)
{
    return clock_mono_ms(&t->env->clock);
}

struct tries tries_begin(struct env *env, const struct gateway_call *c)
{
    struct tries t = { .env = env };

    t.ends_ms = tries_mono_ms(&t) + (c->budget_ms > 0 ? c->budget_ms : LIMIT_GATEWAY_BUDGET_MS);
    return t;
}

void tries_send(struct tries *t, struct gateway_call *c, struct call *http)
{
    int64_t try_ms = c->try_ms > 0 ? c->try_ms : LIMIT_GATEWAY_CALL_MS, left;

    t->began_ms = tries_mono_ms(t);
    left = t->ends_ms - t->began_ms;
    http->timeout_ms = left < try_ms ? left : try_ms;
    http->answer_max = LIMIT_GATEWAY_ANSWER;
    http->once = !str_eq(http->method, S("GET"));
    http->executor = c->executor;
    c->tries++;
    if (c->seen)
        note_try(c, env_now_ms(t->env), clock_mono_us(&t->env->clock));
}

void tries_heard(struct tries *t, struct gateway_call *c, const struct call *http,
                 enum gateway_answer answer)
{
    bool answered = http->result == CALL_ANSWERED;

    if (c->seen)
        note_answer(c, answer, http->result != CALL_NOT_SENT, !answered && tries_timed_out(t, http),
                    answered ? http->status : 0);
}

bool tries_timed_out(const struct tries *t, const struct call *http)
{
    return http->result != CALL_ANSWERED &&
           tries_mono_ms(t) - t->began_ms + CLOCK_SLACK_MS >= http->timeout_ms;
}

bool tries_has_time(const struct tries *t)
{
    return tries_mono_ms(t) + LIMIT_GATEWAY_LEAST_MS <= t->ends_ms;
}

bool tries_is_too_late(const struct tries *t)
{
    return t->ends_ms - tries_mono_ms(t) < LIMIT_GATEWAY_LEAST_MS / 2;
}

/* Doubled each time. Half of it is random, so that calls that failed together are not repeated
 * together. */
static int64_t tries_pause_ms(const struct tries *t)
{
    int64_t whole = retry_delay_ms(&retry_table[RETRY_GATEWAY], t->retries + 1);

    return whole / 2 + (int64_t)rng_below(&t->env->rng, (uint64_t)(whole / 2 + 1));
}

bool tries_again(struct tries *t, struct gateway_call *c, bool lost, struct timer *pause)
{
    int64_t wait_ms;

    if (t->retries == retry_table[RETRY_GATEWAY].retries ||
        (lost && t->lost_retries == LIMIT_GATEWAY_LOST_RETRIES))
        return false;
    wait_ms = tries_pause_ms(t);
    if (tries_mono_ms(t) + wait_ms + LIMIT_GATEWAY_LEAST_MS > t->ends_ms)
        return false;
    t->retries++;
    t->lost_retries += lost;
    if (c->seen && c->seen->last)
        c->seen->last->retried = true;
    executor_arm(c->executor, pause, env_now_ms(t->env) + wait_ms);
    return true;
}
