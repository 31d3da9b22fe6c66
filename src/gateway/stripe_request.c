#include "gateway/stripe_request.h"

#include "base/limits.h"
#include "gateway/stripe_form.h"
#include "gateway/stripe_money.h"

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

/* Both clocks may be off, and the last send may have been answered at the end of its budget. */
static void path_fetch(struct buf *b, const struct gateway_call *c)
{
    int64_t last_ms = c->until_ms + LIMIT_GATEWAY_BUDGET_MS + LIMIT_GATEWAY_SKEW_MS;

    if (c->intent_id.n) {
        path_intent(b, c);
        buf_char(b, '?');
        form_add(b, "expand[]", S("latest_charge.balance_transaction"));
        return;
    }
    buf_add(b, S("/v1/payment_intents?"));
    form_int(b, "limit", LIMIT_GATEWAY_PAGE);
    form_int(b, "created[gte]", (c->since_ms - LIMIT_GATEWAY_SKEW_MS) / 1000);
    if (c->until_ms > 0)
        form_int(b, "created[lte]", last_ms / 1000);
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

/* --- forms; false: the amount cannot be said --- */

static void add_currency(struct buf *b, const char code[4])
{
    char lower[3];

    for (size_t i = 0; i < 3; i++)
        lower[i] = (char)(code[i] >= 'A' && code[i] <= 'Z' ? code[i] - 'A' + 'a' : code[i]);
    form_add(b, "currency", (struct str){ lower, sizeof(lower) });
}

static void add_confirm(struct buf *b, const struct gateway_call *c)
{
    form_add(b, "payment_method", c->payment_method);
    form_add(b, "confirm", S("true"));
    form_add(b, "allowed_payment_method_types[0]", S("card"));
    if (c->return_url.n)
        form_add(b, "return_url", c->return_url);
}

static bool form_authorize(struct buf *b, const struct gateway_call *c)
{
    bool is_booking = str_eq(c->context, S("booking"));
    int64_t wire;

    if (!stripe_amount_out(c->money, &wire))
        return false;
    form_int(b, "amount", wire);
    add_currency(b, c->money.currency);
    form_add(b, "capture_method", S("manual"));
    if (c->payment_method.n)
        add_confirm(b, c);
    form_uuid(b, "metadata[payment_id]", c->payment);
    form_uuid(b, "metadata[user_id]", c->user);
    form_add(b, "metadata[context]", c->context);
    form_uuid(b, is_booking ? "metadata[booking_id]" : "metadata[subject_id]", c->subject);
    if (c->description.n)
        form_add(b, "description", c->description);
    form_add(b, "expand[]", S("latest_charge"));
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
};

/* The buffer's text in the arena; the buffer is gone. */
static enum err keep(struct arena *a, struct buf *b, struct str *ret_text)
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
    e = keep(c->arena, &b, &r.url);
    if (!e && asks[c->ask].form) {
        buf_init(&b, LIMIT_GATEWAY_FORM);
        sayable = asks[c->ask].form(&b, c);
        e = keep(c->arena, &b, &r.body);
        if (!sayable)
            e = ERR_UNPROCESSABLE;
    }
    if (!e)
        *ret_request = r;
    return e;
}
