/* view.c - schedules as the API shows them. They are read in pages, each schedule with its template
 * and with the states of the messages of its last firing. */
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "qstash/call.h"
#include "qstash/render.h"
#include "qstash/schedule/schedules.h"
#include "store/values.h"

#include <stdio.h>

enum {
    PAGE = 10,
    PAGE_IDS = PAGE * LIMIT_QSTASH_ENDPOINTS,
    PAGE_ARENA = PAGE * (LIMIT_QSTASH_BODY + 256 * 1024),
};

struct made { /* a message of the last firing */
    struct uuid id;
    enum qstash_state state; /* 0: the log has forgotten it */
};

struct shown {
    struct schedule schedule;
    struct parcel model;
    bool found;      /* the model: it may have been overwritten between two statements */
    size_t from, to; /* of the page's made */
};

struct view_page {
    struct arena *arena;
    struct shown all[PAGE];
    size_t n;
    struct made *made;
    size_t made_n, asked; /* asked: where the present statement begins */
};

/* --- reading --- */

static enum err view_add_schedule(void *ctx, const struct row *row)
{
    struct view_page *p = ctx;

    if (p->n == PAGE)
        return ERR_INTERNAL;
    return schedule_of_row(p->arena, row, &p->all[p->n++].schedule);
}

static enum err view_add_model(void *ctx, const struct row *row)
{
    struct view_page *p = ctx;

    for (size_t i = 0; i < p->n; i++) {
        struct shown *s = &p->all[i];
        const struct val *body = &row->col[PARCEL_COLUMN_COUNT];
        enum err e;

        if (!str_eq(row->col[0].s, uuid_bytes(&s->schedule.template_id)))
            continue;
        e = parcel_of_row(p->arena, row, 0, &s->model);
        s->found = !e;
        if (e || row->count == PARCEL_COLUMN_COUNT || !body->s.n)
            return e;
        s->model.body = arena_str(p->arena, body->s);
        return s->model.body.p ? OK : ERR_NO_MEMORY;
    }
    return ERR_INTERNAL;
}

static enum err view_read_models(struct tx *tx, struct view_page *p, bool with_bodies)
{
    struct val v[PAGE];

    for (size_t i = 0; i < p->n; i++)
        v[i] = v_uuid(&p->all[i].schedule.template_id);
    return tx_bulk(tx, with_bodies ? STMT_qstash_templates_all : STMT_qstash_templates, v, p->n, 1,
                   view_add_model, p);
}

/* ["msg_...","msg_..."], as job.c wrote it: no escapes, no blanks. */
static void view_note_ids(struct view_page *p, struct shown *s)
{
    struct str rest = s->schedule.last_ids, id;

    s->from = p->made_n;
    while (rest.n && p->made_n < PAGE_IDS) {
        str_cut(&rest, '"');
        id = str_cut(&rest, '"');
        if (message_id_parse(id, &p->made[p->made_n].id))
            p->made_n++;
    }
    s->to = p->made_n;
}

static enum err view_add_state(void *ctx, const struct row *row)
{
    struct view_page *p = ctx;

    for (size_t i = p->asked; i < p->made_n; i++)
        if (str_eq(row->col[0].s, uuid_bytes(&p->made[i].id))) {
            p->made[i].state = row->col[1].type == VAL_NULL ? 0 : (enum qstash_state)row->col[1].i;
            return OK;
        }
    return ERR_INTERNAL;
}

static enum err view_read_states(struct tx *tx, struct view_page *p)
{
    struct val v[LIMIT_STATEMENT_ROWS];
    enum err e = OK;

    p->made = arena_alloc(p->arena, PAGE_IDS, sizeof(*p->made));
    if (!p->made)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < p->n; i++)
        view_note_ids(p, &p->all[i]);
    for (p->asked = 0; p->asked < p->made_n && !e; p->asked += LIMIT_STATEMENT_ROWS) {
        size_t n = p->made_n - p->asked;

        n = n < LIMIT_STATEMENT_ROWS ? n : LIMIT_STATEMENT_ROWS;
        for (size_t i = 0; i < n; i++)
            v[i] = v_uuid(&p->made[p->asked + i].id);
        e = tx_bulk(tx, STMT_qstash_last_states, v, n, 1, view_add_state, p);
    }
    return e;
}

/* --- showing --- */

/* NULL: the log has forgotten it. */
static const char *state_shown(enum qstash_state s)
{
    if (s == QSTASH_DELIVERED)
        return "SUCCESS";
    if (s == QSTASH_FAILED || s == QSTASH_CANCELED)
        return "FAIL";
    return s ? "IN_PROGRESS" : NULL;
}

static void states_out(struct buf *b, const struct view_page *p, const struct shown *s)
{
    char id[MESSAGE_ID_TEXT + 1];
    const char *glue = "";

    out_name(b, "lastScheduleStates");
    buf_char(b, '{');
    for (size_t i = s->from; i < s->to; i++) {
        const char *word = state_shown(p->made[i].state);

        if (!word)
            continue;
        message_id_text(p->made[i].id, id);
        buf_fmt(b, "%s\"%s\":\"%s\"", glue, id, word);
        glue = ",";
    }
    buf_char(b, '}');
}

static void model_out(struct buf *b, const struct parcel *p)
{
    const struct redact hide = redact_of(p->redact);

    out_text(b, "destination", p->url);
    out_text(b, "method", p->method);
    render_header(b, "header", p->header, &hide);
    render_body(b, p, &hide);
    out_int(b, "retries", p->retries);
    if (p->timeout_ms)
        out_int(b, "timeout", p->timeout_ms);
    render_text(b, "retryDelayExpression", p->retry_delay);
    render_callbacks(b, p, &hide, "callbackHeader", "failureCallbackHeader");
    render_text(b, "queueName", p->queue);
    render_flow(b, p);
    render_labels(b, p);
    render_caller(b, p);
}

static void schedule_out(struct buf *b, const struct view_page *p, const struct shown *shown)
{
    const struct schedule *s = &shown->schedule;

    buf_char(b, '{');
    out_text(b, "scheduleId", s->id);
    out_text(b, "cron", s->cron);
    out_int(b, "createdAt", s->created_ms);
    model_out(b, &shown->model);
    if (s->delay_ms)
        out_int(b, "delay", (s->delay_ms + 999) / 1000);
    out_bool(b, "isPaused", s->paused);
    if (s->last_ms)
        out_int(b, "lastScheduleTime", s->last_ms);
    if (s->next_ms)
        out_int(b, "nextScheduleTime", s->next_ms);
    if (shown->from < shown->to)
        states_out(b, p, shown);
    render_text(b, "error", s->error);
    buf_char(b, '}');
}

/* Reads templates and states for the schedules of the page, and writes all of it. ERR_STALE: one
 * was overwritten meanwhile; read the page again. */
static enum err view_page_out(struct tx *tx, struct view_page *p, struct buf *b, bool with_bodies)
{
    enum err e = view_read_models(tx, p, with_bodies);

    if (!e)
        e = view_read_states(tx, p);
    for (size_t i = 0; i < p->n && !e; i++)
        if (!p->all[i].found)
            e = ERR_STALE;
    for (size_t i = 0; i < p->n && !e; i++) {
        if (b->n > 1)
            buf_char(b, ',');
        schedule_out(b, p, &p->all[i]);
    }
    return e;
}

/* --- GET /v2/schedules --- */

enum { TRIES = 3 };

static enum err view_read_page(struct tx *tx, struct view_page *p, struct str after)
{
    struct val v[] = { V_TEXT(after), V_INT(PAGE) };

    return tx_each(tx, STMT_qstash_schedules_page, v, COUNT(v), view_add_schedule, p);
}

/* The page after `last`, which moves on. A long list continues without bodies. */
static enum err view_list_page(struct tx *tx, struct arena *a, struct buf *b,
                               char last[LIMIT_QSTASH_NAME + 1], bool *ret_more)
{
    struct view_page p;
    enum err e = ERR_STALE;

    for (int tries = 0; tries < TRIES && e == ERR_STALE; tries++) {
        p = (struct view_page){ .arena = a };
        e = view_read_page(tx, &p, str_of(last));
        if (!e && p.n)
            e = view_page_out(tx, &p, b, b->n < LIMIT_QSTASH_LIST_BODIES);
    }
    *ret_more = p.n == PAGE && !b->failed;
    if (!e && p.n)
        snprintf(last, LIMIT_QSTASH_NAME + 1, STR_FMT, STR_ARG(p.all[p.n - 1].schedule.id));
    return e == ERR_STALE ? ERR_TIMEOUT : e;
}

static enum err schedules_list(struct tx *tx, struct api_call *c)
{
    char last[LIMIT_QSTASH_NAME + 1] = "";
    struct arena pages;
    bool more = true;
    enum err e = OK;

    buf_char(&c->out, '[');
    arena_init(&pages, PAGE_ARENA);
    while (!e && more) {
        e = view_list_page(tx, &pages, &c->out, last, &more);
        arena_release(&pages);
    }
    buf_char(&c->out, ']');
    return e;
}

void qstash_schedule_list(struct qstash_request *v)
{
    api_call_read(v, schedules_list);
}

static enum err schedules_get(struct tx *tx, struct api_call *c)
{
    struct str id = c->v->param[0];
    enum err e = ERR_STALE;

    for (int tries = 0; tries < TRIES && e == ERR_STALE; tries++) {
        struct view_page p = { .arena = c->unit.arena, .n = 1 };

        e = schedule_read(tx, p.arena, id, &p.all[0].schedule);
        if (!e)
            e = view_page_out(tx, &p, &c->out, true);
    }
    if (e == ERR_NOT_FOUND)
        return api_call_refuse(c, 404, "schedule not found: " STR_FMT, STR_ARG(id));
    return e == ERR_STALE ? ERR_TIMEOUT : e;
}

void qstash_schedule_get(struct qstash_request *v)
{
    if (qstash_request_name(v, v->param[0], "schedule id"))
        api_call_read(v, schedules_get);
}
