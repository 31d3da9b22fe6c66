/* sessions.c - Checkout Sessions: retrieve, list, update, expire. And the payment pages, with which
 * Stripe's own page and command line pay for a session. */
#include "base/limits.h"
#include "sandbox/stripe/call.h"
#include "sandbox/stripe/checkout.h"

static const struct expansion expansions[] = {
    { "line_items", EXPAND_ITEMS },
    { "payment_intent", EXPAND_INTENT },
    { "payment_intent.latest_charge", EXPAND_INTENT | EXPAND_CHARGE },
    { "payment_intent.latest_charge.balance_transaction",
      EXPAND_INTENT | EXPAND_CHARGE | EXPAND_BALANCE },
};

static void answer_session(struct stripe_call *v, const struct session *s)
{
    stripe_answer(v, sb_session_json(&v->w, s, param_expand(v, expansions, COUNT(expansions))));
}

static bool stripe_read_session(struct stripe_call *v, struct session *ret)
{
    enum err e = sb_session_read(v->w.tx, v->id, ret);

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 404, "checkout.session", v->id, "session");
    return work_ok(&v->w, e);
}

/* --- read --- */

void session_retrieve(struct stripe_call *v)
{
    struct session s;

    if (stripe_read_session(v, &s))
        answer_session(v, &s);
}

void session_items(struct stripe_call *v)
{
    struct session s;

    if (stripe_read_session(v, &s))
        stripe_answer(v, sb_items_json(&v->w, s.id));
}

void session_update(struct stripe_call *v)
{
    struct session s;

    if (stripe_read_session(v, &s) && param_metadata(v, &s.metadata) && sb_session_write(&v->w, &s))
        answer_session(v, &s);
}

/* An intent has at most one session, so the list has one element or none. */
static bool only_of_intent(struct stripe_call *v, struct str id, struct list_page *page)
{
    struct str none = S(ID_SESSION);
    struct intent p;
    enum err e = sb_intent_read(v->w.tx, id, &p);

    if (e && e != ERR_NOT_FOUND)
        return work_ok(&v->w, e);
    page->above = page->below = none;
    if (e || !p.session.n)
        return true;
    /* "!" is below every character of an id: no other id lies between the two bounds. */
    page->below = work_text(&v->w, STR_FMT "!", STR_ARG(p.session));
    page->above = (struct str){ p.session.p, p.session.n - 1 };
    return !v->w.err;
}

static void answer_sessions(struct stripe_call *v, struct list_page *page)
{
    unsigned expand = param_expand(v, expansions, COUNT(expansions));
    struct session *s = NULL;
    struct str *objects;

    if (!sb_session_page(&v->w, page, &s))
        return;
    objects = stripe_list_objects(v, page->count);
    if (!objects)
        return;
    for (size_t i = 0; i < page->count; i++)
        objects[i] = sb_session_json(&v->w, &s[i], expand);
    stripe_answer_list(v, "/v1/checkout/sessions", page, objects);
}

void session_list(struct stripe_call *v)
{
    struct list_page page = { .above = S(ID_SESSION), .below = S(ID_SESSION "~") };
    struct param intent, status;

    if (!param_text(v, "payment_intent", LIMIT_SANDBOX_TEXT, &intent) ||
        !param_choice(v, "status", "open|complete|expired", &status) ||
        !param_created(v, ID_SESSION, &page) || !param_page(v, &page))
        return;
    if (intent.text.n && !only_of_intent(v, intent.text, &page))
        return;
    page.filter[0] = status.text;
    answer_sessions(v, &page);
}

/* --- end --- */

static bool reject_ended(struct stripe_call *v, const struct session *s, const char *what)
{
    struct str status = str_eq(s->status, S("open")) ? S("expired") : s->status;

    return stripe_reject(
        v,
        &(struct rejection){ .status = 400,
                             .type = "invalid_request_error",
                             .message = work_text(&v->w,
                                                  "Only Checkout Sessions with a status in "
                                                  "[\"open\"] can be %s. This Checkout Session has "
                                                  "a status of `" STR_FMT "`.",
                                                  what, STR_ARG(status)),
                             .began = true });
}

void session_expire(struct stripe_call *v)
{
    struct session s;

    if (!stripe_read_session(v, &s))
        return;
    if (!str_eq(s.status, S("open")))
        reject_ended(v, &s, "expired");
    else if (sb_session_expire(&v->w, &s))
        answer_session(v, &s);
}

/* --- payment pages: the session itself under another name --- */

void payment_page_retrieve(struct stripe_call *v)
{
    session_retrieve(v);
}

static bool take_page_method(struct stripe_call *v, struct method *m)
{
    const struct card *card;
    struct param id;
    enum err e;

    if (!param_text(v, "payment_method", LIMIT_SANDBOX_TEXT, &id))
        return false;
    if (!id.text.n)
        return stripe_reject_invalid(v, "parameter_missing", "payment_method",
                                     "Missing required param: payment_method.");
    card = card_by_token(id.text);
    if (card)
        return sb_method_new(&v->w, card, S(""), m);
    e = sb_method_read(v->w.tx, id.text, m);
    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 400, "PaymentMethod", id.text, "payment_method");
    return work_ok(&v->w, e);
}

static bool check_expected(struct stripe_call *v, const struct session *s)
{
    struct param t;

    if (!param_number(v, "expected_amount", &t))
        return false;
    return !t.has || t.number == s->amount ||
           stripe_reject_invalid(v, "checkout_amount_mismatch", "expected_amount",
                                 "The amount of the session has changed.");
}

/* The rules are those of an intent made by a call. */
static bool method_fits_session(struct stripe_call *v, const struct session *s,
                                const struct method *m)
{
    struct intent p = { .currency = s->currency,
                        .capture_method = s->capture_method,
                        .method_types = s->method_types,
                        .payment_method = m->id,
                        .card = m->card };

    return method_fits(v, &p);
}

void payment_page_confirm(struct stripe_call *v)
{
    struct confirmation how = { .decline_code = v->fault.decline_code };
    struct session s;
    struct method m;
    struct intent p;
    struct pay_attempt a;

    if (!stripe_read_session(v, &s))
        return;
    if (!sb_session_is_open(&v->w, &s)) {
        reject_ended(v, &s, "confirmed");
        return;
    }
    if (!check_expected(v, &s) || !take_page_method(v, &m) || !method_fits_session(v, &s, &m) ||
        !sb_session_pay(&v->w, &s, &m, &how, &p, &a))
        return;
    if (a.declined)
        stripe_reject_declined(v, &p, &a);
    else
        answer_session(v, &s);
}
