/* rows.c - messages, their state and their log as rows. */
#include "qstash/rows.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "store/values.h"

#include <stdio.h>

/* --- the content --- */

bool text_keep(struct arena *a, const struct val *v, struct str *ret_text)
{
    *ret_text = (struct str){ 0 };
    if (v->type == VAL_NULL || !v->s.n)
        return true;
    *ret_text = arena_str(a, v->s);
    return ret_text->p;
}

static void flow_limit_read(const struct json_value *v, int64_t *ret_limit)
{
    if (v->type == JSON_NUMBER)
        str_to_i64(v->raw, ret_limit);
}

static void flow_limits_read(struct str json, struct flow_limits *ret_flow)
{
    static const char *const paths[] = { "parallelism", "rate", "period" };
    struct json_value v[COUNT(paths)];

    *ret_flow = (struct flow_limits){ .period_s = 1 };
    if (!json.n || json_pick(json, paths, COUNT(paths), v, NULL))
        return;
    flow_limit_read(&v[0], &ret_flow->parallelism);
    flow_limit_read(&v[1], &ret_flow->rate);
    flow_limit_read(&v[2], &ret_flow->period_s);
}

enum err parcel_of_row(struct arena *a, const struct row *row, int at, struct parcel *ret_parcel)
{
    const struct val *c = row->col + at;
    struct parcel p = {
        .created_ms = c[3].i, .not_before_ms = c[4].i, .retries = c[10].i, .timeout_ms = c[12].i
    };
    struct str flow = { 0 };
    bool fits;

    p.has_webhook_id = uuid_of_bytes(c[1].s, &p.webhook_id);
    p.has_source = uuid_of_bytes(c[2].s, &p.source);
    if (!uuid_of_bytes(c[0].s, &p.id))
        return ERR_INTERNAL;
    fits = text_keep(a, &c[5], &p.method) && text_keep(a, &c[6], &p.url) &&
           text_keep(a, &c[7], &p.host) && text_keep(a, &c[8], &p.path) &&
           text_keep(a, &c[9], &p.header) && text_keep(a, &c[11], &p.retry_delay) &&
           text_keep(a, &c[13], &p.callbacks) && text_keep(a, &c[14], &p.labels) &&
           text_keep(a, &c[15], &p.redact) && text_keep(a, &c[16], &p.queue) &&
           text_keep(a, &c[17], &p.flow_key) && text_keep(a, &c[18], &flow) &&
           text_keep(a, &c[19], &p.schedule_id) && text_keep(a, &c[20], &p.topic) &&
           text_keep(a, &c[21], &p.endpoint) && text_keep(a, &c[22], &p.caller_ip);
    if (!fits)
        return ERR_NO_MEMORY;
    flow_limits_read(flow, &p.flow);
    *ret_parcel = p;
    return OK;
}

enum err parcel_read(struct tx *tx, struct arena *a, struct uuid id, bool with_body,
                     struct parcel *ret_parcel)
{
    enum stmt stmt = with_body ? STMT_qstash_message_read_all : STMT_qstash_message_read;
    struct row row;
    enum err e = TX_ROW(tx, stmt, &row, v_uuid(&id));

    if (!e)
        e = parcel_of_row(a, &row, 0, ret_parcel);
    if (e)
        return e;
    return !with_body || text_keep(a, &row.col[PARCEL_COLUMN_COUNT], &ret_parcel->body)
               ? OK
               : ERR_NO_MEMORY;
}

static size_t flow_limit_put(char *p, size_t room, const char *name, int64_t value, bool first)
{
    int n =
        value ? snprintf(p, room, "%s\"%s\":%lld", first ? "" : ",", name, (long long)value) : 0;

    return n > 0 ? (size_t)n : 0;
}

static struct str flow_json(const struct flow_limits *f, char text[FLOW_JSON])
{
    size_t n = 1;

    text[0] = '{';
    n += flow_limit_put(text + n, FLOW_JSON - n, "parallelism", f->parallelism, n == 1);
    n += flow_limit_put(text + n, FLOW_JSON - n, "rate", f->rate, n == 1);
    n += flow_limit_put(text + n, FLOW_JSON - n, "period", f->period_s, n == 1);
    text[n++] = '}';
    return (struct str){ text, n };
}

void parcel_values(const struct parcel *p, char flow[FLOW_JSON], struct val v[PARCEL_VALUES])
{
    const struct val all[] = {
        v_uuid(&p->id),
        p->has_webhook_id ? v_uuid(&p->webhook_id) : V_NULL,
        p->has_source ? v_uuid(&p->source) : V_NULL,
        V_INT(p->created_ms),
        V_INT(p->not_before_ms),
        V_TEXT(p->method),
        V_TEXT(p->url),
        V_TEXT(p->host),
        V_TEXT(p->path),
        v_text(p->header),
        V_INT(p->retries),
        v_text(p->retry_delay),
        V_INT(p->timeout_ms),
        v_text(p->callbacks),
        v_text(p->labels),
        v_text(p->redact),
        v_text(p->queue),
        v_text(p->flow_key),
        p->flow_key.n ? V_TEXT(flow_json(&p->flow, flow)) : V_NULL,
        v_text(p->schedule_id),
        v_text(p->topic),
        v_text(p->endpoint),
        V_TEXT(p->caller_ip),
        p->body.n ? V_BLOB(p->body) : V_NULL,
    };

    _Static_assert(COUNT(all) == PARCEL_VALUES, "a value for each column");
    for (size_t i = 0; i < COUNT(all); i++)
        v[i] = all[i];
}

/* --- its labels --- */

enum { LABEL_VALUES = 4 };

enum err labels_add(struct tx *tx, const struct parcel *p, int64_t dead_seq)
{
    struct val v[LIMIT_QSTASH_LABELS * LABEL_VALUES];
    struct str rest = p->labels;
    size_t n = 0;

    while (rest.n && n < LIMIT_QSTASH_LABELS) {
        struct val *row = v + n++ * LABEL_VALUES;

        row[0] = V_TEXT(str_cut(&rest, ','));
        row[1] = V_INT(dead_seq != 0);
        row[2] = V_INT(dead_seq);
        row[3] = v_uuid(&p->id);
    }
    return n ? tx_bulk(tx, STMT_qstash_label_add, v, n, LABEL_VALUES, NULL, NULL) : OK;
}

enum err labels_remove(struct tx *tx, const struct parcel *p, int64_t dead_seq)
{
    struct str rest = p->labels;
    enum err e = OK;

    while (rest.n && !e) {
        struct str label = str_cut(&rest, ',');

        e = TX_DO(tx, STMT_qstash_label_remove, -1, V_TEXT(label), V_INT(dead_seq != 0),
                  V_INT(dead_seq), v_uuid(&p->id));
    }
    return e;
}

/* --- the live row --- */

enum { LIVE_COLUMNS = 11 };

static enum err live_of_row(struct arena *a, const struct row *row, struct live *ret_live)
{
    const struct val *c = row->col;

    *ret_live = (struct live){ .seq = c[0].i,
                               .place = (enum place)c[1].i,
                               .due_ms = c[2].i,
                               .retried = c[3].i,
                               .cancel = c[4].i,
                               .queue_id = c[5].type == VAL_NULL ? 0 : c[5].i,
                               .slot = c[6].i,
                               .counts = c[7].i,
                               .token = c[9].i,
                               .bytes = c[10].i };
    return text_keep(a, &c[8], &ret_live->flow_key) ? OK : ERR_NO_MEMORY;
}

enum err live_read(struct tx *tx, struct arena *a, struct uuid id, struct live *ret_live)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_live_read, &row, v_uuid(&id));

    return e ? e : live_of_row(a, &row, ret_live);
}

enum err live_read_to_leave(struct tx *tx, struct arena *a, struct uuid id, struct live *ret_live,
                            struct parcel *ret_parcel)
{
    struct parcel p = { .id = id };
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_live_read_to_leave, &row, v_uuid(&id));

    if (!e)
        e = live_of_row(a, &row, ret_live);
    if (e)
        return e;
    if (!text_keep(a, &row.col[LIVE_COLUMNS], &p.labels))
        return ERR_NO_MEMORY;
    p.flow_key = ret_live->flow_key;
    *ret_parcel = p;
    return OK;
}

/* --- the log --- */

void log_values(const struct log_entry *e, struct val v[LOG_VALUES])
{
    v[0] = V_INT(e->at_ms);
    v[1] = v_uuid(&e->id);
    v[2] = V_INT(e->state);
    v[3] = e->next_ms ? V_INT(e->next_ms) : V_NULL;
    v[4] = e->answered ? V_INT(e->status) : V_NULL;
    v[5] = v_text(e->error);
    v[6] = v_text(e->response_header);
    v[7] = e->response_body.n ? V_BLOB(e->response_body) : V_NULL;
}

enum err log_add(struct tx *tx, const struct log_entry *e)
{
    struct val v[LOG_VALUES];

    log_values(e, v);
    return tx_bulk(tx, STMT_qstash_log_add, v, 1, LOG_VALUES, NULL, NULL);
}
