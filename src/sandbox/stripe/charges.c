/* charges.c - reading charges and balance transactions. */
#include "base/limits.h"
#include "sandbox/stripe/call.h"

static const struct expansion expansions[] = {
    { "balance_transaction", EXPAND_BALANCE },
    { "refunds", EXPAND_REFUNDS },
};

void charge_retrieve(struct stripe_call *v)
{
    unsigned expand = param_expand(v, expansions, COUNT(expansions));
    struct charge c;
    enum err e = sb_charge_read(v->w.tx, v->id, &c);

    if (e == ERR_NOT_FOUND)
        stripe_reject_missing(v, 404, "charge", v->id, "id");
    else if (work_ok(&v->w, e))
        stripe_answer(v, sb_charge_json(&v->w, &c, expand));
}

static bool take_bounds(struct stripe_call *v, struct list_page *page)
{
    struct param intent;
    struct str stem;

    if (!param_text(v, "payment_intent", LIMIT_SANDBOX_TEXT, &intent))
        return false;
    *page = (struct list_page){ .above = S("ch_"), .below = S("ch_~") };
    if (intent.text.n) {
        stem = sb_id_stem(intent.text);
        page->above = work_text(&v->w, "ch_" STR_FMT, STR_ARG(stem));
        page->below = work_text(&v->w, "ch_" STR_FMT "~", STR_ARG(stem));
    }
    return !v->w.err && param_page(v, page);
}

void charge_list(struct stripe_call *v)
{
    unsigned expand = param_expand(v, expansions, COUNT(expansions));
    struct charge *c = NULL;
    struct str *objects;
    struct list_page page;

    if (!take_bounds(v, &page) || !sb_charge_page(&v->w, &page, &c))
        return;
    objects = stripe_list_objects(v, page.count);
    if (!objects)
        return;
    for (size_t i = 0; i < page.count; i++)
        objects[i] = sb_charge_json(&v->w, &c[i], expand);
    stripe_answer_list(v, "/v1/charges", &page, objects);
}

/* --- balance transactions: a charge or a refund seen from the balance --- */

static bool answer_charge_balance(struct stripe_call *v, struct str rest)
{
    struct charge c;
    enum err e = sb_charge_read(v->w.tx, work_text(&v->w, "ch_" STR_FMT, STR_ARG(rest)), &c);

    if (e == ERR_NOT_FOUND || (!e && !c.balanced_ms))
        return false;
    if (work_ok(&v->w, e))
        stripe_answer(v, sb_charge_balance_json(&v->w, &c));
    return true;
}

static bool answer_refund_balance(struct stripe_call *v, struct str rest, bool returned)
{
    struct refund r;
    enum err e = sb_refund_read(v->w.tx, work_text(&v->w, "re_" STR_FMT, STR_ARG(rest)), &r);

    if (e == ERR_NOT_FOUND || (!e && returned && !r.returned_ms))
        return false;
    if (work_ok(&v->w, e))
        stripe_answer(v, sb_refund_balance_json(&v->w, &r, returned));
    return true;
}

void balance_retrieve(struct stripe_call *v)
{
    struct str rest = v->id;
    bool ours = str_eq(str_cut(&rest, '_'), S("txn")) && rest.n < 100;
    bool returned = ours && str_starts(rest, S("returned_"));

    if (returned)
        str_cut(&rest, '_');
    if (ours &&
        ((!returned && answer_charge_balance(v, rest)) || answer_refund_balance(v, rest, returned)))
        return;
    if (!v->w.err)
        stripe_reject_missing(v, 404, "balance transaction", v->id, "id");
}
