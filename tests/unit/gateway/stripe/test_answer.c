/* Every kind of HTTP answer, and what it means. */
#include "gateway/stripe/answer.h"
#include "gateway/stripe/request.h"
#include "unit/gateway/fixtures.h"

#define ANY (-1)
#define STATE_ERROR(intent)                                                                        \
    "{'error':{'type':'invalid_request_error','code':'payment_intent_unexpected_state',"           \
    "'message':'words','payment_intent':" intent "}}"
#define CARD_ERROR                                                                                 \
    "{'error':{'type':'card_error','code':'card_declined','decline_code':'lost_card',"             \
    "'message':'カードが拒否されました','payment_intent':" INTENT_DECLINED_1 "}}"
#define LIST(items, more) "{'object':'list','data':[" items "],'has_more':" more ",'url':'/v1/x'}"
#define FOREIGN(id) "{'id':'" id "','object':'payment_intent','metadata':{}}"

static struct arena arena;

static struct gateway_call call_for(enum gateway_ask ask)
{
    struct gateway_call c = { .ask = ask, .arena = &arena };

    arena_release(&arena);
    arena_init(&arena, 1 << 20);
    assert_true(uuid_parse(S(PAYMENT), &c.payment));
    assert_true(uuid_parse(S(REFUND), &c.refund));
    if (ask == GATEWAY_EXPIRE)
        c.session_id = S("cs_1");
    else if (ask != GATEWAY_AUTHORIZE && ask != GATEWAY_CHECKOUT)
        c.intent_id = S("pi_1");
    return c;
}

static struct stripe_verdict judge_as(const char *method, struct gateway_call *c, int status,
                                      const char *body, const char *should_retry)
{
    struct header header = { S("stripe-should-retry"), str_of(should_retry) };
    char *text = json_of(body);
    struct call http = { .result = CALL_ANSWERED,
                         .method = str_of(method),
                         .status = status,
                         .answer = str_of(text),
                         .answer_headers = &header,
                         .answer_header_count = should_retry ? 1 : 0 };
    struct stripe_verdict v = stripe_judge(c, &http, false);

    memset(text, 'x', strlen(text)); /* nothing may point into it afterwards */
    free(text);
    return v;
}

static struct stripe_verdict judge(struct gateway_call *c, int status, const char *body,
                                   const char *should_retry)
{
    return judge_as(stripe_is_fetch(c->ask) ? "GET" : "POST", c, status, body, should_retry);
}

struct row {
    const char *why;
    enum gateway_ask ask;
    int status;
    const char *body, *should_retry;
    enum gateway_answer answer;
    bool again, maybe;
    int state; /* of the intent in the fact; ANY: there is none */
    const char *code;
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        struct gateway_call c = call_for(r->ask);
        struct stripe_verdict v = judge(&c, r->status, r->body, r->should_retry);
        int state = c.fact.kind == FACT_INTENT ? (int)c.fact.state : ANY;

        if (v.answer != r->answer || v.again != r->again || v.maybe != r->maybe ||
            state != r->state || strcmp(c.error_code, r->code) != 0)
            fail_msg("%s: answer %d, again %d, maybe %d, state %d, code %s", r->why, v.answer,
                     v.again, v.maybe, state, c.error_code);
    }
}

static void a_success_is_the_state_it_tells(void **state)
{
    static const struct row rows[] = {
        { "held", GATEWAY_AUTHORIZE, 200, INTENT("requires_capture", ""), NULL, GATEWAY_OK, false,
          false, INTENT_AUTHORIZED, "" },
        { "3-D Secure", GATEWAY_AUTHORIZE, 200, INTENT("requires_action", ""), NULL, GATEWAY_OK,
          false, false, INTENT_ACTION, "" },
        { "not confirmed", GATEWAY_AUTHORIZE, 200, INTENT("requires_payment_method", ""), NULL,
          GATEWAY_OK, false, false, INTENT_OPEN, "" },
        { "declined, though it is a 200", GATEWAY_AUTHORIZE, 200, INTENT_DECLINED_1, NULL,
          GATEWAY_DECLINED, false, false, INTENT_DECLINED, "card_declined" },
        { "captured", GATEWAY_CAPTURE, 200, INTENT_PAID, NULL, GATEWAY_OK, false, false,
          INTENT_SUCCEEDED, "" },
        { "void", GATEWAY_VOID, 200, INTENT("canceled", ""), NULL, GATEWAY_OK, false, false,
          INTENT_CANCELED, "" },
        { "fetched", GATEWAY_FETCH, 200, INTENT_DECLINED_1, NULL, GATEWAY_OK, false, false,
          INTENT_DECLINED, "" },
        { "201 is fine too", GATEWAY_CAPTURE, 201, INTENT_PAID, NULL, GATEWAY_OK, false, false,
          INTENT_SUCCEEDED, "" },
    };

    (void)state;
    check(rows, COUNT(rows));
}

/* Nothing of it is believed: neither that it was done, nor that it was declined or refused. */
static void an_answer_in_another_currency_is_uncertain(void **state)
{
#define DOLLARS                                                                                    \
    "{'id':'pi_1','object':'payment_intent','amount':1,'amount_received':1,'currency':'usd',"      \
    "'status':'succeeded'}"
    static const struct {
        const char *why;
        enum gateway_ask ask;
        int status;
        const char *body;
    } rows[] = {
        { "a capture", GATEWAY_CAPTURE, 200, DOLLARS },
        { "an authorisation", GATEWAY_AUTHORIZE, 200, DOLLARS },
        { "a void", GATEWAY_VOID, 200, DOLLARS },
        { "asked for", GATEWAY_FETCH, 200, DOLLARS },
        { "a refund", GATEWAY_REFUND, 200,
          "{'id':'re_1','object':'refund','amount':1,'currency':'usd','payment_intent':'pi_1',"
          "'status':'succeeded'}" },
        { "a refusal", GATEWAY_CAPTURE, 400, STATE_ERROR(DOLLARS) },
        { "a decline", GATEWAY_AUTHORIZE, 402, STATE_ERROR(DOLLARS) },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gateway_call c = call_for(rows[i].ask);
        struct stripe_verdict v;

        strcpy(c.money.currency, "JPY");
        v = judge(&c, rows[i].status, rows[i].body, NULL);
        if (v.answer != GATEWAY_UNCERTAIN || !v.maybe || c.fact.kind != FACT_NONE ||
            strcmp(c.error_code, "answer_mismatch") != 0)
            fail_msg("%s: answer %d, code %s", rows[i].why, v.answer, c.error_code);
    }
}

static void a_success_that_cannot_be_understood_is_uncertain(void **state)
{
    static const struct row rows[] = {
        { "half a text", GATEWAY_AUTHORIZE, 200, "{'id':'pi_1','obj", NULL, GATEWAY_UNCERTAIN,
          false, true, ANY, "unreadable_answer" },
        { "empty", GATEWAY_CAPTURE, 200, "", NULL, GATEWAY_UNCERTAIN, false, true, ANY,
          "unreadable_answer" },
        { "a page of a proxy", GATEWAY_CAPTURE, 200, "<html>", NULL, GATEWAY_UNCERTAIN, false, true,
          ANY, "unreadable_answer" },
        { "a status of the future", GATEWAY_CAPTURE, 200, INTENT("requires_luck", ""), NULL,
          GATEWAY_UNCERTAIN, false, true, ANY, "unreadable_answer" },
        { "another kind of object", GATEWAY_CAPTURE, 200, REFUND_OBJECT("succeeded"), NULL,
          GATEWAY_UNCERTAIN, false, true, ANY, "unreadable_answer" },
        { "no object", GATEWAY_VOID, 200, "{}", NULL, GATEWAY_UNCERTAIN, false, true, ANY,
          "unreadable_answer" },
        { "an error with a 200", GATEWAY_VOID, 200, ERROR("api_error", "x", ""), NULL,
          GATEWAY_UNCERTAIN, false, true, ANY, "unreadable_answer" },
        { "an error beside the object", GATEWAY_AUTHORIZE, 200,
          INTENT("requires_capture", ",'error':{}"), NULL, GATEWAY_UNCERTAIN, false, true, ANY,
          "unreadable_answer" },
        { "another intent", GATEWAY_CAPTURE, 200,
          "{'id':'pi_2','object':'payment_intent','amount':1,'amount_received':1,"
          "'currency':'jpy','status':'succeeded'}",
          NULL, GATEWAY_UNCERTAIN, false, true, ANY, "answer_mismatch" },
        { "another payment", GATEWAY_AUTHORIZE, 200,
          "{'id':'pi_2','object':'payment_intent','amount':1,'currency':'jpy','metadata':"
          "{'payment_id':'" OTHER_PAYMENT "'},'status':'requires_capture'}",
          NULL, GATEWAY_UNCERTAIN, false, true, ANY, "answer_mismatch" },
        { "no list", GATEWAY_FETCH_REFUND, 200, "{'data':7}", NULL, GATEWAY_UNCERTAIN, false, true,
          ANY, "unreadable_answer" },
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void what_was_not_done_is_told_by_the_status(void **state)
{
    static const struct row rows[] = {
        { "declined", GATEWAY_AUTHORIZE, 402, CARD_ERROR, NULL, GATEWAY_DECLINED, false, false,
          INTENT_DECLINED, "card_declined" },
        { "declined, without the intent", GATEWAY_CAPTURE, 402,
          ERROR("card_error", "expired_card", ""), NULL, GATEWAY_DECLINED, false, false, ANY,
          "expired_card" },
        { "declined, and the intent only looks open", GATEWAY_AUTHORIZE, 402,
          "{'error':{'type':'card_error','code':'card_declined','payment_intent':" INTENT(
              "requires_payment_method", "") "}}",
          NULL, GATEWAY_DECLINED, false, false, INTENT_DECLINED, "card_declined" },
        { "a decline is never tried again", GATEWAY_AUTHORIZE, 402, CARD_ERROR, "true",
          GATEWAY_DECLINED, false, false, INTENT_DECLINED, "card_declined" },
        { "a 402 of somebody else", GATEWAY_AUTHORIZE, 402, "pay me", NULL, GATEWAY_UNCERTAIN,
          false, true, ANY, "http_402" },

        { "wrong parameters", GATEWAY_AUTHORIZE, 400,
          ERROR("invalid_request_error", "amount_too_small", ""), NULL, GATEWAY_REFUSED, false,
          false, ANY, "amount_too_small" },
        { "no code: its type", GATEWAY_REFUND, 400,
          "{'error':{'type':'invalid_request_error','message':'too much','param':'amount'}}", NULL,
          GATEWAY_REFUSED, false, false, ANY, "invalid_request_error" },
        { "refunded before", GATEWAY_REFUND, 400,
          ERROR("invalid_request_error", "charge_already_refunded", ""), NULL, GATEWAY_REFUSED,
          false, false, ANY, "charge_already_refunded" },
        { "captured before, so it says", GATEWAY_CAPTURE, 400,
          ERROR("invalid_request_error", "charge_already_captured", ""), NULL, GATEWAY_REFUSED,
          false, false, ANY, "charge_already_captured" },
        { "a 400 of somebody else", GATEWAY_CAPTURE, 400, "<html>", NULL, GATEWAY_UNCERTAIN, false,
          true, ANY, "http_400" },
        { "a 400 that Stripe wants again", GATEWAY_CAPTURE, 400,
          ERROR("invalid_request_error", "lock_timeout", ""), "true", GATEWAY_RETRY_LATER, true,
          false, ANY, "lock_timeout" },

        { "key with other parameters: an alarm, not a refusal", GATEWAY_AUTHORIZE, 400,
          "{'error':{'type':'idempotency_error','message':'Keys for idempotent requests ...'}}",
          NULL, GATEWAY_UNCERTAIN, false, true, ANY, "idempotency_error" },

        { "no such intent", GATEWAY_CAPTURE, 404,
          ERROR("invalid_request_error", "resource_missing", ""), NULL, GATEWAY_REFUSED, false,
          false, ANY, "resource_missing" },
        { "nothing to cancel", GATEWAY_VOID, 404,
          ERROR("invalid_request_error", "resource_missing", ""), NULL, GATEWAY_ABSENT, false,
          false, ANY, "resource_missing" },
        { "a cancel that somebody in between does not know", GATEWAY_VOID, 404, "nginx", NULL,
          GATEWAY_UNCERTAIN, false, true, ANY, "http_404" },
        { "no such page", GATEWAY_CAPTURE, 404, "nginx", NULL, GATEWAY_UNCERTAIN, false, true, ANY,
          "http_404" },

        { "wrong key", GATEWAY_AUTHORIZE, 401, ERROR("invalid_request_error", "", ""), NULL,
          GATEWAY_RETRY_LATER, false, false, ANY, "invalid_request_error" },
        { "a key that may not", GATEWAY_REFUND, 403, "", NULL, GATEWAY_RETRY_LATER, false, false,
          ANY, "http_403" },

        { "key in use", GATEWAY_AUTHORIZE, 409,
          ERROR("idempotency_error", "idempotency_key_in_use", ""), NULL, GATEWAY_UNCERTAIN, true,
          true, ANY, "idempotency_key_in_use" },
        { "too fast", GATEWAY_AUTHORIZE, 429, ERROR("invalid_request_error", "rate_limit", ""),
          NULL, GATEWAY_RETRY_LATER, true, false, ANY, "rate_limit" },
        { "too fast, do not come back", GATEWAY_AUTHORIZE, 429,
          ERROR("invalid_request_error", "rate_limit", ""), "false", GATEWAY_RETRY_LATER, false,
          false, ANY, "rate_limit" },
        { "its fault", GATEWAY_AUTHORIZE, 500, ERROR("api_error", "", ""), NULL, GATEWAY_UNCERTAIN,
          true, true, ANY, "api_error" },
        { "a saved 500", GATEWAY_AUTHORIZE, 500, ERROR("api_error", "", ""), "False",
          GATEWAY_UNCERTAIN, false, true, ANY, "api_error" },
        { "a proxy's 503", GATEWAY_VOID, 503, "<html>", NULL, GATEWAY_UNCERTAIN, true, true, ANY,
          "http_503" },
        { "a dependency of it", GATEWAY_REFUND, 424, ERROR("api_error", "", ""), NULL,
          GATEWAY_UNCERTAIN, true, true, ANY, "api_error" },
        { "a redirect", GATEWAY_REFUND, 302, "", NULL, GATEWAY_UNCERTAIN, false, true, ANY,
          "http_302" },
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void a_wrong_state_is_success_where_it_is_what_was_asked_for(void **state)
{
#define UNEXPECTED "payment_intent_unexpected_state"
    static const struct row rows[] = {
        { "captured by an earlier try", GATEWAY_CAPTURE, 400, STATE_ERROR(INTENT_PAID), NULL,
          GATEWAY_OK, false, false, INTENT_SUCCEEDED, "" },
        { "cancelled by an earlier try", GATEWAY_VOID, 400, STATE_ERROR(INTENT("canceled", "")),
          NULL, GATEWAY_OK, false, false, INTENT_CANCELED, "" },
        { "a void of what was paid", GATEWAY_VOID, 400, STATE_ERROR(INTENT_PAID), NULL,
          GATEWAY_REFUSED, false, false, INTENT_SUCCEEDED, UNEXPECTED },
        { "a capture of what lapsed", GATEWAY_CAPTURE, 400, STATE_ERROR(INTENT("canceled", "")),
          NULL, GATEWAY_REFUSED, false, false, INTENT_CANCELED, UNEXPECTED },
        { "a refund of what is only held", GATEWAY_REFUND, 400,
          STATE_ERROR(INTENT("requires_capture", "")), NULL, GATEWAY_REFUSED, false, false,
          INTENT_AUTHORIZED, UNEXPECTED },
        { "a state that is not told", GATEWAY_CAPTURE, 400, STATE_ERROR("null"), NULL,
          GATEWAY_UNCERTAIN, false, true, ANY, UNEXPECTED },
        { "a state that we do not know", GATEWAY_CAPTURE, 400,
          STATE_ERROR(INTENT("requires_luck", "")), NULL, GATEWAY_UNCERTAIN, false, true, ANY,
          UNEXPECTED },
        { "the state of another intent", GATEWAY_CAPTURE, 400,
          STATE_ERROR("{'id':'pi_2','object':'payment_intent','amount':1,'amount_received':1,"
                      "'currency':'jpy','status':'succeeded'}"),
          NULL, GATEWAY_UNCERTAIN, false, true, ANY, UNEXPECTED },
    };

    (void)state;
    check(rows, COUNT(rows));
}

static void a_fetch_that_is_not_answered_means_ask_again(void **state)
{
    static const struct row rows[] = {
        { "surely absent", GATEWAY_FETCH, 404,
          ERROR("invalid_request_error", "resource_missing", ""), NULL, GATEWAY_ABSENT, false,
          false, ANY, "resource_missing" },
        { "a 404 of somebody else", GATEWAY_FETCH, 404, "nginx", NULL, GATEWAY_RETRY_LATER, false,
          true, ANY, "http_404" },
        { "refused", GATEWAY_FETCH, 400, ERROR("invalid_request_error", "x", ""), NULL,
          GATEWAY_RETRY_LATER, false, false, ANY, "x" },
        { "declined?", GATEWAY_FETCH, 402, CARD_ERROR, NULL, GATEWAY_RETRY_LATER, false, false, ANY,
          "card_declined" },
        { "wrong key", GATEWAY_FETCH, 401, "", NULL, GATEWAY_RETRY_LATER, false, false, ANY,
          "http_401" },
        { "its fault", GATEWAY_FETCH, 500, "", NULL, GATEWAY_RETRY_LATER, true, true, ANY,
          "http_500" },
        { "too fast", GATEWAY_FETCH_REFUND, 429, "", NULL, GATEWAY_RETRY_LATER, true, false, ANY,
          "http_429" },
    };

    (void)state;
    check(rows, COUNT(rows));
}

/* An open Checkout Session holds its intent. */
static void an_intent_of_an_open_session_is_not_cancelled(void **state)
{
    struct gateway_call c = call_for(GATEWAY_VOID);
    struct stripe_verdict v =
        judge(&c, 400, STATE_ERROR(INTENT("requires_payment_method", "")), NULL);

    (void)state;
    assert_int_equal(v.answer, GATEWAY_REFUSED);
    assert_false(v.look);
    assert_int_equal(c.fact.kind, FACT_INTENT);
    assert_int_equal(c.fact.state, INTENT_OPEN);
}

static void d11_a_declined_intent_can_be_confirmed_again(void **state)
{
    struct gateway_call c = call_for(GATEWAY_AUTHORIZE);

    (void)state;
    judge(&c, 402,
          "{'error':{'type':'card_error','code':'card_declined','message':'x','payment_intent':"
          "{'id':'pi_1','object':'payment_intent','amount':2000,'currency':'jpy','client_secret':"
          "'pi_1_secret_x','last_payment_error':{'code':'card_declined'},"
          "'status':'requires_payment_method'}}}",
          NULL);
    assert_int_equal(c.fact.state, INTENT_DECLINED);
    expect_str("action", c.fact.action_type, "confirm");
    expect_str("secret", c.fact.client_secret, "pi_1_secret_x");
}

/* --- sessions --- */

struct session_row {
    const char *why, *method;
    enum gateway_ask ask;
    int status;
    const char *body, *should_retry;
    enum gateway_answer answer;
    bool again, maybe, look;
    int session; /* ANY: there is no fact */
    const char *code;
};

static void check_sessions(const struct session_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct session_row *r = &rows[i];
        struct gateway_call c = call_for(r->ask);
        struct stripe_verdict v = judge_as(r->method, &c, r->status, r->body, r->should_retry);
        int session = c.fact.kind == FACT_SESSION ? (int)c.fact.session : ANY;

        if (v.answer != r->answer || v.again != r->again || v.maybe != r->maybe ||
            v.look != r->look || session != r->session || strcmp(c.error_code, r->code) != 0)
            fail_msg("%s: answer %d, again %d, maybe %d, look %d, session %d, code %s", r->why,
                     v.answer, v.again, v.maybe, v.look, session, c.error_code);
    }
}

static void a_session_is_made_and_ended(void **state)
{
#define NOT_OPEN ERROR("invalid_request_error", "", "")
    static const struct session_row rows[] = {
        { "made", "POST", GATEWAY_CHECKOUT, 200, SESSION("open", ""), NULL, GATEWAY_OK, false,
          false, false, SESSION_OPEN, "" },
        { "somebody else's", "POST", GATEWAY_CHECKOUT, 200,
          "{'id':'cs_1','object':'checkout.session','status':'open',"
          "'metadata':{'payment_id':'" OTHER_PAYMENT "'}}",
          NULL, GATEWAY_UNCERTAIN, false, true, false, ANY, "answer_mismatch" },
        { "an intent is no session", "POST", GATEWAY_CHECKOUT, 200, INTENT_PAID, NULL,
          GATEWAY_UNCERTAIN, false, true, false, ANY, "unreadable_answer" },
        { "a status of the future", "POST", GATEWAY_CHECKOUT, 200, SESSION("dreaming", ""), NULL,
          GATEWAY_UNCERTAIN, false, true, false, ANY, "unreadable_answer" },
        { "too little", "POST", GATEWAY_CHECKOUT, 400,
          ERROR("invalid_request_error", "amount_too_small", ""), NULL, GATEWAY_REFUSED, false,
          false, false, ANY, "amount_too_small" },

        { "ended", "POST", GATEWAY_EXPIRE, 200, SESSION("expired", ""), NULL, GATEWAY_OK, false,
          false, false, SESSION_EXPIRED, "" },
        { "not open any more: look", "POST", GATEWAY_EXPIRE, 400, NOT_OPEN, NULL, GATEWAY_REFUSED,
          false, false, true, ANY, "invalid_request_error" },
        { "whatever it says about its intent: look", "POST", GATEWAY_EXPIRE, 400,
          ERROR("invalid_request_error", "payment_intent_unexpected_state", ""), NULL,
          GATEWAY_REFUSED, false, false, true, ANY, "payment_intent_unexpected_state" },
        { "Stripe wants it again", "POST", GATEWAY_EXPIRE, 400, NOT_OPEN, "true",
          GATEWAY_RETRY_LATER, true, false, false, ANY, "invalid_request_error" },
        { "not Stripe's words", "POST", GATEWAY_EXPIRE, 400, "<html>", NULL, GATEWAY_UNCERTAIN,
          false, true, false, ANY, "http_400" },
        { "our key with something else", "POST", GATEWAY_EXPIRE, 400,
          ERROR("idempotency_error", "", ""), NULL, GATEWAY_UNCERTAIN, false, true, false, ANY,
          "idempotency_error" },
        { "never heard of", "POST", GATEWAY_EXPIRE, 404,
          ERROR("invalid_request_error", "resource_missing", ""), NULL, GATEWAY_ABSENT, false,
          false, false, ANY, "resource_missing" },
        { "another session", "POST", GATEWAY_EXPIRE, 200,
          "{'id':'cs_2','object':'checkout.session','status':'expired'}", NULL, GATEWAY_UNCERTAIN,
          false, true, false, ANY, "answer_mismatch" },
        { "still open after all", "POST", GATEWAY_EXPIRE, 200, SESSION("open", ""), NULL,
          GATEWAY_RETRY_LATER, false, false, false, SESSION_OPEN, "session_still_open" },

        { "seen: paid meanwhile", "GET", GATEWAY_EXPIRE, 200,
          SESSION("complete", ",'payment_intent':'pi_7'"), NULL, GATEWAY_OK, false, false, false,
          SESSION_COMPLETE, "" },
        { "seen: over", "GET", GATEWAY_EXPIRE, 200, SESSION("expired", ""), NULL, GATEWAY_OK, false,
          false, false, SESSION_EXPIRED, "" },
        { "seen: open", "GET", GATEWAY_EXPIRE, 200, SESSION("open", ""), NULL, GATEWAY_RETRY_LATER,
          false, false, false, SESSION_OPEN, "session_still_open" },
        { "not seen: refused", "GET", GATEWAY_EXPIRE, 400, NOT_OPEN, NULL, GATEWAY_RETRY_LATER,
          false, false, false, ANY, "invalid_request_error" },
        { "not seen: its fault", "GET", GATEWAY_EXPIRE, 500, "", NULL, GATEWAY_RETRY_LATER, true,
          true, false, ANY, "http_500" },
        { "gone", "GET", GATEWAY_EXPIRE, 404,
          ERROR("invalid_request_error", "resource_missing", ""), NULL, GATEWAY_ABSENT, false,
          false, false, ANY, "resource_missing" },
    };

    (void)state;
    check_sessions(rows, COUNT(rows));
}

static void a_decline_tells_its_reasons(void **state)
{
    struct gateway_call c = call_for(GATEWAY_AUTHORIZE);

    (void)state;
    judge(&c, 402, CARD_ERROR, NULL);
    expect_str("code", c.fact.failure_code, "card_declined");
    expect_str("decline code", c.fact.decline_code, "lost_card");
    expect_str("message", c.fact.failure_message, "カードが拒否されました");
    expect_str("intent", c.fact.intent_id, "pi_1");
    assert_string_equal(c.error_message, "カードが拒否されました");
}

static void a_refund_is_a_refund(void **state)
{
    struct gateway_call c = call_for(GATEWAY_REFUND);

    (void)state;
    assert_int_equal(judge(&c, 200, REFUND_OBJECT("pending"), NULL).answer, GATEWAY_OK);
    assert_int_equal(c.fact.kind, FACT_REFUND);
    assert_int_equal(c.fact.refund, REFUND_PENDING);
    expect_str("id", c.fact.refund_id, "re_1");
    c = call_for(GATEWAY_REFUND);
    c.refund.b[0] ^= 1;
    assert_int_equal(judge(&c, 200, REFUND_OBJECT("pending"), NULL).answer, GATEWAY_UNCERTAIN);
    assert_string_equal(c.error_code, "answer_mismatch");
    c = call_for(GATEWAY_FETCH_REFUND);
    c.refund_id = S("re_1");
    assert_int_equal(judge(&c, 200, REFUND_OBJECT("failed"), NULL).answer, GATEWAY_OK);
    assert_int_equal(c.fact.refund, REFUND_FAILED);
}

static void a_list_is_read_until_ours_is_found_or_it_ends(void **state)
{
    static const struct {
        const char *why, *page;
        enum gateway_answer answer;
        const char *more;
    } rows[] = {
        { "found", LIST(FOREIGN("pi_9") "," INTENT("requires_capture", ""), "true"), GATEWAY_OK,
          "" },
        { "not here", LIST(FOREIGN("pi_9") "," FOREIGN("pi_8"), "true"), GATEWAY_ABSENT, "pi_8" },
        { "nowhere", LIST(FOREIGN("pi_9"), "false"), GATEWAY_ABSENT, "" },
        { "nothing at all", LIST("", "false"), GATEWAY_ABSENT, "" },
        { "more of nothing", LIST("", "true"), GATEWAY_UNCERTAIN, "" },
        { "the end is not told", "{'object':'list','data':[]}", GATEWAY_UNCERTAIN, "" },
        { "items that are none", LIST("7,null,[]", "true"), GATEWAY_UNCERTAIN, "" },
        { "found, but in an unknown state", LIST(INTENT("requires_luck", ""), "false"),
          GATEWAY_UNCERTAIN, "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct gateway_call c = call_for(GATEWAY_FETCH);
        struct stripe_verdict v;

        c.intent_id = S("");
        v = judge(&c, 200, rows[i].page, NULL);
        if (v.answer != rows[i].answer || !str_eq(v.more, str_of(rows[i].more)))
            fail_msg("%s: %d " STR_FMT, rows[i].why, v.answer, STR_ARG(v.more));
    }
}

static void a_refund_is_found_among_the_intents_refunds(void **state)
{
    struct gateway_call c = call_for(GATEWAY_FETCH_REFUND);
    struct stripe_verdict v = judge(
        &c, 200, LIST("{'id':'re_0','metadata':{}}," REFUND_OBJECT("succeeded"), "false"), NULL);

    (void)state;
    assert_int_equal(v.answer, GATEWAY_OK);
    expect_str("id", c.fact.refund_id, "re_1");
}

static void without_an_answer_it_depends_on_what_was_sent(void **state)
{
    static const struct {
        enum call_result result;
        bool timed_out;
        enum gateway_answer answer;
        bool again, maybe;
        const char *code;
    } rows[] = {
        { CALL_NOT_SENT, false, GATEWAY_RETRY_LATER, true, false, "not_sent" },
        { CALL_NOT_SENT, true, GATEWAY_RETRY_LATER, false, false, "not_sent" },
        { CALL_UNCERTAIN, false, GATEWAY_UNCERTAIN, true, true, "connection_lost" },
        { CALL_UNCERTAIN, true, GATEWAY_UNCERTAIN, false, true, "timeout" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct call http = { .result = rows[i].result, .why = "because" };
        struct gateway_call c = call_for(GATEWAY_CAPTURE);
        struct stripe_verdict v = stripe_judge(&c, &http, rows[i].timed_out);

        assert_int_equal(v.answer, rows[i].answer);
        assert_int_equal(v.again, rows[i].again);
        assert_int_equal(v.maybe, rows[i].maybe);
        assert_string_equal(c.error_code, rows[i].code);
        assert_string_equal(c.error_message, "because");
    }
}

static void a4_nothing_of_a_wrong_key_is_repeated(void **state)
{
    struct gateway_call c = call_for(GATEWAY_AUTHORIZE);

    (void)state;
    judge(&c, 401,
          "{'error':{'type':'invalid_request_error','message':"
          "'Invalid API Key provided: sk_test_****6789'}}",
          NULL);
    assert_null(strstr(c.error_message, "6789"));
    assert_string_equal(c.error_code, "invalid_request_error");
}

static void long_words_are_cut_between_characters(void **state)
{
    struct gateway_call c = call_for(GATEWAY_AUTHORIZE);
    char body[2048] = "{'error':{'type':'invalid_request_error','code':'";

    (void)state;
    for (int i = 0; i < 30; i++)
        strcat(body, "長い");
    strcat(body, "','message':'x");
    for (int i = 0; i < 100; i++)
        strcat(body, "長い");
    strcat(body, "'}}");
    judge(&c, 400, body, NULL);
    assert_int_equal(strlen(c.error_code), 63);
    assert_int_equal(strlen(c.error_message), 253); /* 1 + 84 characters of 3 bytes */
    assert_true(str_is_utf8(str_of(c.error_message)));
}

static void an_answer_that_the_arena_cannot_hold_is_uncertain(void **state)
{
    struct gateway_call c = call_for(GATEWAY_CAPTURE);
    struct arena small;

    (void)state;
    for (size_t limit = 0; limit < 200; limit += 16) {
        struct stripe_verdict v;

        arena_init(&small, limit);
        c.arena = &small;
        v = judge(&c, 200, INTENT_PAID, NULL);
        if (v.answer != GATEWAY_OK && v.answer != GATEWAY_UNCERTAIN)
            fail_msg("%d", v.answer);
        assert_true(limit || v.answer == GATEWAY_UNCERTAIN);
        arena_release(&small);
    }
}

static int tidy(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_success_is_the_state_it_tells),
        TEST(a_success_that_cannot_be_understood_is_uncertain),
        TEST(an_answer_in_another_currency_is_uncertain),
        TEST(what_was_not_done_is_told_by_the_status),
        TEST(a_wrong_state_is_success_where_it_is_what_was_asked_for),
        TEST(a_fetch_that_is_not_answered_means_ask_again),
        TEST(an_intent_of_an_open_session_is_not_cancelled),
        TEST(d11_a_declined_intent_can_be_confirmed_again),
        TEST(a_session_is_made_and_ended),
        TEST(a_decline_tells_its_reasons),
        TEST(a_refund_is_a_refund),
        TEST(a_list_is_read_until_ours_is_found_or_it_ends),
        TEST(a_refund_is_found_among_the_intents_refunds),
        TEST(without_an_answer_it_depends_on_what_was_sent),
        TEST(a4_nothing_of_a_wrong_key_is_repeated),
        TEST(long_words_are_cut_between_characters),
        TEST(an_answer_that_the_arena_cannot_hold_is_uncertain),
    };

    return cmocka_run_group_tests(tests, NULL, tidy);
}
