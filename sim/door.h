/* door.h - the webhook's door without the wire: a verified body goes in, the real unit stores it,
 * and its verdict is what the HTTP answer would be made of. */
#pragma once

#include "base/arena.h"
#include "webhook/receive.h"

struct sim_node;

struct door {
    struct receive receive; /* the real unit, with its event */
    struct arena arena;
    void (*answered)(struct door *d); /* on the node's executor; receive.unit.err is the verdict */
};

/* The body lives until the answer, or until door_release() if there is none. */
void door_post(struct door *d, struct sim_node *n, struct str body,
               void (*answered)(struct door *));
void door_release(struct door *d);
