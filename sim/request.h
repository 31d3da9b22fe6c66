/* request.h - a webhook request without HTTP: takes a verified body, stores it with the real unit,
 * and reports the verdict from which the server would make the HTTP answer. */
#pragma once

#include "base/arena.h"
#include "webhook/receive.h"

struct sim_node;

struct sim_request {
    struct receive receive; /* the real unit, with its event */
    struct arena arena;
    void (*answered)(
        struct sim_request *d); /* on the node's executor; receive.unit.err is the verdict */
};

/* The body must live until the answer, or until sim_request_release() if there is none. */
void sim_request_post(struct sim_request *d, struct sim_node *n, struct str body,
                      void (*answered)(struct sim_request *));
void sim_request_release(struct sim_request *d);
