/* order.h - a door whose request goes on at once: one commit stores the order and adds its message
 * leased, then that is adopted. A repeated order goes on with the message if nobody has it. */
#pragma once

#include "base/arena.h"
#include "queue/queue.h"
#include "sim/sim.h"

struct sim_node;

struct order {
    struct unit unit; /* its err is the verdict */
    struct sim_node *node;
    struct str id;
    struct uuid new_id, message_id;
    bool is_new, is_ours;
    struct message leased;
    struct arena arena;
    void (*answered)(struct order *o); /* on the node's executor */
};

/* The id lives until the answer, or until order_release() if there is none. */
void order_post(struct order *o, struct sim_node *n, struct str id,
                void (*answered)(struct order *o));
void order_release(struct order *o);
