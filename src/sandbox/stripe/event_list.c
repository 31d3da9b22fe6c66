/* event_list.c - /v1/events: the stored events, newest first, and sending one again.
 * pending_webhooks is computed when it is read: the number of receivers whose message still
 * exists. */
#include "base/limits.h"
#include "sandbox/relay/relay.h"
#include "sandbox/stripe/call.h"
#include "sandbox/stripe/rows.h"
#include "sandbox/webhook/hooks.h"

#include <string.h>

struct event_list_event {
    struct str id, body;
};

/* --- pending webhooks --- */

struct receivers {
    struct str ids[LIMIT_SANDBOX_ENDPOINTS];
    size_t count;
};

static enum err add_receiver(void *ctx, const struct row *row)
{
    struct receivers *r = ctx;

    if (r->count < COUNT(r->ids))
        r->ids[r->count++] = row->col[0].s;
    return OK;
}

static bool find_receivers(struct work *w, struct receivers *ret)
{
    ret->count = 0;
    return work_ok(w, tx_each(w->tx, STMT_sandbox_hooks_told, NULL, 0, add_receiver, ret));
}

static bool is_pending(struct work *w, struct uuid event, struct str endpoint)
{
    struct uuid id = sb_webhook_message_id(event, endpoint);
    struct str bytes = { (const char *)id.b, sizeof(id.b) };
    struct row row;
    enum err e = TX_ROW(w->tx, STMT_sandbox_message_known, &row, V_BLOB(bytes));

    return e != ERR_NOT_FOUND && work_ok(w, e);
}

static int64_t pending_of(struct work *w, const struct receivers *r, struct str id)
{
    struct uuid event;
    int64_t n;

    if (!sb_event_uuid(id, &event))
        return 0;
    n = is_pending(w, event, S(""));
    for (size_t i = 0; i < r->count; i++)
        n += is_pending(w, event, r->ids[i]);
    return n;
}

/* The event's stored JSON with the current number of pending webhooks. The key occurs once outside
 * of JSON strings. */
static struct str event_json(struct work *w, const struct receivers *r,
                             const struct event_list_event *e)
{
    static const struct str key = { ",\"pending_webhooks\":", 20 };
    const char *at = e->body.n ? memmem(e->body.p, e->body.n, key.p, key.n) : NULL;
    struct str before, rest;
    struct buf b;

    if (!at)
        return e->body;
    before = (struct str){ e->body.p, (size_t)(at - e->body.p) + key.n };
    rest = (struct str){ before.p + before.n, e->body.n - before.n };
    str_cut(&rest, ',');
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    buf_add(&b, before);
    buf_i64(&b, pending_of(w, r, e->id));
    buf_char(&b, ',');
    buf_add(&b, rest);
    return work_text_of(w, &b);
}

/* --- one event --- */

static bool stripe_read_event(struct stripe_call *v, struct event_list_event *ret)
{
    struct row row;
    enum err e = TX_ROW(v->w.tx, STMT_sandbox_event_body, &row, V_TEXT(v->id));

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 404, "event", v->id, "id");
    if (!work_ok(&v->w, e))
        return false;
    *ret = (struct event_list_event){ v->id, row.col[0].s };
    return true;
}

static void answer_event(struct stripe_call *v, const struct event_list_event *e)
{
    struct receivers r;

    if (find_receivers(&v->w, &r))
        stripe_answer(v, event_json(&v->w, &r, e));
}

void event_retrieve(struct stripe_call *v)
{
    struct event_list_event e = { 0 };

    if (stripe_read_event(v, &e))
        answer_event(v, &e);
}

/* --- lists --- */

static bool is_pattern(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] < 'a' || s.p[i] > 'z') && (s.p[i] < '0' || s.p[i] > '9') && s.p[i] != '_' &&
            s.p[i] != '.' && s.p[i] != '*')
            return false;
    return s.n;
}

static bool add_type(struct stripe_call *v, struct buf *b, struct str type, const char *param)
{
    if (!is_pattern(type))
        return stripe_reject_invalid(v, NULL, param, "Invalid %s: it is not the type of an event.",
                                     param);
    buf_char(b, b->n ? ',' : '[');
    buf_json(b, type);
    return true;
}

static bool add_types(struct stripe_call *v, struct buf *b)
{
    const struct form *one = form_get(&v->form, S("type")), *many = form_get(&v->form, S("types"));

    if (one && many)
        return stripe_reject_invalid(v, "parameters_exclusive", "types",
                                     "You may only specify one of these parameters: type, types.");
    if (many && (!many->first || many->count > LIMIT_SANDBOX_TYPE_FILTER))
        return stripe_reject_invalid(v, NULL, "types", "Invalid array: it has 1 to %d types.",
                                     LIMIT_SANDBOX_TYPE_FILTER);
    if (one && !add_type(v, b, one->value, "type"))
        return false;
    for (const struct form *x = many ? many->first : NULL; x; x = x->next)
        if (!add_type(v, b, x->value, "types"))
            return false;
    if (b->n)
        buf_char(b, ']');
    return true;
}

static bool take_types(struct stripe_call *v, struct list_page *page)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    if (!add_types(v, &b)) {
        buf_release(&b);
        return false;
    }
    page->filter[0] = work_text_of(&v->w, &b);
    return !v->w.err;
}

static void event_of_row(const struct row *row, void *ret)
{
    *(struct event_list_event *)ret = (struct event_list_event){ row->col[0].s, row->col[1].s };
}

static bool read_page(struct work *w, struct list_page *p, struct event_list_event **ret)
{
    struct gather g = { .page = p, .each = sizeof(struct event_list_event), .read = event_of_row };
    const struct val v[] = { V_TEXT(p->above), V_TEXT(p->below), V_TEXT(p->filter[0]),
                             V_INT(p->limit + 1) };
    enum stmt stmt = p->backwards ? STMT_sandbox_events_oldest : STMT_sandbox_events_newest;
    bool ok = sb_gather(w, &g, stmt, v, COUNT(v));

    *ret = (struct event_list_event *)(void *)g.rows;
    return ok;
}

void event_list(struct stripe_call *v)
{
    struct list_page page = { .above = S(ID_EVENT), .below = S(ID_EVENT "~") };
    struct event_list_event *e = NULL;
    struct receivers r;
    struct str *objects;

    if (form_get(&v->form, S("delivery_success"))) {
        stripe_reject_invalid(v, NULL, "delivery_success", "The sandbox has no filter for that.");
        return;
    }
    if (!take_types(v, &page) || !param_created(v, ID_EVENT, &page) || !param_page(v, &page) ||
        !find_receivers(&v->w, &r) || !read_page(&v->w, &page, &e))
        return;
    objects = stripe_list_objects(v, page.count);
    if (!objects)
        return;
    for (size_t i = 0; i < page.count; i++)
        objects[i] = event_json(&v->w, &r, &e[i]);
    stripe_answer_list(v, "/v1/events", &page, objects);
}

/* --- sending again --- */

static bool resend_to_all(struct stripe_call *v, const struct event_list_event *e)
{
    struct row row;

    return work_ok(&v->w, TX_ROW(v->w.tx, STMT_sandbox_event_type, &row, V_TEXT(e->id))) &&
           work_ok(&v->w, sb_event_resend_all(v->w.s, v->w.tx, e->id, row.col[0].s, v->w.now_ms));
}

static bool resend_to_endpoint(struct stripe_call *v, const struct event_list_event *e,
                               struct str id)
{
    struct hook h;
    enum err err = sb_hook_read(v->w.tx, id, &h);

    if (err == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 400, "webhook endpoint", id, "webhook_endpoint");
    return work_ok(&v->w, err) &&
           work_ok(&v->w, sb_event_resend(v->w.s, v->w.tx, e->id, h.id, v->w.now_ms));
}

static bool resend_to_listener(struct stripe_call *v, const struct event_list_event *e)
{
    return !relay_has_sessions(v->w.s) ||
           work_ok(&v->w, relay_add_event(v->w.s, v->w.tx, e->id, v->w.now_ms));
}

void event_retry(struct stripe_call *v)
{
    bool listener = false, ok;
    struct param endpoint;
    struct event_list_event e = { 0 };

    if (!stripe_read_event(v, &e) || !param_flag(v, "for_stripecli", &listener) ||
        !param_text(v, "webhook_endpoint", LIMIT_SANDBOX_TEXT, &endpoint))
        return;
    if (listener)
        ok = resend_to_listener(v, &e);
    else if (endpoint.text.n)
        ok = resend_to_endpoint(v, &e, endpoint.text);
    else
        ok = resend_to_all(v, &e);
    if (ok)
        answer_event(v, &e);
}
