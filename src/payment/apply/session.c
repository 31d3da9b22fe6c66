/* session.c - a session of the gateway's own page: identifiers, never money (E1).
 *
 *   open < expired < complete      a session's status only climbs, whoever brings the news, in
 *                                  whatever order (E6); what is known of it stays known
 *
 * What the payment takes from it:
 *   its last session   the one that our own call made last; an event never says so. Sessions of
 *                      somebody else that name the payment are kept, and are no more than that
 *   its intent         only from its last session, once that is complete. Tries come and go with
 * their sessions, and a payment that took the first of them for its own would send the money of the
 *                      second one back
 *   the action         while its last session is open, and no longer
 *
 * Everything here is under the payment's lock, inside the caller's transaction. */
#include "base/buf.h"
#include "base/json/write.h"
#include "observe/log.h"
#include "payment/transition.h"

enum { ACTION_MAX = 8 * 1024 };

struct apply_session_session {
    struct uuid payment;
    enum session_status status;
    struct str payment_status, intent_id, customer_id, url; /* empty: not known */
    int64_t expires_ms;                                     /* 0: not known */
};

static const char *const names[SESSION_STATUSES] = {
    [SESSION_OPEN] = "open",
    [SESSION_EXPIRED] = "expired",
    [SESSION_COMPLETE] = "complete",
};

/* --- its row --- */

static bool parse_status(struct str name, enum session_status *ret)
{
    for (int i = 0; i < SESSION_STATUSES; i++)
        if (str_eq(name, str_of(names[i]))) {
            *ret = (enum session_status)i;
            return true;
        }
    return false;
}

static struct str take_text(const struct val *v)
{
    return v->type == VAL_TEXT ? v->s : (struct str){ 0 };
}

static enum err read_session(struct tx *tx, struct str id, struct apply_session_session *ret)
{
    struct row row;
    const struct val *v = row.col;
    enum err e = TX_ROW(tx, STMT_session_get, &row, V_TEXT(id));

    if (e)
        return e;
    *ret = (struct apply_session_session){ .payment_status = take_text(&v[3]),
                                           .intent_id = take_text(&v[4]),
                                           .customer_id = take_text(&v[5]),
                                           .url = take_text(&v[6]),
                                           .expires_ms = v[7].type == VAL_INT ? v[7].i : 0 };
    return uuid_of_bytes(v[1].s, &ret->payment) && parse_status(v[2].s, &ret->status)
               ? OK
               : ERR_INTERNAL;
}

static enum err write_session(struct tx *tx, const struct taking *t, struct str id,
                              const struct apply_session_session *s)
{
    return TX_DO(tx, STMT_session_put, -1, V_TEXT(id), v_uuid(&s->payment),
                 V_TEXT(str_of(names[s->status])), v_text(s->payment_status), v_text(s->intent_id),
                 v_text(s->customer_id), v_text(s->url),
                 s->expires_ms ? V_INT(s->expires_ms) : V_NULL, V_INT(t->now_ms));
}

/* What is new is added; true: something was. "paid" is the end of what it says of its money. */
static bool apply_session_learn(struct str *known, struct str said)
{
    if (known->n || !said.n)
        return false;
    *known = said;
    return true;
}

static bool learn_payment_status(struct apply_session_session *s, struct str said)
{
    if (!said.n || str_eq(s->payment_status, said) || str_eq(s->payment_status, S("paid")))
        return false;
    s->payment_status = said;
    return true;
}

static bool learn_all(struct apply_session_session *s, const struct fact *f)
{
    bool news = f->session > s->status;

    if (news)
        s->status = f->session;
    if (f->session == s->status) /* what a lower status says of its money is old news */
        news |= learn_payment_status(s, f->session_payment_status);
    news |= apply_session_learn(&s->intent_id, f->intent_id);
    news |= apply_session_learn(&s->customer_id, f->customer_id);
    news |= apply_session_learn(&s->url, f->session_url);
    if (!s->expires_ms && f->session_expires_ms) {
        s->expires_ms = f->session_expires_ms;
        news = true;
    }
    return news;
}

/* --- what the payment takes from it --- */

static enum err last_is_complete(struct tx *tx, const struct payment *p, bool *ret_complete)
{
    struct apply_session_session last = { 0 };
    enum err e = p->checkout_session_id.n ? read_session(tx, p->checkout_session_id, &last) : OK;

    *ret_complete = !e && last.status == SESSION_COMPLETE;
    return e == ERR_NOT_FOUND ? OK : e;
}

/* Only the answer to a call of ours says that we made it: anybody at the gateway can copy the
 * metadata. */
static enum err choose_last(struct tx *tx, const struct taking *t, struct payment *p, struct str id,
                            const struct apply_session_session *s, bool *ret_changed)
{
    bool ours = !t->event_id.n && s->status != SESSION_EXPIRED;
    bool own = s->status == SESSION_COMPLETE && s->intent_id.n &&
               str_eq(s->intent_id, p->gateway_transaction_id);
    bool complete = false;
    enum err e;

    *ret_changed = false;
    if (!ours || str_eq(p->checkout_session_id, id))
        return OK;
    e = last_is_complete(tx, p, &complete);
    if (e || (complete && !own)) /* two were paid: the one whose money was taken */
        return e;
    p->checkout_session_id = id;
    *ret_changed = true;
    return OK;
}

/* It ended before we knew that it was ours: as if we had known (E7). */
static enum err fail_if_canceled(struct tx *tx, const struct taking *t, struct payment *p)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_transaction_canceled, &row, V_TEXT(p->gateway_transaction_id));

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    return p->status == PAYMENT_PENDING ? payment_fail(tx, t, p, row.col[1].s) : OK;
}

/* The intent's row is there from now on, so that what names only the intent finds its payment. */
static enum err choose_intent(struct tx *tx, const struct taking *t, struct payment *p,
                              struct str id, const struct apply_session_session *s,
                              bool *ret_changed)
{
    struct fact made = { .kind = FACT_INTENT, .intent_id = s->intent_id, .state = INTENT_OPEN };
    struct taking quiet = *t;
    enum err e;

    if (s->status != SESSION_COMPLETE || !s->intent_id.n || !str_eq(p->checkout_session_id, id))
        return OK;
    quiet.event_id = (struct str){ 0 };
    e = take_other_intent(tx, &quiet, p, &made);
    if (e || p->gateway_transaction_id.n)
        return e;
    p->gateway_transaction_id = s->intent_id;
    *ret_changed = true;
    return fail_if_canceled(tx, t, p);
}

static struct str action_json(struct arena *a, const struct apply_session_session *s)
{
    struct buf b;

    buf_init(&b, ACTION_MAX);
    buf_char(&b, '{');
    out_text(&b, "type", S("checkout"));
    if (s->url.n)
        out_text(&b, "url", s->url);
    if (s->expires_ms)
        out_time(&b, "expiresAt", s->expires_ms);
    buf_char(&b, '}');
    return out_done(&b, a);
}

static enum err choose_action(const struct taking *t, struct payment *p, struct str id,
                              const struct apply_session_session *s, bool *ret_changed)
{
    struct str action = { 0 };

    if (!str_eq(p->checkout_session_id, id))
        return OK;
    if (p->status == PAYMENT_PENDING && s->status == SESSION_OPEN) {
        action = action_json(t->arena, s);
        if (!action.p)
            return ERR_NO_MEMORY;
    }
    *ret_changed |= !str_eq(action, p->action);
    p->action = action;
    return OK;
}

static enum err tell_payment(struct tx *tx, const struct taking *t, struct payment *p,
                             struct str id, const struct apply_session_session *s)
{
    bool changed = false, more = false;
    enum err e = choose_last(tx, t, p, id, s, &changed);

    if (!e)
        e = choose_intent(tx, t, p, id, s, &more);
    if (!e)
        e = choose_action(t, p, id, s, &more);
    return e || !(changed || more) ? e : payment_store(tx, p, t->now_ms);
}

enum err take_session(struct tx *tx, const struct taking *t, struct payment *p,
                      const struct fact *f, enum verdict *ret_verdict)
{
    struct apply_session_session s = { .payment = p->id };
    enum err e = read_session(tx, f->session_id, &s);
    bool news = e == ERR_NOT_FOUND;

    *ret_verdict = VERDICT_SAME;
    if (e && e != ERR_NOT_FOUND)
        return e;
    if (!uuid_eq(s.payment, p->id) || !is_paid_on_page(p)) {
        LOG(tx_env(tx)->log, LOG_WARN, "A session names a payment that is not its own",
            LOG_TEXT("named", f->payment_id));
        *ret_verdict = VERDICT_MISMATCH;
        return OK;
    }
    if (f->session < s.status)
        *ret_verdict = VERDICT_SUPERSEDED;
    news |= learn_all(&s, f);
    if (news && *ret_verdict == VERDICT_SAME)
        *ret_verdict = VERDICT_APPLY;
    e = news ? write_session(tx, t, f->session_id, &s) : OK;
    return e ? e : tell_payment(tx, t, p, f->session_id, &s);
}
