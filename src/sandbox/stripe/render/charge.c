/* charge.c - charges as JSON, and the balance transactions that are computed from a charge or a
 * refund. */
#include "sandbox/stripe/customers.h"
#include "sandbox/stripe/render/render.h"

enum { FEE_PER_MILLE = 36, EXP_MONTH = 12, EXP_YEAR = 2034 };

void sb_put_card(struct buf *b, const struct card *c, int64_t exp_month, int64_t exp_year)
{
    struct str last4 = str_of(c->number);

    last4 = (struct str){ last4.p + last4.n - 4, 4 };
    buf_json(b, str_of(c->brand));
    buf_add(b, S(",\"checks\":{\"address_line1_check\":null,\"address_postal_code_check\":null,"
                 "\"cvc_check\":\"pass\"}"));
    sb_put_text(b, S(",\"country\":"), str_of(c->country));
    sb_put_number(b, S(",\"exp_month\":"), exp_month);
    sb_put_number(b, S(",\"exp_year\":"), exp_year);
    buf_add(b, S(",\"fingerprint\":\"Sandbox00000"));
    buf_add(b, last4);
    sb_put_text(b, S("\",\"funding\":"), str_of(c->funding));
    sb_put_text(b, S(",\"last4\":"), last4);
}

static bool is_card(const struct charge *c)
{
    return !card_by_name(c->card)->type;
}

static bool has_failed(const struct charge *c)
{
    return c->failure_code.n > 0;
}

/* --- outcome --- */

static void put_outcome(struct buf *b, const struct charge *c, const struct card *card)
{
    struct str reason = c->decline_code.n ? c->decline_code : c->failure_code;

    if (!has_failed(c)) {
        buf_add(b, S(",\"outcome\":{\"advice_code\":null,\"network_advice_code\":null,"
                     "\"network_decline_code\":null,\"network_status\":\"approved_by_network\","
                     "\"reason\":null,\"risk_level\":\"normal\",\"risk_score\":20,"
                     "\"seller_message\":\"Payment complete.\",\"type\":\"authorized\"}"));
        return;
    }
    if (card->outcome == CARD_BLOCKED) {
        buf_add(b, S(",\"outcome\":{\"advice_code\":null,\"network_advice_code\":null,"
                     "\"network_decline_code\":null,\"network_status\":\"not_sent_to_network\","
                     "\"reason\":\"highest_risk_level\",\"risk_level\":\"highest\","
                     "\"risk_score\":90,\"seller_message\":\"Stripe blocked this payment as too "
                     "risky.\",\"type\":\"blocked\"}"));
        return;
    }
    sb_put_text(b,
                S(",\"outcome\":{\"advice_code\":\"try_again_later\",\"network_advice_code\":null,"
                  "\"network_decline_code\":null,\"network_status\":\"declined_by_network\","
                  "\"reason\":"),
                reason);
    buf_add(b, S(",\"risk_level\":\"normal\",\"risk_score\":20,\"seller_message\":\"The bank did "
                 "not return any further details with this decline.\",\"type\":"
                 "\"issuer_declined\"}"));
}

/* --- the card it was paid with --- */

static void put_details(struct buf *b, const struct charge *c, const struct card *card)
{
    sb_put_number(b, S(",\"payment_method_details\":{\"card\":{\"amount_authorized\":"),
                  has_failed(c) ? 0 : c->amount);
    sb_put_text(b, S(",\"authorization_code\":"), has_failed(c) ? S("") : S("123456"));
    buf_add(b, S(",\"brand\":"));
    sb_put_card(b, card, EXP_MONTH, EXP_YEAR);
    if (c->capture_before_ms && !c->captured)
        sb_put_time(b, S(",\"capture_before\":"), c->capture_before_ms);
    buf_add(b, S(",\"extended_authorization\":{\"status\":\"disabled\"},"
                 "\"incremental_authorization\":{\"status\":\"unavailable\"},"
                 "\"installments\":null,\"mandate\":null,\"multicapture\":{\"status\":"
                 "\"unavailable\"}"));
    sb_put_text(b, S(",\"network\":"), str_of(card->brand));
    buf_add(b, S(",\"network_token\":{\"used\":false},\"network_transaction_id\":"
                 "\"104102978678771\""));
    sb_put_number(b, S(",\"overcapture\":{\"maximum_amount_capturable\":"), c->amount);
    buf_add(b, S(",\"status\":\"unavailable\"},\"regulated_status\":\"unregulated\""));
    buf_add(b, c->authenticated
                   ? S(",\"three_d_secure\":{\"authentication_flow\":\"challenge\","
                       "\"electronic_commerce_indicator\":\"05\",\"exemption_indicator\":null,"
                       "\"result\":\"authenticated\",\"result_reason\":null,\"transaction_id\":"
                       "\"00000000-0000-4000-8000-000000000000\",\"version\":\"2.2.0\"}")
                   : S(",\"three_d_secure\":null"));
    buf_add(b, S(",\"wallet\":null},\"type\":\"card\"}"));
}

/* --- the charge --- */

static struct str charge_failure_message(const struct charge *c)
{
    if (card_by_name(c->card)->outcome == CARD_DEBIT && !c->decline_code.n)
        return S("The account has insufficient funds.");
    return decline_of(c->decline_code.n ? c->decline_code : c->failure_code).message;
}

static void put_head(struct work *w, struct buf *b, const struct charge *c, struct str balance)
{
    sb_put_text(b, S("\"id\":"), c->id);
    sb_put_number(b, S(",\"object\":\"charge\",\"amount\":"), c->amount);
    sb_put_number(b, S(",\"amount_captured\":"), c->amount_captured);
    sb_put_number(b, S(",\"amount_refunded\":"), c->amount_refunded);
    sb_put_expanded(b,
                    S(",\"application\":null,\"application_fee\":null,"
                      "\"application_fee_amount\":null,\"balance_transaction\":"),
                    c->balanced_ms ? sb_id_balance(w, c->id, false) : S(""), balance);
    sb_put_raw(b, S(",\"billing_details\":"),
               is_card(c) ? S(NO_BILLING) : sb_billing_text(w, c->payment_method));
    buf_add(b, S(",\"calculated_statement_descriptor\":\"ICHIDO SANDBOX\""));
    sb_put_bool(b, S(",\"captured\":"), c->captured);
    sb_put_time(b, S(",\"created\":"), c->created_ms);
    sb_put_text(b, S(",\"currency\":"), c->currency);
    sb_put_text(b, S(",\"customer\":"), c->customer);
    sb_put_text(b, S(",\"description\":"), c->description);
    sb_put_text(b, S(",\"destination\":null,\"dispute\":"), c->dispute);
    sb_put_bool(b, S(",\"disputed\":"), c->dispute.n > 0);
    sb_put_text(b, S(",\"failure_balance_transaction\":null,\"failure_code\":"), c->failure_code);
    sb_put_text(b, S(",\"failure_message\":"), has_failed(c) ? charge_failure_message(c) : S(""));
}

static void put_receipt(struct buf *b, const struct charge *c)
{
    if (has_failed(c)) {
        buf_add(b, S(",\"receipt_url\":null"));
        return;
    }
    buf_add(b, S(",\"receipt_url\":\"https://pay.stripe.com/receipts/payment/"));
    buf_add(b, c->id);
    buf_char(b, '"');
}

static void put_tail(struct buf *b, const struct charge *c, struct str refunds)
{
    sb_put_text(b, S(",\"radar_options\":{},\"receipt_email\":"), c->receipt_email);
    buf_add(b, S(",\"receipt_number\":null"));
    put_receipt(b, c);
    sb_put_bool(b, S(",\"refunded\":"),
                c->amount_captured > 0 && c->amount_refunded == c->amount_captured);
    if (refunds.n)
        sb_put_raw(b, S(",\"refunds\":"), refunds);
    sb_put_raw(b, S(",\"review\":null,\"shipping\":"), c->shipping);
    sb_put_text(b, S(",\"source\":null,\"source_transfer\":null,\"statement_descriptor\":"),
                c->statement_descriptor);
    sb_put_text(b, S(",\"statement_descriptor_suffix\":"), c->descriptor_suffix);
    sb_put_text(b, S(",\"status\":"), c->status);
    sb_put_text(b, S(",\"transfer_data\":null,\"transfer_group\":"), c->transfer_group);
    buf_char(b, '}');
}

static struct str refunds_of(struct work *w, const struct charge *c)
{
    struct str stem = sb_id_stem(c->id);
    struct list_page p = { .above = work_text(w, "re_" STR_FMT, STR_ARG(stem)),
                           .below = work_text(w, "re_" STR_FMT "~", STR_ARG(stem)),
                           .limit = 10 };
    struct refund *r = NULL;
    struct buf b;
    bool first = true;

    sb_render_begin(&b, S("{\"object\":\"list\",\"data\":["));
    if (sb_refund_page(w, &p, true, &r))
        for (size_t i = 0; i < p.count; i++) {
            if (!str_eq(r[i].charge, c->id))
                continue;
            buf_add(&b, first ? S("") : S(","));
            buf_add(&b, sb_refund_json(w, &r[i], 0));
            first = false;
        }
    sb_put_bool(&b, S("],\"has_more\":"), p.more);
    buf_add(&b, S(",\"url\":\"/v1/charges/"));
    buf_add(&b, c->id);
    buf_add(&b, S("/refunds\"}"));
    return work_text_of(w, &b);
}

struct str sb_charge_json(struct work *w, const struct charge *c, unsigned expand)
{
    const struct card *card = card_by_name(c->card);
    struct str balance = { 0 }, refunds = { 0 };
    struct buf b;

    if ((expand & EXPAND_BALANCE) && c->balanced_ms)
        balance = sb_charge_balance_json(w, c);
    if (expand & EXPAND_REFUNDS)
        refunds = refunds_of(w, c);
    sb_render_begin(&b, S("{"));
    put_head(w, &b, c, balance);
    sb_put_raw(&b, S(",\"fraud_details\":{},\"livemode\":false,\"metadata\":"), c->metadata);
    buf_add(&b, S(",\"on_behalf_of\":null,\"order\":null"));
    put_outcome(&b, c, card);
    sb_put_bool(&b, S(",\"paid\":"), str_eq(c->status, S("succeeded")));
    sb_put_text(&b, S(",\"payment_intent\":"), c->intent);
    sb_put_text(&b, S(",\"payment_method\":"), c->payment_method);
    if (is_card(c))
        put_details(&b, c, card);
    else if (card->outcome == CARD_VOUCHER)
        sb_put_voucher_paid(w, &b, c);
    else
        sb_put_paid_by(w, &b, c, card->type);
    put_tail(&b, c, refunds);
    return work_text_of(w, &b);
}

/* --- balance transactions --- */

struct movement {
    struct str id, source, currency;
    const char *type, *category, *description;
    int64_t at_ms, amount, fee;
};

static struct str movement_json(struct work *w, const struct movement *m)
{
    struct buf b;

    sb_render_begin(&b, S("{"));
    sb_put_text(&b, S("\"id\":"), m->id);
    sb_put_number(&b, S(",\"object\":\"balance_transaction\",\"amount\":"), m->amount);
    sb_put_time(&b, S(",\"available_on\":"), m->at_ms);
    sb_put_time(&b, S(",\"balance_type\":\"payments\",\"created\":"), m->at_ms);
    sb_put_text(&b, S(",\"currency\":"), m->currency);
    sb_put_text(&b, S(",\"description\":"), str_of(m->description));
    sb_put_number(&b, S(",\"exchange_rate\":null,\"fee\":"), m->fee);
    buf_add(&b, S(",\"fee_details\":["));
    if (m->fee) {
        sb_put_number(&b, S("{\"amount\":"), m->fee);
        sb_put_text(&b, S(",\"application\":null,\"currency\":"), m->currency);
        buf_add(&b, S(",\"description\":\"Stripe processing fees\",\"type\":\"stripe_fee\"}"));
    }
    sb_put_number(&b, S("],\"net\":"), m->amount - m->fee);
    sb_put_text(&b, S(",\"reporting_category\":"), str_of(m->category));
    sb_put_text(&b, S(",\"source\":"), m->source);
    sb_put_text(&b, S(",\"status\":\"available\",\"type\":"), str_of(m->type));
    buf_char(&b, '}');
    return work_text_of(w, &b);
}

struct str sb_charge_balance_json(struct work *w, const struct charge *c)
{
    struct movement m = {
        .id = sb_id_balance(w, c->id, false),
        .source = c->id,
        .currency = c->currency,
        .type = "charge",
        .category = "charge",
        .at_ms = c->balanced_ms,
        .amount = c->amount_captured,
        .fee = (c->amount_captured * FEE_PER_MILLE + 500) / 1000,
    };

    return movement_json(w, &m);
}

struct str sb_refund_balance_json(struct work *w, const struct refund *r, bool returned)
{
    struct movement m = {
        .id = sb_id_balance(w, r->id, returned),
        .source = r->id,
        .currency = r->currency,
        .type = returned ? "refund_failure" : "refund",
        .category = returned ? "refund_failure" : "refund",
        .description = returned ? "REFUND FAILURE" : "REFUND FOR CHARGE",
        .at_ms = returned ? r->returned_ms : r->created_ms,
        .amount = returned ? r->amount : -r->amount,
    };

    return movement_json(w, &m);
}
