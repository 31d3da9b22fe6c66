/* trace.h - W3C trace context: one id that goes from the webhook through the queue to the
 * worker. */
#pragma once

#include "base/rng.h"
#include "base/str.h"

enum { TRACE_TEXT = 55 };

enum trace_flag {
    TRACE_SAMPLED = 1, /* spans of this trace are recorded */
    TRACE_RANDOM = 2,  /* its id is random enough to be sampled by (level 2) */
};

struct trace {
    unsigned char trace_id[16], span_id[8];
    unsigned char flags; /* of enum trace_flag; other flags are dropped */
};

struct trace trace_new(struct rng *r); /* not sampled: span.h decides that */
/* Another place in the same trace. */
struct trace trace_child(struct rng *r, const struct trace *parent);
/* Accepts blanks and tabs around the text, and later versions; otherwise it is strict. */
bool trace_parse(struct str traceparent, struct trace *ret_trace);
void trace_text(const struct trace *t, char text[TRACE_TEXT + 1]); /* 00-...-...-01 */

/* Reads the sampled flag of a text that trace_text() wrote. */
static inline bool trace_is_sampled(struct str text)
{
    return text.n == TRACE_TEXT && text.p[TRACE_TEXT - 1] & TRACE_SAMPLED;
}
