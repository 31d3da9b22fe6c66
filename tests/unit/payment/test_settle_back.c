/* How our own cancels end, and refunds of clients and our own; what follows from an ending.
 * settle_table.h says how to read it. */
#include "unit/payment/settle_table.h"

/* --- our own cancel: sent until the intent surely is not alive any more --- */

/* D1: the place that was held is free once it is over. */
static void check_own_void(const struct act *act, const struct rule *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < COUNT(hows); h++) {
            bool unknown = rows[i].cells[hows[h].run].ending == END_UNKNOWN;
            struct trial t;

            if (!check(act, &rows[i], &hows[h], &t))
                continue;
            if (t.after.place_held != (act->scene.place_held && unknown))
                fail_msg("%s %s, %s: the place is %s", rows[i].clause, rows[i].why, hows[h].name,
                         t.after.place_held ? "held" : "free");
            settle_end(&t);
        }
}

// clang-format off

static void d1_d11_our_own_cancel_goes_on_until_the_intent_is_dead(void **state)
{
    static const struct act failed = { .kind = OP_VOID, .scene = { .status = PAYMENT_FAILED, .given_up = true, .place_held = true }, .own = true, .cause = "declined" };
    static const struct act pending = { .kind = OP_VOID, .scene = { .status = PAYMENT_PENDING }, .own = true, .cause = "abandoned" };
    static const struct rule of_failed[] = {
        /*                                                                    FIRST            AGAIN            ASKED  LATE */
        { "D1",  "dead: its place is free",            OK_,        CANCELED,   { ANSWER(FAILED), ANSWER(FAILED), NEVER, NEVER } },
        { "D1",  "refused, since it is dead",          REFUSED_,   CANCELED,   { ANSWER(FAILED), ANSWER(FAILED), NEVER, NEVER } },
        { "D2",  "paid before: its money goes back",   OK_,        SUCCEEDED,  { ANSWER(FAILED), ANSWER(FAILED), NEVER, NEVER } },
        { "D2",  "refused, since it is paid",          REFUSED_,   SUCCEEDED,  { ANSWER(FAILED), ANSWER(FAILED), NEVER, NEVER } },
        { "D1",  "it is alive",                        OK_,        OPEN,       { UNKNOWN,        UNKNOWN,        NEVER, NEVER } },
        { "D1",  "refused, and it is alive",           REFUSED_,   OPEN,       { UNKNOWN,        UNKNOWN,        NEVER, NEVER } },
        { "D1",  "refused, and nobody knows",          REFUSED_,   NOTHING,    { UNKNOWN,        UNKNOWN,        NEVER, NEVER } },
        { "D1",  "absent at once: a wrong key of ours?", ABSENT_,  NOTHING,    { UNKNOWN,        UNKNOWN,        NEVER, NEVER } },
        { "D1",  "not now",                            LATER_,     NOTHING,    { UNKNOWN,        UNKNOWN,        NEVER, NEVER } },
        { "D1",  "a lost reply",                       UNCERTAIN_, NOTHING,    { UNKNOWN,        UNKNOWN,        NEVER, NEVER } },
    };
    static const struct rule of_pending[] = {
        /*                                                                         FIRST              AGAIN              ASKED  LATE */
        { "D23", "abandoned, and cancelled",           OK_,        CANCELED,      { ANSWER(FAILED),   ANSWER(FAILED),   NEVER, NEVER } },
        { "D19", "refused because paid: it is paid",   REFUSED_,   SUCCEEDED,     { ANSWER(CAPTURED), ANSWER(CAPTURED), NEVER, NEVER } },
        { "D10", "paid with other money",              REFUSED_,   MUCH_TOO_MUCH, { PROBLEM(FAILED),  PROBLEM(FAILED),  NEVER, NEVER } },
        { "D10", "other money, not dead yet",          OK_,        TOO_MUCH,      { UNKNOWN,          UNKNOWN,          NEVER, NEVER } },
        { "D19", "absent at once: a wrong key of ours?", ABSENT_,  NOTHING,       { UNKNOWN,          UNKNOWN,          NEVER, NEVER } },
        { "D19", "a lost reply",                       UNCERTAIN_, NOTHING,       { UNKNOWN,          UNKNOWN,          NEVER, NEVER } },
    };

    world_begin(state);
    check_own_void(&failed, of_failed, COUNT(of_failed));
    check_own_void(&pending, of_pending, COUNT(of_pending));
    world_end();
}

static void d1_what_is_absent_for_15_minutes_is_gone(void **state)
{
    static const struct rule early[] = {
        { "D1", "a minute too early",   ABSENT_, NOTHING, { UNKNOWN,        UNKNOWN,        NEVER, NEVER } },
    };
    static const struct rule late[] = {
        { "D1", "long enough",          ABSENT_, NOTHING, { ANSWER(FAILED), ANSWER(FAILED), NEVER, NEVER } },
    };
    static const struct rule page[] = {
        { "D1", "a page is gone at once", ABSENT_, NOTHING, { ANSWER(PENDING), ANSWER(PENDING), NEVER, NEVER } },
    };
    struct act act = { .kind = OP_VOID, .scene = { .status = PAYMENT_PENDING, .place_held = true }, .own = true, .cause = "abandoned" };

    world_begin(state);
    act.claimed_ago_ms = LIMIT_ABSENT_MS - 60 * 1000;
    check_own_void(&act, early, COUNT(early));
    act.claimed_ago_ms = LIMIT_ABSENT_MS;
    check_own_void(&act, late, COUNT(late));
    act = (struct act){ .kind = OP_VOID, .scene = { .context = CONTEXT_PARTICIPANT, .no_intent = true, .session = true, .place_held = true }, .own = true, .cause = "abandoned", .page = true };
    check_own_void(&act, page, COUNT(page));
    world_end();
}

// clang-format on

/* --- refund --- */

static void check_refunds(const struct act *act, const struct rule *rows,
                          const enum refund_status (*refunds)[RUNS], size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < COUNT(hows); h++) {
            struct trial t;

            if (!check(act, &rows[i], &hows[h], &t))
                continue;
            if (t.refund.status != refunds[i][hows[h].run])
                fail_msg("%s %s: %s, %s: wanted the refund %s, got %s", rows[i].clause, rows[i].why,
                         answer_names[rows[i].answer], hows[h].name,
                         refund_status_name(refunds[i][hows[h].run]),
                         refund_status_name(t.refund.status));
            settle_end(&t);
        }
}

// clang-format off

#define PEND REFUND_PENDING
#define DONE REFUND_SUCCEEDED
#define FAIL REFUND_FAILED

static void d12_a_refund_keeps_its_sum_until_it_surely_failed(void **state)
{
    static const struct act refund = { .kind = OP_REFUND, .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE } };
    static const struct rule rows[] = {
        /*                                                                         FIRST              AGAIN              ASKED              LATE */
        { "P7",  "a lost reply is no failure",         UNCERTAIN_, NOTHING,       { UNKNOWN,           UNKNOWN,           UNKNOWN,           UNKNOWN           } },
        { "I5",  "surely nothing happened",            LATER_,     NOTHING,       { RELEASE,           UNKNOWN,           UNKNOWN,           UNKNOWN           } },
        { "D6",  "absent counts after 15 minutes",     ABSENT_,    NOTHING,       { NEVER,             NEVER,             UNKNOWN,           RELEASE           } },
        { "D12", "all is back",                        OK_,        REFUNDED,      { ANSWER(REFUNDED),  ANSWER(REFUNDED),  ANSWER(REFUNDED),  ANSWER(REFUNDED)  } },
        { "D12", "it is on its way",                   OK_,        REFUNDING,     { ANSWER(CAPTURED),  ANSWER(CAPTURED),  ANSWER(CAPTURED),  ANSWER(CAPTURED)  } },
        { "D12", "it was made, and failed",            OK_,        NOT_REFUNDED,  { ANSWER(CAPTURED),  ANSWER(CAPTURED),  ANSWER(CAPTURED),  ANSWER(CAPTURED)  } },
        { "D10", "another sum went back",              OK_,        REFUNDED_LESS, { PROBLEM(CAPTURED), PROBLEM(CAPTURED), PROBLEM(CAPTURED), PROBLEM(CAPTURED) } },
        { "P5",  "declined: the key's first answer",   DECLINED_,  NOTHING,       { PROBLEM(CAPTURED), PROBLEM(CAPTURED), NEVER,             NEVER             } },
        { "D6",  "refused now says nothing of before", REFUSED_,   NOTHING,       { PROBLEM(CAPTURED), UNKNOWN,           NEVER,             NEVER             } },
        { "P5",  "refused, with its intent",           REFUSED_,   SUCCEEDED,     { PROBLEM(CAPTURED), PROBLEM(CAPTURED), NEVER,             NEVER             } },
    };
    static const enum refund_status refunds[][RUNS] = {
        { PEND, PEND, PEND, PEND }, /* a lost reply */
        { FAIL, PEND, PEND, PEND }, /* surely nothing */
        { PEND, PEND, PEND, FAIL }, /* absent */
        { DONE, DONE, DONE, DONE }, /* all is back */
        { PEND, PEND, PEND, PEND }, /* on its way */
        { FAIL, FAIL, FAIL, FAIL }, /* made, and failed */
        { PEND, PEND, PEND, PEND }, /* another sum: the sum stays reserved */
        { FAIL, FAIL, PEND, PEND }, /* declined */
        { FAIL, PEND, PEND, PEND }, /* refused */
        { FAIL, FAIL, PEND, PEND }, /* refused, with its intent */
    };

    assert_int_equal(COUNT(rows), COUNT(refunds));
    world_begin(state);
    check_refunds(&refund, rows, refunds, COUNT(rows));
    world_end();
}

static void d6_without_replays_a_declined_refund_may_have_been_done_before(void **state)
{
    static const struct act refund = { .kind = OP_REFUND, .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE, .forgets = true } };
    static const struct rule rows[] = {
        /*                                                               FIRST              AGAIN    ASKED  LATE */
        { "D6", "declined: this try did nothing", DECLINED_, NOTHING, { PROBLEM(CAPTURED), UNKNOWN, NEVER, NEVER } },
    };
    static const enum refund_status refunds[][RUNS] = {
        { FAIL, PEND, PEND, PEND },
    };

    world_begin(state);
    check_refunds(&refund, rows, refunds, COUNT(rows));
    world_end();
}

static void d2_our_own_refund_is_sent_until_it_is_done_or_refused(void **state)
{
    static const struct act own = { .kind = OP_REFUND, .scene = { .status = PAYMENT_FAILED, .given_up = true }, .own = true, .cause = "stray" };
    static const struct rule rows[] = {
        /*                                                                    FIRST            AGAIN            ASKED           LATE */
        { "D2",  "a lost reply",                       UNCERTAIN_, NOTHING,  { UNKNOWN,         UNKNOWN,         UNKNOWN,         UNKNOWN         } },
        { "D2",  "not now: sent again",                LATER_,     NOTHING,  { UNKNOWN,         UNKNOWN,         UNKNOWN,         UNKNOWN         } },
        { "D6",  "surely absent: sent with a new key", ABSENT_,    NOTHING,  { NEVER,           NEVER,           UNKNOWN,         UNKNOWN         } },
        { "D2",  "it went back",                       OK_,        REFUNDED, { ANSWER(FAILED),  ANSWER(FAILED),  ANSWER(FAILED),  ANSWER(FAILED)  } },
        { "D2",  "refused: an operator, or again",     REFUSED_,   NOTHING,  { PROBLEM(FAILED), PROBLEM(FAILED), NEVER,           NEVER           } },
        { "D2",  "declined: an operator, or again",    DECLINED_,  NOTHING,  { PROBLEM(FAILED), PROBLEM(FAILED), NEVER,           NEVER           } },
    };
    static const enum refund_status refunds[][RUNS] = {
        { PEND, PEND, PEND, PEND }, /* a lost reply */
        { PEND, PEND, PEND, PEND }, /* not now */
        { PEND, PEND, PEND, PEND }, /* surely absent: the same refund, sent again */
        { DONE, DONE, DONE, DONE }, /* it went back */
        { FAIL, FAIL, PEND, PEND }, /* refused */
        { FAIL, FAIL, PEND, PEND }, /* declined */
    };

    assert_int_equal(COUNT(rows), COUNT(refunds));
    world_begin(state);
    check_refunds(&own, rows, refunds, COUNT(rows));
    world_end();
}

// clang-format on

/* Whatever becomes of the call: the refund that the webhook brought is the answer. */
static void p8_a_refund_that_a_webhook_brought_is_the_answer(void **state)
{
    static const struct act act = { .kind = OP_REFUND,
                                    .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE },
                                    .has_refund_id = true };

    world_begin(state);
    for (int answer = GATEWAY_OK; answer <= GATEWAY_UNCERTAIN; answer++)
        for (size_t h = 0; h < COUNT(hows); h++) {
            struct trial t = { .act = &act,
                               .how = &hows[h],
                               .answer = (enum gateway_answer)answer };

            settle_once(&t);
            if (ending_of(&t) != END_ANSWER || t.refund.status != REFUND_PENDING)
                fail_msg("%s, %s", answer_names[answer], hows[h].name);
            settle_end(&t);
        }
    world_end();
}

/* --- what follows from an ending --- */

static int64_t count_messages(const struct trial *t, const char *kind)
{
    char sql[256], id[UUID_TEXT + 1];

    uuid_text(t->after.id, id);
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM message WHERE kind = '%s' AND ref = '%s'",
             kind, id);
    return sql_int(w.rig, sql);
}

static void d1_d2_what_is_started_and_what_is_kept(void **state)
{
    // clang-format off
    static const struct {
        const char *clause, *why;
        struct act act;
        enum gateway_answer answer;
        enum says says;
        const char *starts, *reason, *message; /* message: of this kind there is one */
        bool place;
    } rows[] = {
        { "D11", "declined: the intent is cancelled, the place held till then",
          { .kind = OP_CREATE, .scene = { .no_intent = true } }, DECLINED_, DECLINED, "void declined", "card_declined", NULL, true },
        { "D11", "declined without an intent: nothing is left to cancel",
          { .kind = OP_CREATE, .scene = { .no_intent = true } }, DECLINED_, NOTHING, "", "declined", NULL, false },
        { "D11", "refused, and yet an intent was made: it must not stay alive",
          { .kind = OP_CREATE, .scene = { .no_intent = true } }, REFUSED_, OPEN, "void declined", "declined", NULL, true },
        { "D1",  "refused, and none was made",
          { .kind = OP_CREATE, .scene = { .no_intent = true } }, REFUSED_, NOTHING, "", "declined", NULL, false },
        { "D10", "more than was asked for: it is cancelled in its time",
          { .kind = OP_CREATE, .scene = { .no_intent = true } }, OK_, TOO_MUCH, "", "", "payment.abandon", false },
        { "D23", "its customer has an hour",
          { .kind = OP_CREATE, .scene = { .no_intent = true } }, OK_, ACTION, "", "", "payment.abandon", false },
        { "D23", "the same where it was made and not tried",
          { .kind = OP_CREATE, .scene = { .no_intent = true } }, OK_, OPEN, "", "", "payment.abandon", false },
        { "D2",  "our cancel came too late: its money goes back",
          { .kind = OP_VOID, .scene = { .status = PAYMENT_FAILED, .given_up = true, .place_held = true }, .own = true, .cause = "declined" },
          REFUSED_, SUCCEEDED, "refund stray", "", NULL, false },
        { "D2",  "... of a second intent, by a refund of that one",
          { .kind = OP_VOID, .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE }, .own = true, .cause = "stray", .other_intent = true },
          REFUSED_, SUCCEEDED, "refund stray:", "", NULL, false },
        { "D2",  "a second intent that is dead is no more than a row",
          { .kind = OP_VOID, .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE }, .own = true, .cause = "stray", .other_intent = true },
          OK_, CANCELED, "", "", NULL, false },
        { "D10", "paid with other money: given up",
          { .kind = OP_VOID, .scene = { .status = PAYMENT_PENDING, .place_held = true }, .own = true, .cause = "abandoned" },
          REFUSED_, MUCH_TOO_MUCH, "", "gateway_mismatch", NULL, false },
        { "D1",  "no such intent for 15 minutes: given up",
          { .kind = OP_VOID, .scene = { .status = PAYMENT_PENDING, .place_held = true }, .own = true, .cause = "abandoned", .claimed_ago_ms = LIMIT_ABSENT_MS },
          ABSENT_, NOTHING, "", "gateway_has_no_intent", NULL, false },
        { "D2",  "our own refund was refused: again in a minute",
          { .kind = OP_REFUND, .scene = { .status = PAYMENT_FAILED, .given_up = true }, .own = true, .cause = "stray" },
          REFUSED_, NOTHING, "", "", "refund.again", false },
    };
    // clang-format on

    world_begin(state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct trial t = {
            .act = &rows[i].act, .how = &hows[0], .answer = rows[i].answer, .says = rows[i].says
        };
        size_t n = strlen(rows[i].starts);

        settle_once(&t);
        if (strncmp(t.started, rows[i].starts, n ? n : sizeof(t.started)) != 0 ||
            strcmp(t.reason, rows[i].reason) != 0 || t.after.place_held != rows[i].place ||
            (rows[i].message && count_messages(&t, rows[i].message) != 1))
            fail_msg("%s %s: starts '%s', reason '%s', place %d", rows[i].clause, rows[i].why,
                     t.started, t.reason, t.after.place_held);
        if (rows[i].act.kind == OP_CREATE && /* or nobody could cancel it */
            !!t.after.gateway_transaction_id.n != (rows[i].says != NOTHING))
            fail_msg("%s %s: the intent that was told is not kept", rows[i].clause, rows[i].why);
        settle_end(&t);
    }
    world_end();
}

/* D6: our own refund that surely is not there is sent again; what is unknown is asked for. */
static void d6_only_a_refund_that_is_surely_absent_is_sent_again(void **state)
{
    static const struct act own = { .kind = OP_REFUND,
                                    .scene = { .status = PAYMENT_FAILED, .given_up = true },
                                    .own = true,
                                    .cause = "stray" };

    world_begin(state);
    for (int answer = GATEWAY_ABSENT; answer <= GATEWAY_UNCERTAIN; answer++)
        for (size_t h = 0; h < COUNT(hows); h++) {
            bool again = answer == GATEWAY_ABSENT && hows[h].run == LATE;
            struct trial t = { .act = &own,
                               .how = &hows[h],
                               .answer = (enum gateway_answer)answer };

            if (answer == GATEWAY_ABSENT && !hows[h].asked)
                continue;
            settle_once(&t);
            if (t.op.phase != (again ? PHASE_SEND : PHASE_UNKNOWN))
                fail_msg("%s, %s", answer_names[answer], hows[h].name);
            if (again) { /* a new key, and its 15 minutes begin anew */
                assert_int_equal(t.op.sends, hows[h].sends + 1);
                assert_true(t.op.sent_ms >= t.now_ms);
            }
            settle_end(&t);
        }
    world_end();
}

#define TESTS(ON)                                                                                  \
    {                                                                                              \
        ON(d1_d11_our_own_cancel_goes_on_until_the_intent_is_dead),                                \
            ON(d1_what_is_absent_for_15_minutes_is_gone),                                          \
            ON(d12_a_refund_keeps_its_sum_until_it_surely_failed),                                 \
            ON(d6_without_replays_a_declined_refund_may_have_been_done_before),                    \
            ON(d2_our_own_refund_is_sent_until_it_is_done_or_refused),                             \
            ON(p8_a_refund_that_a_webhook_brought_is_the_answer),                                  \
            ON(d1_d2_what_is_started_and_what_is_kept),                                            \
            ON(d6_only_a_refund_that_is_surely_absent_is_sent_again),                              \
    }

int main(void)
{
    const struct CMUnitTest sqlite[] = TESTS(ON_SQLITE);
    const struct CMUnitTest postgres[] = TESTS(ON_POSTGRES);

    return RUN_BOTH(sqlite, postgres);
}
