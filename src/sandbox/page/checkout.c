/* checkout.c - the page of a Checkout Session, on which a person picks a test card or konbini and
 * pays or goes back. A program sends {"paymentMethod": ...} to its /pay. */
#include "sandbox/stripe/checkout.h"

#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/page/page.h"

#include <string.h>

/* --- the method --- */

static const struct {
    const char *method, *en, *ja;
} choices[] = {
    { "pm_card_visa", "Visa 4242 (pays)", "Visa 4242（支払い成功）" },
    { "pm_card_chargeDeclined", "Card that is declined", "拒否されるカード" },
    { "pm_card_chargeDeclinedInsufficientFunds", "Card without enough money", "残高不足のカード" },
    { "pm_card_threeDSecure2Required", "Card with 3-D Secure", "3Dセキュアのカード" },
    { "konbini", "Convenience store (konbini)", "コンビニ払い" },
    { "paypay", "PayPay", "PayPay" },
    { "sepa_debit", "Bank debit (SEPA, pays)", "口座振替（SEPA、支払い成功）" },
    { "sepa_debit_fails", "Bank debit (SEPA, fails)", "口座振替（SEPA、失敗）" },
};

/* The choices that are not cards have names of their own. */
static const struct card *checkout_chosen(struct str name)
{
    const struct card *card = card_by_name(name);

    return card && card->type ? card : card_by_token(name);
}

static enum err find_method(struct act *a, struct work *w, const struct session *s,
                            struct method *m)
{
    const struct card *card = checkout_chosen(a->text[0]);
    struct str email = a->text[1].n ? a->text[1] : s->customer_email;

    a->why = "there is no such payment method";
    if (card && !sb_method_new(w, card, sb_billing_of(w, email), m))
        return w->err;
    if (!card) {
        enum err e = sb_method_read(w->tx, a->text[0], m);

        if (e)
            return e == ERR_NOT_FOUND ? ERR_VALIDATION : e;
    }
    if (card && card->outcome == CARD_DEBIT) {
        m->iban = str_of(card->number);
        sb_method_write(w, m);
    }
    a->why = "the session does not take this type of payment";
    return page_list_has(s->method_types, method_type_of(m->card)->name) ? OK : ERR_VALIDATION;
}

/* --- the page --- */

static void put_lines(struct work *w, struct buf *b, const struct session *s)
{
    struct item *items = NULL;
    size_t count = 0;

    sb_items_of(w, s->id, &items, &count);
    buf_add(b, S("<ul>\n"));
    for (size_t i = 0; i < count; i++) {
        buf_add(b, S("<li>"));
        page_text(b, items[i].description);
        buf_fmt(b, " × %lld: ", (long long)items[i].quantity);
        page_money(b, items[i].amount, s->currency);
        buf_add(b, S("</li>\n"));
    }
    buf_add(b, S("</ul>\n<p><strong>"));
    page_money(b, s->amount, s->currency);
    buf_add(b, S("</strong></p>\n"));
}

static void put_choices(struct buf *b, enum language l, const struct session *s)
{
    bool first = true;

    for (size_t i = 0; i < COUNT(choices); i++) {
        const struct card *card = checkout_chosen(str_of(choices[i].method));

        if (!page_list_has(s->method_types, card_type(card)))
            continue;
        buf_fmt(b, "<p><label><input type=\"radio\" name=\"method\" value=\"%s\"%s> ",
                choices[i].method, first ? " checked" : "");
        buf_add(b, page_say(l, choices[i].en, choices[i].ja));
        buf_add(b, S("</label></p>\n"));
        first = false;
    }
}

static void put_form(struct buf *b, enum language l, const struct session *s)
{
    buf_add(b, S("<form method=\"post\">\n"));
    put_choices(b, l, s);
    buf_add(b, S("<p><label>"));
    buf_add(b, page_say(l, "E-mail", "メールアドレス"));
    buf_add(b, S(" <input type=\"email\" name=\"email\" value=\""));
    page_text(b, s->payer_email.n ? s->payer_email : s->customer_email);
    buf_add(b, S("\"></label></p>\n<p><button name=\"act\" value=\"pay\">"));
    buf_add(b, page_say(l, "Pay", "支払う"));
    buf_add(b, S("</button>\n"));
    if (s->cancel_url.n) {
        buf_add(b, S("<button name=\"act\" value=\"cancel\" formnovalidate>"));
        buf_add(b, page_say(l, "Cancel", "キャンセル"));
        buf_add(b, S("</button>"));
    }
    buf_add(b, S("</p>\n</form>\n"));
}

static struct str last_failure(struct work *w, const struct session *s)
{
    static const char *const path[] = { "message" };
    struct json_value v;
    struct intent p;

    if (!s->intent.n || !work_ok(w, sb_intent_read(w->tx, s->intent, &p)) || !p.last_error.n ||
        json_pick(p.last_error, path, 1, &v, NULL) || v.type != JSON_STRING)
        return S("");
    return v.raw;
}

static struct str state_words(enum language l, const struct work *w, const struct session *s)
{
    if (sb_session_is_open(w, s))
        return S("");
    if (!str_eq(s->status, S("complete")))
        return page_say(l, "This page has expired.", "このページの有効期限が切れました。");
    return str_eq(s->payment_status, S("paid"))
               ? page_say(l, "This has been paid.", "お支払いは完了しています。")
               : page_say(l, "The money has not come yet.", "お支払いをお待ちしています。");
}

static void put_note(struct buf *b, struct str s)
{
    if (!s.n)
        return;
    buf_add(b, S("<p role=\"status\">"));
    page_text(b, s);
    buf_add(b, S("</p>\n"));
}

static enum err show_page(struct act *a, struct work *w, const struct session *s)
{
    enum language l = page_language(a->request);
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    page_begin(&b, l, l == LANG_JA ? "お支払い" : "Checkout");
    put_lines(w, &b, s);
    put_note(&b, state_words(l, w, s));
    if (sb_session_is_open(w, s)) {
        put_note(&b, last_failure(w, s));
        put_form(&b, l, s);
    }
    page_end(&b, l);
    a->html = work_text_of(w, &b);
    return w->err;
}

/* --- redirects --- */

/* Redirects to success_url, in which {CHECKOUT_SESSION_ID} stands for the session's id. */
static enum err redirect_to_merchant(struct act *a, struct work *w, const struct session *s)
{
    static const struct str mark = { "{CHECKOUT_SESSION_ID}", 21 };
    struct str rest = s->success_url;
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    while (rest.n) {
        const char *at = memmem(rest.p, rest.n, mark.p, mark.n);
        size_t n = at ? (size_t)(at - rest.p) : rest.n;

        buf_add(&b, (struct str){ rest.p, n });
        if (at)
            buf_add(&b, s->id);
        n += at ? mark.n : 0;
        rest = (struct str){ rest.p + n, rest.n - n };
    }
    a->location = work_text_of(w, &b);
    return w->err;
}

/* Where the customer goes after an attempt: to the merchant, to the 3-D Secure page, or back to
 * this page, which shows the decline. */
static enum err redirect_next(struct act *a, struct work *w, const struct session *s,
                              const struct intent *p)
{
    if (str_eq(s->status, S("complete")))
        return redirect_to_merchant(a, w, s);
    if (p->status == INTENT_NEEDS_ACTION)
        a->location = work_text(w, "/_sandbox/authenticate/" STR_FMT "%s", STR_ARG(p->id),
                                page_query(a->request));
    else
        a->location = work_text(w, "/_sandbox/checkout/" STR_FMT "%s", STR_ARG(s->id),
                                page_query(a->request));
    return w->err;
}

/* --- the units --- */

static enum err read_session(struct act *a, struct work *w, struct session *s)
{
    return sb_session_read(w->tx, a->id, s);
}

/* A customer who returns from 3-D Secure with a complete session is sent on to the merchant. */
static enum err checkout_show(struct act *a, struct work *w)
{
    struct session s;
    enum err e = read_session(a, w, &s);
    bool back = control_query(a->request, S("redirect_status")).n > 0;

    if (e)
        return e;
    return back && str_eq(s.status, S("complete")) ? redirect_to_merchant(a, w, &s)
                                                   : show_page(a, w, &s);
}

static enum err checkout_pay(struct act *a, struct work *w)
{
    struct confirmation how = { 0 };
    struct pay_attempt attempt;
    struct session s;
    struct method m;
    struct intent p;
    enum err e = read_session(a, w, &s);

    if (e)
        return e;
    if (!sb_session_is_open(w, &s)) {
        a->why = "the session is not open any more";
        return ERR_UNPROCESSABLE;
    }
    e = find_method(a, w, &s, &m);
    if (e)
        return e;
    a->why = NULL;
    if (a->text[1].n)
        s.payer_email = a->text[1];
    if (!sb_session_pay(w, &s, &m, &how, &p, &attempt))
        return w->err;
    if (a->form)
        return redirect_next(a, w, &s, &p);
    a->json = sb_session_json(w, &s, 0);
    return w->err;
}

static enum err checkout_cancel(struct act *a, struct work *w)
{
    struct session s;
    enum err e = read_session(a, w, &s);

    if (e)
        return e;
    a->why = "the session has no cancel_url";
    a->location = arena_str(w->a, s.cancel_url);
    return a->location.n ? OK : ERR_UNPROCESSABLE;
}

/* --- the handlers --- */

void control_show_checkout(struct request *r, void *sandbox)
{
    act_post(r, sandbox, &(struct act){ .run = checkout_show }, true);
}

void control_use_checkout(struct request *r, void *sandbox)
{
    static const char *const names[] = { "method", "email" };
    static const char *const which[] = { "act" };
    struct act a = { .run = checkout_pay }, button = { 0 };

    if (!act_is_form(r)) {
        reply_problem(r, ERR_MEDIA_TYPE, NULL);
        return;
    }
    if (!act_read_form(r, &button, which, COUNT(which)) ||
        !act_read_form(r, &a, names, COUNT(names)))
        return;
    if (str_eq(button.text[0], S("cancel")))
        a.run = checkout_cancel;
    act_post(r, sandbox, &a, a.run == checkout_cancel);
}

void control_pay_checkout(struct request *r, void *sandbox)
{
    static const struct act_text texts[] = { { "paymentMethod", true }, { "email", false } };
    struct act a = { .run = checkout_pay };

    if (act_read(r, &a, texts, COUNT(texts)))
        act_post(r, sandbox, &a, false);
}
