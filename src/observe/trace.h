/* trace.h - W3C trace context: one id from the webhook through the queue to the worker. */
#pragma once

#include "base/rng.h"
#include "base/str.h"

enum { TRACE_TEXT = 55 };

struct trace {
    unsigned char trace_id[16], span_id[8];
    unsigned char flags;
};

struct trace trace_new(struct rng *r);
bool trace_parse(struct str traceparent, struct trace *ret_trace); /* strict; unknown versions ok */
void trace_text(const struct trace *t, char text[TRACE_TEXT + 1]); /* 00-...-...-01 */
