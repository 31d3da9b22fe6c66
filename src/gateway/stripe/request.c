/* request.c - path and form of each ask, made from the call's fields alone, so that a repeat after a
 * crash sends the same bytes. */
#include "gateway/stripe/request.h"

#include "base/limits.h"
#include "gateway/stripe/form.h"
#include "gateway/stripe/money.h"

bool stripe_is_fetch(enum gateway_ask ask)
{
    return ask == GATEWAY_FETCH || ask == GATEWAY_FETCH_REFUND;
}

bool stripe_is_listing(const struct gateway_call *c)
{
    return (c->ask == GATEWAY_FETCH && !c->intent_id.n) ||
           (c->ask == GATEWAY_FETCH_REFUND && !c->refund_id.n);
}

/* --- addresses --- */

static void path_intents(struct buf *b, const struct gateway_call *c)
{
    (void)c;
    buf_add(b, S("/v1/payment_intents"));
}

static void path_intent(struct buf *b, const struct gateway_call *c)
{
    buf_add(b, S("/v1/payment_intents/"));
    form_escape(b, c->intent_id);
}

static void path_capture(struct buf *b, const struct gateway_call *c)
{
    path_intent(b, c);
    buf_add(b, S("/capture"));
}

static void path_cancel(struct buf *b, const struct gateway_call *c)
{
    path_intent(b, c);
    buf_add(b, S("/cancel"));
}

static void path_refunds(struct buf *b, const struct gateway_call *c)
{
    (void)c;
    buf_add(b, S("/v1/refunds"));
}

static void path_sessions(struct buf *b, const struct gateway_call *c)
{
    (void)c;
    buf_add(b, S("/v1/checkout/sessions"));
}

static void path_session(struct buf *b, const struct gateway_call *c)
{
    buf_add(b, S("/v1/checkout/sessions/"));
    form_escape(b, c->session_id);
}

static void path_expire(struct buf *b, const struct gateway_call *c)
{
    path_session(b, c);
    buf_add(b, S("/expire"));
}

/* The window allows for wrong clocks, and for a last send that took its whole budget. An intent
 * outside of the window would count as absent, and its payment could be charged twice. */
static void path_fetch(struct buf *b, const struct gateway_call *c)
{
    int64_t slack_ms = LIMIT_GATEWAY_BUDGET_MS + LIMIT_GATEWAY_SKEW_MS;

    if (c->intent_id.n) {
        path_intent(b, c);
        buf_char(b, '?');
        form_add(b, "expand[]", S("latest_charge.balance_transaction"));
        return;
    }
    buf_add(b, S("/v1/payment_intents?"));
    form_int(b, "limit", LIMIT_GATEWAY_PAGE);
    form_int(b, "created[gte]", (c->since_ms - slack_ms) / 1000);
    if (c->until_ms > 0)
        form_int(b, "created[lte]", (c->until_ms + slack_ms) / 1000);
}

static void path_fetch_refund(struct buf *b, const struct gateway_call *c)
{
    if (c->refund_id.n) {
        buf_add(b, S("/v1/refunds/"));
        form_escape(b, c->refund_id);
        return;
    }
    buf_add(b, S("/v1/refunds?"));
    form_add(b, "payment_intent", c->intent_id);
    form_int(b, "limit", LIMIT_GATEWAY_PAGE);
}

/* --- forms; false: the amount cannot be converted --- */

static void add_currency(struct buf *b, const char *name, const char code[4])
{
    char lower[3];

    for (size_t i = 0; i < 3; i++)
        lower[i] = (char)(code[i] >= 'A' && code[i] <= 'Z' ? code[i] - 'A' + 'a' : code[i]);
    form_add(b, name, (struct str){ lower, sizeof(lower) });
}

/* Our ids in the intent's metadata, by which it is recognized without its own id (D18, C1). */
static void add_metadata(struct buf *b, const char *group, const struct gateway_call *c)
{
    bool is_booking = c->context == CONTEXT_BOOKING;

    form_uuid_in(b, group, "payment_id", c->payment);
    form_uuid_in(b, group, "user_id", c->user);
    form_add_in(b, group, "context", str_of(payment_context_name(c->context)));
    form_uuid_in(b, group, is_booking ? "booking_id" : "subject_id", c->subject);
    for (size_t i = 0; i < c->note_count; i++)
        form_add_in(b, group, c->notes[i].name,
                    utf8_cut_chars(c->notes[i].value, LIMIT_GATEWAY_METADATA));
}

static bool is_konbini(const struct gateway_call *c)
{
    return str_eq(c->method_type, S("konbini"));
}

static bool is_paypay(const struct gateway_call *c)
{
    return str_eq(c->method_type, S("paypay"));
}

/* Neither can be held and captured later. */
static bool captures_now(const struct gateway_call *c)
{
    return c->capture_now || is_konbini(c) || is_paypay(c);
}

/* Since 2026-09-30.endive payment_method_types is rejected; this replaces it. */
static void add_method_type(struct buf *b, const struct gateway_call *c)
{
    form_add(b, "allowed_payment_method_types[0]", c->method_type.n ? c->method_type : S("card"));
    if (is_konbini(c) && c->konbini_days > 0)
        form_int(b, "payment_method_options[konbini][expires_after_days]", c->konbini_days);
}

/* Stripe requires name and email of the customer; the sandbox takes any. */
static void add_konbini_method(struct buf *b, const struct gateway_call *c)
{
    form_add(b, "payment_method_data[type]", S("konbini"));
    form_add(b, "payment_method_data[billing_details][name]", S("Ichido Sandbox"));
    form_add(b, "payment_method_data[billing_details][email]",
             c->email.n ? c->email : S("sandbox@example.com"));
}

static void add_confirm(struct buf *b, const struct gateway_call *c)
{
    if (str_eq(c->payment_method, S("konbini")))
        add_konbini_method(b, c);
    else if (str_eq(c->payment_method, S("paypay")))
        form_add(b, "payment_method_data[type]", S("paypay"));
    else
        form_add(b, "payment_method", c->payment_method);
    form_add(b, "confirm", S("true"));
    if (c->return_url.n)
        form_add(b, "return_url", c->return_url);
}

static bool form_authorize(struct buf *b, const struct gateway_call *c)
{
    int64_t wire;

    if (!stripe_amount_out(c->money, &wire))
        return false;
    form_int(b, "amount", wire);
    add_currency(b, "currency", c->money.currency);
    form_add(b, "capture_method", captures_now(c) ? S("automatic") : S("manual"));
    add_method_type(b, c);
    if (c->payment_method.n)
        add_confirm(b, c);
    add_metadata(b, "metadata", c);
    if (c->description.n)
        form_add(b, "description", c->description);
    form_add(b, "expand[]", S("latest_charge"));
    return true;
}

static bool add_item(struct buf *b, const struct gateway_call *c)
{
    int64_t wire;

    if (!stripe_amount_out(c->money, &wire))
        return false;
    add_currency(b, "line_items[0][price_data][currency]", c->money.currency);
    form_int(b, "line_items[0][price_data][unit_amount]", wire);
    form_add(b, "line_items[0][price_data][product_data][name]", c->item);
    form_int(b, "line_items[0][quantity]", 1);
    return true;
}

/* A session creates its intent only when the customer pays, so both get our id. */
static bool form_checkout(struct buf *b, const struct gateway_call *c)
{
    form_add(b, "mode", S("payment"));
    if (!add_item(b, c))
        return false;
    form_add(b, "success_url", c->success_url);
    if (c->cancel_url.n)
        form_add(b, "cancel_url", c->cancel_url);
    form_uuid(b, "client_reference_id", c->payment);
    if (c->email.n)
        form_add(b, "customer_email", c->email);
    form_uuid(b, "metadata[payment_id]", c->payment);
    add_metadata(b, "payment_intent_data[metadata]", c);
    if (c->description.n)
        form_add(b, "payment_intent_data[description]", c->description);
    return true;
}

static bool form_empty(struct buf *b, const struct gateway_call *c)
{
    (void)b;
    (void)c;
    return true;
}

static bool form_capture(struct buf *b, const struct gateway_call *c)
{
    int64_t wire;

    if (!stripe_amount_out(c->money, &wire))
        return false;
    form_int(b, "amount_to_capture", wire);
    return true;
}

static bool is_one_of(struct str s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(s, str_of(words[i])))
            return true;
    return false;
}

static bool form_cancel(struct buf *b, const struct gateway_call *c)
{
    static const char *const words[] = { "duplicate", "fraudulent", "requested_by_customer",
                                         "abandoned" };

    if (is_one_of(c->reason, words, COUNT(words)))
        form_add(b, "cancellation_reason", c->reason);
    return true;
}

static bool form_refund(struct buf *b, const struct gateway_call *c)
{
    static const char *const words[] = { "duplicate", "fraudulent", "requested_by_customer" };
    int64_t wire;

    if (!stripe_amount_out(c->money, &wire))
        return false;
    form_add(b, "payment_intent", c->intent_id);
    form_int(b, "amount", wire);
    if (is_one_of(c->reason, words, COUNT(words)))
        form_add(b, "reason", c->reason);
    else if (c->reason.n)
        form_add(b, "metadata[reason]", utf8_cut_chars(c->reason, LIMIT_GATEWAY_METADATA));
    form_uuid(b, "metadata[refund_id]", c->refund);
    form_uuid(b, "metadata[payment_id]", c->payment);
    return true;
}

/* --- the table --- */

static const struct {
    void (*path)(struct buf *b, const struct gateway_call *c);
    bool (*form)(struct buf *b, const struct gateway_call *c); /* NULL: a GET */
} asks[GATEWAY_ASKS] = {
    [GATEWAY_AUTHORIZE] = { path_intents, form_authorize },
    [GATEWAY_CAPTURE] = { path_capture, form_capture },
    [GATEWAY_VOID] = { path_cancel, form_cancel },
    [GATEWAY_REFUND] = { path_refunds, form_refund },
    [GATEWAY_FETCH] = { path_fetch, NULL },
    [GATEWAY_FETCH_REFUND] = { path_fetch_refund, NULL },
    [GATEWAY_CHECKOUT] = { path_sessions, form_checkout },
    [GATEWAY_EXPIRE] = { path_expire, form_empty },
};

/* Copies the buffer's text to the arena and releases the buffer. */
static enum err stripe_request_keep(struct arena *a, struct buf *b, struct str *ret_text)
{
    struct str kept = b->failed ? (struct str){ 0 } : arena_str(a, buf_str(b));

    buf_release(b);
    *ret_text = kept;
    return kept.p ? OK : ERR_NO_MEMORY;
}

enum err stripe_request_make(const struct gateway_call *c, struct str base, struct str after,
                             struct stripe_request *ret_request)
{
    struct stripe_request r = { .method = asks[c->ask].form ? S("POST") : S("GET") };
    bool sayable;
    struct buf b;
    enum err e;

    buf_init(&b, LIMIT_GATEWAY_FORM);
    buf_add(&b, base);
    asks[c->ask].path(&b, c);
    if (after.n)
        form_add(&b, "starting_after", after);
    e = stripe_request_keep(c->arena, &b, &r.url);
    if (!e && asks[c->ask].form) {
        buf_init(&b, LIMIT_GATEWAY_FORM);
        sayable = asks[c->ask].form(&b, c);
        e = stripe_request_keep(c->arena, &b, &r.body);
        if (!sayable)
            e = ERR_UNPROCESSABLE;
    }
    if (!e)
        *ret_request = r;
    return e;
}

enum err stripe_request_look(const struct gateway_call *c, struct str base,
                             struct stripe_request *ret_request)
{
    struct stripe_request r = { .method = S("GET") };
    struct buf b;
    enum err e;

    buf_init(&b, LIMIT_GATEWAY_FORM);
    buf_add(&b, base);
    path_session(&b, c);
    e = stripe_request_keep(c->arena, &b, &r.url);
    if (!e)
        *ret_request = r;
    return e;
}
