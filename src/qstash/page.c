/* page.c - fills a page of a long list in one or more units of work, and answers. A unit may run
 * more than once: it starts from what the unit before it left (mark, find). */
#include "qstash/page.h"

#include "base/json/write.h"
#include "base/limits.h"

#include <string.h>

enum { UNIT_BYTES = 16 * 1024 * 1024 };

/* --- a unit --- */

static void page_end(struct page_step *s, const struct spot *at, bool more)
{
    s->over = true;
    s->more = more;
    s->at = *at;
}

/* The search looks for one more than may be shown, to know whether this is the last page. */
static enum err page_show(struct tx *tx, struct page *p)
{
    struct page_step *s = &p->step;
    const struct find *f = &p->next;

    for (size_t i = 0; i < f->count; i++) {
        size_t before = p->out.n;
        enum err e;

        if (s->shown == p->left || p->out.n > LIMIT_QSTASH_PAGE_BYTES) {
            s->over = s->more = true;
            return OK;
        }
        if (s->bytes > LIMIT_QSTASH_PAGE_BYTES)
            return OK; /* the next unit goes on from here */
        if (before)
            buf_char(&p->out, ',');
        e = p->entry(tx, s, &f->found[i], &p->out);
        if (e && e != ERR_NOT_FOUND)
            return e;
        if (e)
            p->out.n = before;
        s->shown += !e;
        s->at = f->found[i].spot;
    }
    if (f->end)
        page_end(s, &f->at, false);
    s->at = f->at;
    return OK;
}

static enum err page_run(struct tx *tx, struct unit *u)
{
    struct page *p = CONTAINER_OF(u, struct page, unit);
    enum err e;

    p->out.n = p->mark;
    p->step = (struct page_step){ .at = p->find.at };
    p->next = p->find;
    p->next.arena = &p->v->r->arena;
    p->next.max = (size_t)p->left + 1;
    p->next.budget = LIMIT_QSTASH_LOOKED;
    p->next.found = arena_alloc(p->next.arena, p->next.max, sizeof(*p->next.found));
    if (!p->next.found)
        return ERR_NO_MEMORY;
    e = find_next(tx, &p->next);
    arena_init(&p->step.arena, UNIT_BYTES);
    if (!e)
        e = page_show(tx, p);
    arena_release(&p->step.arena);
    return e;
}

/* --- on the executor --- */

static void page_send(struct page *p, bool more)
{
    struct qstash_request *v = p->v;
    char cursor[FIND_CURSOR];
    struct buf b;

    buf_init(&b, LIMIT_REPLY);
    buf_char(&b, '{');
    for (const char *const *key = (const char *const[]){ p->key, p->too, NULL }; *key; key++) {
        out_name(&b, *key);
        buf_char(&b, '[');
        buf_add(&b, buf_str(&p->out));
        buf_char(&b, ']');
    }
    if (more) {
        find_cursor(&p->find, &p->find.at, cursor);
        out_text(&b, "cursor", str_of(cursor));
    }
    buf_char(&b, '}');
    b.failed |= p->out.failed;
    buf_release(&p->out);
    qstash_reply(v, 200, &b);
}

static void page_run_done(struct unit *u)
{
    struct page *p = CONTAINER_OF(u, struct page, unit);
    const struct page_step *s = &p->step;

    if (u->err) {
        buf_release(&p->out);
        qstash_reply_err(p->v, u->err);
        return;
    }
    p->find = p->next;
    p->find.at = s->at;
    p->left -= s->shown;
    p->looked += p->next.looked;
    p->mark = p->out.n;
    if (s->over || p->looked >= LIMIT_QSTASH_LOOKED_CALL)
        page_send(p, s->more || !s->over);
    else
        store_post(p->v->q->store, &p->unit);
}

/* --- the call --- */

ANSWERS static bool page_take_query(struct qstash_request *v, struct page *p)
{
    struct why why = { 0 };
    enum err e =
        selection_read(&v->r->arena, p->of, v->query, (struct str){ 0 }, &p->selection, &why);

    if (e == ERR_VALIDATION)
        qstash_reply_error(v, 400, "%s", why.text);
    else if (e)
        qstash_reply_err(v, e);
    if (e)
        return false;
    find_begin(&p->find, p->in, &p->selection.filter);
    if (!p->selection.cursor.n || find_cursor_read(&p->find, p->selection.cursor))
        return true;
    qstash_reply_error(v, 400, "invalid cursor");
    return false;
}

void page_answer(struct qstash_request *v, const struct page *rules)
{
    static const struct unit_kind kind = { "qstash.page", UNIT_READ, page_run, NULL };
    struct page *p = arena_alloc(&v->r->arena, 1, sizeof(*p));

    if (!p) {
        qstash_reply_err(v, ERR_NO_MEMORY);
        return;
    }
    *p = *rules;
    p->v = v;
    if (!page_take_query(v, p))
        return;
    if (p->these && p->selection.by_ids) {
        p->these(v, &p->selection);
        return;
    }
    p->left = p->selection.count ? p->selection.count : p->usual;
    p->left = p->left < p->most ? p->left : p->most;
    buf_init(&p->out, LIMIT_REPLY);
    p->unit = (struct unit){
        .kind = &kind, .executor = v->r->executor, .done = page_run_done, .arena = &v->r->arena
    };
    store_post(v->q->store, &p->unit);
}
