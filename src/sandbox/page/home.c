/* home.c - GET /_sandbox: the latest payments and events, what waits, and the switches, on one page
 * for people. Every button is a form of its own (press.c). Rows are read in a unit; the page is
 * written on the executor, which owns the switches. */
#include "sandbox/page/home.h"

#include <string.h>

/* --- the rows --- */

static struct str keep_text(struct home_view *v, struct str s)
{
    return arena_str(&v->request->arena, s);
}

static struct home_intent intent_of(struct home_view *v, const struct row *row)
{
    const struct val *c = row->col;

    return (struct home_intent){ .id = keep_text(v, c[0].s),
                                 .created_ms = c[1].i,
                                 .amount = c[2].i,
                                 .currency = keep_text(v, c[3].s),
                                 .status = row->count > 4 ? keep_text(v, c[4].s) : S(""),
                                 .card = row->count > 5 ? keep_text(v, c[5].s) : S(""),
                                 .description = row->count > 6 ? keep_text(v, c[6].s) : S("") };
}

static enum err add_intent(void *ctx, const struct row *row)
{
    struct home_view *v = ctx;

    v->intents[v->intent_count++] = intent_of(v, row);
    return OK;
}

static enum err add_waiting(void *ctx, const struct row *row)
{
    struct home_view *v = ctx;

    v->waiting[v->waiting_count++] = intent_of(v, row);
    return OK;
}

static enum err add_session(void *ctx, const struct row *row)
{
    struct home_view *v = ctx;

    v->sessions[v->session_count++] = intent_of(v, row);
    return OK;
}

static enum err add_paypay(void *ctx, const struct row *row)
{
    struct home_view *v = ctx;

    v->paypay[v->paypay_count++] = intent_of(v, row);
    return OK;
}

static enum err add_code(void *ctx, const struct row *row)
{
    struct home_view *v = ctx;

    v->codes[v->code_count++] = intent_of(v, row);
    return OK;
}

static enum err add_event(void *ctx, const struct row *row)
{
    struct home_view *v = ctx;
    const struct val *c = row->col;

    v->events[v->event_count++] = (struct home_event){ .id = keep_text(v, c[0].s),
                                                       .type = keep_text(v, c[1].s),
                                                       .created_ms = c[2].i,
                                                       .object = keep_text(v, c[3].s),
                                                       .told = c[4].i > 0 };
    return OK;
}

static struct home_event *find_event(struct home_view *v, struct str id)
{
    for (size_t i = 0; i < v->event_count; i++)
        if (str_eq(v->events[i].id, id))
            return &v->events[i];
    return NULL;
}

static enum err add_message(void *ctx, const struct row *row)
{
    struct home_view *v = ctx;
    struct home_event *e = find_event(v, row->col[0].s);

    if (!e)
        return OK;
    e->told = true;
    e->on_way++;
    if (row->col[1].i < e->attempts)
        return OK;
    e->attempts = row->col[1].i;
    e->why = keep_text(v, row->col[3].s);
    return OK;
}

static enum err add_dead(void *ctx, const struct row *row)
{
    struct home_view *v = ctx;
    struct home_event *e = find_event(v, row->col[0].s);

    if (!e)
        return OK;
    e->told = e->dead = true;
    e->attempts = row->col[1].i;
    e->why = keep_text(v, row->col[2].s);
    return OK;
}

static enum err read_paypay(struct tx *tx, struct home_view *v)
{
    struct val rows[] = { V_INT(HOME_ROWS) }, open[] = { V_INT(v->now_ms), V_INT(HOME_ROWS) };
    enum err e;

    v->paypay_count = v->code_count = 0;
    e = tx_each(tx, STMT_sandbox_home_paypay, rows, COUNT(rows), add_paypay, v);
    if (e)
        return e;
    e = tx_each(tx, STMT_sandbox_home_codes, open, COUNT(open), add_code, v);
    return e ? e : pp_home_read(v, tx);
}

static enum err home_run(struct tx *tx, struct unit *u)
{
    struct home_view *v = CONTAINER_OF(u, struct home_view, unit);
    static const struct {
        enum stmt stmt;
        int most;
        enum err (*add)(void *ctx, const struct row *row);
    } lists[] = {
        { STMT_sandbox_home_intents, HOME_ROWS, add_intent },
        { STMT_sandbox_home_waiting, HOME_ROWS, add_waiting },
        { STMT_sandbox_home_sessions, HOME_ROWS, add_session },
        { STMT_sandbox_home_events, HOME_EVENTS, add_event },
        { STMT_sandbox_home_messages, HOME_EVENTS, add_message }, /* of the events above */
        { STMT_sandbox_home_dead, HOME_EVENTS, add_dead },
    };

    v->intent_count = v->waiting_count = v->session_count = v->event_count = 0;
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct val most = V_INT(lists[i].most);
        enum err e = tx_each(tx, lists[i].stmt, &most, 1, lists[i].add, v);

        if (e)
            return e;
    }
    return read_paypay(tx, v);
}

/* --- the answer --- */

static void home_read(struct unit *u)
{
    struct home_view *v = CONTAINER_OF(u, struct home_view, unit);
    struct request *r = v->request;
    struct buf b;

    if (u->err) {
        reply_problem(r, u->err, NULL);
        return;
    }
    buf_init(&b, LIMIT_REPLY);
    home_write(&b, v);
    page_headers_for(r, home_style);
    control_reply(r, 200, S("text/html; charset=utf-8"), &b);
}

void control_home(struct request *r, void *sandbox)
{
    static const struct unit_kind kind = { "sandbox.home", UNIT_READ, home_run, NULL };
    struct sandbox *s = sandbox;
    struct home_view *v = arena_alloc(&r->arena, 1, sizeof(*v));

    if (!v) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    v->request = r;
    v->s = s;
    v->language = page_language(r);
    v->now_ms = env_now_ms(&s->env);
    v->unit = (struct unit){
        .kind = &kind, .executor = r->executor, .done = home_read, .arena = &r->arena
    };
    store_post(s->store, &v->unit);
}
