/* What a fact of the gateway makes of a payment (take_intent in move.c), as tables: the verdict,
 * the payment behind it, the row of the intent, and what is started for money that nobody wants
 * (D2). The bare table of states is domain/payment.c's, and is tested there; here is what surrounds
 * it: whose intent it is, whether its subject still takes money, what was heard before. Each fact
 * is taken twice: twice is once (E7). */
#include "booking/booking.h"
#include "collection/collection.h"
#include "unit/payment/money.h"

enum whose {
    OWN,   /* the payment's */
    OTHER, /* a second one that names it */
    NEW    /* the payment knows of none yet */
};

enum flags {
    GIVEN_UP = 1,  /* FAILED for good: what lands goes back */
    HELD = 2,      /* FAILED, and its intent may live: the place is held (D1) */
    CLOSED = 4,    /* its booking is CANCELLED, or another payment has paid it */
    TRIED = 8,     /* it has a failure of its own: PENDING, a try of it has failed */
    DEAD = 16,     /* the intent was cancelled in the same breath */
    PAGE = 32,     /* paid on the gateway's page by a participant; else a booking */
    CAPTURED = 64, /* of REFUNDED: its money had come */
};

enum { EARLIER = 2 };

struct rule {
    const char *clause, *why;
    enum payment_status before;
    int flags;
    enum says earlier[EARLIER]; /* taken before */
    enum whose whose;
    enum says says;

    enum verdict verdict;
    enum payment_status after;
    bool held;          /* the place, afterwards */
    const char *starts; /* "void stray", or "": an operation of our own; "2 ...": so many */
    const char *row;    /* of the intent; "": none */
    const char *reason; /* the payment's */
};

struct trial {
    const struct rule *rule;
    struct arena arena;
    struct payment p;
    struct str intent;

    enum verdict verdict;
    struct payment after;
    char started[160], row[32];
};

static enum err do_subject(struct tx *tx, struct trial *t)
{
    struct env *env = tx_env(tx);
    int64_t now_ms = env_now_ms(env);
    bool closed = t->rule->flags & CLOSED;
    struct participant_input who = { .id = t->p.subject_id, .name = S("x"), .amount = PRICE };
    struct collection_input in = { .id = env_uuid(env),
                                   .owner = t->p.user_id,
                                   .title = S("trip"),
                                   .currency = "JPY",
                                   .time_zone = S("Asia/Tokyo"),
                                   .participants = &who,
                                   .participant_count = 1 };
    struct booking b = { .id = t->p.subject_id,
                         .user_id = t->p.user_id,
                         .money = price(),
                         .status = closed ? BOOKING_CANCELLED : BOOKING_PENDING,
                         .version = 1 };
    struct collection_result result;
    enum booking_put put;
    enum err e;

    if (!(t->rule->flags & PAGE))
        return booking_put(tx, &w.payments, &b, now_ms, &put);
    e = collection_put(tx, &w.payments, &t->arena, &in, true, now_ms, &result);
    if (!e && closed)
        e = TX_DO(tx, STMT_participant_paid, 1, V_INT(PRICE), V_INT(0), V_INT(now_ms),
                  v_uuid(&t->p.subject_id));
    return e;
}

static enum err do_prepare(struct tx *tx, void *ctx)
{
    struct trial *t = ctx;
    const struct rule *r = t->rule;
    struct uuid subject = env_uuid(tx_env(tx));
    bool captured = r->before == PAYMENT_CAPTURED || r->flags & CAPTURED;
    struct scene scene = { .context = r->flags & PAGE ? CONTEXT_PARTICIPANT : CONTEXT_BOOKING,
                           .status = r->before,
                           .captured = captured ? PRICE : 0,
                           .no_intent = r->whose == NEW,
                           .given_up = r->flags & GIVEN_UP,
                           .place_held = r->flags & HELD,
                           .declined = r->flags & TRIED,
                           .subject = &subject };
    enum err e;

    t->p.subject_id = subject;
    t->p.user_id = env_uuid(tx_env(tx));
    scene.user = &t->p.user_id;
    e = do_subject(tx, t); /* before its payment, or a cancellation would see to that */
    if (!e)
        e = payment_make(tx, &t->arena, &scene, &t->p);
    t->intent = id_text(&t->arena, r->whose == OTHER ? "pi2_" : "pi_", t->p.id);
    return e;
}

static enum err take(struct tx *tx, struct trial *t, enum says says)
{
    struct taking taking = { .payments = &w.payments,
                             .arena = &t->arena,
                             .now_ms = env_now_ms(tx_env(tx)),
                             .intent_is_dead = t->rule->flags & DEAD };
    struct fact f = intent_fact(says, t->intent);
    enum err e = payment_read(tx, &t->arena, t->p.id, true, &t->after);

    if (!e)
        e = take_intent(tx, &taking, &t->after, &f, &t->verdict);
    return e ? e : payment_read(tx, &t->arena, t->p.id, false, &t->after); /* what was stored */
}

static enum err do_earlier(struct tx *tx, void *ctx)
{
    struct trial *t = ctx;
    enum err e = OK;

    for (int i = 0; !e && i < EARLIER && t->rule->earlier[i]; i++)
        e = take(tx, t, t->rule->earlier[i]);
    return e;
}

static enum err do_take(struct tx *tx, void *ctx)
{
    struct trial *t = ctx;

    return take(tx, t, t->rule->says);
}

static void look_back(struct trial *t)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "SELECT CASE WHEN count(*) > 1 THEN CAST(count(*) AS TEXT) || ' ' ELSE '' END ||"
             " coalesce(max(kind || ' ' || cause), '') FROM operations WHERE payment_id = %s",
             sql_id(t->p.id));
    sql_text(w.rig, sql, t->started, sizeof(t->started));
    snprintf(sql, sizeof(sql),
             "SELECT status FROM payment_transactions WHERE stripe_payment_intent_id = '" STR_FMT
             "'",
             STR_ARG(t->intent));
    sql_text(w.rig, sql, t->row, sizeof(t->row));
}

static int64_t captured_of(const struct rule *r)
{
    bool before = r->before == PAYMENT_CAPTURED || r->flags & CAPTURED;

    if (before)
        return PRICE;
    if (r->after != PAYMENT_CAPTURED)
        return -1;
    return r->says == IN_PART ? PART : PRICE;
}

/* A stray of a second intent is named with it: "void stray:pi2_...". */
static bool is_started(const struct trial *t)
{
    size_t n = strlen(t->rule->starts);

    return n && t->rule->starts[n - 1] == ':' ? strncmp(t->started, t->rule->starts, n) == 0
                                              : strcmp(t->started, t->rule->starts) == 0;
}

static void check_state(const struct trial *t, const char *when)
{
    const struct rule *r = t->rule;
    const struct payment *p = &t->after;

    if (p->status != r->after || p->captured.minor != captured_of(r) || p->place_held != r->held ||
        !str_eq(p->failure_reason, str_of(r->reason)) || !is_started(t) ||
        strcmp(t->row, r->row) != 0)
        fail_msg("%s %s, %s: %s, %lld captured, place %d, '" STR_FMT "', starts '%s', row '%s'",
                 r->clause, r->why, when, payment_status_name(p->status),
                 (long long)p->captured.minor, p->place_held, STR_ARG(p->failure_reason),
                 t->started, t->row);
}

static void check_rule(const struct rule *r)
{
    struct trial t = { .rule = r };

    arena_init(&t.arena, 1024 * 1024);
    assert_int_equal(rig_do(w.rig, 0, do_prepare, &t), OK);
    assert_int_equal(rig_do(w.rig, 0, do_earlier, &t), OK);
    assert_int_equal(rig_do(w.rig, 0, do_take, &t), OK);
    if (t.verdict != r->verdict)
        fail_msg("%s %s: verdict %d, not %d", r->clause, r->why, (int)t.verdict, (int)r->verdict);
    look_back(&t);
    check_state(&t, "once");
    assert_int_equal(rig_do(w.rig, 0, do_take, &t), OK);
    look_back(&t);
    check_state(&t, "twice");
    arena_release(&t.arena);
}

static void check_rules(void **state, const struct rule *rules, size_t n)
{
    world_begin(state);
    for (size_t i = 0; i < n; i++)
        check_rule(&rules[i]);
    world_end();
}

#define PEND PAYMENT_PENDING
#define AUTH PAYMENT_AUTHORIZED
#define CAPT PAYMENT_CAPTURED
#define REFD PAYMENT_REFUNDED
#define FAIL PAYMENT_FAILED
#define APPLY VERDICT_APPLY
#define SAME VERDICT_SAME
#define PAST VERDICT_SUPERSEDED
#define STRAY_A VERDICT_STRAY_AUTHORIZED
#define STRAY_S VERDICT_STRAY_SUCCEEDED
#define MISM VERDICT_MISMATCH

// clang-format off

static void d7_d11_the_payments_own_intent_moves_it(void **state)
{
    static const struct rule rules[] = {
        /*                                              before flags             earlier  whose says           verdict after held   starts           row           reason */
        { "D7",  "made, and not tried",                 PEND, 0,                 { 0 },   OWN, OPEN,           SAME,   PEND, false, "",              "pending",    ""              },
        { "P4",  "its customer has to act",             PEND, 0,                 { 0 },   OWN, ACTION,         APPLY,  PEND, false, "",              "pending",    ""              },
        { "D11", "declined ends it, its intent lives",  PEND, 0,                 { 0 },   OWN, DECLINED,       APPLY,  FAIL, true,  "void declined", "failed",     "card_declined" },
        { "D1",  "declined, and cancelled at once",     PEND, DEAD,              { 0 },   OWN, DECLINED,       APPLY,  FAIL, false, "",              "failed",     "card_declined" },
        { "D7",  "held",                                PEND, 0,                 { 0 },   OWN, AUTHORIZED,     APPLY,  AUTH, false, "",              "authorized", ""              },
        { "E2",  "paid",                                PEND, 0,                 { 0 },   OWN, SUCCEEDED,      APPLY,  CAPT, false, "",              "succeeded",  ""              },
        { "D10", "captured is what was received",       PEND, 0,                 { 0 },   OWN, IN_PART,        APPLY,  CAPT, false, "",              "succeeded",  ""              },
        { "E4",  "a success clears the failed try",     PEND, TRIED,             { 0 },   OWN, SUCCEEDED,      APPLY,  CAPT, false, "",              "succeeded",  ""              },
        { "E5",  "cancelled: nothing is left to void",  PEND, 0,                 { 0 },   OWN, CANCELED,       APPLY,  FAIL, false, "",              "canceled",   "canceled"      },
        { "D10", "more is held than was asked for",     PEND, 0,                 { 0 },   OWN, TOO_MUCH,       MISM,   PEND, false, "",              "",           ""              },
        { "D10", "more was taken",                      PEND, 0,                 { 0 },   OWN, MUCH_TOO_MUCH,  MISM,   PEND, false, "",              "",           ""              },
        { "D16", "an intent that was not known yet",    PEND, 0,                 { 0 },   NEW, AUTHORIZED,     APPLY,  AUTH, false, "",              "authorized", ""              },

        { "E6",  "held: made is history",               AUTH, 0,                 { 0 },   OWN, OPEN,           PAST,   AUTH, false, "",              "",           ""              },
        { "E6",  "held: the action is history",         AUTH, 0,                 { 0 },   OWN, ACTION,         PAST,   AUTH, false, "",              "",           ""              },
        { "E6",  "held: the failed try is history",     AUTH, 0,                 { 0 },   OWN, DECLINED,       PAST,   AUTH, false, "",              "",           ""              },
        { "E7",  "held twice",                          AUTH, 0,                 { 0 },   OWN, AUTHORIZED,     SAME,   AUTH, false, "",              "authorized", ""              },
        { "P3",  "held, and captured",                  AUTH, 0,                 { 0 },   OWN, SUCCEEDED,      APPLY,  CAPT, false, "",              "succeeded",  ""              },
        { "P4",  "... in part",                         AUTH, 0,                 { 0 },   OWN, IN_PART,        APPLY,  CAPT, false, "",              "succeeded",  ""              },
        { "D21", "... of a cancelled booking: a person decides", AUTH, CLOSED,   { 0 },   OWN, SUCCEEDED,      APPLY,  CAPT, false, "",              "succeeded",  ""              },
        { "D8",  "held, and voided",                    AUTH, 0,                 { 0 },   OWN, CANCELED,       APPLY,  REFD, false, "",              "canceled",   ""              },
        { "D9",  "held, and lapsed",                    AUTH, 0,                 { 0 },   OWN, LAPSED,         APPLY,  REFD, false, "",              "canceled",   "authorization_expired" },

        { "E6",  "paid: the hold is history",           CAPT, 0,                 { 0 },   OWN, AUTHORIZED,     PAST,   CAPT, false, "",              "",           ""              },
        { "E7",  "paid twice is paid once",             CAPT, 0,                 { 0 },   OWN, SUCCEEDED,      SAME,   CAPT, false, "",              "succeeded",  ""              },
        { "E6",  "paid: a cancel is history",           CAPT, 0,                 { 0 },   OWN, CANCELED,       PAST,   CAPT, false, "",              "",           ""              },
        { "E7",  "refunded: that it was paid is known", REFD, CAPTURED,          { 0 },   OWN, SUCCEEDED,      SAME,   REFD, false, "",              "succeeded",  ""              },
        { "E7",  "voided twice",                        REFD, 0,                 { 0 },   OWN, CANCELED,       SAME,   REFD, false, "",              "canceled",   ""              },
        { "D2",  "voided, and yet paid: it goes back",  REFD, 0,                 { 0 },   OWN, SUCCEEDED,      STRAY_S, REFD, false, "refund stray", "succeeded",  ""              },

        { "E6",  "failed: the action is history",       FAIL, GIVEN_UP,          { 0 },   OWN, ACTION,         PAST,   FAIL, false, "",              "",           ""              },
        { "D1",  "failed, and now dead: place is free", FAIL, GIVEN_UP | HELD,   { 0 },   OWN, CANCELED,       SAME,   FAIL, false, "",              "canceled",   ""              },
        { "D1",  "declined once more: still alive",     FAIL, GIVEN_UP | HELD,   { 0 },   OWN, DECLINED,       SAME,   FAIL, true,  "",              "failed",     ""              },
        { "D2",  "given up, and held: let go",          FAIL, GIVEN_UP | HELD,   { 0 },   OWN, AUTHORIZED,     STRAY_A, FAIL, true, "void stray",    "authorized", ""              },
        { "D2",  "given up, and paid: it goes back",    FAIL, GIVEN_UP | HELD,   { 0 },   OWN, SUCCEEDED,      STRAY_S, FAIL, false, "refund stray", "succeeded",  ""              },
        { "E4",  "failed, not given up: a success wins", FAIL, 0,                { 0 },   OWN, SUCCEEDED,      APPLY,  CAPT, false, "",              "succeeded",  ""              },
    };

    check_rules(state, rules, COUNT(rules));
}

static void d2_d21_money_for_what_takes_none_goes_back(void **state)
{
    static const struct rule rules[] = {
        /*                                              before flags             earlier  whose says           verdict after held   starts           row           reason */
        { "D21", "cancelled booking: the hold is let go", PEND, CLOSED,          { 0 },   OWN, AUTHORIZED,     STRAY_A, PEND, false, "void stray",   "authorized", ""              },
        { "D2",  "cancelled booking: money goes back",  PEND, CLOSED,            { 0 },   OWN, SUCCEEDED,      STRAY_S, FAIL, false, "refund stray", "succeeded",  "refunded_automatically" },
        { "D2",  "... of an intent not known yet",      PEND, CLOSED,            { 0 },   NEW, SUCCEEDED,      STRAY_S, FAIL, false, "refund stray", "succeeded",  "refunded_automatically" },
        { "D21", "cancelled booking, cancelled intent", PEND, CLOSED,            { 0 },   OWN, CANCELED,       APPLY,  FAIL, false, "",              "canceled",   "canceled"      },
        { "D21", "cancelled booking, declined",         PEND, CLOSED,            { 0 },   OWN, DECLINED,       APPLY,  FAIL, true,  "void declined", "failed",     "card_declined" },
        { "D10", "... with other money: a person",      PEND, CLOSED,            { 0 },   OWN, MUCH_TOO_MUCH,  MISM,   PEND, false, "",              "",           ""              },
        { "D2",  "let go, and yet captured: both",      PEND, CLOSED, { AUTHORIZED },     OWN, SUCCEEDED,      STRAY_S, FAIL, false, "2 void stray", "succeeded",  "refunded_automatically" },
        { "D2",  "another payment has paid it",         PEND, CLOSED | PAGE,     { 0 },   OWN, SUCCEEDED,      STRAY_S, FAIL, false, "refund stray", "succeeded",  "refunded_automatically" },
        { "D2",  "... and this one is only held",       PEND, CLOSED | PAGE,     { 0 },   OWN, AUTHORIZED,     STRAY_A, PEND, false, "void stray",   "authorized", ""              },
    };

    check_rules(state, rules, COUNT(rules));
}

static void d2_a_second_intent_never_moves_the_payment(void **state)
{
    static const struct {
        enum payment_status status;
        int flags;
        const char *reason;
    } befores[] = {
        { PEND, 0, "" }, { AUTH, 0, "" }, { CAPT, 0, "" }, { REFD, 0, "" }, { REFD, CAPTURED, "" },
        { FAIL, GIVEN_UP, "" }, { FAIL, GIVEN_UP | HELD, "" }, { PEND, PAGE, "" }, { PEND, CLOSED, "" },
    };
    static const struct {
        const char *clause, *why;
        enum says says;
        const char *starts, *row;
    } rows[] = {
        { "D2", "made: no more than a row",      OPEN,          "",              "pending"    },
        { "D2", "declined: no more than a row",  DECLINED,      "",              "failed"     },
        { "D2", "dead: no more than a row",      CANCELED,      "",              "canceled"   },
        { "D2", "held: let go",                  AUTHORIZED,    "void stray:",   "authorized" },
        { "D2", "paid: it goes back",            SUCCEEDED,     "refund stray:", "succeeded"  },
        { "D2", "paid in part: that goes back",  IN_PART,       "refund stray:", "succeeded"  },
        { "D2", "whatever its sum",              MUCH_TOO_MUCH, "refund stray:", "succeeded"  },
    };
    // clang-format on

    world_begin(state);
    for (size_t b = 0; b < COUNT(befores); b++)
        for (size_t i = 0; i < COUNT(rows); i++) {
            struct rule r = { .clause = rows[i].clause,
                              .why = rows[i].why,
                              .before = befores[b].status,
                              .flags = befores[b].flags,
                              .whose = OTHER,
                              .says = rows[i].says,
                              .verdict = SAME,
                              .after = befores[b].status,
                              .held = befores[b].flags & HELD,
                              .starts = rows[i].starts,
                              .row = rows[i].row,
                              .reason = befores[b].reason };

            check_rule(&r);
        }
    world_end();
}

// clang-format off

/* Its customer confirms by himself, and every session has an intent of its own. */
static void d11_d18_on_the_gateways_page_only_money_makes_an_intent_its_own(void **state)
{
    static const struct rule rules[] = {
        /*                                              before flags             earlier  whose says           verdict after held   starts           row           reason */
        { "D11", "declined: another card may do",       PEND, PAGE,              { 0 },   OWN, DECLINED,       APPLY,  PEND, false, "",              "failed",     "card_declined" },
        { "E4",  "... and then it does",                PEND, PAGE, { DECLINED },         OWN, SUCCEEDED,      APPLY,  CAPT, false, "",              "succeeded",  ""              },
        { "E6",  "a failed try outranks an action",     PEND, PAGE, { DECLINED },         OWN, ACTION,         PAST,   PEND, false, "",              "failed",     "card_declined" },
        { "E2",  "paid",                                PEND, PAGE,              { 0 },   NEW, SUCCEEDED,      APPLY,  CAPT, false, "",              "succeeded",  ""              },
        { "D10", "paid in part counts as nothing",      PEND, PAGE,              { 0 },   NEW, IN_PART,        MISM,   PEND, false, "",              "",           ""              },
        { "D18", "a lost try: the next goes on",        PEND, PAGE,              { 0 },   NEW, CANCELED,       SAME,   PEND, false, "",              "canceled",   ""              },
        { "D18", "a declined try is not its own",       PEND, PAGE,              { 0 },   NEW, DECLINED,       APPLY,  PEND, false, "",              "failed",     "card_declined" },
        { "D23", "its own is cancelled: it is over",    PEND, PAGE,              { 0 },   OWN, CANCELED,       APPLY,  FAIL, false, "",              "canceled",   "canceled"      },
        { "D7",  "held",                                PEND, PAGE,              { 0 },   NEW, AUTHORIZED,     APPLY,  AUTH, false, "",              "authorized", ""              },
    };

    check_rules(state, rules, COUNT(rules));
}

static void e7_what_is_heard_late_ends_as_it_would_have_in_order(void **state)
{
    static const struct rule rules[] = {
        /*                                              before flags             earlier                   whose says      verdict after held   starts           row           reason */
        { "E7",  "cancelled, and held before: a void",  PEND, 0,                 { CANCELED },             OWN, AUTHORIZED, APPLY,  REFD, false, "",              "canceled",   ""              },
        { "D9",  "lapsed, and held before: a lapse",    PEND, 0,                 { LAPSED },               OWN, AUTHORIZED, APPLY,  REFD, false, "",              "canceled",   "authorization_expired" },
        { "E7",  "held, and cancelled: the same",       PEND, 0,                 { AUTHORIZED },           OWN, CANCELED,   APPLY,  REFD, false, "",              "canceled",   ""              },
        { "E7",  "a try had failed: it stays FAILED",   PEND, 0,                 { DECLINED, CANCELED },   OWN, AUTHORIZED, PAST,   FAIL, false, "void declined", "canceled",   "card_declined" },
        { "E7",  "... also where its customer confirms", PEND, PAGE,             { DECLINED, CANCELED },   OWN, AUTHORIZED, PAST,   FAIL, false, "",              "canceled",   "canceled"      },
        { "D6",  "given up by us: it stays FAILED",     FAIL, GIVEN_UP | TRIED,  { CANCELED },             OWN, AUTHORIZED, PAST,   FAIL, false, "",              "canceled",   "card_declined" },
        { "D21", "cancelled booking: it stays FAILED",  PEND, CLOSED,            { CANCELED },             OWN, AUTHORIZED, PAST,   FAIL, false, "",              "canceled",   "canceled"      },
        { "E6",  "paid, and held before",               PEND, 0,                 { SUCCEEDED },            OWN, AUTHORIZED, PAST,   CAPT, false, "",              "succeeded",  ""              },
        { "E6",  "paid, and declined before",           PEND, 0,                 { SUCCEEDED },            OWN, DECLINED,   PAST,   CAPT, false, "",              "succeeded",  ""              },
        { "E6",  "held, and declined before",           PEND, 0,                 { AUTHORIZED },           OWN, DECLINED,   PAST,   AUTH, false, "",              "authorized", ""              },
        { "D2",  "declined, and yet paid: it goes back", PEND, 0,                { DECLINED },             OWN, SUCCEEDED,  STRAY_S, FAIL, false, "2 void declined", "succeeded", "card_declined" },
    };

    check_rules(state, rules, COUNT(rules));
}

// clang-format on

/* --- which intent is the payment's afterwards --- */

static void d16_d18_which_intent_is_its_own_afterwards(void **state)
{
    // clang-format off
    static const struct {
        const char *clause, *why;
        struct rule rule;
        bool known;
    } rows[] = {
        { "D16", "made, held",        { .whose = NEW, .says = AUTHORIZED }, true },
        { "D16", "made, paid",        { .whose = NEW, .says = SUCCEEDED },  true },
        { "D16", "made, declined",    { .whose = NEW, .says = DECLINED },   true },
        { "D16", "made, to act on",   { .whose = NEW, .says = ACTION },     true },
        { "D16", "made, cancelled",   { .whose = NEW, .says = CANCELED },   true },
        { "D10", "other money",       { .whose = NEW, .says = TOO_MUCH },   false },
        { "D2",  "a stray's money",   { .whose = NEW, .says = SUCCEEDED, .flags = CLOSED }, true },
        { "D18", "page: held",        { .whose = NEW, .says = AUTHORIZED, .flags = PAGE }, true },
        { "D18", "page: paid",        { .whose = NEW, .says = SUCCEEDED, .flags = PAGE },  true },
        { "D18", "page: declined",    { .whose = NEW, .says = DECLINED, .flags = PAGE },   false },
        { "D18", "page: to act on",   { .whose = NEW, .says = ACTION, .flags = PAGE },     false },
        { "D18", "page: cancelled",   { .whose = NEW, .says = CANCELED, .flags = PAGE },   false },
        { "D2",  "a second one, paid", { .whose = OTHER, .says = SUCCEEDED }, false },
    };
    // clang-format on

    world_begin(state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct trial t = { .rule = &rows[i].rule };

        arena_init(&t.arena, 1024 * 1024);
        assert_int_equal(rig_do(w.rig, 0, do_prepare, &t), OK);
        assert_int_equal(rig_do(w.rig, 0, do_take, &t), OK);
        if (str_eq(t.after.gateway_transaction_id, t.intent) != rows[i].known)
            fail_msg("%s %s", rows[i].clause, rows[i].why);
        arena_release(&t.arena);
    }
    world_end();
}

/* --- what a hostile gateway may say --- */

static enum err do_large_refunds(struct tx *tx, void *ctx)
{
    static const struct str ids[] = { { "re_1", 4 }, { "re_2", 4 } };
    static const enum err ends[] = { OK, ERR_CONSTRAINT };
    struct trial *t = ctx;
    struct taking taking = { .payments = &w.payments,
                             .arena = &t->arena,
                             .now_ms = env_now_ms(tx_env(tx)) };
    enum err e = do_prepare(tx, ctx);

    assert_int_equal(e, OK);
    for (size_t i = 0; i < COUNT(ids); i++) {
        struct fact f = { .kind = FACT_REFUND,
                          .intent_id = t->intent,
                          .refund_id = ids[i],
                          .refund = REFUND_PENDING,
                          .currency = "JPY",
                          .amount = INT64_MAX };

        e = take_refund(tx, &taking, &t->p, &f, &t->verdict);
        assert_int_equal(e, ends[i]);
    }
    return e;
}

static void d12_refunds_that_are_more_than_64_bits_hold_are_for_a_person(void **state)
{
    static const struct rule rule = { .before = PAYMENT_CAPTURED };
    struct trial t = { .rule = &rule };

    world_begin(state);
    arena_init(&t.arena, 1024 * 1024);
    assert_int_equal(rig_do(w.rig, 0, do_large_refunds, &t), ERR_CONSTRAINT);
    arena_release(&t.arena);
    world_end();
}

#define TESTS(ON)                                                                                  \
    {                                                                                              \
        ON(d7_d11_the_payments_own_intent_moves_it),                                               \
            ON(d2_d21_money_for_what_takes_none_goes_back),                                        \
            ON(d2_a_second_intent_never_moves_the_payment),                                        \
            ON(d11_d18_on_the_gateways_page_only_money_makes_an_intent_its_own),                   \
            ON(e7_what_is_heard_late_ends_as_it_would_have_in_order),                              \
            ON(d12_refunds_that_are_more_than_64_bits_hold_are_for_a_person),                      \
            ON(d16_d18_which_intent_is_its_own_afterwards),                                        \
    }

int main(void)
{
    const struct CMUnitTest sqlite[] = TESTS(ON_SQLITE);
    const struct CMUnitTest postgres[] = TESTS(ON_POSTGRES);

    return RUN_BOTH(sqlite, postgres);
}
