/* methods.c - payment methods. Names like pm_card_visa stand for a card; each use of one makes a
 * method of its own, as with Stripe. */
#include "base/limits.h"
#include "sandbox/page/page.h"
#include "sandbox/stripe/call.h"
#include "sandbox/stripe/customers.h"

enum { EXP_MONTH = 12, EXP_YEAR = 2034 };

bool sb_method_new(struct work *w, const struct card *card, struct str billing, struct method *ret)
{
    *ret = (struct method){ .id = sb_id_method(w),
                            .created_ms = w->now_ms,
                            .card = str_of(card->name),
                            .billing = billing,
                            .metadata = S("{}"),
                            .exp_month = EXP_MONTH,
                            .exp_year = EXP_YEAR };
    return sb_method_write(w, ret);
}

struct str sb_billing_of(struct work *w, struct str email)
{
    struct buf b;

    if (!email.n)
        return S("");
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    buf_add(&b, S("{\"address\":{\"city\":null,\"country\":null,\"line1\":null,\"line2\":null,"
                  "\"postal_code\":null,\"state\":null},\"email\":"));
    buf_json(&b, email);
    buf_add(&b, S(",\"name\":null,\"phone\":null,\"tax_id\":null}"));
    return work_take(w, &b);
}

static struct str value_of(const struct form *f, struct str name)
{
    const struct form *x = form_get(f, name);

    return x ? x->value : S("");
}

/* Who gives billing details for a slip gives the address that it is mailed to. */
static const struct card *slip_of(struct visit *v, const struct form *f)
{
    const struct form *billing = form_get(f, S("billing_details"));

    if (!billing || value_of(billing, S("email")).n)
        return card_by_name(S("konbini"));
    visit_invalid(v, "parameter_missing", "billing_details[email]",
                  "Missing required param: billing_details[email].");
    return NULL;
}

/* Blanks are for people. */
static struct str iban_of(struct visit *v, const struct form *f)
{
    struct str typed = value_of(form_get(f, S("sepa_debit")), S("iban"));
    char iban[64];
    size_t n = 0;

    for (size_t i = 0; i < typed.n && n < sizeof(iban); i++)
        if (typed.p[i] != ' ')
            iban[n++] = typed.p[i];
    return work_text(&v->w, "%.*s", (int)n, iban);
}

static const struct card *account_of(struct visit *v, const struct form *f)
{
    const struct card *account = sb_debit_account(iban_of(v, f));

    if (!account && !v->w.err)
        visit_invalid(v, "invalid_bank_account_iban", "sepa_debit[iban]",
                      "The IBAN you provided is invalid.");
    return account;
}

static const struct card *plastic_of(struct visit *v, const struct form *f)
{
    const struct form *details = form_get(f, S("card"));
    const struct card *card = card_by_token(value_of(details, S("token")));

    if (!card)
        card = card_by_number(value_of(details, S("number")));
    if (!card)
        visit_invalid(v, "incorrect_number", "card[number]",
                      "The sandbox knows Stripe's test cards only.");
    return card;
}

/* {type: card, card: {number or token}} and its like, at the top or below payment_method_data.
 * NULL: refused. */
static const struct card *card_of(struct visit *v, const struct form *f)
{
    struct str type = value_of(f, S("type"));

    if (!type.n) {
        visit_invalid(v, "parameter_missing", "type", "Missing required param: type.");
        return NULL;
    }
    if (str_eq(type, S("card")))
        return plastic_of(v, f);
    if (str_eq(type, S("konbini")))
        return slip_of(v, f);
    if (str_eq(type, S("sepa_debit")))
        return account_of(v, f);
    if (str_eq(type, S("customer_balance")) || str_eq(type, S("paypay")))
        return card_by_name(type);
    visit_invalid(v, "payment_method_not_available", "type",
                  "The sandbox has payment methods of the types card, konbini, paypay, "
                  "customer_balance and sepa_debit only.");
    return NULL;
}

/* --- for an intent --- */

static bool refuse_currency(struct visit *v, const struct intent *p, const struct method_type *t)
{
    return visit_invalid(v, NULL, "currency",
                         "The currency provided (%.*s) is invalid for payments with %s. "
                         "Payments with %s support the following currencies: %s.",
                         (int)p->currency.n, p->currency.p, t->name, t->name, t->currency);
}

/* Also those that it only may be paid by. */
static bool currency_fits(struct visit *v, const struct intent *p, const struct method_type *used)
{
    for (size_t i = 0; i < method_type_count; i++) {
        const struct method_type *t = &method_types[i];

        if (t->currency && (t == used || page_allows(p->method_types, t->name)) &&
            !str_eq(p->currency, str_of(t->currency)))
            return refuse_currency(v, p, t);
    }
    return true;
}

/* It is the customer's own account that the money is sent to. */
static bool customer_fits(struct visit *v, const struct intent *p)
{
    struct customer c;
    enum err e;

    if (!p->customer.n)
        return visit_invalid(v, "parameter_missing", "customer",
                             "A PaymentIntent with customer_balance needs a customer.");
    e = sb_customer_read(v->w.tx, p->customer, &c);
    if (e == ERR_NOT_FOUND || (!e && c.deleted))
        return visit_missing(v, 400, "customer", p->customer, "customer");
    return work_ok(&v->w, e);
}

static bool type_fits(struct visit *v, struct intent *p, const struct method_type *t)
{
    if (!t->holds && str_eq(p->capture_method, S("manual")))
        return visit_invalid(v, NULL, "capture_method",
                             "The payment method type %s does not support manual capture.",
                             t->name);
    if (p->automatic_methods && !page_allows(p->method_types, t->name))
        p->method_types = work_text(&v->w, "[\"card\",\"%s\"]", t->name);
    return !v->w.err && (!str_eq(p->card, S("customer_balance")) || customer_fits(v, p));
}

bool method_fits(struct visit *v, struct intent *p)
{
    const struct method_type *t = method_type_of(p->card);

    if (!currency_fits(v, p, p->card.n ? t : NULL))
        return false;
    if (!p->payment_method.n)
        return true;
    if (!type_fits(v, p, t))
        return false;
    return page_allows(p->method_types, t->name) ||
           visit_invalid(v, "payment_intent_incompatible_payment_method", "payment_method",
                         "The PaymentMethod provided (%s) is not allowed for this PaymentIntent. "
                         "Its payment_method_types do not list it.",
                         t->name);
}

static bool give_new(struct visit *v, struct intent *p, const struct card *card)
{
    struct method m;

    if (!sb_method_new(&v->w, card, S(""), &m))
        return false;
    sb_intent_give(p, m.id, m.card);
    return true;
}

static bool give_known(struct visit *v, struct intent *p, struct str id)
{
    struct method m;
    enum err e = sb_method_read(v->w.tx, id, &m);

    if (e == ERR_NOT_FOUND)
        return visit_missing(v, 400, "PaymentMethod", id, "payment_method");
    if (!work_ok(&v->w, e))
        return false;
    sb_intent_give(p, m.id, m.card);
    return true;
}

/* The method itself, as it is written. */
static bool make_described(struct visit *v, const struct form *f, struct method *m)
{
    const struct card *card = card_of(v, f);

    if (!card || !sb_method_new(&v->w, card, S(""), m) || !take_billing(v, f, &m->billing))
        return false;
    if (card->outcome == CARD_DEBIT)
        m->iban = iban_of(v, f);
    return sb_method_write(&v->w, m);
}

static bool give_described(struct visit *v, struct intent *p, const struct form *f)
{
    struct method m;

    if (!make_described(v, f, &m))
        return false;
    sb_intent_give(p, m.id, m.card);
    return true;
}

static bool take_method(struct visit *v, struct intent *p)
{
    const struct form *data = form_get(&v->form, S("payment_method_data"));
    const struct card *card;
    struct taken id;

    if (!take_text(v, "payment_method", LIMIT_SANDBOX_TEXT, &id))
        return false;
    if (id.text.n) {
        card = card_by_token(id.text);
        return card ? give_new(v, p, card) : give_known(v, p, id.text);
    }
    if (data)
        return give_described(v, p, data);
    if (id.has)
        sb_intent_give(p, S(""), S(""));
    return true;
}

bool method_for(struct visit *v, struct intent *p)
{
    return take_method(v, p) && method_fits(v, p);
}

/* --- the operations --- */

static bool take_expiry(struct visit *v, struct method *m)
{
    const struct form *details = form_get(&v->form, S("card"));
    struct str month = value_of(details, S("exp_month")), year = value_of(details, S("exp_year"));

    if (month.n && (!str_to_i64(month, &m->exp_month) || m->exp_month < 1 || m->exp_month > 12))
        return visit_invalid(v, "invalid_expiry_month", "card[exp_month]",
                             "Your card's expiration month is invalid.");
    if (year.n && (!str_to_i64(year, &m->exp_year) || m->exp_year < 0 || m->exp_year > 9999))
        return visit_invalid(v, "invalid_expiry_year", "card[exp_year]",
                             "Your card's expiration year is invalid.");
    if (m->exp_year < 100)
        m->exp_year += 2000;
    return true;
}

void method_create(struct visit *v)
{
    struct method m;

    if (!make_described(v, &v->form, &m) || !take_expiry(v, &m) || !take_metadata(v, &m.metadata) ||
        !sb_method_write(&v->w, &m))
        return;
    visit_answer(v, sb_method_json(&v->w, &m));
}

void method_retrieve(struct visit *v)
{
    struct method m;
    enum err e = sb_method_read(v->w.tx, v->id, &m);

    if (e == ERR_NOT_FOUND)
        visit_missing(v, 404, "PaymentMethod", v->id, "payment_method");
    else if (work_ok(&v->w, e))
        visit_answer(v, sb_method_json(&v->w, &m));
}
