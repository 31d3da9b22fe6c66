/* pay.c - the states of a payment intent, whether a call moves it, the customer on a page, or time.
 *
 *   confirm --card pays----------> succeeded            (automatic) charge.succeeded, succeeded
 *     |     --card pays----------> requires_capture     (manual) charge.succeeded, capturable
 *     |     --declined-----------> requires_payment_method       charge.failed, payment_failed
 *     |-------3-D Secure, wallet-> requires_action --the customer answers--> as above
 *     |-------konbini------------> requires_action --> vouchers.c
 *     |-------bank transfer------> requires_action --> transfers.c
 *     '-------bank debit---------> processing      --> debits.c
 *   requires_capture --capture---------> succeeded               charge.captured, succeeded
 *                    --cancel, 7 days--> canceled                canceled
 *
 * Each move is one transaction with its rows, its events and the messages of what comes later. So a
 * crash leaves the state before the move or the state after it. */
#include "base/limits.h"
#include "sandbox/stripe/checkout.h"
#include "sandbox/stripe/customers.h"

struct intent sb_intent_new(struct work *w)
{
    struct str id = sb_id_intent(w), tail = sb_id_random(w, "_secret_", 25);

    return (struct intent){ .id = id,
                            .created_ms = w->now_ms,
                            .status = INTENT_NEEDS_METHOD,
                            .capture_method = S("automatic_async"),
                            .confirmation_method = S("automatic"),
                            .client_secret =
                                work_text(w, STR_FMT STR_FMT, STR_ARG(id), STR_ARG(tail)),
                            .metadata = S("{}"),
                            .method_types = S("[\"card\"]"),
                            .automatic_methods = true };
}

void sb_intent_set_method(struct intent *p, struct str method, struct str card)
{
    p->authenticated = p->authenticated && str_eq(p->payment_method, method);
    p->payment_method = method;
    p->card = card;
}

struct charge sb_charge_new(struct work *w, const struct intent *p)
{
    return (struct charge){ .id = sb_id_under(w, "ch_", p->id),
                            .intent = p->id,
                            .created_ms = w->now_ms,
                            .amount = p->amount,
                            .status = S("succeeded"),
                            .currency = p->currency,
                            .payment_method = p->payment_method,
                            .card = p->card,
                            .authenticated = p->authenticated,
                            .metadata = p->metadata,
                            .description = p->description,
                            .customer = p->customer,
                            .receipt_email = p->receipt_email,
                            .statement_descriptor = p->statement_descriptor,
                            .descriptor_suffix = p->descriptor_suffix,
                            .shipping = p->shipping,
                            .transfer_group = p->transfer_group };
}

static bool emit_intent_event(struct work *w, const char *type, const struct intent *p)
{
    return work_emit(w, type, sb_intent_json(w, p, 0), S(""));
}

/* --- paid --- */

static void hold_amount(struct work *w, struct intent *p, struct charge *c)
{
    c->capture_before_ms = w->now_ms + LIMIT_SANDBOX_LAPSE_MS;
    p->status = INTENT_NEEDS_CAPTURE;
    p->amount_capturable = p->amount;
}

static void capture_amount(struct intent *p, struct charge *c)
{
    c->captured = true;
    c->amount_captured = p->amount;
    p->status = INTENT_SUCCEEDED;
    p->amount_received = p->amount;
}

bool sb_intent_succeed(struct work *w, struct intent *p)
{
    bool manual = str_eq(p->capture_method, S("manual"));
    struct charge c = sb_charge_new(w, p);

    p->latest_charge = c.id;
    p->last_error = S("");
    if (manual)
        hold_amount(w, p, &c);
    else
        capture_amount(p, &c);
    return sb_charge_write(w, &c) && sb_intent_write(w, p) &&
           work_emit(w, "charge.succeeded", sb_charge_json(w, &c, 0), S("")) &&
           emit_intent_event(
               w, manual ? "payment_intent.amount_capturable_updated" : "payment_intent.succeeded",
               p) &&
           (manual ? work_add_message(w, sb_job_lapse, p->id, c.capture_before_ms)
                   : work_add_message(w, sb_job_balance, c.id, w->now_ms)) &&
           sb_session_follow(w, p) && sb_dispute_by_card(w, &c);
}

/* --- declined --- */

static struct str error_json(struct work *w, const char *type, const struct pay_attempt *a)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    sb_put_text(&b, S("{\"type\":"), str_of(type));
    sb_put_text(&b, S(",\"code\":"), a->code);
    if (a->charge.n)
        sb_put_text(&b, S(",\"charge\":"), a->charge);
    if (a->decline_code.n)
        sb_put_text(&b, S(",\"decline_code\":"), a->decline_code);
    sb_put_text(&b, S(",\"message\":"), a->message);
    sb_put_raw(&b, S(",\"payment_method\":"), a->method);
    buf_char(&b, '}');
    return work_text_of(w, &b);
}

static struct str method_text(struct work *w, struct str id)
{
    struct method m;

    return work_ok(w, sb_method_read(w->tx, id, &m)) ? sb_method_json(w, &m) : (struct str){ 0 };
}

static void remove_method(struct work *w, struct intent *p, const char *type,
                          const struct pay_attempt *a)
{
    p->status = INTENT_NEEDS_METHOD;
    p->last_error = error_json(w, type, a);
    p->payment_method = p->card = S("");
    p->authenticated = false;
}

static bool decline_payment(struct work *w, struct intent *p, const struct decline_error *d,
                            struct pay_attempt *a)
{
    struct charge c = sb_charge_new(w, p);

    c.status = S("failed");
    c.failure_code = d->code;
    c.decline_code = d->decline_code;
    *a = (struct pay_attempt){ .declined = true,
                               .code = d->code,
                               .decline_code = d->decline_code,
                               .message = d->message,
                               .charge = c.id,
                               .method = method_text(w, p->payment_method) };
    remove_method(w, p, "card_error", a);
    p->latest_charge = c.id;
    return sb_charge_write(w, &c) && sb_intent_write(w, p) &&
           work_emit(w, "charge.failed", sb_charge_json(w, &c, 0), S("")) &&
           emit_intent_event(w, "payment_intent.payment_failed", p);
}

/* --- the customer is asked --- */

bool sb_intent_require_action(struct work *w, struct intent *p)
{
    p->status = INTENT_NEEDS_ACTION;
    p->last_error = S("");
    return sb_intent_write(w, p) && emit_intent_event(w, "payment_intent.requires_action", p);
}

/* One of the test cards asks only until the customer has authenticated for later payments too. */
static bool must_ask_customer(struct work *w, const struct intent *p, const struct card *card)
{
    struct method m;

    if (p->authenticated)
        return false;
    if (card->outcome == CARD_WALLET || card->outcome == CARD_ASKS_AND_DECLINES)
        return true;
    if (card->outcome != CARD_ASKS)
        return false;
    return !str_eq(p->card, S("authenticationRequiredOnSetup")) ||
           !work_ok(w, sb_method_read(w->tx, p->payment_method, &m)) || !m.set_up;
}

static bool pay_with_card(struct work *w, struct intent *p, const struct card *card,
                          struct pay_attempt *ret)
{
    struct decline_error d;

    switch (card->outcome) {
    case CARD_PAYS:
    case CARD_REFUND_FAILS:
    case CARD_ASKS:
    case CARD_WALLET: return sb_intent_succeed(w, p);
    case CARD_VOUCHER: return sb_voucher_issue(w, p);
    case CARD_DEBIT: return sb_debit_begin(w, p);
    case CARD_TRANSFER: return sb_transfer_begin(w, p);
    case CARD_DECLINES:
    case CARD_BLOCKED:
    case CARD_ASKS_AND_DECLINES: break;
    }
    d = card_decline(card);
    return decline_payment(w, p, &d, ret);
}

bool sb_intent_attempt(struct work *w, struct intent *p, const struct confirmation *how,
                       struct pay_attempt *ret)
{
    const struct card *card = card_by_name(p->card);
    struct decline_error d;

    *ret = (struct pay_attempt){ 0 };
    if (p->status == INTENT_NEEDS_ACTION && !sb_transfer_return(w, p))
        return false;
    if (how->decline_code.n) {
        d = decline_of(how->decline_code);
        return decline_payment(w, p, &d, ret);
    }
    if (!must_ask_customer(w, p, card))
        return !w->err && pay_with_card(w, p, card, ret);
    d = decline_of(S("authentication_required"));
    return how->no_action ? decline_payment(w, p, &d, ret) : sb_intent_require_action(w, p);
}

bool sb_intent_failed(struct work *w, struct intent *p, struct pay_attempt *a)
{
    a->method = method_text(w, p->payment_method);
    remove_method(w, p, "invalid_request_error", a);
    return sb_intent_write(w, p) && emit_intent_event(w, "payment_intent.payment_failed", p);
}

static bool customer_refused(struct work *w, struct intent *p)
{
    struct pay_attempt a = {
        .code = S("payment_intent_authentication_failure"),
        .message = S("The provided PaymentMethod has failed authentication. You can provide "
                     "payment_method_data or a new PaymentMethod to attempt to fulfill this "
                     "PaymentIntent again."),
    };

    if (card_by_name(p->card)->outcome == CARD_WALLET) {
        a.code = S("payment_method_customer_decline");
        a.message = S("The customer declined the payment.");
    }
    return sb_intent_failed(w, p, &a) && sb_session_follow(w, p);
}

static bool store_authentication(struct work *w, const struct intent *p)
{
    struct method m;

    if (!str_eq(p->setup_future_usage, S("off_session")))
        return true;
    if (!work_ok(w, sb_method_read(w->tx, p->payment_method, &m)))
        return false;
    m.set_up = true;
    return sb_method_write(w, &m);
}

/* With manual confirmation the merchant's server confirms again. */
static bool customer_agreed(struct work *w, struct intent *p)
{
    struct confirmation how = { 0 };
    struct pay_attempt a;

    p->authenticated = true;
    if (!store_authentication(w, p))
        return false;
    if (!str_eq(p->confirmation_method, S("manual")))
        return sb_intent_attempt(w, p, &how, &a);
    p->status = INTENT_NEEDS_CONFIRM;
    return sb_intent_write(w, p);
}

enum err sandbox_authenticate(struct sandbox *s, struct tx *tx, struct arena *a,
                              struct str intent_id, bool success)
{
    struct work w = { .s = s, .tx = tx, .a = a, .now_ms = env_now_ms(&s->env) };
    struct intent p;
    enum err e = sb_intent_read(tx, intent_id, &p);

    if (e)
        return e;
    if (p.status != INTENT_NEEDS_ACTION || sb_voucher_waits(&p) || sb_transfer_waits(&p))
        return ERR_UNPROCESSABLE;
    if (success)
        customer_agreed(&w, &p);
    else
        customer_refused(&w, &p);
    return w.err;
}

/* --- captured, cancelled --- */

bool sb_intent_settle(struct work *w, struct intent *p, struct charge *c, int64_t amount)
{
    c->captured = true;
    c->amount_captured = amount;
    p->status = INTENT_SUCCEEDED;
    p->amount_received = amount;
    p->amount_capturable = 0;
    return sb_charge_write(w, c) && sb_intent_write(w, p) &&
           work_emit(w, "charge.captured", sb_charge_json(w, c, 0),
                     S("{\"amount_captured\":0,\"captured\":false}")) &&
           emit_intent_event(w, "payment_intent.succeeded", p) &&
           work_add_message(w, sb_job_balance, c->id, w->now_ms) && sb_session_follow(w, p);
}

bool sb_intent_cancel(struct work *w, struct intent *p, struct str reason)
{
    p->status = INTENT_CANCELED;
    p->canceled_ms = w->now_ms;
    p->cancellation_reason = reason;
    p->amount_capturable = 0;
    return sb_transfer_return(w, p) && sb_intent_write(w, p) &&
           emit_intent_event(w, "payment_intent.canceled", p);
}
