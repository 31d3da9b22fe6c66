/* stripe.c - one ask, from the first request to the answer.
 *
 *   call --> try --answered--> judge --final---------------------------> done
 *             ^                  | worth another try, and in the budget
 *             |------pause-------|
 *             '--next page, look-'
 *
 *   (1) All tries send the same bytes with the same key; what differs is a GET: a list's next page,
 *       and the look at a session that would not be expired.
 *   (2) Once a try may have had its effect, RETRY_LATER is no answer any more: it is UNCERTAIN,
 *       unless a later try is told what became of it.
 *   (3) A try that took all its time is not repeated (P6); a broken connection once.
 *   (4) Between two steps nothing runs and no thread waits: a call is its run in the caller's
 *       arena. The client's thread writes only to the run's own scratch arena. */
#include "gateway/stripe.h"

#include "base/limits.h"
#include "gateway/stripe_answer.h"
#include "gateway/stripe_request.h"
#include "http/client.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API_VERSION "2026-10-28.endive"
enum { HEADERS_MAX = 5, CLOCK_SLACK_MS = 5 };

struct stripe {
    struct gateway gateway;
    struct env *env;
    struct client *client;
    struct str base;
    struct str bearer; /* "Bearer sk_..." */
};

struct run {
    struct stripe *stripe;
    struct gateway_call *call;
    struct call http;
    struct header headers[HEADERS_MAX];
    struct timer pause;
    struct arena scratch;      /* one answer at a time */
    int64_t began_ms, ends_ms; /* monotonic: this try, the budget */
    int retries, lost_retries, pages;
    bool maybe;                   /* an earlier try may have had its effect */
    enum gateway_answer fallback; /* what the last try gave, should there be no time for another */
};

static int64_t mono_ms(const struct run *r)
{
    return clock_mono_ms(&r->stripe->env->clock);
}

/* --- the end --- */

static void finish(struct run *r, enum gateway_answer answer)
{
    struct gateway_call *c = r->call;

    if (answer == GATEWAY_RETRY_LATER && r->maybe)
        answer = GATEWAY_UNCERTAIN;
    arena_release(&r->scratch);
    c->answer = answer;
    c->impl = NULL;
    c->done(c);
}

static void run_done(struct task *t)
{
    struct gateway_call *c = CONTAINER_OF(t, struct gateway_call, back);

    c->done(c);
}

/* Nothing was sent; who asked hears it as always: later, at home. */
static void turn_away(struct gateway_call *c, enum err e)
{
    bool amount = e == ERR_UNPROCESSABLE;

    c->answer = amount ? GATEWAY_REFUSED : GATEWAY_RETRY_LATER;
    if (amount)
        stripe_say(c, S("currency_not_supported"),
                   S("the gateway cannot take this amount in this currency"));
    else
        stripe_say(c, S("no_memory"), S("the request needs more memory than there is"));
    c->impl = NULL;
    c->back = (struct task){ .run = run_done };
    home_give(c->home, &c->back);
}

/* --- one try --- */

static void on_answer(struct call *http);

static void begin_try(struct run *r)
{
    int64_t now = mono_ms(r), left = r->ends_ms - now;

    r->began_ms = now;
    arena_release(&r->scratch);
    arena_init(&r->scratch, 2 * (size_t)LIMIT_GATEWAY_ANSWER);
    r->http.timeout_ms = left < LIMIT_GATEWAY_CALL_MS ? left : LIMIT_GATEWAY_CALL_MS;
    r->http.answer_max = LIMIT_GATEWAY_ANSWER;
    r->http.headers = r->headers;
    r->http.arena = &r->scratch;
    r->http.home = r->call->home;
    r->http.done = on_answer;
    r->call->tries++;
    client_call(r->stripe->client, &r->http);
}

/* A busy loop may call late. A request with no time left could only be lost. */
static void on_pause_over(struct timer *t)
{
    struct run *r = CONTAINER_OF(t, struct run, pause);

    if (r->ends_ms - mono_ms(r) < LIMIT_GATEWAY_LEAST_MS / 2)
        finish(r, r->fallback);
    else
        begin_try(r);
}

/* Doubled each time; the second half of it is chance, so that those who failed together do not come
 * back together. */
static int64_t pause_ms(struct run *r)
{
    int64_t whole = (int64_t)LIMIT_GATEWAY_PAUSE_MS << r->retries;

    return whole / 2 + (int64_t)rng_below(&r->stripe->env->rng, (uint64_t)(whole / 2 + 1));
}

/* False: no try is left, or no time for one. */
static bool try_again(struct run *r, bool lost, enum gateway_answer fallback)
{
    int64_t wait_ms;

    if (r->retries == LIMIT_GATEWAY_RETRIES ||
        (lost && r->lost_retries == LIMIT_GATEWAY_LOST_RETRIES))
        return false;
    wait_ms = pause_ms(r);
    if (mono_ms(r) + wait_ms + LIMIT_GATEWAY_LEAST_MS > r->ends_ms)
        return false;
    r->retries++;
    r->lost_retries += lost;
    r->fallback = fallback;
    home_arm(r->call->home, &r->pause, env_now_ms(r->stripe->env) + wait_ms);
    return true;
}

/* --- one request more --- */

static bool has_time(const struct run *r)
{
    return mono_ms(r) + LIMIT_GATEWAY_LEAST_MS <= r->ends_ms;
}

static void next_page(struct run *r, struct str after)
{
    struct stripe_request request;
    bool room = ++r->pages < LIMIT_GATEWAY_PAGES;

    if (!room || !has_time(r) || stripe_request_make(r->call, r->stripe->base, after, &request)) {
        stripe_say(r->call, S("too_many_pages"), S("the list is too long to be read to its end"));
        finish(r, GATEWAY_UNCERTAIN);
        return;
    }
    r->http.url = request.url;
    begin_try(r);
}

static void send_as(struct run *r, const struct stripe_request *request);

/* Asked again later, the key's saved refusal leads here again. */
static void look(struct run *r)
{
    struct stripe_request request;

    if (!has_time(r) || stripe_request_look(r->call, r->stripe->base, &request)) {
        finish(r, GATEWAY_RETRY_LATER);
        return;
    }
    send_as(r, &request);
    begin_try(r);
}

/* --- judging --- */

static void on_answer(struct call *http)
{
    struct run *r = CONTAINER_OF(http, struct run, http);
    struct gateway_call *c = r->call;
    bool lost = http->result == CALL_UNCERTAIN;
    bool timed_out = http->result != CALL_ANSWERED &&
                     mono_ms(r) - r->began_ms + CLOCK_SLACK_MS >= http->timeout_ms;
    struct stripe_verdict v = stripe_judge(c, http, timed_out);

    c->status = http->status;
    c->sent |= http->result != CALL_NOT_SENT;
    r->maybe |= v.maybe && !stripe_moves_nothing(http);
    if (v.more.n)
        next_page(r, v.more);
    else if (v.look)
        look(r);
    else if (!v.again || !try_again(r, lost, v.answer)) {
        c->timed_out = lost && timed_out;
        finish(r, v.answer);
    }
}

/* --- the call --- */

static void add_header(struct run *r, struct str name, struct str value)
{
    assert(r->http.header_count < HEADERS_MAX);
    r->headers[r->http.header_count++] = (struct header){ name, value };
}

static void set_headers(struct run *r)
{
    struct gateway_call *c = r->call;

    r->http.header_count = 0;
    add_header(r, S("Authorization"), r->stripe->bearer);
    add_header(r, S("Stripe-Version"), S(API_VERSION));
    if (!stripe_moves_nothing(&r->http)) {
        add_header(r, S("Content-Type"), S("application/x-www-form-urlencoded"));
        add_header(r, S("Idempotency-Key"), c->key);
    }
    if (c->trace[0])
        add_header(r, S("traceparent"), str_of(c->trace));
}

static void send_as(struct run *r, const struct stripe_request *request)
{
    r->http.method = request->method;
    r->http.url = request->url;
    r->http.body = request->body;
    set_headers(r);
}

static void clear_answer(struct gateway_call *c)
{
    c->answer = GATEWAY_UNCERTAIN;
    c->fact = (struct fact){ 0 };
    c->timed_out = c->sent = false;
    c->status = c->tries = 0;
    stripe_say(c, S(""), S(""));
}

static void on_call(struct gateway *g, struct gateway_call *c)
{
    struct stripe *s = CONTAINER_OF(g, struct stripe, gateway);
    struct run *r = arena_alloc(c->arena, 1, sizeof(*r));
    struct stripe_request request;
    enum err e;

    assert(stripe_is_fetch(c->ask) || c->key.n);
    clear_answer(c);
    e = r ? stripe_request_make(c, s->base, S(""), &request) : ERR_NO_MEMORY;
    if (e) {
        turn_away(c, e);
        return;
    }
    *r = (struct run){ .stripe = s, .call = c };
    r->pause = (struct timer){ .fire = on_pause_over, .due_ms = CLOCK_NEVER };
    r->ends_ms = mono_ms(r) + (c->budget_ms > 0 ? c->budget_ms : LIMIT_GATEWAY_BUDGET_MS);
    c->impl = r;
    send_as(r, &request);
    begin_try(r);
}

/* --- the gateway --- */

static void on_free(struct gateway *g)
{
    struct stripe *s;

    if (!g)
        return;
    s = CONTAINER_OF(g, struct stripe, gateway);
    if (s->bearer.p)
        OPENSSL_cleanse((char *)s->bearer.p, s->bearer.n);
    free((char *)s->bearer.p);
    free((char *)s->base.p);
    free(s);
}

static struct str join(const char *before, struct str s)
{
    char *text = NULL;
    int n = asprintf(&text, "%s" STR_FMT, before, STR_ARG(s));

    return n < 0 ? (struct str){ 0 } : (struct str){ text, (size_t)n };
}

struct gateway *stripe_gateway_new(const struct stripe_options *o)
{
    static const struct gateway_ops ops = { .call = on_call, .free = on_free };
    struct stripe *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->gateway = (struct gateway){ .ops = &ops, .name = o->name };
    s->env = o->env;
    s->client = o->client;
    s->base = join("", o->base);
    s->bearer = join("Bearer ", o->secret_key);
    if (s->base.p && s->bearer.p)
        return &s->gateway;
    on_free(&s->gateway);
    return NULL;
}
