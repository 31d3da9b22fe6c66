/* operation_span.h - the spans of a client's operation (O3), with the names and attributes of 004
 * section 9.
 *
 *   Payment.create                 the request: from the lookup of its key to its answer
 *     Payment.checkIdempotency     until the key is durably claimed, or found
 *     Payment.validateBooking      within the claim's transaction
 *     Payment.callGateway          the job: from the call to its reply
 *     Payment.persist              the job: settle, until it is durable
 *     Payment.publishEvent         within that: the event and its messages
 *
 * A job that was found in the queue has a trace of its own. */
#pragma once

#include "observe/span.h"
#include "payment/claim.h"

/* A child of the span in o->trace; afterwards o->trace names the new span. */
struct span operate_span_begin(struct operate *o);
void operate_span_end(struct span *s, const struct operate *o);

/* The claim's checks; the span is emitted when the claim's unit of work has ended. */
struct lap claim_lap_begin(const struct operate *o);
void claim_span(struct claim *c);

/* A job without a trace gets one. */
void resume_span_begin(struct op_run *r);
void resume_span_end(struct op_run *r, const char *why);

/* The settle of a job; the span is emitted after its commit. */
void settle_span_begin(struct tx *tx, struct op_run *r);
