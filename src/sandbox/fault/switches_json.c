/* switches_json.c - rules, webhook switches and chaos as JSON. The API and the rows on disk use the
 * same writers and readers. */
#include "base/time/civil.h"
#include "base/time/parse.h"
#include "sandbox/fault/switches.h"

#include <string.h>

/* --- one value --- */

static int64_t switches_json_number(struct control_body *in, const char *field, int64_t least,
                                    int64_t most, int64_t otherwise)
{
    int64_t value;

    return json_get_int(in->body, field, false, least, most, &value, &in->problems) ? value
                                                                                    : otherwise;
}

static bool switches_json_flag(struct control_body *in, const char *field, bool otherwise)
{
    bool value;

    return json_get_bool(in->body, field, false, &value, &in->problems) ? value : otherwise;
}

static void switches_json_text(struct control_body *in, const char *field, char *out, size_t size)
{
    struct str value;

    if (!json_get_str(in->body, field, false, size - 1, &value, &in->problems))
        return;
    if (value.n < size)
        memcpy(out, value.p, value.n);
    else
        json_problem(&in->problems, field, "is too long");
}

static void write_text(struct buf *b, const char *name, const char *value)
{
    if (!value[0])
        return;
    buf_fmt(b, "\"%s\":", name);
    buf_json(b, str_of(value));
    buf_char(b, ',');
}

static void write_number(struct buf *b, const char *name, int64_t value)
{
    if (value)
        buf_fmt(b, "\"%s\":%lld,", name, (long long)value);
}

static const char *yes_or_no(bool yes)
{
    return yes ? "true" : "false";
}

/* --- rules --- */

const char *const rule_names[] = { "path",       "method",       "times",       "skip",
                                   "delayMs",    "statusBefore", "statusAfter", "dropBefore",
                                   "dropAfter",  "hangMs",       "declineCode", "answer",
                                   "shouldRetry" };
const size_t rule_name_count = COUNT(rule_names);

/* The same words as in chaos. */
static const char *const spoil_names[SPOILS] = {
    [SPOIL_HALF_JSON] = "half_json", [SPOIL_HTML] = "html",         [SPOIL_TYPE] = "content_type",
    [SPOIL_REDIRECT] = "redirect",   [SPOIL_CURRENCY] = "currency", [SPOIL_CUT] = "cut",
};

void rule_write(struct buf *b, const struct call_rule *rule)
{
    const struct sandbox_fault *f = &rule->fault;

    buf_char(b, '{');
    write_text(b, "method", rule->method);
    write_text(b, "path", rule->path);
    write_number(b, "delayMs", f->delay_ms);
    write_number(b, "statusBefore", f->status_before);
    write_number(b, "statusAfter", f->status_after);
    write_number(b, "hangMs", f->hang_ms);
    if (f->drop_before)
        buf_add(b, S("\"dropBefore\":true,"));
    if (f->drop_after)
        buf_add(b, S("\"dropAfter\":true,"));
    if (f->answer)
        write_text(b, "answer", spoil_names[f->answer]);
    if (f->should_retry)
        buf_fmt(b, "\"shouldRetry\":%s,", yes_or_no(f->should_retry == RETRY_SAYS_TRUE));
    write_text(b, "declineCode", rule->decline_code);
    buf_fmt(b, "\"skip\":%lld,\"times\":%lld}", (long long)rule->skip, (long long)rule->times);
}

void rules_write(struct buf *b, const struct sandbox_faults *f)
{
    buf_add(b, S("{\"faults\":["));
    for (size_t i = 0; i < f->count; i++) {
        if (i)
            buf_char(b, ',');
        rule_write(b, &f->rules[i]);
    }
    buf_add(b, S("]}\n"));
}

static bool rule_has_effect(const struct call_rule *rule)
{
    const struct sandbox_fault *f = &rule->fault;

    return f->delay_ms || f->status_before || f->status_after || f->hang_ms || f->drop_before ||
           f->drop_after || f->answer || rule->decline_code[0];
}

static enum spoil read_spoil(struct control_body *in)
{
    char word[RULE_CODE_MAX] = "";

    switches_json_text(in, "answer", word, sizeof(word));
    for (enum spoil i = SPOIL_NONE + 1; i < SPOILS; i++)
        if (strcmp(spoil_names[i], word) == 0)
            return i;
    if (word[0])
        json_problem(&in->problems, "answer",
                     "is half_json, html, content_type, redirect, currency or cut");
    return SPOIL_NONE;
}

static enum retry_word read_retry_word(struct control_body *in)
{
    bool value;

    if (!json_get_bool(in->body, "shouldRetry", false, &value, &in->problems))
        return RETRY_AS_USUAL;
    return value ? RETRY_SAYS_TRUE : RETRY_SAYS_FALSE;
}

struct call_rule rule_read(struct control_body *in)
{
    struct call_rule rule = { .skip = switches_json_number(in, "skip", 0, 1000000, 0),
                              .times = switches_json_number(in, "times", 1, 1000000, 1) };
    struct sandbox_fault *f = &rule.fault;

    switches_json_text(in, "path", rule.path, sizeof(rule.path));
    switches_json_text(in, "method", rule.method, sizeof(rule.method));
    switches_json_text(in, "declineCode", rule.decline_code, sizeof(rule.decline_code));
    f->delay_ms = switches_json_number(in, "delayMs", 0, LIMIT_SANDBOX_SWITCH_MS, 0);
    f->hang_ms = switches_json_number(in, "hangMs", 0, LIMIT_SANDBOX_SWITCH_MS, 0);
    f->status_before = (int)switches_json_number(in, "statusBefore", 400, 599, 0);
    f->status_after = (int)switches_json_number(in, "statusAfter", 400, 599, 0);
    f->drop_before = switches_json_flag(in, "dropBefore", false);
    f->drop_after = switches_json_flag(in, "dropAfter", false);
    f->answer = read_spoil(in);
    f->should_retry = read_retry_word(in);
    if (rule.path[0] && rule.path[0] != '/')
        json_problem(&in->problems, "path", "begins with /");
    if (!rule_has_effect(&rule) && !in->problems.count)
        json_problem(&in->problems, "statusBefore", "a rule needs something to do");
    return rule;
}

/* --- webhooks --- */

const char *const webhook_names[] = { "url",     "on",        "duplicate", "reorder",
                                      "delayMs", "dropFirst", "factor",    "burst" };
const size_t webhook_name_count = COUNT(webhook_names);

struct webhook_values webhooks_now(struct webhook_switches *w)
{
    struct webhook_values v = { .on = w->on,
                                .reorder = atomic_load(&w->reorder),
                                .burst = atomic_load(&w->burst),
                                .drop_first = w->drop_first,
                                .delay_ms = atomic_load(&w->delay_ms),
                                .copies = atomic_load(&w->copies),
                                .factor = atomic_load(&w->factor) };

    memcpy(v.url, w->url, sizeof(v.url));
    return v;
}

void webhooks_set(struct webhook_switches *w, const struct webhook_values *v)
{
    memcpy(w->url, v->url, sizeof(w->url));
    w->on = v->on;
    w->drop_first = v->drop_first;
    atomic_store(&w->reorder, v->reorder);
    atomic_store(&w->burst, v->burst);
    atomic_store(&w->turn, 0);
    atomic_store(&w->copies, v->copies);
    atomic_store(&w->delay_ms, v->delay_ms);
    atomic_store(&w->factor, v->factor);
}

void webhooks_write(struct buf *b, const struct webhook_values *v)
{
    buf_add(b, S("{\"url\":"));
    buf_json(b, str_of(v->url));
    buf_fmt(b,
            ",\"on\":%s,\"duplicate\":%lld,\"reorder\":%s,\"delayMs\":%lld,\"dropFirst\":%lld,"
            "\"factor\":%lld,\"burst\":%s}\n",
            yes_or_no(v->on), (long long)v->copies, yes_or_no(v->reorder), (long long)v->delay_ms,
            (long long)v->drop_first, (long long)v->factor, yes_or_no(v->burst));
}

/* "" returns to the receiver of the settings. */
static void read_url(struct control_body *in, char url[WEBHOOK_URL_MAX])
{
    struct str u;

    if (!cJSON_GetObjectItemCaseSensitive(in->body, "url"))
        return;
    memset(url, 0, WEBHOOK_URL_MAX);
    switches_json_text(in, "url", url, WEBHOOK_URL_MAX);
    u = str_of(url);
    if (u.n && !str_starts(u, S("http://")) && !str_starts(u, S("https://")))
        json_problem(&in->problems, "url", "begins with http:// or https://");
}

void webhooks_read(struct control_body *in, struct webhook_values *v)
{
    read_url(in, v->url);
    v->on = switches_json_flag(in, "on", v->on);
    v->reorder = switches_json_flag(in, "reorder", v->reorder);
    v->burst = switches_json_flag(in, "burst", v->burst);
    v->copies = switches_json_number(in, "duplicate", 0, LIMIT_SANDBOX_COPIES, v->copies);
    v->delay_ms = switches_json_number(in, "delayMs", 0, LIMIT_SANDBOX_SWITCH_MS, v->delay_ms);
    v->drop_first = switches_json_number(in, "dropFirst", 0, 1000000, v->drop_first);
    v->factor = switches_json_number(in, "factor", 1, 1000000, v->factor);
}

/* --- chaos --- */

const char *const chaos_fields[] = { "seed", "calls", "webhooks", "delayMs", "hangMs", "until" };
const size_t chaos_field_count = COUNT(chaos_fields);

static void write_rates(struct buf *b, const int64_t *rate, size_t from, size_t to)
{
    bool first = true;

    for (size_t i = from; i < to; i++) {
        if (!rate[i])
            continue;
        buf_fmt(b, "%s\"%s\":%lld.%06lld", first ? "" : ",", chaos_names[i],
                (long long)(rate[i] / 1000000), (long long)(rate[i] % 1000000));
        first = false;
    }
}

static void write_until(struct buf *b, int64_t ms)
{
    struct civil day = civil_of(ms / 1000 / DAY_S);
    int s = (int)(ms / 1000 % DAY_S);

    buf_fmt(b, ",\"until\":\"%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ\"", (long long)day.year,
            day.month, day.day, s / 3600, s / 60 % 60, s % 60, (int)(ms % 1000));
}

static void write_plan(struct buf *b, const struct chaos_plan *p)
{
    buf_fmt(b, "\"seed\":%lld,\"calls\":{", (long long)p->seed);
    write_rates(b, p->rate, 0, CHAOS_CALLS);
    buf_add(b, S("},\"webhooks\":{"));
    write_rates(b, p->rate, CHAOS_CALLS, CHAOS_KINDS);
    buf_fmt(b, "},\"delayMs\":%lld,\"hangMs\":%lld", (long long)p->delay_ms, (long long)p->hang_ms);
    if (p->until_ms)
        write_until(b, p->until_ms);
}

void chaos_write(struct buf *b, const struct chaos_plan *p)
{
    buf_char(b, '{');
    write_plan(b, p);
    buf_char(b, '}');
}

static void write_happened(struct buf *b, struct chaos *c, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        buf_fmt(b, "%s\"%s\":%lld", i == from ? "" : ",", chaos_names[i],
                (long long)atomic_load(&c->happened[i]));
}

void chaos_write_state(struct buf *b, struct chaos *c, int64_t now_ms)
{
    buf_fmt(b, "{\"on\":%s", yes_or_no(chaos_is_on(c, now_ms)));
    if (c->plan.on) {
        buf_char(b, ',');
        write_plan(b, &c->plan);
    }
    buf_add(b, S(",\"happened\":{\"calls\":{"));
    write_happened(b, c, 0, CHAOS_CALLS);
    buf_add(b, S("},\"webhooks\":{"));
    write_happened(b, c, CHAOS_CALLS, CHAOS_KINDS);
    buf_add(b, S("}}}\n"));
}

static void read_rate(struct control_body *in, const cJSON *item, const char *group, size_t from,
                      size_t to, struct chaos_plan *p)
{
    struct str field = { 0 };
    struct buf name;
    size_t i = from;

    while (i < to && strcmp(chaos_names[i], item->string) != 0)
        i++;
    buf_init(&name, 1024);
    buf_fmt(&name, "%s.%.200s", group, item->string);
    buf_char(&name, '\0');
    field = buf_str(&name);
    if (name.failed)
        json_problem(&in->problems, group, "no memory to read it");
    else if (i == to)
        json_problem(&in->problems, field.p, "there is no such fault");
    else if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= 1))
        json_problem(&in->problems, field.p, "is a rate from 0 to 1");
    else
        p->rate[i] = (int64_t)(item->valuedouble * 1e6 + 0.5);
    buf_release(&name);
}

static void read_rates(struct control_body *in, const char *group, size_t from, size_t to,
                       struct chaos_plan *p)
{
    const cJSON *rates = cJSON_GetObjectItemCaseSensitive(in->body, group), *item;

    if (!rates)
        return;
    if (!cJSON_IsObject(rates)) {
        json_problem(&in->problems, group, "is an object of rates from 0 to 1");
        return;
    }
    cJSON_ArrayForEach(item, rates) read_rate(in, item, group, from, to, p);
}

static void read_until(struct control_body *in, struct chaos_plan *p)
{
    char word[64] = "";

    switches_json_text(in, "until", word, sizeof(word));
    if (word[0] && (!time_parse(str_of(word), &p->until_ms) || p->until_ms <= 0))
        json_problem(&in->problems, "until", "is a time like 2026-01-31T12:00:00Z");
}

struct chaos_plan chaos_read(struct control_body *in)
{
    struct chaos_plan p = { .on = true };
    int64_t rates = 0;

    if (!json_get_int(in->body, "seed", true, 0, INT64_C(9007199254740991), &p.seed, &in->problems))
        p.seed = 0;
    read_rates(in, "calls", 0, CHAOS_CALLS, &p);
    read_rates(in, "webhooks", CHAOS_CALLS, CHAOS_KINDS, &p);
    p.delay_ms = switches_json_number(in, "delayMs", 1, LIMIT_SANDBOX_SWITCH_MS,
                                      LIMIT_SANDBOX_CHAOS_DELAY_MS);
    p.hang_ms =
        switches_json_number(in, "hangMs", 1, LIMIT_SANDBOX_SWITCH_MS, LIMIT_SANDBOX_CHAOS_HANG_MS);
    read_until(in, &p);
    for (size_t i = 0; i < CHAOS_KINDS; i++)
        rates += p.rate[i];
    if (!rates && !in->problems.count)
        json_problem(&in->problems, "calls", "chaos needs a rate above 0");
    return p;
}
