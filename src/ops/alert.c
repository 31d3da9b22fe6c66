/* alert.c - the rows of alerts, the reports that go out for them, and the rules about all nodes.
 * alert.h has the invariants and what a crash leaves. */
#include "ops/alert.h"

#include "base/json/write.h"
#include "base/limits.h"
#include "observe/log.h"
#include "payment/unknown.h"
#include "store/values.h"
#include "telemetry/sentry.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { BODY_MAX = 8 * 1024 };
static_assert(COUNT(((struct alert_tellings *)0)->all) == LIMIT_ALERT_ROWS + ALERTS, "all of them");

/* --- reporting --- */

static bool alert_is_resolved(const struct alert_telling *t)
{
    return t->news == NEWS_RESOLVED;
}

static void alert_out_number(struct buf *b, const char *name, int64_t thousandths)
{
    char text[ALERT_NUMBER];

    alert_number(thousandths, text);
    out_json(b, name, str_of(text));
}

/* The body for the webhook; the mail is made from it. */
static void alert_json(struct buf *b, const struct alert_telling *t)
{
    const struct alert_rule *r = alert_rule(t->alert);

    buf_char(b, '{');
    out_text(b, "name", str_of(r->name));
    out_text(b, "state", alert_is_resolved(t) ? S("resolved") : S("firing"));
    out_bool(b, "again", t->news == NEWS_STILL);
    alert_out_number(b, "value", t->state.value);
    alert_out_number(b, "threshold", t->threshold);
    out_text(b, "unit", str_of(r->unit));
    out_time(b, "since", t->state.since_ms);
    out_time(b, "at", t->now_ms);
    out_text(b, "node", str_of(t->node));
    out_text(b, "reason",
             t->gone                ? S("node_gone")
             : alert_is_resolved(t) ? S("recovered")
                                    : S("threshold"));
    out_text(b, "summary", str_of(r->words[LANG_EN]));
    out_text(b, "summaryJa", str_of(r->words[LANG_JA]));
    out_text(b, "whatNext", str_of(r->next[LANG_EN]));
    out_text(b, "whatNextJa", str_of(r->next[LANG_JA]));
    buf_char(b, '}');
}

static void alert_report_sentry(struct sentry *s, const struct alert_telling *t,
                                const char *message, struct str value)
{
    const struct alert_rule *r = alert_rule(t->alert);
    struct log_field tags[] = { LOG_TEXT("alert", str_of(r->name)), LOG_TEXT("value", value),
                                LOG_TEXT("unit", str_of(r->unit)),
                                LOG_SOME("node", str_of(t->node)) };
    char text[400], print[100];

    snprintf(text, sizeof(text), "%s: %s", message, r->words[LANG_EN]);
    snprintf(print, sizeof(print), "alert-%s-%s", r->name,
             alert_is_resolved(t) ? "resolved" : "firing");
    sentry_message(s, alert_is_resolved(t) ? SENTRY_INFO : SENTRY_ERROR, str_of(text),
                   str_of(print), tags, COUNT(tags));
}

static void alert_report_one(const struct alert_desk *d, const struct alert_telling *t)
{
    const struct alert_rule *r = alert_rule(t->alert);
    const char *message = alert_is_resolved(t) ? "Alert resolved" : "Alert firing";
    char value[ALERT_NUMBER], threshold[ALERT_NUMBER];

    alert_number(t->state.value, value);
    alert_number(t->threshold, threshold);
    LOG(d->env->log, alert_is_resolved(t) ? LOG_INFO : LOG_ERROR, message,
        LOG_TEXT("alert", str_of(r->name)), LOG_TEXT("value", str_of(value)),
        LOG_TEXT("threshold", str_of(threshold)), LOG_TEXT("unit", str_of(r->unit)),
        LOG_SOME("node", str_of(t->node)), LOG_TEXT("summary", str_of(r->words[LANG_EN])),
        LOG_TEXT("whatNext", str_of(r->next[LANG_EN])));
    if (d->sentry)
        alert_report_sentry(d->sentry, t, message, str_of(value));
}

/* On a store thread, after the commit. */
static void alert_report_all(void *ctx, int64_t arg)
{
    const struct alert_tellings *out = ctx;

    (void)arg;
    for (size_t i = 0; i < out->count; i++) {
        const struct alert_telling *t = &out->all[i];

        if (t->news != NEWS_FIRES || !out->said || !out->said[t->alert])
            alert_report_one(out->desk, t);
    }
}

static struct alert_telling alert_report_of(const struct alert_desk *d, const struct alert_row *row,
                                            enum alert_news news, int64_t now_ms)
{
    struct alert_telling t = { .alert = row->alert,
                               .news = news,
                               .state = row->state,
                               .threshold = alert_threshold(row->alert, d->unknown_ms),
                               .now_ms = now_ms };

    memcpy(t.node, row->node, sizeof(t.node));
    return t;
}

void alert_say(const struct alert_desk *d, const struct alert_row *row, enum alert_news news,
               int64_t now_ms)
{
    struct alert_telling t = alert_report_of(d, row, news, now_ms);

    alert_report_one(d, &t);
}

/* --- sends --- */

static enum err alert_add_send(struct tx *tx, const struct alert_desk *d,
                               const struct alert_telling *t, struct uuid telling,
                               struct str channel, struct str target, struct str body)
{
    struct queue_new m = { .id = env_uuid(tx_env(tx)),
                           .kind = S("alert"),
                           .ref = str_of(alert_rule(t->alert)->name),
                           .body = body,
                           .due_ms = t->now_ms };
    enum err e = TX_DO(tx, STMT_alert_send_add, 1, v_uuid(&m.id), v_uuid(&telling), V_TEXT(channel),
                       V_TEXT(target), V_INT(t->now_ms));

    return e ? e : queue_add(d->payments->runtime.queue, tx, t->now_ms, &m, 1);
}

static enum err alert_add_sends(struct tx *tx, struct arena *a, const struct alert_desk *d,
                                const struct alert_telling *t)
{
    struct uuid telling = env_uuid(tx_env(tx));
    struct str left = d->mails, body;
    enum err e = OK;
    struct buf b;

    buf_init(&b, BODY_MAX);
    alert_json(&b, t);
    body = out_done(&b, a);
    if (!body.p)
        return ERR_NO_MEMORY;
    if (d->has_webhook)
        e = alert_add_send(tx, d, t, telling, S("webhook"), S(""), body);
    while (!e && left.n)
        e = alert_add_send(tx, d, t, telling, S("mail"), str_trim(str_cut(&left, ',')), body);
    return e;
}

static enum err alert_add_report(struct tx *tx, struct arena *a, const struct alert_row *row,
                                 enum alert_news news, bool gone, int64_t now_ms,
                                 struct alert_tellings *out)
{
    struct alert_telling *t = &out->all[out->count];

    if (news <= NEWS_QUIET)
        return OK;
    assert(out->count < COUNT(out->all));
    *t = alert_report_of(out->desk, row, news, now_ms);
    t->gone = gone;
    if (!out->count++)
        tx_after_commit(tx, alert_report_all, out, 0);
    return alert_add_sends(tx, a, out->desk, t);
}

/* --- rows --- */

static bool alert_row_read(const struct row *r, struct alert_row *ret_row)
{
    static const enum alert_status states[] = { ALERT_OK, ALERT_PENDING, ALERT_FIRING };
    const struct val *c = r->col;

    *ret_row = (struct alert_row){ .seen_ms = c[7].i, .version = c[8].i };
    ret_row->state = (struct alert_state){
        .value = c[3].i, .since_ms = c[4].i, .calm_ms = c[5].i, .told_ms = c[6].i
    };
    for (size_t i = 0; i < COUNT(states); i++)
        if (str_eq(c[2].s, str_of(alert_status_word(states[i]))))
            ret_row->state.status = states[i];
    snprintf(ret_row->node, sizeof(ret_row->node), STR_FMT, STR_ARG(c[1].s));
    return alert_named(c[0].s, &ret_row->alert);
}

struct alert_reading {
    struct alert_row *rows;
    size_t count;
};

static enum err alert_add_row(void *ctx, const struct row *row)
{
    struct alert_reading *r = ctx;

    if (alert_row_read(row, &r->rows[r->count])) /* false: a rule of a newer version; left alone */
        r->count++;
    return OK;
}

enum err alert_rows_read(struct tx *tx, struct alert_row *ret_rows, size_t *ret_count)
{
    struct val limit = V_INT(LIMIT_ALERT_ROWS);
    struct alert_reading r = { .rows = ret_rows };
    enum err e = tx_each(tx, STMT_alerts_read, &limit, 1, alert_add_row, &r);

    *ret_count = r.count;
    return e;
}

/* Reads what another node wrote; version 0 if there is no row. */
static enum err alert_row_reread(struct tx *tx, struct alert_row *row)
{
    struct row found;
    enum err e = TX_ROW(tx, STMT_alert_get, &found, V_TEXT(str_of(alert_rule(row->alert)->name)),
                        V_TEXT(str_of(row->node)));

    if (e == ERR_NOT_FOUND) {
        row->state = (struct alert_state){ 0 };
        row->version = 0;
        return OK;
    }
    if (!e)
        alert_row_read(&found, row);
    return e;
}

void alert_tellings_begin(struct alert_tellings *out, const struct alert_desk *d)
{
    out->desk = d;
    out->count = 0;
    out->said = NULL;
}

static enum err alert_row_remove(struct tx *tx, const struct alert_row *row)
{
    struct row ignored;

    return TX_ROW(tx, STMT_alert_remove, &ignored, V_TEXT(str_of(alert_rule(row->alert)->name)),
                  V_TEXT(str_of(row->node)), V_INT(row->version));
}

static enum err alert_row_write(struct tx *tx, const struct alert_row *row,
                                const struct alert_state *s, int64_t now_ms)
{
    struct row ignored;

    return TX_ROW(tx, row->version ? STMT_alert_move : STMT_alert_add, &ignored,
                  V_TEXT(str_of(alert_status_word(s->status))), V_INT(s->value), V_INT(s->since_ms),
                  V_INT(s->calm_ms), V_INT(s->told_ms), V_INT(now_ms),
                  V_TEXT(str_of(alert_rule(row->alert)->name)), V_TEXT(str_of(row->node)),
                  V_INT(row->version));
}

/* A row of one node exists only while its alert is not resolved, since nodes come and go. */
enum err alert_put(struct tx *tx, struct arena *a, struct alert_row *row,
                   const struct alert_state *new, enum alert_news news, int64_t now_ms,
                   struct alert_tellings *out)
{
    bool ends = row->node[0] && row->version && new->status == ALERT_OK;
    enum err e = ends ? alert_row_remove(tx, row) : alert_row_write(tx, row, new, now_ms);

    if (e == ERR_NOT_FOUND)
        return alert_row_reread(tx, row);
    if (e)
        return e;
    row->state = *new;
    row->seen_ms = now_ms;
    row->version = ends ? 0 : row->version + 1;
    return alert_add_report(tx, a, row, news, false, now_ms, out);
}

/* --- rows of dead nodes --- */

/* Takes over one row of each rule; further rows are removed. */
static enum err alert_row_adopt(struct tx *tx, const struct alert_row *row, int64_t now_ms,
                                struct alert_row *own)
{
    struct row ignored;
    struct alert_row taken = *row;
    enum err e;

    if (own->version)
        return alert_row_remove(tx, row);
    memcpy(taken.node, own->node, sizeof(taken.node));
    taken.seen_ms = now_ms;
    taken.version++;
    e = TX_ROW(tx, STMT_alert_adopt, &ignored, V_TEXT(str_of(own->node)), V_INT(now_ms),
               V_TEXT(str_of(alert_rule(row->alert)->name)), V_TEXT(str_of(row->node)),
               V_INT(row->version));
    if (!e)
        *own = taken;
    return e;
}

enum err alert_adopt(struct tx *tx, int64_t now_ms, struct alert_row own[ALERTS])
{
    struct alert_row rows[LIMIT_ALERT_ROWS];
    size_t n;
    enum err e = alert_rows_read(tx, rows, &n);

    for (size_t i = 0; i < n && !e; i++)
        if (rows[i].node[0])
            e = alert_row_adopt(tx, &rows[i], now_ms, &own[rows[i].alert]);
    return e;
}

/* --- checking the rules about all nodes --- */

enum err alert_facts_read(struct tx *tx, int64_t now_ms, struct alert_facts *ret_facts)
{
    struct unknown_state unknown;
    enum err e;

    *ret_facts = (struct alert_facts){ 0 };
    /* Dead letters of kind "alert" are not counted: alerts about them would never end. */
    e = queue_read_dead(tx, now_ms, &ret_facts->dead, &ret_facts->dead_oldest_ms);
    if (e)
        return e;
    e = unknown_read_state(tx, now_ms, &unknown);
    ret_facts->unknown_oldest_ms = e ? 0 : unknown.oldest_ms;
    return e;
}

static struct alert_row alert_row_of_all_nodes(const struct alert_row *rows, size_t n, enum alert a)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].alert == a && !rows[i].node[0])
            return rows[i];
    return (struct alert_row){ .alert = a };
}

/* A change of the value alone is not stored: readers take it from the facts. */
static enum err alert_check_rule(struct tx *tx, struct arena *a, struct alert_row *row,
                                 int64_t value, int64_t now_ms, struct alert_tellings *out)
{
    struct alert_state new = row->state;
    enum alert_news news =
        alert_step(alert_rule(row->alert), alert_threshold(row->alert, out->desk->unknown_ms),
                   value, now_ms, &new);

    return news == NEWS_NONE ? OK : alert_put(tx, a, row, &new, news, now_ms, out);
}

static bool alert_node_is_gone(const struct alert_row *row, int64_t now_ms)
{
    return now_ms - row->seen_ms >= LIMIT_ALERT_GONE_MS;
}

/* An alert that fires on a living node is not resolved, for example after a node was restarted. */
static bool alert_fires_elsewhere(const struct alert_row *rows, size_t n, enum alert a,
                                  int64_t now_ms)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].alert == a && rows[i].node[0] && rows[i].state.status == ALERT_FIRING &&
            !alert_node_is_gone(&rows[i], now_ms))
            return true;
    return false;
}

static enum err alert_forget(struct tx *tx, struct arena *a, struct alert_row *row, bool quietly,
                             int64_t now_ms, struct alert_tellings *out)
{
    bool told = row->state.status == ALERT_FIRING && !quietly;
    enum alert_news news = told ? NEWS_RESOLVED : NEWS_QUIET;
    enum err e = alert_row_remove(tx, row);

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    row->state.value = 0;
    row->state.since_ms = now_ms;
    return alert_add_report(tx, a, row, news, true, now_ms, out);
}

/* A node's own rows are left to its own rules, however long it was suspended. */
static enum err alert_forget_gone_nodes(struct tx *tx, struct arena *a, struct alert_row *rows,
                                        size_t n, int64_t now_ms, struct alert_tellings *out)
{
    char self[UUID_TEXT + 1];
    enum err e = OK;

    uuid_text(out->desk->env->node, self);
    for (size_t i = 0; !e && i < n; i++)
        if (rows[i].node[0] && strcmp(rows[i].node, self) != 0 &&
            alert_node_is_gone(&rows[i], now_ms))
            e = alert_forget(tx, a, &rows[i], alert_fires_elsewhere(rows, n, rows[i].alert, now_ms),
                             now_ms, out);
    return e;
}

enum err alert_look(struct tx *tx, const struct alert_desk *d, struct arena *a, int64_t now_ms,
                    struct alert_tellings *out)
{
    struct alert_row rows[LIMIT_ALERT_ROWS];
    struct alert_facts facts;
    size_t n;
    enum err e = alert_facts_read(tx, now_ms, &facts);

    alert_tellings_begin(out, d);
    if (e)
        return e;
    e = alert_rows_read(tx, rows, &n);
    for (int i = 0; i < ALERTS && !e; i++) {
        struct alert_row row;

        if (!alert_rule((enum alert)i)->of_all)
            continue;
        row = alert_row_of_all_nodes(rows, n, (enum alert)i);
        e = alert_check_rule(tx, a, &row, alert_value_of_all((enum alert)i, &facts), now_ms, out);
    }
    if (e)
        return e;
    out->stands = n || facts.dead || facts.unknown_oldest_ms || out->count;
    return alert_forget_gone_nodes(tx, a, rows, n, now_ms, out);
}
