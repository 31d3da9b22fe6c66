/* transfers.c - lists, acts of an operator, and the import of a statement.
 *
 * An import is a chain of units of work. Each is durable before the next is posted, so other work
 * runs in between, and the answer counts what is durable. A crash keeps the lines stored so far;
 * the same file again stores the rest, since a line has one identity in every file
 * (domain/bank_file.h). */
#include "admin/transfers.h"

#include "admin/transfer_input.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"

#include <string.h>

enum { PAGE_ENVELOPE = 8 * 1024 * 1024 };

/* --- pages --- */

struct transfers_page_call { /* one request, in its own arena */
    struct api_answer answer;
    struct transfer_page page;
    enum err (*read)(struct tx *tx, struct arena *a, struct transfer_page *p);
};

static struct str transfers_page_json(struct arena *a, const struct transfer_page *p)
{
    struct str text = { 0 };
    struct str data = p->data;
    struct buf b;

    buf_init(&b, PAGE_ENVELOPE);
    buf_add(&b, S("{\"data\":"));
    data.n--; /* query_next_cursor() closes it */
    buf_add(&b, data);
    query_next_cursor(&b, p->has_more ? &p->last : NULL);
    buf_char(&b, '}');
    if (!b.failed)
        text = arena_str(a, buf_str(&b));
    buf_release(&b);
    return text;
}

static enum err transfer_run_page(struct tx *tx, struct unit *u)
{
    struct transfers_page_call *l = CONTAINER_OF(u, struct transfers_page_call, answer.unit);
    enum err e = l->read(tx, u->arena, &l->page);

    if (e)
        return e;
    l->answer.text = transfers_page_json(u->arena, &l->page);
    return l->answer.text.p ? OK : ERR_NO_MEMORY;
}

static void transfer_show_list(struct request *r, struct payments *payments,
                               enum transfer_list list)
{
    static const struct unit_kind kind = { "transfers.list", UNIT_READ, transfer_run_page, NULL };
    static enum err (*const reads[TRANSFER_LISTS])(struct tx *, struct arena *,
                                                   struct transfer_page *) = {
        [LIST_TRANSFERS] = transfers_page,
        [LIST_LINES] = lines_page,
        [LIST_IMPORTS] = imports_page,
        [LIST_RETURNS] = returns_page,
    };
    struct transfers_page_call *l = api_room(r, sizeof(*l));

    if (!l || !transfer_read_page(r, list, &l->page))
        return;
    l->read = reads[list];
    api_answer_post(&l->answer, r, payments->runtime.store, &kind, api_answer_show);
}

void api_transfer_list(struct request *r, void *ctx, const struct principal *p)
{
    (void)p;
    transfer_show_list(r, ctx, LIST_TRANSFERS);
}

void api_transfer_lines(struct request *r, void *ctx, const struct principal *p)
{
    (void)p;
    transfer_show_list(r, ctx, LIST_LINES);
}

void api_transfer_imports(struct request *r, void *ctx, const struct principal *p)
{
    (void)p;
    transfer_show_list(r, ctx, LIST_IMPORTS);
}

void api_transfer_returns(struct request *r, void *ctx, const struct principal *p)
{
    (void)p;
    transfer_show_list(r, ctx, LIST_RETURNS);
}

/* --- acts --- */

struct transfers_act_call {
    struct api_answer answer;
    struct transfer_act act;
    union {
        struct transfer_word word;
        struct line_order order;
        struct return_word returned;
    } what;
    enum err (*run)(struct tx *tx, struct transfers_act_call *d);
};

static enum err transfer_run_confirm(struct tx *tx, struct transfers_act_call *d)
{
    return transfer_confirm(tx, &d->act, &d->what.word, &d->answer.text);
}

static enum err transfer_run_assign(struct tx *tx, struct transfers_act_call *d)
{
    return line_assign(tx, &d->act, &d->what.order, &d->answer.text);
}

static enum err transfer_run_set_aside(struct tx *tx, struct transfers_act_call *d)
{
    return line_set_aside(tx, &d->act, &d->what.order, &d->answer.text);
}

static enum err transfer_run_paid(struct tx *tx, struct transfers_act_call *d)
{
    return return_paid(tx, &d->act, &d->what.returned, &d->answer.text);
}

static enum err transfer_run_act(struct tx *tx, struct unit *u)
{
    struct transfers_act_call *d = CONTAINER_OF(u, struct transfers_act_call, answer.unit);

    d->act.why_en = d->act.why_ja = NULL;
    return d->run(tx, d);
}

static void transfer_answer_act(struct unit *u)
{
    struct transfers_act_call *d = CONTAINER_OF(u, struct transfers_act_call, answer.unit);
    struct request *r = d->answer.request;

    if (u->err)
        reply_problem(r, u->err, r->language == LANG_JA ? d->act.why_ja : d->act.why_en);
    else
        reply_send(r, 200, S("application/json"), d->answer.text);
}

static void transfers_post_act(struct request *r, struct payments *payments,
                               const struct principal *p, struct transfers_act_call *d,
                               enum err (*run)(struct tx *tx, struct transfers_act_call *d))
{
    static const struct unit_kind kind = { "transfers.act", UNIT_FRONT, transfer_run_act, NULL };

    d->run = run;
    d->act = (struct transfer_act){ .payments = payments, .arena = &r->arena, .user = p->user };
    api_answer_post(&d->answer, r, payments->runtime.store, &kind, transfer_answer_act);
}

void api_transfer_confirm(struct request *r, void *ctx, const struct principal *p)
{
    struct transfers_act_call *d = api_room(r, sizeof(*d));

    if (d && transfer_read_confirm(r, &d->what.word))
        transfers_post_act(r, ctx, p, d, transfer_run_confirm);
}

void api_transfer_assign(struct request *r, void *ctx, const struct principal *p)
{
    struct transfers_act_call *d = api_room(r, sizeof(*d));

    if (d && transfer_read_assign(r, &d->what.order))
        transfers_post_act(r, ctx, p, d, transfer_run_assign);
}

void api_transfer_set_aside(struct request *r, void *ctx, const struct principal *p)
{
    struct transfers_act_call *d = api_room(r, sizeof(*d));

    if (d && transfer_read_set_aside(r, &d->what.order))
        transfers_post_act(r, ctx, p, d, transfer_run_set_aside);
}

void api_transfer_paid(struct request *r, void *ctx, const struct principal *p)
{
    struct transfers_act_call *d = api_room(r, sizeof(*d));

    if (d && transfer_read_paid(r, &d->what.returned))
        transfers_post_act(r, ctx, p, d, transfer_run_paid);
}

/* --- import --- */

struct transfer_import_call { /* in the request's arena; the import has an arena of its own */
    struct unit unit;
    struct request *request;
    struct transfer_import import;
};

static void transfer_import_answer(struct transfer_import_call *m, enum err e)
{
    struct request *r = m->request;
    struct str text = { 0 };

    if (!e && !m->import.problems.count)
        text = transfer_import_json(&m->import, &r->arena);
    if (m->import.problems.count) {
        struct str errors = arena_str(&r->arena, json_problems_array(&m->import.problems));

        transfer_import_end(&m->import);
        reply_problem_errors(r, ERR_VALIDATION, NULL, errors);
        return;
    }
    transfer_import_end(&m->import);
    if (e || !text.p)
        reply_problem(r, e ? e : ERR_NO_MEMORY, NULL);
    else
        reply_send(r, 200, S("application/json"), text);
}

static enum err transfer_import_run_read(struct tx *tx, struct unit *u)
{
    return transfer_import_read(tx, &CONTAINER_OF(u, struct transfer_import_call, unit)->import);
}

static enum err transfer_import_run_step(struct tx *tx, struct unit *u)
{
    return transfer_import_step(tx, &CONTAINER_OF(u, struct transfer_import_call, unit)->import);
}

static void transfer_import_step_done(struct unit *u);

static void transfer_import_post_next(struct transfer_import_call *m)
{
    static const struct unit_kind step = { "transfers.step", UNIT_BACK, transfer_import_run_step,
                                           NULL },
                                  look = { "transfers.look", UNIT_READ, transfer_import_run_step,
                                           NULL };

    if (!transfer_import_next(&m->import)) {
        transfer_import_answer(m, OK);
        return;
    }
    m->unit = (struct unit){ .kind = m->import.dry_run ? &look : &step,
                             .executor = m->request->executor,
                             .done = transfer_import_step_done };
    store_post(m->import.payments->runtime.store, &m->unit);
}

static void transfer_import_step_done(struct unit *u)
{
    struct transfer_import_call *m = CONTAINER_OF(u, struct transfer_import_call, unit);

    if (u->err) {
        transfer_import_answer(m, u->err);
        return;
    }
    transfer_import_took(&m->import);
    transfer_import_post_next(m);
}

static void transfer_import_read_done(struct unit *u)
{
    struct transfer_import_call *m = CONTAINER_OF(u, struct transfer_import_call, unit);

    if (u->err)
        transfer_import_answer(m, u->err);
    else
        transfer_import_post_next(m);
}

void api_transfer_import(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "transfers.read", UNIT_READ, transfer_import_run_read,
                                           NULL };
    struct payments *payments = ctx;
    struct transfer_import_call *m = api_room(r, sizeof(*m));

    if (!m || !transfer_read_import(r, &m->import))
        return;
    m->request = r;
    m->import.payments = payments;
    m->import.user = p->user;
    transfer_import_begin(&m->import);
    m->unit =
        (struct unit){ .kind = &kind, .executor = r->executor, .done = transfer_import_read_done };
    store_post(payments->runtime.store, &m->unit);
}
