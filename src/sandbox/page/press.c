/* press.c - POST /_sandbox: a button of the front page was pressed. The answer is always a redirect
 * (303) back to the button's place on the page. control.c has already rejected foreign pages. */
#include "sandbox/form.h"
#include "sandbox/page/home.h"
#include "sandbox/webhook/hooks.h"

#include <stdio.h>
#include <string.h>

enum { PERCENT_PPM = 10000, HOOK_DELAY_MS = 3000, HOOK_DROPS = 5 };

/* --- the redirect --- */

static void back_to_page(struct request *r, const char *note, const char *place)
{
    char where[128];

    snprintf(where, sizeof(where), "/_sandbox?lang=%s%s%s#%s",
             page_language(r) == LANG_JA ? "ja" : "en", note[0] ? "&note=" : "", note, place);
    reply_header(r, S("Location"), str_of(where));
    reply_header(r, S("Cache-Control"), S("no-store"));
    reply_send(r, 303, S(""), S(""));
}

static const char *place_on_page(enum change_kind kind)
{
    switch (kind) {
    case CHANGE_ADD:
    case CHANGE_CLEAR: return "calls";
    case CHANGE_WEBHOOKS: return "webhooks";
    case CHANGE_CHAOS: return "chaos";
    }
    return "";
}

ANSWERS static bool back_with_note(struct change *c, const char *note)
{
    back_to_page(c->request, note, place_on_page(c->kind));
    return false;
}

static void button_done(struct change *c)
{
    back_to_page(c->request, "", place_on_page(c->kind));
}

/* --- the form --- */

ANSWERS static bool read_form(struct request *r, struct form *form)
{
    struct form_fault fault = { 0 };
    enum err e = form_parse(&r->arena, r->body, form, &fault);

    if (e)
        reply_problem(r, e, fault.why);
    return !e;
}

static struct str value_of(const struct form *form, const char *name)
{
    const struct form *f = form_get(form, str_of(name));

    return f && f->has_value ? f->value : S("");
}

/* Reads "2", "0.5" or ".25" as millionths; "1e2" is invalid. Digits after the fourth decimal do not
 * count. */
static bool read_percent(struct str text, int64_t *ret_ppm)
{
    struct str rest = text, whole = str_cut(&rest, '.');
    int64_t ppm = 0, unit = PERCENT_PPM;

    *ret_ppm = 0;
    if (!text.n)
        return true;
    if (whole.n && (!str_to_i64(whole, &ppm) || ppm < 0 || ppm > 100))
        return false;
    ppm *= PERCENT_PPM;
    for (size_t i = 0; i < rest.n; i++) {
        if (rest.p[i] < '0' || rest.p[i] > '9')
            return false;
        unit /= 10;
        ppm += unit * (rest.p[i] - '0');
    }
    *ret_ppm = ppm;
    return ppm <= (int64_t)100 * PERCENT_PPM;
}

/* --- calls --- */

ANSWERS static bool read_rule(struct change *c)
{
    struct form form = { 0 };
    struct control_body in = { 0 };
    char json[256];
    int64_t times;
    size_t i = 0;

    if (!read_form(c->request, &form))
        return false;
    while (i < home_rule_count && !str_eq(value_of(&form, "rule"), str_of(home_rules[i].name)))
        i++;
    if (i == home_rule_count || !str_to_i64(value_of(&form, "times"), &times) || times < 1 ||
        times > HOME_TIMES_MOST)
        return back_with_note(c, "number");
    if (c->s->faults->count == LIMIT_SANDBOX_RULES)
        return back_with_note(c, "full");
    snprintf(json, sizeof(json), "{%s,\"times\":%lld}", home_rules[i].body, (long long)times);
    c->request->body = arena_str(&c->request->arena, str_of(json));
    if (!control_body_begin(&in, c->request, rule_names, rule_name_count))
        return false;
    c->rule = rule_read(&in);
    return control_body_end(&in, c->request);
}

static bool read_nothing(struct change *c)
{
    (void)c;
    return true;
}

/* --- webhooks --- */

ANSWERS static bool read_hook(struct change *c)
{
    struct webhook_values *w = &c->webhooks;
    struct form form = { 0 };
    struct str name;

    if (!read_form(c->request, &form))
        return false;
    name = value_of(&form, "hook");
    if (str_eq(name, S("on")))
        w->on = !w->on;
    else if (str_eq(name, S("duplicate")))
        w->copies = w->copies ? 0 : 1;
    else if (str_eq(name, S("reorder")))
        w->reorder = !w->reorder;
    else if (str_eq(name, S("delay")))
        w->delay_ms = w->delay_ms ? 0 : HOOK_DELAY_MS;
    else if (str_eq(name, S("burst")))
        w->burst = !w->burst;
    else if (str_eq(name, S("drop")))
        w->drop_first = w->drop_first ? 0 : HOOK_DROPS;
    else
        return back_with_note(c, "number");
    return true;
}

/* --- chaos --- */

static bool read_plan(const struct form *form, struct chaos_plan *p)
{
    int64_t rates = 0;

    if (!str_to_i64(value_of(form, "seed"), &p->seed) || p->seed < 0 ||
        p->seed > INT64_C(9007199254740991))
        return false;
    for (size_t i = 0; i < CHAOS_KINDS; i++) {
        char name[64];

        snprintf(name, sizeof(name), "%c_%s", i < CHAOS_CALLS ? 'c' : 'w', chaos_names[i]);
        if (!read_percent(value_of(form, name), &p->rate[i]))
            return false;
        rates += p->rate[i];
    }
    return rates > 0;
}

ANSWERS static bool read_chaos(struct change *c)
{
    struct chaos_plan p = { .on = true,
                            .delay_ms = LIMIT_SANDBOX_CHAOS_DELAY_MS,
                            .hang_ms = LIMIT_SANDBOX_CHAOS_HANG_MS };
    struct form form = { 0 };

    if (!read_form(c->request, &form))
        return false;
    if (!read_plan(&form, &p))
        return back_with_note(c, "number");
    c->chaos = p;
    return true;
}

/* --- events --- */

static enum err resend_run(struct act *a, struct work *w)
{
    const char *lang = page_language(a->request) == LANG_JA ? "ja" : "en";
    struct row row;
    enum err e = TX_ROW(w->tx, STMT_sandbox_event_body, &row, V_TEXT(a->text[0]));

    if (e && e != ERR_NOT_FOUND)
        return e;
    if (e)
        a->location = work_text(w, "/_sandbox?lang=%s&note=gone#events", lang);
    else
        a->location = work_text(w, "/_sandbox?lang=%s#events", lang);
    return e ? w->err : sb_event_resend(w->s, w->tx, a->text[0], S(""), w->now_ms);
}

/* --- the buttons --- */

static const struct {
    const char *field, *value; /* value NULL: any */
    struct change change;
} buttons[] = {
    { "rule", NULL, { .kind = CHANGE_ADD, .read = read_rule, .done = button_done } },
    { "rules", "clear", { .kind = CHANGE_CLEAR, .read = read_nothing, .done = button_done } },
    { "hook", NULL, { .kind = CHANGE_WEBHOOKS, .read = read_hook, .done = button_done } },
    { "chaos", "start", { .kind = CHANGE_CHAOS, .read = read_chaos, .done = button_done } },
    { "chaos", "stop", { .kind = CHANGE_CHAOS, .read = read_nothing, .done = button_done } },
};

void control_press(struct request *r, void *sandbox)
{
    struct act again = { .run = resend_run, .form = true };
    struct form form = { 0 };

    if (!act_is_form(r)) {
        reply_problem(r, ERR_MEDIA_TYPE,
                      "this is for the page's own buttons; programs post "
                      "to /_sandbox/faults, /webhooks and /chaos");
        return;
    }
    if (!read_form(r, &form))
        return;
    for (size_t i = 0; i < COUNT(buttons); i++) {
        struct str value = value_of(&form, buttons[i].field);

        if (!value.n || (buttons[i].value && !str_eq(value, str_of(buttons[i].value))))
            continue;
        change_post(r, sandbox, &buttons[i].change);
        return;
    }
    if (pp_home_press(r, sandbox, &form))
        return;
    again.text[0] = value_of(&form, "resend");
    if (again.text[0].n)
        act_post(r, sandbox, &again, false);
    else
        reply_problem(r, ERR_VALIDATION, "no button of the page was pressed");
}
