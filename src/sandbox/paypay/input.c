/* input.c - reads the bodies of PayPay's calls, on the executor. The first invalid field is
 * rejected by its name; unknown fields are ignored, as PayPay does. */
#include "base/json/json.h"
#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/page/page.h"
#include "sandbox/paypay/paypay.h"

#include <string.h>

#define AMOUNT_MOST INT64_C(99999999999) /* eleven digits */
#define SECONDS_MOST INT64_C(99999999999)

struct body {
    struct pp_call *call;
    cJSON *json;
    struct json_problems problems; /* only their number is used */
    const char *wrong;             /* the first invalid field */
};

/* --- fields; of those that are not required, null is the same as absent --- */

static bool is_read(const cJSON *object, const char *name, bool required)
{
    return required || !cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(object, name));
}

static void note_problem(struct body *b, const char *name)
{
    if (b->problems.count && !b->wrong)
        b->wrong = name;
}

static void reject_field(struct body *b, const char *name)
{
    if (!b->wrong)
        b->wrong = name;
}

static struct str keep_text(struct body *b, struct str s)
{
    struct str copy = s.n ? arena_str(&b->call->request->arena, s) : S("");

    work_ok(&b->call->w, copy.p ? OK : ERR_NO_MEMORY);
    return copy;
}

static struct str read_text_of(struct body *b, const cJSON *object, const char *name, bool required,
                               size_t most)
{
    struct str s = S("");

    if (is_read(object, name, required))
        json_get_str(object, name, required, most, &s, &b->problems);
    note_problem(b, name);
    return keep_text(b, s);
}

static struct str read_text(struct body *b, const char *name, bool required, size_t most)
{
    return read_text_of(b, b->json, name, required, most);
}

/* An id of the merchant. It must fit into a path, since the merchant reads the object by it. */
static struct str read_id(struct body *b, const char *name)
{
    struct str s = read_text(b, name, true, LIMIT_SANDBOX_PP_ID);

    if (str_eq(s, S(".")) || str_eq(s, S("..")))
        reject_field(b, name);
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            reject_field(b, name);
    return s;
}

static int64_t read_number_of(struct body *b, const cJSON *object, const char *name, bool required,
                              int64_t most)
{
    int64_t n = 0;

    if (is_read(object, name, required))
        json_get_int(object, name, required, 1, most, &n, &b->problems);
    note_problem(b, name);
    return n;
}

static bool read_flag(struct body *b, const char *name)
{
    bool yes = false;

    if (is_read(b->json, name, false))
        json_get_bool(b->json, name, false, &yes, &b->problems);
    note_problem(b, name);
    return yes;
}

/* An amount in yen. */
static int64_t read_money(struct body *b, const cJSON *object, const char *name)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(object, name);
    struct str currency;

    if (!cJSON_IsObject(m)) {
        reject_field(b, name);
        return 0;
    }
    currency = read_text_of(b, m, "currency", true, 3);
    if (!str_eq(currency, S("JPY")))
        reject_field(b, "currency");
    return read_number_of(b, m, "amount", true, AMOUNT_MOST);
}

/* A JSON object, as it was sent. */
static struct str read_object(struct body *b, const char *name)
{
    const char *const path[] = { name };
    struct json_value v = { 0 };

    if (json_pick(b->call->request->body, path, 1, &v, NULL) ||
        (v.type != JSON_ABSENT && v.type != JSON_NULL && v.type != JSON_OBJECT))
        reject_field(b, name);
    return v.type == JSON_OBJECT ? v.raw : S("");
}

/* --- items --- */

static void put_item_text(struct body *b, struct buf *out, const cJSON *item, const char *name,
                          bool required)
{
    struct str s = read_text_of(b, item, name, required, LIMIT_SANDBOX_PP_TEXT);

    if (!s.n)
        return;
    buf_fmt(out, "\"%s\":", name);
    buf_json(out, s);
    buf_char(out, ',');
}

/* The price is called unitPrice in requests and details, unit_price in the answer that makes a
 * code. */
static void put_item(struct body *b, struct buf *out, const cJSON *item, const char *price)
{
    if (!cJSON_IsObject(item)) {
        reject_field(b, "orderItems");
        return;
    }
    buf_char(out, '{');
    put_item_text(b, out, item, "name", true);
    put_item_text(b, out, item, "category", false);
    put_item_text(b, out, item, "productId", false);
    buf_fmt(out, "\"quantity\":%lld,",
            (long long)read_number_of(b, item, "quantity", true, LIMIT_SANDBOX_QUANTITY));
    buf_fmt(out, "\"%s\":{\"amount\":%lld,\"currency\":\"JPY\"}}", price,
            (long long)read_money(b, item, "unitPrice"));
}

static struct str read_items(struct body *b, const char *price)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(b->json, "orderItems"), *item;
    int count = 0;
    struct buf out;

    if (!list || cJSON_IsNull(list))
        return S("");
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > LIMIT_SANDBOX_PP_ITEMS) {
        reject_field(b, "orderItems");
        return S("");
    }
    buf_init(&out, LIMIT_SANDBOX_OBJECT);
    buf_char(&out, '[');
    cJSON_ArrayForEach(item, list)
    {
        if (count++)
            buf_char(&out, ',');
        put_item(b, &out, item, price);
    }
    buf_char(&out, ']');
    return work_text_of(&b->call->w, &out);
}

/* --- bodies --- */

/* False: the body is not an object, and the call has been answered. */
static bool body_begin(struct body *b, struct pp_call *c)
{
    *b = (struct body){ .call = c };
    if (json_parse(c->request->body, &b->json, NULL))
        return pp_invalid(c, "body");
    if (!cJSON_IsObject(b->json)) {
        json_freep(&b->json);
        return pp_invalid(c, "body");
    }
    json_problems_init(&b->problems);
    c->in.requested_s = read_number_of(b, b->json, "requestedAt", true, SECONDS_MOST * 1000);
    return true;
}

static void body_end(struct body *b)
{
    if (b->wrong)
        pp_invalid(b->call, b->wrong);
    json_problems_release(&b->problems);
    json_freep(&b->json);
}

static void read_order(struct body *b)
{
    struct pp_input *in = &b->call->in;

    in->payment = read_id(b, "merchantPaymentId");
    in->amount = read_money(b, b->json, "amount");
    in->description = read_text(b, "orderDescription", false, LIMIT_SANDBOX_PP_TEXT);
    in->store_id = read_text(b, "storeId", false, LIMIT_SANDBOX_PP_TEXT);
    in->terminal_id = read_text(b, "terminalId", false, LIMIT_SANDBOX_PP_TEXT);
    in->items = read_items(b, "unitPrice");
    in->metadata = read_object(b, "metadata");
}

/* The address of a page or an app: any scheme that makes no browser run a script. */
static bool is_link(struct str url)
{
    const char *colon = url.n ? memchr(url.p, ':', url.n) : NULL;

    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.p[i] <= ' ' || url.p[i] == 0x7f)
            return false;
    return colon && colon > url.p && !str_starts(url, S("javascript:")) &&
           !str_starts(url, S("data:"));
}

static void read_redirect(struct body *b)
{
    struct pp_input *in = &b->call->in;
    bool web;

    in->redirect_url = read_text(b, "redirectUrl", false, LIMIT_SANDBOX_URL / 4);
    in->redirect_type = read_text(b, "redirectType", false, LIMIT_SANDBOX_PP_TEXT);
    if (!in->redirect_url.n && !in->redirect_type.n)
        return;
    if (!in->redirect_type.n)
        in->redirect_type = S("WEB_LINK");
    web = str_eq(in->redirect_type, S("WEB_LINK"));
    if (!web && !str_eq(in->redirect_type, S("APP_DEEP_LINK")))
        reject_field(b, "redirectType");
    if (in->redirect_url.n && !(web ? page_is_url(in->redirect_url) : is_link(in->redirect_url)))
        reject_field(b, "redirectUrl");
}

void pp_read_code(struct pp_call *c)
{
    struct pp_input *in = &c->in;
    struct body b;

    if (!body_begin(&b, c))
        return;
    read_order(&b);
    if (!str_eq(read_text(&b, "codeType", true, LIMIT_SANDBOX_PP_ID), S("ORDER_QR")))
        reject_field(&b, "codeType");
    in->items_echo = read_items(&b, "unit_price");
    in->store_info = read_text(&b, "storeInfo", false, LIMIT_SANDBOX_PP_TEXT);
    in->user_agent = read_text(&b, "userAgent", false, LIMIT_SANDBOX_URL / 4);
    in->authorization = read_flag(&b, "isAuthorization");
    in->expires_s = read_number_of(&b, b.json, "authorizationExpiry", false, SECONDS_MOST);
    read_redirect(&b);
    body_end(&b);
}

void pp_read_payment(struct pp_call *c)
{
    struct str agree = control_query(c->request, S("agreeSimilarTransaction"));
    struct pp_input *in = &c->in;
    struct body b;

    if (!body_begin(&b, c))
        return;
    read_order(&b);
    in->user = read_text(&b, "userAuthorizationId", true, LIMIT_SANDBOX_PP_TEXT);
    in->receipt = read_text(&b, "orderReceiptNumber", false, LIMIT_SANDBOX_PP_TEXT);
    in->expires_s = read_number_of(&b, b.json, "expiresAt", false, SECONDS_MOST);
    in->agree = str_eq(agree, S("true"));
    if (agree.n && !in->agree && !str_eq(agree, S("false")))
        reject_field(&b, "agreeSimilarTransaction");
    body_end(&b);
}

void pp_read_capture(struct pp_call *c)
{
    struct body b;

    if (!body_begin(&b, c))
        return;
    c->in.payment = read_id(&b, "merchantPaymentId");
    c->in.capture = read_id(&b, "merchantCaptureId");
    c->in.amount = read_money(&b, b.json, "amount");
    c->in.description = read_text(&b, "orderDescription", true, LIMIT_SANDBOX_PP_TEXT);
    body_end(&b);
}

void pp_read_revert(struct pp_call *c)
{
    struct body b;

    if (!body_begin(&b, c))
        return;
    c->in.revert = read_id(&b, "merchantRevertId");
    c->in.paypay_id = read_text(&b, "paymentId", true, LIMIT_SANDBOX_PP_ID);
    c->in.reason = read_text(&b, "reason", false, LIMIT_SANDBOX_PP_TEXT);
    body_end(&b);
}

void pp_read_refund(struct pp_call *c)
{
    struct body b;

    if (!body_begin(&b, c))
        return;
    c->in.refund = read_id(&b, "merchantRefundId");
    c->in.paypay_id = read_text(&b, "paymentId", true, LIMIT_SANDBOX_PP_ID);
    c->in.amount = read_money(&b, b.json, "amount");
    c->in.reason = read_text(&b, "reason", false, LIMIT_SANDBOX_PP_TEXT);
    body_end(&b);
}
