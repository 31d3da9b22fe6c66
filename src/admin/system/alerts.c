/* alerts.c - a rule of one node lives on the watch's executor, one of all nodes in the database:
 *
 *     request's loop --> watch's executor: this node's rules --> a read: the rows --> the answer */
#include "admin/system/alerts.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "endpoint/answer.h"

#include <string.h>

enum { ANSWER_MAX = 256 * 1024 };

struct alerts_look { /* one request, in its own arena */
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

static void alerts_add_row(struct buf *b, const struct alerts_look *l, const struct alert_row *row)
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
    alerts_out_number(b, "threshold", alert_threshold(row->alert, l->api->watch->desk->unknown_ms));
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

static struct alert_row alerts_stored_row(const struct alerts_look *l, enum alert a)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->rows[i].alert == a && !l->rows[i].node[0])
            return l->rows[i];
    return (struct alert_row){ .alert = a };
}

static void alerts_add_rules(struct buf *b, const struct alerts_look *l)
{
    for (int i = 0; i < ALERTS; i++) {
        struct alert_row row = l->own[i];

        if (alert_rule((enum alert)i)->of_all) {
            row = alerts_stored_row(l, (enum alert)i);
            row.state.value = alert_value_of_all((enum alert)i, &l->facts);
        }
        alerts_add_row(b, l, &row);
    }
}

static void alerts_add_other_nodes(struct buf *b, const struct alerts_look *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->rows[i].node[0] && strcmp(l->rows[i].node, l->own[0].node) != 0)
            alerts_add_row(b, l, &l->rows[i]);
}

static enum err alerts_read_rows(struct tx *tx, struct unit *u)
{
    struct alerts_look *l = CONTAINER_OF(u, struct alerts_look, answer.unit);
    struct buf b;
    enum err e;

    l->now_ms = env_now_ms(tx_env(tx));
    e = alert_facts_read(tx, l->now_ms, &l->facts);
    if (!e)
        e = alert_rows_read(tx, l->rows, &l->count);
    if (e)
        return e;
    buf_init(&b, ANSWER_MAX);
    buf_char(&b, '{');
    out_time(&b, "at", l->now_ms);
    out_text(&b, "node", str_of(l->own[0].node));
    out_json(&b, "data", S("["));
    alerts_add_rules(&b, l);
    alerts_add_other_nodes(&b, l);
    buf_add(&b, S("]}"));
    l->answer.text = out_done(&b, u->arena);
    return l->answer.text.p ? OK : ERR_NO_MEMORY;
}

/* --- the request --- */

static void alerts_at_home(struct task *t)
{
    static const struct unit_kind kind = { "alerts.list", UNIT_READ, alerts_read_rows, NULL };
    struct alerts_look *l = CONTAINER_OF(t, struct alerts_look, task);

    memcpy(l->own, l->api->watch->own, sizeof(l->own));
    api_answer_post(&l->answer, l->answer.request, l->api->store, &kind, api_answer_show);
}

void api_alerts_list(struct request *r, void *ctx, const struct principal *p)
{
    struct alerts_look *l = api_room(r, sizeof(*l));

    (void)p;
    if (!l)
        return;
    l->api = ctx;
    l->answer.request = r;
    l->task = (struct task){ .run = alerts_at_home };
    executor_post(l->api->watch->executor, &l->task);
}
