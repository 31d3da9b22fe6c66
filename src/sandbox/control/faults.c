/* faults.c - the routes of the switches: /_sandbox/faults, /webhooks, /chaos. */
#include "sandbox/fault/switches.h"

static void reply_json(struct request *r, struct buf *b)
{
    control_reply(r, 200, S("application/json"), b);
}

/* --- /_sandbox/faults --- */

void control_rules(struct request *r, void *sandbox)
{
    struct buf b;

    buf_init(&b, LIMIT_REPLY);
    rules_write(&b, ((struct sandbox *)sandbox)->faults);
    reply_json(r, &b);
}

static void rules_changed(struct change *c)
{
    control_rules(c->request, c->s);
}

ANSWERS static bool read_rule(struct change *c)
{
    struct control_body in;

    if (!control_body_begin(&in, c->request, rule_names, rule_name_count))
        return false;
    c->rule = rule_read(&in);
    return control_body_end(&in, c->request);
}

void control_add_rule(struct request *r, void *sandbox)
{
    change_post(r, sandbox,
                &(struct change){ .kind = CHANGE_ADD, .read = read_rule, .done = rules_changed });
}

/* Rules are cleared, chaos ends. */
static bool read_nothing(struct change *c)
{
    (void)c;
    return true;
}

void control_clear_rules(struct request *r, void *sandbox)
{
    change_post(
        r, sandbox,
        &(struct change){ .kind = CHANGE_CLEAR, .read = read_nothing, .done = rules_changed });
}

/* --- /_sandbox/webhooks --- */

void control_webhooks(struct request *r, void *sandbox)
{
    struct webhook_values now = webhooks_now(&((struct sandbox *)sandbox)->faults->webhooks);
    struct buf b;

    buf_init(&b, LIMIT_REPLY);
    webhooks_write(&b, &now);
    if (b.n > 2) { /* before its "}" and line end */
        b.n -= 2;
        buf_fmt(&b, ",\"offBySetting\":%s}\n",
                ((struct sandbox *)sandbox)->o.webhook_url.n ? "false" : "true");
    }
    reply_json(r, &b);
}

static void webhooks_changed(struct change *c)
{
    control_webhooks(c->request, c->s);
}

ANSWERS static bool read_webhooks(struct change *c)
{
    struct control_body in;

    if (!control_body_begin(&in, c->request, webhook_names, webhook_name_count))
        return false;
    webhooks_read(&in, &c->webhooks);
    return control_body_end(&in, c->request);
}

void control_set_webhooks(struct request *r, void *sandbox)
{
    change_post(r, sandbox,
                &(struct change){
                    .kind = CHANGE_WEBHOOKS, .read = read_webhooks, .done = webhooks_changed });
}

/* --- /_sandbox/chaos --- */

void control_chaos(struct request *r, void *sandbox)
{
    struct sandbox *s = sandbox;
    struct buf b;

    buf_init(&b, LIMIT_REPLY);
    chaos_write_state(&b, &s->faults->chaos, env_now_ms(&s->env));
    reply_json(r, &b);
}

static void chaos_changed(struct change *c)
{
    control_chaos(c->request, c->s);
}

ANSWERS static bool read_chaos(struct change *c)
{
    struct control_body in;

    if (!control_body_begin(&in, c->request, chaos_fields, chaos_field_count))
        return false;
    c->chaos = chaos_read(&in);
    return control_body_end(&in, c->request);
}

void control_set_chaos(struct request *r, void *sandbox)
{
    change_post(
        r, sandbox,
        &(struct change){ .kind = CHANGE_CHAOS, .read = read_chaos, .done = chaos_changed });
}

void control_end_chaos(struct request *r, void *sandbox)
{
    change_post(
        r, sandbox,
        &(struct change){ .kind = CHANGE_CHAOS, .read = read_nothing, .done = chaos_changed });
}
