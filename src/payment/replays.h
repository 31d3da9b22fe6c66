/* replays.h - how often a key came again (O7), counted in memory and written from time to time
 * (M16): a replay itself writes nothing. A crash loses the counts of the last ten seconds.
 *
 *   a loop adds --the first one--> task --> timer --LIMIT_REPLAYS_MS--> units of rows, one by one
 *
 * LIMIT_REPLAYS operations are counted between two writes. What is replayed beyond that is one
 * number in a log line: whoever sends so many keys again does not fill the disk with it. */
#pragma once

#include "payment/operate.h"

struct replays;

/* NULL: no memory. */
struct replays *replays_new(struct env *env, struct store *store, struct executor *executor);
void replays_free(struct replays *r); /* after the store is gone; NULL is fine */

/* From any loop. r may be NULL: nobody counts. */
void replays_add(struct replays *r, struct uuid payment, struct uuid operation, enum op_kind kind);

/* On the executor, when no request comes any more: writes what is left. A store that does not take
 * it is not waited for. */
void replays_stop(struct replays *r, void (*stopped)(void *ctx), void *ctx);
