/* request.c - a chain of HTTP calls to the sandbox:
 *
 *   audit line (one commit) --> call --> call --> ... --> done() answers the request
 *
 * A crash leaves the audit line and the calls that were made; nothing is repeated. */
#include "admin/sandbox/sandbox.h"
#include "base/limits.h"
#include "endpoint/act.h"
#include "endpoint/answer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { STEP_ANSWER_MAX = 256 * 1024 };

struct sandbox_calls *sandbox_calls_new(struct request *r, const struct api_sandbox *api,
                                        const struct principal *p)
{
    struct sandbox_calls *e = api_room(r, sizeof(*e));

    if (!e)
        return NULL;
    e->request = r;
    e->api = api;
    e->user = p->user;
    return e;
}

struct sandbox_call *sandbox_calls_add(struct sandbox_calls *e, struct str method, const char *path,
                                       struct str body)
{
    struct sandbox_call *s = &e->steps[e->count++];
    size_t n = e->api->base.n + strlen(path);
    char *url = arena_alloc(&e->request->arena, n + 1, 1);

    assert(e->count <= SANDBOX_CALLS_MAX);
    *s = (struct sandbox_call){ .method = method, .body = body };
    if (!url)
        return s; /* sandbox_calls_begin() answers that */
    snprintf(url, n + 1, STR_FMT "%s", STR_ARG(e->api->base), path);
    s->url = (struct str){ url, n };
    return s;
}

/* --- one call after another --- */

static void sandbox_calls_next(struct sandbox_calls *e);

static void sandbox_calls_answer_problem(struct sandbox_calls *e)
{
    const struct call *c = &e->call;

    if (c->result != CALL_ANSWERED)
        reply_problem(e->request, ERR_GATEWAY, "the sandbox did not answer");
    else if (c->status >= 500)
        reply_problem(e->request, ERR_GATEWAY, "the sandbox failed");
    else
        reply_send(e->request, c->status, S("application/problem+json"), c->answer);
}

static void sandbox_calls_answered(struct call *c)
{
    struct sandbox_calls *e = CONTAINER_OF(c, struct sandbox_calls, call);

    if (c->result != CALL_ANSWERED || c->status < 200 || c->status > 299) {
        sandbox_calls_answer_problem(e);
        return;
    }
    e->steps[e->at++].answer = c->answer;
    sandbox_calls_next(e);
}

static void sandbox_calls_next(struct sandbox_calls *e)
{
    const struct sandbox_call *s = &e->steps[e->at];
    size_t n = 0;

    if (e->at == e->count) {
        e->done(e);
        return;
    }
    if (s->body.n)
        e->headers[n++] = (struct header){ S("Content-Type"), S("application/json") };
    if (s->header.name.n)
        e->headers[n++] = s->header;
    e->call = (struct call){ .method = s->method,
                             .url = s->url,
                             .body = s->body,
                             .headers = e->headers,
                             .header_count = n,
                             .timeout_ms = LIMIT_SANDBOX_CALL_MS,
                             .answer_max = STEP_ANSWER_MAX,
                             .once = true,
                             .arena = &e->request->arena,
                             .executor = e->request->executor,
                             .done = sandbox_calls_answered };
    client_call(e->api->client, &e->call);
}

/* --- the audit line comes first --- */

static enum err sandbox_calls_audit(struct tx *tx, struct unit *u)
{
    struct sandbox_calls *e = CONTAINER_OF(u, struct sandbox_calls, unit);

    return act_audit(tx, e->operation, e->subject, e->detail, e->user);
}

static void sandbox_calls_audited(struct unit *u)
{
    struct sandbox_calls *e = CONTAINER_OF(u, struct sandbox_calls, unit);

    if (u->err)
        reply_problem(e->request, u->err, NULL);
    else
        sandbox_calls_next(e);
}

void sandbox_calls_begin(struct sandbox_calls *e)
{
    static const struct unit_kind kind = { "sandbox.act", UNIT_FRONT, sandbox_calls_audit, NULL };

    for (size_t i = 0; i < e->count; i++)
        if (!e->steps[i].url.p) {
            reply_problem(e->request, ERR_NO_MEMORY, NULL);
            return;
        }
    if (!e->operation) {
        sandbox_calls_next(e);
        return;
    }
    e->unit = (struct unit){ .kind = &kind,
                             .executor = e->request->executor,
                             .done = sandbox_calls_audited };
    store_post(e->api->payments->runtime.store, &e->unit);
}
