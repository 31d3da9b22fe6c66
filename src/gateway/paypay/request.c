/* request.c - path and body of each step, made from the call and the step alone, so that a repeat
 * after a crash names the same ids. */
#include "gateway/paypay/request.h"

#include "base/buf.h"
#include "base/limits.h"
#include "gateway/stripe/form.h"

#include <string.h>

#define YEN_MOST INT64_C(99999999999)
enum { DESCRIPTION_CHARS = 255 };

bool paypay_takes(struct money m)
{
    static const struct money most = { YEN_MOST, "JPY" };

    return money_same_currency(m, most) && m.minor && money_covers(most, m.minor);
}

struct paypay_id paypay_capture_of(const struct gateway_call *c)
{
    return paypay_key_id('c', c->key);
}

/* What is stored of it is its merchantRefundId, which may be another's: made at PayPay's own page.
 */
struct paypay_id paypay_refund_of_call(const struct gateway_call *c)
{
    struct paypay_id id = { "" };

    if (!c->refund_id.n || c->refund_id.n > PAYPAY_ID)
        return paypay_refund_id(c->refund);
    memcpy(id.text, c->refund_id.p, c->refund_id.n);
    return id;
}

/* --- JSON --- */

static void put_name(struct buf *b, const char *name)
{
    if (b->n && b->p[b->n - 1] != '{')
        buf_char(b, ',');
    buf_fmt(b, "\"%s\":", name);
}

static void put_text(struct buf *b, const char *name, struct str value)
{
    put_name(b, name);
    buf_json(b, value);
}

static void put_uuid(struct buf *b, const char *name, struct uuid id)
{
    char text[UUID_TEXT + 1];

    uuid_text(id, text);
    put_text(b, name, str_of(text));
}

static void put_number(struct buf *b, const char *name, int64_t value)
{
    put_name(b, name);
    buf_i64(b, value);
}

static void put_money(struct buf *b, struct money m)
{
    put_name(b, "amount");
    buf_char(b, '{');
    put_number(b, "amount", m.minor);
    put_text(b, "currency", str_of(m.currency));
    buf_char(b, '}');
}

static void put_description(struct buf *b, const struct gateway_call *c, struct str otherwise)
{
    struct str s = c->description.n ? c->description : otherwise;

    if (s.n)
        put_text(b, "orderDescription", utf8_cut_chars(s, DESCRIPTION_CHARS));
}

/* Identifies our payments in PayPay's own lists. */
static void put_metadata(struct buf *b, const struct gateway_call *c)
{
    bool is_booking = c->context == CONTEXT_BOOKING;

    put_name(b, "metadata");
    buf_char(b, '{');
    put_uuid(b, "payment_id", c->payment);
    put_uuid(b, "user_id", c->user);
    put_text(b, "context", str_of(payment_context_name(c->context)));
    put_uuid(b, is_booking ? "booking_id" : "subject_id", c->subject);
    for (size_t i = 0; i < c->note_count; i++)
        put_text(b, c->notes[i].name, utf8_cut_chars(c->notes[i].value, LIMIT_GATEWAY_METADATA));
    buf_char(b, '}');
}

/* --- bodies --- */

static void body_code(struct buf *b, const struct gateway_call *c, const struct paypay_ask *ask)
{
    put_text(b, "merchantPaymentId", str_of(ask->payment.text));
    put_money(b, c->money);
    put_text(b, "codeType", S("ORDER_QR"));
    put_description(b, c, S(""));
    put_name(b, "isAuthorization");
    buf_add(b, c->capture_now ? S("false") : S("true"));
    if (c->return_url.n) {
        put_text(b, "redirectUrl", c->return_url);
        put_text(b, "redirectType", S("WEB_LINK"));
    }
    put_metadata(b, c);
}

static void body_pay(struct buf *b, const struct gateway_call *c, const struct paypay_ask *ask)
{
    put_text(b, "merchantPaymentId", str_of(ask->payment.text));
    put_text(b, "userAuthorizationId", c->payment_method);
    put_money(b, c->money);
    put_description(b, c, S(""));
    put_metadata(b, c);
}

static void body_capture(struct buf *b, const struct gateway_call *c, const struct paypay_ask *ask)
{
    put_text(b, "merchantPaymentId", str_of(ask->payment.text));
    put_text(b, "merchantCaptureId", str_of(paypay_capture_of(c).text));
    put_money(b, c->money);
    put_description(b, c, S("capture")); /* PayPay wants one */
}

static void body_revert(struct buf *b, const struct gateway_call *c, const struct paypay_ask *ask)
{
    put_text(b, "merchantRevertId", str_of(paypay_key_id('r', c->key).text));
    put_text(b, "paymentId", ask->paypay_id);
    if (c->reason.n)
        put_text(b, "reason", utf8_cut_chars(c->reason, DESCRIPTION_CHARS));
}

static void body_refund(struct buf *b, const struct gateway_call *c, const struct paypay_ask *ask)
{
    put_text(b, "merchantRefundId", str_of(paypay_refund_id(c->refund).text));
    put_text(b, "paymentId", ask->paypay_id);
    put_money(b, c->money);
    if (c->reason.n)
        put_text(b, "reason", utf8_cut_chars(c->reason, DESCRIPTION_CHARS));
}

/* --- the table --- */

enum tail { NO_TAIL, PAYMENT_TAIL, REFUND_TAIL, CODE_TAIL };

static const struct {
    const char *method, *path;
    enum tail tail; /* the id behind the path */
    void (*body)(struct buf *b, const struct gateway_call *c, const struct paypay_ask *ask);
} steps[STEPS] = {
    [STEP_CODE] = { "POST", "/v2/codes", NO_TAIL, body_code },
    [STEP_PAY] = { "POST", "/v2/payments/preauthorize", NO_TAIL, body_pay },
    [STEP_CAPTURE] = { "POST", "/v2/payments/capture", NO_TAIL, body_capture },
    [STEP_REVERT] = { "POST", "/v2/payments/preauthorize/revert", NO_TAIL, body_revert },
    [STEP_DELETE] = { "DELETE", "/v2/codes/", CODE_TAIL, NULL },
    [STEP_CANCEL] = { "DELETE", "/v2/payments/", PAYMENT_TAIL, NULL },
    [STEP_REFUND] = { "POST", "/v2/refunds", NO_TAIL, body_refund },
    [STEP_LOOK_CODE] = { "GET", "/v2/codes/payments/", PAYMENT_TAIL, NULL },
    [STEP_LOOK_PAYMENT] = { "GET", "/v2/payments/", PAYMENT_TAIL, NULL },
    [STEP_LOOK_REFUND] = { "GET", "/v2/refunds/", REFUND_TAIL, NULL },
};

bool paypay_moves_nothing(enum paypay_step step)
{
    return steps[step].method[0] == 'G';
}

static const char *path_of(const struct gateway_call *c, enum paypay_step step)
{
    return step == STEP_PAY && c->capture_now ? "/v2/payments" : steps[step].path;
}

static struct str make_path(struct arena *a, const struct gateway_call *c,
                            const struct paypay_ask *ask)
{
    enum tail tail = steps[ask->step].tail;
    struct paypay_id refund = paypay_refund_of_call(c);
    struct str copy;
    struct buf b;

    buf_init(&b, LIMIT_GATEWAY_FORM);
    buf_add(&b, str_of(path_of(c, ask->step)));
    if (tail == PAYMENT_TAIL)
        form_escape(&b, str_of(ask->payment.text));
    if (tail == REFUND_TAIL)
        form_escape(&b, str_of(refund.text));
    if (tail == CODE_TAIL)
        form_escape(&b, ask->code_id);
    copy = b.failed ? (struct str){ 0 } : arena_str(a, buf_str(&b));
    buf_release(&b);
    return copy;
}

static struct str make_body(struct arena *a, const struct gateway_call *c,
                            const struct paypay_ask *ask)
{
    struct str copy;
    struct buf b;

    buf_init(&b, LIMIT_GATEWAY_FORM);
    buf_char(&b, '{');
    steps[ask->step].body(&b, c, ask);
    put_number(&b, "requestedAt", ask->now_s);
    buf_char(&b, '}');
    copy = b.failed ? (struct str){ 0 } : arena_str(a, buf_str(&b));
    buf_release(&b);
    return copy;
}

enum err paypay_request_make(struct arena *a, const struct gateway_call *c,
                             const struct paypay_ask *ask, struct paypay_request *ret_request)
{
    struct paypay_request r = { .method = str_of(steps[ask->step].method),
                                .path = make_path(a, c, ask) };

    if (steps[ask->step].body)
        r.body = make_body(a, c, ask);
    if (!r.path.p || (steps[ask->step].body && !r.body.p))
        return ERR_NO_MEMORY;
    *ret_request = r;
    return OK;
}
