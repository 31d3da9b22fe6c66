/* payment_read.c - GET /payments/{id}: one payment as it is now, read beside the writer. */
#include "api/payments.h"
#include "store/store.h"

struct look {
    struct unit unit;
    struct request *request;
    struct uuid id, user;
    bool may_any;
    struct uuid owner; /* out */
    struct str text;
};

static enum err read_one(struct tx *tx, struct unit *u)
{
    struct look *l = CONTAINER_OF(u, struct look, unit);
    struct payment payment;
    struct refund *refunds;
    size_t count;
    enum err e = payment_read(tx, u->arena, l->id, false, &payment);

    if (!e)
        e = refunds_read(tx, u->arena, l->id, &refunds, &count);
    if (e)
        return e;
    l->owner = payment.user_id;
    l->text = payment_json(u->arena, &payment, refunds, count);
    return l->text.p ? OK : ERR_NO_MEMORY;
}

static void answer(struct unit *u)
{
    struct look *l = CONTAINER_OF(u, struct look, unit);

    if (u->err)
        reply_problem(l->request, u->err, NULL);
    else if (!l->may_any && !uuid_eq(l->owner, l->user))
        reply_problem(l->request, ERR_FORBIDDEN, NULL); /* and nothing about the payment (A2) */
    else
        reply_send(l->request, 200, S("application/json"), l->text);
}

static void look_up(struct request *r, const struct api_payments *api, const struct principal *p,
                    struct uuid id)
{
    static const struct unit_kind kind = { "payment.read", UNIT_READ, read_one, NULL };
    struct look *l = arena_alloc(&r->arena, 1, sizeof(*l));

    if (!l) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    *l = (struct look){
        .unit = { .kind = &kind, .home = r->home, .done = answer, .arena = &r->arena },
        .request = r,
        .id = id,
        .user = p->user,
        .may_any = p->service || p->admin,
    };
    store_post(api->payments->store, &l->unit);
}

static void known(struct request *r, void *ctx, enum err e, const struct principal *p)
{
    struct json_problems problems;
    struct uuid id;

    if (!payment_caller_may(r, ctx, e, p, S("read")))
        return;
    if (uuid_parse(r->params[0], &id)) {
        look_up(r, ctx, p, id);
        return;
    }
    json_problems_init(&problems);
    problems.language = r->language;
    json_problem_in(&problems, "id", "must be a UUID", "UUID を指定してください");
    payment_refuse(r, &problems);
}

void api_payment_get(struct request *r, void *ctx)
{
    auth_check(((struct api_payments *)ctx)->auth, r, known, ctx);
}
