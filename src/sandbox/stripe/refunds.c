/* refunds.c - refunds. The refunded amount of a charge is the sum of its refunds that are neither
 * failed nor cancelled, and never more than was captured. */
#include "base/limits.h"
#include "sandbox/stripe/call.h"
#include "sandbox/stripe/checkout.h"

static const struct expansion expansions[] = {
    { "charge", EXPAND_CHARGE },
    { "payment_intent", EXPAND_INTENT },
    { "balance_transaction", EXPAND_BALANCE },
};

static void answer_refund(struct stripe_call *v, const struct refund *r)
{
    stripe_answer(v, sb_refund_json(&v->w, r, param_expand(v, expansions, COUNT(expansions))));
}

/* --- the charge --- */

static bool read_charge(struct stripe_call *v, struct str id, const char *param, struct charge *ret)
{
    enum err e = sb_charge_read(v->w.tx, id, ret);

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 404, "charge", id, param);
    return work_ok(&v->w, e);
}

static bool reject_unpaid(struct stripe_call *v, struct str id)
{
    return stripe_reject(
        v, &(struct rejection){ .status = 400,
                                .type = "invalid_request_error",
                                .code = S("charge_not_refundable"),
                                .message = work_text(&v->w,
                                                     "This payment (" STR_FMT ") does not have a "
                                                     "successful charge to refund.",
                                                     STR_ARG(id)),
                                .began = true });
}

static bool charge_of_intent(struct stripe_call *v, struct str id, struct charge *ret)
{
    struct intent p;
    enum err e = sb_intent_read(v->w.tx, id, &p);

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 404, "payment_intent", id, "payment_intent");
    if (!work_ok(&v->w, e))
        return false;
    if (p.status != INTENT_SUCCEEDED)
        return reject_unpaid(v, id);
    return read_charge(v, p.latest_charge, "charge", ret);
}

static bool take_refundable_charge(struct stripe_call *v, struct charge *ret)
{
    struct param intent, charge;

    if (!param_text(v, "payment_intent", LIMIT_SANDBOX_TEXT, &intent) ||
        !param_text(v, "charge", LIMIT_SANDBOX_TEXT, &charge))
        return false;
    if (!intent.text.n && !charge.text.n)
        return stripe_reject_invalid(
            v, "parameter_missing", "payment_intent",
            "One of the following params should be provided for this request: "
            "payment_intent or charge.");
    if (intent.text.n && charge.text.n)
        return stripe_reject_invalid(v, "parameters_exclusive", "charge",
                                     "You may only specify one of these parameters: charge, "
                                     "payment_intent.");
    return intent.text.n ? charge_of_intent(v, intent.text, ret)
                         : read_charge(v, charge.text, "charge", ret);
}

/* A disputed charge cannot be refunded: the bank has the money, or will decide about it. An inquiry
 * is only a question. */
static bool is_undisputed(struct stripe_call *v, const struct charge *c)
{
    struct dispute d;

    if (!c->dispute.n)
        return true;
    if (!work_ok(&v->w, sb_dispute_read(v->w.tx, c->dispute, &d)))
        return false;
    if (str_eq(d.status, S("won")) || str_starts(d.status, S("warning_")))
        return true;
    return stripe_reject(
        v, &(struct rejection){ .status = 400,
                                .type = "invalid_request_error",
                                .code = S("charge_disputed"),
                                .message = work_text(&v->w,
                                                     "Charge " STR_FMT " has been charged back; "
                                                     "cannot issue a refund.",
                                                     STR_ARG(c->id)),
                                .charge = c->id,
                                .began = true });
}

/* --- the amount --- */

static bool reject_amount(struct stripe_call *v, int64_t asked, int64_t left)
{
    return stripe_reject(
        v, &(struct rejection){ .status = 400,
                                .type = "invalid_request_error",
                                .message = work_text(&v->w,
                                                     "Refund amount (%lld) is greater than "
                                                     "unrefunded amount on charge (%lld)",
                                                     (long long)asked, (long long)left),
                                .param = S("amount"),
                                .began = true });
}

static bool reject_refunded(struct stripe_call *v, const struct charge *c)
{
    return stripe_reject(
        v, &(struct rejection){ .status = 400,
                                .type = "invalid_request_error",
                                .code = S("charge_already_refunded"),
                                .message = work_text(&v->w,
                                                     "Charge " STR_FMT " has already been "
                                                     "refunded.",
                                                     STR_ARG(c->id)),
                                .charge = c->id,
                                .began = true });
}

static bool take_refund_amount(struct stripe_call *v, const struct charge *c, int64_t *ret_amount)
{
    int64_t left = c->amount_captured - c->amount_refunded;
    struct param t;

    if (!param_number(v, "amount", &t))
        return false;
    if (t.has && t.number < 1)
        return stripe_reject_invalid(v, "parameter_invalid_integer", "amount",
                                     "This value must be greater than or equal to 1.");
    if (!c->captured || !str_eq(c->status, S("succeeded")))
        return reject_unpaid(v, c->id);
    if (!left)
        return reject_refunded(v, c);
    *ret_amount = t.has ? t.number : left;
    return *ret_amount <= left || reject_amount(v, *ret_amount, left);
}

/* --- create --- */

static bool emit_refunded(struct stripe_call *v, const struct charge *c, int64_t before)
{
    bool whole = c->amount_refunded == c->amount_captured;

    return work_emit(&v->w, "charge.refunded", sb_charge_json(&v->w, c, 0),
                     work_text(&v->w,
                               whole ? "{\"amount_refunded\":%lld,\"refunded\":false}"
                                     : "{\"amount_refunded\":%lld}",
                               (long long)before));
}

/* What happens to the refund later: a test card that makes it fail, or a konbini customer who never
 * names an account. */
static bool schedule_end(struct work *w, const struct charge *c, const struct refund *r)
{
    const struct card *card = card_by_name(c->card);

    if (card->outcome == CARD_REFUND_FAILS)
        return work_add_message(w, sb_job_refund_fail, r->id,
                                w->now_ms + LIMIT_SANDBOX_REFUND_FAIL_MS);
    if (card->outcome == CARD_VOUCHER)
        return work_add_message(w, sb_job_refund_end, r->id,
                                w->now_ms + LIMIT_SANDBOX_REFUND_DAYS * INT64_C(86400000));
    return true;
}

static bool write_refund(struct stripe_call *v, struct charge *c, const struct refund *r)
{
    int64_t before = c->amount_refunded;

    c->amount_refunded += r->amount;
    return sb_refund_write(&v->w, r) && sb_charge_write(&v->w, c) &&
           work_emit(&v->w, "refund.created", sb_refund_json(&v->w, r, 0), S("")) &&
           emit_refunded(v, c, before) && schedule_end(&v->w, c, r);
}

void refund_create(struct stripe_call *v)
{
    struct refund r = { .created_ms = v->w.now_ms, .status = S("succeeded"), .metadata = S("{}") };
    struct charge c = { 0 };
    struct param reason;

    if (!param_choice(v, "reason", "duplicate|fraudulent|requested_by_customer", &reason) ||
        !param_metadata(v, &r.metadata) || !take_refundable_charge(v, &c) ||
        !is_undisputed(v, &c) || !take_refund_amount(v, &c, &r.amount))
        return;
    r.id = sb_id_under(&v->w, "re_", c.intent);
    r.charge = c.id;
    r.intent = c.intent;
    r.currency = c.currency;
    r.payment_method = c.payment_method;
    r.reason = reason.text;
    if (str_eq(c.card, S("konbini")))
        r.status = S("requires_action"); /* the customer must name an account first */
    if (write_refund(v, &c, &r))
        answer_refund(v, &r);
}

/* --- changes --- */

static bool emit_refund_updated(struct work *w, const struct refund *r, struct str previous)
{
    struct str object = sb_refund_json(w, r, 0);

    return work_emit(w, "refund.updated", object, previous) &&
           work_emit(w, "charge.refund.updated", object, previous);
}

static bool holds_money(struct str status)
{
    return !str_eq(status, S("failed")) && !str_eq(status, S("canceled"));
}

/* Returns the refund's amount to the charge. */
static bool restore_charge(struct work *w, struct refund *r)
{
    struct charge c;

    if (!work_ok(w, sb_charge_read(w->tx, r->charge, &c)))
        return false;
    c.amount_refunded -= r->amount;
    r->returned_ms = w->now_ms;
    return sb_charge_write(w, &c);
}

bool sb_refund_move(struct work *w, struct refund *r, struct str status, struct str failure_reason)
{
    struct str previous = work_text(w, "{\"status\":\"" STR_FMT "\"}", STR_ARG(r->status));

    if (holds_money(r->status) && !holds_money(status) && !restore_charge(w, r))
        return false;
    r->status = status;
    r->failure_reason = failure_reason;
    return sb_refund_write(w, r) && emit_refund_updated(w, r, previous) &&
           (!failure_reason.n || work_emit(w, "refund.failed", sb_refund_json(w, r, 0), S("")));
}

static bool stripe_read_refund(struct stripe_call *v, struct refund *ret)
{
    enum err e = sb_refund_read(v->w.tx, v->id, ret);

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 404, "refund", v->id, "refund");
    return work_ok(&v->w, e);
}

void refund_update(struct stripe_call *v)
{
    struct refund r;
    struct str before;

    if (!stripe_read_refund(v, &r))
        return;
    before = r.metadata;
    if (!param_metadata(v, &r.metadata))
        return;
    if (!str_eq(before, r.metadata)) {
        struct buf b;

        buf_init(&b, LIMIT_SANDBOX_OBJECT);
        sb_put_raw(&b, S("{\"metadata\":"), before);
        buf_char(&b, '}');
        if (!sb_refund_write(&v->w, &r) || !emit_refund_updated(&v->w, &r, work_text_of(&v->w, &b)))
            return;
    }
    answer_refund(v, &r);
}

static bool check_waits_for_customer(struct stripe_call *v, const struct refund *r,
                                     const char *what)
{
    if (str_eq(r->status, S("requires_action")))
        return true;
    return stripe_reject(
        v, &(struct rejection){ .status = 400,
                                .type = "invalid_request_error",
                                .message = work_text(&v->w,
                                                     "You cannot %s this refund because it has a "
                                                     "status of " STR_FMT ".",
                                                     what, STR_ARG(r->status)),
                                .began = true });
}

void refund_cancel(struct stripe_call *v)
{
    struct refund r;

    if (stripe_read_refund(v, &r) && check_waits_for_customer(v, &r, "cancel") &&
        sb_refund_move(&v->w, &r, S("canceled"), S("")))
        answer_refund(v, &r);
}

void refund_expire(struct stripe_call *v)
{
    struct refund r;

    if (stripe_read_refund(v, &r) && check_waits_for_customer(v, &r, "expire") &&
        sb_refund_move(&v->w, &r, S("failed"), S("unknown")))
        answer_refund(v, &r);
}

void refund_retrieve(struct stripe_call *v)
{
    struct refund r;

    if (stripe_read_refund(v, &r))
        answer_refund(v, &r);
}

/* --- lists --- */

/* The ids of one intent's refunds begin with its stem, and so does the id of its charge. */
static bool take_bounds(struct stripe_call *v, struct list_page *page, bool *ret_of_one)
{
    struct param intent, charge;
    struct str stem;

    *page = (struct list_page){ 0 };
    if (!param_text(v, "payment_intent", LIMIT_SANDBOX_TEXT, &intent) ||
        !param_text(v, "charge", LIMIT_SANDBOX_TEXT, &charge))
        return false;
    *ret_of_one = intent.text.n || charge.text.n;
    if (*ret_of_one) {
        stem = sb_id_stem(intent.text.n ? intent.text : charge.text);
        page->above = work_text(&v->w, "re_" STR_FMT, STR_ARG(stem));
        page->below = work_text(&v->w, "re_" STR_FMT "~", STR_ARG(stem));
    }
    return !v->w.err && param_page(v, page);
}

void refund_list(struct stripe_call *v)
{
    unsigned expand = param_expand(v, expansions, COUNT(expansions));
    struct refund *r = NULL;
    struct str *objects;
    struct list_page page;
    bool of_one;

    if (!take_bounds(v, &page, &of_one) || !sb_refund_page(&v->w, &page, of_one, &r))
        return;
    objects = stripe_list_objects(v, page.count);
    if (!objects)
        return;
    for (size_t i = 0; i < page.count; i++)
        objects[i] = sb_refund_json(&v->w, &r[i], expand);
    stripe_answer_list(v, "/v1/refunds", &page, objects);
}
