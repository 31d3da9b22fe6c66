/* act.c - one read or change behind /_sandbox, as a unit of work. A program gets JSON, a person a
 * page or a redirect. */
#include "sandbox/control/control.h"
#include "sandbox/form.h"
#include "sandbox/page/page.h"

/* --- the body --- */

bool act_is_form(const struct request *r)
{
    return str_starts(request_header(r, S("Content-Type"), NULL),
                      S("application/x-www-form-urlencoded"));
}

static bool read_texts(struct control_body *in, struct request *r, struct act *a,
                       const struct act_text *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct str s;

        if (!json_get_str(in->body, texts[i].name, texts[i].required, 500, &s, &in->problems))
            continue;
        a->text[i] = arena_str(&r->arena, s);
        if (!a->text[i].p)
            return false;
    }
    return true;
}

bool act_read(struct request *r, struct act *a, const struct act_text *texts, size_t n)
{
    const char *names[COUNT(a->text)] = { 0 };
    struct control_body in;
    bool room;

    if (!r->body.n)
        r->body = S("{}");
    for (size_t i = 0; i < n; i++)
        names[i] = texts[i].name;
    if (!control_body_begin(&in, r, names, n))
        return false;
    room = read_texts(&in, r, a, texts, n);
    if (!control_body_end(&in, r))
        return false;
    if (!room)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    return room;
}

bool act_read_form(struct request *r, struct act *a, const char *const *names, size_t n)
{
    struct form form = { 0 };
    struct form_fault fault = { 0 };
    enum err e = form_parse(&r->arena, r->body, &form, &fault);

    if (e) {
        reply_problem(r, e, fault.why);
        return false;
    }
    a->form = true;
    for (size_t i = 0; i < n; i++) {
        const struct form *f = form_get(&form, str_of(names[i]));

        a->text[i] = f && f->has_value ? f->value : S("");
    }
    return true;
}

/* --- the unit --- */

static enum err act_run(struct tx *tx, struct unit *u)
{
    struct act *a = CONTAINER_OF(u, struct act, unit);
    struct work w = {
        .s = a->sandbox, .tx = tx, .a = &a->request->arena, .now_ms = env_now_ms(&a->sandbox->env)
    };
    enum err e;

    a->json = a->html = a->location = (struct str){ 0 };
    a->why = NULL;
    e = a->run(a, &w);
    return w.err ? w.err : e;
}

static void act_done(struct unit *u)
{
    struct act *a = CONTAINER_OF(u, struct act, unit);
    struct request *r = a->request;

    if (u->err) {
        reply_problem(r, u->err, a->why);
    } else if (a->location.n) {
        reply_header(r, S("Location"), a->location);
        reply_header(r, S("Cache-Control"), S("no-store"));
        reply_send(r, 303, S(""), S(""));
    } else if (a->html.n) {
        page_headers(r);
        reply_send(r, 200, S("text/html; charset=utf-8"), a->html);
    } else {
        reply_send(r, 200, S("application/json"), a->json);
    }
}

void act_post(struct request *r, struct sandbox *s, const struct act *as, bool reads)
{
    static const struct unit_kind look = { "sandbox.look", UNIT_READ, act_run, NULL };
    static const struct unit_kind change = { "sandbox.change", UNIT_FRONT, act_run, NULL };
    struct act *a = arena_alloc(&r->arena, 1, sizeof(*a));

    if (!reads && !control_from_own_page(r))
        return;
    if (!a) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    *a = *as;
    a->request = r;
    a->sandbox = s;
    a->id = r->params[0];
    a->unit = (struct unit){ .kind = reads ? &look : &change,
                             .executor = r->executor,
                             .done = act_done,
                             .arena = &r->arena };
    store_post(s->store, &a->unit);
}
