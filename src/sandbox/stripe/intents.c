/* intents.c - /v1/payment_intents: create, retrieve, list, update and confirm. */
#include "base/limits.h"
#include "sandbox/stripe/call.h"
#include "sandbox/stripe/customers.h"

#include <stddef.h>

static const struct expansion expansions[] = {
    { "latest_charge", EXPAND_CHARGE },
    { "latest_charge.balance_transaction", EXPAND_CHARGE | EXPAND_BALANCE },
    { "latest_charge.refunds", EXPAND_CHARGE | EXPAND_REFUNDS },
    { "payment_method", EXPAND_METHOD },
};

static void answer_intent(struct stripe_call *v, const struct intent *p)
{
    stripe_answer(v, sb_intent_json(&v->w, p, param_expand(v, expansions, COUNT(expansions))));
}

bool stripe_read_intent(struct stripe_call *v, struct intent *ret)
{
    enum err e = sb_intent_read(v->w.tx, v->id, ret);

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 404, "payment_intent", v->id, "intent");
    return work_ok(&v->w, e);
}

/* --- amount and currency --- */

static bool take_amount(struct stripe_call *v, bool required, struct intent *p)
{
    struct param t;

    if (!param_number(v, "amount", &t))
        return false;
    if (!t.has)
        return !required || stripe_reject_invalid(v, "parameter_missing", "amount",
                                                  "Missing required param: amount.");
    p->amount = t.number;
    return check_amount(v, "amount", t.number);
}

/* --- the other parameters --- */

static const struct {
    const char *name;
    size_t field, most;
} texts[] = {
    { "customer", offsetof(struct intent, customer), LIMIT_SANDBOX_TEXT },
    { "description", offsetof(struct intent, description), LIMIT_SANDBOX_TEXT },
    { "receipt_email", offsetof(struct intent, receipt_email), 800 },
    { "statement_descriptor", offsetof(struct intent, statement_descriptor), 22 },
    { "statement_descriptor_suffix", offsetof(struct intent, descriptor_suffix), 22 },
    { "transfer_group", offsetof(struct intent, transfer_group), LIMIT_SANDBOX_TEXT },
    { "return_url", offsetof(struct intent, return_url), LIMIT_SANDBOX_TEXT },
};

static bool take_fields(struct stripe_call *v, struct intent *p)
{
    struct param t;

    for (size_t i = 0; i < COUNT(texts); i++) {
        if (!param_text(v, texts[i].name, texts[i].most, &t))
            return false;
        if (t.has)
            *(struct str *)(void *)((char *)p + texts[i].field) = t.text;
    }
    if (!param_choice(v, "setup_future_usage", "off_session|on_session", &t))
        return false;
    if (t.has)
        p->setup_future_usage = t.text;
    return param_metadata(v, &p->metadata) && param_shipping(v, &p->shipping);
}

/* Naming payment method types switches automatic_payment_methods off. */
static bool take_types(struct stripe_call *v, struct intent *p)
{
    bool named;

    if (!param_method_types(v, &p->method_types, &named))
        return false;
    p->automatic_methods = p->automatic_methods && !named;
    return true;
}

static bool take_capture_and_confirmation_method(struct stripe_call *v, struct intent *p)
{
    struct param capture, confirmation;

    if (!param_choice(v, "capture_method", "automatic|automatic_async|manual", &capture) ||
        !param_choice(v, "confirmation_method", "automatic|manual", &confirmation))
        return false;
    if (capture.text.n)
        p->capture_method = capture.text;
    if (confirmation.text.n)
        p->confirmation_method = confirmation.text;
    return true;
}

/* --- confirm --- */

static bool take_confirmation(struct stripe_call *v, struct confirmation *how)
{
    const struct form *off = form_get(&v->form, S("off_session"));

    *how = (struct confirmation){ .decline_code = v->fault.decline_code };
    if (!param_flag(v, "error_on_requires_action", &how->no_action))
        return false;
    if (off && off->has_value && !str_eq(off->value, S("false")) && off->value.n)
        how->no_action = true; /* "true", or an older word with the same meaning */
    return true;
}

static void confirm_intent(struct stripe_call *v, struct intent *p, const struct confirmation *how)
{
    struct pay_attempt a;

    if (!p->payment_method.n) {
        stripe_reject_unexpected(
            v, p,
            S("You cannot confirm this PaymentIntent because it's missing a payment "
              "method. You can either update the PaymentIntent with a payment method "
              "and then confirm it again, or confirm it again directly with a payment "
              "method."));
        return;
    }
    if (!sb_intent_attempt(&v->w, p, how, &a))
        return;
    if (a.declined)
        stripe_reject_declined(v, p, &a);
    else
        answer_intent(v, p);
}

static bool is_open(const struct intent *p)
{
    return p->status == INTENT_NEEDS_METHOD || p->status == INTENT_NEEDS_CONFIRM ||
           p->status == INTENT_NEEDS_ACTION;
}

static bool reject_state(struct stripe_call *v, const struct intent *p, const char *what)
{
    struct str status = sb_intent_status_text(p->status);

    return stripe_reject_unexpected(
        v, p,
        work_text(&v->w, "You cannot %s this PaymentIntent because it has a status of " STR_FMT ".",
                  what, STR_ARG(status)));
}

void intent_confirm(struct stripe_call *v)
{
    struct confirmation how;
    struct intent p;
    struct param url;

    if (!stripe_read_intent(v, &p))
        return;
    if (!is_open(&p)) {
        reject_state(v, &p, "confirm");
        return;
    }
    if (!param_text(v, "return_url", LIMIT_SANDBOX_TEXT, &url) || !take_confirmation(v, &how) ||
        !method_for(v, &p) || !param_voucher(v, &p))
        return;
    if (url.has)
        p.return_url = url.text;
    confirm_intent(v, &p, &how);
}

/* --- create --- */

static bool take_new(struct stripe_call *v, struct intent *p)
{
    if (!take_amount(v, true, p) || !param_currency(v, &p->currency) ||
        !take_capture_and_confirmation_method(v, p) || !take_fields(v, p) || !take_types(v, p) ||
        !method_for(v, p) || !param_voucher(v, p))
        return false;
    p->status = p->payment_method.n ? INTENT_NEEDS_CONFIRM : INTENT_NEEDS_METHOD;
    return true;
}

void intent_create(struct stripe_call *v)
{
    struct intent p = sb_intent_new(&v->w);
    struct confirmation how;
    bool at_once = false;

    if (!take_new(v, &p) || !param_flag(v, "confirm", &at_once) || !take_confirmation(v, &how))
        return;
    if (at_once && !p.payment_method.n) {
        stripe_reject_invalid(v, "parameter_missing", "payment_method",
                              "You cannot confirm a PaymentIntent without a payment method.");
        return;
    }
    if (!work_emit(&v->w, "payment_intent.created", sb_intent_json(&v->w, &p, 0), S("")))
        return;
    if (at_once)
        confirm_intent(v, &p, &how);
    else if (sb_intent_write(&v->w, &p))
        answer_intent(v, &p);
}

/* --- update --- */

static bool touches_money(const struct stripe_call *v)
{
    static const struct str names[] = { { "amount", 6 },
                                        { "payment_method", 14 },
                                        { "payment_method_data", 19 } };

    for (size_t i = 0; i < COUNT(names); i++)
        if (form_get(&v->form, names[i]))
            return true;
    return false;
}

static bool update_money(struct stripe_call *v, struct intent *p)
{
    if (!touches_money(v))
        return true;
    if (!is_open(p))
        return reject_state(v, p, "update the amount or payment method of");
    if (!sb_transfer_return(&v->w, p) || !take_amount(v, false, p) || !method_for(v, p))
        return false;
    p->status = p->payment_method.n ? INTENT_NEEDS_CONFIRM : INTENT_NEEDS_METHOD;
    return true;
}

void intent_update(struct stripe_call *v)
{
    struct intent p;

    if (!stripe_read_intent(v, &p) || !update_money(v, &p) || !take_fields(v, &p))
        return;
    if (is_open(&p) && (!take_types(v, &p) || !take_capture_and_confirmation_method(v, &p) ||
                        !param_voucher(v, &p)))
        return;
    if (sb_intent_write(&v->w, &p))
        answer_intent(v, &p);
}

/* --- read --- */

void intent_retrieve(struct stripe_call *v)
{
    struct intent p;

    if (stripe_read_intent(v, &p))
        answer_intent(v, &p);
}

void intent_list(struct stripe_call *v)
{
    unsigned expand = param_expand(v, expansions, COUNT(expansions));
    struct list_page page = { .above = S("pi_"), .below = S("pi_~") };
    struct intent *p = NULL;
    struct str *objects;
    struct param customer;

    if (!param_text(v, "customer", LIMIT_SANDBOX_TEXT, &customer) ||
        !param_created(v, ID_INTENT, &page) || !param_page(v, &page))
        return;
    page.filter[0] = customer.text;
    if (!sb_intent_page(&v->w, &page, &p))
        return;
    objects = stripe_list_objects(v, page.count);
    if (!objects)
        return;
    for (size_t i = 0; i < page.count; i++)
        objects[i] = sb_intent_json(&v->w, &p[i], expand);
    stripe_answer_list(v, "/v1/payment_intents", &page, objects);
}
