/* methods.c - payment methods. Names like pm_card_visa stand for a card; each use of one makes a
 * method of its own, as with Stripe. */
#include "base/limits.h"
#include "sandbox/visit.h"

enum { EXP_MONTH = 12, EXP_YEAR = 2034 };

static struct method method_of(struct visit *v, const struct card *card)
{
    return (struct method){ .id = sb_id_method(&v->w),
                            .created_ms = v->w.now_ms,
                            .card = str_of(card->name),
                            .metadata = S("{}"),
                            .exp_month = EXP_MONTH,
                            .exp_year = EXP_YEAR };
}

static struct str value_of(const struct form *f, struct str name)
{
    const struct form *x = form_get(f, name);

    return x ? x->value : S("");
}

/* {type: card, card: {number or token}}, at the top or below payment_method_data. NULL: refused. */
static const struct card *card_of(struct visit *v, const struct form *f)
{
    const struct form *details = form_get(f, S("card"));
    struct str type = value_of(f, S("type"));
    const struct card *card = card_by_token(value_of(details, S("token")));

    if (!type.n) {
        visit_invalid(v, "parameter_missing", "type", "Missing required param: type.");
        return NULL;
    }
    if (!str_eq(type, S("card"))) {
        visit_invalid(v, "payment_method_not_available", "type",
                      "The sandbox has payment methods of type card only.");
        return NULL;
    }
    if (!card)
        card = card_by_number(value_of(details, S("number")));
    if (!card)
        visit_invalid(v, "incorrect_number", "card[number]",
                      "The sandbox knows Stripe's test cards only.");
    return card;
}

/* --- for an intent --- */

static void give(struct intent *p, struct str id, struct str card)
{
    p->authenticated = p->authenticated && str_eq(p->payment_method, id);
    p->payment_method = id;
    p->card = card;
}

static bool give_new(struct visit *v, struct intent *p, const struct card *card, struct str billing)
{
    struct method m = method_of(v, card);

    m.billing = billing;
    give(p, m.id, m.card);
    return sb_method_write(&v->w, &m);
}

static bool give_known(struct visit *v, struct intent *p, struct str id)
{
    struct method m;
    enum err e = sb_method_read(v->w.tx, id, &m);

    if (e == ERR_NOT_FOUND)
        return visit_missing(v, 400, "PaymentMethod", id, "payment_method");
    if (!work_ok(&v->w, e))
        return false;
    give(p, m.id, m.card);
    return true;
}

static bool give_described(struct visit *v, struct intent *p, const struct form *f)
{
    const struct card *card = card_of(v, f);
    struct str billing = { 0 };

    return card && take_billing(v, f, &billing) && give_new(v, p, card, billing);
}

bool method_for(struct visit *v, struct intent *p)
{
    const struct form *data = form_get(&v->form, S("payment_method_data"));
    const struct card *card;
    struct taken id;

    if (!take_text(v, "payment_method", LIMIT_SANDBOX_TEXT, &id))
        return false;
    if (id.text.n) {
        card = card_by_token(id.text);
        return card ? give_new(v, p, card, S("")) : give_known(v, p, id.text);
    }
    if (data)
        return give_described(v, p, data);
    if (id.has)
        give(p, S(""), S(""));
    return true;
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
    const struct card *card = card_of(v, &v->form);
    struct method m;

    if (!card)
        return;
    m = method_of(v, card);
    if (!take_expiry(v, &m) || !take_billing(v, &v->form, &m.billing) ||
        !take_metadata(v, &m.metadata) || !sb_method_write(&v->w, &m))
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
