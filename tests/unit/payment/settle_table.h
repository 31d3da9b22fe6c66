/* settle_table.h - what the gateway's answer makes of an operation (settle.c), as tables. A row is
 * an answer and what it says; its four cells are the runs that can bring it:
 *
 *   FIRST   the only run there ever was: what it did not do, nobody did
 *   AGAIN   something of this operation may have reached the gateway before: it was leased again,
 *           found in the queue, sent before or asked for before
 *   ASKED   nothing was sent, it was asked for, less than 15 minutes behind the last send
 *   LATE    the same, 15 minutes behind the last send: what is not there now never happened (D6)
 *
 * A cell is the ending, and the payment's state behind it:
 *
 *   ANSWER   200 or 201, stored and replayed     RELEASE  nothing happened: the key is free again
 *   PROBLEM  422, stored and replayed            UNKNOWN  nobody knows: the key resumes, we ask
 *   NEVER    no gateway gives this answer to such an ask
 *
 * UNKNOWN and RELEASE leave the payment as it was. Money rests on these cells: an UNKNOWN that
 * becomes a RELEASE is a second charge, an ANSWER that becomes an UNKNOWN is a locked payment. */
#pragma once

#include "base/why.h"
#include "unit/payment/money.h"

enum run { FIRST, AGAIN, ASKED, LATE, RUNS };

enum ending { NO_END, END_ANSWER, END_PROBLEM, END_RELEASE, END_UNKNOWN };

struct cell {
    enum ending ending;
    enum payment_status after; /* PAYMENT_STATUSES: as before */
};

// clang-format off
#define ANSWER(status)      { END_ANSWER, PAYMENT_##status }
#define PROBLEM(status)     { END_PROBLEM, PAYMENT_##status }
#define RELEASE             { END_RELEASE, PAYMENT_STATUSES }
#define UNKNOWN             { END_UNKNOWN, PAYMENT_STATUSES }
#define UNKNOWN_BUT(status) { END_UNKNOWN, PAYMENT_##status }
#define NEVER               { NO_END, PAYMENT_STATUSES }
// clang-format on

#define OK_ GATEWAY_OK
#define DECLINED_ GATEWAY_DECLINED
#define REFUSED_ GATEWAY_REFUSED
#define ABSENT_ GATEWAY_ABSENT
#define LATER_ GATEWAY_RETRY_LATER
#define UNCERTAIN_ GATEWAY_UNCERTAIN

struct rule {
    const char *clause, *why;
    enum gateway_answer answer;
    enum says says;
    struct cell cells[RUNS];
};

/* One operation on one payment. */
struct act {
    enum op_kind kind;
    struct scene scene;
    bool own;           /* ours: no client waits for it */
    const char *cause;  /* of our own */
    bool other_intent;  /* it is about another intent than the payment's */
    bool has_refund_id; /* a webhook brought it before */
    bool page;          /* a void that closes the gateway's page */
    int64_t claimed_ago_ms;
    bool timed_out;
};

/* The ways to come to a run. */
static const struct how {
    enum run run;
    const char *name;
    bool asked, fresh;
    int attempt, sends, asks;
    int64_t looked_ms; /* from the last send to the (first) look */
} hows[] = {
    { FIRST, "the first run", .fresh = true, .attempt = 1 },
    { AGAIN, "leased again", .fresh = true, .attempt = 2 },
    { AGAIN, "found in the queue", .fresh = false, .attempt = 1 },
    { AGAIN, "sent before", .fresh = true, .attempt = 1, .sends = 1, .looked_ms = HOUR_MS },
    { AGAIN, "asked before", .fresh = true, .attempt = 1, .asks = 1 },
    { ASKED, "asked", .asked = true, .attempt = 2, .sends = 1 },
    { ASKED, "asked for its client", .asked = true, .fresh = true, .attempt = 1 },
    { ASKED, "asked a millisecond too early", .asked = true, .attempt = 3, .sends = 1, .asks = 1,
      .looked_ms = LIMIT_ABSENT_MS - 1 },
    { LATE, "asked after 15 min", .asked = true, .attempt = 3, .sends = 1, .asks = 1,
      .looked_ms = LIMIT_ABSENT_MS },
};

static const char *const answer_names[] = { "OK",     "DECLINED",    "REFUSED",
                                            "ABSENT", "RETRY_LATER", "UNCERTAIN" };
static const char *const ending_names[] = { "none", "ANSWER", "PROBLEM", "RELEASE", "UNKNOWN" };

/* --- one settle --- */

struct trial {
    const struct act *act;
    const struct how *how;
    enum gateway_answer answer;
    enum says says;
    bool not_called;

    struct op_run *run;
    struct message message;
    struct job job;
    int64_t now_ms;

    /* seen within the unit */
    struct payment after;
    struct operation op;
    struct refund refund;
    bool has_key;
    struct key_record key;
    bool answered;
    struct {
        enum err err;
        bool unknown;
        int status;
    } told;
    /* ... and behind it */
    char result[64], started[128], reason[64];
    int64_t again;
};

static inline struct fact refund_fact(const struct trial *t, const struct payment *p,
                                      struct str ours)
{
    static const enum refund_status states[SAYS] = {
        [REFUNDED] = REFUND_SUCCEEDED,
        [REFUNDING] = REFUND_PENDING,
        [NOT_REFUNDED] = REFUND_FAILED,
        [REFUNDED_LESS] = REFUND_SUCCEEDED,
    };

    return (struct fact){ .kind = FACT_REFUND,
                          .refund = states[t->says],
                          .refund_id = id_text(&t->run->arena, "re_", t->run->op.refund_id),
                          .refund_our_id = ours,
                          .intent_id = p->gateway_transaction_id,
                          .amount = t->says == REFUNDED_LESS ? PRICE - 1 : PRICE,
                          .currency = "JPY" };
}

static inline struct fact fact_of(const struct trial *t, const struct payment *p)
{
    struct arena *a = &t->run->arena;
    static const enum session_status sessions[SAYS] = {
        [SESSION_IS_OVER] = SESSION_EXPIRED, [SESSION_IS_PAID] = SESSION_COMPLETE
    };

    if (t->says == NOTHING)
        return (struct fact){ 0 };
    if (t->says >= REFUNDED)
        return refund_fact(t, p, id_text(a, "", t->run->op.refund_id));
    if (t->says >= SESSION_IS_OPEN)
        return (struct fact){ .kind = FACT_SESSION,
                              .session_id = id_text(a, "cs_", p->id),
                              .session = sessions[t->says] };
    return intent_fact(t->says, id_text(a, t->act->other_intent ? "pi2_" : "pi_", p->id));
}

static inline enum gateway_ask ask_of(const struct trial *t)
{
    static const enum gateway_ask sends[OP_KINDS] = { GATEWAY_AUTHORIZE, GATEWAY_CAPTURE,
                                                      GATEWAY_REFUND, GATEWAY_VOID };

    if (t->act->page)
        return GATEWAY_EXPIRE;
    if (t->act->kind == OP_CREATE && t->act->scene.context == CONTEXT_PARTICIPANT)
        return GATEWAY_CHECKOUT;
    if (!t->how->asked)
        return sends[t->act->kind];
    return t->act->kind == OP_REFUND ? GATEWAY_FETCH_REFUND : GATEWAY_FETCH;
}

static inline enum err add_refund(struct tx *tx, struct trial *t, const struct payment *p)
{
    struct refund r = { .id = t->run->op.refund_id,
                        .payment_id = p->id,
                        .amount = PRICE,
                        .status = REFUND_PENDING,
                        .automatic = t->act->own,
                        .created_ms = t->now_ms };

    if (t->act->kind != OP_REFUND)
        return OK;
    if (t->act->has_refund_id)
        r.gateway_refund_id = id_text(&t->run->arena, "re_", r.id);
    return refund_add(tx, &r);
}

static inline enum err add_key(struct tx *tx, const struct operation *op)
{
    struct operate o = {
        .payments = &w.payments, .kind = op->kind, .user = op->user, .key = op->key
    };
    bool ours = false;
    enum err e;

    memset(o.hash, 'a', KEY_HASH);
    e = op->has_key ? key_claim(tx, &o, op->payment_id, op->id, op->claimed_ms, &ours) : OK;
    if (!e)
        assert_int_equal(ours, op->has_key);
    return e;
}

/* As it was when the gateway answered: asked for means that its outcome is unknown. */
static inline enum err add_operation(struct tx *tx, struct trial *t, struct payment *p)
{
    struct operation *op = &t->run->op;
    struct env *env = tx_env(tx);
    enum err e;

    *op = (struct operation){ .id = p->claim_id,
                              .payment_id = p->id,
                              .message_id = env_uuid(env),
                              .kind = t->act->kind,
                              .cause = t->act->own ? str_of(t->act->cause) : S("client"),
                              .gateway_key = S("key"),
                              .amount = t->act->kind == OP_REFUND ? PRICE : -1,
                              .has_refund = t->act->kind == OP_REFUND,
                              .refund_id = env_uuid(env),
                              .has_key = !t->act->own,
                              .user = p->user_id,
                              .key = p->idempotency_key,
                              .claimed_ms = t->now_ms - t->act->claimed_ago_ms };
    if (t->act->other_intent)
        op->intent_id = id_text(&t->run->arena, "pi2_", p->id);
    e = add_refund(tx, t, p);
    if (!e)
        e = operation_add(tx, op);
    op->sends = t->how->sends;
    op->asks = t->how->asks;
    op->sent_ms = t->now_ms - HOUR_MS;
    op->list_ms = op->sent_ms + t->how->looked_ms;
    op->phase = t->how->asked ? PHASE_UNKNOWN : PHASE_SEND;
    if (!e && t->how->asked)
        e = TX_DO(tx, STMT_operation_unknown, 1, V_INT(op->sent_ms), V_INT(op->sends),
                  V_INT(op->asks), V_NULL, V_NULL, V_INT(0), v_uuid(&op->id));
    if (!e && !t->act->own) {
        p->has_open_op = true;
        p->open_op = op->id;
        e = payment_store(tx, p, t->now_ms);
    }
    return e ? e : add_key(tx, op);
}

static inline enum err look_back(struct tx *tx, struct trial *t)
{
    struct op_run *r = t->run;
    struct arena *a = &r->arena;
    enum err e = payment_read(tx, a, r->op.payment_id, false, &t->after);

    if (!e)
        e = operation_read(tx, a, r->op.id, &t->op);
    if (!e && r->op.has_refund)
        e = refund_read(tx, a, r->op.refund_id, &t->refund);
    if (e)
        return e;
    t->answered = r->answer;
    if (r->answer) {
        t->told.err = r->answer->err;
        t->told.unknown = r->answer->unknown;
        t->told.status = r->answer->status;
    }
    e = key_find(tx, a, r->op.user, r->op.kind, r->op.key, &t->key);
    t->has_key = !e;
    return e == ERR_NOT_FOUND ? OK : e;
}

static inline enum err do_settle(struct tx *tx, void *ctx)
{
    struct trial *t = ctx;
    struct payment p;
    struct why why = { 0 };
    enum err e;

    run_free(t->run);
    t->run = run_new(&w.payments);
    t->now_ms = env_now_ms(tx_env(tx));
    e = payment_make(tx, &t->run->arena, &t->act->scene, &p);
    if (!e)
        e = add_operation(tx, t, &p);
    if (e)
        return e;
    t->message = (struct message){ .attempt = t->how->attempt };
    t->job = (struct job){ .message = &t->message, .state = t->run };
    t->run->job = &t->job;
    t->run->payment = p;
    t->run->fresh = t->how->fresh;
    t->run->asked = t->how->asked;
    t->run->called = !t->not_called;
    t->run->call = (struct gateway_call){ .ask = ask_of(t),
                                          .answer = t->answer,
                                          .sent = !t->how->asked && t->answer != LATER_,
                                          .timed_out = t->act->timed_out,
                                          .fact = fact_of(t, &p) };
    e = operation_settle(tx, &t->job, NULL, &why);
    return e ? e : look_back(tx, t);
}

/* "done|void declined": the operation's result, and what was started beside it. */
static inline void read_rest(struct trial *t)
{
    char sql[512], text[256];
    const char *bar;

    snprintf(sql, sizeof(sql),
             "SELECT coalesce(max(CASE WHEN id = %s THEN result END), '') || '|' ||"
             " CASE WHEN count(*) > 2 THEN 'too much' ELSE"
             " coalesce(max(CASE WHEN id <> %s THEN kind || ' ' || cause END), '') END"
             " FROM operations WHERE payment_id = %s",
             sql_id(t->op.id), sql_id(t->op.id), sql_id(t->after.id));
    sql_text(w.rig, sql, text, sizeof(text));
    bar = strchr(text, '|');
    assert_non_null(bar);
    snprintf(t->result, sizeof(t->result), "%.*s", (int)(bar - text), text);
    snprintf(t->started, sizeof(t->started), "%s", bar + 1);
}

static inline void settle_once(struct trial *t)
{
    enum err e = rig_do(w.rig, 0, do_settle, t);

    if (e)
        fail_msg("%s, %s: it was not settled: %s", answer_names[t->answer], says_names[t->says],
                 err_code(e));
    read_rest(t);
    snprintf(t->reason, sizeof(t->reason), STR_FMT, STR_ARG(t->after.failure_reason));
    t->again = t->job.again_ms - t->now_ms;
}

static inline void settle_end(struct trial *t)
{
    run_free(t->run);
    t->run = NULL;
}

/* --- which ending it was: everything that tells of it has to agree --- */

static inline bool is_over(const struct trial *t, const char *result, int status, enum err told)
{
    bool is_stored = status != 0;
    bool key = t->act->own ? !t->has_key && !t->answered
               : is_stored ? t->has_key && t->key.done && t->key.status == status
                           : !t->has_key;
    bool answer = t->act->own || (t->answered && t->told.err == told && t->told.status == status &&
                                  !t->told.unknown);

    return key && answer && t->op.phase == PHASE_DONE && strcmp(t->result, result) == 0 &&
           !t->after.has_open_op && !t->job.again_ms;
}

/* 504 where time was the reason or we only asked, else 502; the key is kept, nothing is stored. */
static inline bool is_unknown(const struct trial *t)
{
    bool late = t->how->asked || t->act->timed_out;
    bool client = t->has_key && !t->key.done && t->after.has_open_op && t->answered &&
                  t->told.unknown && t->told.err == (late ? ERR_GATEWAY_TIMEOUT : ERR_GATEWAY);

    return (t->act->own ? !t->has_key && !t->answered : client) && t->op.phase != PHASE_DONE &&
           t->again > 0;
}

static inline enum ending ending_of(const struct trial *t)
{
    if (is_over(t, "done", t->act->kind == OP_CREATE ? 201 : 200, OK))
        return END_ANSWER;
    if (is_over(t, "refused", 422, OK))
        return END_PROBLEM;
    if (is_over(t, "nothing happened", 0, ERR_GATEWAY))
        return END_RELEASE;
    return is_unknown(t) ? END_UNKNOWN : NO_END;
}

/* False: there is no such cell. True: t is to be ended. */
static inline bool check(const struct act *act, const struct rule *row, const struct how *how,
                         struct trial *t)
{
    const struct cell *want = &row->cells[how->run];
    enum payment_status after = want->after == PAYMENT_STATUSES ? act->scene.status : want->after;
    enum ending ending;

    *t = (struct trial){ .act = act, .how = how, .answer = row->answer, .says = row->says };
    if (want->ending == NO_END)
        return false;
    settle_once(t);
    ending = ending_of(t);
    if (ending != want->ending || t->after.status != after)
        fail_msg("%s %s: %s, %s, %s, %s: wanted %s %s, got %s %s (%s)", row->clause, row->why,
                 op_name(act->kind), answer_names[row->answer], says_names[row->says], how->name,
                 ending_names[want->ending], payment_status_name(after), ending_names[ending],
                 payment_status_name(t->after.status), t->result);
    return true;
}

static inline void check_rows(void **state, const struct act *act, const struct rule *rows,
                              size_t n)
{
    world_begin(state);
    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < COUNT(hows); h++) {
            struct trial t;

            if (check(act, &rows[i], &hows[h], &t))
                settle_end(&t);
        }
    world_end();
}
