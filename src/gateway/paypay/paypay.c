/* paypay.c - one ask, from its first request to its answer.
 *
 *   call --> step --answered--> flow.c --final-----------------> done
 *             ^                      | another step, or another try of this one
 *             '-----pause, maybe-----'
 *
 *   (1) All tries of a step send the same but for nonce and time: PayPay recognizes them by our ids.
 *       Only a code gets a new id, since a code whose reply was lost was never shown.
 *   (2) A step that moves money is not repeated after a lost reply: the answer is UNCERTAIN.
 *   (3) Once a step may have had its effect, RETRY_LATER becomes UNCERTAIN.
 *   (4) A try that took all its time is not repeated (P6).
 *   (5) Between two steps nothing runs and no thread waits. The client's thread writes only to the
 *       run's own scratch arena. */
#include "gateway/paypay/paypay.h"

#include "base/hex.h"
#include "base/limits.h"
#include "gateway/paypay/run.h"
#include "gateway/paypay/sign.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONCE_BYTES = 4 };

/* --- the end --- */

void paypay_finish(struct paypay_run *r, enum gateway_answer answer)
{
    struct gateway_call *c = r->call;

    if (answer == GATEWAY_RETRY_LATER && r->maybe)
        answer = GATEWAY_UNCERTAIN;
    if (answer == GATEWAY_RETRY_LATER || answer == GATEWAY_UNCERTAIN || answer == GATEWAY_ABSENT)
        c->fact = (struct fact){ 0 };
    if (answer == GATEWAY_OK)
        gateway_say(c, S(""), S(""));
    arena_release(&r->scratch);
    c->answer = answer;
    if (r->starting)
        gateway_done_later(c);
    else
        c->done(c);
}

/* --- one try --- */

static void add_header(struct paypay_run *r, struct str name, struct str value)
{
    assert(r->http.header_count < PAYPAY_HEADERS);
    r->headers[r->http.header_count++] = (struct header){ name, value };
}

static enum err set_headers(struct paypay_run *r, const struct paypay_request *request)
{
    const struct paypay *p = r->paypay;
    unsigned char chance[NONCE_BYTES];
    char nonce[NONCE_BYTES * 2];
    struct paypay_signing s = { .api_key = p->api_key,
                                .api_secret = p->api_secret,
                                .method = request->method,
                                .path = request->path,
                                .content_type = PAYPAY_CONTENT_TYPE,
                                .body = request->body,
                                .nonce = { nonce, sizeof(nonce) },
                                .epoch_s = r->ask.now_s };
    struct str authorization;
    enum err e;

    rng_bytes(&r->paypay->env->rng, chance, sizeof(chance));
    hex_put(nonce, chance, sizeof(chance));
    e = paypay_sign(&r->scratch, &s, &authorization);
    if (e)
        return e;
    r->http.header_count = 0;
    add_header(r, S("Authorization"), authorization);
    add_header(r, S("X-ASSUME-MERCHANT"), p->merchant_id);
    if (request->body.n)
        add_header(r, S("Content-Type"), PAYPAY_CONTENT_TYPE);
    if (r->call->trace[0])
        add_header(r, S("traceparent"), str_of(r->call->trace));
    return OK;
}

static struct str url_of(struct paypay_run *r, struct str path)
{
    struct str base = r->paypay->base;
    char *text = arena_alloc(&r->scratch, 1, base.n + path.n);

    if (!text)
        return (struct str){ 0 };
    memcpy(text, base.p, base.n);
    memcpy(text + base.n, path.p, path.n);
    return (struct str){ text, base.n + path.n };
}

/* PayPay compares the epoch of each request with its clock, so the time is the calendar's. */
static enum err make_request(struct paypay_run *r)
{
    struct paypay_request request;
    enum err e;

    arena_release(&r->scratch);
    arena_init(&r->scratch, 2 * (size_t)LIMIT_GATEWAY_ANSWER);
    r->ask.now_s = clock_wall_ms(&r->paypay->env->clock) / 1000;
    e = paypay_request_make(&r->scratch, r->call, &r->ask, &request);
    if (!e)
        e = set_headers(r, &request);
    if (e)
        return e;
    r->http.method = request.method;
    r->http.body = request.body;
    r->http.url = url_of(r, request.path);
    return r->http.url.p ? OK : ERR_NO_MEMORY;
}

static void on_answer(struct call *http)
{
    struct paypay_run *r = CONTAINER_OF(http, struct paypay_run, http);
    struct gateway_call *c = r->call;
    bool timed_out = tries_timed_out(&r->tries, http);
    CLEANUP(json_freep) cJSON *tree = NULL;
    struct paypay_reply reply;

    c->fact = (struct fact){ 0 };
    reply = paypay_judge(c, http, timed_out, &tree);
    tries_heard(&r->tries, c, http, paypay_answer_of(reply.said));
    c->status = http->status;
    c->sent |= http->result != CALL_NOT_SENT;
    c->timed_out = timed_out && reply.said == SAID_UNKNOWN;
    paypay_heard(r, &reply);
}

static void begin_try(struct paypay_run *r)
{
    if (make_request(r)) {
        gateway_say(r->call, S("no_memory"), S("the request needs more memory than there is"));
        paypay_finish(r, GATEWAY_RETRY_LATER);
        return;
    }
    tries_send(&r->tries, r->call, &r->http);
    r->http.headers = r->headers;
    r->http.arena = &r->scratch;
    r->http.done = on_answer;
    client_call(r->paypay->client, &r->http);
}

/* --- another try --- */

static void on_pause_over(struct timer *t)
{
    struct paypay_run *r = CONTAINER_OF(t, struct paypay_run, pause);

    if (tries_is_too_late(&r->tries))
        paypay_finish(r, r->fallback);
    else
        begin_try(r);
}

bool paypay_again(struct paypay_run *r, const struct paypay_reply *reply,
                  enum gateway_answer fallback)
{
    r->fallback = fallback;
    return !reply->timed_out && tries_again(&r->tries, r->call, reply->lost, &r->pause);
}

void paypay_next(struct paypay_run *r, enum paypay_step step)
{
    r->ask.step = step;
    if (tries_has_time(&r->tries) && r->steps++ < LIMIT_PAYPAY_STEPS) {
        begin_try(r);
        return;
    }
    gateway_say(r->call, S("too_many_steps"), S("the gateway could not be asked to the end"));
    paypay_finish(r, GATEWAY_RETRY_LATER);
}

/* --- the call --- */

static bool needs_money(enum gateway_ask ask)
{
    return ask == GATEWAY_AUTHORIZE || ask == GATEWAY_CAPTURE || ask == GATEWAY_REFUND;
}

static void on_call(struct gateway *g, struct gateway_call *c)
{
    struct paypay *p = CONTAINER_OF(g, struct paypay, gateway);
    struct paypay_run *r = arena_alloc(c->arena, 1, sizeof(*r));

    assert(c->ask == GATEWAY_FETCH || c->ask == GATEWAY_FETCH_REFUND || c->key.n);
    gateway_clear(c);
    if (c->ask == GATEWAY_CHECKOUT || c->ask == GATEWAY_EXPIRE) {
        gateway_turn_away(c, GATEWAY_REFUSED, "not_offered", "PayPay has no sessions of Checkout");
        return;
    }
    if (needs_money(c->ask) && !paypay_takes(c->money)) {
        gateway_turn_away(c, GATEWAY_REFUSED, "currency_not_supported",
                          "PayPay takes whole yen, up to eleven digits");
        return;
    }
    if (!r) {
        gateway_turn_away(c, GATEWAY_RETRY_LATER, "no_memory",
                          "the request needs more memory than there is");
        return;
    }
    *r = (struct paypay_run){
        .paypay = p, .call = c, .tries = tries_begin(p->env, c), .attempt = 1, .starting = true
    };
    r->pause = (struct timer){ .fire = on_pause_over, .due_ms = CLOCK_NEVER };
    paypay_begin(r);
    r->starting = false;
}

/* --- the gateway --- */

static void paypay_wipe(struct str s)
{
    if (s.p)
        OPENSSL_cleanse((char *)s.p, s.n);
    free((char *)s.p);
}

static void on_free(struct gateway *g)
{
    struct paypay *p;

    if (!g)
        return;
    p = CONTAINER_OF(g, struct paypay, gateway);
    paypay_wipe(p->api_key);
    paypay_wipe(p->api_secret);
    free((char *)p->merchant_id.p);
    free((char *)p->base.p);
    free(p);
}

static struct str paypay_copy(struct str s)
{
    char *text = malloc(s.n + 1);

    if (!text)
        return (struct str){ 0 };
    if (s.n)
        memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return (struct str){ text, s.n };
}

struct gateway *paypay_gateway_new(const struct paypay_options *o)
{
    static const struct gateway_ops ops = { .call = on_call, .free = on_free };
    struct paypay *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->gateway = (struct gateway){
        .ops = &ops, .name = "paypay", .provider = "paypay", .methods = "paypay"
    };
    p->env = o->env;
    p->client = o->client;
    p->base = paypay_copy(o->base);
    p->api_key = paypay_copy(o->api_key);
    p->api_secret = paypay_copy(o->api_secret);
    p->merchant_id = paypay_copy(o->merchant_id);
    if (p->base.p && p->api_key.p && p->api_secret.p && p->merchant_id.p)
        return &p->gateway;
    on_free(&p->gateway);
    return NULL;
}
