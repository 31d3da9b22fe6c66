/* call.c - runs an API call as one unit of work and answers; checks of names and bodies. */
#include "qstash/call.h"

#include "base/limits.h"
#include "qstash/publish/input.h"

#include <stdarg.h>
#include <stdio.h>

static enum err run_call(struct tx *tx, struct unit *u)
{
    struct api_call *c = CONTAINER_OF(u, struct api_call, unit);

    buf_clear(&c->out);
    c->refused = 0;
    return c->run(tx, c);
}

static void qstash_call_done(struct unit *u)
{
    struct api_call *c = CONTAINER_OF(u, struct api_call, unit);
    struct buf out = c->out;

    if (!u->err && c->then)
        c->then(c);
    if (!u->err && (out.n || out.failed)) {
        qstash_reply(c->v, 200, &out);
        return;
    }
    if (u->err && c->refused)
        qstash_reply_error(c->v, c->refused, "%s", c->words);
    else if (u->err)
        qstash_reply_err(c->v, u->err);
    else
        qstash_reply_empty(c->v);
    buf_release(&out); /* a copy: answering freed c with its request */
}

static void qstash_call_post(struct qstash_request *v, const struct unit_kind *kind,
                             api_call_fn run, void (*then)(struct api_call *c))
{
    struct api_call *c = arena_alloc(&v->r->arena, 1, sizeof(*c));

    if (!c) {
        qstash_reply_err(v, ERR_NO_MEMORY);
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

void api_call_read(struct qstash_request *v, api_call_fn run)
{
    static const struct unit_kind kind = { "qstash.read", UNIT_READ, run_call, NULL };

    qstash_call_post(v, &kind, run, NULL);
}

void api_call_write_then(struct qstash_request *v, api_call_fn run,
                         void (*then)(struct api_call *c))
{
    static const struct unit_kind kind = { "qstash.write", UNIT_FRONT, run_call, NULL };

    qstash_call_post(v, &kind, run, then);
}

void api_call_write(struct qstash_request *v, api_call_fn run)
{
    api_call_write_then(v, run, NULL);
}

enum err api_call_refuse(struct api_call *c, int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(c->words, sizeof(c->words), format, args);
    va_end(args);
    c->refused = status;
    return ERR_UNPROCESSABLE;
}

/* --- input --- */

bool qstash_request_name(struct qstash_request *v, struct str name, const char *what)
{
    if (input_name_is_valid(name))
        return true;
    qstash_reply_error(v, 400, "invalid %s: it has 1 to %d of A-Z a-z 0-9 . _ -", what,
                       LIMIT_QSTASH_NAME);
    return false;
}

bool qstash_request_is_json(struct qstash_request *v)
{
    size_t count;
    struct str type = request_header(v->r, S("Content-Type"), &count);

    if (!v->r->body.n || !count ||
        str_eq_nocase(str_trim(str_cut(&type, ';')), S("application/json")))
        return true;
    qstash_reply_error(
        v, 415,
        count > 1 ? "Content-Type is given twice: send Content-Type: application/json once"
                  : "the body must be JSON: send Content-Type: application/json, or no body");
    return false;
}

cJSON *qstash_request_object(struct qstash_request *v)
{
    struct json_fault fault;
    cJSON *tree = NULL;
    enum err e = json_parse(v->r->body, &tree, &fault);

    if (e == ERR_VALIDATION)
        qstash_reply_error(v, 400, "invalid JSON in the body, at byte %zu: %s", fault.offset,
                           fault.why);
    else if (e)
        qstash_reply_err(v, e);
    else if (!cJSON_IsObject(tree))
        qstash_reply_error(v, 400, "the body must be a JSON object");
    else
        return tree;
    json_freep(&tree);
    return NULL;
}
