/* transfer.c - received transfers, lines decided by hand, and returns; transfer.h has the rules.
 *
 *   a line, or an operator's entry --> transfer_take --> take_intent --> CAPTURED: received
 *                                                                '--> not accepted: returning, its
 *                                                                     refund is a return
 *   a second line for the same -------> surplus ------------------> a return at once
 *
 * Each act is one commit, so a crash leaves it done or not begun. */
#include "transfer/transfer.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "base/text.h"
#include "domain/day.h"
#include "domain/reference.h"
#include "observe/log.h"
#include "payment/transition.h"
#include "transfer/json.h"

#include <stdio.h>
#include <string.h>

enum { DETAIL_MAX = 480 };

/* --- names --- */

static const char *const line_states[LINE_STATES] = {
    [LINE_OPEN] = "open",           [LINE_MATCHED] = "matched",     [LINE_ASSIGNED] = "assigned",
    [LINE_SET_ASIDE] = "set_aside", [LINE_TO_RETURN] = "to_return", [LINE_RETURNED] = "returned",
};

const char *line_state_name(enum line_state s)
{
    return line_states[s];
}

bool line_state_parse(struct str name, enum line_state *ret_state)
{
    for (int i = 0; i < LINE_STATES; i++)
        if (str_eq(name, str_of(line_states[i]))) {
            *ret_state = (enum line_state)i;
            return true;
        }
    return false;
}

static enum err transfer_refuse(struct transfer_act *a, enum err e, const char *en, const char *ja)
{
    a->why_en = en;
    a->why_ja = ja;
    return e;
}

/* --- rows --- */

static struct str transfer_row_text(const struct val *v)
{
    return v->type == VAL_TEXT ? v->s : (struct str){ 0 };
}

bool statement_line_of_row(const struct row *row, struct statement_line *ret_line)
{
    const struct val *v = row->col;
    struct statement_line l = { .line = v[2].i,
                                .booked_on = transfer_row_text(&v[3]),
                                .text = transfer_row_text(&v[6]),
                                .has_balance = v[7].type == VAL_INT,
                                .balance = v[7].i,
                                .bank_id = transfer_row_text(&v[8]),
                                .payer = transfer_row_text(&v[9]),
                                .reason = transfer_row_text(&v[11]),
                                .has_payment = v[12].type == VAL_BLOB,
                                .note = transfer_row_text(&v[13]),
                                .decided_ms = v[14].type == VAL_INT ? v[14].i : 0,
                                .created_ms = v[15].i };

    if (!money_stored(v[4].i, v[5].s, &l.money) || !uuid_of_bytes(v[0].s, &l.id) ||
        !uuid_of_bytes(v[1].s, &l.import_id) || !line_state_parse(v[10].s, &l.state) ||
        (l.has_payment && !uuid_of_bytes(v[12].s, &l.payment_id)))
        return false;
    *ret_line = l;
    return true;
}

static enum err line_read(struct tx *tx, struct uuid id, bool lock, struct statement_line *ret_line)
{
    struct row row;
    enum err e = TX_ROW(tx, lock ? STMT_line_lock : STMT_line_get, &row, v_uuid(&id));

    if (e)
        return e;
    return statement_line_of_row(&row, ret_line) ? OK : ERR_INTERNAL;
}

enum err line_decide(struct tx *tx, const struct transfer_act *a, struct uuid line,
                     enum line_state from, enum line_state to, struct str reason,
                     const struct uuid *payment, struct str note)
{
    return TX_DO(tx, STMT_line_decide, 1, V_TEXT(str_of(line_states[to])), V_TEXT(reason),
                 payment ? v_uuid(payment) : V_NULL, v_text(note), v_uuid(&a->user),
                 to == LINE_OPEN ? V_NULL : V_INT(env_now_ms(tx_env(tx))), v_uuid(&line),
                 V_TEXT(str_of(line_states[from])));
}

/* --- audit --- */

static enum err transfer_audit_line(struct tx *tx, const struct transfer_act *a,
                                    const char *operation, struct uuid line, int64_t amount,
                                    struct str detail)
{
    char id[UUID_TEXT + 1];

    uuid_text(line, id);
    return TX_DO(tx, STMT_audit_bank, 1, V_INT(env_now_ms(tx_env(tx))), V_TEXT(str_of(operation)),
                 V_TEXT(str_of(id)), v_text(detail), v_uuid(&a->user), V_INT(amount));
}

/* "<how>, 2026-11-16: <note>" in the arena; empty if there is no memory. */
static struct str transfer_detail(struct arena *a, const char *how, struct str day, struct str note)
{
    struct str text = { 0 };
    struct buf b;

    buf_init(&b, 8 * 1024);
    buf_fmt(&b, "%s, " STR_FMT, how, STR_ARG(day));
    if (note.n) {
        buf_add(&b, S(": "));
        buf_add(&b, note);
    }
    if (!b.failed)
        text = arena_str(a, cut_utf8(buf_str(&b), DETAIL_MAX));
    buf_release(&b);
    return text;
}

/* --- taking --- */

static struct fact transfer_fact(const struct transfer *t, const char *intent_id,
                                 const char *payment_id)
{
    struct fact f = { .kind = FACT_INTENT,
                      .intent_id = str_of(intent_id),
                      .payment_id = str_of(payment_id),
                      .amount = t->money.minor,
                      .state = INTENT_SUCCEEDED,
                      .received = t->money.minor };

    memcpy(f.currency, t->money.currency, sizeof(f.currency));
    return f;
}

static enum err transfer_move_payment(struct tx *tx, struct transfer_act *a, struct payment *p,
                                      const struct transfer *t, enum transfer_state *ret_state)
{
    char intent[TRANSFER_ID_TEXT + 1], id[UUID_TEXT + 1];
    struct taking taking = { .payments = a->payments,
                             .arena = a->arena,
                             .now_ms = env_now_ms(tx_env(tx)) };
    enum verdict v = VERDICT_MISMATCH;
    struct fact f;
    enum err e;

    transfer_intent_id(t->payment_id, intent);
    uuid_text(t->payment_id, id);
    f = transfer_fact(t, intent, id);
    f.intent_id = arena_str(a->arena, f.intent_id); /* the payment refers to it until the commit */
    if (!f.intent_id.p)
        return ERR_NO_MEMORY;
    e = take_intent(tx, &taking, p, &f, &v);
    if (e)
        return e;
    if (v != VERDICT_APPLY && v != VERDICT_STRAY_SUCCEEDED)
        return transfer_refuse(a, ERR_UNPROCESSABLE, "The payment does not take this money.",
                               "この支払いはこの入金を受け取れません。");
    *ret_state = v == VERDICT_APPLY ? TRANSFER_RECEIVED : TRANSFER_RETURNING;
    return OK;
}

enum err transfer_take(struct tx *tx, struct transfer_act *a, struct uuid payment,
                       struct str booked_on, const struct uuid *line, struct str detail,
                       enum transfer_state *ret_state)
{
    struct transfer t;
    struct payment p;
    enum transfer_state to = TRANSFER_RECEIVED;
    int64_t now_ms = env_now_ms(tx_env(tx));
    enum err e = payment_read(tx, a->arena, payment, true, &p);

    if (!e)
        e = transfer_read(tx, a->arena, payment, true, &t);
    if (e)
        return e;
    if (t.received)
        return transfer_refuse(a, ERR_UNPROCESSABLE, "The money of this transfer has come already.",
                               "この振込は入金済みです。");
    if (t.state == TRANSFER_CANCELED && p.status == PAYMENT_PENDING)
        return transfer_refuse(a, ERR_UNCERTAIN,
                               "The payment is being cancelled right now; try again.",
                               "支払いを取り消しています。もう一度お試しください。");
    e = transfer_move_payment(tx, a, &p, &t, &to);
    if (e)
        return e;
    e = fault_point(&tx_env(tx)->faults, "transfer.take");
    if (e)
        return e;
    e = TX_DO(tx, STMT_transfer_receive, 1, V_TEXT(str_of(transfer_state_name(to))),
              V_TEXT(booked_on), line ? v_uuid(line) : V_NULL, V_INT(now_ms), v_uuid(&payment));
    if (e)
        return e;
    *ret_state = to;
    return audit_money(tx, "TRANSFER", &p, t.money.minor, true, detail, &a->user, NULL, now_ms);
}

enum err transfer_explain(struct tx *tx, struct transfer_act *a, struct uuid payment,
                          struct uuid line, struct str detail)
{
    struct payment p;
    int64_t now_ms = env_now_ms(tx_env(tx));
    enum err e = payment_read(tx, a->arena, payment, true, &p);

    if (!e)
        e = TX_DO(tx, STMT_transfer_explain, 1, v_uuid(&line), V_INT(now_ms), v_uuid(&payment));
    if (e)
        return e;
    return audit_money(tx, "TRANSFER", &p, p.money.minor, true, detail, &a->user, NULL, now_ms);
}

/* The money came a second time: it does not belong to the payment and is to be sent back. */
static enum err transfer_take_surplus(struct tx *tx, struct transfer_act *a,
                                      const struct transfer *t, const struct statement_line *l,
                                      struct str detail)
{
    char gateway_id[TRANSFER_ID_TEXT + 1];
    int64_t now_ms = env_now_ms(tx_env(tx));
    struct refund r = { .id = l->id, /* one return for each line */
                        .payment_id = t->payment_id,
                        .amount = l->money.minor,
                        .status = REFUND_PENDING,
                        .reason = S("paid twice"),
                        .automatic = true,
                        .created_ms = now_ms };
    struct payment p;
    struct row row;
    enum err e = payment_read(tx, a->arena, t->payment_id, true, &p);

    if (e)
        return e;
    transfer_refund_id(r.id, gateway_id);
    r.gateway_refund_id = str_of(gateway_id);
    e = refund_add(tx, &r);
    if (e)
        return e;
    e = TX_ROW(tx, STMT_return_add, &row, v_uuid(&r.id), V_TEXT(S("refund")), v_uuid(&r.payment_id),
               v_uuid(&l->id), V_MONEY(l->money), V_TEXT(S("paid twice")), V_INT(now_ms));
    if (e)
        return e;
    return audit_money(tx, "TRANSFER", &p, l->money.minor, true, detail, &a->user, NULL, now_ms);
}

/* --- matching --- */

static enum err line_count_references(struct tx *tx, struct str text, struct bank_view *v,
                                      struct uuid *ret_payment)
{
    struct reference found[REFERENCES_FOUND], near[REFERENCES_NEAR];
    size_t n = reference_find(text, found);

    v->has_digits = n || reference_near(text, near);
    for (size_t i = 0; i < n; i++) {
        struct row row;
        enum err e = TX_ROW(tx, STMT_transfer_of_reference, &row, V_TEXT(str_of(found[i].text)));

        if (e && e != ERR_NOT_FOUND)
            return e;
        if (!e && !uuid_of_bytes(row.col[0].s, ret_payment))
            return ERR_INTERNAL;
        v->references += !e;
    }
    return OK;
}

enum err line_match(struct tx *tx, const struct line_view *l, enum bank_match *ret_match,
                    struct uuid *ret_payment)
{
    struct bank_view v = { .line_amount = l->amount };
    struct transfer t;
    enum err e = line_count_references(tx, l->text, &v, ret_payment);

    if (!e && v.references == 1)
        e = transfer_read(tx, NULL, *ret_payment, false, &t);
    if (e)
        return e;
    if (v.references == 1) {
        v.state = t.state;
        v.has_line = t.has_line;
        v.expected = t.money.minor;
        v.same_currency = strcmp(t.money.currency, l->currency) == 0;
    }
    *ret_match = bank_match(&v);
    return OK;
}

/* --- confirming --- */

static enum err transfer_show(struct tx *tx, struct transfer_act *a, struct uuid payment,
                              struct str *ret_json)
{
    struct transfer t;
    struct buf b;
    enum err e = transfer_read(tx, a->arena, payment, false, &t);

    if (e)
        return e;
    buf_init(&b, TRANSFER_JSON_MAX);
    out_transfer(&b, &t);
    *ret_json = out_done(&b, a->arena);
    return ret_json->p ? OK : ERR_NO_MEMORY;
}

enum err transfer_confirm(struct tx *tx, struct transfer_act *a, const struct transfer_word *w,
                          struct str *ret_json)
{
    char day[DAY_TEXT + 1];
    enum transfer_state state;
    struct transfer t;
    struct payment p;
    enum err e = payment_read(tx, a->arena, w->payment, true, &p);

    if (!e)
        e = transfer_read(tx, a->arena, w->payment, true, &t);
    if (e)
        return e;
    if (w->amount != t.money.minor)
        return transfer_refuse(
            a, ERR_UNPROCESSABLE,
            "The amount is not the transfer's: only the exact amount can be confirmed.",
            "金額が振込の金額と一致しません。確認できるのは同額の入金だけです。");
    day_text(w->days, day);
    if (!t.received)
        e = transfer_take(
            tx, a, w->payment, str_of(day), NULL,
            transfer_detail(a->arena, "confirmed by an operator", str_of(day), w->note), &state);
    return e ? e : transfer_show(tx, a, w->payment, ret_json);
}

/* --- deciding a line by hand --- */

static enum err line_show(struct tx *tx, struct transfer_act *a, struct uuid id,
                          struct str *ret_json)
{
    struct statement_line l;
    struct buf b;
    enum err e = line_read(tx, id, false, &l);

    if (e)
        return e;
    buf_init(&b, TRANSFER_JSON_MAX);
    out_line(&b, &l, (struct str){ 0 });
    *ret_json = out_done(&b, a->arena);
    return ret_json->p ? OK : ERR_NO_MEMORY;
}

/* Finds it by the payment's id or by its reference, and locks the payment and the transfer. */
static enum err line_find_transfer(struct tx *tx, struct transfer_act *a,
                                   const struct line_order *o, struct transfer *ret_transfer)
{
    struct uuid payment = o->payment;
    struct row row;
    enum err e = OK;

    if (!o->has_payment) {
        e = TX_ROW(tx, STMT_transfer_of_reference, &row, V_TEXT(o->reference));
        if (!e && !uuid_of_bytes(row.col[0].s, &payment))
            e = ERR_INTERNAL;
    }
    if (!e) { /* its state cannot change from here on */
        struct payment p;

        e = payment_read(tx, a->arena, payment, true, &p);
    }
    if (!e)
        e = transfer_read(tx, a->arena, payment, true, ret_transfer);
    return e == ERR_NOT_FOUND
               ? transfer_refuse(a, ERR_UNPROCESSABLE, "There is no such bank transfer.",
                                 "該当する銀行振込の支払いがありません。")
               : e;
}

static enum err line_check_assign(struct transfer_act *a, const struct statement_line *l,
                                  const struct transfer *t)
{
    if (l->state != LINE_OPEN && l->state != LINE_SET_ASIDE)
        return transfer_refuse(a, ERR_UNPROCESSABLE, "The line has been decided on already.",
                               "この明細はすでに処理されています。");
    if (!money_eq(l->money, t->money))
        return transfer_refuse(
            a, ERR_UNPROCESSABLE,
            "The line's amount is not the transfer's: it cannot be split or filled up. "
            "Set it aside, and have it returned.",
            "明細の金額が振込の金額と一致しません。分割や充当はできません。"
            "保留にして返金してください。");
    return OK;
}

static enum err line_apply_assign(struct tx *tx, struct transfer_act *a, const struct line_order *o,
                                  const struct statement_line *l, const struct transfer *t)
{
    struct str detail = transfer_detail(a->arena, "assigned by an operator", l->booked_on, o->note);
    enum transfer_state state = t->state;
    struct str reason = S("assigned");
    enum err e;

    if (!t->received)
        e = transfer_take(tx, a, t->payment_id, l->booked_on, &l->id, detail, &state);
    else if (!t->has_line)
        e = transfer_explain(tx, a, t->payment_id, l->id, detail);
    else
        e = transfer_take_surplus(tx, a, t, l, detail);
    if (e)
        return e;
    if (t->received && t->has_line)
        reason = S("paid_twice");
    else if (state == TRANSFER_RETURNING)
        reason = S("too_late");
    return line_decide(tx, a, l->id, l->state, LINE_ASSIGNED, reason, &t->payment_id, o->note);
}

enum err line_assign(struct tx *tx, struct transfer_act *a, const struct line_order *o,
                     struct str *ret_json)
{
    struct statement_line l;
    struct transfer t;
    enum err e = line_read(tx, o->line, true, &l);

    if (e)
        return e;
    e = line_find_transfer(tx, a, o, &t);
    if (e)
        return e;
    if (l.has_payment && uuid_eq(l.payment_id, t.payment_id))
        return line_show(tx, a, l.id, ret_json); /* assigned to it already */
    e = line_check_assign(a, &l, &t);
    if (e)
        return e;
    e = line_apply_assign(tx, a, o, &l, &t);
    return e ? e : line_show(tx, a, l.id, ret_json);
}

static enum err line_add_return(struct tx *tx, const struct statement_line *l, struct str note)
{
    struct row row;
    enum err e =
        TX_ROW(tx, STMT_return_add, &row, v_uuid(&l->id), V_TEXT(S("line")), V_NULL, v_uuid(&l->id),
               V_MONEY(l->money), v_text(note), V_INT(env_now_ms(tx_env(tx))));

    return e == ERR_NOT_FOUND ? OK : e;
}

enum err line_set_aside(struct tx *tx, struct transfer_act *a, const struct line_order *o,
                        struct str *ret_json)
{
    enum line_state to = o->to_return ? LINE_TO_RETURN : LINE_SET_ASIDE;
    struct statement_line l;
    enum err e = line_read(tx, o->line, true, &l);

    if (e)
        return e;
    if (l.state == to || (o->to_return && l.state == LINE_RETURNED))
        return line_show(tx, a, l.id, ret_json);
    if (l.state != LINE_OPEN && l.state != LINE_SET_ASIDE)
        return transfer_refuse(a, ERR_UNPROCESSABLE, "The line has been decided on already.",
                               "この明細はすでに処理されています。");
    e = line_decide(tx, a, l.id, l.state, to, l.reason, NULL, o->note);
    if (!e && o->to_return)
        e = line_add_return(tx, &l, o->note);
    if (e)
        return e;
    e = transfer_audit_line(tx, a, o->to_return ? "LINE_TO_RETURN" : "LINE_SET_ASIDE", l.id,
                            l.money.minor, o->note);
    return e ? e : line_show(tx, a, l.id, ret_json);
}

/* --- returns --- */

static enum err return_show(struct tx *tx, struct transfer_act *a, struct uuid id,
                            struct str *ret_json)
{
    struct row row;
    struct buf b;
    enum err e = TX_ROW(tx, STMT_return_get, &row, v_uuid(&id));

    if (e)
        return e;
    buf_init(&b, TRANSFER_JSON_MAX);
    out_return(&b, &row);
    *ret_json = out_done(&b, a->arena);
    return ret_json->p ? OK : ERR_NO_MEMORY;
}

static enum err return_refund_paid(struct tx *tx, struct transfer_act *a,
                                   const struct return_word *w, struct payment *p, int64_t amount,
                                   struct str detail)
{
    char intent[TRANSFER_ID_TEXT + 1], id[TRANSFER_ID_TEXT + 1], ours[UUID_TEXT + 1];
    struct taking taking = { .payments = a->payments,
                             .arena = a->arena,
                             .now_ms = env_now_ms(tx_env(tx)) };
    enum verdict v = VERDICT_MISMATCH;
    struct fact f = { .kind = FACT_REFUND, .amount = amount, .refund = REFUND_SUCCEEDED };
    enum err e;

    transfer_intent_id(p->id, intent);
    transfer_refund_id(w->id, id);
    uuid_text(w->id, ours);
    f.intent_id = str_of(intent);
    f.refund_id = str_of(id);
    f.refund_our_id = str_of(ours);
    memcpy(f.currency, p->money.currency, sizeof(f.currency));
    e = take_refund(tx, &taking, p, &f, &v);
    if (e == ERR_CONSTRAINT || (!e && (v == VERDICT_MISMATCH || v == VERDICT_SUPERSEDED)))
        return transfer_refuse(a, ERR_UNPROCESSABLE, "The refund has ended another way.",
                               "この返金はすでに別の結果で終わっています。");
    return e ? e
             : audit_money(tx, "REFUND_PAID", p, amount, true, detail, &a->user, NULL,
                           taking.now_ms);
}

static enum err return_line_paid(struct tx *tx, struct transfer_act *a, const struct return_word *w,
                                 struct str detail)
{
    struct statement_line l;
    enum err e = line_read(tx, w->id, true, &l);

    if (!e)
        e = line_decide(tx, a, l.id, LINE_TO_RETURN, LINE_RETURNED, l.reason, NULL, l.note);
    return e ? e : transfer_audit_line(tx, a, "LINE_RETURNED", l.id, l.money.minor, detail);
}

static enum err return_pay(struct tx *tx, struct transfer_act *a, const struct return_word *w,
                           struct payment *p, const struct row *row)
{
    char day[DAY_TEXT + 1];
    struct str detail;
    enum err e;

    day_text(w->days, day);
    detail = transfer_detail(a->arena, "sent back by an operator", str_of(day), w->note);
    e = p ? return_refund_paid(tx, a, w, p, row->col[4].i, detail)
          : return_line_paid(tx, a, w, detail);
    return e ? e
             : TX_DO(tx, STMT_return_paid, 1, V_TEXT(str_of(day)), v_text(w->note),
                     v_uuid(&a->user), V_INT(env_now_ms(tx_env(tx))), v_uuid(&w->id));
}

/* The order of the locks depends on what is returned, so the row is read before it is locked. */
enum err return_paid(struct tx *tx, struct transfer_act *a, const struct return_word *w,
                     struct str *ret_json)
{
    bool of_payment;
    struct uuid payment;
    struct payment p;
    struct row row;
    enum err e = TX_ROW(tx, STMT_return_get, &row, v_uuid(&w->id));

    if (e)
        return e;
    of_payment = row.col[2].type == VAL_BLOB && uuid_of_bytes(row.col[2].s, &payment);
    if (of_payment)
        e = payment_read(tx, a->arena, payment, true, &p);
    if (e)
        return e;
    e = TX_ROW(tx, STMT_return_lock, &row, v_uuid(&w->id));
    if (!e && str_eq(row.col[6].s, S("due")))
        e = return_pay(tx, a, w, of_payment ? &p : NULL, &row);
    return e ? e : return_show(tx, a, w->id, ret_json);
}
