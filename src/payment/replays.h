/* replays.h - how often keys were sent again (O7), counted in memory and written every ten seconds
 * (M16): a replay itself writes nothing. A crash loses the counts of the last ten seconds.
 *
 *   a loop adds --the first one--> task --> timer --LIMIT_REPLAYS_MS--> units of rows, one by one
 *
 * LIMIT_REPLAYS operations are counted between two writes. Replays of further operations are one
 * number in a log line, so that they cannot fill the disk. */
#pragma once

#include "payment/operate.h"

struct replays;

/* NULL: no memory. */
struct replays *replays_new(struct env *env, struct store *store, struct executor *executor);
void replays_free(struct replays *r); /* after the store is gone; NULL is fine */

/* From any loop. r may be NULL: replays are not counted. */
void replays_add(struct replays *r, struct uuid payment, struct uuid operation, enum op_kind kind);

/* On the executor, when no request can come any more: writes the counts that are left, once. */
void replays_stop(struct replays *r, void (*stopped)(void *ctx), void *ctx);
