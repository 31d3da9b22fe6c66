/* disputes.c - disputes. One is opened by a test card made for it or by POST /_sandbox/disputes,
 * and closed as won or lost. No money moves. */
#include "base/limits.h"
#include "sandbox/stripe/call.h"
#include "sandbox/stripe/checkout.h"

static const struct expansion expansions[] = { { "charge", EXPAND_CHARGE } };

bool sb_dispute_open(struct work *w, struct charge *c, struct str reason, struct str status,
                     struct dispute *ret)
{
    *ret = (struct dispute){ .id = sb_id_under(w, "dp_", c->intent),
                             .created_ms = w->now_ms,
                             .charge = c->id,
                             .intent = c->intent,
                             .amount = c->amount_captured,
                             .currency = c->currency,
                             .reason = reason,
                             .status = status,
                             .metadata = S("{}") };
    c->dispute = ret->id;
    return sb_dispute_write(w, ret) && sb_charge_write(w, c) &&
           work_emit(w, "charge.dispute.created", sb_dispute_json(w, ret, 0), S(""));
}

bool sb_dispute_close(struct work *w, struct dispute *d, struct str status)
{
    struct str previous = work_text(w, "{\"status\":\"" STR_FMT "\"}", STR_ARG(d->status));

    d->status = status;
    return sb_dispute_write(w, d) &&
           work_emit(w, "charge.dispute.closed", sb_dispute_json(w, d, 0), previous);
}

bool sb_dispute_by_card(struct work *w, struct charge *c)
{
    static const struct {
        struct str card, reason, status;
    } cards[] = {
        { { "createDispute", 13 }, { "fraudulent", 10 }, { "needs_response", 14 } },
        { { "createDisputeProductNotReceived", 31 },
          { "product_not_received", 20 },
          { "needs_response", 14 } },
        { { "createDisputeInquiry", 20 }, { "fraudulent", 10 }, { "warning_needs_response", 22 } },
        { { "sepa_debit_disputed", 19 }, { "debit_not_authorized", 20 }, { "lost", 4 } },
    };
    struct dispute d;

    for (size_t i = 0; c->captured && i < COUNT(cards); i++)
        if (str_eq(c->card, cards[i].card))
            return sb_dispute_open(w, c, cards[i].reason, cards[i].status, &d);
    return true;
}

/* --- the operations --- */

static bool stripe_read_dispute(struct stripe_call *v, struct dispute *ret)
{
    enum err e = sb_dispute_read(v->w.tx, v->id, ret);

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 404, "dispute", v->id, "dispute");
    return work_ok(&v->w, e);
}

static void answer_dispute(struct stripe_call *v, const struct dispute *d)
{
    stripe_answer(v, sb_dispute_json(&v->w, d, param_expand(v, expansions, COUNT(expansions))));
}

void dispute_retrieve(struct stripe_call *v)
{
    struct dispute d;

    if (stripe_read_dispute(v, &d))
        answer_dispute(v, &d);
}

static struct str previous_metadata(struct work *w, struct str metadata)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    sb_put_raw(&b, S("{\"metadata\":"), metadata);
    buf_char(&b, '}');
    return work_text_of(w, &b);
}

void dispute_update(struct stripe_call *v)
{
    struct dispute d;
    struct str before;

    if (!stripe_read_dispute(v, &d))
        return;
    before = d.metadata;
    if (!param_metadata(v, &d.metadata) || !sb_dispute_write(&v->w, &d))
        return;
    if (work_emit(&v->w, "charge.dispute.updated", sb_dispute_json(&v->w, &d, 0),
                  previous_metadata(&v->w, before)))
        answer_dispute(v, &d);
}

/* Closing a dispute by a call accepts it as lost. An inquiry is only closed. */
void dispute_close(struct stripe_call *v)
{
    struct dispute d;

    if (!stripe_read_dispute(v, &d))
        return;
    if (!str_eq(d.status, S("needs_response")) && !str_eq(d.status, S("warning_needs_response"))) {
        stripe_reject(v, &(struct rejection){ .status = 400,
                                              .type = "invalid_request_error",
                                              .message = S("This dispute is already closed."),
                                              .began = true });
        return;
    }
    if (sb_dispute_close(&v->w, &d,
                         str_starts(d.status, S("warning_")) ? S("warning_closed") : S("lost")))
        answer_dispute(v, &d);
}

/* The ids of one intent's disputes begin with the intent's stem, and so does its charge's id. */
static bool take_bounds(struct stripe_call *v, struct list_page *page)
{
    struct param intent, charge;
    struct str of, stem;

    if (!param_text(v, "payment_intent", LIMIT_SANDBOX_TEXT, &intent) ||
        !param_text(v, "charge", LIMIT_SANDBOX_TEXT, &charge))
        return false;
    *page = (struct list_page){ .above = S("dp_"), .below = S("dp_~") };
    of = intent.text.n ? intent.text : charge.text;
    if (of.n) {
        stem = sb_id_stem(of);
        page->above = work_text(&v->w, "dp_" STR_FMT, STR_ARG(stem));
        page->below = work_text(&v->w, "dp_" STR_FMT "~", STR_ARG(stem));
    }
    return !v->w.err && param_page(v, page);
}

void dispute_list(struct stripe_call *v)
{
    unsigned expand = param_expand(v, expansions, COUNT(expansions));
    struct dispute *d = NULL;
    struct str *objects;
    struct list_page page;

    if (!take_bounds(v, &page) || !sb_dispute_page(&v->w, &page, &d))
        return;
    objects = stripe_list_objects(v, page.count);
    if (!objects)
        return;
    for (size_t i = 0; i < page.count; i++)
        objects[i] = sb_dispute_json(&v->w, &d[i], expand);
    stripe_answer_list(v, "/v1/disputes", &page, objects);
}
