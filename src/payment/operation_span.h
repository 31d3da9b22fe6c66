/* operation_span.h - what traces tell of a client's operation (O3): Payment.create and its like, with
 * the names and attributes of 004 section 9.
 *
 *   Payment.create                 the request: from its look at the key to its answer
 *     Payment.checkIdempotency     until the key is ours, durably, or known
 *     Payment.validateBooking      within the claim's transaction
 *     Payment.callGateway          the job: from the call to its answer
 *     Payment.persist              the job: settle, until it is durable
 *     Payment.publishEvent         within that: the event and its messages
 *
 * A job that was found in the queue has a trace of its own: nobody asked for it just now. */
#pragma once

#include "observe/span.h"
#include "payment/claim.h"

/* Begun under what o->trace names; from now on o->trace names it. */
struct span operate_span_begin(struct operate *o);
void operate_span_end(struct span *s, const struct operate *o);

/* When the claim looked at what is to be paid: told once its unit is back. */
struct lap claim_lap_begin(const struct operate *o);
void claim_span(struct claim *c);

/* A job without a trace gets one. */
void resume_span_begin(struct op_run *r);
void resume_span_end(struct op_run *r, const char *why);

/* The settle of a job, each time it runs; it is told when it has committed. */
void settle_span_begin(struct tx *tx, struct op_run *r);
