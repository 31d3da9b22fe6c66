/* endpoint.c - every call under /v1 enters and leaves here.
 *
 *   API key (401) -> form and Idempotency-Key (400) -> faults -> another call with this key (409)
 *   -> [delay] -> unit: stored answer, or the operation -> [hang] -> answer, or a closed connection
 *
 * Everything but the unit runs on the executor. The answer is stored under the key in the same
 * commit as the change, so after a crash the key is unknown and nothing happened, or it is known
 * with its answer. */
#include "base/limits.h"
#include "observe/log.h"
#include "sandbox/impl.h"
#include "sandbox/relay/relay.h"
#include "sandbox/stripe/call.h"

#include <openssl/evp.h>

#define NEWEST_VERSION "2026-10-28.endive"

enum { API_KEY_LEAST = 12, API_KEY_MOST = 512, REQUEST_DIGITS = 14 };

/* --- the answer --- */

static void add_answer_headers(struct stripe_call *v)
{
    struct request *r = v->request;
    struct str version = request_header(r, S("Stripe-Version"), NULL);

    reply_header(r, S("request-id"), v->w.request_id);
    reply_header(r, S("stripe-version"), version.n ? version : S(NEWEST_VERSION));
    if (v->key.n)
        reply_header(r, S("idempotency-key"), v->key);
    if (v->replayed) {
        reply_header(r, S("idempotent-replayed"), S("true"));
        reply_header(r, S("original-request"), v->original);
    }
    if (v->status >= 400 && v->fault.should_retry)
        reply_header(r, S("stripe-should-retry"),
                     v->fault.should_retry == RETRY_SAYS_TRUE ? S("true") : S("false"));
    else if (v->retry)
        reply_header(r, S("stripe-should-retry"), S("true"));
    else if (v->status >= 500 && (v->keep || v->replayed))
        reply_header(r, S("stripe-should-retry"), S("false"));
    if (v->status == 429)
        reply_header(r, S("stripe-rate-limited-reason"), S("global-rate"));
    if (v->status == 401)
        reply_header(r, S("www-authenticate"), S("Bearer realm=\"Stripe\""));
}

static void endpoint_answer(struct stripe_call *v)
{
    static const struct str no_memory =
        S("{\"error\":{\"type\":\"api_error\",\"message\":\"The sandbox is out of memory.\"}}");
    struct arena arena = v->arena;
    bool whole = v->status && v->body.p;

    idempotency_leave(v);
    add_answer_headers(v);
    sandbox_answer_send(v->request, &v->fault, whole ? v->status : 500,
                        whole ? v->body : no_memory);
    arena_release(&arena); /* reply_send() has freed the request, and v with it */
}

static void endpoint_drop(struct stripe_call *v)
{
    struct arena arena = v->arena;

    idempotency_leave(v);
    reply_drop(v->request);
    arena_release(&arena);
}

/* --- delayed calls --- */

static void unlink_delayed(struct stripe_call *v)
{
    *v->delayed_place = v->next_delayed;
    if (v->next_delayed)
        v->next_delayed->delayed_place = v->delayed_place;
}

static void delay_over(struct timer *t)
{
    struct stripe_call *v = CONTAINER_OF(t, struct stripe_call, timer);

    unlink_delayed(v);
    v->then(v);
}

static void delay_call(struct stripe_call *v, int64_t ms, void (*then)(struct stripe_call *v))
{
    struct sandbox_impl *impl = impl_of(v->w.s);

    if (ms <= 0) {
        then(v);
        return;
    }
    if (impl->stopping) {
        endpoint_drop(v);
        return;
    }
    v->then = then;
    v->timer = (struct timer){ .fire = delay_over, .due_ms = CLOCK_NEVER };
    v->next_delayed = impl->waiting;
    v->delayed_place = &impl->waiting;
    if (v->next_delayed)
        v->next_delayed->delayed_place = &v->next_delayed;
    impl->waiting = v;
    executor_arm(v->request->executor, &v->timer, env_now_ms(&v->w.s->env) + ms);
}

void stripe_calls_drop_delayed(struct sandbox *s)
{
    struct sandbox_impl *impl = impl_of(s);

    impl->stopping = true;
    while (impl->waiting) {
        struct stripe_call *v = impl->waiting;

        executor_arm(v->request->executor, &v->timer, CLOCK_NEVER);
        unlink_delayed(v);
        endpoint_drop(v);
    }
}

/* --- the unit --- */

static void reset_outcome(struct stripe_call *v, struct tx *tx)
{
    v->w.tx = tx;
    v->w.now_ms = env_now_ms(&v->w.s->env);
    v->w.err = OK;
    v->status = 0;
    v->body = v->original = (struct str){ 0 };
    v->keep = v->replayed = v->retry = false;
}

/* UNPROCESSABLE: there is an answer, and the transaction rolls back what was written before it. */
static enum err endpoint_verdict(struct stripe_call *v)
{
    if (!v->w.err && !v->status)
        return ERR_INTERNAL;
    if (v->w.err || v->keep || v->replayed)
        return v->w.err;
    return ERR_UNPROCESSABLE;
}

static enum err stripe_call_run_write(struct tx *tx, struct unit *u)
{
    struct stripe_call *v = CONTAINER_OF(u, struct stripe_call, unit);

    reset_outcome(v, tx);
    if (v->key.n && !idempotency_claim(v))
        return endpoint_verdict(v);
    if (strict_allows(v))
        v->op->run(v);
    if (!v->w.err && v->keep && v->fault.status_after)
        stripe_answer_failure(v, v->fault.status_after);
    if (!v->w.err && v->keep && v->key.n)
        idempotency_save(v);
    return endpoint_verdict(v);
}

static enum err stripe_call_run_read(struct tx *tx, struct unit *u)
{
    struct stripe_call *v = CONTAINER_OF(u, struct stripe_call, unit);

    reset_outcome(v, tx);
    if (strict_allows(v))
        v->op->run(v);
    if (!v->w.err && v->fault.status_after)
        stripe_answer_failure(v, v->fault.status_after);
    return v->w.err;
}

static void endpoint_done(struct unit *u)
{
    struct stripe_call *v = CONTAINER_OF(u, struct stripe_call, unit);

    idempotency_leave(v); /* from here on the answer is stored, or never will be */
    if (u->err && u->err != ERR_UNPROCESSABLE) {
        LOG(v->w.s->env.log, LOG_WARN, "sandbox call failed", LOG_TEXT("path", v->request->path),
            LOG_TEXT("code", str_of(err_code(u->err))));
        v->keep = v->replayed = false;
        v->w.err = OK;
        stripe_answer_failure(v, err_status(u->err) == 503 ? 503 : 500);
    }
    delay_call(v, v->fault.hang_ms, v->fault.drop_after ? endpoint_drop : endpoint_answer);
}

static void endpoint_post(struct stripe_call *v)
{
    static const struct unit_kind write = { "sandbox.write", UNIT_FRONT, stripe_call_run_write,
                                            NULL };
    static const struct unit_kind read = { "sandbox.read", UNIT_READ, stripe_call_run_read, NULL };
    bool reads = str_eq(str_of(v->op->method), S("GET"));

    v->unit = (struct unit){ .kind = reads ? &read : &write,
                             .executor = v->request->executor,
                             .done = endpoint_done,
                             .arena = &v->arena };
    store_post(v->w.s->store, &v->unit);
}

/* --- the API key --- */

/* The API key as the user name of a Basic header, without a password. */
static struct str basic_user(struct arena *a, struct str encoded)
{
    unsigned char *text = encoded.n <= API_KEY_MOST ? arena_alloc(a, encoded.n + 4, 1) : NULL;
    struct str user;
    int n;

    if (!text)
        return (struct str){ 0 };
    n = EVP_DecodeBlock(text, (const unsigned char *)encoded.p, (int)encoded.n);
    user = (struct str){ (const char *)text, n > 0 ? (size_t)n : 0 };
    return str_cut(&user, ':');
}

static struct str api_key(struct request *r)
{
    struct str header = request_header(r, S("Authorization"), NULL);
    struct str scheme = str_cut(&header, ' ');

    if (str_eq_nocase(scheme, S("Bearer")))
        return str_trim(header);
    return str_eq_nocase(scheme, S("Basic")) ? basic_user(&r->arena, str_trim(header))
                                             : (struct str){ 0 };
}

static bool reject_key(struct stripe_call *v, const char *message)
{
    return stripe_reject(v, &(struct rejection){ .status = 401,
                                                 .type = "invalid_request_error",
                                                 .message = str_of(message) });
}

static bool check_api_key(struct stripe_call *v)
{
    struct str key = api_key(v->request);

    if (!key.n)
        return reject_key(v, "You did not provide an API key. Send it as a Bearer token or as the "
                             "user of Basic authentication.");
    if (str_starts(key, S("sk_live_")) || str_starts(key, S("rk_live_")))
        return reject_key(v,
                          "This is the sandbox. Never send it a live key; roll the one you sent.");
    if ((!str_starts(key, S("sk_test_")) && !str_starts(key, S("rk_test_"))) ||
        key.n < API_KEY_LEAST)
        return reject_key(v,
                          "Invalid API Key provided. Any key that begins with sk_test_ will do.");
    return true;
}

/* --- the form and the Idempotency-Key --- */

static bool reject_form(struct stripe_call *v, enum err e, const struct form_fault *f)
{
    struct str name = { f->name.p, f->name.n < 100 ? f->name.n : 100 };

    if (e == ERR_NO_MEMORY)
        return stripe_answer_failure(v, 500);
    return stripe_reject_invalid(v, NULL, NULL, "Invalid request: '" STR_FMT "': %s.",
                                 STR_ARG(name), f->why);
}

static bool read_form(struct stripe_call *v)
{
    struct request *r = v->request;
    struct form_fault f;
    enum err e = form_parse(&r->arena, r->body, &v->form, &f);

    if (!e)
        e = form_parse(&r->arena, r->query, &v->form, &f);
    return !e || reject_form(v, e, &f);
}

/* A call without an Idempotency-Key gets one of its own, for the events that it emits. */
static bool make_idempotency_key(struct stripe_call *v)
{
    char id[UUID_TEXT + 1];

    uuid_text(env_uuid(&v->w.s->env), id);
    v->w.idempotency_key = arena_str(&v->request->arena, str_of(id));
    return v->w.idempotency_key.p || stripe_answer_failure(v, 500);
}

static bool read_idempotency_key(struct stripe_call *v)
{
    size_t count = 0;

    if (!str_eq(str_of(v->op->method), S("POST")))
        return true;
    v->key = request_header(v->request, S("Idempotency-Key"), &count);
    v->w.idempotency_key = v->key;
    if (count > 1 || v->key.n > LIMIT_SANDBOX_KEY) {
        v->key = S("");
        return stripe_reject_invalid(v, NULL, NULL,
                                     "Idempotency-Key must come once, with at most %d "
                                     "characters.",
                                     LIMIT_SANDBOX_KEY);
    }
    if (!v->key.n)
        return make_idempotency_key(v);
    return idempotency_hash(v) == OK || stripe_answer_failure(v, 500);
}

/* --- a request arrives --- */

static bool enter_key(struct stripe_call *v)
{
    return !v->key.n || idempotency_enter(v) || stripe_answer_failure(v, 409);
}

/* After the delay, and before anything has been done. */
static void after_delay(struct stripe_call *v)
{
    if (v->fault.drop_before)
        endpoint_drop(v);
    else if (v->fault.status_before && (stripe_answer_failure(v, v->fault.status_before), true))
        endpoint_answer(v);
    else
        endpoint_post(v);
}

static struct stripe_call *stripe_call_new(struct request *r, const struct endpoint *at)
{
    struct stripe_call *v = arena_alloc(&r->arena, 1, sizeof(*v));

    if (!v)
        return NULL;
    arena_init(&v->arena, LIMIT_SANDBOX_ARENA);
    v->request = r;
    v->op = at->op;
    v->id = r->params[0];
    v->w = (struct work){ .s = at->s, .a = &r->arena };
    /* In the request's arena, because a rerun of the unit must not lose it. */
    v->w.request_id = sb_id_random(&v->w, "req_", REQUEST_DIGITS);
    v->w.a = &v->arena;
    return v;
}

void stripe_call_begin(struct request *r, void *endpoint)
{
    struct stripe_call *v = stripe_call_new(r, endpoint);

    if (!v) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    if (!check_api_key(v) || !read_form(v) || !read_idempotency_key(v)) {
        endpoint_answer(v);
        return;
    }
    v->fault = sandbox_fault_take(v->w.s, &r->arena, r->method, r->path);
    if (!v->fault.drop_before && !v->fault.status_before && !enter_key(v))
        endpoint_answer(v);
    else
        delay_call(v, v->fault.delay_ms, after_delay);
}

/* --- the routes --- */

static void reject_unknown_path(struct stripe_call *v)
{
    struct request *r = v->request;
    struct str path = { r->path.p, r->path.n < 200 ? r->path.n : 200 };

    stripe_reject(v, &(struct rejection){
                         .status = 404,
                         .type = "invalid_request_error",
                         .message = work_text(&v->w,
                                              "Unrecognized request URL (" STR_FMT ": " STR_FMT
                                              "). The sandbox has a part of Stripe's API only.",
                                              STR_ARG(r->method), STR_ARG(path)) });
}

const struct stripe_operation sandbox_operations[] = {
    { "POST", "/v1/payment_intents", intent_create },
    { "GET", "/v1/payment_intents", intent_list },
    { "POST", "/v1/payment_intents/{id}", intent_update },
    { "GET", "/v1/payment_intents/{id}", intent_retrieve },
    { "POST", "/v1/payment_intents/{id}/confirm", intent_confirm },
    { "POST", "/v1/payment_intents/{id}/capture", intent_capture },
    { "POST", "/v1/payment_intents/{id}/cancel", intent_cancel },
    { "POST", "/v1/refunds", refund_create },
    { "GET", "/v1/refunds", refund_list },
    { "POST", "/v1/refunds/{id}", refund_update },
    { "GET", "/v1/refunds/{id}", refund_retrieve },
    { "POST", "/v1/refunds/{id}/cancel", refund_cancel },
    { "GET", "/v1/charges", charge_list },
    { "GET", "/v1/charges/{id}", charge_retrieve },
    { "POST", "/v1/payment_methods", method_create },
    { "GET", "/v1/payment_methods/{id}", method_retrieve },
    { "GET", "/v1/balance_transactions/{id}", balance_retrieve },
    { "POST", "/v1/products", product_create },
    { "GET", "/v1/products", product_list },
    { "POST", "/v1/products/{id}", product_update },
    { "GET", "/v1/products/{id}", product_retrieve },
    { "POST", "/v1/prices", price_create },
    { "GET", "/v1/prices", price_list },
    { "POST", "/v1/prices/{id}", price_update },
    { "GET", "/v1/prices/{id}", price_retrieve },
    { "POST", "/v1/checkout/sessions", session_create },
    { "GET", "/v1/checkout/sessions", session_list },
    { "POST", "/v1/checkout/sessions/{id}", session_update },
    { "GET", "/v1/checkout/sessions/{id}", session_retrieve },
    { "GET", "/v1/checkout/sessions/{id}/line_items", session_items },
    { "POST", "/v1/checkout/sessions/{id}/expire", session_expire },
    { "GET", "/v1/payment_pages/{id}", payment_page_retrieve },
    { "POST", "/v1/payment_pages/{id}/confirm", payment_page_confirm },
    { "GET", "/v1/disputes", dispute_list },
    { "GET", "/v1/disputes/{id}", dispute_retrieve },
    { "POST", "/v1/disputes/{id}", dispute_update },
    { "POST", "/v1/disputes/{id}/close", dispute_close },
    { "GET", "/v1/events", event_list },
    { "GET", "/v1/events/{id}", event_retrieve },
    { "POST", "/v1/events/{id}/retry", event_retry },
    { "POST", "/v1/webhook_endpoints", hook_create },
    { "GET", "/v1/webhook_endpoints", hook_list },
    { "POST", "/v1/webhook_endpoints/{id}", hook_update },
    { "GET", "/v1/webhook_endpoints/{id}", hook_retrieve },
    { "DELETE", "/v1/webhook_endpoints/{id}", hook_delete },
    { "POST", "/v1/customers", customer_create },
    { "GET", "/v1/customers", customer_list },
    { "POST", "/v1/customers/{id}", customer_update },
    { "GET", "/v1/customers/{id}", customer_retrieve },
    { "DELETE", "/v1/customers/{id}", customer_delete },
    { "GET", "/v1/customers/{id}/cash_balance", customer_cash },
    { "POST", "/v1/test_helpers/customers/{id}/fund_cash_balance", customer_fund },
    { "POST", "/v1/test_helpers/refunds/{id}/expire", refund_expire },
    { "POST", "/v1/stripecli/sessions", relay_session_create },
    { "GET", "/v1/*", reject_unknown_path },
    { "POST", "/v1/*", reject_unknown_path },
    { "DELETE", "/v1/*", reject_unknown_path },
    { "PUT", "/v1/*", reject_unknown_path },
    { "PATCH", "/v1/*", reject_unknown_path },
};
const size_t sandbox_operation_count = COUNT(sandbox_operations);
