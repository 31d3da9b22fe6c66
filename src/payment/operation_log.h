/* operation_log.h - the lines of 004 section 9 (O1), by their names:
 *
 *   PaymentCreateAttempted  PaymentIdempotencyHit  PaymentCreated          the request
 *   PaymentGatewayRequest   PaymentGatewayResponse                         its call
 *   PaymentGatewayError     PaymentGatewayTimeout                          ... that failed
 *
 * Apart from the lines of 003 they are the only ones that contain a provider's ids (A6). If INFO is
 * not logged, nothing is built for them. */
#pragma once

#include "payment/operate.h"
#include "payment/operation_run.h"

void operate_log_attempted(const struct operate *o);
void operate_log_answered(const struct operate *o); /* logs replays only */

/* A job that was found in the queue has no trace of a request: it gets a new one. */
void operate_log_resumed(struct op_run *r);
void operate_log_request(const struct op_run *r, const struct gateway_call *c);
void operate_log_answer(const struct op_run *r, const struct gateway_call *c);
/* After the commit of a create that ended with a payment; arg is its status. */
void operate_log_created(void *run, int64_t status);
