/* money.h - what the tables of settle, claim and take_intent share: two gateways that are never
 * called, and payments in a state of the test's choice, each with an intent of its own.
 *
 * Everything is made inside the unit that is tested, by the clock of the store, which is the real
 * one: so a moment is told by its distance from now. */
#pragma once

#include "payment/claim.h"
#include "payment/transition.h"
#include "server/payables.h"
#include "unit/gateway/stand_in.h"
#include "unit/queue/rig.h"

enum { PRICE = 1000, PART = 400, HOUR_MS = 3600 * 1000 };

static struct {
    struct rig *rig;
    struct payments payments;
    struct gateways gateways;
    struct stand_in replays; /* as Stripe: a key that it knows gets its first answer again */
    struct stand_in forgets; /* as PayPay: it does not */
} w;

static inline void world_begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    w.replays = stand_in_new();
    w.replays.gateway.name = "replays";
    w.replays.gateway.replays = true;
    w.replays.gateway.default_method = S("pm_card_visa");
    w.forgets = stand_in_new();
    w.forgets.gateway.name = "forgets";
    w.forgets.gateway.methods = "paypay";
    w.gateways = (struct gateways){
        .all = { &w.replays.gateway, &w.forgets.gateway },
        .count = 2,
        .routes = { { .method = S("paypay"), .to = &w.forgets.gateway } },
        .route_count = 1,
    };
    rig_queue(w.rig, 0, (struct queue_options){ 0 });
    w.payments = (struct payments){ .notifier.runtime = &w.payments.runtime,
                                    .runtime.env = &w.rig->env[0],
                                    .runtime.store = w.rig->store[0],
                                    .runtime.queue = w.rig->queue[0],
                                    .runtime.executor = &w.rig->den.desk.executor,
                                    .gateways = &w.gateways,
                                    .payables = &server_payables,
                                    .waiting = waiting_new(),
                                    .key_ttl_ms = 24 * HOUR_MS,
                                    .action_limit_ms = HOUR_MS };
}

static inline void world_end(void)
{
    waiting_free(w.payments.waiting);
}

/* --- ids --- */

static inline struct str id_text(struct arena *a, const char *prefix, struct uuid id)
{
    char text[UUID_TEXT + 8];
    int n = snprintf(text, sizeof(text), "%s", prefix);

    uuid_text(id, text + n);
    return arena_str(a, str_of(text));
}

static inline const char *sql_id(struct uuid id) /* as both databases read it */
{
    static char texts[4][64];
    static unsigned next;
    char *text = texts[next++ % COUNT(texts)];
    int n = snprintf(text, sizeof(texts[0]), w.rig->postgres ? "'\\x" : "x'");

    for (size_t i = 0; i < sizeof(id.b); i++)
        n += snprintf(text + n, sizeof(texts[0]) - (size_t)n, "%02x", id.b[i]);
    snprintf(text + n, sizeof(texts[0]) - (size_t)n, "'");
    return text;
}

/* --- a payment --- */

struct scene {
    enum payment_context context;
    enum payment_status status;
    int64_t captured; /* 0: NULL */
    bool no_intent;   /* nothing of it is known at the gateway */
    bool session;     /* it has a session of the gateway's page */
    bool given_up, place_held, disputed;
    bool declined;                     /* a try of it has failed */
    bool forgets;                      /* it is with that gateway */
    const struct uuid *subject, *user; /* NULL: a new one */
};

static inline struct money price(void)
{
    struct money m;

    assert_true(money_make(PRICE, S("JPY"), &m));
    return m;
}

/* PENDING and new; open_op is its claim's id. */
static inline enum err payment_make(struct tx *tx, struct arena *a, const struct scene *s,
                                    struct payment *ret)
{
    struct env *env = tx_env(tx);
    struct payment p = { .id = env_uuid(env),
                         .context = s->context,
                         .subject_id = s->subject ? *s->subject : env_uuid(env),
                         .user_id = s->user ? *s->user : env_uuid(env),
                         .money = price(),
                         .captured = MINOR_NONE,
                         .refunded = MINOR_NONE,
                         .gateway = s->forgets ? S("forgets") : S("replays"),
                         .idempotency_key = env_uuid(env),
                         .claim_id = env_uuid(env),
                         .version = 1,
                         .created_ms = env_now_ms(env) };
    enum err e = payment_add(tx, &p);

    p.status = s->status;
    p.captured.minor = s->captured ? s->captured : -1;
    if (s->status == PAYMENT_REFUNDED && s->captured)
        p.refunded.minor = s->captured;
    if (!s->no_intent)
        p.gateway_transaction_id = id_text(a, "pi_", p.id);
    if (s->session)
        p.checkout_session_id = id_text(a, "cs_", p.id);
    if (s->declined)
        p.failure_reason = S("card_declined");
    p.given_up = s->given_up;
    p.place_held = s->place_held;
    p.disputed = s->disputed;
    *ret = p;
    return e ? e : payment_store(tx, ret, env_now_ms(env));
}

/* --- what a gateway says --- */

enum says {
    NOTHING,
    OPEN,
    ACTION,
    DECLINED,
    AUTHORIZED,
    CONFIRMING, /* AUTHORIZED, and its customer has to agree to the capture (PayPay) */
    SUCCEEDED,
    IN_PART, /* SUCCEEDED with less than was asked for */
    CANCELED,
    LAPSED,        /* CANCELED, since nobody captured it in time */
    TOO_MUCH,      /* AUTHORIZED, with more than was asked for */
    MUCH_TOO_MUCH, /* SUCCEEDED, the same */
    SESSION_IS_OPEN,
    SESSION_IS_OVER,
    SESSION_IS_PAID,
    REFUNDED,
    REFUNDING,
    NOT_REFUNDED,
    REFUNDED_LESS, /* another sum than was asked for */
    SAYS
};

static const char *const says_names[SAYS] = {
    [NOTHING] = "nothing",
    [OPEN] = "open",
    [ACTION] = "action",
    [DECLINED] = "declined",
    [AUTHORIZED] = "authorized",
    [CONFIRMING] = "confirming",
    [SUCCEEDED] = "succeeded",
    [IN_PART] = "in part",
    [CANCELED] = "canceled",
    [LAPSED] = "lapsed",
    [TOO_MUCH] = "too much",
    [MUCH_TOO_MUCH] = "much too much",
    [SESSION_IS_OPEN] = "session open",
    [SESSION_IS_OVER] = "session over",
    [SESSION_IS_PAID] = "session paid",
    [REFUNDED] = "refunded",
    [REFUNDING] = "refunding",
    [NOT_REFUNDED] = "not refunded",
    [REFUNDED_LESS] = "refunded less",
};

static inline struct fact intent_fact(enum says says, struct str intent)
{
    static const enum intent_state states[SAYS] = {
        [ACTION] = INTENT_ACTION,         [DECLINED] = INTENT_DECLINED,
        [AUTHORIZED] = INTENT_AUTHORIZED, [CONFIRMING] = INTENT_AUTHORIZED,
        [SUCCEEDED] = INTENT_SUCCEEDED,   [IN_PART] = INTENT_SUCCEEDED,
        [CANCELED] = INTENT_CANCELED,     [LAPSED] = INTENT_CANCELED,
        [TOO_MUCH] = INTENT_AUTHORIZED,   [MUCH_TOO_MUCH] = INTENT_SUCCEEDED,
    };
    bool more = says == TOO_MUCH || says == MUCH_TOO_MUCH;
    struct fact f = { .kind = FACT_INTENT,
                      .state = states[says],
                      .intent_id = intent,
                      .currency = "JPY",
                      .amount = more ? PRICE + 1 : PRICE };

    if (f.state == INTENT_SUCCEEDED)
        f.received = says == IN_PART ? PART : f.amount;
    if (says == LAPSED)
        f.cancel_reason = S("expired");
    if (says == DECLINED)
        f.failure_code = S("card_declined");
    if (says == ACTION || says == CONFIRMING)
        f.action_type = S("redirect");
    return f;
}
