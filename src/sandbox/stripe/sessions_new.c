/* sessions_new.c - POST /v1/checkout/sessions: a session and its line items. */
#include "base/limits.h"
#include "sandbox/page/page.h"
#include "sandbox/stripe/catalog.h"

/* --- lines --- */

struct line_reader {
    struct session *s;
    struct item item;
};

static bool make_price(struct stripe_call *v, void *ctx)
{
    struct price *p = ctx;

    return price_new(v, p) && sb_price_write(&v->w, p);
}

static bool known_price(struct stripe_call *v, struct str id, struct price *p)
{
    enum err e = sb_price_read(v->w.tx, id, p);

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 400, "price", id, "line_items[price]");
    if (!work_ok(&v->w, e))
        return false;
    return p->active ||
           stripe_reject_invalid(v, NULL, "line_items[price]",
                                 "The price specified is inactive. This field only accepts "
                                 "active prices.");
}

static bool take_price(struct stripe_call *v, struct price *p)
{
    const struct form *data = form_get(&v->form, S("price_data"));
    struct param id;

    if (!param_text(v, "price", LIMIT_SANDBOX_TEXT, &id))
        return false;
    if (id.text.n)
        return known_price(v, id.text, p);
    if (data)
        return param_within(v, data, make_price, p);
    return stripe_reject_invalid(
        v, "parameter_missing", "line_items[price]",
        "You must specify either `price` or `price_data` for each line item.");
}

static bool take_quantity(struct stripe_call *v, struct item *i)
{
    struct param t;

    if (!param_number(v, "quantity", &t))
        return false;
    if (!t.has)
        return stripe_reject_invalid(v, "parameter_missing", "line_items[quantity]",
                                     "Quantity is required. Add `quantity` to the line item.");
    if (t.number < 1 || t.number > LIMIT_SANDBOX_QUANTITY)
        return stripe_reject_invalid(v, "parameter_invalid_integer", "line_items[quantity]",
                                     "This value must be between 1 and %d.",
                                     LIMIT_SANDBOX_QUANTITY);
    i->quantity = t.number;
    return true;
}

/* All line items have the currency of the first. */
static bool one_currency(struct stripe_call *v, struct session *s, const struct price *p)
{
    if (!s->currency.n)
        s->currency = p->currency;
    return str_eq(s->currency, p->currency) ||
           stripe_reject_invalid(
               v, NULL, "line_items",
               "All line items of a Checkout Session must have the same currency.");
}

static bool take_line(struct stripe_call *v, void *ctx)
{
    struct line_reader *l = ctx;
    struct item *i = &l->item;
    struct product product;
    struct price p = { 0 };

    if (!take_price(v, &p) || !take_quantity(v, i) || !one_currency(v, l->s, &p) ||
        !work_ok(&v->w, sb_product_read(v->w.tx, p.product, &product)))
        return false;
    i->session = l->s->id;
    i->id = sb_id_new(&v->w, "li_1");
    i->price = p.id;
    i->description = product.name;
    i->currency = p.currency;
    i->amount = p.unit_amount *
                i->quantity; /* both factors are bounded, so the product is far below 2^63 */
    l->s->amount += i->amount;
    return sb_item_write(&v->w, i);
}

static bool take_lines(struct stripe_call *v, struct session *s)
{
    const struct form *f = form_get(&v->form, S("line_items"));
    struct line_reader l = { .s = s };

    if (!f || !f->first)
        return stripe_reject_invalid(v, "parameter_missing", "line_items",
                                     "Missing required param: line_items.");
    if (f->count > LIMIT_SANDBOX_ITEMS)
        return stripe_reject_invalid(v, NULL, "line_items", "A session has at most %d line items.",
                                     LIMIT_SANDBOX_ITEMS);
    for (const struct form *x = f->first; x; x = x->next) {
        if (!param_within(v, x, take_line, &l))
            return false;
        l.item.line++;
    }
    return check_amount(v, "line_items", s->amount);
}

/* --- the rest --- */

static bool take_address(struct stripe_call *v, const char *name, bool required, struct str *url)
{
    struct param t;

    if (!param_text(v, name, LIMIT_SANDBOX_TEXT, &t))
        return false;
    if (!t.text.n)
        return !required || stripe_reject_invalid(v, "parameter_missing", name,
                                                  "Missing required param: %s.", name);
    *url = t.text;
    return (t.text.n <= LIMIT_SANDBOX_URL && page_is_url(t.text)) ||
           stripe_reject_invalid(v, "url_invalid", name, "Not a valid URL");
}

static bool take_reference_and_customer(struct stripe_call *v, struct session *s)
{
    struct param reference, customer, email;

    if (!param_text(v, "client_reference_id", 200, &reference) ||
        !param_text(v, "customer", LIMIT_SANDBOX_TEXT, &customer) ||
        !param_text(v, "customer_email", 800, &email))
        return false;
    if (customer.text.n && email.text.n)
        return stripe_reject_invalid(v, "parameters_exclusive", "customer_email",
                                     "You may only specify one of these parameters: customer, "
                                     "customer_email.");
    s->client_reference = reference.text;
    s->customer = customer.text;
    s->customer_email = email.text;
    return param_metadata(v, &s->metadata);
}

static bool take_mode(struct stripe_call *v)
{
    struct param mode;

    if (!param_choice(v, "mode", "payment|setup|subscription", &mode))
        return false;
    if (!mode.text.n)
        return stripe_reject_invalid(v, "parameter_missing", "mode",
                                     "Missing required param: mode.");
    return str_eq(mode.text, S("payment")) ||
           stripe_reject_invalid(v, NULL, "mode", "The sandbox has sessions of mode payment only.");
}

static bool take_end(struct stripe_call *v, struct session *s)
{
    int64_t now_s = v->w.now_ms / 1000;
    struct param t;

    s->expires_ms = v->w.now_ms + LIMIT_SANDBOX_SESSION_MOST_S * INT64_C(1000);
    if (!param_number(v, "expires_at", &t))
        return false;
    if (!t.has)
        return true;
    if (t.number < now_s + LIMIT_SANDBOX_SESSION_LEAST_S ||
        t.number > now_s + LIMIT_SANDBOX_SESSION_MOST_S)
        return stripe_reject_invalid(
            v, NULL, "expires_at",
            "The `expires_at` timestamp must be at least 30 minutes and at most "
            "24 hours from Checkout Session creation.");
    s->expires_ms = t.number * 1000;
    return true;
}

/* Reads the fields of payment_intent_data. */
static bool take_intent_data(struct stripe_call *v, void *ctx)
{
    struct param description, capture, email, suffix, usage;
    struct session *s = ctx;

    if (!param_text(v, "description", LIMIT_SANDBOX_TEXT, &description) ||
        !param_choice(v, "capture_method", "automatic|automatic_async|manual", &capture) ||
        !param_text(v, "receipt_email", 800, &email) ||
        !param_text(v, "statement_descriptor_suffix", 22, &suffix) ||
        !param_choice(v, "setup_future_usage", "off_session|on_session", &usage))
        return false;
    s->intent_description = description.text;
    s->receipt_email = email.text;
    s->descriptor_suffix = suffix.text;
    s->setup_future_usage = usage.text;
    if (capture.text.n)
        s->capture_method = capture.text;
    return param_metadata(v, &s->intent_metadata) && param_shipping(v, &s->shipping);
}

static bool types_fit(struct stripe_call *v, const struct session *s)
{
    for (size_t i = 0; i < method_type_count; i++) {
        const struct method_type *t = &method_types[i];

        if (t->currency && page_list_has(s->method_types, t->name) &&
            !str_eq(s->currency, str_of(t->currency)))
            return stripe_reject_invalid(v, NULL, "payment_method_types",
                                         "The payment method `%s` only supports the currency %s.",
                                         t->name, t->currency);
    }
    return !page_list_has(s->method_types, "customer_balance") ||
           stripe_reject_invalid(v, NULL, "payment_method_types",
                                 "The sandbox has no sessions that are paid by customer_balance.");
}

/* Without named types, every type that the currency allows. */
static bool take_types(struct stripe_call *v, struct session *s)
{
    bool yen = str_eq(s->currency, S("jpy")), named;

    if (!param_method_types(v, &s->method_types, &named))
        return false;
    if (!named)
        s->method_types = yen && !str_eq(s->capture_method, S("manual"))
                              ? S("[\"card\",\"konbini\"]")
                              : S("[\"card\"]");
    return types_fit(v, s);
}

static const struct expansion expansions[] = {
    { "line_items", EXPAND_ITEMS },
    { "payment_intent", EXPAND_INTENT },
};

void session_create(struct stripe_call *v)
{
    struct session s = { .id = sb_id_new(&v->w, ID_SESSION),
                         .created_ms = v->w.now_ms,
                         .status = S("open"),
                         .payment_status = S("unpaid"),
                         .metadata = S("{}"),
                         .intent_metadata = S("{}"),
                         .capture_method = S("automatic_async") };

    if (!take_mode(v) || !take_address(v, "success_url", true, &s.success_url) ||
        !take_address(v, "cancel_url", false, &s.cancel_url) ||
        !take_reference_and_customer(v, &s) || !take_end(v, &s) ||
        !param_within(v, form_get(&v->form, S("payment_intent_data")), take_intent_data, &s) ||
        !take_lines(v, &s) || !take_types(v, &s) || !sb_session_write(&v->w, &s) ||
        !work_add_message(&v->w, sb_job_session_lapse, s.id, s.expires_ms))
        return;
    stripe_answer(v, sb_session_json(&v->w, &s, param_expand(v, expansions, COUNT(expansions))));
}
