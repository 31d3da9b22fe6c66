/* provider.h - a simulated payment provider that is slow, loses requests and answers, and executes
 * each order once however often it is called; and the job kind that calls it between lease and
 * settle. A node's crash does not affect it: a request that is under way may still be executed. */
#pragma once

#include "queue/queue.h"
#include "sim/sim.h"

struct sim_node;

struct provider *provider_new(struct sim *s);
void provider_free(struct provider *b);

#define CALL_KIND S("call")
struct job_kind provider_job_kind(struct sim_node *n);
void *provider_state(
    struct provider *b); /* a new job state for queue_adopt(); its release is checked */

bool provider_can_answer(const struct provider *b);
void provider_answer(struct provider *b);
bool provider_has_calls_of(const struct provider *b,
                           const struct sim_node *n); /* with a job waiting */
bool provider_has_unsettled(const struct provider *b,
                            const struct sim_node *n); /* answered, not settled */
bool provider_is_awaited(const struct provider *b);
void provider_check_end(struct provider *b); /* at rest: every job was released, once */
