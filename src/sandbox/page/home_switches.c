/* home_switches.c - the switches on the front page: faults, webhooks, chaos. */
#include "sandbox/page/home.h"

#include <stdio.h>

/* Each body is what rule_write() writes, so that a rule on the page is recognized by it. */
const struct home_rule home_rules[] = {
    { "decline", "Decline", "カード拒否", "\"declineCode\":\"generic_decline\"" },
    { "delay", "Delay 3 s", "3秒遅延", "\"delayMs\":3000" },
    { "error_before", "500, nothing done", "500（未処理）", "\"statusBefore\":500" },
    { "error_after", "500, but done (saved)", "500（処理済み・保存）", "\"statusAfter\":500" },
    { "drop_before", "Closed, nothing done", "切断（未処理）", "\"dropBefore\":true" },
    { "drop_after", "Charged, no answer", "課金後に無応答（切断）", "\"dropAfter\":true" },
    { "hang", "Charged, silent for 20 s", "課金後に20秒沈黙",
      "\"hangMs\":20000,\"dropAfter\":true" },
    { "conflict", "409", "409", "\"statusBefore\":409" },
    { "rate_limit", "429", "429", "\"statusBefore\":429" },
    { "rate_limit_retry", "429, should retry", "429（再試行可）",
      "\"statusBefore\":429,\"shouldRetry\":true" },
    { "half_json", "Half a JSON", "JSONが途中まで", "\"answer\":\"half_json\"" },
    { "html", "An HTML page", "HTMLページ", "\"answer\":\"html\"" },
    { "content_type", "Wrong content type", "誤ったContent-Type", "\"answer\":\"content_type\"" },
    { "redirect", "A redirect", "リダイレクト", "\"answer\":\"redirect\"" },
    { "currency", "Wrong currency", "通貨が違う", "\"answer\":\"currency\"" },
    { "cut", "Closed in the middle", "本文の途中で切断", "\"answer\":\"cut\"" },
};
const size_t home_rule_count = COUNT(home_rules);

/* --- calls --- */

/* The button that adds this rule. NULL: none does. */
static const struct home_rule *button_of(struct str json)
{
    for (size_t i = 0; i < home_rule_count; i++) {
        char wanted[160];

        snprintf(wanted, sizeof(wanted), "{%s,\"skip\":", home_rules[i].body);
        if (str_starts(json, str_of(wanted)))
            return &home_rules[i];
    }
    return NULL;
}

/* The effect of a rule: the label of its button, or else its JSON. */
static void put_effect(struct buf *b, const struct home_view *v, struct call_rule rule)
{
    const struct home_rule *button;
    struct buf json;

    rule.method[0] = rule.path[0] = '\0';
    rule.skip = rule.times = 0;
    buf_init(&json, LIMIT_SANDBOX_EVENT);
    rule_write(&json, &rule);
    button = button_of(buf_str(&json));
    if (button) {
        home_say(b, v, button->en, button->ja);
    } else {
        buf_add(b, S("<code>"));
        page_text(b, buf_str(&json));
        buf_add(b, S("</code>"));
    }
    buf_release(&json);
}

void home_write_rule_rest(struct buf *b, const struct home_view *v, struct str method,
                          struct str path, int64_t skip, int64_t times)
{
    buf_fmt(b, " × %lld <span class=\"dim\">", (long long)times);
    page_text(b, method);
    if (method.n)
        buf_char(b, ' ');
    page_text(b, path);
    if (skip) {
        home_say(b, v, " after ", "（先に ");
        buf_i64(b, skip);
        home_say(b, v, " more calls", " 回通します）");
    }
    buf_add(b, S("</span></li>\n"));
}

static void put_rule(struct buf *b, const struct home_view *v, const struct call_rule *rule)
{
    buf_add(b, S("<li>"));
    put_effect(b, v, *rule);
    home_write_rule_rest(b, v, str_of(rule->method), str_of(rule->path), rule->skip, rule->times);
}

static void put_rules(struct buf *b, const struct home_view *v)
{
    const struct sandbox_faults *f = v->s->faults;

    if (!f->count) {
        buf_add(b, S("<p class=\"dim\">"));
        home_say(b, v, "Nothing goes wrong on demand.", "設定されている障害はありません。");
        buf_add(b, S("</p>\n"));
        return;
    }
    buf_add(b, S("<ul>\n"));
    for (size_t i = 0; i < f->count; i++)
        put_rule(b, v, &f->rules[i]);
    buf_add(b, S("</ul>\n"));
    home_write_clear(b, v, "rules");
}

static void write_calls(struct buf *b, const struct home_view *v)
{
    buf_add(b, S("<h2 id=\"calls\">"));
    home_say(b, v, "What goes wrong with the next calls", "次の呼び出しで起こす障害");
    buf_add(b, S("</h2>\n"));
    put_rules(b, v);
    home_write_times(b, v);
    for (size_t i = 0; i < home_rule_count; i++)
        home_write_button(b, v, "rule", home_rules[i].name, home_rules[i].en, home_rules[i].ja);
    buf_add(b, S("</div></form>\n"));
}

/* --- webhooks --- */

/* The setting has no receiver, so the switches below have no effect. */
static void put_off_by_setting(struct buf *b, const struct home_view *v)
{
    buf_add(b, S("<p class=\"note\" role=\"status\">"));
    home_say(b, v,
             "Webhooks are off by the setting ICHIDO_SANDBOX_WEBHOOKS=off: only endpoints that were"
             " made through the API, and listeners, are told.",
             "設定 ICHIDO_SANDBOX_WEBHOOKS=off により Webhook は無効です。API "
             "で作成したエンドポイントとリスナーにだけ届きます。");
    buf_add(b, S("</p>\n"));
}

static void write_webhooks(struct buf *b, const struct home_view *v)
{
    struct webhook_values w = webhooks_now(&v->s->faults->webhooks);

    buf_add(b, S("<h2 id=\"webhooks\">"));
    home_say(b, v, "What goes wrong with webhooks", "Webhookで起こす障害");
    buf_add(b, S("</h2>\n"));
    if (!v->s->o.webhook_url.n)
        put_off_by_setting(b, v);
    buf_add(b, S("<p class=\"dim\">"));
    home_say(b, v, "Receiver: ", "宛先: ");
    page_text(b, w.url[0] ? str_of(w.url) : v->s->o.webhook_url);
    if (!w.url[0] && !v->s->o.webhook_url.n)
        home_say(b, v, "none", "なし");
    home_say(b, v, " (resent on Stripe's schedule, divided by ", "（再送間隔はStripeの1/");
    buf_fmt(b, "%lld", (long long)w.factor);
    home_say(b, v, ")</p>\n", "）</p>\n");
    home_write_form(b, v);
    buf_add(b, S("<div class=\"row\">\n"));
    home_write_toggle(b, v, "hook", "on", w.on, "Webhooks on", "Webhook有効");
    home_write_toggle(b, v, "hook", "duplicate", w.copies > 0, "Duplicate", "重複");
    home_write_toggle(b, v, "hook", "reorder", w.reorder, "Reorder", "順序入れ替え");
    home_write_toggle(b, v, "hook", "delay", w.delay_ms > 0, "Delay 3 s", "3秒遅延");
    home_write_toggle(b, v, "hook", "burst", w.burst, "Same-second bursts", "同一秒に集中");
    home_write_toggle(b, v, "hook", "drop", w.drop_first > 0, "Drop the next 5", "次の5件を破棄");
    buf_add(b, S("</div></form>\n"));
}

/* --- chaos --- */

static const struct {
    const char *en, *ja;
} chaos_words[CHAOS_KINDS] = {
    [CHAOS_DECLINE] = { "Decline", "カード拒否" },
    [CHAOS_DELAY] = { "Delay", "遅延" },
    [CHAOS_ERROR_BEFORE] = { "500, nothing done", "500（未処理）" },
    [CHAOS_ERROR_AFTER] = { "500, but done", "500（処理済み）" },
    [CHAOS_DROP_BEFORE] = { "Closed, nothing done", "切断（未処理）" },
    [CHAOS_DROP_AFTER] = { "Charged, no answer", "課金後に無応答" },
    [CHAOS_HANG] = { "Charged, silent", "課金後に沈黙" },
    [CHAOS_CONFLICT] = { "409", "409" },
    [CHAOS_RATE_LIMIT] = { "429", "429" },
    [CHAOS_RATE_LIMIT_RETRY] = { "429, should retry", "429（再試行可）" },
    [CHAOS_HALF_JSON] = { "Half a JSON", "JSONが途中まで" },
    [CHAOS_HTML] = { "An HTML page", "HTMLページ" },
    [CHAOS_TYPE] = { "Wrong content type", "誤ったContent-Type" },
    [CHAOS_REDIRECT] = { "A redirect", "リダイレクト" },
    [CHAOS_CURRENCY] = { "Wrong currency", "通貨が違う" },
    [CHAOS_CUT] = { "Closed in the middle", "本文の途中で切断" },
    [CHAOS_DUPLICATE] = { "Duplicate", "重複" },
    [CHAOS_REORDER] = { "Reorder", "順序入れ替え" },
    [CHAOS_LATE] = { "Delay", "遅延" },
    [CHAOS_BURST] = { "Same-second burst", "同一秒に集中" },
    [CHAOS_DROP] = { "Drop", "破棄" },
};

/* Millionths as percent: "0", "2", "0.25". */
static void put_percent(struct buf *b, int64_t rate)
{
    char digits[8];
    int n = snprintf(digits, sizeof(digits), "%04d", (int)(rate % 10000));

    while (n && digits[n - 1] == '0')
        n--;
    buf_i64(b, rate / 10000);
    if (n)
        buf_fmt(b, ".%.*s", n, digits);
}

static void put_rate(struct buf *b, const struct home_view *v, size_t kind)
{
    struct chaos *c = &v->s->faults->chaos;
    int64_t happened = atomic_load(&c->happened[kind]);

    buf_add(b, S("<label><span>"));
    home_say(b, v, chaos_words[kind].en, chaos_words[kind].ja);
    if (happened)
        buf_fmt(b, " <span class=\"dim\">(%lld)</span>", (long long)happened);
    buf_fmt(b, "</span><input type=\"number\" name=\"%c_%s\" value=\"",
            kind < CHAOS_CALLS ? 'c' : 'w', chaos_names[kind]);
    put_percent(b, c->plan.rate[kind]);
    buf_add(b, S("\" min=\"0\" max=\"100\" step=\"any\"></label>\n"));
}

static void put_rates(struct buf *b, const struct home_view *v, const char *en, const char *ja,
                      size_t from, size_t to)
{
    buf_add(b, S("<h3>"));
    home_say(b, v, en, ja);
    buf_add(b, S("</h3>\n<div class=\"grid\">\n"));
    for (size_t i = from; i < to; i++)
        put_rate(b, v, i);
    buf_add(b, S("</div>\n"));
}

static void put_chaos_state(struct buf *b, const struct home_view *v, bool on)
{
    buf_fmt(b, "<p role=\"status\"%s>", on ? " class=\"bad\"" : "");
    if (on)
        home_say(b, v, "Chaos is on. In brackets: how often it happened.",
                 "カオスは有効です。かっこ内は発生回数です。");
    else
        home_say(b, v,
                 "Faults by chance: percent of calls and of webhooks. The same seed gives the same "
                 "chances.",
                 "確率で障害を起こします（単位はパーセント）。同じシードなら同じ乱数列です。");
    buf_add(b, S("</p>\n"));
}

static void write_chaos(struct buf *b, const struct home_view *v)
{
    struct chaos *c = &v->s->faults->chaos;
    bool on = chaos_is_on(c, v->now_ms);

    buf_add(b, S("<h2 id=\"chaos\">"));
    home_say(b, v, "Chaos", "カオス");
    buf_add(b, S("</h2>\n"));
    put_chaos_state(b, v, on);
    home_write_form(b, v);
    buf_add(b, S("<p><label>"));
    home_say(b, v, "Seed", "シード");
    buf_fmt(b,
            " <input type=\"number\" name=\"seed\" value=\"%lld\" min=\"0\" "
            "max=\"9007199254740991\" required></label></p>\n",
            (long long)c->plan.seed);
    put_rates(b, v, "Calls (%)", "呼び出し（%）", 0, CHAOS_CALLS);
    put_rates(b, v, "Webhooks (%)", "Webhook（%）", CHAOS_CALLS, CHAOS_KINDS);
    buf_add(b, S("<p class=\"row\"><button class=\"go\" name=\"chaos\" value=\"start\">"));
    home_say(b, v, "Start with these", "この設定で開始");
    buf_add(b, S("</button>"));
    if (on) {
        buf_add(b, S("<button name=\"chaos\" value=\"stop\">"));
        home_say(b, v, "Stop", "停止");
        buf_add(b, S("</button>"));
    }
    buf_add(b, S("</p></form>\n"));
}

void home_write_switches(struct buf *b, const struct home_view *v)
{
    write_calls(b, v);
    write_webhooks(b, v);
    pp_home_write(b, v);
    write_chaos(b, v);
}
