/* control.c - the routes that are no part of Stripe's API: switches, and a look behind the scenes.
 * They take JSON strictly, so that a misspelt switch is an error and not a test that proves
 * nothing. All of them run on the sandbox's loop. */
#include "sandbox/control.h"

#include "sandbox/switches.h"

#include <stdio.h>
#include <string.h>

/* --- answers --- */

void control_reply(struct request *r, int status, struct str type, struct buf *text)
{
    struct buf b = *text; /* which may lie in the request's arena, and that ends with the reply */

    if (b.failed)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    else
        reply_send(r, status, type, buf_str(&b));
    buf_release(&b);
}

struct str control_query(const struct request *r, struct str name)
{
    struct str rest = r->query;

    while (rest.n) {
        struct str value = str_cut(&rest, '&'), key = str_cut(&value, '=');

        if (str_eq(key, name))
            return value;
    }
    return S("");
}

/* --- reading a body of switches --- */

static void refuse_unknown(struct reading *in, const char *const *names, size_t n)
{
    const cJSON *field;

    cJSON_ArrayForEach(field, in->body)
    {
        size_t i = 0;

        while (i < n && strcmp(names[i], field->string) != 0)
            i++;
        if (i == n)
            json_problem(&in->problems, field->string, "there is no such switch");
    }
}

bool reading_begin(struct reading *in, struct request *r, const char *const *names, size_t n)
{
    struct json_fault fault = { 0 };

    *in = (struct reading){ 0 };
    if (json_parse(r->body, &in->body, &fault)) {
        reply_problem(r, ERR_VALIDATION, fault.why);
        return false;
    }
    if (!cJSON_IsObject(in->body)) {
        json_freep(&in->body);
        reply_problem(r, ERR_VALIDATION, "an object of switches is wanted");
        return false;
    }
    json_problems_init(&in->problems);
    refuse_unknown(in, names, n);
    return true;
}

bool reading_end(struct reading *in, struct request *r)
{
    bool fine = !in->problems.count;

    if (!fine)
        reply_problem_errors(r, ERR_VALIDATION, NULL, json_problems_array(&in->problems));
    json_problems_release(&in->problems);
    json_freep(&in->body);
    return fine;
}

static int64_t number(struct reading *in, const char *field, int64_t least, int64_t most,
                      int64_t otherwise)
{
    int64_t value;

    return json_get_int(in->body, field, false, least, most, &value, &in->problems) ? value
                                                                                    : otherwise;
}

static bool flag(struct reading *in, const char *field, bool otherwise)
{
    bool value;

    return json_get_bool(in->body, field, false, &value, &in->problems) ? value : otherwise;
}

static void text(struct reading *in, const char *field, char *out, size_t size)
{
    struct str value;

    if (!json_get_str(in->body, field, false, size - 1, &value, &in->problems))
        return;
    if (value.n < size)
        memcpy(out, value.p, value.n);
    else
        json_problem(&in->problems, field, "is too long");
}

/* --- /_sandbox/faults --- */

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

static void write_rule(struct buf *b, const struct call_rule *rule)
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
    write_text(b, "declineCode", rule->decline_code);
    buf_fmt(b, "\"skip\":%lld,\"times\":%lld}", (long long)rule->skip, (long long)rule->times);
}

static void reply_rules(struct request *r, const struct sandbox_faults *f)
{
    struct buf b;

    buf_init(&b, LIMIT_REPLY);
    buf_add(&b, S("{\"faults\":["));
    for (size_t i = 0; i < f->count; i++) {
        if (i)
            buf_char(&b, ',');
        write_rule(&b, &f->rules[i]);
    }
    buf_add(&b, S("]}\n"));
    control_reply(r, 200, S("application/json"), &b);
}

static void list_rules(struct request *r, void *ctx)
{
    reply_rules(r, ((struct sandbox *)ctx)->faults);
}

static void clear_rules(struct request *r, void *ctx)
{
    struct sandbox *s = ctx;

    rules_clear(s->faults);
    reply_rules(r, s->faults);
}

static bool says_something(const struct call_rule *rule)
{
    const struct sandbox_fault *f = &rule->fault;

    return f->delay_ms || f->status_before || f->status_after || f->hang_ms || f->drop_before ||
           f->drop_after || rule->decline_code[0];
}

static struct call_rule read_rule(struct reading *in)
{
    struct call_rule rule = { .skip = number(in, "skip", 0, 1000000, 0),
                              .times = number(in, "times", 1, 1000000, 1) };
    struct sandbox_fault *f = &rule.fault;

    text(in, "path", rule.path, sizeof(rule.path));
    text(in, "method", rule.method, sizeof(rule.method));
    text(in, "declineCode", rule.decline_code, sizeof(rule.decline_code));
    f->delay_ms = number(in, "delayMs", 0, LIMIT_SANDBOX_SWITCH_MS, 0);
    f->hang_ms = number(in, "hangMs", 0, LIMIT_SANDBOX_SWITCH_MS, 0);
    f->status_before = (int)number(in, "statusBefore", 400, 599, 0);
    f->status_after = (int)number(in, "statusAfter", 400, 599, 0);
    f->drop_before = flag(in, "dropBefore", false);
    f->drop_after = flag(in, "dropAfter", false);
    if (rule.path[0] && rule.path[0] != '/')
        json_problem(&in->problems, "path", "begins with /");
    if (!says_something(&rule) && !in->problems.count)
        json_problem(&in->problems, "statusBefore", "a rule needs something to do");
    return rule;
}

static void add_rule(struct request *r, void *ctx)
{
    static const char *const names[] = { "path",      "method",       "times",       "skip",
                                         "delayMs",   "statusBefore", "statusAfter", "dropBefore",
                                         "dropAfter", "hangMs",       "declineCode" };
    struct sandbox *s = ctx;
    struct call_rule rule;
    struct reading in;

    if (!reading_begin(&in, r, names, COUNT(names)))
        return;
    rule = read_rule(&in);
    if (!reading_end(&in, r))
        return;
    if (rules_add(s->faults, &rule))
        reply_problem(r, ERR_OVERLOADED, "there are too many rules; DELETE /_sandbox/faults");
    else
        reply_rules(r, s->faults);
}

/* --- /_sandbox/webhooks --- */

static void reply_webhooks(struct request *r, struct webhook_switches *w)
{
    struct buf b;

    buf_init(&b, LIMIT_REPLY);
    buf_add(&b, S("{\"url\":"));
    buf_json(&b, str_of(w->url));
    buf_fmt(&b,
            ",\"on\":%s,\"duplicate\":%lld,\"reorder\":%s,\"delayMs\":%lld,\"dropFirst\":%lld,"
            "\"factor\":%lld}\n",
            w->on ? "true" : "false", (long long)atomic_load(&w->copies),
            atomic_load(&w->reorder) ? "true" : "false", (long long)atomic_load(&w->delay_ms),
            (long long)w->drop_first, (long long)atomic_load(&w->factor));
    control_reply(r, 200, S("application/json"), &b);
}

static void list_webhooks(struct request *r, void *ctx)
{
    reply_webhooks(r, &((struct sandbox *)ctx)->faults->webhooks);
}

/* Another receiver; "" is the first one again. */
static void read_url(struct reading *in, char url[WEBHOOK_URL_MAX])
{
    struct str u;

    if (!cJSON_GetObjectItemCaseSensitive(in->body, "url"))
        return;
    memset(url, 0, WEBHOOK_URL_MAX);
    text(in, "url", url, WEBHOOK_URL_MAX);
    u = str_of(url);
    if (u.n && !str_starts(u, S("http://")) && !str_starts(u, S("https://")))
        json_problem(&in->problems, "url", "begins with http:// or https://");
}

/* What is not named keeps its value. */
static void set_webhooks(struct request *r, void *ctx)
{
    static const char *const names[] = { "url",     "on",        "duplicate", "reorder",
                                         "delayMs", "dropFirst", "factor" };
    struct webhook_switches *w = &((struct sandbox *)ctx)->faults->webhooks;
    int64_t copies, delay_ms, drop_first, factor;
    char url[WEBHOOK_URL_MAX];
    bool on, reorder;
    struct reading in;

    if (!reading_begin(&in, r, names, COUNT(names)))
        return;
    memcpy(url, w->url, sizeof(url));
    read_url(&in, url);
    on = flag(&in, "on", w->on);
    reorder = flag(&in, "reorder", atomic_load(&w->reorder));
    copies = number(&in, "duplicate", 0, LIMIT_SANDBOX_COPIES, atomic_load(&w->copies));
    delay_ms = number(&in, "delayMs", 0, LIMIT_SANDBOX_SWITCH_MS, atomic_load(&w->delay_ms));
    drop_first = number(&in, "dropFirst", 0, 1000000, w->drop_first);
    factor = number(&in, "factor", 1, 1000000, atomic_load(&w->factor));
    if (!reading_end(&in, r))
        return;
    memcpy(w->url, url, sizeof(url));
    w->on = on;
    w->drop_first = drop_first;
    atomic_store(&w->reorder, reorder);
    atomic_store(&w->turn, 0);
    atomic_store(&w->copies, copies);
    atomic_store(&w->delay_ms, delay_ms);
    atomic_store(&w->factor, factor);
    reply_webhooks(r, w);
}

/* --- GET /_sandbox/events?type=&limit= --- */

struct event_list {
    struct unit unit;
    struct request *request;
    struct str type;
    int64_t limit, count;
    struct buf text;
};

static enum err add_event(void *ctx, const struct row *row)
{
    struct event_list *l = ctx;

    if (l->count++ == l->limit)
        return OK; /* one more than asked for: there is more */
    if (l->count > 1)
        buf_char(&l->text, ',');
    buf_add(&l->text, row->col[0].s);
    return OK;
}

static enum err list_run(struct tx *tx, struct unit *u)
{
    struct event_list *l = CONTAINER_OF(u, struct event_list, unit);
    struct val v[] = { V_TEXT(l->type), V_INT(l->limit + 1) };
    enum err e;

    l->count = 0;
    buf_clear(&l->text);
    buf_add(&l->text, S("{\"object\":\"list\",\"data\":["));
    e = tx_each(tx, STMT_sandbox_event_list, v, COUNT(v), add_event, l);
    buf_add(&l->text, l->count > l->limit ? S("],\"has_more\":true,") : S("],\"has_more\":false,"));
    buf_add(&l->text, S("\"url\":\"/_sandbox/events\"}\n"));
    return e;
}

static void listed(struct unit *u)
{
    struct event_list *l = CONTAINER_OF(u, struct event_list, unit);

    if (!u->err) {
        control_reply(l->request, 200, S("application/json"), &l->text);
        return;
    }
    buf_release(&l->text);
    reply_problem(l->request, u->err, NULL);
}

static void list_events(struct request *r, void *ctx)
{
    static const struct unit_kind kind = { "sandbox.events", UNIT_READ, list_run, NULL };
    struct event_list *l = arena_alloc(&r->arena, 1, sizeof(*l));
    struct str limit = control_query(r, S("limit"));

    if (!l) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    l->request = r;
    l->type = control_query(r, S("type"));
    if (!limit.n) {
        l->limit = LIMIT_SANDBOX_LISTED;
    } else if (!str_to_i64(limit, &l->limit) || l->limit < 1 || l->limit > LIMIT_SANDBOX_LISTED) {
        reply_problem(r, ERR_VALIDATION, "limit is a number from 1 to 100");
        return;
    }
    buf_init(&l->text, LIMIT_REPLY);
    l->unit = (struct unit){ .kind = &kind, .home = r->home, .done = listed };
    store_post(((struct sandbox *)ctx)->store, &l->unit);
}

/* --- the table --- */

const struct route sandbox_control_routes[] = {
    { .method = "GET", .path = "/_sandbox/faults", .handle = list_rules },
    { .method = "POST", .path = "/_sandbox/faults", .handle = add_rule },
    { .method = "DELETE", .path = "/_sandbox/faults", .handle = clear_rules },
    { .method = "GET", .path = "/_sandbox/webhooks", .handle = list_webhooks },
    { .method = "POST", .path = "/_sandbox/webhooks", .handle = set_webhooks },
    { .method = "GET", .path = "/_sandbox/events", .handle = list_events },
    { .method = "GET", .path = "/_sandbox/books", .handle = control_books },
    { .method = "GET", .path = "/_sandbox/authenticate/{intent}", .handle = control_ask_customer },
    { .method = "POST", .path = "/_sandbox/authenticate/{intent}", .handle = control_authenticate },
    { .method = "POST", .path = "/_sandbox/events/{id}/resend", .handle = control_resend },
    { .method = "GET", .path = "/_sandbox/checkout/{session}", .handle = control_show_checkout },
    { .method = "POST", .path = "/_sandbox/checkout/{session}", .handle = control_use_checkout },
    { .method = "POST",
      .path = "/_sandbox/checkout/{session}/pay",
      .handle = control_pay_checkout },
    { .method = "GET", .path = "/_sandbox/konbini/{intent}", .handle = control_show_voucher },
    { .method = "POST", .path = "/_sandbox/konbini/{intent}/pay", .handle = control_pay_voucher },
    { .method = "POST",
      .path = "/_sandbox/konbini/{intent}/expire",
      .handle = control_end_voucher },
    { .method = "POST", .path = "/_sandbox/disputes", .handle = control_open_dispute },
    { .method = "POST", .path = "/_sandbox/disputes/{id}/close", .handle = control_close_dispute },
};
const size_t sandbox_control_route_count = COUNT(sandbox_control_routes);
