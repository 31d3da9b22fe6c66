/* switches.c - GET and POST /_sandbox/paypay/switches: the simulated PayPay's switches, on disk.
 * What is not named keeps its value; "faults" replaces all rules. An unknown name is an error, so
 * that a misspelt switch does not make a test prove nothing. */
#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/page/page.h"
#include "sandbox/paypay/paypay.h"

#include <string.h>

enum err pp_switches_read(struct tx *tx, struct pp_switches *ret)
{
    struct row row;
    enum err e = tx_row(tx, STMT_sandbox_paypay_switches_read, NULL, 0, &row);
    const struct val *v = row.col;

    if (e)
        return e;
    *ret = (struct pp_switches){ .webhooks = v[0].s,
                                 .webhook_delay_ms = v[1].i,
                                 .webhook_url = v[2].s,
                                 .refunds = v[3].s,
                                 .refund_delay_ms = v[4].i,
                                 .confirm_capture = v[5].i != 0,
                                 .notices = v[6].i };
    return OK;
}

bool pp_switches_write(struct work *w, const struct pp_switches *s)
{
    return work_ok(w, TX_DO(w->tx, STMT_sandbox_paypay_switches_write, 1, V_TEXT(s->webhooks),
                            V_INT(s->webhook_delay_ms), V_TEXT(s->webhook_url), V_TEXT(s->refunds),
                            V_INT(s->refund_delay_ms), V_INT(s->confirm_capture)));
}

/* --- reading the body --- */

struct switches_change {
    struct unit unit;
    struct request *request;
    struct sandbox *sandbox;
    bool writes;
    /* As sent; an empty text or a negative number was absent. */
    struct pp_switches said;
    bool has_url, has_rules;
    int confirm;
    struct pp_fault_rule rules[LIMIT_SANDBOX_RULES];
    size_t rule_count;

    struct str json;
};

static struct str take_text(struct control_body *in, struct switches_change *c, const cJSON *o,
                            const char *name, size_t most)
{
    struct str s = S("");

    if (json_get_str(o, name, false, most, &s, &in->problems))
        /* copied, because the parsed body is freed before the unit runs */
        s = s.n ? arena_str(&c->request->arena, s) : S("");
    if (!s.p)
        json_problem(&in->problems, name, "no memory for it");
    return s;
}

static struct str take_choice(struct control_body *in, struct switches_change *c, const char *name,
                              const char *const *choices)
{
    struct str s = take_text(in, c, in->body, name, 20);
    bool named = cJSON_GetObjectItemCaseSensitive(in->body, name) != NULL;

    while (named && *choices && !str_eq(s, str_of(*choices)))
        choices++;
    if (!*choices)
        json_problem(&in->problems, name, "there is no such choice");
    return s;
}

static int64_t take_number(struct control_body *in, const cJSON *o, const char *name, int64_t least,
                           int64_t most, int64_t otherwise)
{
    int64_t n = otherwise;

    json_get_int(o, name, false, least, most, &n, &in->problems);
    return n;
}

static void reject_unknown_fields(struct control_body *in, const cJSON *rule)
{
    static const char *const names[] = { "fault", "method", "path", "skip", "times", "ms" };
    const cJSON *field;

    cJSON_ArrayForEach(field, rule)
    {
        size_t i = 0;

        while (i < COUNT(names) && strcmp(names[i], field->string) != 0)
            i++;
        if (i == COUNT(names))
            json_problem(&in->problems, "faults",
                         "a rule has fault, method, path, skip, times, ms");
    }
}

static void take_rule(struct control_body *in, struct switches_change *c, const cJSON *o)
{
    struct pp_fault_rule r = { .skip = take_number(in, o, "skip", 0, 1000000, 0),
                               .times = take_number(in, o, "times", 1, 1000000, 1),
                               .ms = take_number(in, o, "ms", 0, LIMIT_SANDBOX_SWITCH_MS, 0) };

    reject_unknown_fields(in, o);
    r.fault = take_text(in, c, o, "fault", 40);
    r.method = take_text(in, c, o, "method", 8);
    r.path = take_text(in, c, o, "path", 200);
    if (!pp_fault_kind(r.fault))
        json_problem(&in->problems, "fault", "there is no such fault");
    else if (pp_fault_kind(r.fault)->hangs && !r.ms)
        json_problem(&in->problems, "ms", "says how long it hangs");
    if (r.path.n && r.path.p[0] != '/')
        json_problem(&in->problems, "path", "begins with /");
    c->rules[c->rule_count++] = r;
}

static void take_rules(struct control_body *in, struct switches_change *c)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(in->body, "faults"), *rule;

    if (!list)
        return;
    c->has_rules = true;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > LIMIT_SANDBOX_RULES) {
        json_problem(&in->problems, "faults", "is a list of rules");
        return;
    }
    cJSON_ArrayForEach(rule, list)
    {
        if (cJSON_IsObject(rule))
            take_rule(in, c, rule);
        else
            json_problem(&in->problems, "faults", "a rule is an object");
    }
}

static void take_url(struct control_body *in, struct switches_change *c)
{
    c->has_url = cJSON_GetObjectItemCaseSensitive(in->body, "webhook_url") != NULL;
    c->said.webhook_url = take_text(in, c, in->body, "webhook_url", 500);
    if (c->said.webhook_url.n && !page_is_url(c->said.webhook_url))
        json_problem(&in->problems, "webhook_url", "begins with http:// or https://");
}

static void take_switches(struct control_body *in, struct switches_change *c)
{
    static const char *const webhooks[] = { "on", "off", "duplicate", "delay", NULL };
    static const char *const refunds[] = { "one", "many", NULL };
    bool confirm;

    c->said.webhooks = take_choice(in, c, "webhooks", webhooks);
    c->said.refunds = take_choice(in, c, "refunds", refunds);
    c->said.webhook_delay_ms =
        take_number(in, in->body, "webhook_delay_ms", 0, LIMIT_SANDBOX_SWITCH_MS, -1);
    c->said.refund_delay_ms =
        take_number(in, in->body, "refund_delay_ms", 0, LIMIT_SANDBOX_SWITCH_MS, -1);
    c->confirm = -1;
    if (json_get_bool(in->body, "confirm_capture", false, &confirm, &in->problems))
        c->confirm = confirm;
    take_url(in, c);
    take_rules(in, c);
}

/* --- the unit --- */

static bool write_rules(struct work *w, const struct switches_change *c)
{
    if (!work_ok(w, tx_do(w->tx, STMT_sandbox_paypay_faults_clear, -1, NULL, 0)))
        return false;
    for (size_t i = 0; i < c->rule_count; i++)
        if (!pp_fault_add(w, &c->rules[i]))
            return false;
    return true;
}

static bool write_switches(struct work *w, const struct switches_change *c, struct pp_switches *s)
{
    if (c->said.webhooks.n)
        s->webhooks = c->said.webhooks;
    if (c->said.webhook_delay_ms >= 0)
        s->webhook_delay_ms = c->said.webhook_delay_ms;
    if (c->has_url)
        s->webhook_url = c->said.webhook_url;
    if (c->said.refunds.n)
        s->refunds = c->said.refunds;
    if (c->said.refund_delay_ms >= 0)
        s->refund_delay_ms = c->said.refund_delay_ms;
    if (c->confirm >= 0)
        s->confirm_capture = c->confirm;
    return pp_switches_write(w, s) && (!c->has_rules || write_rules(w, c));
}

static void put_text(struct buf *b, struct str key, struct str value)
{
    buf_add(b, key);
    buf_json(b, value);
}

static void put_rules(struct work *w, struct buf *b)
{
    struct pp_fault_rule *rules = NULL;
    size_t count = 0;

    pp_fault_rules(w, &rules, &count);
    for (size_t i = 0; i < count; i++) {
        put_text(b, i ? S(",{\"fault\":") : S("{\"fault\":"), rules[i].fault);
        put_text(b, S(",\"method\":"), rules[i].method);
        put_text(b, S(",\"path\":"), rules[i].path);
        buf_fmt(b, ",\"skip\":%lld,\"times\":%lld,\"ms\":%lld}", (long long)rules[i].skip,
                (long long)rules[i].times, (long long)rules[i].ms);
    }
}

static struct str switches_text(struct work *w, const struct pp_switches *s)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    put_text(&b, S("{\"webhooks\":"), s->webhooks);
    sb_put_number(&b, S(",\"webhook_delay_ms\":"), s->webhook_delay_ms);
    put_text(&b, S(",\"webhook_url\":"), s->webhook_url);
    put_text(&b, S(",\"refunds\":"), s->refunds);
    sb_put_number(&b, S(",\"refund_delay_ms\":"), s->refund_delay_ms);
    sb_put_bool(&b, S(",\"confirm_capture\":"), s->confirm_capture);
    buf_add(&b, S(",\"faults\":["));
    put_rules(w, &b);
    buf_add(&b, S("]}\n"));
    return work_text_of(w, &b);
}

static enum err switches_run(struct tx *tx, struct unit *u)
{
    struct switches_change *c = CONTAINER_OF(u, struct switches_change, unit);
    struct work w = {
        .s = c->sandbox, .tx = tx, .a = &c->request->arena, .now_ms = env_now_ms(&c->sandbox->env)
    };
    struct pp_switches s = { 0 };

    if (work_ok(&w, pp_switches_read(tx, &s)) && (!c->writes || write_switches(&w, c, &s)))
        c->json = switches_text(&w, &s);
    return w.err;
}

static void switches_done(struct unit *u)
{
    struct switches_change *c = CONTAINER_OF(u, struct switches_change, unit);

    if (u->err)
        reply_problem(c->request, u->err, NULL);
    else
        reply_send(c->request, 200, S("application/json"), c->json);
}

/* --- the requests --- */

/* NULL: the request has been answered. */
ANSWERS static struct switches_change *change_new(struct request *r, struct sandbox *s)
{
    struct switches_change *c = arena_alloc(&r->arena, 1, sizeof(*c));

    if (!c) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return NULL;
    }
    c->request = r;
    c->sandbox = s;
    return c;
}

static void switches_post(struct switches_change *c)
{
    static const struct unit_kind look = { "sandbox.look", UNIT_READ, switches_run, NULL };
    static const struct unit_kind change = { "sandbox.change", UNIT_FRONT, switches_run, NULL };

    c->unit = (struct unit){ .kind = c->writes ? &change : &look,
                             .executor = c->request->executor,
                             .done = switches_done,
                             .arena = &c->request->arena };
    store_post(c->sandbox->store, &c->unit);
}

void pp_control_switches(struct request *r, void *sandbox)
{
    struct switches_change *c = change_new(r, sandbox);

    if (c)
        switches_post(c);
}

void pp_control_set_switches(struct request *r, void *sandbox)
{
    static const char *const names[] = { "webhooks", "webhook_delay_ms", "webhook_url",
                                         "refunds",  "refund_delay_ms",  "confirm_capture",
                                         "faults" };
    struct switches_change *c = control_from_own_page(r) ? change_new(r, sandbox) : NULL;
    struct control_body in;

    if (!c || !control_body_begin(&in, r, names, COUNT(names)))
        return;
    take_switches(&in, c);
    c->writes = true;
    if (control_body_end(&in, r))
        switches_post(c);
}
