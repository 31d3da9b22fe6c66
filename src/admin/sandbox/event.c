/* event.c - sends one event, as Stripe would, to our own webhook endpoint over HTTP. A broken event
 * names a payment that does not exist, so its job retries, gives up and leaves a dead letter. */
#include "admin/sandbox/sandbox.h"
#include "base/hex.h"
#include "base/json/write.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

enum { TYPE_MAX = 100, DIGEST = 32, EVENT_MAX = 4096, SIGNATURE_MAX = 128, ID_TEXT = 4 + 32 };

struct sandbox_event_input {
    struct str type;
    bool broken;
    char id[ID_TEXT + 1], object[ID_TEXT + 1];
};

/* --- the request --- */

/* "payment_intent.succeeded": words of a-z, 0-9 and _, with dots between them. */
static bool sandbox_event_is_type(struct str t)
{
    bool dot = true, any = false;

    for (size_t i = 0; i < t.n; i++) {
        bool here = t.p[i] == '.';
        bool letter =
            (t.p[i] >= 'a' && t.p[i] <= 'z') || (t.p[i] >= '0' && t.p[i] <= '9') || t.p[i] == '_';

        if ((!letter && !here) || (here && dot))
            return false;
        any |= here;
        dot = here;
    }
    return any && !dot;
}

ANSWERS static bool sandbox_event_read_body(struct request *r, struct sandbox_event_input *s)
{
    static const char *const names[] = { "type", "broken" };
    CLEANUP(json_freep) cJSON *body = NULL;
    struct json_problems problems;
    bool no_memory = false;

    if (!fields_body(r, &body))
        return false;
    fields_problems(r, &problems);
    fields_only(body, names, COUNT(names), &problems);
    json_get_bool(body, "broken", false, &s->broken, &problems);
    if (json_get_str(body, "type", true, TYPE_MAX, &s->type, &problems)) {
        if (!sandbox_event_is_type(s->type))
            json_problem_in(&problems, "type", "must be a type like payment_intent.succeeded",
                            "payment_intent.succeeded のような種別にしてください");
        s->type = fields_keep(r, s->type, &no_memory);
    }
    return !fields_failed(r, &problems, no_memory ? ERR_NO_MEMORY : OK);
}

/* --- the event --- */

static void sandbox_event_make_id(struct env *env, const char *prefix, char text[ID_TEXT + 1])
{
    struct uuid id = env_uuid(env);

    *hex_put(text + snprintf(text, 5, "%s", prefix), id.b, sizeof(id.b)) = '\0';
}

/* The type of the event's object: "dispute" for "charge.dispute.created", "checkout.session" for
 * "checkout.session.completed". */
static struct str sandbox_event_object(struct str type)
{
    struct str object = type;

    while (object.n && object.p[object.n - 1] != '.')
        object.n--;
    object.n--;
    if (str_eq(object, S("charge.dispute")))
        return S("dispute");
    return object;
}

static const char *sandbox_event_prefix_of(struct str object)
{
    static const struct {
        struct str object;
        const char *prefix;
    } known[] = {
        { { "payment_intent", 14 }, "pi_" }, { { "charge", 6 }, "ch_" },
        { { "refund", 6 }, "re_" },          { { "checkout.session", 16 }, "cs_" },
        { { "dispute", 7 }, "dp_" },
    };

    for (size_t i = 0; i < COUNT(known); i++)
        if (str_eq(known[i].object, object))
            return known[i].prefix;
    return "ob_";
}

static void sandbox_event_write(struct buf *b, struct env *env, struct sandbox_event_input *s)
{
    struct str object = sandbox_event_object(s->type);

    sandbox_event_make_id(env, "evt_", s->id);
    sandbox_event_make_id(env, sandbox_event_prefix_of(object), s->object);
    buf_char(b, '{');
    out_text(b, "id", str_of(s->id));
    out_text(b, "object", S("event"));
    out_text(b, "type", s->type);
    out_bool(b, "livemode", false);
    out_int(b, "created", env_now_ms(env) / 1000);
    out_json(b, "data", S("{\"object\":{"));
    out_text(b, "id", str_of(s->object));
    out_text(b, "object", object);
    if (s->broken) {
        out_json(b, "metadata", S("{"));
        out_uuid(b, "payment_id", env_uuid(env));
        buf_char(b, '}');
    }
    buf_add(b, S("}}}"));
}

/* "t=...,v1=..." over "t.body" */
static bool sandbox_event_sign(struct str secret, struct str body, int64_t t,
                               char ret_text[SIGNATURE_MAX])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    struct buf b;
    bool fine;
    char *p;

    buf_init(&b, EVENT_MAX + 64);
    buf_fmt(&b, "%lld.", (long long)t);
    buf_add(&b, body);
    fine = !b.failed &&
           HMAC(EVP_sha256(), secret.p, (int)secret.n, (const unsigned char *)b.p, b.n, digest, &n);
    buf_release(&b);
    if (!fine || n != DIGEST)
        return false;
    p = ret_text + snprintf(ret_text, SIGNATURE_MAX, "t=%lld,v1=", (long long)t);
    *hex_put(p, digest, DIGEST) = '\0';
    return true;
}

/* --- sending --- */

static void sandbox_event_sent(struct sandbox_calls *e)
{
    struct request *r = e->request;
    struct buf b;

    buf_init(&b, EVENT_MAX);
    buf_char(&b, '{');
    out_text(&b, "eventId", e->subject);
    out_text(&b, "type", e->detail);
    buf_char(&b, '}');
    if (b.failed)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    else
        reply_send(r, 202, S("application/json"), buf_str(&b));
    buf_release(&b);
}

/* False: no memory. */
static bool sandbox_event_add(struct sandbox_calls *e, struct sandbox_event_input *s)
{
    struct env *env = e->request->env;
    struct arena *a = &e->request->arena;
    char signature[SIGNATURE_MAX] = "";
    struct sandbox_call *step = &e->steps[e->count++];
    struct buf b;

    buf_init(&b, EVENT_MAX);
    sandbox_event_write(&b, env, s);
    *step = (struct sandbox_call){ .method = S("POST"), .url = e->api->webhook_url };
    if (!b.failed &&
        sandbox_event_sign(e->api->secret, buf_str(&b), env_now_ms(env) / 1000, signature))
        step->body = arena_str(a, buf_str(&b));
    buf_release(&b);
    step->header = (struct header){ S("Stripe-Signature"), arena_str(a, str_of(signature)) };
    e->subject = arena_str(a, str_of(s->id));
    e->detail = s->type;
    return step->body.p && step->header.value.p && e->subject.p;
}

void api_sandbox_event(struct request *r, void *ctx, const struct principal *p)
{
    struct sandbox_event_input s = { 0 };
    struct sandbox_calls *calls;

    if (!query_read(r, NULL, 0, NULL) || !sandbox_event_read_body(r, &s))
        return;
    calls = sandbox_calls_new(r, ctx, p);
    if (!calls)
        return;
    calls->operation = s.broken ? "SANDBOX_EVENT_BROKEN" : "SANDBOX_EVENT";
    calls->done = sandbox_event_sent;
    if (sandbox_event_add(calls, &s))
        sandbox_calls_begin(calls);
    else
        reply_problem(r, ERR_NO_MEMORY, NULL);
}
