/* The adapter against a client that follows a script: one step for each request, which names the
 * request that it wants. Pauses are not waited for. */
#include "base/limits.h"
#include "gateway/paypay/paypay.h"
#include "gateway/paypay/run.h"
#include "unit/desk.h"
#include "unit/gateway/ask.h"
#include "unit/gateway/paypay_fixtures.h"

enum how { SAY, LOSE, HANG, UNSENT };

struct step {
    const char *want; /* "GET /v2/payments/x" */
    enum how how;
    int status;
    const char *body;
};

enum { STEPS_MAX = 24 };

struct fixture {
    struct env env;
    struct gateway *gateway;
    struct desk desk;
    struct arena arena;
    struct gateway_call call;
    const struct step *steps;
    int taken, count;
    char *bodies[STEPS_MAX], *auths[STEPS_MAX];
    struct call *answered;
    struct task answer_task;
    struct timer *armed;
    bool done, calling;
};

static struct fixture *now; /* the client that is played has no room for it */
static int64_t wall_ms, skipped_ms;

#define NOON INT64_C(1760000400000) /* 2025-10-09 18:00 in Japan */

static int64_t test_wall(const struct clock *c)
{
    (void)c;
    return wall_ms;
}

static int64_t test_mono(const struct clock *c)
{
    (void)c;
    return (1000000 + skipped_ms) * 1000;
}

/* --- the client, played --- */

static void come_back(struct task *t)
{
    struct fixture *f = CONTAINER_OF(t, struct fixture, answer_task);
    struct call *c = f->answered;

    f->answered = NULL;
    c->done(c);
}

static char *copy(struct str s)
{
    return strndup(s.p ? s.p : "", s.n);
}

static void expect_request(const struct step *s, const struct call *c)
{
    struct str base = S("http://paypay.test");
    char got[512];

    assert_true(str_starts(c->url, base));
    snprintf(got, sizeof(got), STR_FMT " %.*s", STR_ARG(c->method), (int)(c->url.n - base.n),
             c->url.p + base.n);
    if (strcmp(got, s->want) != 0)
        fail_msg("request %d is %s, not %s", now->taken, got, s->want);
}

static void say(struct call *c, const struct step *s)
{
    char *text = json_of(s->body ? s->body : "");

    c->result = CALL_ANSWERED;
    c->status = s->status;
    c->answer = arena_str(c->arena, str_of(text));
    free(text);
}

void client_call(struct client *client, struct call *c)
{
    const struct step *s = &now->steps[now->taken];

    (void)client;
    if (now->taken == now->count)
        fail_msg("one request too many: " STR_FMT " " STR_FMT, STR_ARG(c->method), STR_ARG(c->url));
    expect_request(s, c);
    now->bodies[now->taken] = copy(c->body);
    now->auths[now->taken++] = copy(c->headers[0].value);
    c->status = 0;
    c->answer = (struct str){ 0 };
    if (s->how == SAY)
        say(c, s);
    else
        c->result = s->how == UNSENT ? CALL_NOT_SENT : CALL_UNCERTAIN;
    if (s->how == HANG)
        skipped_ms += c->timeout_ms;
    now->answered = c;
    now->answer_task.run = come_back;
    executor_post(&now->desk.executor, &now->answer_task);
}

/* --- what every test has --- */

static void arm(struct executor *h, struct timer *t, int64_t due_ms)
{
    (void)h;
    assert_null(now->armed);
    t->due_ms = due_ms;
    now->armed = t;
}

static const struct executor_ops executor = { .post = desk_give, .arm = arm };

static struct fixture *open_fixture(void)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct paypay_options o = { .env = &f->env,
                                .base = S("http://paypay.test"),
                                .api_key = S("a_key"),
                                .api_secret = S("very secret"),
                                .merchant_id = S("merchant-1") };

    wall_ms = NOON;
    skipped_ms = 0;
    clock_init(&f->env.clock);
    f->env.clock.wall_ms = test_wall;
    f->env.clock.mono_us = test_mono;
    rng_init_seeded(&f->env.rng, 7);
    desk_init_as(&f->desk, &executor);
    arena_init(&f->arena, 1 << 20);
    f->gateway = paypay_gateway_new(&o);
    assert_non_null(f->gateway);
    now = f;
    return f;
}

static void close_fixture(struct fixture *f)
{
    f->gateway->ops->free(f->gateway);
    for (int i = 0; i < STEPS_MAX; i++) {
        free(f->bodies[i]);
        free(f->auths[i]);
    }
    arena_release(&f->arena);
    free(f);
}

static void on_done(struct gateway_call *c)
{
    assert_ptr_equal(c, &now->call);
    assert_false(now->done);
    assert_false(now->calling);
    now->done = true;
}

static void prepare(struct fixture *f, enum gateway_ask ask)
{
    struct gateway_call *c = &f->call;

    ask_prepare(c, ask, &f->arena, &f->desk, on_done);
    if (ask != GATEWAY_AUTHORIZE)
        c->intent_id = S(HEX);
}

static void go(struct fixture *f, const struct step *steps, int count)
{
    f->steps = steps;
    f->count = count;
    f->calling = true;
    gateway_call(f->gateway, &f->call);
    f->calling = false;
    while (!f->done) {
        struct timer *t = f->armed;

        f->armed = NULL;
        if (t)
            t->fire(t);
        else
            desk_next(&f->desk);
    }
    if (f->taken != count)
        fail_msg("%d requests, not %d", f->taken, count);
}

/* --- scenes --- */

enum variant { PLAIN, BY_USER, CAPTURE_NOW, NO_INTENT, WITH_CODE };

struct scene {
    const char *why;
    enum gateway_ask ask;
    enum variant variant;
    struct step steps[12];
    enum gateway_answer answer;
    const char *code;
    int state; /* of the fact; -1: it has none */
};

static void vary(struct gateway_call *c, enum variant v)
{
    if (v == BY_USER || v == CAPTURE_NOW)
        c->payment_method = S("ua-1");
    c->capture_now = v == CAPTURE_NOW;
    if (v == NO_INTENT)
        c->intent_id = (struct str){ 0 };
    if (v == WITH_CODE)
        c->action = S("{\"type\":\"redirect_to_url\",\"details\":{\"codeId\":\"04-abc\"}}");
}

static void play(const struct scene *s)
{
    struct fixture *f = open_fixture();
    const struct gateway_call *c = &f->call;
    int count = 0;
    bool has_fact;

    while (count < (int)COUNT(s->steps) && s->steps[count].want)
        count++;
    prepare(f, s->ask);
    vary(&f->call, s->variant);
    go(f, s->steps, count);
    has_fact = c->fact.kind == FACT_INTENT;
    if (c->answer != s->answer || strcmp(c->error_code, s->code) != 0 || c->tries != count ||
        has_fact != (s->state >= 0) || (has_fact && (int)c->fact.state != s->state))
        fail_msg("%s: answer %d, code \"%s\", tries %d, fact %d in state %d", s->why, c->answer,
                 c->error_code, c->tries, c->fact.kind, (int)c->fact.state);
    if (strstr(c->error_message, "secret") || strstr(c->error_message, "a_key"))
        fail_msg("%s: the message has a secret", s->why);
    close_fixture(f);
}

#define PLAY(scenes)                                                                               \
    for (size_t at = 0; at < COUNT(scenes); at++)                                                  \
    play(&(scenes)[at])

#define LOOK_CODE "GET /v2/codes/payments/" HEX
#define LOOK_PAY "GET /v2/payments/" HEX
#define MAKE_CODE "POST /v2/codes"
#define AUTH "POST /v2/payments/preauthorize"
#define CAP "POST /v2/payments/capture"
#define REVERT "POST /v2/payments/preauthorize/revert"
#define CANCEL "DELETE /v2/payments/" HEX
#define DELETE_CODE "DELETE /v2/codes/04-abc"
#define REF "POST /v2/refunds"
#define UNPAID                                                                                     \
    {                                                                                              \
        LOOK_CODE, SAY, 400, FAULT("DYNAMIC_QR_PAYMENT_NOT_FOUND")                                 \
    }
#define NO_PAYMENT                                                                                 \
    {                                                                                              \
        LOOK_PAY, SAY, 404, FAULT("RESOURCE_NOT_FOUND")                                            \
    }
#define FOUND(status, more)                                                                        \
    {                                                                                              \
        LOOK_CODE, SAY, 200, REPLY("SUCCESS", PAY(status, more))                                   \
    }

static void g2_a_code_is_made_once_and_a_lost_one_is_replaced(void **state)
{
#define MADE(id)                                                                                   \
    {                                                                                              \
        MAKE_CODE, SAY, 201, REPLY("SUCCESS", CODE(id, YEN(2000)))                                 \
    }
    static const struct scene scenes[] = {
        { "fine", GATEWAY_AUTHORIZE, PLAIN, { MADE(HEX) }, GATEWAY_OK, "", INTENT_ACTION },
        { "exists already: the next id",
          GATEWAY_AUTHORIZE,
          PLAIN,
          { { MAKE_CODE, SAY, 400, FAULT("DUPLICATE_DYNAMIC_QR_REQUEST") }, MADE(HEX "-2") },
          GATEWAY_OK,
          "",
          INTENT_ACTION },
        { "lost: the next id",
          GATEWAY_AUTHORIZE,
          PLAIN,
          { { MAKE_CODE, LOSE, 0, NULL }, MADE(HEX "-2") },
          GATEWAY_OK,
          "",
          INTENT_ACTION },
        { "lost, and the next one exists",
          GATEWAY_AUTHORIZE,
          PLAIN,
          { { MAKE_CODE, LOSE, 0, NULL },
            { MAKE_CODE, SAY, 400, FAULT("DUPLICATE_DYNAMIC_QR_REQUEST") },
            MADE(HEX "-3") },
          GATEWAY_OK,
          "",
          INTENT_ACTION },
        { "an answer for the lost id is not ours",
          GATEWAY_AUTHORIZE,
          PLAIN,
          { { MAKE_CODE, LOSE, 0, NULL }, MADE(HEX) },
          GATEWAY_UNCERTAIN,
          "unreadable_answer",
          -1 },
        { "not sent: the same id",
          GATEWAY_AUTHORIZE,
          PLAIN,
          { { MAKE_CODE, UNSENT, 0, NULL }, MADE(HEX) },
          GATEWAY_OK,
          "",
          INTENT_ACTION },
        { "an unknown end, then fine",
          GATEWAY_AUTHORIZE,
          PLAIN,
          { { MAKE_CODE, SAY, 500, FAULT("INTERNAL_SERVER_ERROR") }, MADE(HEX "-2") },
          GATEWAY_OK,
          "",
          INTENT_ACTION },
        { "a timeout is not tried again",
          GATEWAY_AUTHORIZE,
          PLAIN,
          { { MAKE_CODE, HANG, 0, NULL } },
          GATEWAY_UNCERTAIN,
          "timeout",
          -1 },
        { "429 behind a lost one may have happened",
          GATEWAY_AUTHORIZE,
          PLAIN,
          { { MAKE_CODE, LOSE, 0, NULL },
            { MAKE_CODE, SAY, 429, FAULT("RATE_LIMIT") },
            { MAKE_CODE, SAY, 429, FAULT("RATE_LIMIT") } },
          GATEWAY_UNCERTAIN,
          "rate_limit",
          -1 },
        { "429 for ever",
          GATEWAY_AUTHORIZE,
          PLAIN,
          { { MAKE_CODE, SAY, 429, FAULT("RATE_LIMIT") },
            { MAKE_CODE, SAY, 429, FAULT("RATE_LIMIT") },
            { MAKE_CODE, SAY, 429, "<html>slow down</html>" } },
          GATEWAY_RETRY_LATER,
          "http_429",
          -1 },
        { "another sum",
          GATEWAY_AUTHORIZE,
          PLAIN,
          { { MAKE_CODE, SAY, 201, REPLY("SUCCESS", CODE(HEX, YEN(200))) },
            { MAKE_CODE, SAY, 201, REPLY("SUCCESS", CODE(HEX "-2", YEN(200))) } },
          GATEWAY_UNCERTAIN,
          "unreadable_answer",
          -1 },
        { "another currency",
          GATEWAY_AUTHORIZE,
          PLAIN,
          { { MAKE_CODE, SAY, 201,
              REPLY("SUCCESS", CODE(HEX, "{'amount':2000,'currency':'USD'}")) },
            MADE(HEX "-2") },
          GATEWAY_OK,
          "",
          INTENT_ACTION },
    };
    (void)state;
    PLAY(scenes);
}

/* 1.7: every row, for a payment that is made. */
static void g2_every_result_code_has_its_answer(void **state)
{
#define AT_CODE(status, code, answer, word)                                                        \
    {                                                                                              \
        code, GATEWAY_AUTHORIZE, PLAIN, { { MAKE_CODE, SAY, status, FAULT(code) } }, answer, word, \
            -1                                                                                     \
    }
#define AT_PAY(status, code, answer, word)                                                         \
    {                                                                                              \
        code, GATEWAY_AUTHORIZE, BY_USER, { NO_PAYMENT, { AUTH, SAY, status, FAULT(code) } },      \
            answer, word, -1                                                                       \
    }
#define AT_CAPTURE(status, code, answer, word)                                                     \
    {                                                                                              \
        code, GATEWAY_CAPTURE, PLAIN, { { CAP, SAY, status, FAULT(code) } }, answer, word, -1      \
    }
#define AT_CAPTURE_LOOK(status, code, word)                                                        \
    {                                                                                              \
        code, GATEWAY_CAPTURE, PLAIN,                                                              \
            { { CAP, SAY, status, FAULT(code) }, FOUND("AUTHORIZED", "") }, GATEWAY_REFUSED, word, \
            INTENT_AUTHORIZED                                                                      \
    }
#define AT_REFUND(status, code, answer, word)                                                      \
    {                                                                                              \
        code, GATEWAY_REFUND, PLAIN,                                                               \
            { FOUND("COMPLETED", ""), { REF, SAY, status, FAULT(code) } }, answer, word, -1        \
    }
    static const struct scene scenes[] = {
        AT_CODE(400, "INVALID_REQUEST_PARAMS", GATEWAY_REFUSED, "invalid_request_params"),
        AT_CODE(400, "INVALID_PARAMS", GATEWAY_REFUSED, "invalid_params"),
        AT_CODE(400, "MISSING_REQUEST_PARAMS", GATEWAY_REFUSED, "missing_request_params"),
        AT_CODE(400, "DYNAMIC_QR_BAD_REQUEST", GATEWAY_REFUSED, "dynamic_qr_bad_request"),
        AT_CODE(401, "UNAUTHORIZED", GATEWAY_RETRY_LATER, "unauthorized"),
        AT_CODE(401, "OP_OUT_OF_SCOPE", GATEWAY_RETRY_LATER, "op_out_of_scope"),
        AT_CODE(404, "OPA_CLIENT_NOT_FOUND", GATEWAY_RETRY_LATER, "opa_client_not_found"),
        AT_CODE(400, "PRE_AUTH_CAPTURE_UNSUPPORTED_MERCHANT", GATEWAY_REFUSED,
                "pre_auth_capture_unsupported_merchant"),
        AT_CODE(400, "PRE_AUTH_CAPTURE_INVALID_EXPIRY_DATE", GATEWAY_REFUSED,
                "pre_auth_capture_invalid_expiry_date"),
        AT_PAY(400, "SUSPECTED_DUPLICATE_PAYMENT", GATEWAY_DECLINED, "suspected_duplicate_payment"),
        AT_PAY(400, "NO_SUFFICIENT_FUND", GATEWAY_DECLINED, "no_sufficient_fund"),
        AT_PAY(400, "UNSUPPORTED_PAYMENT_METHOD", GATEWAY_DECLINED, "unsupported_payment_method"),
        AT_PAY(400, "CANCELED_USER", GATEWAY_DECLINED, "canceled_user"),
        AT_PAY(400, "UNACCEPTABLE_OP", GATEWAY_DECLINED, "unacceptable_op"),
        AT_PAY(401, "INVALID_USER_AUTHORIZATION_ID", GATEWAY_DECLINED,
               "invalid_user_authorization_id"),
        AT_PAY(401, "EXPIRED_USER_AUTHORIZATION_ID", GATEWAY_DECLINED,
               "expired_user_authorization_id"),
        AT_PAY(401, "USER_STATE_IS_NOT_ACTIVE", GATEWAY_DECLINED, "user_state_is_not_active"),
        AT_PAY(404, "NO_VALID_PAYMENT_METHOD", GATEWAY_DECLINED, "no_valid_payment_method"),
        AT_PAY(404, "PAYMENT_METHOD_NOT_FOUND", GATEWAY_DECLINED, "payment_method_not_found"),
        AT_PAY(500, "TRANSACTION_FAILED", GATEWAY_DECLINED, "transaction_failed"),
        AT_PAY(500, "INTERNAL_SERVER_ERROR", GATEWAY_UNCERTAIN, "internal_server_error"),
        AT_PAY(500, "SERVICE_ERROR", GATEWAY_UNCERTAIN, "service_error"),
        AT_PAY(503, "MAINTENANCE_MODE", GATEWAY_UNCERTAIN, "maintenance_mode"),
        AT_PAY(202, "REQUEST_ACCEPTED", GATEWAY_UNCERTAIN, "request_accepted"),
        AT_PAY(400, "SOMETHING_NEW", GATEWAY_UNCERTAIN, "something_new"),
        AT_PAY(500, "SUCCESS", GATEWAY_UNCERTAIN, "success"),
        AT_PAY(502, "NO_SUFFICIENT_FUND", GATEWAY_UNCERTAIN, "no_sufficient_fund"),
        AT_PAY(200, "NO_SUFFICIENT_FUND", GATEWAY_UNCERTAIN, "no_sufficient_fund"),
        AT_CAPTURE(202, "USER_CONFIRMATION_REQUIRED", GATEWAY_UNCERTAIN,
                   "user_confirmation_required"),
        AT_CAPTURE(400, "REAUTHORIZATION_IN_PROGRESS", GATEWAY_RETRY_LATER,
                   "reauthorization_in_progress"),
        AT_CAPTURE(404, "RESOURCE_NOT_FOUND", GATEWAY_REFUSED, "resource_not_found"),
        AT_CAPTURE(500, "TRANSACTION_FAILED", GATEWAY_REFUSED, "transaction_failed"),
        AT_CAPTURE_LOOK(400, "ORDER_EXPIRED", "order_expired"),
        AT_CAPTURE_LOOK(400, "ORDER_NOT_CAPTURABLE", "order_not_capturable"),
        AT_CAPTURE_LOOK(400, "HIGHER_CAPTURE_NOT_PERMITTED", "higher_capture_not_permitted"),
        AT_CAPTURE_LOOK(400, "TOO_CLOSE_TO_EXPIRY", "too_close_to_expiry"),
        AT_REFUND(400, "REFUND_LIMIT_EXCEEDED", GATEWAY_REFUSED, "refund_limit_exceeded"),
        AT_REFUND(400, "REFUND_WINDOW_EXCEED", GATEWAY_REFUSED, "refund_window_exceed"),
        AT_REFUND(400, "UNACCEPTABLE_OP", GATEWAY_REFUSED, "unacceptable_op"),
        AT_REFUND(500, "INTERNAL_SERVER_ERROR", GATEWAY_UNCERTAIN, "internal_server_error"),
    };
    (void)state;
    PLAY(scenes);
}

static void g2_what_is_no_answer_of_paypay_is_uncertain(void **state)
{
#define ODD(name, how, status, body, word)                                                         \
    {                                                                                              \
        name, GATEWAY_AUTHORIZE, CAPTURE_NOW,                                                      \
            { NO_PAYMENT, { "POST /v2/payments", how, status, body } }, GATEWAY_UNCERTAIN, word,   \
            -1                                                                                     \
    }
    static const struct scene scenes[] = {
        ODD("lost", LOSE, 0, NULL, "connection_lost"),
        ODD("silence", HANG, 0, NULL, "timeout"),
        ODD("HTML", SAY, 200, "<html>ok</html>", "unreadable_answer"),
        ODD("half a JSON", SAY, 200, "{'resultInfo':{'code':'SUCCESS'", "unreadable_answer"),
        ODD("no body", SAY, 200, "", "unreadable_answer"),
        ODD("a redirect", SAY, 302, "", "unreadable_answer"),
        ODD("a proxy's 502", SAY, 502, "<html>", "http_502"),
        ODD("503 without a body", SAY, 503, "", "http_503"),
        ODD("a status that is new", SAY, 200, REPLY("SUCCESS", PAY("MELTED", "")),
            "unreadable_answer"),
        ODD("no data", SAY, 200, REPLY("SUCCESS", "null"), "unreadable_answer"),
        ODD("a text as money", SAY, 200,
            REPLY("SUCCESS", ID_PAY(HEX, "COMPLETED", "{'amount':'2000','currency':'JPY'}", "")),
            "unreadable_answer"),
        ODD("half a yen", SAY, 200,
            REPLY("SUCCESS", ID_PAY(HEX, "COMPLETED", "{'amount':2000.5,'currency':'JPY'}", "")),
            "unreadable_answer"),
        ODD("another currency", SAY, 200,
            REPLY("SUCCESS", ID_PAY(HEX, "COMPLETED", "{'amount':2000,'currency':'USD'}", "")),
            "answer_mismatch"),
        ODD("another sum", SAY, 200, REPLY("SUCCESS", ID_PAY(HEX, "COMPLETED", YEN(1999), "")),
            "answer_mismatch"),
        ODD("another payment", SAY, 200,
            REPLY("SUCCESS", ID_PAY(REFUND_HEX, "COMPLETED", YEN(2000), "")), "unreadable_answer"),
        ODD("not yet", SAY, 200, REPLY("SUCCESS", PAY("CREATED", "")), "in_progress"),
    };
    (void)state;
    PLAY(scenes);
}

static void g2_an_authorization_of_the_customer_is_looked_for_before_it_is_sent(void **state)
{
    static const struct scene scenes[] = {
        { "held",
          GATEWAY_AUTHORIZE,
          BY_USER,
          { NO_PAYMENT, { AUTH, SAY, 200, REPLY("SUCCESS", PAY("AUTHORIZED", "")) } },
          GATEWAY_OK,
          "",
          INTENT_AUTHORIZED },
        { "taken at once",
          GATEWAY_AUTHORIZE,
          CAPTURE_NOW,
          { NO_PAYMENT, { "POST /v2/payments", SAY, 201, REPLY("SUCCESS", PAY("COMPLETED", "")) } },
          GATEWAY_OK,
          "",
          INTENT_SUCCEEDED },
        { "the one of an earlier try",
          GATEWAY_AUTHORIZE,
          BY_USER,
          { { LOOK_PAY, SAY, 200, REPLY("SUCCESS", PAY("AUTHORIZED", "")) } },
          GATEWAY_OK,
          "",
          INTENT_AUTHORIZED },
        { "nothing is sent where nobody can look",
          GATEWAY_AUTHORIZE,
          BY_USER,
          { { LOOK_PAY, SAY, 503, "" }, { LOOK_PAY, SAY, 503, "" }, { LOOK_PAY, SAY, 503, "" } },
          GATEWAY_RETRY_LATER,
          "http_503",
          -1 },
        { "not sent, then sent",
          GATEWAY_AUTHORIZE,
          BY_USER,
          { NO_PAYMENT,
            { AUTH, UNSENT, 0, NULL },
            { AUTH, SAY, 200, REPLY("SUCCESS", PAY("AUTHORIZED", "")) } },
          GATEWAY_OK,
          "",
          INTENT_AUTHORIZED },
    };
    (void)state;
    PLAY(scenes);
}

static void g2_a_capture_counts_once(void **state)
{
    static const struct scene scenes[] = {
        { "fine",
          GATEWAY_CAPTURE,
          PLAIN,
          { { CAP, SAY, 200,
              REPLY("SUCCESS", PAY("COMPLETED", CAPTURE(CAPTURE_ID, "COMPLETED", 1500))) } },
          GATEWAY_OK,
          "",
          INTENT_SUCCEEDED },
        { "the answer says little: looked at",
          GATEWAY_CAPTURE,
          PLAIN,
          { { CAP, SAY, 200, REPLY("SUCCESS", "{}") },
            FOUND("COMPLETED", CAPTURE(CAPTURE_ID, "COMPLETED", 1500)) },
          GATEWAY_OK,
          "",
          INTENT_SUCCEEDED },
        { "captured before, by us",
          GATEWAY_CAPTURE,
          PLAIN,
          { { CAP, SAY, 400, FAULT("ALREADY_CAPTURED") },
            FOUND("COMPLETED", CAPTURE(CAPTURE_ID, "COMPLETED", 1500)) },
          GATEWAY_OK,
          "",
          INTENT_SUCCEEDED },
        { "captured before, by somebody else",
          GATEWAY_CAPTURE,
          PLAIN,
          { { CAP, SAY, 400, FAULT("ALREADY_CAPTURED") },
            FOUND("COMPLETED", CAPTURE("c-other", "COMPLETED", 2000)) },
          GATEWAY_REFUSED,
          "already_captured",
          INTENT_SUCCEEDED },
        { "of an authorization of the customer",
          GATEWAY_CAPTURE,
          PLAIN,
          { { CAP, SAY, 400, FAULT("ALREADY_CAPTURED") },
            UNPAID,
            { LOOK_PAY, SAY, 200,
              REPLY("SUCCESS", PAY("COMPLETED", CAPTURE(CAPTURE_ID, "COMPLETED", 2000))) } },
          GATEWAY_OK,
          "",
          INTENT_SUCCEEDED },
        { "captured before, and nobody can look",
          GATEWAY_CAPTURE,
          PLAIN,
          { { CAP, SAY, 400, FAULT("ALREADY_CAPTURED") }, { LOOK_CODE, HANG, 0, NULL } },
          GATEWAY_UNCERTAIN,
          "timeout",
          -1 },
        { "captured before, and the look lags behind that",
          GATEWAY_CAPTURE,
          PLAIN,
          { { CAP, SAY, 400, FAULT("ALREADY_CAPTURED") }, FOUND("AUTHORIZED", "") },
          GATEWAY_UNCERTAIN,
          "capture_pending",
          -1 },
        { "its customer is still asked",
          GATEWAY_CAPTURE,
          PLAIN,
          { { CAP, SAY, 400, FAULT("ORDER_NOT_CAPTURABLE") },
            FOUND("AUTHORIZED", CAPTURE(CAPTURE_ID, "USER_REQUESTED", 2000)) },
          GATEWAY_UNCERTAIN,
          "capture_pending",
          -1 },
        { "lost",
          GATEWAY_CAPTURE,
          PLAIN,
          { { CAP, LOSE, 0, NULL } },
          GATEWAY_UNCERTAIN,
          "connection_lost",
          -1 },
    };
    (void)state;
    PLAY(scenes);
}

static void g2_a_void_looks_first(void **state)
{
    static const struct scene scenes[] = {
        { "held: reverted",
          GATEWAY_VOID,
          PLAIN,
          { FOUND("AUTHORIZED", ""),
            { REVERT, SAY, 200, REPLY("SUCCESS", "{'status':'CANCELED'}") } },
          GATEWAY_OK,
          "",
          INTENT_CANCELED },
        { "reverted, and the answer says little",
          GATEWAY_VOID,
          PLAIN,
          { FOUND("AUTHORIZED", ""),
            { REVERT, SAY, 200, REPLY("SUCCESS", "{}") },
            FOUND("CANCELED", "") },
          GATEWAY_OK,
          "",
          INTENT_CANCELED },
        { "captured meanwhile",
          GATEWAY_VOID,
          PLAIN,
          { FOUND("AUTHORIZED", ""),
            { REVERT, SAY, 400, FAULT("ORDER_NOT_CANCELABLE") },
            FOUND("COMPLETED", "") },
          GATEWAY_REFUSED,
          "order_not_cancelable",
          INTENT_SUCCEEDED },
        { "reverted before",
          GATEWAY_VOID,
          PLAIN,
          { FOUND("AUTHORIZED", ""),
            { REVERT, SAY, 400, FAULT("ORDER_NOT_CANCELABLE") },
            FOUND("CANCELED", "") },
          GATEWAY_OK,
          "",
          INTENT_CANCELED },
        { "paid: its money is in the books, and only a refund takes it back",
          GATEWAY_VOID,
          PLAIN,
          { FOUND("COMPLETED", "") },
          GATEWAY_REFUSED,
          "refund_instead",
          INTENT_SUCCEEDED },
        { "refunded",
          GATEWAY_VOID,
          PLAIN,
          { FOUND("REFUNDED", "") },
          GATEWAY_REFUSED,
          "already_refunded",
          INTENT_SUCCEEDED },
        { "cancelled",
          GATEWAY_VOID,
          PLAIN,
          { FOUND("CANCELED", "") },
          GATEWAY_OK,
          "",
          INTENT_CANCELED },
        { "lapsed",
          GATEWAY_VOID,
          PLAIN,
          { FOUND("EXPIRED", "") },
          GATEWAY_OK,
          "",
          INTENT_CANCELED },
        { "failed", GATEWAY_VOID, PLAIN, { FOUND("FAILED", "") }, GATEWAY_OK, "", INTENT_CANCELED },
        { "a code that nobody paid",
          GATEWAY_VOID,
          WITH_CODE,
          { UNPAID,
            NO_PAYMENT,
            { DELETE_CODE, SAY, 200, REPLY("SUCCESS", "{'qrStatus':'DELETED'}") } },
          GATEWAY_OK,
          "",
          INTENT_CANCELED },
        { "a code that has ended by itself",
          GATEWAY_VOID,
          WITH_CODE,
          { UNPAID,
            NO_PAYMENT,
            { DELETE_CODE, SAY, 404, FAULT("DYNAMIC_QR_NOT_FOUND") },
            UNPAID,
            NO_PAYMENT },
          GATEWAY_OK,
          "",
          INTENT_CANCELED },
        { "a code that is gone because it was paid: held",
          GATEWAY_VOID,
          WITH_CODE,
          { UNPAID,
            NO_PAYMENT,
            { DELETE_CODE, SAY, 404, FAULT("DYNAMIC_QR_NOT_FOUND") },
            FOUND("AUTHORIZED", ""),
            { REVERT, SAY, 200, REPLY("SUCCESS", "{'status':'CANCELED'}") } },
          GATEWAY_OK,
          "",
          INTENT_CANCELED },
        { "a code that is gone because it was paid: taken",
          GATEWAY_VOID,
          WITH_CODE,
          { UNPAID,
            NO_PAYMENT,
            { DELETE_CODE, SAY, 404, FAULT("DYNAMIC_QR_NOT_FOUND") },
            FOUND("COMPLETED", "") },
          GATEWAY_REFUSED,
          "refund_instead",
          INTENT_SUCCEEDED },
        { "a code that is gone, and nobody can look",
          GATEWAY_VOID,
          WITH_CODE,
          { UNPAID,
            NO_PAYMENT,
            { DELETE_CODE, SAY, 404, FAULT("DYNAMIC_QR_NOT_FOUND") },
            { LOOK_CODE, HANG, 0, NULL } },
          GATEWAY_RETRY_LATER,
          "timeout",
          -1 },
        { "a code that is paid just then",
          GATEWAY_VOID,
          WITH_CODE,
          { UNPAID,
            NO_PAYMENT,
            { DELETE_CODE, SAY, 400, FAULT("DYNAMIC_QR_ALREADY_PAID") },
            FOUND("AUTHORIZED", ""),
            { REVERT, SAY, 200, REPLY("SUCCESS", "{'status':'CANCELED'}") } },
          GATEWAY_OK,
          "",
          INTENT_CANCELED },
        { "it says both",
          GATEWAY_VOID,
          WITH_CODE,
          { UNPAID,
            NO_PAYMENT,
            { DELETE_CODE, SAY, 400, FAULT("DYNAMIC_QR_ALREADY_PAID") },
            UNPAID,
            NO_PAYMENT,
            { CANCEL, SAY, 404, FAULT("RESOURCE_NOT_FOUND") } },
          GATEWAY_UNCERTAIN,
          "resource_not_found",
          -1 },
        { "without the code's id it is cancelled",
          GATEWAY_VOID,
          PLAIN,
          { UNPAID,
            NO_PAYMENT,
            { CANCEL, SAY, 202, FAULT("REQUEST_ACCEPTED") },
            UNPAID,
            NO_PAYMENT },
          GATEWAY_OK,
          "",
          INTENT_CANCELED },
        { "nothing there",
          GATEWAY_VOID,
          PLAIN,
          { UNPAID, NO_PAYMENT, { CANCEL, SAY, 404, FAULT("RESOURCE_NOT_FOUND") } },
          GATEWAY_ABSENT,
          "resource_not_found",
          -1 },
        { "the delete is lost",
          GATEWAY_VOID,
          WITH_CODE,
          { UNPAID, NO_PAYMENT, { DELETE_CODE, LOSE, 0, NULL } },
          GATEWAY_UNCERTAIN,
          "connection_lost",
          -1 },
        { "the revert is lost",
          GATEWAY_VOID,
          PLAIN,
          { FOUND("AUTHORIZED", ""), { REVERT, LOSE, 0, NULL } },
          GATEWAY_UNCERTAIN,
          "connection_lost",
          -1 },
        { "the look is lost: nothing happened",
          GATEWAY_VOID,
          PLAIN,
          { { LOOK_CODE, LOSE, 0, NULL }, { LOOK_CODE, LOSE, 0, NULL } },
          GATEWAY_RETRY_LATER,
          "connection_lost",
          -1 },
    };
    (void)state;
    PLAY(scenes);
}

static void g2_a_refund_is_sent_once_under_our_name(void **state)
{
    static const struct scene scenes[] = {
        { "fine",
          GATEWAY_REFUND,
          PLAIN,
          { FOUND("COMPLETED", ""),
            { REF, SAY, 201, REPLY("SUCCESS", REFUND_OF(REFUND_HEX, "CREATED", 2000)) } },
          GATEWAY_OK,
          "",
          -1 },
        { "done before",
          GATEWAY_REFUND,
          PLAIN,
          { FOUND("REFUNDED",
                  ",'refunds':{'data':[" REFUND_OF(REFUND_HEX, "REFUNDED", 2000) "]}") },
          GATEWAY_OK,
          "",
          -1 },
        { "others' refunds are not ours",
          GATEWAY_REFUND,
          PLAIN,
          { FOUND("COMPLETED", ",'refunds':{'data':[" REFUND_OF("other", "REFUNDED", 1) "]}"),
            { REF, SAY, 200, REPLY("SUCCESS", REFUND_OF(REFUND_HEX, "REFUNDED", 2000)) } },
          GATEWAY_OK,
          "",
          -1 },
        { "another sum",
          GATEWAY_REFUND,
          PLAIN,
          { FOUND("COMPLETED", ""),
            { REF, SAY, 201, REPLY("SUCCESS", REFUND_OF(REFUND_HEX, "CREATED", 1)) } },
          GATEWAY_UNCERTAIN,
          "unreadable_answer",
          -1 },
        { "another refund",
          GATEWAY_REFUND,
          PLAIN,
          { FOUND("COMPLETED", ""),
            { REF, SAY, 201, REPLY("SUCCESS", REFUND_OF("other", "CREATED", 2000)) } },
          GATEWAY_UNCERTAIN,
          "unreadable_answer",
          -1 },
        { "it failed for now, and PayPay goes on",
          GATEWAY_REFUND,
          PLAIN,
          { FOUND("COMPLETED", ""),
            { REF, SAY, 201, REPLY("SUCCESS", REFUND_OF(REFUND_HEX, "REFUND_FAILED", 2000)) } },
          GATEWAY_UNCERTAIN,
          "refund_pending",
          -1 },
        { "it failed before, and is not sent again",
          GATEWAY_REFUND,
          PLAIN,
          { FOUND("COMPLETED",
                  ",'refunds':{'data':[" REFUND_OF(REFUND_HEX, "REFUND_FAILED", 2000) "]}") },
          GATEWAY_UNCERTAIN,
          "refund_pending",
          -1 },
        { "asked for, and still failing",
          GATEWAY_FETCH_REFUND,
          PLAIN,
          { { "GET /v2/refunds/" REFUND_HEX, SAY, 200,
              REPLY("SUCCESS", REFUND_OF(REFUND_HEX, "REFUND_FAILED", 2000)) } },
          GATEWAY_UNCERTAIN,
          "refund_pending",
          -1 },
        { "no such payment",
          GATEWAY_REFUND,
          PLAIN,
          { UNPAID, NO_PAYMENT },
          GATEWAY_REFUSED,
          "payment_not_found",
          -1 },
        { "lost",
          GATEWAY_REFUND,
          PLAIN,
          { FOUND("COMPLETED", ""), { REF, LOSE, 0, NULL } },
          GATEWAY_UNCERTAIN,
          "connection_lost",
          -1 },
        { "asked for",
          GATEWAY_FETCH_REFUND,
          PLAIN,
          { { "GET /v2/refunds/" REFUND_HEX, SAY, 200,
              REPLY("SUCCESS", REFUND_OF(REFUND_HEX, "CREATED", 7)) } },
          GATEWAY_OK,
          "",
          -1 },
        { "asked for, and it is not there",
          GATEWAY_FETCH_REFUND,
          PLAIN,
          { { "GET /v2/refunds/" REFUND_HEX, SAY, 404, FAULT("NO_SUCH_REFUND_ORDER") } },
          GATEWAY_ABSENT,
          "",
          -1 },
    };
    (void)state;
    PLAY(scenes);
}

#define LOOK_N(n)                                                                                  \
    {                                                                                              \
        LOOK_CODE "-" #n, SAY, 400, FAULT("DYNAMIC_QR_PAYMENT_NOT_FOUND")                          \
    }

static void g2_a_fetch_finds_out_what_answers(void **state)
{
    static const struct scene scenes[] = {
        { "a code's payment",
          GATEWAY_FETCH,
          PLAIN,
          { FOUND("COMPLETED", "") },
          GATEWAY_OK,
          "",
          INTENT_SUCCEEDED },
        { "a code that waits",
          GATEWAY_FETCH,
          PLAIN,
          { FOUND("CREATED", "") },
          GATEWAY_OK,
          "",
          INTENT_OPEN },
        { "a code that nobody paid",
          GATEWAY_FETCH,
          PLAIN,
          { UNPAID, NO_PAYMENT },
          GATEWAY_OK,
          "",
          INTENT_OPEN },
        { "any other payment",
          GATEWAY_FETCH,
          PLAIN,
          { UNPAID, { LOOK_PAY, SAY, 200, REPLY("SUCCESS", PAY("AUTHORIZED", "")) } },
          GATEWAY_OK,
          "",
          INTENT_AUTHORIZED },
        { "nothing, surely",
          GATEWAY_FETCH,
          PLAIN,
          { { LOOK_CODE, SAY, 404, FAULT("RESOURCE_NOT_FOUND") }, NO_PAYMENT },
          GATEWAY_ABSENT,
          "",
          -1 },
        { "a wrong key is no absence",
          GATEWAY_FETCH,
          PLAIN,
          { { LOOK_CODE, SAY, 401, FAULT("UNAUTHORIZED") } },
          GATEWAY_RETRY_LATER,
          "unauthorized",
          -1 },
        { "a code that is new is no absence",
          GATEWAY_FETCH,
          PLAIN,
          { { LOOK_CODE, SAY, 404, FAULT("NEW") },
            { LOOK_CODE, SAY, 404, FAULT("NEW") },
            { LOOK_CODE, SAY, 404, FAULT("NEW") } },
          GATEWAY_RETRY_LATER,
          "new",
          -1 },
        { "without an id: under none of its names",
          GATEWAY_FETCH,
          NO_INTENT,
          { UNPAID, NO_PAYMENT, LOOK_N(2), LOOK_N(3), LOOK_N(4), LOOK_N(5), LOOK_N(6), LOOK_N(7),
            LOOK_N(8), LOOK_N(9) },
          GATEWAY_ABSENT,
          "",
          -1 },
        { "without an id: under the third",
          GATEWAY_FETCH,
          NO_INTENT,
          { UNPAID,
            NO_PAYMENT,
            LOOK_N(2),
            { LOOK_CODE "-3", SAY, 200,
              REPLY("SUCCESS", ID_PAY(HEX "-3", "AUTHORIZED", YEN(2000), "")) } },
          GATEWAY_OK,
          "",
          INTENT_AUTHORIZED },
        { "without an id: a code that was never shown is none",
          GATEWAY_FETCH,
          NO_INTENT,
          { FOUND("CREATED", ""), LOOK_N(2), LOOK_N(3), LOOK_N(4), LOOK_N(5), LOOK_N(6), LOOK_N(7),
            LOOK_N(8), LOOK_N(9) },
          GATEWAY_ABSENT,
          "",
          -1 },
        { "without an id: an authorization that is not through",
          GATEWAY_FETCH,
          NO_INTENT,
          { UNPAID, { LOOK_PAY, SAY, 200, REPLY("SUCCESS", PAY("CREATED", "")) } },
          GATEWAY_RETRY_LATER,
          "in_progress",
          -1 },
        { "one look that fails proves nothing",
          GATEWAY_FETCH,
          NO_INTENT,
          { UNPAID, NO_PAYMENT, LOOK_N(2), { LOOK_CODE "-3", HANG, 0, NULL } },
          GATEWAY_RETRY_LATER,
          "timeout",
          -1 },
    };
    (void)state;
    PLAY(scenes);
}

/* --- what is sent --- */

static void expect_in(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

static void g2_a_request_says_who_and_what(void **state)
{
    static const struct step steps[] = {
        { MAKE_CODE, SAY, 400, FAULT("DUPLICATE_DYNAMIC_QR_REQUEST") },
        { MAKE_CODE, SAY, 201, REPLY("SUCCESS", CODE(HEX "-2", YEN(2000))) },
    };
    struct fixture *f = open_fixture();
    const struct fact *fact = &f->call.fact;

    (void)state;
    prepare(f, GATEWAY_AUTHORIZE);
    f->call.return_url = S("https://shop.example/back");
    f->call.description = S("抹茶 \"ケーキ\"");
    strcpy(f->call.trace, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    go(f, steps, 2);
    expect_in(f->auths[0], "hmac OPA-Auth:a_key:");
    expect_in(f->auths[0], ":1760000400:");
    assert_string_not_equal(f->auths[0], f->auths[1]);
    expect_in(f->bodies[0], "{\"merchantPaymentId\":\"" HEX "\",\"amount\":{\"amount\":2000,"
                            "\"currency\":\"JPY\"},\"codeType\":\"ORDER_QR\",");
    expect_in(f->bodies[0], "\"orderDescription\":\"抹茶 \\\"ケーキ\\\"\"");
    expect_in(f->bodies[0], "\"isAuthorization\":true,\"redirectUrl\":\"https://shop.example/back\""
                            ",\"redirectType\":\"WEB_LINK\"");
    expect_in(f->bodies[0], "\"metadata\":{\"payment_id\":\"" PAYMENT "\"");
    expect_in(f->bodies[0], ",\"requestedAt\":1760000400}");
    expect_in(f->bodies[1], "\"merchantPaymentId\":\"" HEX "-2\"");
    expect_str("intent", fact->intent_id, HEX "-2");
    expect_str("payment", fact->payment_id, PAYMENT);
    expect_str("action", fact->action_type, "redirect_to_url");
    expect_str("url", fact->action_url, "https://qr.paypay.ne.jp/x1");
    expect_str("details", fact->action_details, "{\"codeId\":\"04-abc\"}");
    assert_int_equal(fact->action_expires_ms, 1760000300000);
    assert_int_equal(fact->amount, 2000);
    close_fixture(f);
}

static void a_refund_that_is_made_is_ours_to_know(void **state)
{
    static const struct step steps[] = {
        FOUND("COMPLETED", ""),
        { REF, SAY, 201, REPLY("SUCCESS", REFUND_OF(REFUND_HEX, "CREATED", 2000)) },
    };
    struct fixture *f = open_fixture();

    (void)state;
    prepare(f, GATEWAY_REFUND);
    f->call.reason = S("壊れていた");
    go(f, steps, 2);
    expect_in(f->bodies[1], "{\"merchantRefundId\":\"" REFUND_HEX "\",\"paymentId\":\"04510001\"");
    expect_in(f->bodies[1], "\"reason\":\"壊れていた\"");
    assert_int_equal(f->call.fact.kind, FACT_REFUND);
    assert_int_equal(f->call.fact.refund, REFUND_SUCCEEDED);
    expect_str("our id", f->call.fact.refund_our_id, REFUND);
    expect_str("intent", f->call.fact.intent_id, HEX);
    close_fixture(f);
}

static void what_paypay_cannot_take_is_refused_unsent(void **state)
{
    static const struct {
        enum gateway_ask ask;
        struct money money;
        const char *code;
    } rows[] = {
        { GATEWAY_AUTHORIZE, { 2000, "USD" }, "currency_not_supported" },
        { GATEWAY_AUTHORIZE, { 0, "JPY" }, "currency_not_supported" },
        { GATEWAY_AUTHORIZE, { 100000000000, "JPY" }, "currency_not_supported" },
        { GATEWAY_CAPTURE, { 1, "EUR" }, "currency_not_supported" },
        { GATEWAY_REFUND, { 1, "KRW" }, "currency_not_supported" },
        { GATEWAY_CHECKOUT, { 1, "JPY" }, "not_offered" },
        { GATEWAY_EXPIRE, { 1, "JPY" }, "not_offered" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture *f = open_fixture();

        prepare(f, rows[i].ask);
        f->call.money = rows[i].money;
        go(f, NULL, 0);
        assert_int_equal(f->call.answer, GATEWAY_REFUSED);
        assert_string_equal(f->call.error_code, rows[i].code);
        assert_false(f->call.sent);
        close_fixture(f);
    }
}

static void p6_no_step_begins_behind_the_budget(void **state)
{
    static const struct step steps[] = { { LOOK_CODE, HANG, 0, NULL } };
    struct fixture *f = open_fixture();

    (void)state;
    prepare(f, GATEWAY_VOID);
    f->call.budget_ms = 1000;
    go(f, steps, 1);
    assert_int_equal(f->call.answer, GATEWAY_RETRY_LATER);
    assert_true(skipped_ms <= 1000);
    close_fixture(f);
}

/* on_done says that nobody hears of it within gateway_call(). */
static void what_ends_before_its_first_step_ends_later_at_home(void **state)
{
    struct fixture *f = open_fixture();

    (void)state;
    prepare(f, GATEWAY_VOID);
    f->call.budget_ms = 1;
    go(f, NULL, 0);
    assert_int_equal(f->call.answer, GATEWAY_RETRY_LATER);
    assert_string_equal(f->call.error_code, "too_many_steps");
    close_fixture(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(g2_a_code_is_made_once_and_a_lost_one_is_replaced),
        TEST(g2_every_result_code_has_its_answer),
        TEST(g2_what_is_no_answer_of_paypay_is_uncertain),
        TEST(g2_an_authorization_of_the_customer_is_looked_for_before_it_is_sent),
        TEST(g2_a_capture_counts_once),
        TEST(g2_a_void_looks_first),
        TEST(g2_a_refund_is_sent_once_under_our_name),
        TEST(g2_a_fetch_finds_out_what_answers),
        TEST(g2_a_request_says_who_and_what),
        TEST(a_refund_that_is_made_is_ours_to_know),
        TEST(what_paypay_cannot_take_is_refused_unsent),
        TEST(p6_no_step_begins_behind_the_budget),
        TEST(what_ends_before_its_first_step_ends_later_at_home),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
