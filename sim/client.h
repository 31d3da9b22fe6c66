/* client.h - the provider: sends events, some of them twice, some of them odd, sends again what was
 * not ACKed, and keeps its own list of what was. And the saboteur: which events' jobs fail, and
 * which kill the node that runs them. */
#pragma once

#include "queue/queue.h"
#include "sim/sim.h"

struct sim_node;

struct client *client_new(struct sim *s); /* draws all events from the seed */
void client_free(struct client *c);

bool client_can_send(const struct client *c);
void client_send(struct client *c);
void client_node_died(struct client *c, const struct sim_node *n); /* no answers from it */
bool client_is_done(const struct client *c); /* everything was ACKed as often as it had to be */
int client_special(const struct client *c);  /* events that are meant to fail */

/* The job that a node runs for the client's events: the real one, behind the saboteur. */
struct job_kind client_job_kind(struct client *c, struct sim_node *n);

void client_check_acked(struct client *c); /* each is stored, once */
void client_check_ends(struct client *c);  /* at rest: each has the outcome it had to have */
