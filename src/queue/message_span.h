/* message_span.h - the span of one run of a message (O3). Its id is made of the message's own, so
 * that what the run starts can name it before anybody knows whether the run counts: a unit may be
 * run again, and only what became durable is told. */
#pragma once

#include "observe/span.h"
#include "queue/queue.h"

/* traceparent: of whoever added the message. */
struct span message_span(struct env *env, const struct message *m, struct str traceparent,
                         const char *name);

/* The place of that span, for what the run starts; traceparent itself where it is not recorded. */
void message_place(struct env *env, const struct message *m, struct str traceparent,
                   char text[TRACE_TEXT + 1]);

/* For job_kind.ended, with the message's id, kind and attempt; `more` may be NULL. */
void message_span_end(struct span *s, const struct message *m, enum job_end end, const char *why,
                      const struct attribute *more, size_t count);
