/* voucher.c - what a konbini payment adds to the JSON of intents, charges and payment methods. */
#include "base/limits.h"
#include "sandbox/stripe/checkout.h"
#include "sandbox/stripe/render/render.h"

const struct str sb_stores[] = {
    { "familymart", 10 }, { "lawson", 6 }, { "ministop", 8 }, { "seicomart", 9 }
};
const size_t sb_store_count = COUNT(sb_stores);

/* An intent without special options has no row. */
static bool voucher_of(struct work *w, struct str intent, struct voucher *ret)
{
    enum err e = sb_voucher_read(w->tx, intent, ret);

    *ret = e ? (struct voucher){ 0 } : *ret;
    return e == ERR_NOT_FOUND || work_ok(w, e);
}

void sb_put_voucher(struct work *w, struct buf *b, const struct intent *p)
{
    struct voucher v;

    if (!voucher_of(w, p->id, &v))
        return;
    sb_put_time(b, S(",\"next_action\":{\"konbini_display_details\":{\"expires_at\":"),
                v.shown_until_ms);
    sb_put_text(b, S(",\"hosted_voucher_url\":"), sb_voucher_url(w, p->id));
    buf_add(b, S(",\"stores\":{"));
    for (size_t i = 0; i < sb_store_count; i++) {
        buf_add(b, i ? S(",") : S(""));
        buf_json(b, sb_stores[i]);
        sb_put_text(b, S(":{\"confirmation_number\":"), v.number);
        sb_put_text(b, S(",\"payment_code\":"), v.code);
        buf_char(b, '}');
    }
    buf_add(b, S("}},\"type\":\"konbini_display_details\"}"));
}

void sb_put_voucher_options(struct work *w, struct buf *b, const struct intent *p)
{
    struct voucher v;

    if (!voucher_of(w, p->id, &v))
        return;
    sb_put_text(b, S("\"konbini\":{\"confirmation_number\":"), v.confirmation_number);
    buf_add(b, S(",\"expires_after_days\":"));
    if (v.expires_after_days)
        buf_i64(b, v.expires_after_days);
    else
        buf_add(b, S("null"));
    sb_put_time(b, S(",\"expires_at\":"), v.asked_until_ms);
    sb_put_text(b, S(",\"product_description\":"), v.product_description);
    buf_add(b, S(",\"setup_future_usage\":\"none\"}"));
}

void sb_put_voucher_paid(struct work *w, struct buf *b, const struct charge *c)
{
    struct voucher v;

    if (!voucher_of(w, c->intent, &v))
        return;
    buf_add(b, S(",\"payment_method_details\":{\"konbini\":{\"store\":"));
    if (v.store.n) {
        sb_put_text(b, S("{\"chain\":"), v.store);
        buf_char(b, '}');
    } else {
        buf_add(b, S("null"));
    }
    buf_add(b, S("},\"type\":\"konbini\"}"));
}

struct str sb_billing_text(struct work *w, struct str method)
{
    struct method m;
    enum err e = sb_method_read(w->tx, method, &m);

    if (e == ERR_NOT_FOUND || !work_ok(w, e) || !m.billing.n)
        return S(NO_BILLING);
    return m.billing;
}
