/* money.c - what else a test can make happen: POST /_sandbox/refunds/{id} {status} moves a refund,
 * POST /_sandbox/intents/{id}/lapse ends an authorization early. */
#include "sandbox/control/control.h"

/* --- refunds ---
 *
 *   requires_action --the customer names an account--> pending --the bank pays--> succeeded
 *         ^  '------------------------------------> failed <----'  |                  |
 *         '--------------the bank sends it back--------------------'     failed <-----' */
static const struct {
    struct str from, to;
} moves[] = {
    { { "requires_action", 15 }, { "pending", 7 } },
    { { "requires_action", 15 }, { "failed", 6 } },
    { { "pending", 7 }, { "succeeded", 9 } },
    { { "pending", 7 }, { "requires_action", 15 } },
    { { "pending", 7 }, { "failed", 6 } },
    { { "succeeded", 9 }, { "failed", 6 } },
};

static bool may_move(struct str from, struct str to)
{
    for (size_t i = 0; i < COUNT(moves); i++)
        if (str_eq(moves[i].from, from) && str_eq(moves[i].to, to))
            return true;
    return false;
}

static enum err refund_move_run(struct act *a, struct work *w)
{
    struct str to = a->text[0];
    struct refund r;
    enum err e = sb_refund_read(w->tx, a->id, &r);

    if (e)
        return e;
    if (!may_move(r.status, to)) {
        a->why = "a refund goes from requires_action to pending and from there to succeeded or "
                 "back; it may fail from each of them";
        return ERR_UNPROCESSABLE;
    }
    if (sb_refund_move(w, &r, to, str_eq(to, S("failed")) ? S("unknown") : S("")))
        a->json = sb_refund_json(w, &r, 0);
    return w->err;
}

void control_move_refund(struct request *r, void *sandbox)
{
    static const struct act_text texts[] = { { "status", true } };
    struct act a = { .run = refund_move_run };

    if (act_read(r, &a, texts, COUNT(texts)))
        act_post(r, sandbox, &a, false);
}

/* --- authorizations --- */

static enum err intent_lapse_run(struct act *a, struct work *w)
{
    struct intent p;
    struct charge c;
    enum err e = sb_intent_read(w->tx, a->id, &p);

    if (e)
        return e;
    if (p.status != INTENT_NEEDS_CAPTURE) {
        a->why = "nothing is held that could lapse";
        return ERR_UNPROCESSABLE;
    }
    e = sb_charge_read(w->tx, p.latest_charge, &c);
    if (e)
        return e;
    if (sb_intent_expire(w, &p, &c))
        a->json = sb_intent_json(w, &p, 0);
    return w->err;
}

void control_expire_hold(struct request *r, void *sandbox)
{
    struct act a = { .run = intent_lapse_run };

    if (act_read(r, &a, NULL, 0))
        act_post(r, sandbox, &a, false);
}
