#include "api/bookings.h"

#include "booking/booking.h"
#include "endpoint/act.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "store/store.h"

struct task_of_booking { /* one request, in its own arena */
    struct unit unit;
    struct request *request;
    struct payments *payments;
    struct booking_change change; /* PUT */
    struct booking_result result;
    bool may_any;     /* GET */
    struct uuid user; /* who asks */
};

ANSWERS static struct task_of_booking *booking_task_new(struct request *r,
                                                        struct payments *payments,
                                                        const struct unit_kind *kind,
                                                        void (*done)(struct unit *))
{
    struct task_of_booking *t = api_room(r, sizeof(*t));

    if (!t)
        return NULL;
    t->unit = (struct unit){ .kind = kind, .executor = r->executor, .done = done };
    t->request = r;
    t->payments = payments;
    return t;
}

static void bookings_show(struct request *r, int status, const struct booking *b)
{
    struct str text = booking_json(&r->arena, b);

    if (text.p)
        reply_send(r, status, S("application/json"), text);
    else
        reply_problem(r, ERR_NO_MEMORY, NULL);
}

/* --- PUT --- */

static enum err bookings_put(struct tx *tx, struct unit *u)
{
    struct task_of_booking *t = CONTAINER_OF(u, struct task_of_booking, unit);
    enum err e = booking_change(tx, t->payments, &t->change, env_now_ms(t->payments->runtime.env),
                                &t->result);

    return e ? e : act_audit_booking(tx, &t->result, &t->user);
}

static void booking_was_put(struct unit *u)
{
    struct task_of_booking *t = CONTAINER_OF(u, struct task_of_booking, unit);
    struct request *r = t->request;

    if (u->err)
        reply_problem(r, u->err, NULL);
    else if (t->result.put == BOOKING_REFUSED)
        reply_problem(r, ERR_UNPROCESSABLE,
                      r->language == LANG_JA
                          ? "支払いの処理中は、所有者・金額・通貨を変更できません。"
                          : "Owner, amount and currency cannot change while money is under way.");
    else
        bookings_show(r, t->result.is_new ? 201 : 200, &t->result.now);
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
    static const struct unit_kind kind = { "booking.put", UNIT_FRONT, bookings_put, NULL };
    struct booking_change change = { 0 };
    struct task_of_booking *t;

    if (!fields_path_id(r, &change.id) || !booking_read_change(r, &change))
        return;
    t = booking_task_new(r, ctx, &kind, booking_was_put);
    if (!t)
        return;
    t->change = change;
    t->user = p->user;
    store_post(t->payments->runtime.store, &t->unit);
}

/* --- GET --- */

static enum err bookings_get(struct tx *tx, struct unit *u)
{
    struct task_of_booking *t = CONTAINER_OF(u, struct task_of_booking, unit);

    return booking_read(tx, t->change.id, false, &t->result.now);
}

static void booking_was_got(struct unit *u)
{
    struct task_of_booking *t = CONTAINER_OF(u, struct task_of_booking, unit);

    if (u->err)
        reply_problem(t->request, u->err, NULL);
    else if (!t->may_any && !uuid_eq(t->user, t->result.now.user_id))
        reply_problem(t->request, ERR_FORBIDDEN, NULL);
    else
        bookings_show(t->request, 200, &t->result.now);
}

void api_booking_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "booking.get", UNIT_READ, bookings_get, NULL };
    struct task_of_booking *t;
    struct uuid id;

    if (!fields_path_id(r, &id))
        return;
    t = booking_task_new(r, ctx, &kind, booking_was_got);
    if (!t)
        return;
    t->change.id = id;
    t->user = p->user;
    t->may_any = auth_sees_all(p);
    store_post(t->payments->runtime.store, &t->unit);
}
