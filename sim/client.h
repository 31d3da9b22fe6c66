/* client.h - the provider: sends events, some of them twice, some of them odd, sends again what was
 * not ACKed, and keeps its own list of what was. And the saboteur: which events' jobs fail, and
 * which kill the node that runs them. */
#pragma once

#include "queue/queue.h"
#include "sim/sim.h"

struct sim_node;

struct sim_client *sim_client_new(struct sim *s); /* draws all events from the seed */
void sim_client_free(struct sim_client *c);

bool sim_client_can_send(const struct sim_client *c);
void sim_client_send(struct sim_client *c);
void sim_client_node_died(struct sim_client *c, const struct sim_node *n); /* no answers from it */
bool sim_client_is_done(
    const struct sim_client *c); /* everything was ACKed as often as it had to be */
int sim_client_special(const struct sim_client *c); /* events that are meant to fail */

/* The job that a node runs for the client's events: the real one, behind the saboteur. */
struct job_kind sim_client_job_kind(struct sim_client *c, struct sim_node *n);

void sim_client_check_acked(struct sim_client *c); /* each is stored, once */
void sim_client_check_ends(struct sim_client *c); /* at rest: each has the outcome it had to have */
