/* endpoint.c - every call under /v2 enters and leaves here.
 *
 *   signature (401) -> body (400) -> unit: fault, operation -> [hang] -> answer, or a closed
 *   connection
 *
 * Everything but the unit runs on the executor. The operation and the count of the fault that was
 * used are one commit, so a crash leaves both or neither. */
#include "base/limits.h"
#include "observe/log.h"
#include "sandbox/control/control.h"
#include "sandbox/impl.h"
#include "sandbox/paypay/auth.h"
#include "sandbox/paypay/paypay.h"

#include <stdio.h>

/* --- answers --- */

static void write_result(struct buf *b, const struct pp_result_row *row, const char *field,
                         struct str data)
{
    buf_add(b, S("{\"resultInfo\":{\"code\":"));
    buf_json(b, str_of(row->code));
    buf_fmt(b, ",\"message\":\"%s%s%s\"", row->message, field ? ": " : "", field ? field : "");
    buf_fmt(b, ",\"codeId\":\"%s\"},\"data\":", row->number);
    buf_add(b, data.n ? data : S("null"));
    buf_char(b, '}');
}

static void set_answer(struct pp_call *c, enum pp_result r, const char *field, struct str data)
{
    struct buf b;

    if (c->w.err) /* the data could not be written as JSON */
        return;
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    write_result(&b, pp_result_row(r), field, data);
    c->status = pp_result_row(r)->status;
    c->body = work_text_of(&c->w, &b);
}

void pp_answer(struct pp_call *c, enum pp_result r, struct str data)
{
    set_answer(c, r, NULL, data);
}

bool pp_reject(struct pp_call *c, enum pp_result r)
{
    set_answer(c, r, NULL, S(""));
    return false;
}

bool pp_invalid(struct pp_call *c, const char *field)
{
    set_answer(c, PP_INVALID, field, S(""));
    return false;
}

void pp_problem(struct buf *out, enum err e, const char *words)
{
    enum pp_result r = err_status(e) == 429  ? PP_RATE_LIMIT
                       : err_status(e) < 500 ? PP_INVALID
                                             : PP_INTERNAL;

    (void)words;
    write_result(out, pp_result_row(r), NULL, S(""));
}

static void endpoint_answer(struct pp_call *c)
{
    const struct pp_fault_kind *f = c->fault.kind;
    struct request *r = c->request;
    bool whole = c->status && c->body.p;

    if (!whole)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    else if (f && f->lost)
        reply_drop(r);
    else if (f && f->half)
        reply_send(r, c->status, S("application/json"), (struct str){ c->body.p, c->body.n / 2 });
    else if (f && f->instead)
        reply_send(r, f->status ? f->status : c->status, S("text/html"), str_of(f->instead));
    else
        reply_send(r, c->status, S("application/json"), c->body);
}

/* --- calls that hang --- */

static void unlink_hanging(struct pp_call *c)
{
    *c->delayed_place = c->next_delayed;
    if (c->next_delayed)
        c->next_delayed->delayed_place = c->delayed_place;
}

static void hang_over(struct timer *t)
{
    struct pp_call *c = CONTAINER_OF(t, struct pp_call, timer);

    unlink_hanging(c);
    endpoint_answer(c);
}

static void hang_call(struct pp_call *c, int64_t ms)
{
    struct sandbox_impl *impl = impl_of(c->w.s);

    if (impl->stopping) {
        reply_drop(c->request);
        return;
    }
    c->timer = (struct timer){ .fire = hang_over, .due_ms = CLOCK_NEVER };
    c->next_delayed = impl->paypay_hanging;
    c->delayed_place = &impl->paypay_hanging;
    if (c->next_delayed)
        c->next_delayed->delayed_place = &c->next_delayed;
    impl->paypay_hanging = c;
    executor_arm(c->request->executor, &c->timer, env_now_ms(&c->w.s->env) + ms);
}

void pp_calls_drop_hanging(struct sandbox *s)
{
    struct sandbox_impl *impl = impl_of(s);

    while (impl->paypay_hanging) {
        struct pp_call *c = impl->paypay_hanging;

        executor_arm(c->request->executor, &c->timer, CLOCK_NEVER);
        unlink_hanging(c);
        reply_drop(c->request);
    }
}

/* --- the unit --- */

static void reset_outcome(struct pp_call *c, struct tx *tx)
{
    c->w.tx = tx;
    c->w.now_ms = env_now_ms(&c->w.s->env);
    c->w.err = OK;
    c->status = 0;
    c->body = (struct str){ 0 };
    c->fault = (struct pp_fault){ 0 };
}

static enum err endpoint_run(struct tx *tx, struct unit *u)
{
    struct pp_call *c = CONTAINER_OF(u, struct pp_call, unit);
    const struct pp_fault_kind *f;

    reset_outcome(c, tx);
    if (!pp_fault_take(&c->w, c->request->method, c->request->path, &c->fault))
        return c->w.err;
    f = c->fault.kind;
    if (!f || f->after)
        c->op->run(c);
    if (!c->w.err && f && f->result != PP_SUCCESS)
        pp_reject(c, f->result);
    if (!c->w.err && !c->status)
        return ERR_INTERNAL;
    return c->w.err;
}

static void endpoint_done(struct unit *u)
{
    struct pp_call *c = CONTAINER_OF(u, struct pp_call, unit);

    if (u->err) {
        LOG(c->w.s->env.log, LOG_WARN, "sandbox call failed", LOG_TEXT("path", c->request->path),
            LOG_TEXT("code", str_of(err_code(u->err))));
        c->w.err = OK;
        c->fault = (struct pp_fault){ 0 };
        pp_reject(c, PP_INTERNAL);
    }
    if (c->fault.kind && c->fault.kind->hangs)
        hang_call(c, c->fault.ms);
    else
        endpoint_answer(c);
}

static void endpoint_post(struct pp_call *c)
{
    static const struct unit_kind kind = { "sandbox.paypay", UNIT_FRONT, endpoint_run, NULL };

    c->unit = (struct unit){ .kind = &kind,
                             .executor = c->request->executor,
                             .done = endpoint_done,
                             .arena = &c->request->arena };
    store_post(c->w.s->store, &c->unit);
}

/* --- the signature --- */

/* The parameter of the query wins over the header. Neither is signed. */
static bool is_merchant(struct pp_call *c)
{
    struct str said = control_query(c->request, S("assumeMerchant"));

    if (!said.n)
        said = request_header(c->request, S("X-ASSUME-MERCHANT"), NULL);
    return said.n && str_eq(said, c->w.s->o.paypay_merchant);
}

static bool is_authorized(struct pp_call *c)
{
    const struct sandbox *s = c->w.s;
    const struct request *r = c->request;
    struct str path = r->target;
    struct paypay_keys keys = { s->o.paypay_key, s->o.paypay_secret };
    struct paypay_claim claim = {
        .method = r->method,
        .path = str_cut(&path, '?'), /* as sent, since the client signed it undecoded */
        .content_type = request_header(r, S("Content-Type"), NULL),
        .body = r->body,
        .authorization = request_header(r, S("Authorization"), NULL),
    };

    return is_merchant(c) && paypay_auth_ok(&claim, &keys, clock_wall_ms(&s->env.clock) / 1000);
}

/* --- a request arrives --- */

static struct pp_call *call_new(struct request *r, const struct pp_endpoint *at)
{
    struct pp_call *c = arena_alloc(&r->arena, 1, sizeof(*c));

    if (!c)
        return NULL;
    c->request = r;
    c->op = at->op;
    c->id = r->params[0];
    c->w = (struct work){ .s = at->s, .a = &r->arena };
    return c;
}

void pp_begin(struct request *r, void *endpoint)
{
    struct pp_call *c = call_new(r, endpoint);

    if (!c) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    if (!is_authorized(c))
        pp_reject(c, PP_UNAUTHORIZED);
    else if (c->op->read)
        c->op->read(c);
    if (c->status || c->w.err)
        endpoint_answer(c);
    else
        endpoint_post(c);
}

/* --- the routes --- */

static void answer_not_found(struct pp_call *c)
{
    pp_reject(c, PP_NOT_FOUND);
}

const struct pp_operation pp_operations[] = {
    { "POST", "/v2/codes", pp_read_code, pp_code_create },
    { "DELETE", "/v2/codes/{id}", NULL, pp_code_delete },
    { "GET", "/v2/codes/payments/{id}", NULL, pp_code_details },
    { "POST", "/v2/payments", pp_read_payment, pp_payment_create },
    { "POST", "/v2/payments/preauthorize", pp_read_payment, pp_payment_preauthorize },
    { "POST", "/v2/payments/preauthorize/revert", pp_read_revert, pp_payment_revert },
    { "POST", "/v2/payments/capture", pp_read_capture, pp_payment_capture },
    { "GET", "/v2/payments/{id}", NULL, pp_payment_details },
    { "DELETE", "/v2/payments/{id}", NULL, pp_payment_cancel },
    { "POST", "/v2/refunds", pp_read_refund, pp_refund_create },
    { "GET", "/v2/refunds/{id}", NULL, pp_refund_details },
    { "GET", "/v2/*", NULL, answer_not_found },
    { "POST", "/v2/*", NULL, answer_not_found },
    { "DELETE", "/v2/*", NULL, answer_not_found },
};
const size_t pp_operation_count = COUNT(pp_operations);

const struct route pp_control_routes[] = {
    { .method = "GET", .path = "/_sandbox/paypay/switches", .handle = pp_control_switches },
    { .method = "POST", .path = "/_sandbox/paypay/switches", .handle = pp_control_set_switches },
    { .method = "GET", .path = "/_sandbox/paypay/books", .handle = pp_control_ledger },
    { .method = "POST", .path = "/_sandbox/paypay/{payment}/pay", .handle = pp_control_pay },
    { .method = "POST", .path = "/_sandbox/paypay/{payment}/fail", .handle = pp_control_fail },
    { .method = "GET", .path = "/_sandbox/paypay_code/{code}", .handle = pp_control_show },
    { .method = "POST", .path = "/_sandbox/paypay_code/{code}", .handle = pp_control_use },
};
const size_t pp_control_route_count = COUNT(pp_control_routes);
