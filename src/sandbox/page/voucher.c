/* voucher.c - the konbini slip as a page with two buttons: paid, or expired. A program posts to
 * /pay and /expire. */
#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/page/page.h"
#include "sandbox/stripe/checkout.h"

#include <stdio.h>
#include <time.h>

/* --- the page --- */

static void put_end(struct buf *b, enum language l, int64_t ms)
{
    time_t s = (time_t)(ms / 1000 + 9 * 3600); /* Japan's time */
    char text[32] = "";
    struct tm tm;

    if (gmtime_r(&s, &tm))
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm);
    buf_add(b, S("<p>"));
    buf_add(b, page_say(l, "Pay until", "お支払い期限"));
    buf_fmt(b, ": %s JST</p>\n", text);
}

static void put_slip(struct buf *b, enum language l, const struct intent *p,
                     const struct voucher *x)
{
    buf_add(b, S("<p><strong>"));
    page_money(b, p->amount, p->currency);
    buf_add(b, S("</strong></p>\n<p>"));
    page_text(b, p->description);
    buf_add(b, S("</p>\n"));
    put_end(b, l, x->shown_until_ms);
    buf_add(b, S("<table>\n"));
    for (size_t i = 0; i < sb_store_count; i++) {
        buf_add(b, S("<tr><th>"));
        page_text(b, sb_stores[i]);
        buf_add(b, S("</th><td>"));
        page_text(b, x->code);
        buf_add(b, S("</td><td>"));
        page_text(b, x->number);
        buf_add(b, S("</td></tr>\n"));
    }
    buf_add(b, S("</table>\n"));
}

static void put_buttons(struct buf *b, enum language l, struct str id, const char *query)
{
    static const struct {
        const char *act, *en, *ja;
    } buttons[] = {
        { "pay", "It is paid in the store", "コンビニで支払う" },
        { "expire", "Let it expire", "期限切れにする" },
    };

    for (size_t i = 0; i < COUNT(buttons); i++) {
        buf_add(b, S("<form method=\"post\" action=\"/_sandbox/konbini/"));
        page_text(b, id);
        buf_fmt(b, "/%s%s\"><button>", buttons[i].act, query);
        buf_add(b, page_say(l, buttons[i].en, buttons[i].ja));
        buf_add(b, S("</button></form>\n"));
    }
}

static void put_state(struct buf *b, enum language l, const struct intent *p)
{
    buf_add(b, S("<p role=\"status\">"));
    buf_add(b, p->status == INTENT_SUCCEEDED
                   ? page_say(l, "This has been paid.", "お支払いは完了しています。")
                   : page_say(l, "This slip can no longer be paid.",
                              "この払込票ではお支払いいただけません。"));
    buf_add(b, S("</p>\n"));
}

/* --- the units --- */

/* NOT_FOUND: the intent never had a slip. */
static enum err voucher_find(struct act *a, struct work *w, struct intent *p, struct voucher *x)
{
    enum err e = sb_intent_read(w->tx, a->id, p);

    if (e)
        return e;
    e = sb_voucher_read(w->tx, a->id, x);
    return e || x->code.n ? e : ERR_NOT_FOUND;
}

static enum err voucher_show(struct act *a, struct work *w)
{
    enum language l = page_language(a->request);
    struct voucher x;
    struct intent p;
    struct buf b;
    enum err e = voucher_find(a, w, &p, &x);

    if (e)
        return e;
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    page_begin(&b, l, l == LANG_JA ? "コンビニ払い" : "Pay in a convenience store");
    put_slip(&b, l, &p, &x);
    if (sb_voucher_waits(&p))
        put_buttons(&b, l, p.id, page_query(a->request));
    else
        put_state(&b, l, &p);
    page_end(&b, l);
    a->html = work_text_of(w, &b);
    return w->err;
}

static enum err voucher_answer(struct act *a, struct work *w, const struct intent *p)
{
    if (a->form)
        a->location =
            work_text(w, "/_sandbox/konbini/" STR_FMT "%s", STR_ARG(p->id), page_query(a->request));
    else
        a->json = sb_intent_json(w, p, 0);
    return w->err;
}

static enum err find_waiting(struct act *a, struct work *w, struct intent *p)
{
    enum err e = sb_intent_read(w->tx, a->id, p);

    if (e || sb_voucher_waits(p))
        return e;
    a->why = "nobody waits for this to be paid in a store";
    return ERR_UNPROCESSABLE;
}

static bool is_store(struct str name)
{
    for (size_t i = 0; i < sb_store_count; i++)
        if (str_eq(sb_stores[i], name))
            return true;
    return false;
}

static enum err page_voucher_pay(struct act *a, struct work *w)
{
    struct str store = a->text[0].n ? a->text[0] : sb_stores[0];
    struct intent p;
    enum err e = find_waiting(a, w, &p);

    if (e)
        return e;
    a->why = "store is familymart, lawson, ministop or seicomart";
    if (!is_store(store))
        return ERR_VALIDATION;
    return sb_voucher_pay(w, &p, store) ? voucher_answer(a, w, &p) : w->err;
}

static enum err voucher_expire(struct act *a, struct work *w)
{
    struct intent p;
    enum err e = find_waiting(a, w, &p);

    if (e)
        return e;
    return sb_voucher_expire(w, &p) ? voucher_answer(a, w, &p) : w->err;
}

/* --- the handlers --- */

void control_show_voucher(struct request *r, void *sandbox)
{
    act_post(r, sandbox, &(struct act){ .run = voucher_show }, true);
}

void control_pay_voucher(struct request *r, void *sandbox)
{
    static const struct act_text texts[] = { { "store", false } };
    static const char *const names[] = { "store" };
    struct act a = { .run = page_voucher_pay };

    if (act_is_form(r) ? act_read_form(r, &a, names, COUNT(names))
                       : act_read(r, &a, texts, COUNT(texts)))
        act_post(r, sandbox, &a, false);
}

void control_end_voucher(struct request *r, void *sandbox)
{
    struct act a = { .run = voucher_expire, .form = act_is_form(r) };

    if (a.form || act_read(r, &a, NULL, 0))
        act_post(r, sandbox, &a, false);
}
