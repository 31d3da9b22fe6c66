/* flow_control.c - the API calls under /v2/flowControl: what a flow key lets through, and what an
 * operator pins against the values that publishers send. A key is created with its first message
 * (qstash/publish/store_message.c), so an unknown one is a 404. Each change is made under the
 * limiter's lock and ends with gates_settle(), which starts the messages that now have room. */
#include "base/limits.h"
#include "qstash/call.h"
#include "qstash/rows.h"
#include "store/values.h"

#include <string.h>

struct flow { /* a whole row */
    struct gates gates;
    bool pinned_parallelism, pinned_rate;
};

struct pins { /* what a call pins or unpins; 0 and false: not given */
    int64_t parallelism, rate, period_s;
    bool free_parallelism, free_rate;
};

static enum err flow_not_found(struct api_call *c)
{
    return api_call_refuse(c, 404, "flow control key not found: " STR_FMT, STR_ARG(c->v->param[0]));
}

/* --- GET --- */

static const char *bool_word(bool b)
{
    return b ? "true" : "false";
}

/* From the columns of qstash_flow_read. Starts of a past period do not count. */
static void flow_write(struct buf *out, struct str key, const struct val *c, int64_t now_ms)
{
    int64_t rate = c[1].i, period_s = c[2].i, from_ms = c[9].i;
    int64_t started = rate && now_ms < from_ms + period_s * 1000 ? c[8].i : 0;

    buf_add(out, S("{\"flowControlKey\":"));
    buf_json(out, key);
    buf_fmt(out, ",\"waitListSize\":%lld,\"parallelismMax\":%lld,\"parallelismCount\":%lld",
            (long long)c[7].i, (long long)c[0].i, (long long)c[6].i);
    buf_fmt(out,
            ",\"rateMax\":%lld,\"rateCount\":%lld,\"ratePeriod\":%lld,\"ratePeriodStart\":%lld",
            (long long)rate, (long long)started, (long long)(rate ? period_s : 0),
            (long long)(rate ? from_ms / 1000 : 0));
    buf_fmt(out, ",\"isPaused\":%s,\"isPinnedParallelism\":%s,\"isPinnedRate\":%s}",
            bool_word(c[3].i), bool_word(c[4].i), bool_word(c[5].i));
}

static enum err flow_get(struct tx *tx, struct api_call *c)
{
    struct qstash_request *v = c->v;
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_flow_read, &row, V_TEXT(v->param[0]));

    if (e == ERR_NOT_FOUND)
        return flow_not_found(c);
    if (!e)
        flow_write(&c->out, v->param[0], row.col, env_now_ms(v->q->env));
    return e;
}

static bool is_text(struct str s) /* text that both databases accept */
{
    return str_is_utf8(s) && (!s.n || !memchr(s.p, '\0', s.n));
}

/* False: it is not a valid key, and the answer was sent. */
ANSWERS static bool flow_check_key(struct qstash_request *v)
{
    struct str key = v->param[0];

    if (key.n && key.n <= LIMIT_QSTASH_KEY && is_text(key))
        return true;
    qstash_reply_error(v, 400, "invalid flow control key");
    return false;
}

void qstash_flow_get(struct qstash_request *v)
{
    if (flow_check_key(v))
        api_call_read(v, flow_get);
}

static enum err flow_add_row(void *ctx, const struct row *row)
{
    struct api_call *c = ctx;

    if (c->out.n > 1)
        buf_char(&c->out, ',');
    flow_write(&c->out, row->col[11].s, row->col, env_now_ms(c->v->q->env));
    return OK;
}

static enum err flow_list(struct tx *tx, struct api_call *c)
{
    const struct str *search = c->v->more;
    struct val v[] = { V_TEXT(*search), V_INT(LIMIT_QSTASH_FLOWS_LISTED) };
    enum err e;

    buf_char(&c->out, '[');
    e = tx_each(tx, STMT_qstash_flows_all, v, COUNT(v), flow_add_row, c);
    buf_char(&c->out, ']');
    return e;
}

void qstash_flow_list(struct qstash_request *v)
{
    struct str *search = arena_alloc(&v->r->arena, 1, sizeof(*search));

    if (!search) {
        qstash_reply_err(v, ERR_NO_MEMORY);
        return;
    }
    *search = qstash_request_query(v, S("search"));
    if (!is_text(*search)) {
        qstash_reply_error(v, 400, "search is not text");
        return;
    }
    v->more = search;
    api_call_read(v, flow_list);
}

/* Of this node: how many deliveries may run at a time, and how many do. */
void qstash_global_parallelism(struct qstash_request *v)
{
    struct buf b;

    buf_init(&b, 1024);
    buf_fmt(&b, "{\"parallelismMax\":%d,\"parallelismCount\":%d}", LIMIT_QSTASH_CALLS,
            atomic_load(&v->q->in_flight));
    qstash_reply(v, 200, &b);
}

/* --- changes --- */

static enum err flow_lock(struct tx *tx, struct api_call *c, struct flow *ret_flow)
{
    struct str key = c->v->param[0];
    struct row row;
    enum err e = gates_lock(tx, 0, key, &ret_flow->gates);

    if (!e)
        e = TX_ROW(tx, STMT_qstash_flow_read, &row, V_TEXT(key));
    if (e)
        return e == ERR_NOT_FOUND ? flow_not_found(c) : e;
    ret_flow->pinned_parallelism = row.col[4].i;
    ret_flow->pinned_rate = row.col[5].i;
    return OK;
}

static enum err flow_save(struct tx *tx, struct api_call *c, struct flow *f)
{
    struct qstash *q = c->v->q;
    struct flow_gate *g = &f->gates.flow;
    enum err e = TX_DO(tx, STMT_qstash_flow_set, 1, V_INT(g->limits.parallelism),
                       V_INT(g->limits.rate), V_INT(g->limits.period_s), V_INT(g->paused),
                       V_INT(f->pinned_parallelism), V_INT(f->pinned_rate), V_TEXT(g->key));

    return e ? e : gates_settle(q, tx, &f->gates, env_now_ms(q->env));
}

static void flow_begin_period(struct flow_gate *g, int64_t now_ms)
{
    g->started = 0;
    g->period_from_ms = now_ms;
}

static enum err flow_set_paused(struct tx *tx, struct api_call *c, bool paused)
{
    struct flow f;
    enum err e = flow_lock(tx, c, &f);

    if (e)
        return e;
    f.gates.flow.paused = paused;
    return flow_save(tx, c, &f);
}

static enum err flow_pause(struct tx *tx, struct api_call *c)
{
    return flow_set_paused(tx, c, true);
}

void qstash_flow_pause(struct qstash_request *v)
{
    if (flow_check_key(v))
        api_call_write(v, flow_pause);
}

static enum err flow_resume(struct tx *tx, struct api_call *c)
{
    return flow_set_paused(tx, c, false);
}

void qstash_flow_resume(struct qstash_request *v)
{
    if (flow_check_key(v))
        api_call_write(v, flow_resume);
}

static enum err flow_reset_rate(struct tx *tx, struct api_call *c)
{
    struct flow f;
    enum err e = flow_lock(tx, c, &f);

    if (e)
        return e;
    flow_begin_period(&f.gates.flow, env_now_ms(c->v->q->env));
    return flow_save(tx, c, &f);
}

void qstash_flow_reset_rate(struct qstash_request *v)
{
    if (flow_check_key(v))
        api_call_write(v, flow_reset_rate);
}

/* --- pin, unpin --- */

static enum err flow_pin(struct tx *tx, struct api_call *c)
{
    const struct pins *p = c->v->more;
    struct flow f;
    struct flow_gate *g = &f.gates.flow;
    enum err e = flow_lock(tx, c, &f);

    if (e)
        return e;
    if (p->parallelism) {
        g->limits.parallelism = p->parallelism;
        f.pinned_parallelism = true;
    }
    if (p->rate) {
        g->limits.rate = p->rate;
        g->limits.period_s = p->period_s ? p->period_s : 1;
        f.pinned_rate = true;
        flow_begin_period(g, env_now_ms(c->v->q->env));
    }
    return flow_save(tx, c, &f);
}

/* The values stay until the next message brings others. */
static enum err flow_unpin(struct tx *tx, struct api_call *c)
{
    const struct pins *p = c->v->more;
    struct flow f;
    enum err e = flow_lock(tx, c, &f);

    if (e)
        return e;
    f.pinned_parallelism &= !p->free_parallelism;
    f.pinned_rate &= !p->free_rate;
    return flow_save(tx, c, &f);
}

/* Each reader returns false if the answer was sent. */

ANSWERS static bool read_number(struct qstash_request *v, const char *key, int64_t most,
                                int64_t *ret_value)
{
    struct str text = qstash_request_query(v, str_of(key));

    *ret_value = 0;
    if (!text.n || (str_to_i64(text, ret_value) && *ret_value >= 1 && *ret_value <= most))
        return true;
    qstash_reply_error(v, 400, "%s must be a whole number from 1 to %lld", key, (long long)most);
    return false;
}

ANSWERS static bool read_flag(struct qstash_request *v, const char *key, bool *ret_value)
{
    struct str text = qstash_request_query(v, str_of(key));

    *ret_value = str_eq_nocase(text, S("true"));
    if (*ret_value || !text.n || str_eq_nocase(text, S("false")))
        return true;
    qstash_reply_error(v, 400, "%s must be true or false", key);
    return false;
}

/* NULL: the answer was sent. */
ANSWERS static struct pins *pins_new(struct qstash_request *v)
{
    struct pins *p;

    if (!flow_check_key(v))
        return NULL;
    p = arena_alloc(&v->r->arena, 1, sizeof(*p));
    if (!p) {
        qstash_reply_err(v, ERR_NO_MEMORY);
        return NULL;
    }
    v->more = p;
    return p;
}

void qstash_flow_pin(struct qstash_request *v)
{
    struct pins *p = pins_new(v);

    if (!p || !read_number(v, "parallelism", LIMIT_QSTASH_FLOW, &p->parallelism) ||
        !read_number(v, "rate", LIMIT_QSTASH_FLOW, &p->rate) ||
        !read_number(v, "period", LIMIT_QSTASH_PERIOD_S, &p->period_s))
        return;
    if (!p->parallelism && !p->rate)
        qstash_reply_error(v, 400, "say what to pin: parallelism, rate, or rate and period");
    else if (p->period_s && !p->rate)
        qstash_reply_error(v, 400, "a period is pinned together with a rate");
    else
        api_call_write(v, flow_pin);
}

void qstash_flow_unpin(struct qstash_request *v)
{
    struct pins *p = pins_new(v);

    if (!p || !read_flag(v, "parallelism", &p->free_parallelism) ||
        !read_flag(v, "rate", &p->free_rate))
        return;
    if (!p->free_parallelism && !p->free_rate)
        qstash_reply_error(v, 400, "say what to unpin: parallelism=true, rate=true, or both");
    else
        api_call_write(v, flow_unpin);
}
