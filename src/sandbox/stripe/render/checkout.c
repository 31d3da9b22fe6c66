/* checkout.c - products, prices, sessions and disputes as JSON. */
#include "sandbox/stripe/checkout.h"

#include "base/limits.h"
#include "sandbox/impl.h"
#include "sandbox/stripe/render/render.h"

/* --- products and prices --- */

struct str sb_product_json(struct work *w, const struct product *p)
{
    struct buf b;

    sb_render_begin(&b, S("{"));
    sb_put_text(&b, S("\"id\":"), p->id);
    sb_put_bool(&b, S(",\"object\":\"product\",\"active\":"), p->active);
    sb_put_time(&b, S(",\"created\":"), p->created_ms);
    sb_put_text(&b, S(",\"default_price\":null,\"description\":"), p->description);
    sb_put_raw(&b, S(",\"images\":[],\"livemode\":false,\"marketing_features\":[],\"metadata\":"),
               p->metadata);
    sb_put_text(&b, S(",\"name\":"), p->name);
    sb_put_time(&b,
                S(",\"package_dimensions\":null,\"shippable\":null,\"statement_descriptor\":null,"
                  "\"tax_code\":null,\"type\":\"service\",\"unit_label\":null,\"updated\":"),
                p->created_ms);
    buf_add(&b, S(",\"url\":null}"));
    return work_text_of(w, &b);
}

static struct str whole_product(struct work *w, const struct price *p, unsigned expand)
{
    struct product product;

    if (!(expand & EXPAND_PRODUCT) || !work_ok(w, sb_product_read(w->tx, p->product, &product)))
        return (struct str){ 0 };
    return sb_product_json(w, &product);
}

struct str sb_price_json(struct work *w, const struct price *p, unsigned expand)
{
    struct str product = whole_product(w, p, expand);
    struct buf b;

    sb_render_begin(&b, S("{"));
    sb_put_text(&b, S("\"id\":"), p->id);
    sb_put_bool(&b, S(",\"object\":\"price\",\"active\":"), p->active);
    sb_put_time(&b, S(",\"billing_scheme\":\"per_unit\",\"created\":"), p->created_ms);
    sb_put_text(&b, S(",\"currency\":"), p->currency);
    sb_put_raw(&b,
               S(",\"custom_unit_amount\":null,\"livemode\":false,\"lookup_key\":null,"
                 "\"metadata\":"),
               p->metadata);
    sb_put_text(&b, S(",\"nickname\":"), p->nickname);
    sb_put_expanded(&b, S(",\"product\":"), p->product, product);
    sb_put_number(&b,
                  S(",\"recurring\":null,\"tax_behavior\":\"unspecified\",\"tiers_mode\":null,"
                    "\"transform_quantity\":null,\"type\":\"one_time\",\"unit_amount\":"),
                  p->unit_amount);
    sb_put_number(&b, S(",\"unit_amount_decimal\":\""), p->unit_amount);
    buf_add(&b, S("\"}"));
    return work_text_of(w, &b);
}

/* --- lines --- */

static void put_item(struct work *w, struct buf *b, const struct item *i)
{
    struct price p = { 0 };

    if (!work_ok(w, sb_price_read(w->tx, i->price, &p)))
        return;
    sb_put_text(b, S("{\"id\":"), i->id);
    sb_put_number(b, S(",\"object\":\"item\",\"amount_discount\":0,\"amount_subtotal\":"),
                  i->amount);
    sb_put_number(b, S(",\"amount_tax\":0,\"amount_total\":"), i->amount);
    sb_put_text(b, S(",\"currency\":"), i->currency);
    sb_put_text(b, S(",\"description\":"), i->description);
    sb_put_raw(b, S(",\"metadata\":{},\"price\":"), sb_price_json(w, &p, 0));
    sb_put_number(b, S(",\"quantity\":"), i->quantity);
    buf_char(b, '}');
}

struct str sb_items_json(struct work *w, struct str session)
{
    struct item *items = NULL;
    size_t count = 0;
    struct buf b;

    sb_items_of(w, session, &items, &count);
    sb_render_begin(&b, S("{\"object\":\"list\",\"data\":["));
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_char(&b, ',');
        put_item(w, &b, &items[i]);
    }
    buf_add(&b, S("],\"has_more\":false,\"url\":\"/v1/checkout/sessions/"));
    buf_add(&b, session);
    buf_add(&b, S("/line_items\"}"));
    return work_text_of(w, &b);
}

/* --- sessions --- */

struct str sb_session_url(struct work *w, const struct session *s)
{
    return work_text(w, "http://%s/_sandbox/checkout/" STR_FMT, impl_of(w->s)->address,
                     STR_ARG(s->id));
}

static struct str session_intent(struct work *w, const struct session *s, unsigned expand)
{
    struct intent p;

    if (!(expand & EXPAND_INTENT) || !s->intent.n ||
        !work_ok(w, sb_intent_read(w->tx, s->intent, &p)))
        return (struct str){ 0 };
    return sb_intent_json(w, &p, expand & (EXPAND_CHARGE | EXPAND_BALANCE));
}

static void put_session_head(struct buf *b, const struct session *s)
{
    sb_put_text(b, S("\"id\":"), s->id);
    sb_put_number(b,
                  S(",\"object\":\"checkout.session\",\"adaptive_pricing\":null,"
                    "\"after_expiration\":null,\"allow_promotion_codes\":null,"
                    "\"amount_subtotal\":"),
                  s->amount);
    sb_put_number(b, S(",\"amount_total\":"), s->amount);
    sb_put_text(b,
                S(",\"automatic_tax\":{\"enabled\":false,\"liability\":null,\"provider\":null,"
                  "\"status\":null},\"billing_address_collection\":null,\"cancel_url\":"),
                s->cancel_url);
    sb_put_text(b, S(",\"client_reference_id\":"), s->client_reference);
    sb_put_time(b,
                S(",\"client_secret\":null,\"collected_information\":null,\"consent\":null,"
                  "\"consent_collection\":null,\"created\":"),
                s->created_ms);
    sb_put_text(b, S(",\"currency\":"), s->currency);
    sb_put_text(b,
                S(",\"currency_conversion\":null,\"custom_fields\":[],\"custom_text\":{"
                  "\"after_submit\":null,\"shipping_address\":null,\"submit\":null,"
                  "\"terms_of_service_acceptance\":null},\"customer\":"),
                s->customer);
}

static void put_payer(struct buf *b, const struct session *s)
{
    struct str email = s->payer_email.n ? s->payer_email : s->customer_email;

    buf_add(b, S(",\"customer_account\":null,\"customer_creation\":\"if_required\","
                 "\"customer_details\":"));
    if (email.n || str_eq(s->status, S("complete"))) {
        sb_put_text(b, S("{\"address\":null,\"email\":"), email);
        buf_add(b, S(",\"name\":null,\"phone\":null,\"tax_exempt\":\"none\",\"tax_ids\":null}"));
    } else {
        buf_add(b, S("null"));
    }
    sb_put_text(b, S(",\"customer_email\":"), s->customer_email);
}

static void put_session_terms(struct buf *b, const struct session *s)
{
    sb_put_time(b, S(",\"discounts\":[],\"expires_at\":"), s->expires_ms);
    sb_put_raw(b,
               S(",\"invoice\":null,\"invoice_creation\":{\"enabled\":false,\"invoice_data\":{"
                 "\"account_tax_ids\":null,\"custom_fields\":null,\"description\":null,"
                 "\"footer\":null,\"issuer\":null,\"metadata\":{},\"rendering_options\":null}},"
                 "\"livemode\":false,\"locale\":null,\"metadata\":"),
               s->metadata);
    buf_add(b, S(",\"mode\":\"payment\",\"origin_context\":null"));
}

static void put_session_tail(struct work *w, struct buf *b, const struct session *s)
{
    sb_put_raw(b,
               S(",\"payment_link\":null,\"payment_method_collection\":\"if_required\","
                 "\"payment_method_configuration_details\":null,\"payment_method_options\":{},"
                 "\"payment_method_types\":"),
               s->method_types);
    sb_put_text(b, S(",\"payment_status\":"), s->payment_status);
    sb_put_text(b,
                S(",\"permissions\":null,\"phone_number_collection\":{\"enabled\":false},"
                  "\"recovered_from\":null,\"saved_payment_method_options\":null,"
                  "\"setup_intent\":null,\"shipping_address_collection\":null,"
                  "\"shipping_cost\":null,\"shipping_options\":[],\"status\":"),
                s->status);
    sb_put_text(b, S(",\"submit_type\":null,\"subscription\":null,\"success_url\":"),
                s->success_url);
    sb_put_text(b,
                S(",\"total_details\":{\"amount_discount\":0,\"amount_shipping\":0,"
                  "\"amount_tax\":0},\"ui_mode\":\"hosted\",\"url\":"),
                str_eq(s->status, S("open")) ? sb_session_url(w, s) : S(""));
    buf_add(b, S(",\"wallet_options\":null}"));
}

struct str sb_session_json(struct work *w, const struct session *s, unsigned expand)
{
    struct str intent = session_intent(w, s, expand);
    struct buf b;

    sb_render_begin(&b, S("{"));
    put_session_head(&b, s);
    put_payer(&b, s);
    put_session_terms(&b, s);
    if (expand & EXPAND_ITEMS)
        sb_put_raw(&b, S(",\"line_items\":"), sb_items_json(w, s->id));
    sb_put_expanded(&b, S(",\"payment_intent\":"), s->intent, intent);
    put_session_tail(w, &b, s);
    return work_text_of(w, &b);
}

/* --- disputes --- */

enum { EVIDENCE_MS = 7 * 24 * 3600 * 1000 };

static struct str disputed_charge(struct work *w, const struct dispute *d, unsigned expand)
{
    struct charge c;

    if (!(expand & EXPAND_CHARGE) || !work_ok(w, sb_charge_read(w->tx, d->charge, &c)))
        return (struct str){ 0 };
    return sb_charge_json(w, &c, 0);
}

struct str sb_dispute_json(struct work *w, const struct dispute *d, unsigned expand)
{
    struct str charge = disputed_charge(w, d, expand);
    struct buf b;

    sb_render_begin(&b, S("{"));
    sb_put_text(&b, S("\"id\":"), d->id);
    sb_put_number(&b, S(",\"object\":\"dispute\",\"amount\":"), d->amount);
    sb_put_expanded(&b, S(",\"balance_transaction\":null,\"balance_transactions\":[],\"charge\":"),
                    d->charge, charge);
    sb_put_time(&b, S(",\"created\":"), d->created_ms);
    sb_put_text(&b, S(",\"currency\":"), d->currency);
    sb_put_time(&b,
                S(",\"enhanced_eligibility_types\":[],\"evidence\":{},\"evidence_details\":{"
                  "\"due_by\":"),
                d->created_ms + EVIDENCE_MS);
    sb_put_bool(&b,
                S(",\"enhanced_eligibility\":{},\"has_evidence\":false,\"past_due\":false,"
                  "\"submission_count\":0},\"intended_submission_method\":\"manual\","
                  "\"is_charge_refundable\":"),
                str_starts(d->status, S("warning_")));
    sb_put_raw(&b, S(",\"livemode\":false,\"metadata\":"), d->metadata);
    sb_put_text(&b, S(",\"payment_intent\":"), d->intent);
    sb_put_text(&b,
                S(",\"payment_method_details\":{\"card\":{\"brand\":\"visa\",\"case_type\":"
                  "\"chargeback\",\"network_reason_code\":\"83\"},\"type\":\"card\"},\"reason\":"),
                d->reason);
    sb_put_text(&b, S(",\"status\":"), d->status);
    buf_char(&b, '}');
    return work_text_of(w, &b);
}
