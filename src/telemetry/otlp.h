/* otlp.h - exports ended spans in batches by OTLP/HTTP with JSON (O3).
 *
 *   list of ended spans (observe/span.h)
 *     '--after each delay, or once a batch waits--> one request
 *                                                     |--2xx-----------------> exported
 *                                                     |--429, 502, 503, 504
 *                                                     |  or no answer -------> sent again after
 *                                                     |                        Retry-After or a
 *                                                     |                        growing pause
 *                                                     '--another status, or
 *                                                        LIMIT_OTLP_TRIES ---> lost
 *
 *   (1) All of it runs on one executor and never blocks it. At most one request is under way;
 *       meanwhile the list fills up to its bound and drops the rest. Every span is counted once, as
 *       exported, rejected, failed or dropped.
 *   (2) A batch that the receiver took in part is not sent again.
 *   (3) At a stop the spans that wait have LIMIT_OTLP_FLUSH_MS to leave. A crash loses them.
 *   (4) A receiver that is down is one line in the log, and one more when it is back. */
#pragma once

#include "base/arena.h"
#include "base/executor.h"
#include "base/why.h"
#include "http/http.h"
#include "observe/span.h"

struct buf;
struct client;
struct otlp;

struct otlp_options {
    struct env *env; /* its spans are there */
    struct client *client;
    struct executor *executor;
    struct str base, traces; /* a base URL for all signals; or the full URL for traces */
    struct str headers;      /* "k=v,k2=v2", percent-encoded */
    struct str service_name, attributes; /* may be empty; the name beats the list's */
    struct str version;                  /* ours */
    int64_t timeout_ms, delay_ms;
    size_t batch_max;
};

/* NULL: why says which setting is wrong, without its value. The texts are copied. */
struct otlp *otlp_new(const struct otlp_options *o, struct why *why);
void otlp_start(struct otlp *o); /* on the executor */
/* On the executor: sends the spans that wait, for LIMIT_OTLP_FLUSH_MS at most, then calls stopped
 * once. Before otlp_start(), and with NULL, it is called at once. */
void otlp_stop(struct otlp *o, void (*stopped)(void *ctx), void *ctx);
void otlp_free(struct otlp *o); /* after its client is gone; NULL is fine */

/* --- its parts, for tests too --- */

/* The base with v1/traces appended, or the full URL unchanged. .p is NULL without memory. */
struct str otlp_url(struct arena *a, struct str base, struct str traces);
/* False: the list does not have that form. */
bool otlp_headers(struct arena *a, struct str list, struct header *headers, size_t *count);
/* Writes {"attributes":[...]} of the resource. False: the list does not have that form. */
bool otlp_resource(struct arena *a, const struct otlp_options *o, struct buf *out);

/* Writes a whole request with as many spans as fit and returns how many they are. *ret_rest are the
 * others. */
size_t otlp_write(struct buf *out, struct str resource, struct str version,
                  struct ended_span *first, struct ended_span **ret_rest);
