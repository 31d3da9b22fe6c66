/* alerts.c - the state of a node's rules lives on the watch's executor, that of rules for all nodes
 * in the database:
 *
 *     request's loop --> watch's executor: this node's rules --> a read: the rows --> the answer */
#include "admin/system/alerts.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "endpoint/answer.h"

#include <string.h>

enum { ANSWER_MAX = 256 * 1024 };

struct alerts_call { /* one request, in its own arena */
    struct api_answer answer;
    struct task task;
    const struct api_alerts *api;
    struct alert_row own[ALERTS];
    struct alert_row rows[LIMIT_ALERT_ROWS];
    size_t count;
    struct alert_facts facts;
    int64_t now_ms;
};

/* --- the answer --- */

static void alerts_out_number(struct buf *b, const char *name, int64_t thousandths)
{
    char text[ALERT_NUMBER];

    alert_number(thousandths, text);
    out_json(b, name, str_of(text));
}

static void alerts_out_ms(struct buf *b, const char *name, int64_t ms)
{
    if (ms)
        out_int(b, name, ms);
    else
        out_json(b, name, S("null"));
}

static void alerts_add_row(struct buf *b, const struct alerts_call *c, const struct alert_row *row)
{
    const struct alert_rule *r = alert_rule(row->alert);

    if (b->n && b->p[b->n - 1] != '[')
        buf_char(b, ',');
    buf_char(b, '{');
    out_text(b, "name", str_of(r->name));
    out_text(b, "scope", r->of_all ? S("all") : S("node"));
    out_text(b, "node", str_of(row->node));
    out_text(b, "state", str_of(alert_status_word(row->state.status)));
    alerts_out_number(b, "value", row->state.value);
    alerts_out_number(b, "threshold", alert_threshold(row->alert, c->api->watch->desk->unknown_ms));
    out_text(b, "unit", str_of(r->unit));
    alerts_out_ms(b, "windowMs", r->window_ms);
    out_int(b, "forMs", r->for_ms);
    out_time(b, "since", row->state.since_ms);
    out_time(b, "lastToldAt", row->state.told_ms);
    out_text(b, "summary", str_of(r->words[LANG_EN]));
    out_text(b, "summaryJa", str_of(r->words[LANG_JA]));
    out_text(b, "whatNext", str_of(r->next[LANG_EN]));
    out_text(b, "whatNextJa", str_of(r->next[LANG_JA]));
    buf_char(b, '}');
}

static struct alert_row alerts_stored_row(const struct alerts_call *c, enum alert a)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->rows[i].alert == a && !c->rows[i].node[0])
            return c->rows[i];
    return (struct alert_row){ .alert = a };
}

static void alerts_add_rules(struct buf *b, const struct alerts_call *c)
{
    for (int i = 0; i < ALERTS; i++) {
        struct alert_row row = c->own[i];

        if (alert_rule((enum alert)i)->of_all) {
            row = alerts_stored_row(c, (enum alert)i);
            row.state.value = alert_value_of_all((enum alert)i, &c->facts);
        }
        alerts_add_row(b, c, &row);
    }
}

static void alerts_add_other_nodes(struct buf *b, const struct alerts_call *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->rows[i].node[0] && strcmp(c->rows[i].node, c->own[0].node) != 0)
            alerts_add_row(b, c, &c->rows[i]);
}

static enum err alerts_read_rows(struct tx *tx, struct unit *u)
{
    struct alerts_call *c = CONTAINER_OF(u, struct alerts_call, answer.unit);
    struct buf b;
    enum err e;

    c->now_ms = env_now_ms(tx_env(tx));
    e = alert_facts_read(tx, c->now_ms, &c->facts);
    if (e)
        return e;
    e = alert_rows_read(tx, c->rows, &c->count);
    if (e)
        return e;
    buf_init(&b, ANSWER_MAX);
    buf_char(&b, '{');
    out_time(&b, "at", c->now_ms);
    out_text(&b, "node", str_of(c->own[0].node));
    out_json(&b, "data", S("["));
    alerts_add_rules(&b, c);
    alerts_add_other_nodes(&b, c);
    buf_add(&b, S("]}"));
    c->answer.text = out_done(&b, u->arena);
    return c->answer.text.p ? OK : ERR_NO_MEMORY;
}

/* --- the request --- */

static void alerts_on_executor(struct task *t)
{
    static const struct unit_kind kind = { "alerts.list", UNIT_READ, alerts_read_rows, NULL };
    struct alerts_call *c = CONTAINER_OF(t, struct alerts_call, task);

    memcpy(c->own, c->api->watch->own, sizeof(c->own));
    api_answer_post(&c->answer, c->answer.request, c->api->store, &kind, api_answer_show);
}

void api_alerts_list(struct request *r, void *ctx, const struct principal *p)
{
    struct alerts_call *c = api_room(r, sizeof(*c));

    (void)p;
    if (!c)
        return;
    c->api = ctx;
    c->answer.request = r;
    c->task = (struct task){ .run = alerts_on_executor };
    executor_post(c->api->watch->executor, &c->task);
}
