/* runtime.h - what background work needs: this node's environment, its store, its queue, and the
 * executor that its callbacks run on. */
#pragma once

#include "base/env.h"
#include "base/executor.h"
#include "queue/queue.h"
#include "store/store.h"

struct runtime {
    struct env *env;
    struct store *store;
    struct queue *queue;
    struct executor *executor; /* the queue's */
};
