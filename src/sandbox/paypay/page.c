/* page.c - the page behind a code's url, with the buttons Pay, Fail and Close. Programs use POST
 * /_sandbox/paypay/{merchantPaymentId}/pay and /fail. When the user is asked about a capture, Pay
 * agrees and Fail refuses. */
#include "sandbox/page/page.h"

#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/paypay/paypay.h"

/* --- what the user does --- */

/* UNPROCESSABLE: the user is not asked for anything. */
static enum err answer_capture(struct work *w, struct pp_payment *p, bool yes)
{
    struct pp_capture c;

    if (!pp_expire(w, p))
        return w->err;
    if (p->status != PP_REAUTHORIZING)
        return ERR_UNPROCESSABLE;
    if (!yes)
        return pp_capture_refused(w, p) ? OK : w->err;
    if (!work_ok(w, pp_capture_read(w->tx, p->id, &c)))
        return w->err;
    if (c.expires_ms <= w->now_ms)
        return ERR_UNPROCESSABLE;
    return pp_captured(w, p, &c) ? OK : w->err;
}

static enum err decide(struct work *w, struct str merchant_id, bool yes, struct pp_payment *p)
{
    struct pp_code code = { 0 };
    enum err e = pp_code_of(w->tx, merchant_id, &code);

    if (!e && pp_code_is_open(w, &code))
        return pp_code_use(w, &code, yes, p) ? OK : w->err;
    if (e && e != ERR_NOT_FOUND)
        return e;
    e = pp_payment_of(w->tx, merchant_id, p);
    if (e == ERR_NOT_FOUND && code.id.n)
        return ERR_UNPROCESSABLE; /* the code exists, but is no longer open */
    return e ? e : answer_capture(w, p, yes);
}

/* --- for programs --- */

static enum err decide_json(struct act *a, struct work *w, bool yes)
{
    struct pp_payment p;
    enum err e = decide(w, a->id, yes, &p);

    if (e == ERR_UNPROCESSABLE)
        a->why = "nobody asks the user for anything";
    if (e)
        return e;
    a->json = pp_payment_json(w, &p);
    return w->err;
}

static enum err run_pay(struct act *a, struct work *w)
{
    return decide_json(a, w, true);
}

static enum err run_fail(struct act *a, struct work *w)
{
    return decide_json(a, w, false);
}

void pp_control_pay(struct request *r, void *sandbox)
{
    struct act a = { .run = run_pay };

    if (act_read(r, &a, NULL, 0))
        act_post(r, sandbox, &a, false);
}

void pp_control_fail(struct request *r, void *sandbox)
{
    struct act a = { .run = run_fail };

    if (act_read(r, &a, NULL, 0))
        act_post(r, sandbox, &a, false);
}

/* --- the page --- */

/* What the page shows. */
struct view {
    bool asks;       /* for the payment */
    bool asks_again; /* to agree to a capture */
    int64_t amount;
    enum pp_status status;
    bool has_payment;
};

static enum err read_view(struct work *w, const struct pp_code *code, struct view *v)
{
    struct pp_payment p;
    struct pp_capture c;
    enum err e;

    *v = (struct view){ .asks = pp_code_is_open(w, code), .amount = code->amount };
    e = pp_payment_of(w->tx, code->payment, &p);
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    v->has_payment = true;
    v->status = p.status;
    if (p.status != PP_REAUTHORIZING)
        return OK;
    e = pp_capture_read(w->tx, p.id, &c);
    v->asks_again = !e && c.expires_ms > w->now_ms;
    v->amount = e ? v->amount : c.amount;
    return e;
}

static struct str state_words(enum language l, const struct pp_code *code, const struct view *v)
{
    if (v->asks)
        return S("");
    if (v->asks_again)
        return page_say(l, "The shop asks for this amount. Do you agree?",
                        "加盟店がこの金額を請求しています。承認しますか？");
    if (v->has_payment && v->status == PP_DECLINED)
        return page_say(l, "The payment failed.", "お支払いに失敗しました。");
    if (v->has_payment && v->status == PP_AUTHORIZED)
        return page_say(l, "The amount is reserved.", "お支払いの予約が完了しています。");
    if (v->has_payment && v->status == PP_COMPLETED)
        return page_say(l, "This has been paid.", "お支払いは完了しています。");
    if (v->has_payment)
        return page_say(l, "This payment has ended.", "このお支払いは終了しています。");
    return str_eq(code->status, S("deleted"))
               ? page_say(l, "The shop has deleted this code.", "このコードは削除されました。")
               : page_say(l, "This code has expired.", "このコードの有効期限が切れました。");
}

static void put_button(struct buf *b, const char *value, struct str words)
{
    buf_fmt(b, "<button name=\"act\" value=\"%s\">", value);
    buf_add(b, words);
    buf_add(b, S("</button>\n"));
}

static void put_form(struct buf *b, enum language l, const struct view *v, bool leads_on)
{
    bool asks = v->asks || v->asks_again;

    if (!asks && !leads_on)
        return;
    buf_add(b, S("<form method=\"post\">\n<p>"));
    if (asks) {
        put_button(b, "pay", page_say(l, "Pay", "支払う"));
        put_button(b, "fail", page_say(l, "Fail", "失敗させる"));
    }
    put_button(b, "cancel", page_say(l, "Close", "閉じる"));
    buf_add(b, S("</p>\n</form>\n"));
}

static enum err show_page(struct act *a, struct work *w, const struct pp_code *code)
{
    enum language l = page_language(a->request);
    struct view v;
    enum err e = read_view(w, code, &v);
    struct buf b;

    if (e)
        return e;
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    page_begin(&b, l, l == LANG_JA ? "PayPayでお支払い" : "Pay with PayPay");
    buf_add(&b, S("<p>"));
    page_text(&b, code->description);
    buf_add(&b, S("</p>\n<p><strong>"));
    page_money(&b, v.amount, S("jpy"));
    buf_add(&b, S("</strong></p>\n<p role=\"status\">"));
    buf_add(&b, state_words(l, code, &v));
    buf_add(&b, S("</p>\n"));
    put_form(&b, l, &v, code->redirect_url.n > 0);
    page_end(&b, l);
    a->html = work_text_of(w, &b);
    return w->err;
}

/* To the shop's page or app; without one, back to this page, which shows the state. */
static enum err leave_page(struct act *a, struct work *w, const struct pp_code *code)
{
    a->location = code->redirect_url.n ? arena_str(w->a, code->redirect_url)
                                       : work_text(w, "/_sandbox/paypay_code/" STR_FMT "%s",
                                                   STR_ARG(code->id), page_query(a->request));
    return a->location.p ? w->err : ERR_NO_MEMORY;
}

static enum err page_show(struct act *a, struct work *w)
{
    struct pp_code code;
    enum err e = pp_code_read(w->tx, a->id, &code);

    return e ? e : show_page(a, w, &code);
}

/* A button that comes too late changes nothing, and the page shows why. */
static enum err page_press(struct act *a, struct work *w)
{
    struct str button = a->text[0];
    struct pp_payment p;
    struct pp_code code;
    enum err e = pp_code_read(w->tx, a->id, &code);

    if (!e && !str_eq(button, S("cancel")))
        e = decide(w, code.payment, str_eq(button, S("pay")), &p);
    if (e == ERR_UNPROCESSABLE)
        code.redirect_url = S("");
    else if (e)
        return e;
    return leave_page(a, w, &code);
}

void pp_control_show(struct request *r, void *sandbox)
{
    act_post(r, sandbox, &(struct act){ .run = page_show }, true);
}

void pp_control_use(struct request *r, void *sandbox)
{
    static const char *const names[] = { "act" };
    struct act a = { .run = page_press };
    struct str b;

    if (!act_is_form(r)) {
        reply_problem(r, ERR_MEDIA_TYPE, NULL);
        return;
    }
    if (!act_read_form(r, &a, names, COUNT(names)))
        return;
    b = a.text[0];
    if (!str_eq(b, S("pay")) && !str_eq(b, S("fail")) && !str_eq(b, S("cancel")))
        reply_problem(r, ERR_VALIDATION, "act is pay, fail or cancel");
    else
        act_post(r, sandbox, &a, false);
}
