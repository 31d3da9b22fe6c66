/* check.h - what must hold, whatever the seed did.
 *
 *   (1) An event that was ACKed is stored, exactly once, after any crash.
 *   (2) events = outcomes + dead letters + live messages, after every commit.
 *   (3) A message's attempt rises by one, when it is due, and within its budget.
 *   (4) One holder a lease: only the node that holds (id, attempt) renews, retries or ends it.
 *   (5) What ended never comes back, and its outcome is written with its end.
 *   (6) In a lane the first live message alone is ready, and messages end in order.
 *   (7) A batch that failed left nothing behind.
 *   (8) Once faults have stopped, all of it ends within a bound; then nobody asks for anything. */
#pragma once

#include "base/str.h"
#include "base/uuid.h"
#include "sim/sim.h"

struct message;
struct sim_node;

struct check *check_new(struct sim *s);
void check_free(struct check *c);
void check_close(struct check *c); /* before the disk goes */

void check_begin(struct check *c, const struct sim_node *by); /* a batch begins */
void check_ran(struct check *c, const struct message *m);     /* a job's effect is part of it */
void check_took(struct check *c, const struct message *m); /* one is taken by its id, due or not */
/* It ended: compares with what was before. After a crash, only when the next life has opened the
 * database: a commit that nobody was told about may be there or not until then. True: rows changed.
 */
bool check_commit(struct check *c);
void check_after_crash(struct check *c); /* the file is sound and holds what was ACKed */

bool check_is_stored(struct check *c, struct str event_id); /* exactly once */
bool check_find_event(struct check *c, struct str event_id, struct uuid *ret_message);
bool check_holds_lease(const struct check *c, struct uuid node);
/* One that has not expired, of any node but this. */
bool check_other_lease(const struct check *c, struct uuid node);
size_t check_live(const struct check *c);
bool check_outcome(struct check *c, struct str event_id, char ret_outcome[32], bool *ret_dead);
void check_hash(struct check *c); /* all tables, into the trace */
