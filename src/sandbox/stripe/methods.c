/* methods.c - payment methods. A name like pm_card_visa stands for a test card, and each use of one
 * makes a new method, as with Stripe. */
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
    return work_text_of(w, &b);
}

static struct str form_text(const struct form *f, struct str name)
{
    const struct form *x = form_get(f, name);

    return x ? x->value : S("");
}

/* A konbini slip is mailed, so billing details without an email are rejected. */
static const struct card *take_konbini(struct stripe_call *v, const struct form *f)
{
    const struct form *billing = form_get(f, S("billing_details"));

    if (!billing || form_text(billing, S("email")).n)
        return card_by_name(S("konbini"));
    stripe_reject_invalid(v, "parameter_missing", "billing_details[email]",
                          "Missing required param: billing_details[email].");
    return NULL;
}

/* The IBAN without the spaces that people type. */
static struct str iban_of(struct stripe_call *v, const struct form *f)
{
    struct str typed = form_text(form_get(f, S("sepa_debit")), S("iban"));
    char iban[64];
    size_t n = 0;

    for (size_t i = 0; i < typed.n && n < sizeof(iban); i++)
        if (typed.p[i] != ' ')
            iban[n++] = typed.p[i];
    return work_text(&v->w, "%.*s", (int)n, iban);
}

static const struct card *take_debit_account(struct stripe_call *v, const struct form *f)
{
    const struct card *account = sb_debit_account(iban_of(v, f));

    if (!account && !v->w.err)
        stripe_reject_invalid(v, "invalid_bank_account_iban", "sepa_debit[iban]",
                              "The IBAN you provided is invalid.");
    return account;
}

static const struct card *take_card(struct stripe_call *v, const struct form *f)
{
    const struct form *details = form_get(f, S("card"));
    const struct card *card = card_by_token(form_text(details, S("token")));

    if (!card)
        card = card_by_number(form_text(details, S("number")));
    if (!card)
        stripe_reject_invalid(v, "incorrect_number", "card[number]",
                              "The sandbox knows Stripe's test cards only.");
    return card;
}

/* Reads {type: card, card: {number or token}} and the other types, from the form or from
 * payment_method_data. NULL: rejected. */
static const struct card *take_described(struct stripe_call *v, const struct form *f)
{
    struct str type = form_text(f, S("type"));

    if (!type.n) {
        stripe_reject_invalid(v, "parameter_missing", "type", "Missing required param: type.");
        return NULL;
    }
    if (str_eq(type, S("card")))
        return take_card(v, f);
    if (str_eq(type, S("konbini")))
        return take_konbini(v, f);
    if (str_eq(type, S("sepa_debit")))
        return take_debit_account(v, f);
    if (str_eq(type, S("customer_balance")) || str_eq(type, S("paypay")))
        return card_by_name(type);
    stripe_reject_invalid(v, "payment_method_not_available", "type",
                          "The sandbox has payment methods of the types card, konbini, paypay, "
                          "customer_balance and sepa_debit only.");
    return NULL;
}

/* --- for an intent --- */

static bool reject_currency(struct stripe_call *v, const struct intent *p,
                            const struct method_type *t)
{
    return stripe_reject_invalid(v, NULL, "currency",
                                 "The currency provided (%.*s) is invalid for payments with %s. "
                                 "Payments with %s support the following currencies: %s.",
                                 (int)p->currency.n, p->currency.p, t->name, t->name, t->currency);
}

/* Checks the currency for the method used, and for every type that the intent allows. */
static bool currency_fits(struct stripe_call *v, const struct intent *p,
                          const struct method_type *used)
{
    for (size_t i = 0; i < method_type_count; i++) {
        const struct method_type *t = &method_types[i];

        if (t->currency && (t == used || page_list_has(p->method_types, t->name)) &&
            !str_eq(p->currency, str_of(t->currency)))
            return reject_currency(v, p, t);
    }
    return true;
}

/* The money goes to an account of the customer, so there must be one. */
static bool customer_fits(struct stripe_call *v, const struct intent *p)
{
    struct customer c;
    enum err e;

    if (!p->customer.n)
        return stripe_reject_invalid(v, "parameter_missing", "customer",
                                     "A PaymentIntent with customer_balance needs a customer.");
    e = sb_customer_read(v->w.tx, p->customer, &c);
    if (e == ERR_NOT_FOUND || (!e && c.deleted))
        return stripe_reject_missing(v, 400, "customer", p->customer, "customer");
    return work_ok(&v->w, e);
}

static bool type_fits(struct stripe_call *v, struct intent *p, const struct method_type *t)
{
    if (!t->holds && str_eq(p->capture_method, S("manual")))
        return stripe_reject_invalid(v, NULL, "capture_method",
                                     "The payment method type %s does not support manual capture.",
                                     t->name);
    if (p->automatic_methods && !page_list_has(p->method_types, t->name))
        p->method_types = work_text(&v->w, "[\"card\",\"%s\"]", t->name);
    return !v->w.err && (!str_eq(p->card, S("customer_balance")) || customer_fits(v, p));
}

bool method_fits(struct stripe_call *v, struct intent *p)
{
    const struct method_type *t = method_type_of(p->card);

    if (!currency_fits(v, p, p->card.n ? t : NULL))
        return false;
    if (!p->payment_method.n)
        return true;
    if (!type_fits(v, p, t))
        return false;
    return page_list_has(p->method_types, t->name) ||
           stripe_reject_invalid(
               v, "payment_intent_incompatible_payment_method", "payment_method",
               "The PaymentMethod provided (%s) is not allowed for this PaymentIntent. "
               "Its payment_method_types do not list it.",
               t->name);
}

static bool set_new_method(struct stripe_call *v, struct intent *p, const struct card *card)
{
    struct method m;

    if (!sb_method_new(&v->w, card, S(""), &m))
        return false;
    sb_intent_set_method(p, m.id, m.card);
    return true;
}

static bool set_known_method(struct stripe_call *v, struct intent *p, struct str id)
{
    struct method m;
    enum err e = sb_method_read(v->w.tx, id, &m);

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 400, "PaymentMethod", id, "payment_method");
    if (!work_ok(&v->w, e))
        return false;
    sb_intent_set_method(p, m.id, m.card);
    return true;
}

/* Makes a method from its description in the form. */
static bool make_described(struct stripe_call *v, const struct form *f, struct method *m)
{
    const struct card *card = take_described(v, f);

    if (!card || !sb_method_new(&v->w, card, S(""), m) || !param_billing(v, f, &m->billing))
        return false;
    if (card->outcome == CARD_DEBIT)
        m->iban = iban_of(v, f);
    return sb_method_write(&v->w, m);
}

static bool set_described_method(struct stripe_call *v, struct intent *p, const struct form *f)
{
    struct method m;

    if (!make_described(v, f, &m))
        return false;
    sb_intent_set_method(p, m.id, m.card);
    return true;
}

static bool take_method(struct stripe_call *v, struct intent *p)
{
    const struct form *data = form_get(&v->form, S("payment_method_data"));
    const struct card *card;
    struct param id;

    if (!param_text(v, "payment_method", LIMIT_SANDBOX_TEXT, &id))
        return false;
    if (id.text.n) {
        card = card_by_token(id.text);
        return card ? set_new_method(v, p, card) : set_known_method(v, p, id.text);
    }
    if (data)
        return set_described_method(v, p, data);
    if (id.has)
        sb_intent_set_method(p, S(""), S(""));
    return true;
}

bool method_for(struct stripe_call *v, struct intent *p)
{
    return take_method(v, p) && method_fits(v, p);
}

/* --- the operations --- */

static bool take_expiry(struct stripe_call *v, struct method *m)
{
    const struct form *details = form_get(&v->form, S("card"));
    struct str month = form_text(details, S("exp_month")), year = form_text(details, S("exp_year"));

    if (month.n && (!str_to_i64(month, &m->exp_month) || m->exp_month < 1 || m->exp_month > 12))
        return stripe_reject_invalid(v, "invalid_expiry_month", "card[exp_month]",
                                     "Your card's expiration month is invalid.");
    if (year.n && (!str_to_i64(year, &m->exp_year) || m->exp_year < 0 || m->exp_year > 9999))
        return stripe_reject_invalid(v, "invalid_expiry_year", "card[exp_year]",
                                     "Your card's expiration year is invalid.");
    if (m->exp_year < 100)
        m->exp_year += 2000;
    return true;
}

void method_create(struct stripe_call *v)
{
    struct method m;

    if (!make_described(v, &v->form, &m) || !take_expiry(v, &m) ||
        !param_metadata(v, &m.metadata) || !sb_method_write(&v->w, &m))
        return;
    stripe_answer(v, sb_method_json(&v->w, &m));
}

void method_retrieve(struct stripe_call *v)
{
    struct method m;
    enum err e = sb_method_read(v->w.tx, v->id, &m);

    if (e == ERR_NOT_FOUND)
        stripe_reject_missing(v, 404, "PaymentMethod", v->id, "payment_method");
    else if (work_ok(&v->w, e))
        stripe_answer(v, sb_method_json(&v->w, &m));
}
