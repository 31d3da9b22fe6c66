/* order.h - a request whose job begins at once: one commit stores the order and adds its message
 * leased, which is then adopted. A repeated order takes the message by its id, unless it is leased. */
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

/* The id must live until the answer, or until order_release() if there is none. */
void order_post(struct order *o, struct sim_node *n, struct str id,
                void (*answered)(struct order *o));
void order_release(struct order *o);
