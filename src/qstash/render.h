/* render.h - messages, dead messages and log lines as the API shows them (sections 5, 11, 14 and
 * 15.1 of the reference). Each function writes members into an open object, with a comma before
 * them if they are not the first, and leaves out empty ones. What redact.h hides is hidden; names
 * of headers are in canonical case. */
#pragma once

#include "base/buf.h"
#include "qstash/message.h"
#include "qstash/redact.h"

/* --- whole objects --- */

/* A message (GET /v2/messages/{id}); p has its body. */
void render_message(struct buf *b, const struct parcel *p);

struct dead { /* a row of qstash_dead */
    int64_t seq, died_ms;
    int status; /* 0: there was no answer */
    struct str response_header, response_body;
};
/* The same with its last answer. */
void render_dead(struct buf *b, const struct parcel *p, const struct dead *d);

/* A line of the log. p NULL: the content was deleted. */
void render_log(struct buf *b, const struct log_entry *e, const struct parcel *p);

/* --- parts, also for schedules --- */

void render_text(struct buf *b, const char *name, struct str s);       /* empty: left out */
void render_base64(struct buf *b, const char *name, struct str bytes); /* empty: left out */
/* json as stored: {"Name":["value"]}. hide may be NULL. */
void render_header(struct buf *b, const char *name, struct str json, const struct redact *hide);

void render_body(struct buf *b, const struct parcel *p, const struct redact *hide);
/* callback, failureCallback, and their headers under the names given. */
void render_callbacks(struct buf *b, const struct parcel *p, const struct redact *hide,
                      const char *header_name, const char *failure_header_name);
void render_flow(struct buf *b, const struct parcel *p);   /* flowControlKey, parallelism, ... */
void render_labels(struct buf *b, const struct parcel *p); /* label: the first; labels: all */
void render_caller(struct buf *b, const struct parcel *p); /* in both spellings */
