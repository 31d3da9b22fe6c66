/* stripe.c - one ask, from the first request to the answer.
 *
 *   call --> try --answered--> judge --final---------------------------> done
 *             ^                  | worth another try, and in the budget
 *             |------pause-------|
 *             '--next page, look-'
 *
 *   (1) All tries send the same bytes with the same key; what differs is a GET: a list's next page,
 *       and the look at a session that would not be expired.
 *   (2) Once a try may have had its effect, RETRY_LATER becomes UNCERTAIN, unless a later try gets
 *       the result.
 *   (3) A try that took all its time is not repeated (P6); a broken connection once.
 *   (4) Between two steps nothing runs and no thread waits: a call is its run in the caller's
 *       arena. The client's thread writes only to the run's own scratch arena. */
#include "gateway/stripe/stripe.h"

#include "base/limits.h"
#include "gateway/stripe/answer.h"
#include "gateway/stripe/request.h"
#include "http/client/client.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADERS_MAX = 5 };

struct stripe {
    struct gateway gateway;
    struct env *env;
    struct client *client;
    struct str base;
    struct str bearer; /* "Bearer sk_..." */
};

struct stripe_run {
    struct stripe *stripe;
    struct gateway_call *call;
    struct call http;
    struct header headers[HEADERS_MAX];
    struct timer pause;
    struct arena scratch; /* for one answer at a time */
    struct tries tries;
    int pages;
    struct str after;             /* of a list: the last id of the previous page */
    bool maybe;                   /* an earlier try may have had its effect */
    enum gateway_answer fallback; /* what the last try gave, should there be no time for another */
};

/* --- the end --- */

static void stripe_finish(struct stripe_run *r, enum gateway_answer answer)
{
    struct gateway_call *c = r->call;

    if (answer == GATEWAY_RETRY_LATER && r->maybe)
        answer = GATEWAY_UNCERTAIN;
    arena_release(&r->scratch);
    c->answer = answer;
    c->list_after = answer == GATEWAY_UNCERTAIN || answer == GATEWAY_RETRY_LATER ? r->after : S("");
    c->done(c);
}

static void turn_away(struct gateway_call *c, enum err e)
{
    if (e == ERR_UNPROCESSABLE)
        gateway_turn_away(c, GATEWAY_REFUSED, "currency_not_supported",
                          "the gateway cannot take this amount in this currency");
    else
        gateway_turn_away(c, GATEWAY_RETRY_LATER, "no_memory",
                          "the request needs more memory than there is");
}

/* --- one try --- */

static void on_answer(struct call *http);

static void begin_try(struct stripe_run *r)
{
    arena_release(&r->scratch);
    arena_init(&r->scratch, 2 * (size_t)LIMIT_GATEWAY_ANSWER);
    tries_send(&r->tries, r->call, &r->http);
    r->http.headers = r->headers;
    r->http.arena = &r->scratch;
    r->http.done = on_answer;
    client_call(r->stripe->client, &r->http);
}

static void on_pause_over(struct timer *t)
{
    struct stripe_run *r = CONTAINER_OF(t, struct stripe_run, pause);

    if (tries_is_too_late(&r->tries))
        stripe_finish(r, r->fallback);
    else
        begin_try(r);
}

/* --- the next request --- */

/* Where pages or time are used up, the next call continues after the last id. */
static void next_page(struct stripe_run *r, struct str after)
{
    struct stripe_request request;
    bool room = ++r->pages < LIMIT_GATEWAY_PAGES;

    r->after = after;
    if (!room || !tries_has_time(&r->tries) ||
        stripe_request_make(r->call, r->stripe->base, after, &request)) {
        r->call->list_more = true;
        gateway_say(r->call, S("too_many_pages"), S("the list is long: the next ask reads on"));
        stripe_finish(r, GATEWAY_UNCERTAIN);
        return;
    }
    r->http.url = request.url;
    begin_try(r);
}

/* The gateway no longer knows the id after which the page begins. That proves nothing: the next call
 * reads the list from the beginning. */
static bool lost_place(struct stripe_run *r, const struct call *http)
{
    bool lost =
        r->after.n && http->result == CALL_ANSWERED && (http->status == 400 || http->status == 404);

    if (lost)
        r->after = S("");
    return lost;
}

static void send_as(struct stripe_run *r, const struct stripe_request *request);

/* A later EXPIRE with the same key gets the stored refusal, and leads here again. */
static void stripe_look(struct stripe_run *r)
{
    struct stripe_request request;

    if (!tries_has_time(&r->tries) || stripe_request_look(r->call, r->stripe->base, &request)) {
        stripe_finish(r, GATEWAY_RETRY_LATER);
        return;
    }
    send_as(r, &request);
    begin_try(r);
}

/* --- judging --- */

static void on_answer(struct call *http)
{
    struct stripe_run *r = CONTAINER_OF(http, struct stripe_run, http);
    struct gateway_call *c = r->call;
    bool lost = http->result == CALL_UNCERTAIN;
    bool timed_out = tries_timed_out(&r->tries, http);
    struct stripe_verdict v = stripe_judge(c, http, timed_out);

    if (lost_place(r, http))
        v = (struct stripe_verdict){ .answer = GATEWAY_RETRY_LATER };
    tries_heard(&r->tries, c, http, v.answer);
    c->status = http->status;
    c->sent |= http->result != CALL_NOT_SENT;
    r->maybe |= v.maybe && !stripe_moves_nothing(http);
    r->fallback = v.answer;
    if (v.more.n)
        next_page(r, v.more);
    else if (v.look)
        stripe_look(r);
    else if (!v.again || !tries_again(&r->tries, c, lost, &r->pause)) {
        c->timed_out = lost && timed_out;
        stripe_finish(r, v.answer);
    }
}

/* --- the call --- */

static void add_header(struct stripe_run *r, struct str name, struct str value)
{
    assert(r->http.header_count < HEADERS_MAX);
    r->headers[r->http.header_count++] = (struct header){ name, value };
}

static void set_headers(struct stripe_run *r)
{
    struct gateway_call *c = r->call;

    r->http.header_count = 0;
    add_header(r, S("Authorization"), r->stripe->bearer);
    add_header(r, S("Stripe-Version"), S(STRIPE_VERSION));
    if (!stripe_moves_nothing(&r->http)) {
        add_header(r, S("Content-Type"), S("application/x-www-form-urlencoded"));
        add_header(r, S("Idempotency-Key"), c->key);
    }
    if (c->trace[0])
        add_header(r, S("traceparent"), str_of(c->trace));
}

static void send_as(struct stripe_run *r, const struct stripe_request *request)
{
    r->http.method = request->method;
    r->http.url = request->url;
    r->http.body = request->body;
    set_headers(r);
}

static void on_call(struct gateway *g, struct gateway_call *c)
{
    struct stripe *s = CONTAINER_OF(g, struct stripe, gateway);
    struct stripe_run *r = arena_alloc(c->arena, 1, sizeof(*r));
    struct str after = stripe_is_listing(c) ? c->list_after : S("");
    struct stripe_request request;
    enum err e;

    assert(stripe_is_fetch(c->ask) || c->key.n);
    gateway_clear(c);
    e = r ? stripe_request_make(c, s->base, after, &request) : ERR_NO_MEMORY;
    if (e) {
        turn_away(c, e);
        return;
    }
    *r = (struct stripe_run){
        .stripe = s, .call = c, .tries = tries_begin(s->env, c), .after = after
    };
    r->pause = (struct timer){ .fire = on_pause_over, .due_ms = CLOCK_NEVER };
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

static struct str stripe_join(const char *before, struct str s)
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
    s->gateway = (struct gateway){ .ops = &ops,
                                   .name = o->name,
                                   .provider = "stripe",
                                   .methods = "card,konbini,paypay,checkout",
                                   .replays = true,
                                   .default_method = o->default_method };
    s->env = o->env;
    s->client = o->client;
    s->base = stripe_join("", o->base);
    s->bearer = stripe_join("Bearer ", o->secret_key);
    if (s->base.p && s->bearer.p)
        return &s->gateway;
    on_free(&s->gateway);
    return NULL;
}
