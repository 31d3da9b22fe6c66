/* schedules.c - the API calls that create, change and delete schedules; view.c shows them. Each is
 * one unit of work under the schedule's lock, so a schedule and its wake-up change together. */
#include "qstash/schedule/schedules.h"

#include "base/hex.h"
#include "base/limits.h"
#include "qstash/admin/groups.h"
#include "qstash/call.h"
#include "qstash/operator_view.h"
#include "qstash/publish/input.h"
#include "qstash/rows.h"
#include "store/values.h"

#include <string.h>

/* --- POST /v2/schedules/{destination} --- */

enum { ID_TEXT = 4 + 32 };

struct draft { /* a checked request */
    struct input in;
    struct parcel model;
    struct schedule schedule;
    char id[ID_TEXT + 1];
};

static enum err schedule_not_found(struct api_call *c)
{
    return api_call_refuse(c, 404, "schedule not found: " STR_FMT, STR_ARG(c->v->param[0]));
}

static enum err schedule_check_limit(struct tx *tx, struct api_call *c)
{
    struct row row;
    enum err e = tx_row(tx, STMT_qstash_schedule_count, NULL, 0, &row);

    if (e || row.col[0].i < LIMIT_QSTASH_SCHEDULES)
        return e;
    return api_call_refuse(c, 412, "there are %d schedules already, which is the limit",
                           LIMIT_QSTASH_SCHEDULES);
}

static enum err schedule_check_group(struct tx *tx, struct api_call *c, struct str group)
{
    struct member *m;
    size_t n;
    enum err e = group.n ? group_members(tx, c->unit.arena, group, &m, &n) : OK;

    if (e != ERR_NOT_FOUND)
        return e;
    return api_call_refuse(c, 404,
                           "url group " STR_FMT " not found; a url begins with http:// or https://",
                           STR_ARG(group));
}

static enum err schedule_add_template(struct tx *tx, const struct parcel *p)
{
    struct val v[PARCEL_VALUES];
    char flow[FLOW_JSON];

    parcel_values(p, flow, v);
    return tx_bulk(tx, STMT_qstash_message_add, v, 1, PARCEL_VALUES, NULL, NULL);
}

static enum err schedule_forget_old(struct qstash *q, struct tx *tx, const struct schedule *old,
                                    int64_t now_ms)
{
    enum err e = TX_DO(tx, STMT_qstash_template_remove, -1, v_uuid(&old->template_id));

    return e ? e : schedule_unplan(q, tx, old, now_ms);
}

/* Overwriting a schedule keeps its id, when it was created, whether it is paused, and its last
 * firing. */
static enum err schedule_put(struct tx *tx, struct api_call *c)
{
    const struct draft *d = c->v->more;
    struct qstash *q = c->v->q;
    struct schedule s = d->schedule, old = { 0 };
    enum err e = schedule_lock(tx, s.id), known;

    if (!e)
        e = schedule_check_group(tx, c, d->in.group);
    if (e)
        return e;
    known = schedule_read(tx, c->unit.arena, s.id, &old);
    if (known && known != ERR_NOT_FOUND)
        return known;
    e = known ? schedule_check_limit(tx, c) : schedule_forget_old(q, tx, &old, s.created_ms);
    if (old.version >= s.version)
        s.version = old.version + 1;
    if (!e)
        e = schedule_add_template(tx, &d->model);
    if (!e)
        e = TX_DO(tx, STMT_qstash_schedule_put, 1, V_TEXT(s.id), V_INT(s.version),
                  v_uuid(&s.template_id), V_TEXT(s.cron), V_INT(s.delay_ms), V_INT(s.created_ms),
                  V_INT(s.next_ms));
    if (e)
        return e;
    buf_fmt(&c->out, "{\"scheduleId\":\"" STR_FMT "\"}",
            STR_ARG(s.id)); /* a name needs no escapes */
    return schedule_plan(q, tx, &s, false, s.created_ms);
}

/* False: the answer was sent. */
ANSWERS static bool draft_set_next(struct qstash_request *v, struct draft *d, int64_t now_ms)
{
    struct why why;
    enum err e;

    if (!d->in.cron.n) {
        qstash_reply_error(v, 400, "a schedule needs the header Upstash-Cron");
        return false;
    }
    e = schedule_next(d->in.cron, now_ms, &d->schedule.next_ms, &why);
    if (e == ERR_NOT_FOUND || e == ERR_VALIDATION)
        qstash_reply_error(v, 400, "%s", why.text);
    else if (e)
        qstash_reply_err(v, e);
    else if (d->schedule.next_ms == CLOCK_NEVER)
        qstash_reply_error(v, 400, "invalid cron: it never fires");
    else
        return true;
    return false;
}

static void draft_fill(struct qstash_request *v, struct draft *d, int64_t now_ms)
{
    struct uuid id = env_uuid(v->q->env);
    struct schedule *s = &d->schedule;
    struct parcel *p = &d->model;

    memcpy(d->id, "scd_", 4);
    hex_put(d->id + 4, id.b, sizeof(id.b));
    s->id = d->in.schedule_id.n ? d->in.schedule_id : (struct str){ d->id, ID_TEXT };
    s->version = s->created_ms = now_ms;
    s->cron = d->in.cron;
    s->delay_ms = d->in.delay_ms;
    s->template_id = env_uuid(v->q->env);

    *p = d->in.parcel;
    p->id = s->template_id;
    p->created_ms = p->not_before_ms = now_ms;
    p->schedule_id = s->id;
    if (d->in.group.n) {
        p->url = d->in.group;
        p->host = p->path = S("");
    }
}

ANSWERS static bool draft_read(struct qstash_request *v, struct draft *d)
{
    struct input_source source = input_source_of(v);
    enum err e = input_read(&v->r->arena, &source, &d->in);

    if (e == ERR_VALIDATION)
        qstash_reply_error(v, 400, "%s", d->in.why.text);
    else if (e)
        qstash_reply_err(v, e);
    else if (d->in.not_before_ms)
        qstash_reply_error(
            v, 400, "a schedule has no Upstash-Not-Before; Upstash-Delay delays each message");
    else if (d->in.dedup != DEDUP_NONE)
        qstash_reply_error(v, 400, "a schedule's messages are not deduplicated");
    else
        return draft_set_next(v, d, source.now_ms);
    return false;
}

void qstash_schedule_create(struct qstash_request *v)
{
    struct draft *d = arena_alloc(&v->r->arena, 1, sizeof(*d));

    if (!d) {
        qstash_reply_err(v, ERR_NO_MEMORY);
        return;
    }
    if (!draft_read(v, d))
        return;
    draft_fill(v, d, env_now_ms(v->q->env));
    v->more = d;
    api_call_write(v, schedule_put);
}

/* --- DELETE --- */

/* The messages of earlier firings stay. */
static enum err schedule_delete(struct tx *tx, struct api_call *c)
{
    struct qstash *q = c->v->q;
    struct schedule s;
    enum err e = schedule_lock(tx, c->v->param[0]);

    if (!e)
        e = schedule_read(tx, c->unit.arena, c->v->param[0], &s);
    if (e)
        return e == ERR_NOT_FOUND ? schedule_not_found(c) : e;
    e = schedule_forget_old(q, tx, &s, env_now_ms(q->env));
    return e ? e : TX_DO(tx, STMT_qstash_schedule_remove, 1, V_TEXT(s.id));
}

void qstash_schedule_delete(struct qstash_request *v)
{
    if (qstash_request_name(v, v->param[0], "schedule id"))
        api_call_write(v, schedule_delete);
}

/* --- pause, resume: the wake-ups go on but fire nothing --- */

enum err qstash_schedule_hold(struct tx *tx, struct arena *a, struct str id, bool paused)
{
    struct schedule s;
    enum err e = schedule_lock(tx, id);

    if (!e)
        e = schedule_read(tx, a, id, &s);
    return e ? e : TX_DO(tx, STMT_qstash_schedule_pause, 1, V_INT(paused), V_TEXT(s.id));
}

static enum err schedule_set_paused(struct tx *tx, struct api_call *c, bool paused)
{
    enum err e = qstash_schedule_hold(tx, c->unit.arena, c->v->param[0], paused);

    return e == ERR_NOT_FOUND ? schedule_not_found(c) : e;
}

static enum err schedule_pause(struct tx *tx, struct api_call *c)
{
    return schedule_set_paused(tx, c, true);
}

static enum err schedule_resume(struct tx *tx, struct api_call *c)
{
    return schedule_set_paused(tx, c, false);
}

void qstash_schedule_pause(struct qstash_request *v)
{
    if (qstash_request_name(v, v->param[0], "schedule id"))
        api_call_write(v, schedule_pause);
}

void qstash_schedule_resume(struct qstash_request *v)
{
    if (qstash_request_name(v, v->param[0], "schedule id"))
        api_call_write(v, schedule_resume);
}
