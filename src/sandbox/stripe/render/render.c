/* render.c - intents, refunds and payment methods as JSON, with every key of the newest API
 * version. Plain appends to one buffer, because this is most of what a call costs. */
#include "sandbox/stripe/render/render.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "sandbox/impl.h"
#include "sandbox/page/page.h"
#include "sandbox/stripe/checkout.h"
#include "sandbox/stripe/customers.h"

void sb_put_text(struct buf *b, struct str key, struct str value)
{
    buf_add(b, key);
    if (value.n)
        buf_json(b, value);
    else
        buf_add(b, S("null"));
}

void sb_put_time(struct buf *b, struct str key, int64_t ms)
{
    buf_add(b, key);
    if (ms)
        buf_i64(b, ms / 1000);
    else
        buf_add(b, S("null"));
}

void sb_put_number(struct buf *b, struct str key, int64_t n)
{
    buf_add(b, key);
    buf_i64(b, n);
}

void sb_put_bool(struct buf *b, struct str key, bool yes)
{
    buf_add(b, key);
    buf_add(b, yes ? S("true") : S("false"));
}

void sb_put_raw(struct buf *b, struct str key, struct str json)
{
    buf_add(b, key);
    buf_add(b, json.n ? json : S("null"));
}

/* Writes the id, or the whole object instead. */
void sb_put_expanded(struct buf *b, struct str key, struct str id, struct str object)
{
    if (object.n)
        sb_put_raw(b, key, object);
    else
        sb_put_text(b, key, id);
}

void sb_render_begin(struct buf *b, struct str first)
{
    buf_init(b, LIMIT_SANDBOX_OBJECT);
    buf_reserve(b, RENDER_ROOM);
    buf_add(b, first);
}

/* --- expansion --- */

static struct str latest_charge(struct work *w, const struct intent *p, unsigned expand)
{
    struct charge c;

    if (!(expand & EXPAND_CHARGE) || !p->latest_charge.n)
        return (struct str){ 0 };
    if (!work_ok(w, sb_charge_read(w->tx, p->latest_charge, &c)))
        return (struct str){ 0 };
    return sb_charge_json(w, &c, expand & (EXPAND_BALANCE | EXPAND_REFUNDS));
}

static struct str whole_method(struct work *w, struct str id, unsigned expand)
{
    struct method m;

    if (!(expand & EXPAND_METHOD) || !id.n || !work_ok(w, sb_method_read(w->tx, id, &m)))
        return (struct str){ 0 };
    return sb_method_json(w, &m);
}

/* --- the intent --- */

static void put_next_action(struct work *w, struct buf *b, const struct intent *p)
{
    if (p->status != INTENT_NEEDS_ACTION) {
        buf_add(b, S(",\"next_action\":null"));
        return;
    }
    if (sb_voucher_waits(p)) {
        sb_put_voucher(w, b, p);
        return;
    }
    if (sb_transfer_waits(p)) {
        sb_put_transfer(w, b, p);
        return;
    }
    sb_put_text(b, S(",\"next_action\":{\"redirect_to_url\":{\"return_url\":"), p->return_url);
    buf_add(b, S(",\"url\":\"http://"));
    buf_add(b, str_of(impl_of(w->s)->address));
    buf_add(b, S("/_sandbox/authenticate/"));
    buf_add(b, p->id);
    buf_add(b, S("\"},\"type\":\"redirect_to_url\"}"));
}

static void put_intent_head(struct buf *b, const struct intent *p)
{
    sb_put_text(b, S("\"id\":"), p->id);
    buf_add(b, S(",\"object\":\"payment_intent\",\"allowed_payment_method_types\":null"));
    sb_put_number(b, S(",\"amount\":"), p->amount);
    sb_put_number(b, S(",\"amount_capturable\":"), p->amount_capturable);
    sb_put_number(b, S(",\"amount_details\":{\"tip\":{}},\"amount_received\":"),
                  p->amount_received);
    buf_add(b, S(",\"application\":null,\"application_fee_amount\":null"));
    sb_put_raw(b, S(",\"automatic_payment_methods\":"),
               p->automatic_methods ? S("{\"allow_redirects\":\"always\",\"enabled\":true}")
                                    : S("null"));
    sb_put_time(b, S(",\"canceled_at\":"), p->canceled_ms);
    sb_put_text(b, S(",\"cancellation_reason\":"), p->cancellation_reason);
    sb_put_text(b, S(",\"capture_method\":"), p->capture_method);
    sb_put_text(b, S(",\"client_secret\":"), p->client_secret);
    sb_put_text(b, S(",\"confirmation_method\":"), p->confirmation_method);
    sb_put_time(b, S(",\"created\":"), p->created_ms);
    sb_put_text(b, S(",\"currency\":"), p->currency);
    sb_put_text(b, S(",\"customer\":"), p->customer);
    sb_put_text(b, S(",\"customer_account\":null,\"description\":"), p->description);
    sb_put_raw(b, S(",\"excluded_payment_method_types\":null,\"last_payment_error\":"),
               p->last_error);
}

/* Writes options only for the types that the intent allows. */
static void put_options(struct work *w, struct buf *b, const struct intent *p)
{
    bool first = true;

    buf_add(b, S(",\"payment_method_configuration_details\":null,\"payment_method_options\":{"));
    for (size_t i = 0; i < method_type_count; i++) {
        const char *type = method_types[i].name;

        if (!page_list_has(p->method_types, type))
            continue;
        buf_add(b, first ? S("") : S(","));
        first = false;
        if (i == 0)
            buf_add(b, S("\"card\":{\"installments\":null,\"mandate_options\":null,\"network\":"
                         "null,\"request_three_d_secure\":\"automatic\"}"));
        else if (str_eq(str_of(type), S("konbini")))
            sb_put_voucher_options(w, b, p);
        else
            sb_put_options_of(b, type);
    }
    buf_char(b, '}');
}

static void put_intent_tail(struct work *w, struct buf *b, const struct intent *p)
{
    put_options(w, b, p);
    sb_put_raw(b, S(",\"payment_method_types\":"), p->method_types);
    sb_put_text(b, S(",\"payment_record\":null,\"processing\":null,\"receipt_email\":"),
                p->receipt_email);
    sb_put_text(b, S(",\"review\":null,\"setup_future_usage\":"), p->setup_future_usage);
    sb_put_raw(b, S(",\"shipping\":"), p->shipping);
    sb_put_text(b, S(",\"source\":null,\"statement_descriptor\":"), p->statement_descriptor);
    sb_put_text(b, S(",\"statement_descriptor_suffix\":"), p->descriptor_suffix);
    sb_put_text(b, S(",\"status\":"), sb_intent_status_text(p->status));
    sb_put_text(b, S(",\"transfer_data\":null,\"transfer_group\":"), p->transfer_group);
    buf_char(b, '}');
}

struct str sb_intent_json(struct work *w, const struct intent *p, unsigned expand)
{
    struct str charge = latest_charge(w, p, expand);
    struct str method = whole_method(w, p->payment_method, expand);
    struct buf b;

    sb_render_begin(&b, S("{"));
    put_intent_head(&b, p);
    sb_put_expanded(&b, S(",\"latest_charge\":"), p->latest_charge, charge);
    sb_put_raw(&b, S(",\"livemode\":false,\"managed_payments\":{\"enabled\":false},\"metadata\":"),
               p->metadata);
    put_next_action(w, &b, p);
    sb_put_expanded(&b, S(",\"on_behalf_of\":null,\"payment_method\":"), p->payment_method, method);
    put_intent_tail(w, &b, p);
    return work_text_of(w, &b);
}

/* --- refunds --- */

static struct str whole_charge(struct work *w, const struct refund *r, unsigned expand)
{
    struct charge c;

    if (!(expand & EXPAND_CHARGE) || !work_ok(w, sb_charge_read(w->tx, r->charge, &c)))
        return (struct str){ 0 };
    return sb_charge_json(w, &c, 0);
}

static struct str whole_intent(struct work *w, const struct refund *r, unsigned expand)
{
    struct intent p;

    if (!(expand & EXPAND_INTENT) || !work_ok(w, sb_intent_read(w->tx, r->intent, &p)))
        return (struct str){ 0 };
    return sb_intent_json(w, &p, 0);
}

static void put_refund_failure(struct work *w, struct buf *b, const struct refund *r)
{
    if (r->failure_reason.n)
        sb_put_text(b, S(",\"failure_reason\":"), r->failure_reason);
    if (r->returned_ms)
        sb_put_text(b, S(",\"failure_balance_transaction\":"), sb_id_balance(w, r->id, true));
}

/* Stripe asks the customer for an account by mail. */
static void put_refund_action(struct buf *b, const struct refund *r, const struct method *m)
{
    static const char *const path[] = { "email" };
    int64_t until_ms = r->created_ms + LIMIT_SANDBOX_REFUND_DAYS * INT64_C(86400000);
    struct json_value v;
    struct str email = S("");

    if (m->billing.n && !json_pick(m->billing, path, 1, &v, NULL) && v.type == JSON_STRING)
        email = v.raw;
    sb_put_text(b, S(",\"instructions_email\":"), email);
    if (!str_eq(r->status, S("requires_action")))
        return;
    sb_put_time(b, S(",\"next_action\":{\"display_details\":{\"email_sent\":{\"email_sent_at\":"),
                r->created_ms);
    sb_put_text(b, S(",\"email_sent_to\":"), email);
    sb_put_time(b, S("},\"expires_at\":"), until_ms);
    buf_add(b, S("},\"type\":\"display_details\"}"));
}

static struct method refund_method(struct work *w, const struct refund *r)
{
    struct method m = { 0 };
    enum err e = sb_method_read(w->tx, r->payment_method, &m);

    if (e && e != ERR_NOT_FOUND)
        work_ok(w, e);
    return e ? (struct method){ 0 } : m;
}

struct str sb_refund_json(struct work *w, const struct refund *r, unsigned expand)
{
    struct str charge = whole_charge(w, r, expand), intent = whole_intent(w, r, expand);
    struct method m = refund_method(w, r);
    struct str balance = { 0 };
    struct buf b;

    if (expand & EXPAND_BALANCE)
        balance = sb_refund_balance_json(w, r, false);
    sb_render_begin(&b, S("{"));
    sb_put_text(&b, S("\"id\":"), r->id);
    sb_put_number(&b, S(",\"object\":\"refund\",\"amount\":"), r->amount);
    sb_put_expanded(&b, S(",\"balance_transaction\":"), sb_id_balance(w, r->id, false), balance);
    sb_put_expanded(&b, S(",\"charge\":"), r->charge, charge);
    sb_put_time(&b, S(",\"created\":"), r->created_ms);
    sb_put_text(&b, S(",\"currency\":"), r->currency);
    buf_add(&b, S(",\"customer\":null,\"customer_account\":null,\"destination_details\":"));
    sb_put_destination(&b, method_type_of(m.card)->name);
    put_refund_failure(w, &b, r);
    if (str_eq(m.card, S("konbini")))
        put_refund_action(&b, r, &m);
    sb_put_raw(&b, S(",\"metadata\":"), r->metadata);
    sb_put_expanded(&b, S(",\"payment_intent\":"), r->intent, intent);
    sb_put_text(&b, S(",\"payment_method\":"), r->payment_method);
    sb_put_text(&b, S(",\"reason\":"), r->reason);
    sb_put_text(&b, S(",\"receipt_number\":null,\"source_transfer_reversal\":null,\"status\":"),
                r->status);
    buf_add(&b, S(",\"transfer_reversal\":null}"));
    return work_text_of(w, &b);
}

/* --- payment methods --- */

static void put_method_card(struct buf *b, const struct method *m, const struct card *card)
{
    buf_add(b, S(",\"card\":{\"brand\":"));
    sb_put_card(b, card, m->exp_month, m->exp_year);
    sb_put_text(b, S(",\"display_brand\":"), str_of(card->brand));
    buf_add(b, S(",\"generated_from\":null,\"networks\":{\"available\":["));
    buf_json(b, str_of(card->brand));
    buf_add(b, S("],\"preferred\":null},\"regulated_status\":\"unregulated\","
                 "\"three_d_secure_usage\":{\"supported\":true},\"wallet\":null}"));
}

struct str sb_method_json(struct work *w, const struct method *m)
{
    const struct card *card = card_by_name(m->card);
    const char *type = card_type(card);
    bool is_card = !card->type;
    struct buf b;

    sb_render_begin(&b, S("{"));
    sb_put_text(&b, S("\"id\":"), m->id);
    sb_put_raw(&b,
               S(",\"object\":\"payment_method\",\"allow_redisplay\":\"unspecified\","
                 "\"billing_details\":"),
               m->billing.n ? m->billing : S(NO_BILLING));
    if (is_card)
        put_method_card(&b, m, card);
    sb_put_time(&b, S(",\"created\":"), m->created_ms);
    sb_put_text(&b, S(",\"customer\":"), m->customer);
    buf_add(&b, S(",\"customer_account\":null"));
    if (!is_card)
        sb_put_method_of(&b, m, type);
    sb_put_raw(&b, S(",\"livemode\":false,\"metadata\":"), m->metadata);
    sb_put_text(&b, S(",\"type\":"), str_of(type));
    buf_char(&b, '}');
    return work_text_of(w, &b);
}
