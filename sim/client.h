/* client.h - the sender of webhooks: sends events, some of them twice, some of them malformed, sends
 * again those that were not ACKed, and keeps a list of those that were. It also draws which events'
 * jobs fail and which kill the node that runs them (job_faults.c). */
#pragma once

#include "queue/queue.h"
#include "sim/sim.h"

struct sim_node;

struct sim_client *sim_client_new(struct sim *s); /* draws all events from the seed */
void sim_client_free(struct sim_client *c);

bool sim_client_can_send(const struct sim_client *c);
void sim_client_send(struct sim_client *c);
void sim_client_node_died(struct sim_client *c, const struct sim_node *n); /* no answers from it */
/* True: every event was ACKed as often as required. */
bool sim_client_is_done(const struct sim_client *c);
int sim_client_special(const struct sim_client *c); /* events that are meant to fail */

/* The job that a node runs for the client's events: the real one with faults (job_faults.c). */
struct job_kind sim_client_job_kind(struct sim_client *c, struct sim_node *n);

void sim_client_check_acked(struct sim_client *c); /* each is stored, once */
void sim_client_check_ends(struct sim_client *c); /* at rest: each has the outcome it had to have */
