/* order.c - stores an order with its leased message and adopts it, or takes the message of a repeated
 * order by its id. A crash of the node before the adoption leaves a lease that expires. */
#include "sim/order.h"

#include "sim/check.h"
#include "sim/events.h"
#include "sim/node.h"
#include "sim/provider.h"

#include <string.h>

enum { ORDER_ARENA = 64 * 1024 };

static enum err order_mark_new(void *ctx, const struct row *row)
{
    struct order *o = ctx;

    (void)row;
    o->is_new = true;
    return OK;
}

static enum err order_note_known(void *ctx, const struct row *row)
{
    struct order *o = ctx;

    memcpy(o->message_id.b, row->col[1].s.p, sizeof(o->message_id.b));
    return OK;
}

static enum err store_order(struct tx *tx, struct order *o, int64_t now_ms)
{
    struct val v[10] = { [3] = V_NULL };

    v[0] = V_TEXT(S("stripe"));
    v[1] = V_TEXT(o->id);
    v[5] = V_INT(now_ms);
    v[6] = V_BLOB(uuid_bytes(&o->new_id));
    v[7] = v[8] = V_TEXT(S("sim"));
    v[9] = V_BLOB(S("order"));
    return tx_bulk(tx, STMT_webhook_event_add, v, 1, COUNT(v), order_mark_new, o);
}

static enum err order_take_message(struct tx *tx, struct order *o, int64_t now_ms)
{
    struct val id = V_TEXT(o->id);
    enum err e = tx_bulk(tx, STMT_webhook_event_find, &id, 1, 1, order_note_known, o);

    if (!e)
        e = queue_take(o->node->queue, tx, &o->arena, o->message_id, now_ms, &o->leased);
    o->is_ours = !e;
    if (!e)
        check_took(o->node->sim->check, &o->leased);
    return e == ERR_NOT_FOUND ? OK : e; /* its message is leased already, or has ended */
}

static enum err order_run(struct tx *tx, struct unit *u)
{
    struct order *o = CONTAINER_OF(u, struct order, unit);
    int64_t now_ms = env_now_ms(tx_env(tx));
    struct queue_new m = { .id = o->new_id, .kind = CALL_KIND, .ref = o->id };
    enum err e;

    o->is_new = o->is_ours = false;
    e = store_order(tx, o, now_ms);
    if (e)
        return e;
    if (!o->is_new)
        return order_take_message(tx, o, now_ms);
    o->message_id = o->new_id;
    e = queue_add_leased(o->node->queue, tx, now_ms, &m, &o->leased);
    o->is_ours = !e;
    return e;
}

static void order_adopt(struct order *o)
{
    struct sim *s = o->node->sim;
    struct event *e = sim_client_event_of(s->client, o->id);

    if (!o->is_new)
        sim_mark(s, MARK_TAKEN);
    if (e->unadopted) {
        e->unadopted = false;
        sim_mark(s, MARK_NEVER_ADOPTED); /* as without memory */
        return;
    }
    sim_mark(s, o->node->stopping ? MARK_ADOPTED_STOPPING : MARK_ADOPTED);
    queue_adopt(o->node->queue, &o->leased, provider_state(s->provider));
}

static void order_done(struct unit *u)
{
    struct order *o = CONTAINER_OF(u, struct order, unit);

    if (!u->err && o->is_ours)
        order_adopt(o);
    o->answered(o);
}

void order_post(struct order *o, struct sim_node *n, struct str id,
                void (*answered)(struct order *o))
{
    static const struct unit_kind kind = { "sim.order", UNIT_FRONT, order_run, NULL };

    *o = (struct order){ .node = n, .id = id, .new_id = env_uuid(&n->env), .answered = answered };
    arena_init(&o->arena, ORDER_ARENA);
    o->unit = (struct unit){
        .kind = &kind, .executor = &n->executor, .done = order_done, .arena = &o->arena
    };
    store_post(&n->store, &o->unit);
}

void order_release(struct order *o)
{
    arena_release(&o->arena);
}
