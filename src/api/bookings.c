/* bookings.c - a PUT is one unit of work: the booking and its audit line, both or neither. A repeat
 * with the same content changes nothing and answers 200. */
#include "api/bookings.h"

#include "booking/booking.h"
#include "endpoint/act.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "store/store.h"

struct booking_call { /* one request, in its own arena */
    struct unit unit;
    struct request *request;
    struct payments *payments;
    struct booking_change change; /* PUT */
    struct booking_result result;
    bool may_any;     /* GET */
    struct uuid user; /* who asks */
};

ANSWERS static struct booking_call *booking_call_new(struct request *r, struct payments *payments,
                                                     const struct unit_kind *kind,
                                                     void (*done)(struct unit *))
{
    struct booking_call *c = api_room(r, sizeof(*c));

    if (!c)
        return NULL;
    c->unit = (struct unit){ .kind = kind, .executor = r->executor, .done = done };
    c->request = r;
    c->payments = payments;
    return c;
}

static void booking_answer(struct request *r, int status, const struct booking *b)
{
    struct str text = booking_json(&r->arena, b);

    if (text.p)
        reply_send(r, status, S("application/json"), text);
    else
        reply_problem(r, ERR_NO_MEMORY, NULL);
}

/* --- PUT --- */

static enum err booking_run_put(struct tx *tx, struct unit *u)
{
    struct booking_call *c = CONTAINER_OF(u, struct booking_call, unit);
    enum err e = booking_change(tx, c->payments, &c->change, env_now_ms(c->payments->runtime.env),
                                &c->result);

    return e ? e : act_audit_booking(tx, &c->result, &c->user);
}

static void booking_was_put(struct unit *u)
{
    struct booking_call *c = CONTAINER_OF(u, struct booking_call, unit);
    struct request *r = c->request;

    if (u->err)
        reply_problem(r, u->err, NULL);
    else if (c->result.put == BOOKING_REFUSED)
        reply_problem(r, ERR_UNPROCESSABLE,
                      r->language == LANG_JA
                          ? "支払いの処理中は、所有者・金額・通貨を変更できません。"
                          : "Owner, amount and currency cannot change while money is under way.");
    else
        booking_answer(r, c->result.is_new ? 201 : 200, &c->result.now);
}

ANSWERS static bool booking_read_change(struct request *r, struct booking_change *ret_change)
{
    static const char *const names[] = { "userId", "amount", "currency", "status", "version" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;

    if (!fields_body(r, &body))
        return false;
    fields_problems(r, &problems);
    fields_booking(body, true, ret_change, &problems);
    fields_only(body, names, COUNT(names), &problems);
    return !fields_refused(r, &problems);
}

void api_booking_put(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "booking.put", UNIT_FRONT, booking_run_put, NULL };
    struct booking_change change = { 0 };
    struct booking_call *c;

    if (!fields_path_id(r, &change.id) || !booking_read_change(r, &change))
        return;
    c = booking_call_new(r, ctx, &kind, booking_was_put);
    if (!c)
        return;
    c->change = change;
    c->user = p->user;
    store_post(c->payments->runtime.store, &c->unit);
}

/* --- GET --- */

static enum err booking_run_get(struct tx *tx, struct unit *u)
{
    struct booking_call *c = CONTAINER_OF(u, struct booking_call, unit);

    return booking_read(tx, c->change.id, false, &c->result.now);
}

static void booking_was_got(struct unit *u)
{
    struct booking_call *c = CONTAINER_OF(u, struct booking_call, unit);

    if (u->err)
        reply_problem(c->request, u->err, NULL);
    else if (!c->may_any && !uuid_eq(c->user, c->result.now.user_id))
        reply_problem(c->request, ERR_FORBIDDEN, NULL);
    else
        booking_answer(c->request, 200, &c->result.now);
}

void api_booking_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "booking.get", UNIT_READ, booking_run_get, NULL };
    struct booking_call *c;
    struct uuid id;

    if (!fields_path_id(r, &id))
        return;
    c = booking_call_new(r, ctx, &kind, booking_was_got);
    if (!c)
        return;
    c->change.id = id;
    c->user = p->user;
    c->may_any = auth_sees_all(p);
    store_post(c->payments->runtime.store, &c->unit);
}
