/* intents.c - POST and GET /v1/payment_intents. */
#include "base/limits.h"
#include "domain/money.h"
#include "sandbox/visit.h"

#include <stddef.h>

static const struct expansion expansions[] = {
    { "latest_charge", EXPAND_CHARGE },
    { "latest_charge.balance_transaction", EXPAND_CHARGE | EXPAND_BALANCE },
    { "latest_charge.refunds", EXPAND_CHARGE | EXPAND_REFUNDS },
    { "payment_method", EXPAND_METHOD },
};

static void answer(struct visit *v, const struct intent *p)
{
    visit_answer(v, sb_intent_json(&v->w, p, take_expand(v, expansions, COUNT(expansions))));
}

bool visit_intent(struct visit *v, struct intent *ret)
{
    enum err e = sb_intent_read(v->w.tx, v->id, ret);

    if (e == ERR_NOT_FOUND)
        return visit_missing(v, 404, "payment_intent", v->id, "intent");
    return work_ok(&v->w, e);
}

/* --- amount and currency --- */

static bool check_amount(struct visit *v, int64_t amount)
{
    if (amount < 1)
        return visit_invalid(v, "parameter_invalid_integer", "amount",
                             "This value must be greater than or equal to 1.");
    if (amount < LIMIT_SANDBOX_AMOUNT_LEAST)
        return visit_invalid(v, "amount_too_small", "amount", "Amount must be no less than %d.",
                             LIMIT_SANDBOX_AMOUNT_LEAST);
    if (amount > LIMIT_SANDBOX_AMOUNT_MOST)
        return visit_invalid(v, "amount_too_large", "amount", "Amount must be no more than %d.",
                             LIMIT_SANDBOX_AMOUNT_MOST);
    return true;
}

static bool take_amount(struct visit *v, bool required, struct intent *p)
{
    struct taken t;

    if (!take_number(v, "amount", &t))
        return false;
    if (!t.has)
        return !required ||
               visit_invalid(v, "parameter_missing", "amount", "Missing required param: amount.");
    p->amount = t.number;
    return check_amount(v, t.number);
}

static bool take_currency(struct visit *v, struct intent *p)
{
    struct taken t;
    char code[4];

    if (!take_text(v, "currency", LIMIT_SANDBOX_TEXT, &t))
        return false;
    if (!t.has)
        return visit_invalid(v, "parameter_missing", "currency",
                             "Missing required param: currency.");
    if (!currency_parse(t.text, code))
        return visit_invalid(v, NULL, "currency", "Invalid currency: %.*s",
                             (int)(t.text.n < 20 ? t.text.n : 20), t.text.p);
    p->currency = work_text(&v->w, "%c%c%c", code[0] | 0x20, code[1] | 0x20, code[2] | 0x20);
    return !v->w.err;
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

static bool take_fields(struct visit *v, struct intent *p)
{
    struct taken t;

    for (size_t i = 0; i < COUNT(texts); i++) {
        if (!take_text(v, texts[i].name, texts[i].most, &t))
            return false;
        if (t.has)
            *(struct str *)(void *)((char *)p + texts[i].field) = t.text;
    }
    if (!take_choice(v, "setup_future_usage", "off_session|on_session", &t))
        return false;
    if (t.has)
        p->setup_future_usage = t.text;
    return take_metadata(v, &p->metadata) && take_shipping(v, &p->shipping);
}

/* Both spellings are taken, whatever the version; who names types has no automatic ones. */
static bool take_method_types(struct visit *v, struct intent *p)
{
    const struct form *f = form_get(&v->form, S("payment_method_types"));
    struct buf b;

    if (!f)
        f = form_get(&v->form, S("allowed_payment_method_types"));
    if (!f)
        return true;
    if (!f->first)
        return visit_invalid(v, NULL, "payment_method_types", "Invalid array");
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    for (const struct form *x = f->first; x; x = x->next) {
        buf_char(&b, x == f->first ? '[' : ',');
        buf_json(&b, x->value);
    }
    buf_char(&b, ']');
    p->method_types = work_take(&v->w, &b);
    p->automatic_methods = false;
    return !v->w.err;
}

static bool take_ways(struct visit *v, struct intent *p)
{
    struct taken capture, confirmation;

    if (!take_choice(v, "capture_method", "automatic|automatic_async|manual", &capture) ||
        !take_choice(v, "confirmation_method", "automatic|manual", &confirmation))
        return false;
    if (capture.text.n)
        p->capture_method = capture.text;
    if (confirmation.text.n)
        p->confirmation_method = confirmation.text;
    return true;
}

/* --- confirm --- */

static bool take_confirmation(struct visit *v, struct confirmation *how)
{
    const struct form *off = form_get(&v->form, S("off_session"));

    *how = (struct confirmation){ .decline_code = v->fault.decline_code };
    if (!take_flag(v, "error_on_requires_action", &how->no_action))
        return false;
    if (off && off->has_value && !str_eq(off->value, S("false")) && off->value.n)
        how->no_action = true; /* true, or one of the older words for it */
    return true;
}

static void refuse_declined(struct visit *v, const struct intent *p, const struct attempt *a)
{
    visit_refuse(v, &(struct refusal){ .status = 402,
                                       .type = "card_error",
                                       .code = a->code,
                                       .decline_code = a->decline_code,
                                       .message = a->message,
                                       .charge = a->charge,
                                       .intent = sb_intent_json(&v->w, p, 0),
                                       .method = a->method,
                                       .began = true });
}

static void confirm(struct visit *v, struct intent *p, const struct confirmation *how)
{
    struct attempt a;

    if (!p->payment_method.n) {
        visit_unexpected(v, p,
                         S("You cannot confirm this PaymentIntent because it's missing a payment "
                           "method. You can either update the PaymentIntent with a payment method "
                           "and then confirm it again, or confirm it again directly with a payment "
                           "method."));
        return;
    }
    if (!sb_pay(&v->w, p, how, &a))
        return;
    if (a.declined)
        refuse_declined(v, p, &a);
    else
        answer(v, p);
}

static bool is_open(const struct intent *p)
{
    return p->status == INTENT_NEEDS_METHOD || p->status == INTENT_NEEDS_CONFIRM ||
           p->status == INTENT_NEEDS_ACTION;
}

static bool refuse_state(struct visit *v, const struct intent *p, const char *what)
{
    struct str status = sb_intent_status_text(p->status);

    return visit_unexpected(
        v, p,
        work_text(&v->w, "You cannot %s this PaymentIntent because it has a status of " STR_FMT ".",
                  what, STR_ARG(status)));
}

void intent_confirm(struct visit *v)
{
    struct confirmation how;
    struct intent p;
    struct taken url;

    if (!visit_intent(v, &p))
        return;
    if (!is_open(&p)) {
        refuse_state(v, &p, "confirm");
        return;
    }
    if (!take_text(v, "return_url", LIMIT_SANDBOX_TEXT, &url) || !take_confirmation(v, &how) ||
        !method_for(v, &p))
        return;
    if (url.has)
        p.return_url = url.text;
    confirm(v, &p, &how);
}

/* --- create --- */

static struct intent blank(struct visit *v)
{
    struct str id = sb_id_intent(&v->w), tail = sb_id_random(&v->w, "_secret_", 25);

    return (struct intent){ .id = id,
                            .created_ms = v->w.now_ms,
                            .capture_method = S("automatic_async"),
                            .confirmation_method = S("automatic"),
                            .client_secret =
                                work_text(&v->w, STR_FMT STR_FMT, STR_ARG(id), STR_ARG(tail)),
                            .metadata = S("{}"),
                            .method_types = S("[\"card\"]"),
                            .automatic_methods = true };
}

static bool take_new(struct visit *v, struct intent *p)
{
    if (!take_amount(v, true, p) || !take_currency(v, p) || !take_ways(v, p) ||
        !take_fields(v, p) || !take_method_types(v, p) || !method_for(v, p))
        return false;
    p->status = p->payment_method.n ? INTENT_NEEDS_CONFIRM : INTENT_NEEDS_METHOD;
    return true;
}

void intent_create(struct visit *v)
{
    struct intent p = blank(v);
    struct confirmation how;
    bool at_once = false;

    if (!take_new(v, &p) || !take_flag(v, "confirm", &at_once) || !take_confirmation(v, &how))
        return;
    if (at_once && !p.payment_method.n) {
        visit_invalid(v, "parameter_missing", "payment_method",
                      "You cannot confirm a PaymentIntent without a payment method.");
        return;
    }
    if (!work_event(&v->w, "payment_intent.created", sb_intent_json(&v->w, &p, 0), S("")))
        return;
    if (at_once)
        confirm(v, &p, &how);
    else if (sb_intent_write(&v->w, &p))
        answer(v, &p);
}

/* --- update --- */

static bool touches_money(const struct visit *v)
{
    static const struct str names[] = { { "amount", 6 },
                                        { "payment_method", 14 },
                                        { "payment_method_data", 19 } };

    for (size_t i = 0; i < COUNT(names); i++)
        if (form_get(&v->form, names[i]))
            return true;
    return false;
}

static bool update_money(struct visit *v, struct intent *p)
{
    if (!touches_money(v))
        return true;
    if (!is_open(p))
        return refuse_state(v, p, "update the amount or payment method of");
    if (!take_amount(v, false, p) || !method_for(v, p))
        return false;
    p->status = p->payment_method.n ? INTENT_NEEDS_CONFIRM : INTENT_NEEDS_METHOD;
    return true;
}

void intent_update(struct visit *v)
{
    struct intent p;

    if (!visit_intent(v, &p) || !update_money(v, &p) || !take_fields(v, &p))
        return;
    if (is_open(&p) && (!take_method_types(v, &p) || !take_ways(v, &p)))
        return;
    if (sb_intent_write(&v->w, &p))
        answer(v, &p);
}

/* --- read --- */

void intent_retrieve(struct visit *v)
{
    struct intent p;

    if (visit_intent(v, &p))
        answer(v, &p);
}

static void raise(struct str *bound, struct str id)
{
    if (str_cmp(id, *bound) > 0)
        *bound = id;
}

static void lower(struct str *bound, struct str id)
{
    if (str_cmp(id, *bound) < 0)
        *bound = id;
}

static struct str at_second(struct visit *v, int64_t s)
{
    return sb_id_first_at(&v->w, s < INT64_MAX / 1000 ? s * 1000 : INT64_MAX);
}

/* Whole seconds: what is created at s is all of the second that begins there. */
static bool bound_by(struct visit *v, struct str how, struct str text, struct page *page)
{
    int64_t s;

    if (!str_to_i64(text, &s) || s < 0 || s > INT64_MAX / 1000)
        return visit_invalid(v, "parameter_invalid_integer", "created", "Invalid timestamp");
    if (str_eq(how, S("gte")) || !how.n)
        raise(&page->above, at_second(v, s));
    if (str_eq(how, S("gt")))
        raise(&page->above, at_second(v, s + 1));
    if (str_eq(how, S("lt")))
        lower(&page->below, at_second(v, s));
    if (str_eq(how, S("lte")) || !how.n)
        lower(&page->below, at_second(v, s + 1));
    return true;
}

static bool take_created(struct visit *v, struct page *page)
{
    const struct form *f = form_get(&v->form, S("created"));

    if (f && f->has_value)
        return bound_by(v, S(""), f->value, page);
    for (const struct form *x = f ? f->first : NULL; x; x = x->next)
        if (!bound_by(v, x->name, x->value, page))
            return false;
    return true;
}

void intent_list(struct visit *v)
{
    unsigned expand = take_expand(v, expansions, COUNT(expansions));
    struct page page = { .above = S("pi_"), .below = S("pi_~") };
    struct intent *p = NULL;
    struct str *objects;
    struct taken customer;

    if (!take_text(v, "customer", LIMIT_SANDBOX_TEXT, &customer) || !take_created(v, &page) ||
        !take_page(v, &page))
        return;
    page.customer = customer.text;
    if (!sb_intent_page(&v->w, &page, &p))
        return;
    objects = visit_objects(v, page.count);
    if (!objects)
        return;
    for (size_t i = 0; i < page.count; i++)
        objects[i] = sb_intent_json(&v->w, &p[i], expand);
    visit_list(v, "/v1/payment_intents", &page, objects);
}
