/* home_write.c - the front page as HTML: payments, events and what waits. Every text from outside
 * is escaped. */
#include "base/time/civil.h"
#include "sandbox/page/home.h"

const char home_style[] =
    ":root{color-scheme:light "
    "dark;--line:#d0d4da;--dim:#5b6470;--box:#f6f7f9;--go:#0a58ca;--bad:#b0"
    "2a37;--good:#146c43}*{box-sizing:border-box}body{font:1rem/1.55 "
    "system-ui,sans-serif;max-width:"
    "64rem;margin:0 "
    "auto;padding:1rem;color:#1a1a1a;background:#fff}header{display:flex;flex-wrap:wr"
    "ap;gap:.5rem 1.5rem;align-items:baseline}h1{font-size:1.5rem;margin:.2rem "
    "0}h2{font-size:1.15re"
    "m;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}h3{font-size:1rem;margin:1rem 0 "
    ".3rem"
    "}nav{display:flex;flex-wrap:wrap;gap:0 .8rem}a{color:var(--go)}p{margin:.4rem "
    "0}.dim{color:var(--dim);font-size:.9"
    "rem}.bad{color:var(--bad)}.good{color:var(--good)}.note{border:1px solid "
    "var(--bad);border-radi"
    "us:.4rem;padding:.5rem "
    ".8rem}form{margin:0}.row{display:flex;flex-wrap:wrap;gap:.5rem;align-ite"
    "ms:center}.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:."
    "5re"
    "m .8rem}.grid "
    "label{display:flex;justify-content:space-between;gap:.5rem;align-items:center}but"
    "ton{font:inherit;min-height:2.6rem;padding:.4rem .9rem;border:1px solid "
    "var(--line);border-radi"
    "us:.4rem;background:var(--box);color:inherit;cursor:pointer}button.go{background:var(--go);"
    "bord"
    "er-color:var(--go);color:#fff}button[aria-pressed=true]{background:var(--good);border-color:"
    "var"
    "(--good);color:#fff}button:focus-visible,a:focus-visible,input:focus-visible{outline:3px "
    "solid "
    "#f0a500;outline-offset:2px}input{font:inherit;min-height:2.4rem;width:6.5rem;padding:.2rem "
    ".4re"
    "m;border:1px solid "
    "var(--line);border-radius:.3rem;background:inherit;color:inherit}ul{padding-"
    "left:1.2rem}li{margin:.3rem "
    "0}.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%"
    "}th,td{text-align:left;vertical-align:top;padding:.35rem .6rem .35rem 0;border-bottom:1px "
    "solid"
    " var(--line);overflow-wrap:anywhere}th{font-size:.85rem;color:var(--dim)}td.n{text-align:"
    "right}.n,.t,button{white-space:nowrap}td.t,td.n{overflow-wrap:normal}code{font-size:.85rem;"
    "overflow-wrap:anywhere}footer{margin-top:2.5rem;"
    "border"
    "-top:1px solid "
    "var(--line);padding-top:.5rem}@media(max-width:40rem){thead{display:none}tr{disp"
    "lay:block;border-bottom:1px solid var(--line);padding:.4rem "
    "0}td,td.n{display:block;border:0;te"
    "xt-align:left;padding:.1rem "
    "0}}@media(prefers-color-scheme:dark){:root{--line:#3a3f46;--dim:#a8"
    "b0ba;--box:#22262b;--go:#6ea8fe;--bad:#ff8a94;--good:#75d8a5}body{color:#ececec;background:#"
    "151"
    "719}button.go,button[aria-pressed=true]{color:#10131a}}";

void home_say(struct buf *b, const struct home_view *v, const char *en, const char *ja)
{
    buf_add(b, page_say(v->language, en, ja));
}

void home_write_form(struct buf *b, const struct home_view *v)
{
    buf_fmt(b, "<form method=\"post\" action=\"/_sandbox?lang=%s\">",
            v->language == LANG_JA ? "ja" : "en");
}

void home_write_times(struct buf *b, const struct home_view *v)
{
    home_write_form(b, v);
    buf_add(b, S("<p><label>"));
    home_say(b, v, "How many calls", "回数");
    buf_fmt(b,
            " <input type=\"number\" name=\"times\" value=\"1\" min=\"1\" max=\"%d\" "
            "required></label></p>\n<div class=\"row\">\n",
            HOME_TIMES_MOST);
}

void home_write_clear(struct buf *b, const struct home_view *v, const char *name)
{
    home_write_form(b, v);
    buf_fmt(b, "<button name=\"%s\" value=\"clear\">", name);
    home_say(b, v, "Clear all", "すべて解除");
    buf_add(b, S("</button></form>\n"));
}

static void put_label(struct buf *b, const struct home_view *v, const char *en, const char *ja)
{
    home_say(b, v, en, ja);
    buf_add(b, S("</button>\n"));
}

void home_write_button(struct buf *b, const struct home_view *v, const char *name,
                       const char *value, const char *en, const char *ja)
{
    buf_fmt(b, "<button name=\"%s\" value=\"%s\">", name, value);
    put_label(b, v, en, ja);
}

void home_write_toggle(struct buf *b, const struct home_view *v, const char *name,
                       const char *value, bool pressed, const char *en, const char *ja)
{
    buf_fmt(b, "<button name=\"%s\" value=\"%s\" aria-pressed=\"%s\">", name, value,
            pressed ? "true" : "false");
    put_label(b, v, en, ja);
}

/* --- helpers --- */

/* In Japan's time zone. */
static void put_time(struct buf *b, int64_t ms)
{
    int64_t s = ms / 1000 + 9 * INT64_C(3600);
    struct civil d = civil_of(s / DAY_S);
    int t = (int)(s % DAY_S);

    buf_fmt(b, "%lld-%02d-%02d %02d:%02d:%02d", (long long)d.year, d.month, d.day, t / 3600,
            t / 60 % 60, t % 60);
}

static void put_code(struct buf *b, struct str s)
{
    buf_add(b, S("<code>"));
    page_text(b, s);
    buf_add(b, S("</code>"));
}

/* The first bytes, cut between two characters. */
static struct str shortened(struct str s, size_t most)
{
    if (s.n <= most)
        return s;
    while (most && ((unsigned char)s.p[most] & 0xc0) == 0x80)
        most--;
    return (struct str){ s.p, most };
}

static void put_short(struct buf *b, struct str s)
{
    enum { SHOWN = 160 };

    page_text(b, shortened(s, SHOWN));
    if (s.n > SHOWN)
        buf_add(b, S("…"));
}

/* --- what waits --- */

static void put_link(struct buf *b, const struct home_view *v, const char *path,
                     const struct home_intent *p, const char *en, const char *ja)
{
    buf_fmt(b, "<li><a href=\"%s", path);
    page_text(b, p->id);
    buf_fmt(b, "?lang=%s\">", v->language == LANG_JA ? "ja" : "en");
    home_say(b, v, en, ja);
    buf_add(b, S("</a> "));
    page_money(b, p->amount, p->currency);
    buf_char(b, ' ');
    put_code(b, p->id);
    buf_char(b, ' ');
    put_short(b, p->description);
    buf_add(b, S("</li>\n"));
}

static void put_waiting_intent(struct buf *b, const struct home_view *v,
                               const struct home_intent *p)
{
    if (str_eq(p->card, S("konbini")))
        put_link(b, v, "/_sandbox/konbini/", p, "Pay the slip", "払込票を支払う");
    else if (str_eq(p->card, S("customer_balance")))
        put_link(b, v, "/_sandbox/transfer/", p, "Send the bank transfer", "銀行振込をする");
    else if (str_eq(p->card, S("paypay")))
        put_link(b, v, "/_sandbox/authenticate/", p, "Pay by PayPay", "PayPayで支払う");
    else
        put_link(b, v, "/_sandbox/authenticate/", p, "Answer 3-D Secure", "3Dセキュア認証に答える");
}

/* The page of a code is also where the user answers for a capture. */
static bool is_asked(const struct home_intent *p)
{
    return p->card.n && str_eq(p->status, S("REAUTHORIZING"));
}

static bool waits_in_paypay(const struct home_view *v)
{
    for (size_t i = 0; i < v->paypay_count; i++)
        if (is_asked(&v->paypay[i]))
            return true;
    return v->code_count > 0;
}

static void put_waiting_paypay(struct buf *b, const struct home_view *v)
{
    for (size_t i = 0; i < v->code_count; i++)
        put_link(b, v, "/_sandbox/paypay_code/", &v->codes[i], "Pay with PayPay", "PayPayで支払う");
    for (size_t i = 0; i < v->paypay_count; i++) {
        struct home_intent page = v->paypay[i];

        page.id = page.card;
        if (is_asked(&v->paypay[i]))
            put_link(b, v, "/_sandbox/paypay_code/", &page, "Answer PayPay about the capture",
                     "PayPayの請求に答える");
    }
}

static void write_waiting(struct buf *b, const struct home_view *v)
{
    buf_add(b, S("<h2 id=\"waiting\">"));
    home_say(b, v, "Waiting for the customer", "お客さまを待っているもの");
    buf_add(b, S("</h2>\n"));
    if (!v->waiting_count && !v->session_count && !waits_in_paypay(v)) {
        buf_add(b, S("<p class=\"dim\">"));
        home_say(b, v, "Nothing waits.", "待っているものはありません。");
        buf_add(b, S("</p>\n"));
        return;
    }
    buf_add(b, S("<ul>\n"));
    for (size_t i = 0; i < v->waiting_count; i++)
        put_waiting_intent(b, v, &v->waiting[i]);
    for (size_t i = 0; i < v->session_count; i++)
        put_link(b, v, "/_sandbox/checkout/", &v->sessions[i], "Open Checkout", "決済ページを開く");
    put_waiting_paypay(b, v);
    buf_add(b, S("</ul>\n"));
}

/* --- tables --- */

static void begin_table(struct buf *b, const struct home_view *v, const char *const (*heads)[2],
                        size_t n)
{
    buf_add(b, S("<div class=\"scroll\"><table>\n<thead><tr>"));
    for (size_t i = 0; i < n; i++) {
        buf_add(b, S("<th scope=\"col\">"));
        home_say(b, v, heads[i][0], heads[i][1]);
        buf_add(b, S("</th>"));
    }
    buf_add(b, S("</tr></thead>\n<tbody>\n"));
}

static void end_table(struct buf *b)
{
    buf_add(b, S("</tbody></table></div>\n"));
}

static void put_none(struct buf *b, const struct home_view *v)
{
    buf_add(b, S("<p class=\"dim\">"));
    home_say(b, v, "None yet.", "まだありません。");
    buf_add(b, S("</p>\n"));
}

static void put_intent(struct buf *b, const struct home_intent *p, const char *provider)
{
    buf_add(b, S("<tr><td class=\"t\">"));
    put_time(b, p->created_ms);
    buf_fmt(b, "</td><td>%s ", provider);
    put_code(b, p->id);
    buf_add(b, S("</td><td class=\"n\">"));
    page_money(b, p->amount, p->currency);
    buf_add(b, S("</td><td>"));
    page_text(b, p->status);
    buf_add(b, S("</td><td>"));
    put_short(b, p->description);
    buf_add(b, S("</td></tr>\n"));
}

/* The payments of both providers, the newest first. */
static void put_intents(struct buf *b, const struct home_view *v)
{
    for (size_t i = 0, j = 0, n = 0; n < HOME_ROWS; n++) {
        bool stripe = i < v->intent_count, paypay = j < v->paypay_count;

        if (!stripe && !paypay)
            return;
        if (stripe && (!paypay || v->intents[i].created_ms >= v->paypay[j].created_ms))
            put_intent(b, &v->intents[i++], "Stripe");
        else
            put_intent(b, &v->paypay[j++], "PayPay");
    }
}

static void write_intents(struct buf *b, const struct home_view *v)
{
    static const char *const heads[][2] = { { "Time (Japan)", "日時（日本）" },
                                            { "Payment", "支払い" },
                                            { "Amount", "金額" },
                                            { "Status", "状態" },
                                            { "Description", "説明" } };

    buf_add(b, S("<h2 id=\"intents\">"));
    home_say(b, v, "The last payments", "最近の支払い");
    buf_add(b, S("</h2>\n"));
    if (!v->intent_count && !v->paypay_count) {
        put_none(b, v);
        return;
    }
    begin_table(b, v, heads, COUNT(heads));
    put_intents(b, v);
    end_table(b);
}

static void put_delivery(struct buf *b, const struct home_view *v, const struct home_event *e)
{
    if (e->dead) {
        buf_add(b, S("<span class=\"bad\">"));
        home_say(b, v, "given up", "配信断念");
        buf_add(b, S("</span> "));
    } else if (e->on_way) {
        home_say(b, v, "on its way", "配信待ち");
    } else if (e->told) {
        buf_add(b, S("<span class=\"good\">"));
        home_say(b, v, "delivered", "配信済み");
        buf_add(b, S("</span>"));
    } else {
        buf_add(b, S("<span class=\"dim\">"));
        home_say(b, v, "nobody asked for it", "宛先なし");
        buf_add(b, S("</span>"));
    }
    if (e->attempts) {
        buf_fmt(b, " (%lld) <span class=\"dim\">", (long long)e->attempts);
        put_short(b, e->why);
        buf_add(b, S("</span>"));
    }
}

static void put_event(struct buf *b, const struct home_view *v, const struct home_event *e)
{
    buf_add(b, S("<tr><td class=\"t\">"));
    put_time(b, e->created_ms);
    buf_add(b, S("</td><td>"));
    page_text(b, e->type);
    buf_add(b, S("<br>"));
    put_code(b, e->id);
    buf_add(b, S("</td><td>"));
    put_code(b, e->object);
    buf_add(b, S("</td><td>"));
    put_delivery(b, v, e);
    buf_add(b, S("</td><td class=\"t\">"));
    home_write_form(b, v);
    buf_add(b, S("<button name=\"resend\" value=\""));
    page_text(b, e->id);
    buf_add(b, S("\">"));
    home_say(b, v, "Resend", "再送");
    buf_add(b, S("</button></form></td></tr>\n"));
}

static void write_events(struct buf *b, const struct home_view *v)
{
    static const char *const heads[][2] = { { "Time (Japan)", "日時（日本）" },
                                            { "Event", "イベント" },
                                            { "About", "対象" },
                                            { "Delivery", "配信" },
                                            { "Again", "再送" } };

    buf_add(b, S("<h2 id=\"events\">"));
    home_say(b, v, "The last events", "最近のイベント");
    buf_add(b, S("</h2>\n"));
    if (!v->event_count) {
        put_none(b, v);
        return;
    }
    begin_table(b, v, heads, COUNT(heads));
    for (size_t i = 0; i < v->event_count; i++)
        put_event(b, v, &v->events[i]);
    end_table(b);
}

/* --- the page --- */

/* The note that a form came back with. It is one of a fixed list: nothing of the address is
 * shown. */
static void write_note(struct buf *b, const struct home_view *v)
{
    static const struct {
        const char *code, *en, *ja;
    } notes[] = {
        { "number", "That was not a number in its range; nothing was changed.",
          "数値が範囲外です。何も変更していません。" },
        { "full", "There are too many rules; clear them first. Nothing was changed.",
          "ルールが多すぎます。先に解除してください。何も変更していません。" },
        { "gone", "There is no such event any more.", "そのイベントはもうありません。" },
        { "disk", "It could not be kept; nothing was changed.",
          "保存できませんでした。何も変更していません。" },
    };
    struct str code = control_query(v->request, S("note"));

    for (size_t i = 0; i < COUNT(notes); i++) {
        if (!str_eq(code, str_of(notes[i].code)))
            continue;
        buf_add(b, S("<p class=\"note bad\" role=\"alert\">"));
        home_say(b, v, notes[i].en, notes[i].ja);
        buf_add(b, S("</p>\n"));
    }
}

static void write_header(struct buf *b, const struct home_view *v)
{
    buf_add(b, S("<header><h1>"));
    home_say(b, v, "Sandbox", "サンドボックス");
    buf_add(b, S("</h1><nav><a href=\"/_sandbox?lang=ja\" lang=\"ja\" hreflang=\"ja\">日本語</a>"
                 "<a href=\"/_sandbox?lang=en\" lang=\"en\" hreflang=\"en\">English</a></nav>"));
    buf_add(b, S("<span class=\"dim\">"));
    put_time(b, v->now_ms);
    buf_add(b, S("</span></header>\n<nav>"));
    buf_add(b, S("<a href=\"#waiting\">"));
    home_say(b, v, "Waiting", "待ち");
    buf_add(b, S("</a><a href=\"#calls\">"));
    home_say(b, v, "Calls", "呼び出し");
    buf_add(b, S("</a><a href=\"#webhooks\">Webhook</a><a href=\"#paypay\">PayPay</a>"
                 "<a href=\"#chaos\">"));
    home_say(b, v, "Chaos", "カオス");
    buf_add(b, S("</a><a href=\"#intents\">"));
    home_say(b, v, "Payments", "支払い");
    buf_add(b, S("</a><a href=\"#events\">"));
    home_say(b, v, "Events", "イベント");
    buf_add(b, S("</a></nav>\n"));
    write_note(b, v);
}

void home_write(struct buf *b, const struct home_view *v)
{
    buf_fmt(b, "<!doctype html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n",
            v->language == LANG_JA ? "ja" : "en");
    buf_add(b, S("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<title>"));
    home_say(b, v, "Sandbox - Ichido", "サンドボックス - Ichido");
    buf_add(b, S("</title>\n<style>"));
    buf_add(b, str_of(home_style));
    buf_add(b, S("</style>\n</head>\n<body>\n"));
    write_header(b, v);
    buf_add(b, S("<main>\n"));
    write_waiting(b, v);
    home_write_switches(b, v);
    write_intents(b, v);
    write_events(b, v);
    buf_add(b, S("</main>\n<footer class=\"dim\">"));
    home_say(b, v, "This is a sandbox. No money moves.",
             "これはサンドボックスです。お金は動きません。");
    buf_add(b, S("</footer>\n</body>\n</html>\n"));
}
