#include "qstash/call.h"

#include "base/limits.h"
#include "qstash/publish/input.h"

#include <stdarg.h>
#include <stdio.h>

static enum err run_call(struct tx *tx, struct unit *u)
{
    struct call *c = CONTAINER_OF(u, struct call, unit);

    buf_clear(&c->out);
    c->refused = 0;
    return c->run(tx, c);
}

static void qstash_call_done(struct unit *u)
{
    struct call *c = CONTAINER_OF(u, struct call, unit);
    struct buf out = c->out;

    if (!u->err && c->then)
        c->then(c);
    if (!u->err && (out.n || out.failed)) {
        visit_buf(c->v, 200, &out);
        return;
    }
    if (u->err && c->refused)
        visit_error(c->v, c->refused, "%s", c->words);
    else if (u->err)
        visit_err(c->v, u->err);
    else
        visit_done(c->v);
    buf_release(&out); /* the call went with its request */
}

static void qstash_call_post(struct visit *v, const struct unit_kind *kind, call_fn run,
                             void (*then)(struct call *c))
{
    struct call *c = arena_alloc(&v->r->arena, 1, sizeof(*c));

    if (!c) {
        visit_err(v, ERR_NO_MEMORY);
        return;
    }
    c->v = v;
    c->run = run;
    c->then = then;
    buf_init(&c->out, LIMIT_REPLY);
    c->unit = (struct unit){
        .kind = kind, .executor = v->r->executor, .done = qstash_call_done, .arena = &v->r->arena
    };
    store_post(v->q->store, &c->unit);
}

void call_read(struct visit *v, call_fn run)
{
    static const struct unit_kind kind = { "qstash.read", UNIT_READ, run_call, NULL };

    qstash_call_post(v, &kind, run, NULL);
}

void call_write_then(struct visit *v, call_fn run, void (*then)(struct call *c))
{
    static const struct unit_kind kind = { "qstash.write", UNIT_FRONT, run_call, NULL };

    qstash_call_post(v, &kind, run, then);
}

void call_write(struct visit *v, call_fn run)
{
    call_write_then(v, run, NULL);
}

enum err call_refuse(struct call *c, int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(c->words, sizeof(c->words), format, args);
    va_end(args);
    c->refused = status;
    return ERR_UNPROCESSABLE;
}

/* --- what came in --- */

bool visit_name(struct visit *v, struct str name, const char *what)
{
    if (input_name_is_valid(name))
        return true;
    visit_error(v, 400, "invalid %s: it has 1 to %d of A-Z a-z 0-9 . _ -", what, LIMIT_QSTASH_NAME);
    return false;
}

bool visit_body_is_json(struct visit *v)
{
    size_t count;
    struct str type = request_header(v->r, S("Content-Type"), &count);

    if (!v->r->body.n || !count ||
        str_eq_nocase(str_trim(str_cut(&type, ';')), S("application/json")))
        return true;
    visit_error(v, 415,
                count > 1
                    ? "Content-Type is given twice: send Content-Type: application/json once"
                    : "the body must be JSON: send Content-Type: application/json, or no body");
    return false;
}

cJSON *visit_object(struct visit *v)
{
    struct json_fault fault;
    cJSON *tree = NULL;
    enum err e = json_parse(v->r->body, &tree, &fault);

    if (e == ERR_VALIDATION)
        visit_error(v, 400, "invalid JSON in the body, at byte %zu: %s", fault.offset, fault.why);
    else if (e)
        visit_err(v, e);
    else if (!cJSON_IsObject(tree))
        visit_error(v, 400, "the body must be a JSON object");
    else
        return tree;
    json_freep(&tree);
    return NULL;
}
