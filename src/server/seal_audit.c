/* seal_audit.c - seals the audit log at the end of a process, in at most LIMIT_AUDIT_LAST units. */
#include "server/seal_audit.h"

#include "audit/seal.h"
#include "base/limits.h"
#include "server/command_executor.h"

#include <unistd.h>

struct sealing {
    int64_t now_ms;
    struct audit_run run;
    bool more, waits;
    int64_t
        seq; /* the last row when all was walked first; later ones are other nodes'. -1: unknown */
};

/* The check for open transactions comes before the step. If it came after it, a transaction that
 * ends between the two would leave its rows unsealed, and no later step would seal them. */
static enum err seal_audit_run(struct tx *tx, void *ctx)
{
    struct sealing *s = ctx;
    enum err e = OK;

    s->waits = false;
    if (s->seq >= 0)
        e = audit_seal_waits(tx, s->seq, &s->waits);
    if (!e)
        e = audit_seal_step(tx, s->now_ms, &s->run, &s->more);
    return e;
}

void node_seal_audit(struct node *n)
{
    struct sealing s = { .now_ms = env_now_ms(&n->env), .seq = -1 };
    struct command_executor executor;
    bool goes_on = true;

    command_executor_init(&executor);
    for (int i = 0; goes_on && i < LIMIT_AUDIT_LAST; i++) {
        bool first_walk = s.seq < 0;

        if (s.waits)
            usleep(LIMIT_AUDIT_WAIT_MS * 1000);
        if (command_executor_run(&executor, n->store, UNIT_BACK, seal_audit_run, &s))
            break;
        if (first_walk && !s.more)
            s.seq = s.run.all_seq;
        goes_on = first_walk || s.more || s.waits;
    }
    command_executor_release(&executor);
}
