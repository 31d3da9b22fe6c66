/* The adapter against a server that follows a script: one step for each request, each on a
 * connection of its own. Pauses are not waited for: the test's clock jumps over them. */
#include "base/buf.h"
#include "base/limits.h"
#include "domain/retry.h"
#include "gateway/stripe/stripe.h"
#include "http/client/client.h"
#include "unit/desk.h"
#include "unit/gateway/ask.h"
#include "unit/gateway/fixtures.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- the server --- */

enum { STEPS = 64, REQUEST_MAX = 64 * 1024 };

enum how {
    SAY,
    CLOSE, /* without a word */
    HALF,  /* of the answer, then close */
    HANG,  /* until the client gives up */
    DIE,   /* close, and take no more connections */
};

struct step {
    enum how how;
    int status;
    const char *body, *headers;
};

struct box {
    int listener, port, stop[2];
    pthread_t thread;
    struct step steps[STEPS];
    char *requests[STEPS]; /* read by a test only behind the answer */
    _Atomic int taken;
};

static int bound_socket(int *ret_port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
    getsockname(fd, (struct sockaddr *)&a, &size);
    *ret_port = ntohs(a.sin_port);
    return fd;
}

static size_t request_size(const char *bytes)
{
    const char *end = strstr(bytes, "\r\n\r\n"), *length = strcasestr(bytes, "\r\nContent-Length:");

    if (!end)
        return 0;
    return (size_t)(end + 4 - bytes) +
           (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
}

/* False: it ended before its end. */
static bool hear(int fd, char *bytes)
{
    size_t n = 0, size = 0;

    while (!size || n < size) {
        ssize_t got = recv(fd, bytes + n, REQUEST_MAX - 1 - n, 0);

        if (got <= 0)
            return false;
        n += (size_t)got;
        bytes[n] = '\0';
        size = request_size(bytes);
    }
    return true;
}

static void say(int fd, const struct step *s)
{
    char *body = json_of(s->body ? s->body : "");
    size_t n = strlen(body);
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_fmt(&b, "HTTP/1.1 %d X\r\nConnection: close\r\nRequest-Id: req_1\r\n%s", s->status,
            s->headers ? s->headers : "");
    buf_fmt(&b, "Content-Length: %zu\r\n\r\n", n);
    buf_add(&b, (struct str){ body, s->how == HALF ? n / 2 : n });
    assert_int_equal(send(fd, b.p, b.n, MSG_NOSIGNAL), b.n);
    buf_release(&b);
    free(body);
}

static void hang(struct box *b, int fd)
{
    struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { b->stop[0], POLLIN, 0 } };

    poll(fds, 2, -1);
}

static void serve(struct box *b, int fd)
{
    int at = atomic_load(&b->taken);
    const struct step *s = &b->steps[at];

    b->requests[at] = calloc(1, REQUEST_MAX);
    if (hear(fd, b->requests[at])) {
        atomic_fetch_add(&b->taken, 1);
        if (s->how == DIE) {
            close(b->listener);
            b->listener = -1;
        }
        if (s->how == HANG)
            hang(b, fd);
        if (s->how == SAY || s->how == HALF)
            say(fd, s);
    }
    shutdown(fd, SHUT_WR);
    close(fd);
}

static void *box_run(void *ctx)
{
    struct box *b = ctx;

    for (;;) {
        struct pollfd fds[] = { { b->stop[0], POLLIN, 0 }, { b->listener, POLLIN, 0 } };

        poll(fds, 2, -1);
        if (fds[0].revents)
            return NULL;
        if (fds[1].revents)
            serve(b, accept(b->listener, NULL, NULL));
    }
}

/* --- what every test has --- */

struct fixture {
    struct env env; /* the gateway's; its monotonic clock is the test's */
    struct env client_env;
    struct box box;
    struct client *client;
    struct gateway *gateway;
    struct desk desk;
    struct arena arena;
    struct gateway_call call;
    struct timer *armed;
    int64_t pauses[8];
    int pause_count;
    int64_t extra_ms; /* added to each pause: a busy loop */
    bool done, calling;
};

static _Atomic int64_t skipped_ms;

static int64_t test_mono_us(const struct clock *c)
{
    struct timespec t;

    (void)c;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 + atomic_load(&skipped_ms) * 1000;
}

static void arm(struct executor *h, struct timer *t, int64_t due_ms)
{
    struct fixture *f = CONTAINER_OF(CONTAINER_OF(h, struct desk, executor), struct fixture, desk);

    assert_null(f->armed);
    t->due_ms = due_ms;
    f->armed = t;
    f->pauses[f->pause_count++] = due_ms - env_now_ms(&f->env);
}

static const struct executor_ops executor = { .post = desk_give, .arm = arm };

static void open_gateway(struct fixture *f, int port)
{
    char base[64];
    struct stripe_options o = { .env = &f->env,
                                .client = f->client,
                                .name = "stripe",
                                .base = { base, 0 },
                                .secret_key = S("sk_test_123456789") };

    if (f->gateway)
        f->gateway->ops->free(f->gateway);
    o.base.n = (size_t)snprintf(base, sizeof(base), "http://127.0.0.1:%d", port);
    f->gateway = stripe_gateway_new(&o);
    assert_non_null(f->gateway);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct client_options o = { .env = &f->client_env, .allow_private = true };
    struct why why;

    clock_init(&f->env.clock);
    f->env.clock.mono_us = test_mono_us;
    clock_init(&f->client_env.clock);
    rng_init_seeded(&f->env.rng, 7);
    f->box.listener = bound_socket(&f->box.port);
    listen(f->box.listener, 8);
    assert_int_equal(pipe(f->box.stop), 0);
    desk_init_as(&f->desk, &executor);
    arena_init(&f->arena, 1 << 20);
    assert_int_equal(client_open(&o, &f->client, &why), OK);
    open_gateway(f, f->box.port);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    f->gateway->ops->free(f->gateway);
    client_free(f->client);
    assert_int_equal(write(f->box.stop[1], "x", 1), 1);
    if (f->box.thread)
        pthread_join(f->box.thread, NULL);
    close(f->box.stop[0]);
    close(f->box.stop[1]);
    if (f->box.listener >= 0)
        close(f->box.listener);
    for (size_t i = 0; i < STEPS; i++)
        free(f->box.requests[i]);
    arena_release(&f->arena);
    free(f);
    return 0;
}

static void on_done(struct gateway_call *c)
{
    struct fixture *f = CONTAINER_OF(c, struct fixture, call);

    assert_false(f->done);
    assert_false(f->calling);
    f->done = true;
}

static void prepare(struct fixture *f, enum gateway_ask ask)
{
    struct gateway_call *c = &f->call;

    ask_prepare(c, ask, &f->arena, &f->desk, on_done);
    if (ask == GATEWAY_AUTHORIZE)
        c->payment_method = S("pm_card_visa");
    else if (ask == GATEWAY_EXPIRE)
        c->session_id = S("cs_1");
    else if (ask != GATEWAY_CHECKOUT)
        c->intent_id = S("pi_1");
}

static void fire(struct fixture *f)
{
    struct timer *t = f->armed;

    atomic_fetch_add(&skipped_ms, f->pauses[f->pause_count - 1] + f->extra_ms);
    f->armed = NULL;
    t->fire(t);
}

static void go(struct fixture *f)
{
    f->calling = true;
    gateway_call(f->gateway, &f->call);
    f->calling = false;
    while (!f->done) {
        if (f->armed)
            fire(f);
        else
            desk_next(&f->desk);
    }
}

/* Lets the server say these, asks, and waits for the answer. */
static void play(struct fixture *f, const struct step *steps, size_t n)
{
    memcpy(f->box.steps, steps, n * sizeof(*steps));
    assert_int_equal(pthread_create(&f->box.thread, NULL, box_run, &f->box), 0);
    go(f);
    assert_int_equal(atomic_load(&f->box.taken), n); /* every step was asked for, and no more */
}

static void expect_in(const char *request, const char *part)
{
    if (!strstr(request, part))
        fail_msg("\"%s\" is not in: %s", part, request);
}

#define HELD INTENT("requires_capture", "")
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* --- the tests --- */

static void g2_a_request_carries_key_version_credentials_and_trace(void **state)
{
    static const struct step steps[] = { { SAY, 200, HELD, NULL } };
    struct fixture *f = *state;
    const char *r;

    prepare(f, GATEWAY_AUTHORIZE);
    strcpy(f->call.trace, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    play(f, steps, 1);
    r = f->box.requests[0];
    expect_in(r, "POST /v1/payment_intents HTTP/1.1\r\n");
    expect_in(r, "\r\nAuthorization: Bearer sk_test_123456789\r\n");
    expect_in(r, "\r\nStripe-Version: 2026-10-28.endive\r\n");
    expect_in(r, "\r\nIdempotency-Key: ichido-op-1\r\n");
    expect_in(r, "\r\nContent-Type: application/x-www-form-urlencoded\r\n");
    expect_in(r, "\r\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n");
    expect_in(r, "&payment_method=pm_card_visa&confirm=true&");
    assert_int_equal(f->call.answer, GATEWAY_OK);
    assert_int_equal(f->call.fact.state, INTENT_AUTHORIZED);
    assert_int_equal(f->call.status, 200);
    assert_int_equal(f->call.tries, 1);
    assert_true(f->call.sent);
    assert_false(f->call.timed_out);
}

static void a_fetch_has_no_key_and_no_body(void **state)
{
    static const struct step steps[] = { { SAY, 200, INTENT_PAID, NULL } };
    struct fixture *f = *state;
    const char *r;

    prepare(f, GATEWAY_FETCH);
    play(f, steps, 1);
    r = f->box.requests[0];
    expect_in(
        r, "GET /v1/payment_intents/pi_1?expand[]=latest_charge.balance_transaction HTTP/1.1\r\n");
    assert_null(strstr(r, "Idempotency-Key"));
    assert_null(strstr(r, "Content-Type"));
    assert_null(strstr(r, "traceparent"));
    assert_int_equal(f->call.answer, GATEWAY_OK);
    assert_int_equal(f->call.fact.received, 1500);
}

struct scene {
    const char *why;
    enum gateway_ask ask;
    struct step steps[4];
    int count;
    enum gateway_answer answer;
    const char *code;
};

static void play_scene(const struct scene *s)
{
    void *state;
    struct fixture *f;

    setup(&state);
    f = state;
    prepare(f, s->ask);
    play(f, s->steps, (size_t)s->count);
    if (f->call.answer != s->answer || strcmp(f->call.error_code, s->code) != 0 ||
        f->call.tries != s->count || !f->call.sent)
        fail_msg("%s: answer %d, code %s, tries %d", s->why, f->call.answer, f->call.error_code,
                 f->call.tries);
    for (int i = 1; i < s->count; i++)
        expect_in(strstr(f->box.requests[i], "\r\nStripe-Version"),
                  strstr(f->box.requests[0], "\r\nStripe-Version"));
    teardown(&state);
}

/* P6: at most two retries, the same bytes and the same key. */
static void p6_what_may_end_better_is_tried_again_with_the_same_key(void **state)
{
#define LIMITED                                                                                    \
    {                                                                                              \
        SAY, 429, ERROR("invalid_request_error", "rate_limit", ""), NULL                           \
    }
#define BROKEN                                                                                     \
    {                                                                                              \
        SAY, 500, ERROR("api_error", "", ""), NULL                                                 \
    }
#define IN_USE                                                                                     \
    {                                                                                              \
        SAY, 409, ERROR("idempotency_error", "idempotency_key_in_use", ""), NULL                   \
    }
#define FINE                                                                                       \
    {                                                                                              \
        SAY, 200, HELD, NULL                                                                       \
    }
#define ALONE                                                                                      \
    {                                                                                              \
        CLOSE, 0, NULL, NULL                                                                       \
    }
    static const struct scene scenes[] = {
        { "500, then fine", GATEWAY_AUTHORIZE, { BROKEN, FINE }, 2, GATEWAY_OK, "" },
        { "500 for ever",
          GATEWAY_AUTHORIZE,
          { BROKEN, BROKEN, BROKEN },
          3,
          GATEWAY_UNCERTAIN,
          "api_error" },
        { "a saved 500",
          GATEWAY_AUTHORIZE,
          { { SAY, 500, ERROR("api_error", "", ""), "Stripe-Should-Retry: false\r\n" } },
          1,
          GATEWAY_UNCERTAIN,
          "api_error" },
        { "429, 429, then fine", GATEWAY_AUTHORIZE, { LIMITED, LIMITED, FINE }, 3, GATEWAY_OK, "" },
        { "429 for ever: nothing happened",
          GATEWAY_CAPTURE,
          { LIMITED, LIMITED, LIMITED },
          3,
          GATEWAY_RETRY_LATER,
          "rate_limit" },
        { "429 behind a 500: it may have happened",
          GATEWAY_CAPTURE,
          { BROKEN, LIMITED, LIMITED },
          3,
          GATEWAY_UNCERTAIN,
          "rate_limit" },
        { "409, then its answer", GATEWAY_AUTHORIZE, { IN_USE, FINE }, 2, GATEWAY_OK, "" },
        { "409 for ever",
          GATEWAY_AUTHORIZE,
          { IN_USE, IN_USE, IN_USE },
          3,
          GATEWAY_UNCERTAIN,
          "idempotency_key_in_use" },
        { "a lost connection, then the saved answer",
          GATEWAY_AUTHORIZE,
          { ALONE, FINE },
          2,
          GATEWAY_OK,
          "" },
        { "a lost connection is tried again once",
          GATEWAY_AUTHORIZE,
          { ALONE, ALONE },
          2,
          GATEWAY_UNCERTAIN,
          "connection_lost" },
        { "half an answer, then all of it",
          GATEWAY_AUTHORIZE,
          { { HALF, 200, HELD, NULL }, FINE },
          2,
          GATEWAY_OK,
          "" },
        { "lost, 429, lost",
          GATEWAY_AUTHORIZE,
          { ALONE, LIMITED, ALONE },
          3,
          GATEWAY_UNCERTAIN,
          "connection_lost" },
        { "lost, then a wrong key",
          GATEWAY_AUTHORIZE,
          { ALONE, { SAY, 401, "", NULL } },
          2,
          GATEWAY_UNCERTAIN,
          "http_401" },
        { "lost, then the decline it was",
          GATEWAY_AUTHORIZE,
          { ALONE, { SAY, 402, ERROR("card_error", "card_declined", ""), NULL } },
          2,
          GATEWAY_DECLINED,
          "card_declined" },
        { "captured by the try that was lost",
          GATEWAY_CAPTURE,
          { ALONE,
            { SAY, 400,
              "{'error':{'type':'invalid_request_error','code':'payment_intent_unexpected_state',"
              "'payment_intent':" INTENT_PAID "}}",
              NULL } },
          2,
          GATEWAY_OK,
          "" },
        { "a wrong key is not tried again",
          GATEWAY_CAPTURE,
          { { SAY, 401, "", NULL } },
          1,
          GATEWAY_RETRY_LATER,
          "http_401" },
        { "a decline is not tried again",
          GATEWAY_AUTHORIZE,
          { { SAY, 402, ERROR("card_error", "card_declined", ""), NULL } },
          1,
          GATEWAY_DECLINED,
          "card_declined" },
        { "a refusal is not tried again",
          GATEWAY_VOID,
          { { SAY, 400, ERROR("invalid_request_error", "x", ""), NULL } },
          1,
          GATEWAY_REFUSED,
          "x" },
        { "what cannot be read is not tried again",
          GATEWAY_REFUND,
          { { SAY, 200, "{", NULL } },
          1,
          GATEWAY_UNCERTAIN,
          "unreadable_answer" },
        { "a fetch moved nothing",
          GATEWAY_FETCH,
          { BROKEN, LIMITED, BROKEN },
          3,
          GATEWAY_RETRY_LATER,
          "api_error" },
        { "a refund",
          GATEWAY_REFUND,
          { BROKEN, { SAY, 200, REFUND_OBJECT("succeeded"), NULL } },
          2,
          GATEWAY_OK,
          "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(scenes); i++)
        play_scene(&scenes[i]);
}

static void pauses_double_and_have_chance_in_them(void **state)
{
    static const struct step steps[] = { BROKEN, BROKEN, BROKEN };
    struct fixture *f = *state;

    prepare(f, GATEWAY_AUTHORIZE);
    play(f, steps, 3);
    assert_int_equal(f->pause_count, 2);
    assert_in_range(f->pauses[0], retry_table[RETRY_GATEWAY].first_ms / 2 - 50,
                    retry_table[RETRY_GATEWAY].first_ms);
    assert_in_range(f->pauses[1], retry_table[RETRY_GATEWAY].first_ms - 50,
                    retry_table[RETRY_GATEWAY].first_ms * 2);
}

static void what_was_never_sent_is_tried_again_and_did_not_happen(void **state)
{
    struct fixture *f = *state;
    int port, fd = bound_socket(&port); /* bound, never listening */

    open_gateway(f, port);
    prepare(f, GATEWAY_AUTHORIZE);
    go(f);
    assert_int_equal(f->call.answer, GATEWAY_RETRY_LATER);
    assert_int_equal(f->call.tries, 1 + retry_table[RETRY_GATEWAY].retries);
    assert_string_equal(f->call.error_code, "not_sent");
    assert_false(f->call.sent);
    assert_int_equal(f->call.status, 0);
    close(fd);
}

static void never_sent_behind_a_lost_try_is_uncertain(void **state)
{
    static const struct step steps[] = { { DIE, 0, NULL, NULL } };
    struct fixture *f = *state;

    prepare(f, GATEWAY_AUTHORIZE);
    play(f, steps, 1);
    assert_int_equal(f->call.answer, GATEWAY_UNCERTAIN);
    assert_int_equal(f->call.tries, 3);
    assert_string_equal(f->call.error_code, "not_sent");
    assert_true(f->call.sent);
}

static void p6_a_timeout_is_not_tried_again(void **state)
{
    static const struct step steps[] = { { HANG, 0, NULL, NULL } };
    struct fixture *f = *state;

    prepare(f, GATEWAY_CAPTURE);
    f->call.budget_ms = 300;
    play(f, steps, 1);
    assert_int_equal(f->call.answer, GATEWAY_UNCERTAIN);
    assert_true(f->call.timed_out);
    assert_true(f->call.sent);
    assert_int_equal(f->call.tries, 1);
    assert_string_equal(f->call.error_code, "timeout");
}

static void p6_a_retry_has_what_is_left_of_the_budget(void **state)
{
    static const struct step steps[] = { BROKEN, { HANG, 0, NULL, NULL } };
    struct fixture *f = *state;
    int64_t began_us;

    prepare(f, GATEWAY_CAPTURE);
    f->extra_ms = LIMIT_GATEWAY_BUDGET_MS - 1200;
    began_us = clock_mono_us(&f->client_env.clock);
    play(f, steps, 2); /* it ends after about a second, not after 15 */
    assert_true(clock_mono_us(&f->client_env.clock) - began_us < 5000000);
    assert_int_equal(f->call.answer, GATEWAY_UNCERTAIN);
    assert_true(f->call.timed_out);
}

static void p6_no_try_begins_behind_the_budget(void **state)
{
    static const struct step steps[] = { LIMITED };
    struct fixture *f = *state;

    prepare(f, GATEWAY_CAPTURE);
    f->extra_ms = LIMIT_GATEWAY_BUDGET_MS; /* the timer comes much too late */
    play(f, steps, 1);
    assert_int_equal(f->call.answer, GATEWAY_RETRY_LATER);
    assert_string_equal(f->call.error_code, "rate_limit");
    assert_int_equal(f->call.tries, 1);
}

static void p6_a_small_budget_leaves_no_room_for_a_retry(void **state)
{
    static const struct step steps[] = { LIMITED };
    struct fixture *f = *state;

    prepare(f, GATEWAY_CAPTURE);
    f->call.budget_ms = 600;
    play(f, steps, 1);
    assert_int_equal(f->call.answer, GATEWAY_RETRY_LATER);
    assert_int_equal(f->pause_count, 0);
}

#define PAGE(items, more) "{'object':'list','data':[" items "],'has_more':" more "}"
#define STRANGER(id) "{'id':'" id "','object':'payment_intent','metadata':{}}"

static void d6_a_payment_without_an_intent_is_looked_for_page_by_page(void **state)
{
    static const struct step steps[] = {
        { SAY, 200, PAGE(STRANGER("pi_9") "," STRANGER("pi_8"), "true"), NULL },
        BROKEN,
        { SAY, 200, PAGE(STRANGER("pi_7"), "true"), NULL },
        { SAY, 200, PAGE(HELD, "false"), NULL },
    };
    struct fixture *f = *state;

    prepare(f, GATEWAY_FETCH);
    f->call.intent_id = S("");
    f->call.since_ms = INT64_C(1760000000000);
    play(f, steps, 4);
    assert_int_equal(f->call.answer, GATEWAY_OK);
    expect_str("intent", f->call.fact.intent_id, "pi_1");
    assert_int_equal(f->call.tries, 4);
    expect_in(f->box.requests[0],
              "GET /v1/payment_intents?limit=50&created[gte]=1759999672 HTTP/1.1");
    expect_in(f->box.requests[1], "&starting_after=pi_8 HTTP/1.1");
    expect_in(f->box.requests[2], "&starting_after=pi_8 HTTP/1.1"); /* the page that failed */
    expect_in(f->box.requests[3], "&starting_after=pi_7 HTTP/1.1");
}

static void d6_the_end_of_the_list_is_the_proof_of_absence(void **state)
{
    static const struct step steps[] = {
        { SAY, 200, PAGE(STRANGER("pi_9"), "true"), NULL },
        { SAY, 200, PAGE(STRANGER("pi_8"), "false"), NULL },
    };
    struct fixture *f = *state;

    prepare(f, GATEWAY_FETCH);
    f->call.intent_id = S("");
    play(f, steps, 2);
    assert_int_equal(f->call.answer, GATEWAY_ABSENT);
}

static void d6_a_list_without_an_end_proves_nothing(void **state)
{
    struct step steps[LIMIT_GATEWAY_PAGES];
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(steps); i++)
        steps[i] = (struct step){ SAY, 200, PAGE(STRANGER("pi_9"), "true"), NULL };
    prepare(f, GATEWAY_FETCH);
    f->call.intent_id = S("");
    play(f, steps, COUNT(steps));
    assert_int_equal(f->call.answer, GATEWAY_UNCERTAIN);
    assert_string_equal(f->call.error_code, "too_many_pages");
    assert_true(f->call.list_more);
    expect_str("the place", f->call.list_after, "pi_9");
}

static void d6_a_long_list_is_read_on_where_the_ask_before_stopped(void **state)
{
    static const struct step steps[] = {
        { SAY, 200, PAGE(STRANGER("pi_8"), "true"), NULL },
        { SAY, 401, ERROR("invalid_request_error", "", ""), NULL },
    };
    struct fixture *f = *state;

    prepare(f, GATEWAY_FETCH);
    f->call.intent_id = S("");
    f->call.list_after = S("pi_9");
    play(f, steps, 2);
    expect_in(f->box.requests[0], "&starting_after=pi_9 HTTP/1.1");
    assert_int_equal(f->call.answer, GATEWAY_RETRY_LATER);
    assert_false(f->call.list_more);
    expect_str("what was read is read", f->call.list_after, "pi_8");
}

static void d6_the_end_of_a_list_has_no_place(void **state)
{
    static const struct step steps[] = { { SAY, 200, PAGE(STRANGER("pi_8"), "false"), NULL } };
    struct fixture *f = *state;

    prepare(f, GATEWAY_FETCH);
    f->call.intent_id = S("");
    f->call.list_after = S("pi_9");
    play(f, steps, 1);
    assert_int_equal(f->call.answer, GATEWAY_ABSENT);
    expect_str("the place", f->call.list_after, "");
}

static void d6_a_place_that_is_gone_proves_nothing(void **state)
{
    static const struct step steps[] = {
        { SAY, 404, ERROR("invalid_request_error", "resource_missing", ""), NULL },
    };
    struct fixture *f = *state;

    prepare(f, GATEWAY_FETCH);
    f->call.intent_id = S("");
    f->call.list_after = S("pi_9");
    play(f, steps, 1);
    assert_int_equal(f->call.answer, GATEWAY_RETRY_LATER);
    expect_str("it begins anew", f->call.list_after, "");
}

/* Two that are looked for together: HELD's payment, and another one. */
static void prepare_two(struct fixture *f, struct gateway_call *ours, struct gateway_call *other)
{
    prepare(f, GATEWAY_FETCH);
    f->call.intent_id = S("");
    *ours = *other = f->call;
    other->payment.b[0] ^= 1;
    other->next = ours;
    f->call.wanted = other;
}

static void d6_one_reading_serves_all_who_look(void **state)
{
    static const struct step steps[] = {
        { SAY, 200, PAGE(STRANGER("pi_9") "," HELD, "true"), NULL },
        { SAY, 200, PAGE(STRANGER("pi_8"), "false"), NULL },
    };
    struct fixture *f = *state;
    struct gateway_call ours, other;

    prepare_two(f, &ours, &other);
    play(f, steps, 2);
    assert_int_equal(f->call.answer, GATEWAY_ABSENT);
    assert_ptr_equal(f->call.wanted, &other);
    assert_null(other.next);
    assert_ptr_equal(f->call.found, &ours);
    assert_int_equal(ours.answer, GATEWAY_OK);
    assert_int_equal(ours.fact.state, INTENT_AUTHORIZED);
    expect_str("its own", ours.fact.intent_id, "pi_1");
}

static void d6_a_reading_ends_with_the_last_who_is_found(void **state)
{
    static const struct step steps[] = { { SAY, 200, PAGE(HELD, "true"), NULL } };
    struct fixture *f = *state;
    struct gateway_call ours, other;

    prepare_two(f, &ours, &other);
    f->call.wanted = &ours;
    play(f, steps, 1);
    assert_int_equal(f->call.answer, GATEWAY_OK);
    assert_int_equal(f->call.tries, 1);
    assert_ptr_equal(f->call.found, &ours);
}

/* --- sessions --- */

#define NOT_OPEN                                                                                   \
    {                                                                                              \
        SAY, 400, ERROR("invalid_request_error", "", ""), NULL                                     \
    }

static void s1_a_session_is_made_under_its_key(void **state)
{
    static const struct step steps[] = { BROKEN, { SAY, 200, SESSION("open", ""), NULL } };
    struct fixture *f = *state;

    prepare(f, GATEWAY_CHECKOUT);
    f->call.item = S("dues");
    f->call.success_url = S("https://s.example/");
    play(f, steps, 2);
    expect_in(f->box.requests[0], "POST /v1/checkout/sessions HTTP/1.1\r\n");
    expect_in(f->box.requests[1], "\r\nIdempotency-Key: ichido-op-1\r\n");
    assert_int_equal(f->call.answer, GATEWAY_OK);
    assert_int_equal(f->call.fact.kind, FACT_SESSION);
    expect_str("session", f->call.fact.session_id, "cs_1");
}

static void d18_a_session_that_is_not_open_is_looked_at(void **state)
{
    static const struct step steps[] = {
        NOT_OPEN,
        BROKEN,
        { SAY, 200, SESSION("complete", ",'payment_intent':'pi_7'"), NULL },
    };
    struct fixture *f = *state;

    prepare(f, GATEWAY_EXPIRE);
    play(f, steps, 3);
    expect_in(f->box.requests[0], "POST /v1/checkout/sessions/cs_1/expire HTTP/1.1\r\n");
    expect_in(f->box.requests[0], "\r\nIdempotency-Key: ichido-op-1\r\n");
    for (int i = 1; i < 3; i++) {
        expect_in(f->box.requests[i], "GET /v1/checkout/sessions/cs_1 HTTP/1.1\r\n");
        expect_in(f->box.requests[i], "\r\nStripe-Version: ");
        assert_null(strstr(f->box.requests[i], "Idempotency-Key"));
        assert_null(strstr(f->box.requests[i], "Content-Type"));
    }
    assert_int_equal(f->call.answer, GATEWAY_OK);
    assert_int_equal(f->call.fact.session, SESSION_COMPLETE);
    expect_str("intent", f->call.fact.intent_id, "pi_7");
    assert_string_equal(f->call.error_code, "");
    assert_int_equal(f->call.tries, 3);
}

static void a_look_that_is_not_answered_says_try_later(void **state)
{
    static const struct step steps[] = { NOT_OPEN, BROKEN, BROKEN, BROKEN };
    struct fixture *f = *state;

    prepare(f, GATEWAY_EXPIRE);
    play(f, steps, 4);
    assert_int_equal(f->call.answer, GATEWAY_RETRY_LATER);
    assert_int_equal(f->call.fact.kind, FACT_NONE);
}

static void a_session_that_may_have_ended_is_uncertain(void **state)
{
    static const struct step steps[] = { BROKEN, BROKEN, BROKEN };
    struct fixture *f = *state;

    prepare(f, GATEWAY_EXPIRE);
    play(f, steps, 3);
    assert_int_equal(f->call.answer, GATEWAY_UNCERTAIN);
}

static void without_time_there_is_no_look(void **state)
{
    static const struct step steps[] = { NOT_OPEN };
    struct fixture *f = *state;

    prepare(f, GATEWAY_EXPIRE);
    f->call.budget_ms = LIMIT_GATEWAY_LEAST_MS / 2;
    play(f, steps, 1);
    assert_int_equal(f->call.answer, GATEWAY_RETRY_LATER);
}

static void a_session_that_nobody_knows_is_absent(void **state)
{
    static const struct step steps[] = {
        { SAY, 404, ERROR("invalid_request_error", "resource_missing", ""), NULL }
    };
    struct fixture *f = *state;

    prepare(f, GATEWAY_EXPIRE);
    play(f, steps, 1);
    assert_int_equal(f->call.answer, GATEWAY_ABSENT);
}

static void a_currency_that_stripe_cannot_take_is_refused_unsent(void **state)
{
    struct fixture *f = *state;

    prepare(f, GATEWAY_AUTHORIZE);
    f->call.money = (struct money){ 500, "UGX" };
    go(f);
    assert_int_equal(f->call.answer, GATEWAY_REFUSED);
    assert_string_equal(f->call.error_code, "currency_not_supported");
    assert_false(f->call.sent);
    assert_int_equal(f->call.tries, 0);
}

static void without_memory_nothing_is_sent(void **state)
{
    struct fixture *f = *state;
    bool refused = false;

    for (size_t limit = 0; !refused; limit += 64) {
        arena_release(&f->arena);
        arena_init(&f->arena, limit);
        prepare(f, GATEWAY_AUTHORIZE);
        f->call.money = (struct money){ 1, "UGX" }; /* with memory it is not sent either */
        f->done = false;
        go(f);
        refused = f->call.answer == GATEWAY_REFUSED;
        assert_true(refused || f->call.answer == GATEWAY_RETRY_LATER);
        assert_true(refused || strcmp(f->call.error_code, "no_memory") == 0);
        assert_false(f->call.sent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(g2_a_request_carries_key_version_credentials_and_trace),
        CASE(a_fetch_has_no_key_and_no_body),
        TEST(p6_what_may_end_better_is_tried_again_with_the_same_key),
        CASE(pauses_double_and_have_chance_in_them),
        CASE(what_was_never_sent_is_tried_again_and_did_not_happen),
        CASE(never_sent_behind_a_lost_try_is_uncertain),
        CASE(p6_a_timeout_is_not_tried_again),
        CASE(p6_a_retry_has_what_is_left_of_the_budget),
        CASE(p6_no_try_begins_behind_the_budget),
        CASE(p6_a_small_budget_leaves_no_room_for_a_retry),
        CASE(d6_a_payment_without_an_intent_is_looked_for_page_by_page),
        CASE(d6_the_end_of_the_list_is_the_proof_of_absence),
        CASE(d6_a_list_without_an_end_proves_nothing),
        CASE(d6_a_long_list_is_read_on_where_the_ask_before_stopped),
        CASE(d6_the_end_of_a_list_has_no_place),
        CASE(d6_a_place_that_is_gone_proves_nothing),
        CASE(d6_one_reading_serves_all_who_look),
        CASE(d6_a_reading_ends_with_the_last_who_is_found),
        CASE(s1_a_session_is_made_under_its_key),
        CASE(d18_a_session_that_is_not_open_is_looked_at),
        CASE(a_look_that_is_not_answered_says_try_later),
        CASE(a_session_that_may_have_ended_is_uncertain),
        CASE(without_time_there_is_no_look),
        CASE(a_session_that_nobody_knows_is_absent),
        CASE(a_currency_that_stripe_cannot_take_is_refused_unsent),
        CASE(without_memory_nothing_is_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
