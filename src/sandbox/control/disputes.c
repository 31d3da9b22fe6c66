/* disputes.c - disputes on demand: POST /_sandbox/disputes {charge or payment_intent, status?} and
 * POST /_sandbox/disputes/{id}/close {status: won or lost}. */
#include "sandbox/control/control.h"
#include "sandbox/stripe/checkout.h"

static enum err find_charge(struct act *a, struct work *w, struct charge *c)
{
    struct str id = a->text[0];
    struct intent p;
    enum err e;

    if (str_starts(id, S("pi_"))) {
        e = sb_intent_read(w->tx, id, &p);
        if (e)
            return e;
        id = p.latest_charge;
    }
    e = sb_charge_read(w->tx, id, c);
    if (!e && !c->captured) {
        a->why = "nothing was captured that could be disputed";
        return ERR_UNPROCESSABLE;
    }
    return e;
}

static bool is_open(struct str status)
{
    return str_eq(status, S("needs_response")) || str_eq(status, S("under_review")) ||
           str_eq(status, S("warning_needs_response")) || str_eq(status, S("warning_under_review"));
}

static enum err open_run(struct act *a, struct work *w)
{
    struct str status = a->text[1].n ? a->text[1] : S("needs_response");
    struct dispute d;
    struct charge c;
    enum err e;

    if (!is_open(status)) {
        a->why = "status is that of an open dispute, like needs_response";
        return ERR_VALIDATION;
    }
    e = find_charge(a, w, &c);
    if (e)
        return e;
    if (sb_dispute_open(w, &c, S("fraudulent"), status, &d))
        a->json = sb_dispute_json(w, &d, 0);
    return w->err;
}

static enum err close_run(struct act *a, struct work *w)
{
    struct dispute d;
    enum err e = sb_dispute_read(w->tx, a->id, &d);

    if (e)
        return e;
    a->why = "status is won or lost";
    if (!str_eq(a->text[0], S("won")) && !str_eq(a->text[0], S("lost")))
        return ERR_VALIDATION;
    a->why = "it is closed already";
    if (!is_open(d.status))
        return ERR_UNPROCESSABLE;
    if (sb_dispute_close(w, &d, a->text[0]))
        a->json = sb_dispute_json(w, &d, 0);
    return w->err;
}

/* Both names are read into one text: the id's prefix tells a charge from an intent. */
void control_open_dispute(struct request *r, void *sandbox)
{
    static const char *const names[] = { "charge", "payment_intent", "status" };
    struct act a = { .run = open_run };
    struct control_body in;
    struct str s;
    bool charge;

    if (!control_body_begin(&in, r, names, COUNT(names)))
        return;
    charge = json_get_str(in.body, "charge", false, 500, &s, &in.problems);
    if (charge || json_get_str(in.body, "payment_intent", true, 500, &s, &in.problems))
        a.text[0] = arena_str(&r->arena, s);
    if (json_get_str(in.body, "status", false, 100, &s, &in.problems))
        a.text[1] = arena_str(&r->arena, s);
    if (control_body_end(&in, r))
        act_post(r, sandbox, &a, false);
}

void control_close_dispute(struct request *r, void *sandbox)
{
    static const struct act_text texts[] = { { "status", true } };
    struct act a = { .run = close_run };

    if (act_read(r, &a, texts, COUNT(texts)))
        act_post(r, sandbox, &a, false);
}
