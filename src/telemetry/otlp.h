/* otlp.h - ended spans leave the house: OTLP/HTTP, JSON, in batches (O3).
 *
 *   the list (observe/span.h) --every delay, or once a batch waits--> one request --> 2xx: gone
 *                                              ^                          |--> 429, 502, 503, 504,
 *                                              '--- Retry-After, or ------'    no answer
 *                                                   a growing pause       '--> anything else, or
 *                                                                              LIMIT_OTLP_TRIES:
 * lost
 *
 *   (1) All of it runs at home and never waits: at most one request is under way, and meanwhile the
 *       list fills up to its bound and drops the rest. Every span is counted once, as exported,
 *       rejected, failed or dropped.
 *   (2) What the receiver took in part is not sent again.
 *   (3) At the end it has LIMIT_OTLP_FLUSH_MS for what waits.
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
    struct home *home;
    struct str base, traces;             /* an endpoint for all signals; or one as it is */
    struct str headers;                  /* "k=v,k2=v2", percent-encoded */
    struct str service_name, attributes; /* may be empty; the name beats the list's */
    struct str version;                  /* ours */
    int64_t timeout_ms, delay_ms;
    size_t batch_max;
};

/* NULL: why says which setting is wrong, without its value. The texts are copied. */
struct otlp *otlp_new(const struct otlp_options *o, struct why *why);
void otlp_start(struct otlp *o); /* at home */
/* At home: sends what waits, then calls stopped, once; it takes LIMIT_OTLP_FLUSH_MS at most. Before
 * otlp_start(), and of NULL, it is called at once. */
void otlp_stop(struct otlp *o, void (*stopped)(void *ctx), void *ctx);
void otlp_free(struct otlp *o); /* after its client is gone; NULL is fine */

/* --- its parts, for tests too --- */

/* The base with v1/traces behind it, or the other one as it is. .p NULL: no memory. */
struct str otlp_url(struct arena *a, struct str base, struct str traces);
/* False: not such a list. */
bool otlp_headers(struct arena *a, struct str list, struct header *headers, size_t *count);
/* {"attributes":[...]} of the resource. False: not such a list. */
bool otlp_resource(struct arena *a, const struct otlp_options *o, struct buf *out);

/* A whole request, of as many spans as fit; *ret_rest are the others. How many are in it. */
size_t otlp_write(struct buf *out, struct str resource, struct str version,
                  struct ended_span *first, struct ended_span **ret_rest);
