/* params_money.c - parameters for the amount, the currency and the method types of an intent or a
 * Checkout Session. */
#include "base/limits.h"
#include "domain/money.h"
#include "sandbox/stripe/call.h"

bool param_within(struct stripe_call *v, const struct form *f,
                  bool (*take)(struct stripe_call *v, void *ctx), void *ctx)
{
    static const struct form nothing;
    struct form whole = v->form;
    bool ok;

    v->form = f ? *f : nothing;
    ok = take(v, ctx);
    v->form = whole;
    return ok;
}

bool check_amount(struct stripe_call *v, const char *param, int64_t amount)
{
    if (amount < 1)
        return stripe_reject_invalid(v, "parameter_invalid_integer", param,
                                     "This value must be greater than or equal to 1.");
    if (amount < LIMIT_SANDBOX_AMOUNT_LEAST)
        return stripe_reject_invalid(v, "amount_too_small", param,
                                     "Amount must be no less than %d.", LIMIT_SANDBOX_AMOUNT_LEAST);
    if (amount > LIMIT_SANDBOX_AMOUNT_MOST)
        return stripe_reject_invalid(v, "amount_too_large", param,
                                     "Amount must be no more than %d.", LIMIT_SANDBOX_AMOUNT_MOST);
    return true;
}

bool param_currency(struct stripe_call *v, struct str *currency)
{
    struct param t;
    char code[4];

    if (!param_text(v, "currency", LIMIT_SANDBOX_TEXT, &t))
        return false;
    if (!t.has)
        return stripe_reject_invalid(v, "parameter_missing", "currency",
                                     "Missing required param: currency.");
    if (!currency_parse(t.text, code))
        return stripe_reject_invalid(v, NULL, "currency", "Invalid currency: %.*s",
                                     (int)(t.text.n < 20 ? t.text.n : 20), t.text.p);
    *currency = work_text(&v->w, "%c%c%c", code[0] | 0x20, code[1] | 0x20, code[2] | 0x20);
    return !v->w.err;
}

/* Both spellings are accepted in every API version. */
bool param_method_types(struct stripe_call *v, struct str *types, bool *ret_has)
{
    const struct form *f = form_get(&v->form, S("payment_method_types"));
    struct buf b;

    if (!f)
        f = form_get(&v->form, S("allowed_payment_method_types"));
    *ret_has = f != NULL;
    if (!f)
        return true;
    if (!f->first)
        return stripe_reject_invalid(v, NULL, "payment_method_types", "Invalid array");
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    for (const struct form *x = f->first; x; x = x->next) {
        buf_char(&b, x == f->first ? '[' : ',');
        buf_json(&b, x->value);
    }
    buf_char(&b, ']');
    *types = work_text_of(&v->w, &b);
    return !v->w.err;
}
