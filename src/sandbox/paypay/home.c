/* home.c - PayPay's part of the sandbox's front page: notification switches and faults, one click
 * each. Programs use POST /_sandbox/paypay/switches. */
#include "sandbox/page/home.h"

#include "sandbox/form.h"
#include "sandbox/paypay/paypay.h"

enum { HANG_MS = 20000, DELAY_MS = 3000 };

struct pp_home {
    struct pp_switches switches;
    struct pp_fault_rule *rules;
    size_t count;
};

/* The buttons: the faults of faults.c and their labels. */
static const struct {
    const char *name, *en, *ja;
} fault_labels[] = {
    { "not_done", "500, nothing done", "500（未処理）" },
    { "internal_error", "500, but done", "500（処理済み）" },
    { "lose_request", "Closed, nothing done", "切断（未処理）" },
    { "lose_reply", "Done, no answer", "処理後に無応答（切断）" },
    { "hang", "Done, silent for 20 s", "処理後に20秒沈黙" },
    { "hang_then_lose", "Silent for 20 s, then closed", "20秒沈黙して切断" },
    { "rate_limit", "429", "429" },
    { "maintenance", "Maintenance", "メンテナンス中" },
    { "transaction_failed", "Transaction failed", "取引失敗" },
    { "transaction_failed_too", "Transaction failed (400)", "取引失敗（400）" },
    { "balance_exceeded", "Balance exceeded", "残高不足" },
    { "canceled_user", "User has left", "退会したユーザー" },
    { "out_of_scope", "Out of scope", "権限なし" },
    { "client_not_found", "Client not found", "クライアントなし" },
    { "missing_params", "Missing parameters", "パラメーター不足" },
    { "qr_bad_request", "Bad code", "不正なコード" },
    { "timed_out", "Timed out, but done", "タイムアウト（処理済み）" },
    { "service_error", "Service error, but done", "サービスエラー（処理済み）" },
    { "html", "An HTML page", "HTMLページ" },
    { "bad_gateway", "502, but done", "502（処理済み）" },
    { "gateway_timeout", "504, but done", "504（処理済み）" },
    { "unavailable", "503, but done", "503（処理済み）" },
    { "redirect", "A redirect", "リダイレクト" },
    { "half", "Half a JSON", "JSONが途中まで" },
};

/* --- reading --- */

static bool keep_text(struct home_view *v, struct str *s)
{
    *s = arena_str(&v->request->arena, *s);
    return s->p;
}

enum err pp_home_read(struct home_view *v, struct tx *tx)
{
    struct work w = { .s = v->s, .tx = tx, .a = &v->request->arena, .now_ms = v->now_ms };
    struct pp_home *h = arena_alloc(w.a, 1, sizeof(*h));
    bool fine;

    if (!h)
        return ERR_NO_MEMORY;
    if (!work_ok(&w, pp_switches_read(tx, &h->switches)))
        return w.err;
    fine = keep_text(v, &h->switches.webhooks) && keep_text(v, &h->switches.webhook_url) &&
           keep_text(v, &h->switches.refunds);
    if (!pp_fault_rules(&w, &h->rules, &h->count))
        return w.err;
    for (size_t i = 0; fine && i < h->count; i++)
        fine = keep_text(v, &h->rules[i].fault) && keep_text(v, &h->rules[i].method) &&
               keep_text(v, &h->rules[i].path);
    v->paypay_switches = h;
    return fine ? OK : ERR_NO_MEMORY;
}

/* --- writing --- */

static void put_fault_label(struct buf *b, const struct home_view *v, struct str fault)
{
    for (size_t i = 0; i < COUNT(fault_labels); i++)
        if (str_eq(fault, str_of(fault_labels[i].name))) {
            home_say(b, v, fault_labels[i].en, fault_labels[i].ja);
            return;
        }
    page_text(b, fault);
}

static void put_rules(struct buf *b, const struct home_view *v, const struct pp_home *h)
{
    if (!h->count)
        return;
    buf_add(b, S("<ul>\n"));
    for (size_t i = 0; i < h->count; i++) {
        const struct pp_fault_rule *r = &h->rules[i];

        buf_add(b, S("<li>"));
        put_fault_label(b, v, r->fault);
        home_write_rule_rest(b, v, r->method, r->path, r->skip, r->times);
    }
    buf_add(b, S("</ul>\n"));
    home_write_clear(b, v, "pp_faults");
}

static void put_faults(struct buf *b, const struct home_view *v)
{
    home_write_times(b, v);
    for (size_t i = 0; i < COUNT(fault_labels); i++)
        home_write_button(b, v, "pp_fault", fault_labels[i].name, fault_labels[i].en,
                          fault_labels[i].ja);
    buf_add(b, S("</div></form>\n"));
}

static void put_switches(struct buf *b, const struct home_view *v, const struct pp_switches *s)
{
    home_write_form(b, v);
    buf_add(b, S("<div class=\"row\">\n"));
    home_write_toggle(b, v, "pp_switch", "on", str_eq(s->webhooks, S("on")), "Webhooks on",
                      "Webhook有効");
    home_write_toggle(b, v, "pp_switch", "off", str_eq(s->webhooks, S("off")), "Webhooks off",
                      "Webhook無効");
    home_write_toggle(b, v, "pp_switch", "duplicate", str_eq(s->webhooks, S("duplicate")),
                      "Duplicate", "重複");
    home_write_toggle(b, v, "pp_switch", "delay", str_eq(s->webhooks, S("delay")), "Delay", "遅延");
    home_write_toggle(b, v, "pp_switch", "many", str_eq(s->refunds, S("many")),
                      "Several refunds a payment", "複数回の返金を許可");
    home_write_toggle(b, v, "pp_switch", "confirm", s->confirm_capture,
                      "User is asked about captures", "売上確定にユーザー承認");
    buf_add(b, S("</div></form>\n"));
}

static void put_receiver(struct buf *b, const struct home_view *v, const struct pp_switches *s)
{
    struct str url = s->webhook_url.n ? s->webhook_url : v->s->o.paypay_webhook_url;

    buf_add(b, S("<p class=\"dim\">"));
    home_say(b, v, "Receiver: ", "宛先: ");
    page_text(b, url);
    if (!url.n)
        home_say(b, v, "none (ICHIDO_SANDBOX_WEBHOOKS=off, or no payment goes to PayPay here)",
                 "なし（ICHIDO_SANDBOX_WEBHOOKS=off、または PayPay を使う設定がありません）");
    buf_add(b, S("</p>\n"));
}

void pp_home_write(struct buf *b, const struct home_view *v)
{
    const struct pp_home *h = v->paypay_switches;

    buf_add(b, S("<h2 id=\"paypay\">"));
    home_say(b, v, "What goes wrong with PayPay", "PayPayで起こす障害");
    buf_add(b, S("</h2>\n"));
    put_receiver(b, v, &h->switches);
    put_switches(b, v, &h->switches);
    put_rules(b, v, h);
    put_faults(b, v);
}

/* --- a button was pressed --- */

static enum err back_to_page(struct act *a, struct work *w, const char *note)
{
    a->location = work_text(w, "/_sandbox?lang=%s%s%s#paypay",
                            page_language(a->request) == LANG_JA ? "ja" : "en",
                            note[0] ? "&note=" : "", note);
    return w->err;
}

static enum err add_fault(struct act *a, struct work *w)
{
    struct pp_fault_rule rule = { .fault = a->text[0], .times = a->number }, *all;
    const struct pp_fault_kind *kind = pp_fault_kind(a->text[0]);
    size_t count;

    if (!kind || a->number < 1 || a->number > HOME_TIMES_MOST)
        return back_to_page(a, w, "number");
    if (!pp_fault_rules(w, &all, &count))
        return w->err;
    if (count == LIMIT_SANDBOX_RULES)
        return back_to_page(a, w, "full");
    rule.method = rule.path = S("");
    rule.ms = kind->hangs ? HANG_MS : 0;
    return pp_fault_add(w, &rule) ? back_to_page(a, w, "") : w->err;
}

static enum err clear_faults(struct act *a, struct work *w)
{
    work_ok(w, tx_do(w->tx, STMT_sandbox_paypay_faults_clear, -1, NULL, 0));
    return w->err ? w->err : back_to_page(a, w, "");
}

static enum err set_switch(struct act *a, struct work *w)
{
    struct pp_switches s;
    struct str name = a->text[0];

    if (!work_ok(w, pp_switches_read(w->tx, &s)))
        return w->err;
    if (str_eq(name, S("many")))
        s.refunds = str_eq(s.refunds, S("many")) ? S("one") : S("many");
    else if (str_eq(name, S("confirm")))
        s.confirm_capture = !s.confirm_capture;
    else if (str_eq(name, S("on")) || str_eq(name, S("off")) || str_eq(name, S("duplicate")) ||
             str_eq(name, S("delay")))
        s.webhooks = name;
    else
        return back_to_page(a, w, "number");
    if (str_eq(s.webhooks, S("delay")) && !s.webhook_delay_ms)
        s.webhook_delay_ms = DELAY_MS;
    return pp_switches_write(w, &s) ? back_to_page(a, w, "") : w->err;
}

bool pp_home_press(struct request *r, struct sandbox *s, const struct form *form)
{
    static const struct {
        const char *field;
        enum err (*run)(struct act *a, struct work *w);
    } buttons[] = { { "pp_fault", add_fault },
                    { "pp_faults", clear_faults },
                    { "pp_switch", set_switch } };
    const struct form *times = form_get(form, S("times"));

    for (size_t i = 0; i < COUNT(buttons); i++) {
        const struct form *f = form_get(form, str_of(buttons[i].field));
        struct act a = { .run = buttons[i].run, .form = true };

        if (!f || !f->has_value || !f->value.n)
            continue;
        a.text[0] = f->value;
        if (!times || !times->has_value || !str_to_i64(times->value, &a.number))
            a.number = 0;
        act_post(r, s, &a, false);
        return true;
    }
    return false;
}
