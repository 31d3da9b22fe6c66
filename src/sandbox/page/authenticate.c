/* authenticate.c - the page on which the customer answers the 3-D Secure question, with two
 * buttons. A program sends {"result":"success"} instead. The texts come from a merchant, so each is
 * escaped, and the policy forbids the browser to run anything. */
#include "base/json/json.h"
#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/page/page.h"
#include "sandbox/stripe/model.h"

#include <stdio.h>
#include <string.h>

struct question {
    struct unit unit;
    struct request *request;
    struct sandbox *sandbox;
    struct str intent;
    bool answering, success, plain; /* plain: a program asks and gets JSON */
    /* What the unit read: */
    enum intent_status status;
    int64_t amount;
    bool wallet; /* a wallet's page, not a card's */
    struct str currency, description, return_url;
};

/* --- the unit --- */

static enum err read_intent(struct tx *tx, struct question *q)
{
    struct arena *a = &q->request->arena;
    struct intent p;
    enum err e = sb_intent_read(tx, q->intent, &p);

    if (e)
        return e;
    q->status = p.status;
    q->amount = p.amount;
    q->wallet = str_eq(p.card, S("paypay"));
    q->currency = arena_str(a, p.currency);
    q->description = arena_str(a, p.description);
    q->return_url = arena_str(a, p.return_url);
    return q->currency.p && q->description.p && q->return_url.p ? OK : ERR_NO_MEMORY;
}

static enum err question_run(struct tx *tx, struct unit *u)
{
    return read_intent(tx, CONTAINER_OF(u, struct question, unit));
}

static enum err answer_run(struct tx *tx, struct unit *u)
{
    struct question *q = CONTAINER_OF(u, struct question, unit);
    enum err e = read_intent(tx, q);

    if (e)
        return e;
    if (q->status != INTENT_NEEDS_ACTION)
        return ERR_UNPROCESSABLE;
    e = sandbox_authenticate(q->sandbox, tx, &q->request->arena, q->intent, q->success);
    return e ? e : read_intent(tx, q);
}

/* --- pages --- */

static void begin_page(struct buf *b, const struct question *q, enum language l)
{
    buf_init(b, LIMIT_REPLY);
    page_begin(b, l, q->wallet ? "PayPay" : l == LANG_JA ? "カード認証" : "Card authentication");
    buf_add(b, S("<p><strong>"));
    page_money(b, q->amount, q->currency);
    buf_add(b, S("</strong></p>\n<p>"));
    page_text(b, q->description);
    buf_add(b, S("</p>\n<p><code>"));
    page_text(b, q->intent);
    buf_add(b, S("</code></p>\n"));
}

static void reply_page(const struct question *q, struct buf *b, enum language l)
{
    page_end(b, l);
    page_headers(q->request);
    control_reply(q->request, 200, S("text/html; charset=utf-8"), b);
}

static void reply_question(const struct question *q)
{
    enum language l = page_language(q->request);
    struct buf b;

    begin_page(&b, q, l);
    buf_add(&b, S("<form method=\"post\">\n<button name=\"result\" value=\"success\">"));
    buf_add(&b, q->wallet ? page_say(l, "Pay", "支払う") : page_say(l, "Authorise", "認証する"));
    buf_add(&b, S("</button>\n<button name=\"result\" value=\"fail\">"));
    buf_add(&b, page_say(l, "Fail", "失敗させる"));
    buf_add(&b, S("</button>\n</form>\n"));
    reply_page(q, &b, l);
}

static bool is_approved(const struct question *q)
{
    return q->status == INTENT_NEEDS_CAPTURE || q->status == INTENT_SUCCEEDED ||
           q->status == INTENT_PROCESSING || q->status == INTENT_NEEDS_CONFIRM;
}

static void reply_done(const struct question *q)
{
    enum language l = page_language(q->request);
    struct buf b;

    begin_page(&b, q, l);
    buf_add(&b, S("<p role=\"status\">"));
    buf_add(&b, is_approved(q) ? page_say(l, "Done. You may close this page.",
                                          "認証が完了しました。この画面を閉じてください。")
                               : page_say(l, "The payment has not been authorised.",
                                          "支払いは承認されていません。"));
    buf_add(&b, S("</p>\n"));
    reply_page(q, &b, l);
}

/* --- after the answer --- */

/* Redirects to the merchant's page with the parameters that Stripe adds, before a fragment. */
static void reply_return(const struct question *q)
{
    struct str fragment = q->return_url, url = str_cut(&fragment, '#');
    struct buf b;

    buf_init(&b, LIMIT_REPLY_HEADERS);
    buf_add(&b, url);
    buf_char(&b, memchr(url.p, '?', url.n) ? '&' : '?');
    buf_add(&b, S("payment_intent="));
    buf_add(&b, q->intent);
    buf_fmt(&b, "&redirect_status=%s", is_approved(q) ? "succeeded" : "failed");
    if (fragment.n) {
        buf_char(&b, '#');
        buf_add(&b, fragment);
    }
    reply_header(q->request, S("Location"), buf_str(&b));
    reply_header(q->request, S("Cache-Control"), S("no-store"));
    buf_release(&b);
    reply_send(q->request, 303, S(""), S(""));
}

static void reply_json(const struct question *q)
{
    struct buf b;

    buf_init(&b, LIMIT_REPLY);
    buf_add(&b, S("{\"id\":"));
    buf_json(&b, q->intent);
    buf_add(&b, S(",\"status\":"));
    buf_json(&b, sb_intent_status_text(q->status));
    buf_add(&b, S("}\n"));
    control_reply(q->request, 200, S("application/json"), &b);
}

static void question_done(struct unit *u)
{
    struct question *q = CONTAINER_OF(u, struct question, unit);

    if (u->err)
        reply_problem(q->request, u->err,
                      u->err == ERR_UNPROCESSABLE ? "nobody waits for an answer any more" : NULL);
    else if (!q->answering && q->status == INTENT_NEEDS_ACTION)
        reply_question(q);
    else if (q->plain)
        reply_json(q);
    else if (q->answering && page_is_url(q->return_url))
        reply_return(q);
    else
        reply_done(q);
}

/* --- the request --- */

static void question_post(struct request *r, struct sandbox *s, const struct question *as)
{
    static const struct unit_kind looks = { "sandbox.question", UNIT_READ, question_run, NULL };
    static const struct unit_kind answers = { "sandbox.answer", UNIT_FRONT, answer_run, NULL };
    struct question *q = arena_alloc(&r->arena, 1, sizeof(*q));

    if (!q) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    *q = *as;
    q->request = r;
    q->sandbox = s;
    q->intent = r->params[0];
    q->unit = (struct unit){ .kind = q->answering ? &answers : &looks,
                             .executor = r->executor,
                             .done = question_done,
                             .arena = &r->arena };
    store_post(s->store, &q->unit);
}

void control_ask_customer(struct request *r, void *sandbox)
{
    question_post(r, sandbox, &(struct question){ 0 });
}

static bool read_result(struct str result, struct question *q)
{
    q->success = str_eq(result, S("success"));
    return q->success || str_eq(result, S("fail"));
}

static bool read_json(struct str body, struct question *q)
{
    static const char *const path[] = { "result" };
    struct json_value v;

    q->plain = true;
    return !json_pick(body, path, 1, &v, NULL) && v.type == JSON_STRING && read_result(v.raw, q);
}

/* The form of the page: one button was pressed. */
static bool read_form(struct str body, struct question *q)
{
    struct str value = body, name = str_cut(&value, '=');

    return str_eq(name, S("result")) && read_result(value, q);
}

void control_authenticate(struct request *r, void *sandbox)
{
    struct question q = { .answering = true };
    struct str type = request_header(r, S("Content-Type"), NULL);
    bool json = str_starts(type, S("application/json"));

    if (json ? read_json(r->body, &q) : read_form(r->body, &q))
        question_post(r, sandbox, &q);
    else
        reply_problem(r, ERR_VALIDATION, "result is success or fail");
}
