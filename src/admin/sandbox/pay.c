/* pay.c - creates a payment for demonstration, as a merchant's server would:
 *
 *   a booking (one commit) --> create --> capture, if requested --> 201
 *
 * After a crash in between, the booking and the payment remain as they are, like any others. */
#include "admin/sandbox/sandbox.h"
#include "base/limits.h"
#include "booking/booking.h"
#include "endpoint/act.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"
#include "payment/operate.h"

#include <stdio.h>
#include <string.h>

enum { MEMBERS_MAX = 64 };

/* The owner of these bookings: the user that the banner of dev mode shows. */
static const struct uuid customer = { { 0x01, 0x90, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0xd3,
                                        0xa0 } };

struct sandbox_pay_call { /* one request, in its own arena */
    struct unit unit;
    struct request *request;
    const struct api_sandbox *api;
    struct uuid user; /* the operator */
    struct money money;
    struct str method, method_type, description;
    bool capture;
    struct uuid booking;
    struct operate create, take;
};

/* --- the answer --- */

static void sandbox_pay_answer_problem(struct request *r, const struct operate *o)
{
    char id[UUID_TEXT + 1], members[MEMBERS_MAX] = "";
    int n = 0;

    if (o->has_payment) {
        uuid_text(o->payment_id, id);
        n = snprintf(members, sizeof(members), "\"paymentId\":\"%s\"", id);
    }
    reply_problem_more(r, o->err, r->language == LANG_JA ? NULL : o->why, S(""),
                       (struct str){ members, (size_t)n });
}

static void sandbox_pay_answer(struct request *r, const struct operate *o)
{
    struct buf b;

    if (o->status >= 400) { /* a stored problem */
        reply_send(r, o->status, S("application/problem+json"), o->body);
        return;
    }
    buf_init(&b, LIMIT_REPLY);
    buf_add(&b, S("{\"payment\":"));
    buf_add(&b, o->body);
    buf_char(&b, '}');
    if (b.failed)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    else
        reply_send(r, 201, S("application/json"), buf_str(&b));
    buf_release(&b);
}

/* --- create and capture --- */

static void sandbox_pay_begin(struct sandbox_pay_call *p, struct operate *o,
                              void (*done)(struct operate *))
{
    struct request *r = p->request;

    o->payments = p->api->payments;
    o->user = p->user;
    o->may_any = true;
    o->key = env_uuid(r->env);
    trace_text(&r->trace, o->trace);
    o->request_id = r->id;
    o->deadline_mono_ms = r->began_us / 1000 + LIMIT_REQUEST_MS;
    o->arena = &r->arena;
    o->executor = r->executor;
    o->done = done;
    operate_begin(o);
}

static void sandbox_pay_captured(struct operate *o)
{
    struct sandbox_pay_call *p = CONTAINER_OF(o, struct sandbox_pay_call, take);

    if (o->err)
        sandbox_pay_answer_problem(p->request, o);
    else
        sandbox_pay_answer(p->request, o);
}

/* A payment that was declined or waits for the customer cannot be captured: it is shown as it
 * is. */
static void sandbox_pay_created(struct operate *o)
{
    struct sandbox_pay_call *p = CONTAINER_OF(o, struct sandbox_pay_call, create);

    if (o->err) {
        sandbox_pay_answer_problem(p->request, o);
        return;
    }
    if (!p->capture || o->status != 201 || o->settled_as != PAYMENT_AUTHORIZED) {
        sandbox_pay_answer(p->request, o);
        return;
    }
    p->take = (struct operate){ .kind = OP_CAPTURE, .payment = o->payment_id };
    key_hash_other(p->take.payment, false, 0, S(""), p->take.hash);
    sandbox_pay_begin(p, &p->take, sandbox_pay_captured);
}

/* --- the booking --- */

static enum err sandbox_pay_book(struct tx *tx, struct unit *u)
{
    struct sandbox_pay_call *p = CONTAINER_OF(u, struct sandbox_pay_call, unit);
    struct booking_change c = { .id = p->booking,
                                .user_id = customer,
                                .money = p->money,
                                .has_user = true,
                                .has_money = true };
    struct booking_result result;
    char id[UUID_TEXT + 1];
    enum err e = booking_change(tx, p->api->payments, &c, env_now_ms(tx_env(tx)), &result);

    uuid_text(p->booking, id);
    return e ? e : act_audit(tx, "SANDBOX_PAYMENT", str_of(id), S(""), p->user);
}

static void sandbox_pay_booked(struct unit *u)
{
    struct sandbox_pay_call *p = CONTAINER_OF(u, struct sandbox_pay_call, unit);
    struct operate *o = &p->create;

    if (u->err) {
        reply_problem(p->request, u->err, NULL);
        return;
    }
    *o = (struct operate){ .kind = OP_CREATE,
                           .context = CONTEXT_BOOKING,
                           .subject = p->booking,
                           .money = p->money,
                           .method = p->method,
                           .method_type = p->method_type,
                           .description = p->description };
    key_hash_create(o->subject, o->money, o->method_type, o->method, o->hash);
    sandbox_pay_begin(p, o, sandbox_pay_created);
}

/* --- the request --- */

static bool sandbox_pay_is_type(struct str method)
{
    static const struct str types[] = {
        { "card", 4 }, { "konbini", 7 }, { "paypay", 6 }, { "bank_transfer", 13 }
    };

    for (size_t i = 0; i < COUNT(types); i++)
        if (str_eq(types[i], method))
            return true;
    return false;
}

/* The token of a test card, or a type of payment method. */
static void sandbox_pay_read_method(const cJSON *body, struct sandbox_pay_call *p,
                                    struct json_problems *problems)
{
    struct str method;

    if (!json_get_str(body, "method", false, METHOD_MAX, &method, problems))
        return;
    if (str_starts(method, S("pm_")))
        p->method = method;
    else if (sandbox_pay_is_type(method))
        p->method_type = method;
    else
        json_problem_in(problems, "method",
                        "must be a test card like pm_card_visa, or card, konbini, paypay, "
                        "bank_transfer",
                        "pm_card_visa などのテストカードか、card、konbini、paypay、bank_transfer "
                        "のいずれかにしてください");
}

static void sandbox_pay_read_money(const cJSON *body, struct sandbox_pay_call *p,
                                   struct json_problems *problems)
{
    int64_t amount = 0;
    char code[4];
    bool has_amount = json_get_int(body, "amount", true, 1, MONEY_MAX, &amount, problems);

    if (fields_currency(body, true, code, problems) && has_amount &&
        !money_make(amount, str_of(code), &p->money))
        json_problem_in(problems, "amount", "cannot be of this currency",
                        "この通貨では使えない金額です");
}

ANSWERS static bool sandbox_pay_read_body(struct request *r, struct sandbox_pay_call *p)
{
    static const char *const names[] = { "amount", "currency", "method", "capture", "description" };
    struct str *const texts[] = { &p->method, &p->method_type, &p->description };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;
    bool no_memory = false;

    if (!fields_body(r, &body))
        return false;
    fields_problems(r, &problems);
    fields_only(body, names, COUNT(names), &problems);
    sandbox_pay_read_money(body, p, &problems);
    sandbox_pay_read_method(body, p, &problems);
    json_get_bool(body, "capture", false, &p->capture, &problems);
    json_get_str(body, "description", false, DESCRIPTION_MAX, &p->description, &problems);
    for (size_t i = 0; i < COUNT(texts); i++)
        if (texts[i]->n)
            *texts[i] = fields_keep(r, *texts[i], &no_memory);
    return !fields_failed(r, &problems, no_memory ? ERR_NO_MEMORY : OK);
}

void api_sandbox_pay(struct request *r, void *ctx, const struct principal *who)
{
    static const struct unit_kind kind = { "sandbox.book", UNIT_FRONT, sandbox_pay_book, NULL };
    struct sandbox_pay_call *p;

    if (!query_read(r, NULL, 0, NULL))
        return;
    p = api_room(r, sizeof(*p));
    if (!p || !sandbox_pay_read_body(r, p))
        return;
    p->request = r;
    p->api = ctx;
    p->user = who->user;
    p->booking = env_uuid(r->env);
    p->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = sandbox_pay_booked };
    store_post(p->api->payments->runtime.store, &p->unit);
}
