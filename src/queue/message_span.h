/* message_span.h - the trace span of one run of a message (O3). Its id is made from the message's id
 * and attempt, so that spans which the run starts can name it as their parent before it ends. Only a
 * run that became durable is reported; a unit may be run again. */
#pragma once

#include "observe/span.h"
#include "queue/queue.h"

/* traceparent: of the request or job that added the message. */
struct span message_span(struct env *env, const struct message *m, struct str traceparent,
                         const char *name);

/* The traceparent of that span, for what the run starts; `traceparent` itself if it is not sampled.
 */
void message_place(struct env *env, const struct message *m, struct str traceparent,
                   char text[TRACE_TEXT + 1]);

/* For job_kind.ended, with the message's id, kind and attempt; `more` may be NULL. */
void message_span_end(struct span *s, const struct message *m, enum job_end end, const char *why,
                      const struct attribute *more, size_t count);
