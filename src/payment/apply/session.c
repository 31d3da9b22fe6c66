/* session.c - a session of the gateway's own page: identifiers, never money (E1).
 *
 *   open < expired < complete      a session's status only climbs, in whatever order the facts
 *                                  arrive (E6); a field that is known is not overwritten
 *
 * What the payment takes from a session:
 *   its last session   the one that our own call made last; an event never sets it. Sessions that
 *                      another party made and that name the payment are only stored
 *   its intent         only from its last session, once that is complete. Every try has an intent
 *                      of its own: a payment that took the first one would refund the money of
 *                      the second
 *   the action         while its last session is open
 *
 * Runs in the caller's transaction, under the payment's lock; a crash before the commit leaves
 * nothing. */
#include "base/buf.h"
#include "base/json/write.h"
#include "observe/log.h"
#include "payment/transition.h"

enum { ACTION_MAX = 8 * 1024 };

struct session_row {
    struct uuid payment;
    enum session_status status;
    struct str payment_status, intent_id, customer_id, url; /* empty: not known */
    int64_t expires_ms;                                     /* 0: not known */
};

static const char *const status_names[SESSION_STATUSES] = {
    [SESSION_OPEN] = "open",
    [SESSION_EXPIRED] = "expired",
    [SESSION_COMPLETE] = "complete",
};

/* --- its row --- */

static bool session_status_parse(struct str name, enum session_status *ret)
{
    for (int i = 0; i < SESSION_STATUSES; i++)
        if (str_eq(name, str_of(status_names[i]))) {
            *ret = (enum session_status)i;
            return true;
        }
    return false;
}

static struct str text_or_empty(const struct val *v)
{
    return v->type == VAL_TEXT ? v->s : (struct str){ 0 };
}

static enum err session_read(struct tx *tx, struct str id, struct session_row *ret)
{
    struct row row;
    const struct val *v = row.col;
    enum err e = TX_ROW(tx, STMT_session_get, &row, V_TEXT(id));

    if (e)
        return e;
    *ret = (struct session_row){ .payment_status = text_or_empty(&v[3]),
                                 .intent_id = text_or_empty(&v[4]),
                                 .customer_id = text_or_empty(&v[5]),
                                 .url = text_or_empty(&v[6]),
                                 .expires_ms = v[7].type == VAL_INT ? v[7].i : 0 };
    return uuid_of_bytes(v[1].s, &ret->payment) && session_status_parse(v[2].s, &ret->status)
               ? OK
               : ERR_INTERNAL;
}

static enum err session_store(struct tx *tx, const struct taking *t, struct str id,
                              const struct session_row *s)
{
    return TX_DO(tx, STMT_session_put, -1, V_TEXT(id), v_uuid(&s->payment),
                 V_TEXT(str_of(status_names[s->status])), v_text(s->payment_status),
                 v_text(s->intent_id), v_text(s->customer_id), v_text(s->url),
                 s->expires_ms ? V_INT(s->expires_ms) : V_NULL, V_INT(t->now_ms));
}

/* Sets a text that was not known. True: it is new. */
static bool learn_text(struct str *known, struct str said)
{
    if (known->n || !said.n)
        return false;
    *known = said;
    return true;
}

/* "paid" is final. */
static bool learn_payment_status(struct session_row *s, struct str said)
{
    if (!said.n || str_eq(s->payment_status, said) || str_eq(s->payment_status, S("paid")))
        return false;
    s->payment_status = said;
    return true;
}

static bool session_learn(struct session_row *s, const struct fact *f)
{
    bool news = f->session > s->status;

    if (news)
        s->status = f->session;
    if (f->session == s->status) /* a fact with a lower status is older than what is stored */
        news |= learn_payment_status(s, f->session_payment_status);
    news |= learn_text(&s->intent_id, f->intent_id);
    news |= learn_text(&s->customer_id, f->customer_id);
    news |= learn_text(&s->url, f->session_url);
    if (!s->expires_ms && f->session_expires_ms) {
        s->expires_ms = f->session_expires_ms;
        news = true;
    }
    return news;
}

/* --- what the payment takes from it --- */

static enum err last_session_is_complete(struct tx *tx, const struct payment *p, bool *ret_complete)
{
    struct session_row last = { 0 };
    enum err e = p->checkout_session_id.n ? session_read(tx, p->checkout_session_id, &last) : OK;

    *ret_complete = !e && last.status == SESSION_COMPLETE;
    return e == ERR_NOT_FOUND ? OK : e;
}

/* Only the reply to our own call proves that we made the session: anybody with access to the gateway
 * account can copy the metadata. */
static enum err choose_last_session(struct tx *tx, const struct taking *t, struct payment *p,
                                    struct str id, const struct session_row *s, bool *ret_changed)
{
    bool ours = !t->event_id.n && s->status != SESSION_EXPIRED;
    bool own = s->status == SESSION_COMPLETE && s->intent_id.n &&
               str_eq(s->intent_id, p->gateway_transaction_id);
    bool complete = false;
    enum err e;

    *ret_changed = false;
    if (!ours || str_eq(p->checkout_session_id, id))
        return OK;
    e = last_session_is_complete(tx, p, &complete);
    if (e || (complete && !own)) /* of two paid sessions, the one whose money was taken */
        return e;
    p->checkout_session_id = id;
    *ret_changed = true;
    return OK;
}

/* The intent was cancelled before it was known as the payment's: the payment fails now (E7). */
static enum err fail_if_intent_canceled(struct tx *tx, const struct taking *t, struct payment *p)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_transaction_canceled, &row, V_TEXT(p->gateway_transaction_id));

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    return p->status == PAYMENT_PENDING ? payment_fail(tx, t, p, row.col[1].s) : OK;
}

/* Stores the intent's row, so that events which name only the intent find the payment. */
static enum err choose_intent(struct tx *tx, const struct taking *t, struct payment *p,
                              struct str id, const struct session_row *s, bool *ret_changed)
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
    return fail_if_intent_canceled(tx, t, p);
}

static struct str session_action_json(struct arena *a, const struct session_row *s)
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
                              const struct session_row *s, bool *ret_changed)
{
    struct str action = { 0 };

    if (!str_eq(p->checkout_session_id, id))
        return OK;
    if (p->status == PAYMENT_PENDING && s->status == SESSION_OPEN) {
        action = session_action_json(t->arena, s);
        if (!action.p)
            return ERR_NO_MEMORY;
    }
    *ret_changed |= !str_eq(action, p->action);
    p->action = action;
    return OK;
}

static enum err session_update_payment(struct tx *tx, const struct taking *t, struct payment *p,
                                       struct str id, const struct session_row *s)
{
    bool changed = false, more = false;
    enum err e = choose_last_session(tx, t, p, id, s, &changed);

    if (!e)
        e = choose_intent(tx, t, p, id, s, &more);
    if (!e)
        e = choose_action(t, p, id, s, &more);
    return e || !(changed || more) ? e : payment_store(tx, p, t->now_ms);
}

enum err take_session(struct tx *tx, const struct taking *t, struct payment *p,
                      const struct fact *f, enum verdict *ret_verdict)
{
    struct session_row s = { .payment = p->id };
    enum err e = session_read(tx, f->session_id, &s);
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
    news |= session_learn(&s, f);
    if (news && *ret_verdict == VERDICT_SAME)
        *ret_verdict = VERDICT_APPLY;
    e = news ? session_store(tx, t, f->session_id, &s) : OK;
    return e ? e : session_update_payment(tx, t, p, f->session_id, &s);
}
