/* transfer.c - the page of a bank transfer (hosted_instructions_url): the missing amount, and a
 * form that sends some. A program calls Stripe's fund_cash_balance. */
#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/page/page.h"
#include "sandbox/stripe/customers.h"

static int64_t transfer_missing(struct work *w, const struct intent *p)
{
    struct transfer t;
    enum err e = sb_transfer_read(w->tx, p->id, &t);

    if (e && e != ERR_NOT_FOUND)
        work_ok(w, e);
    return p->amount - (e ? 0 : t.funded);
}

static void put_form(struct buf *b, enum language l, int64_t amount)
{
    buf_fmt(b,
            "<form method=\"post\">\n<p><label>%s <input name=\"amount\" inputmode=\"numeric\" "
            "value=\"%lld\"></label></p>\n<p><button>%s</button></p>\n</form>\n",
            l == LANG_JA ? "振込金額（円）" : "Amount (yen)", (long long)amount,
            l == LANG_JA ? "振り込む" : "Send");
}

static void put_rest(struct buf *b, enum language l, const struct intent *p, int64_t amount)
{
    buf_add(b, S("<p>"));
    buf_add(b, page_say(l, "Still missing", "残りの金額"));
    buf_add(b, S(": <strong>"));
    page_money(b, amount, p->currency);
    buf_add(b, S("</strong></p>\n<p>サンドボックス銀行 本店 <code>"));
    page_text(b, sb_id_stem(p->id));
    buf_add(b, S("</code></p>\n"));
    put_form(b, l, amount);
}

static enum err transfer_show(struct act *a, struct work *w)
{
    enum language l = page_language(a->request);
    struct intent p;
    struct buf b;
    enum err e = sb_intent_read(w->tx, a->id, &p);

    if (e || !str_eq(p.card, S("customer_balance")))
        return e ? e : ERR_NOT_FOUND;
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    page_begin(&b, l, l == LANG_JA ? "銀行振込" : "Bank transfer");
    if (sb_transfer_waits(&p)) {
        put_rest(&b, l, &p, transfer_missing(w, &p));
    } else {
        buf_add(&b, S("<p role=\"status\">"));
        buf_add(&b, p.status == INTENT_SUCCEEDED
                        ? page_say(l, "This has been paid.", "お支払いは完了しています。")
                        : page_say(l, "Nobody waits for this any more.",
                                   "このお支払いは受け付けていません。"));
        buf_add(&b, S("</p>\n"));
    }
    page_end(&b, l);
    a->html = work_text_of(w, &b);
    return w->err;
}

static enum err transfer_send(struct act *a, struct work *w)
{
    struct customer c;
    struct intent p;
    int64_t amount;
    enum err e = sb_intent_read(w->tx, a->id, &p);

    if (e)
        return e;
    a->why = "nobody waits for this any more";
    if (!sb_transfer_waits(&p))
        return ERR_UNPROCESSABLE;
    a->why = "amount is a whole number of yen";
    if (!str_to_i64(str_trim(a->text[0]), &amount) || amount < 1 ||
        amount > LIMIT_SANDBOX_AMOUNT_MOST)
        return ERR_VALIDATION;
    a->why = NULL;
    e = sb_customer_read(w->tx, p.customer, &c);
    if (e)
        return e;
    if (sb_cash_add(w, &c, amount))
        a->location = work_text(w, "/_sandbox/transfer/" STR_FMT "%s", STR_ARG(a->id),
                                page_query(a->request));
    return w->err;
}

void control_show_transfer(struct request *r, void *sandbox)
{
    act_post(r, sandbox, &(struct act){ .run = transfer_show }, true);
}

void control_send_transfer(struct request *r, void *sandbox)
{
    static const char *const names[] = { "amount" };
    struct act a = { .run = transfer_send };

    if (!act_is_form(r))
        reply_problem(r, ERR_MEDIA_TYPE, NULL);
    else if (act_read_form(r, &a, names, COUNT(names)))
        act_post(r, sandbox, &a, false);
}
