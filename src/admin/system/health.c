#include "admin/system/health.h"

#include "base/buf.h"
#include "endpoint/answer.h"
#include "queue/queue.h"
#include "store/store.h"

enum { FORGET_MS = 24 * 3600 * 1000 }; /* nodes not seen for this long are removed */

struct readiness {
    struct unit unit;
    struct request *request;
    const struct api_health *health;
    struct queue_state state;
};

void api_healthz(struct request *r, void *ctx)
{
    (void)ctx;
    reply_send(r, 200, S("application/json"), S("{\"status\":\"ok\"}\n"));
}

static const char *readiness_why_not(const struct readiness *c)
{
    if (server_stopping(c->request->server))
        return "the server is stopping";
    if (c->unit.err)
        return err_words(c->unit.err, c->request->language);
    if (c->state.oldest_ready_ms > c->health->oldest_ready_limit_ms)
        return "the oldest ready message has waited too long: nothing works through the queue";
    if (queue_live(c->health->queue) >= c->health->backlog_limit)
        return "the backlog is at its limit: webhooks are refused until it shrinks";
    return NULL;
}

static void readiness_answer(struct unit *u)
{
    struct readiness *c = CONTAINER_OF(u, struct readiness, unit);
    const char *why = readiness_why_not(c);
    struct buf text;

    buf_init(&text, 4096);
    buf_fmt(&text, "{\"status\":\"%s\"", why ? "not ready" : "ready");
    if (why) {
        buf_add(&text, S(",\"why\":"));
        buf_json(&text, str_of(why));
    }
    buf_fmt(&text, ",\"store\":\"%s\"", u->err ? err_code(u->err) : "ok");
    if (!u->err)
        buf_fmt(&text, ",\"oldestReadyMs\":%lld,\"live\":%lld,\"dead\":%lld",
                (long long)c->state.oldest_ready_ms, (long long)queue_live(c->health->queue),
                (long long)c->state.dead);
    buf_add(&text, S("}\n"));
    if (why)
        reply_header(c->request, S("Retry-After"), S("5"));
    reply_send(c->request, why ? 503 : 200, S("application/json"), buf_str(&text));
    buf_release(&text);
}

/* Writes a row, so that a full or read-only disk is found here and not by the next webhook. */
static enum err readiness_probe(struct tx *tx, struct unit *u)
{
    struct readiness *c = CONTAINER_OF(u, struct readiness, unit);
    struct env *env = tx_env(tx);
    int64_t now = env_now_ms(env);
    enum err e = TX_DO(tx, STMT_node_seen, -1, V_BLOB(uuid_bytes(&env->node)), V_INT(now));

    if (e)
        return e;
    e = TX_DO(tx, STMT_node_seen_forget, -1, V_INT(now - FORGET_MS));
    return e ? e : queue_read_state(tx, now, &c->state);
}

void api_readyz(struct request *r, void *ctx)
{
    static const struct unit_kind kind = { "ready.prove", UNIT_FRONT, readiness_probe, NULL };
    struct readiness *c = api_room(r, sizeof(*c));

    if (!c)
        return;
    c->request = r;
    c->health = ctx;
    c->unit = (struct unit){ .kind = &kind, .executor = r->executor, .done = readiness_answer };
    store_post(c->health->store, &c->unit);
}
