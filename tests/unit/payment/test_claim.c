/* What a claim makes of a request (claim.c), as tables: who may do what to which payment, and what
 * a key that is known is worth. A refusal claims no key and changes nothing (I5). */
#include "booking/booking.h"
#include "unit/payment/money.h"

enum who { OWNER, STRANGER, SERVICE };

static struct {
    struct uuid owner, booking, payment;
    struct arena arena;
} given;

/* --- one claim --- */

static struct claim claim_new(struct operate *o)
{
    struct env *env = &w.rig->env[0];

    return (struct claim){ .o = o,
                           .payment_id = env_uuid(env),
                           .operation_id = env_uuid(env),
                           .message_id = env_uuid(env),
                           .refund_id = env_uuid(env),
                           .subject_id = env_uuid(env),
                           .run = run_new(&w.payments) };
}

static struct operate request(enum op_kind kind, enum who who)
{
    struct env *env = &w.rig->env[0];
    struct operate o = { .payments = &w.payments,
                         .kind = kind,
                         .user = who == OWNER ? given.owner : env_uuid(env),
                         .may_any = who == SERVICE,
                         .key = env_uuid(env),
                         .subject = given.booking,
                         .payment = given.payment,
                         .money = price(),
                         .arena = &given.arena };

    memset(o.hash, 'a', KEY_HASH);
    return o;
}

static enum err do_claim(struct tx *tx, void *ctx)
{
    struct claim *c = ctx;

    return claim_kind.run(tx, &c->unit);
}

static enum err claim(struct claim *c)
{
    return rig_do(w.rig, 0, do_claim, c);
}

static int64_t count(const char *from, const char *column, struct uuid id)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s WHERE %s = %s", from, column, sql_id(id));
    return sql_int(w.rig, sql);
}

static void begin(void **state)
{
    world_begin(state);
    memset(&given, 0, sizeof(given));
    arena_init(&given.arena, 1024 * 1024);
}

static void end(void)
{
    arena_release(&given.arena);
    world_end();
}

/* --- what is there before --- */

enum refunds { NO_REFUND, PART_PENDING, PART_FAILED, ALL_SUCCEEDED, TOO_MANY };

struct before {
    bool no_booking, no_payment;
    enum booking_status booking;
    struct scene scene;
    bool busy; /* another operation has no outcome yet */
    enum refunds refunds;
};

static enum err add_refunds(struct tx *tx, const struct payment *p, enum refunds refunds)
{
    static const struct {
        int count;
        int64_t amount;
        enum refund_status status;
    } rows[] = {
        [PART_PENDING] = { 1, PART, REFUND_PENDING },
        [PART_FAILED] = { 1, PART, REFUND_FAILED },
        [ALL_SUCCEEDED] = { 1, PRICE, REFUND_SUCCEEDED },
        [TOO_MANY] = { LIMIT_REFUNDS, 1, REFUND_SUCCEEDED },
    };
    enum err e = OK;

    for (int i = 0; !e && i < rows[refunds].count; i++) {
        struct refund r = { .id = env_uuid(tx_env(tx)),
                            .payment_id = p->id,
                            .amount = rows[refunds].amount,
                            .status = rows[refunds].status,
                            .created_ms = 1 };

        e = refund_add(tx, &r);
    }
    return e;
}

static enum err do_before(struct tx *tx, void *ctx)
{
    const struct before *b = ctx;
    struct env *env = tx_env(tx);
    struct booking booking = { .money = price(), .status = b->booking, .version = 1 };
    struct scene scene = b->scene;
    struct payment p;
    enum booking_put put;
    enum err e = OK;

    given.owner = booking.user_id = env_uuid(env);
    given.booking = booking.id = env_uuid(env);
    given.payment = env_uuid(env);
    if (!b->no_booking)
        e = booking_put(tx, &w.payments, &booking, env_now_ms(env), &put);
    if (e || b->no_payment)
        return e;
    scene.user = &given.owner;
    scene.subject = &given.booking;
    e = payment_make(tx, &given.arena, &scene, &p);
    given.payment = p.id;
    p.has_open_op = b->busy;
    p.open_op = p.claim_id;
    if (!e)
        e = payment_store(tx, &p, env_now_ms(env));
    return e ? e : add_refunds(tx, &p, b->refunds);
}

static void prepare(const struct before *b)
{
    struct before copy = *b;

    assert_int_equal(rig_do(w.rig, 0, do_before, &copy), OK);
}

/* --- create --- */

/* One commit: key, payment, operation and message (I7), before the gateway hears of it. */
static void is_claimed(const struct claim *c, const char *why)
{
    const struct op_run *r = c->run;
    char key[GATEWAY_KEY + 1];

    if (c->result != CLAIMED ||
        count("idempotency_records", "operation_id", c->operation_id) != 1 ||
        count("payments", "open_op", c->operation_id) != 1 ||
        count("operations", "id", c->operation_id) != 1 ||
        count("message", "id", c->message_id) != 1)
        fail_msg("%s: it is not all there", why);
    gateway_key(c->o->payment_id, c->operation_id, key);
    assert_true(str_eq(r->op.gateway_key, str_of(key))); /* D5: never the client's own */
    assert_true(r->fresh && r->loaded && r->op.has_key && !r->op.sends && !r->op.asks);
    assert_int_equal(c->message.attempt, 1);
}

static void is_refused(const struct claim *c, const char *why)
{
    if (c->result != CLAIM_IMPOSSIBLE ||
        count("idempotency_records", "operation_id", c->operation_id) ||
        count("payments", "open_op", c->operation_id) ||
        count("operations", "id", c->operation_id) || count("message", "id", c->message_id) ||
        count("refunds", "id", c->refund_id))
        fail_msg("%s: something of it is there", why);
}

// clang-format off

static void b1_d1_what_may_be_paid_and_by_whom(void **state)
{
    static const enum booking_status CONFIRMED = BOOKING_CONFIRMED, CANCELLED = BOOKING_CANCELLED;
    const struct {
        const char *clause, *why;
        struct before before;
        enum who who;
        int64_t amount;
        const char *currency, *method;
        enum err err;
        bool names_payment; /* the problem names the payment that holds the place */
    } rows[] = {
        { "B1", "its owner pays",                  { .no_payment = true },                                  OWNER,    PRICE,     "JPY", "",       OK,                 false },
        { "B1", "a service pays for the owner",    { .no_payment = true },                                  SERVICE,  PRICE,     "JPY", "",       OK,                 false },
        { "B1", "nobody else does",                { .no_payment = true },                                  STRANGER, PRICE,     "JPY", "",       ERR_FORBIDDEN,      false },
        { "B1", "there is no such booking",        { .no_booking = true, .no_payment = true },              OWNER,    PRICE,     "JPY", "",       ERR_NOT_FOUND,      false },
        { "B1", "... also not for a service",      { .no_booking = true, .no_payment = true },              SERVICE,  PRICE,     "JPY", "",       ERR_NOT_FOUND,      false },
        { "B1", "CONFIRMED is not paid again",     { .no_payment = true, .booking = CONFIRMED },            OWNER,    PRICE,     "JPY", "",       ERR_UNPROCESSABLE,  false },
        { "B1", "CANCELLED is not paid",           { .no_payment = true, .booking = CANCELLED },            OWNER,    PRICE,     "JPY", "",       ERR_UNPROCESSABLE,  false },
        { "B1", "more than it costs",              { .no_payment = true },                                  OWNER,    PRICE + 1, "JPY", "",       ERR_UNPROCESSABLE,  false },
        { "B1", "less than it costs",              { .no_payment = true },                                  OWNER,    PRICE - 1, "JPY", "",       ERR_UNPROCESSABLE,  false },
        { "B1", "in another currency",             { .no_payment = true },                                  OWNER,    PRICE,     "USD", "",       ERR_UNPROCESSABLE,  false },
        { "B1", "a stranger hears not even that",  { .no_payment = true, .booking = CANCELLED },            STRANGER, PRICE,     "JPY", "",       ERR_FORBIDDEN,      false },
        { "G5", "another gateway takes it",        { .no_payment = true },                                  OWNER,    PRICE,     "JPY", "paypay", OK,                 false },
        { "G5", "no gateway takes it",             { .no_payment = true },                                  OWNER,    PRICE,     "JPY", "shells", ERR_UNPROCESSABLE,  false },
        { "D1", "one is under way",                { .scene.status = PAYMENT_PENDING },                     OWNER,    PRICE,     "JPY", "",       ERR_PAYMENT_EXISTS, true  },
        { "D1", "one is held",                     { .scene.status = PAYMENT_AUTHORIZED },                  OWNER,    PRICE,     "JPY", "",       ERR_PAYMENT_EXISTS, true  },
        { "D1", "it is paid",                      { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE } }, OWNER, PRICE, "JPY", "",       ERR_PAYMENT_EXISTS, true  },
        { "D1", "... and CONFIRMED: named too",    { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE }, .booking = CONFIRMED }, OWNER, PRICE, "JPY", "", ERR_PAYMENT_EXISTS, true },
        { "D1", "... whoever asks for how much",   { .scene.status = PAYMENT_PENDING },                     SERVICE,  PRICE + 1, "JPY", "",       ERR_PAYMENT_EXISTS, true  },
        { "D1", "FAILED, its intent may live",     { .scene = { .status = PAYMENT_FAILED, .place_held = true } }, OWNER, PRICE,  "JPY", "",       ERR_PAYMENT_EXISTS, true  },
        { "D1", "FAILED, and surely dead",         { .scene.status = PAYMENT_FAILED },                      OWNER,    PRICE,     "JPY", "",       OK,                 false },
        { "D1", "voided",                          { .scene.status = PAYMENT_REFUNDED },                    OWNER,    PRICE,     "JPY", "",       OK,                 false },
        { "D1", "all went back",                   { .scene = { .status = PAYMENT_REFUNDED, .captured = PRICE } }, OWNER, PRICE, "JPY", "",       OK,                 false },
        { "B1", "a stranger hears of no payment",  { .scene.status = PAYMENT_PENDING },                     STRANGER, PRICE,     "JPY", "",       ERR_FORBIDDEN,      false },
    };
    // clang-format on

    begin(state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct operate o;
        struct claim c;
        enum err e;

        prepare(&rows[i].before);
        o = request(OP_CREATE, rows[i].who);
        assert_true(money_make(rows[i].amount, str_of(rows[i].currency), &o.money));
        o.method_type = str_of(rows[i].method);
        c = claim_new(&o);
        e = claim(&c);
        if (e != rows[i].err)
            fail_msg("%s %s: %s", rows[i].clause, rows[i].why, err_code(e));
        if (rows[i].err)
            is_refused(&c, rows[i].why);
        else
            is_claimed(&c, rows[i].why);
        if (rows[i].err && (o.has_payment != rows[i].names_payment ||
                            (o.has_payment && !uuid_eq(o.payment_id, given.payment))))
            fail_msg("%s %s: it names another payment", rows[i].clause, rows[i].why);
        if (!e)
            assert_true(str_eq(c.run->payment.gateway,
                               str_eq(o.method_type, S("paypay")) ? S("forgets") : S("replays")));
        run_free(c.run);
    }
    end();
}

/* --- capture, refund, void --- */

// clang-format off

static void p3_d12_what_may_be_done_to_a_payment(void **state)
{
    enum { ALL = -1 };
    static const struct {
        const char *clause, *why;
        enum op_kind kind;
        struct before before;
        enum who who;
        int64_t amount; /* ALL: none is named */
        enum err err;
        int64_t claimed; /* OK: this much; -1: no sum */
    } rows[] = {
        { "P3",  "what is held is captured",        OP_CAPTURE, { .scene.status = PAYMENT_AUTHORIZED },                                            OWNER,    ALL,       OK,                PRICE },
        { "P4",  "in part",                         OP_CAPTURE, { .scene.status = PAYMENT_AUTHORIZED },                                            SERVICE,  PART,      OK,                PART  },
        { "P4",  "the whole, by its name",          OP_CAPTURE, { .scene.status = PAYMENT_AUTHORIZED },                                            OWNER,    PRICE,     OK,                PRICE },
        { "P3",  "never more than is held",         OP_CAPTURE, { .scene.status = PAYMENT_AUTHORIZED },                                            SERVICE,  PRICE + 1, ERR_UNPROCESSABLE, 0     },
        { "P1",  "not nothing",                     OP_CAPTURE, { .scene.status = PAYMENT_AUTHORIZED },                                            SERVICE,  0,         ERR_UNPROCESSABLE, 0     },
        { "P3",  "not before it is held",           OP_CAPTURE, { .scene.status = PAYMENT_PENDING },                                               OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "P4",  "not twice",                       OP_CAPTURE, { .scene = { .status = PAYMENT_CAPTURED, .captured = PART } },                     OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "D9",  "not what was voided",             OP_CAPTURE, { .scene.status = PAYMENT_REFUNDED },                                              OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "P3",  "not what failed",                 OP_CAPTURE, { .scene.status = PAYMENT_FAILED },                                                OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "D21", "not for a cancelled booking",     OP_CAPTURE, { .scene.status = PAYMENT_AUTHORIZED, .booking = BOOKING_CANCELLED },              SERVICE,  ALL,       ERR_UNPROCESSABLE, 0     },
        { "P7",  "not while nobody knows",          OP_CAPTURE, { .scene.status = PAYMENT_AUTHORIZED, .busy = true },                              OWNER,    ALL,       ERR_UNCERTAIN,     0     },
        { "B1",  "not by a stranger",               OP_CAPTURE, { .scene.status = PAYMENT_AUTHORIZED },                                            STRANGER, ALL,       ERR_FORBIDDEN,     0     },
        { "B1",  "... who hears nothing else",      OP_CAPTURE, { .scene.status = PAYMENT_PENDING, .busy = true },                                 STRANGER, ALL,       ERR_FORBIDDEN,     0     },
        { "P2",  "there is no such payment",        OP_CAPTURE, { .no_payment = true },                                                            SERVICE,  ALL,       ERR_NOT_FOUND,     0     },

        { "P3",  "what was captured goes back",     OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE } },                    OWNER,    ALL,       OK,                PRICE },
        { "P4",  "in part",                         OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE } },                    SERVICE,  PART,      OK,                PART  },
        { "P3",  "never more than was captured",    OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE } },                    SERVICE,  PRICE + 1, ERR_UNPROCESSABLE, 0     },
        { "D10", "captured in part: that part",     OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PART } },                     OWNER,    ALL,       OK,                PART  },
        { "D10", "... and no more",                 OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PART } },                     SERVICE,  PART + 1,  ERR_UNPROCESSABLE, 0     },
        { "P1",  "not nothing",                     OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE } },                    SERVICE,  0,         ERR_UNPROCESSABLE, 0     },
        { "D12", "a refund reserves its sum",       OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE }, .refunds = PART_PENDING },  OWNER,   ALL,              OK,                PRICE - PART },
        { "D12", "... which nobody has twice",      OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE }, .refunds = PART_PENDING },  SERVICE, PRICE - PART + 1, ERR_UNPROCESSABLE, 0     },
        { "D12", "one that failed reserves none",   OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE }, .refunds = PART_FAILED },   OWNER,   ALL,              OK,                PRICE },
        { "D12", "nothing is left",                 OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE }, .refunds = ALL_SUCCEEDED }, OWNER,   ALL,              ERR_UNPROCESSABLE, 0     },
        { "D12", "there are too many already",      OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE }, .refunds = TOO_MANY },      OWNER,   ALL,              ERR_UNPROCESSABLE, 0     },
        { "D22", "a dispute blocks it",             OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE, .disputed = true } },  OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "P3",  "not what is only held",           OP_REFUND,  { .scene.status = PAYMENT_AUTHORIZED },                                            OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "P3",  "not what nobody has paid",        OP_REFUND,  { .scene.status = PAYMENT_PENDING },                                               OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "P3",  "not twice",                       OP_REFUND,  { .scene = { .status = PAYMENT_REFUNDED, .captured = PRICE } },                    OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "P3",  "not what failed",                 OP_REFUND,  { .scene.status = PAYMENT_FAILED },                                                OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "P7",  "not while nobody knows",          OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE }, .busy = true },      OWNER,    ALL,       ERR_UNCERTAIN,     0     },
        { "B1",  "not by a stranger",               OP_REFUND,  { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE } },                    STRANGER, ALL,       ERR_FORBIDDEN,     0     },
        { "C1",  "a purchase: by who sells it",     OP_REFUND,  { .scene = { .context = CONTEXT_PURCHASE, .status = PAYMENT_CAPTURED, .captured = PRICE } },  OWNER,    ALL,       ERR_FORBIDDEN,     0     },
        { "P2",  "there is no such payment",        OP_REFUND,  { .no_payment = true },                                                            SERVICE,  ALL,       ERR_NOT_FOUND,     0     },

        { "P3",  "what is held is let go",          OP_VOID,    { .scene.status = PAYMENT_AUTHORIZED },                                            OWNER,    ALL,       OK,                -1    },
        { "P3",  "a void has no sum",               OP_VOID,    { .scene.status = PAYMENT_AUTHORIZED },                                            OWNER,    PRICE,     OK,                -1    },
        { "D23", "what nobody has paid yet",        OP_VOID,    { .scene.status = PAYMENT_PENDING },                                               OWNER,    ALL,       OK,                -1    },
        { "D23", "... of which there is a page",    OP_VOID,    { .scene = { .status = PAYMENT_PENDING, .no_intent = true, .session = true } },    OWNER,    ALL,       OK,                -1    },
        { "D23", "... of which there is nothing",   OP_VOID,    { .scene = { .status = PAYMENT_PENDING, .no_intent = true } },                     OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "P3",  "not what was captured",           OP_VOID,    { .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE } },                    OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "P3",  "not twice",                       OP_VOID,    { .scene.status = PAYMENT_REFUNDED },                                              OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "P3",  "not what failed",                 OP_VOID,    { .scene.status = PAYMENT_FAILED },                                                OWNER,    ALL,       ERR_UNPROCESSABLE, 0     },
        { "D21", "also of a cancelled booking",     OP_VOID,    { .scene.status = PAYMENT_AUTHORIZED, .booking = BOOKING_CANCELLED },              OWNER,    ALL,       OK,                -1    },
        { "P7",  "not while nobody knows",          OP_VOID,    { .scene.status = PAYMENT_AUTHORIZED, .busy = true },                              OWNER,    ALL,       ERR_UNCERTAIN,     0     },
        { "B1",  "not by a stranger",               OP_VOID,    { .scene.status = PAYMENT_AUTHORIZED },                                            STRANGER, ALL,       ERR_FORBIDDEN,     0     },
        { "P2",  "there is no such payment",        OP_VOID,    { .no_payment = true },                                                            SERVICE,  ALL,       ERR_NOT_FOUND,     0     },
    };
    // clang-format on

    begin(state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        bool refused = rows[i].err == ERR_UNPROCESSABLE;
        struct operate o;
        struct claim c;
        enum err e;

        prepare(&rows[i].before);
        o = request(rows[i].kind, rows[i].who);
        o.has_amount = rows[i].amount != ALL;
        o.amount = rows[i].amount;
        c = claim_new(&o);
        e = claim(&c);
        if (e != rows[i].err || (!e && c.run->op.amount != rows[i].claimed))
            fail_msg("%s %s %s: %s, %lld", rows[i].clause, op_name(rows[i].kind), rows[i].why,
                     err_code(e), (long long)c.run->op.amount);
        if (e)
            is_refused(&c, rows[i].why);
        else
            is_claimed(&c, rows[i].why);
        if (o.has_current != refused || (refused && o.current != rows[i].before.scene.status))
            fail_msg("%s %s: 422 names the state", rows[i].clause, rows[i].why);
        if (!e && rows[i].kind == OP_REFUND) /* D12: reserved before the gateway is asked */
            assert_int_equal(count("refunds", "status = 'pending' AND id", c.refund_id), 1);
        run_free(c.run);
    }
    end();
}

/* --- a key that is known --- */

enum record { DONE, RUNNING, UNDER_WAY, NOBODY_KNOWS };

/* The record that the claim before has left behind, and who has its message. */
static void age(const struct claim *c, enum record record, int64_t ago_ms)
{
    const char *key = sql_id(c->operation_id);
    char sql[512];

    snprintf(sql, sizeof(sql),
             "UPDATE idempotency_records SET created_at = created_at - %lld%s"
             " WHERE operation_id = %s",
             (long long)ago_ms,
             record == DONE ? ", state = 'done', response_status = 201, response_body = '{}'" : "",
             key);
    sql_int(w.rig, sql);
    snprintf(sql, sizeof(sql),
             "UPDATE operations SET phase = '%s', claimed_at = claimed_at - %lld,"
             " sent_at = sent_at - %lld, sends = 1, asks = 1 WHERE id = %s",
             record == DONE      ? "done"
             : record == RUNNING ? "send"
                                 : "unknown",
             (long long)ago_ms, (long long)ago_ms, key);
    sql_int(w.rig, sql);
    if (record == NOBODY_KNOWS) {
        snprintf(sql, sizeof(sql), "UPDATE message SET owner = NULL WHERE id = %s",
                 sql_id(c->message_id));
        sql_int(w.rig, sql);
    }
}

static void i2_d5_d6_what_a_known_key_is_worth(void **state)
{
    enum { SAME, OTHER };
    static const int64_t day = 24 * HOUR_MS, minute = 60 * 1000;
    // clang-format off
    const struct {
        const char *clause, *why;
        enum record record;
        int64_t ago_ms; /* since it was claimed */
        int content;
        enum claimed result;
        const char *phase; /* of the operation afterwards */
    } rows[] = {
        { "I2", "the stored answer",                DONE,         0,                    SAME,  CLAIM_DONE,    "done"    },
        { "I2", "other content",                    DONE,         0,                    OTHER, CLAIM_OTHER,   "done"    },
        { "I2", "nearly a day: still the answer",   DONE,         day - minute,         SAME,  CLAIM_DONE,    "done"    },
        { "I2", "nearly a day: other content",      DONE,         day - minute,         OTHER, CLAIM_OTHER,   "done"    },
        { "I4", "one is at it: wait",               RUNNING,      0,                    SAME,  CLAIM_RUNNING, "send"    },
        { "I2", "... for something else",           RUNNING,      0,                    OTHER, CLAIM_OTHER,   "send"    },
        { "D5", "what runs never expires",          RUNNING,      2 * day,              SAME,  CLAIM_RUNNING, "send"    },
        { "D5", "... nor becomes something else",   RUNNING,      2 * day,              OTHER, CLAIM_OTHER,   "send"    },
        { "D6", "nobody knows: sent again",         NOBODY_KNOWS, minute,               SAME,  CLAIMED,       "send"    },
        { "I2", "... for something else",           NOBODY_KNOWS, minute,               OTHER, CLAIM_OTHER,   "unknown" },
        { "D6", "somebody is asking right now",     UNDER_WAY,    minute,               SAME,  CLAIM_RUNNING, "unknown" },
        { "D6", "nearly 23 h: sent again",          NOBODY_KNOWS, 23 * HOUR_MS - minute, SAME, CLAIMED,       "send"    },
        { "D6", "23 h: only asked for",             NOBODY_KNOWS, 23 * HOUR_MS,         SAME,  CLAIMED,       "unknown" },
        { "D5", "unknown for days: only asked for", NOBODY_KNOWS, 3 * day,              SAME,  CLAIMED,       "unknown" },
    };
    // clang-format on
    static const struct before nothing = { .no_payment = true };

    begin(state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct operate o;
        struct claim first, c;
        char sql[128], phase[16];

        prepare(&nothing);
        o = request(OP_CREATE, OWNER);
        first = claim_new(&o);
        assert_int_equal(claim(&first), OK);
        age(&first, rows[i].record, rows[i].ago_ms);
        c = claim_new(&o);
        if (rows[i].content == OTHER)
            o.hash[0] = 'b';
        assert_int_equal(claim(&c), OK);
        snprintf(sql, sizeof(sql), "SELECT phase FROM operations WHERE id = %s",
                 sql_id(first.operation_id));
        sql_text(w.rig, sql, phase, sizeof(phase));
        if (c.result != rows[i].result || strcmp(phase, rows[i].phase) != 0 ||
            count("operations", "id", c.operation_id) || count("payments", "id", c.payment_id) ||
            !o.has_payment || !uuid_eq(o.payment_id, first.payment_id))
            fail_msg("%s %s: %d, %s", rows[i].clause, rows[i].why, (int)c.result, phase);
        if (rows[i].result == CLAIMED) { /* the same operation and the same key, on its next try */
            assert_true(uuid_eq(c.run->op.id, first.operation_id) && c.run->fresh);
            assert_true(str_eq(c.run->op.gateway_key, first.run->op.gateway_key));
            assert_int_equal(c.message.attempt, 2);
            assert_int_equal(c.run->op.sends, 1);
        }
        run_free(first.run);
        run_free(c.run);
    }
    end();
}

/* I1: user and operation are part of it. I2: what has expired is new. */
static void i1_i2_a_key_is_new_where_nothing_of_it_counts(void **state)
{
    static const struct before held = { .scene.status = PAYMENT_AUTHORIZED };
    struct operate o, other;
    struct claim first, c;

    begin(state);
    prepare(&held);
    o = request(OP_VOID, SERVICE);
    first = claim_new(&o);
    assert_int_equal(claim(&first), OK);

    prepare(&held);
    other = request(OP_VOID, SERVICE); /* another user */
    other.key = o.key;
    c = claim_new(&other);
    assert_int_equal(claim(&c), OK);
    is_claimed(&c, "another user's");
    run_free(c.run);

    prepare(&held);
    other = request(OP_CAPTURE, SERVICE); /* another operation */
    other.key = o.key;
    other.user = o.user;
    c = claim_new(&other);
    assert_int_equal(claim(&c), OK);
    is_claimed(&c, "another operation's");
    run_free(c.run);

    age(&first, DONE, 24 * HOUR_MS + 1);
    prepare(&held);
    other = request(OP_VOID, SERVICE); /* expired: with whatever content */
    other.key = o.key;
    other.user = o.user;
    other.hash[0] = 'b';
    c = claim_new(&other);
    assert_int_equal(claim(&c), OK);
    is_claimed(&c, "expired");
    run_free(c.run);
    run_free(first.run);
    end();
}

/* I2: to the millisecond. */
static enum err do_expire(struct tx *tx, void *ctx)
{
    static const struct {
        const char *why;
        int64_t after_ms;
        bool ours;
    } rows[] = {
        { "new", 0, true },
        { "at once", 1, false },
        { "exactly 24 h still replays", 24 * HOUR_MS, false },
        { "a millisecond later it is new", 24 * HOUR_MS + 1, true },
        { "and counts from there", 48 * HOUR_MS + 1, false },
    };
    struct operation op = { .id = env_uuid(tx_env(tx)) };
    struct operate *o = ctx;
    enum err e = OK;

    for (size_t i = 0; !e && i < COUNT(rows); i++) {
        bool ours = !rows[i].ours;

        e = key_claim(tx, o, op.id, op.id, rows[i].after_ms, &ours);
        if (!e && ours != rows[i].ours)
            fail_msg("%s", rows[i].why);
        op = (struct operation){
            .id = op.id, .kind = o->kind, .has_key = true, .user = o->user, .key = o->key
        };
        if (!e && ours)
            e = key_done(tx, &op, 200, S("{}"));
    }
    return e;
}

static void i2_exactly_24_hours_still_replay(void **state)
{
    struct operate o;

    begin(state);
    o = request(OP_VOID, OWNER);
    assert_int_equal(rig_do(w.rig, 0, do_expire, &o), OK);
    end();
}

#define TESTS(ON)                                                                                  \
    {                                                                                              \
        ON(b1_d1_what_may_be_paid_and_by_whom), ON(p3_d12_what_may_be_done_to_a_payment),          \
            ON(i2_d5_d6_what_a_known_key_is_worth),                                                \
            ON(i1_i2_a_key_is_new_where_nothing_of_it_counts),                                     \
            ON(i2_exactly_24_hours_still_replay),                                                  \
    }

int main(void)
{
    const struct CMUnitTest sqlite[] = TESTS(ON_SQLITE);
    const struct CMUnitTest postgres[] = TESTS(ON_POSTGRES);

    return RUN_BOTH(sqlite, postgres);
}
