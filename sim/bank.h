/* bank.h - the world outside: a provider that is slow, loses requests and answers, and does each
 * order once however often it is asked; and the job kind that calls it between lease and settle.
 * It has no part in a node's crash: what was on the wire may still be done. */
#pragma once

#include "queue/queue.h"
#include "sim/sim.h"

struct sim_node;

struct bank *bank_new(struct sim *s);
void bank_free(struct bank *b);

#define BANK_KIND S("call")
struct job_kind bank_job_kind(struct sim_node *n);
void *bank_state(struct bank *b); /* for queue_adopt(): the job's own, and counted */

bool bank_can_answer(const struct bank *b);
void bank_answer(struct bank *b);
bool bank_has_calls_of(const struct bank *b, const struct sim_node *n);  /* with somebody waiting */
bool bank_has_unsettled(const struct bank *b, const struct sim_node *n); /* answered, not settled */
bool bank_is_awaited(const struct bank *b);
void bank_check_end(struct bank *b); /* at rest: every job was released, once */
