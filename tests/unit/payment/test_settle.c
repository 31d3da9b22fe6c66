/* How a client's create, capture and void end: settle_table.h says how to read it. */
#include "unit/payment/settle_table.h"

/* --- create --- */

// clang-format off

static void p7_d6_a_create_ends_only_when_it_is_sure(void **state)
{
    static const struct act create = { .kind = OP_CREATE, .scene = { .no_intent = true } };
    static const struct rule rows[] = {
        /*                                                                    FIRST               AGAIN               ASKED               LATE */
        { "P7",  "a lost reply is no decline",         UNCERTAIN_, NOTHING,    { UNKNOWN,            UNKNOWN,            UNKNOWN,            UNKNOWN            } },
        { "I5",  "the key resumes; its place is held", LATER_,     NOTHING,    { UNKNOWN,            UNKNOWN,            UNKNOWN,            UNKNOWN            } },
        { "D6",  "absent counts after 15 minutes",     ABSENT_,    NOTHING,    { NEVER,              NEVER,              UNKNOWN,            ANSWER(FAILED)     } },
        { "P1",  "it waits for its customer",          OK_,        OPEN,       { ANSWER(PENDING),    ANSWER(PENDING),    ANSWER(PENDING),    ANSWER(PENDING)    } },
        { "P4",  "3-D Secure",                         OK_,        ACTION,     { ANSWER(PENDING),    ANSWER(PENDING),    ANSWER(PENDING),    ANSWER(PENDING)    } },
        { "D11", "the server confirms: declined ends", OK_,        DECLINED,   { ANSWER(FAILED),     ANSWER(FAILED),     ANSWER(FAILED),     ANSWER(FAILED)     } },
        { "P3",  "held",                               OK_,        AUTHORIZED, { ANSWER(AUTHORIZED), ANSWER(AUTHORIZED), ANSWER(AUTHORIZED), ANSWER(AUTHORIZED) } },
        { "D7",  "two steps at once",                  OK_,        SUCCEEDED,  { ANSWER(CAPTURED),   ANSWER(CAPTURED),   ANSWER(CAPTURED),   ANSWER(CAPTURED)   } },
        { "D7",  "it was cancelled meanwhile",         OK_,        CANCELED,   { ANSWER(FAILED),     ANSWER(FAILED),     ANSWER(FAILED),     ANSWER(FAILED)     } },
        { "D10", "more is held than was asked for",    OK_,        TOO_MUCH,   { PROBLEM(PENDING),   PROBLEM(PENDING),   PROBLEM(PENDING),   PROBLEM(PENDING)   } },
        { "D10", "more was taken",                     OK_,     MUCH_TOO_MUCH, { PROBLEM(PENDING),   PROBLEM(PENDING),   PROBLEM(PENDING),   PROBLEM(PENDING)   } },
        { "D6",  "a success that says nothing",        OK_,        NOTHING,    { UNKNOWN,            UNKNOWN,            UNKNOWN,            UNKNOWN            } },
        { "P5",  "declined, with its intent",          DECLINED_,  DECLINED,   { ANSWER(FAILED),     ANSWER(FAILED),     NEVER,              NEVER              } },
        { "P5",  "declined: the key's first answer",   DECLINED_,  NOTHING,    { ANSWER(FAILED),     ANSWER(FAILED),     NEVER,              NEVER              } },
        { "D6",  "refused now says nothing of before", REFUSED_,   NOTHING,    { ANSWER(FAILED),     UNKNOWN,            NEVER,              NEVER              } },
        { "D11", "refused, and yet an intent was made", REFUSED_,  OPEN,       { ANSWER(FAILED),     ANSWER(FAILED),     NEVER,              NEVER              } },
        { "P8",  "refused, since it is held already",  REFUSED_,   AUTHORIZED, { ANSWER(AUTHORIZED), ANSWER(AUTHORIZED), NEVER,              NEVER              } },
        { "P8",  "refused, since it is paid already",  REFUSED_,   SUCCEEDED,  { ANSWER(CAPTURED),   ANSWER(CAPTURED),   NEVER,              NEVER              } },
        { "D7",  "refused, since it is cancelled",     REFUSED_,   CANCELED,   { ANSWER(FAILED),     ANSWER(FAILED),     NEVER,              NEVER              } },
        { "D10", "refused, and it has other money",    REFUSED_,   TOO_MUCH,   { PROBLEM(FAILED),    PROBLEM(FAILED),    NEVER,              NEVER              } },
    };

    check_rows(state, &create, rows, COUNT(rows));
}

static void d6_without_replays_a_decline_says_nothing_of_the_tries_before(void **state)
{
    static const struct act create = { .kind = OP_CREATE, .scene = { .no_intent = true, .forgets = true } };
    static const struct rule rows[] = {
        /*                                                                  FIRST               AGAIN               ASKED    LATE */
        { "D6", "declined: this try made none",       DECLINED_, NOTHING,  { ANSWER(FAILED),     UNKNOWN,            NEVER,   NEVER          } },
        { "P5", "declined, with its intent",          DECLINED_, DECLINED, { ANSWER(FAILED),     ANSWER(FAILED),     NEVER,   NEVER          } },
        { "D6", "refused now says nothing of before", REFUSED_,  NOTHING,  { ANSWER(FAILED),     UNKNOWN,            NEVER,   NEVER          } },
        { "D6", "absent counts after 15 minutes",     ABSENT_,   NOTHING,  { NEVER,              NEVER,              UNKNOWN, ANSWER(FAILED) } },
    };

    check_rows(state, &create, rows, COUNT(rows));
}

/* The gateway's own page: a session is no money, and is made again with its key. */
static void d18_a_session_is_kept_and_paid_by_nobody_yet(void **state)
{
    static const struct act page = { .kind = OP_CREATE, .scene = { .context = CONTEXT_PARTICIPANT, .no_intent = true } };
    static const struct rule rows[] = {
        /*                                                                         FIRST             AGAIN             ASKED  LATE */
        { "D18", "the page is there",                  OK_,        SESSION_IS_OPEN, { ANSWER(PENDING), ANSWER(PENDING), NEVER, NEVER } },
        { "E1",  "complete makes nobody paid",         OK_,        SESSION_IS_PAID, { ANSWER(PENDING), ANSWER(PENDING), NEVER, NEVER } },
        { "D18", "refused now was refused before",     REFUSED_,   NOTHING,         { ANSWER(FAILED),  ANSWER(FAILED),  NEVER, NEVER } },
        { "I5",  "the key resumes",                    LATER_,     NOTHING,         { UNKNOWN,         UNKNOWN,         NEVER, NEVER } },
        { "P7",  "a lost reply",                       UNCERTAIN_, NOTHING,         { UNKNOWN,         UNKNOWN,         NEVER, NEVER } },
    };

    check_rows(state, &page, rows, COUNT(rows));
}

/* --- capture --- */

static void p7_d6_a_capture_ends_by_the_state_of_its_intent(void **state)
{
    static const struct act capture = { .kind = OP_CAPTURE, .scene = { .status = PAYMENT_AUTHORIZED } };
    static const struct rule rows[] = {
        /*                                                                    FIRST                AGAIN                ASKED              LATE */
        { "P7",  "a lost reply is no failure",         UNCERTAIN_, NOTHING,    { UNKNOWN,             UNKNOWN,             UNKNOWN,             UNKNOWN             } },
        { "I5",  "surely nothing happened",            LATER_,     NOTHING,    { RELEASE,             UNKNOWN,             UNKNOWN,             UNKNOWN             } },
        { "D6",  "the intent is not there",            ABSENT_,    NOTHING,    { NEVER,               NEVER,               UNKNOWN,             RELEASE             } },
        { "P3",  "captured",                           OK_,        SUCCEEDED,  { ANSWER(CAPTURED),    ANSWER(CAPTURED),    ANSWER(CAPTURED),    ANSWER(CAPTURED)    } },
        { "P4",  "captured in part",                   OK_,        IN_PART,    { ANSWER(CAPTURED),    ANSWER(CAPTURED),    ANSWER(CAPTURED),    ANSWER(CAPTURED)    } },
        { "D6",  "still held: not done for 15 min",    OK_,        AUTHORIZED, { UNKNOWN,             UNKNOWN,             UNKNOWN,             RELEASE             } },
        { "P7",  "its customer may still agree",       OK_,        CONFIRMING, { UNKNOWN,             UNKNOWN,             UNKNOWN,             UNKNOWN             } },
        { "D9",  "it lapsed, or was voided",           OK_,        CANCELED,   { PROBLEM(REFUNDED),   PROBLEM(REFUNDED),   PROBLEM(REFUNDED),   PROBLEM(REFUNDED)   } },
        { "D10", "more was taken than asked for",      OK_,     MUCH_TOO_MUCH, { PROBLEM(AUTHORIZED), PROBLEM(AUTHORIZED), PROBLEM(AUTHORIZED), PROBLEM(AUTHORIZED) } },
        { "P5",  "declined: the key's first answer",   DECLINED_,  NOTHING,    { PROBLEM(AUTHORIZED), PROBLEM(AUTHORIZED), NEVER,               NEVER               } },
        { "D6",  "refused now says nothing of before", REFUSED_,   NOTHING,    { PROBLEM(AUTHORIZED), UNKNOWN,             NEVER,               NEVER               } },
        { "P5",  "refused, and it is only held",       REFUSED_,   AUTHORIZED, { PROBLEM(AUTHORIZED), PROBLEM(AUTHORIZED), NEVER,               NEVER               } },
        { "P8",  "refused, since it is captured",      REFUSED_,   SUCCEEDED,  { ANSWER(CAPTURED),    ANSWER(CAPTURED),    NEVER,               NEVER               } },
        { "D9",  "refused, since it is cancelled",     REFUSED_,   CANCELED,   { PROBLEM(REFUNDED),   PROBLEM(REFUNDED),   NEVER,               NEVER               } },
    };

    check_rows(state, &capture, rows, COUNT(rows));
}

static void d6_without_replays_a_declined_capture_may_have_been_done_before(void **state)
{
    static const struct act capture = { .kind = OP_CAPTURE, .scene = { .status = PAYMENT_AUTHORIZED, .forgets = true } };
    static const struct rule rows[] = {
        /*                                                                  FIRST                AGAIN                ASKED  LATE */
        { "D6", "declined: this try did nothing", DECLINED_, NOTHING,    { PROBLEM(AUTHORIZED), UNKNOWN,             NEVER, NEVER } },
        { "P8", "declined, since it is captured", DECLINED_, SUCCEEDED,  { ANSWER(CAPTURED),    ANSWER(CAPTURED),    NEVER, NEVER } },
        { "P5", "declined, and it is only held",  DECLINED_, AUTHORIZED, { PROBLEM(AUTHORIZED), PROBLEM(AUTHORIZED), NEVER, NEVER } },
    };

    check_rows(state, &capture, rows, COUNT(rows));
}

/* --- void, of a client --- */

static void p7_d6_a_void_ends_by_the_state_of_its_intent(void **state)
{
    static const struct act cancel = { .kind = OP_VOID, .scene = { .status = PAYMENT_AUTHORIZED } };
    static const struct rule rows[] = {
        /*                                                                    FIRST                AGAIN                ASKED              LATE */
        { "P7",  "a lost reply is no failure",         UNCERTAIN_, NOTHING,    { UNKNOWN,             UNKNOWN,             UNKNOWN,           UNKNOWN           } },
        { "I5",  "surely nothing happened",            LATER_,     NOTHING,    { RELEASE,             UNKNOWN,             UNKNOWN,           UNKNOWN           } },
        { "D6",  "what is not there is not cancelled", ABSENT_,    NOTHING,    { PROBLEM(AUTHORIZED), UNKNOWN,             UNKNOWN,           RELEASE           } },
        { "D8",  "voided",                             OK_,        CANCELED,   { ANSWER(REFUNDED),    ANSWER(REFUNDED),    ANSWER(REFUNDED),  ANSWER(REFUNDED)  } },
        { "D6",  "still held: not done for 15 min",    OK_,        AUTHORIZED, { UNKNOWN,             UNKNOWN,             UNKNOWN,           RELEASE           } },
        { "P3",  "captured meanwhile",                 OK_,        SUCCEEDED,  { PROBLEM(CAPTURED),   PROBLEM(CAPTURED),   PROBLEM(CAPTURED), PROBLEM(CAPTURED) } },
        { "D6",  "refused now says nothing of before", REFUSED_,   NOTHING,    { PROBLEM(AUTHORIZED), UNKNOWN,             NEVER,             NEVER             } },
        { "P5",  "refused, and it is still held",      REFUSED_,   AUTHORIZED, { PROBLEM(AUTHORIZED), PROBLEM(AUTHORIZED), NEVER,             NEVER             } },
        { "P3",  "refused, since it is captured",      REFUSED_,   SUCCEEDED,  { PROBLEM(CAPTURED),   PROBLEM(CAPTURED),   NEVER,             NEVER             } },
        { "D8",  "refused, since it is voided",        REFUSED_,   CANCELED,   { ANSWER(REFUNDED),    ANSWER(REFUNDED),    NEVER,             NEVER             } },
    };

    check_rows(state, &cancel, rows, COUNT(rows));
}

static void d23_a_void_of_what_nobody_has_paid_yet(void **state)
{
    static const struct act cancel = { .kind = OP_VOID, .scene = { .status = PAYMENT_PENDING } };
    static const struct rule rows[] = {
        /*                                                                 FIRST                    AGAIN                    ASKED                    LATE */
        { "D23", "cancelled in time",         OK_,        CANCELED,   { ANSWER(FAILED),          ANSWER(FAILED),          ANSWER(FAILED),          ANSWER(FAILED)    } },
        { "D6",  "it still waits",            OK_,        ACTION,     { UNKNOWN,                 UNKNOWN,                 UNKNOWN,                 RELEASE           } },
        { "P8",  "held meanwhile",            OK_,        AUTHORIZED, { UNKNOWN_BUT(AUTHORIZED), UNKNOWN_BUT(AUTHORIZED), UNKNOWN_BUT(AUTHORIZED), { END_RELEASE, PAYMENT_AUTHORIZED } } },
        { "P3",  "paid meanwhile",            OK_,        SUCCEEDED,  { PROBLEM(CAPTURED),       PROBLEM(CAPTURED),       PROBLEM(CAPTURED),       PROBLEM(CAPTURED) } },
        { "P3",  "refused, since it is paid", REFUSED_,   SUCCEEDED,  { PROBLEM(CAPTURED),       PROBLEM(CAPTURED),       NEVER,                   NEVER             } },
        { "P7",  "a lost reply",              UNCERTAIN_, NOTHING,    { UNKNOWN,                 UNKNOWN,                 UNKNOWN,                 UNKNOWN           } },
    };

    check_rows(state, &cancel, rows, COUNT(rows));
}

static void d23_a_void_closes_the_gateways_page(void **state)
{
    static const struct act cancel = { .kind = OP_VOID, .scene = { .context = CONTEXT_PARTICIPANT, .no_intent = true, .session = true }, .page = true };
    static const struct rule rows[] = {
        /*                                                                        FIRST            AGAIN            ASKED  LATE */
        { "D23", "the page is closed",                OK_,        SESSION_IS_OVER, { ANSWER(FAILED), ANSWER(FAILED), NEVER, NEVER } },
        { "D23", "there is no such page",             ABSENT_,    NOTHING,         { ANSWER(FAILED), ANSWER(FAILED), NEVER, NEVER } },
        { "D2",  "somebody has paid on it: ask",      OK_,        SESSION_IS_PAID, { UNKNOWN,        UNKNOWN,        NEVER, NEVER } },
        { "I5",  "surely nothing happened",           LATER_,     NOTHING,         { RELEASE,        UNKNOWN,        NEVER, NEVER } },
        { "P7",  "a lost reply",                      UNCERTAIN_, NOTHING,         { UNKNOWN,        UNKNOWN,        NEVER, NEVER } },
    };

    check_rows(state, &cancel, rows, COUNT(rows));
}

// clang-format on

/* --- a webhook was faster: what it brought is the answer, whatever became of the call --- */

static void p8_a_webhook_that_was_faster_decides(void **state)
{
    // clang-format off
    static const struct {
        const char *clause, *why;
        enum op_kind kind;
        enum payment_status status;
        int64_t captured;
        enum ending ending;
    } rows[] = {
        { "P8", "created: held",                OP_CREATE,  PAYMENT_AUTHORIZED, 0,     END_ANSWER  },
        { "P8", "created: paid",                OP_CREATE,  PAYMENT_CAPTURED,   PRICE, END_ANSWER  },
        { "P8", "created: declined",            OP_CREATE,  PAYMENT_FAILED,     0,     END_ANSWER  },
        { "P8", "created: voided",              OP_CREATE,  PAYMENT_REFUNDED,   0,     END_ANSWER  },
        { "P8", "created: paid and refunded",   OP_CREATE,  PAYMENT_REFUNDED,   PRICE, END_ANSWER  },
        { "P8", "capture: paid",                OP_CAPTURE, PAYMENT_CAPTURED,   PRICE, END_ANSWER  },
        { "P8", "capture: paid and refunded",   OP_CAPTURE, PAYMENT_REFUNDED,   PRICE, END_ANSWER  },
        { "D9", "capture: voided",              OP_CAPTURE, PAYMENT_REFUNDED,   0,     END_PROBLEM },
        { "P3", "capture: failed",              OP_CAPTURE, PAYMENT_FAILED,     0,     END_PROBLEM },
        { "P8", "void: voided",                 OP_VOID,    PAYMENT_REFUNDED,   0,     END_ANSWER  },
        { "P8", "void: failed",                 OP_VOID,    PAYMENT_FAILED,     0,     END_ANSWER  },
        { "P3", "void: paid",                   OP_VOID,    PAYMENT_CAPTURED,   PRICE, END_PROBLEM },
        { "P3", "void: paid and refunded",      OP_VOID,    PAYMENT_REFUNDED,   PRICE, END_PROBLEM },
    };
    // clang-format on

    world_begin(state);
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int answer = GATEWAY_OK; answer <= GATEWAY_UNCERTAIN; answer++)
            for (size_t h = 0; h < COUNT(hows); h += COUNT(hows) - 1) { /* FIRST and LATE */
                struct act act = { .kind = rows[i].kind,
                                   .scene = { .status = rows[i].status,
                                              .captured = rows[i].captured } };
                struct trial t = { .act = &act,
                                   .how = &hows[h],
                                   .answer = (enum gateway_answer)answer };

                settle_once(&t);
                if (ending_of(&t) != rows[i].ending || t.after.status != rows[i].status ||
                    t.started[0])
                    fail_msg("%s %s: %s, %s is %s", rows[i].clause, rows[i].why,
                             answer_names[answer], hows[h].name, ending_names[ending_of(&t)]);
                settle_end(&t);
            }
    world_end();
}

/* D6: 15 minutes are counted from the last time that something may have reached the gateway. */
static void d6_what_was_sent_counts_from_now_and_a_question_does_not(void **state)
{
    static const struct act create = { .kind = OP_CREATE, .scene = { .no_intent = true } };

    world_begin(state);
    for (int answer = GATEWAY_RETRY_LATER; answer <= GATEWAY_UNCERTAIN; answer++)
        for (size_t h = 0; h < COUNT(hows); h++) {
            bool sent = answer == GATEWAY_UNCERTAIN && !hows[h].asked;
            struct trial t = { .act = &create,
                               .how = &hows[h],
                               .answer = (enum gateway_answer)answer };

            settle_once(&t);
            if ((t.op.sent_ms >= t.now_ms) != sent || t.op.sends != hows[h].sends + sent ||
                t.op.asks != hows[h].asks + 1)
                fail_msg("%s, %s", answer_names[answer], hows[h].name);
            settle_end(&t);
        }
    world_end();
}

static void p5_time_is_504_and_the_rest_502(void **state)
{
    static const struct rule rows[] = {
        { "P5", "a lost reply", UNCERTAIN_, NOTHING, { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN } },
    };
    struct act act = { .kind = OP_CREATE, .scene = { .no_intent = true } };

    world_begin(state);
    for (int late = 0; late < 2; late++)
        for (size_t h = 0; h < COUNT(hows); h++) {
            struct trial t;

            act.timed_out = late; /* is_unknown() looks at it */
            assert_true(check(&act, &rows[0], &hows[h], &t));
            settle_end(&t);
        }
    world_end();
}

/* --- where nothing was called for --- */

static void what_was_never_called_for_changes_no_money(void **state)
{
    // clang-format off
    static const struct {
        const char *clause, *why;
        struct act act;
        const char *result;
        bool key;
    } rows[] = {
        { "D18", "a session that could not be made in time: its key is free",
          { .kind = OP_CREATE, .scene = { .context = CONTEXT_PARTICIPANT, .no_intent = true } }, "nothing happened", false },
        { "D23", "there is no intent to cancel: its place is free",
          { .kind = OP_VOID, .scene = { .status = PAYMENT_FAILED, .no_intent = true, .place_held = true }, .own = true, .cause = "declined" }, "nothing to do", false },
        { "D23", "its customer has paid meanwhile",
          { .kind = OP_VOID, .scene = { .status = PAYMENT_CAPTURED, .captured = PRICE }, .own = true, .cause = "abandoned" }, "nothing to do", false },
    };
    // clang-format on

    world_begin(state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct trial t = { .act = &rows[i].act, .how = &hows[0], .not_called = true };

        settle_once(&t);
        if (strcmp(t.result, rows[i].result) != 0 || t.has_key != rows[i].key ||
            t.op.phase != PHASE_DONE || t.after.has_open_op || t.after.place_held ||
            t.after.status != rows[i].act.scene.status || t.started[0])
            fail_msg("%s %s: '%s'", rows[i].clause, rows[i].why, t.result);
        settle_end(&t);
    }
    world_end();
}

#define TESTS(ON)                                                                                  \
    {                                                                                              \
        ON(p7_d6_a_create_ends_only_when_it_is_sure),                                              \
            ON(d6_without_replays_a_decline_says_nothing_of_the_tries_before),                     \
            ON(d18_a_session_is_kept_and_paid_by_nobody_yet),                                      \
            ON(p7_d6_a_capture_ends_by_the_state_of_its_intent),                                   \
            ON(d6_without_replays_a_declined_capture_may_have_been_done_before),                   \
            ON(p7_d6_a_void_ends_by_the_state_of_its_intent),                                      \
            ON(d23_a_void_of_what_nobody_has_paid_yet), ON(d23_a_void_closes_the_gateways_page),   \
            ON(p8_a_webhook_that_was_faster_decides),                                              \
            ON(d6_what_was_sent_counts_from_now_and_a_question_does_not),                          \
            ON(p5_time_is_504_and_the_rest_502), ON(what_was_never_called_for_changes_no_money),   \
    }

int main(void)
{
    const struct CMUnitTest sqlite[] = TESTS(ON_SQLITE);
    const struct CMUnitTest postgres[] = TESTS(ON_POSTGRES);

    return RUN_BOTH(sqlite, postgres);
}
