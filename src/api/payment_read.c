/* payment_read.c - GET /payments/{id}: one payment as it is now, from a read-only unit of work. */
#include "api/payments.h"
#include "endpoint/fields.h"

static void payment_read_answer(struct unit *u)
{
    struct payment_look *l = CONTAINER_OF(u, struct payment_look, answer.unit);

    if (!u->err && !l->may_any && !uuid_eq(l->owner, l->user))
        reply_problem(l->answer.request, ERR_FORBIDDEN, NULL); /* and nothing about it (A2) */
    else
        api_answer_show(u);
}

void payment_look_up(struct request *r, const struct api_payments *api, const struct principal *p,
                     const struct unit_kind *kind)
{
    struct payment_look *l;
    struct uuid id;

    if (!payment_caller_may(r, api, p, S("read")) || !fields_path_id(r, &id))
        return;
    l = api_room(r, sizeof(*l));
    if (!l)
        return;
    l->id = id;
    l->user = p->user;
    l->may_any = auth_sees_all(p);
    l->only_looks = auth_only_looks(p);
    api_answer_post(&l->answer, r, api->payments->runtime.store, kind, payment_read_answer);
}

struct str payment_look_json(const struct payment_look *l, struct arena *a, const struct payment *p,
                             const struct refund *refunds, size_t refund_count)
{
    bool others = l->only_looks && !uuid_eq(p->user_id, l->user);

    return (others ? payment_json_seen : payment_json)(a, p, refunds, refund_count);
}

static enum err payment_read_one(struct tx *tx, struct unit *u)
{
    struct payment_look *l = CONTAINER_OF(u, struct payment_look, answer.unit);
    struct payment payment;
    struct refund *refunds;
    size_t count;
    enum err e = payment_read(tx, u->arena, l->id, false, &payment);

    if (e)
        return e;
    e = refunds_read(tx, u->arena, l->id, &refunds, &count);
    if (e)
        return e;
    l->owner = payment.user_id;
    l->answer.text = payment_look_json(l, u->arena, &payment, refunds, count);
    return l->answer.text.p ? OK : ERR_NO_MEMORY;
}

void api_payment_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "payment.read", UNIT_READ, payment_read_one, NULL };

    payment_look_up(r, ctx, p, &kind);
}
