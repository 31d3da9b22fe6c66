/* input_reader.h - what the files of input share. Each reader returns false after it has set the
 * error; the first one counts. */
#pragma once

#include "qstash/publish/input.h"

struct header_list {
    struct header *all; /* names in canonical case, values as text */
    size_t n, room;
    size_t fixed; /* so many came in headers; those of the query do not count beside them */
};

struct callback_input {
    struct str url, method, retry_delay;
    int64_t retries;    /* -1: not given */
    int64_t timeout_ms; /* 0: not given */
    struct header_list forward;
};

enum { SIDE_MAIN, SIDE_CALLBACK, SIDE_FAILURE, SIDES };

struct reading {
    struct arena *a;
    const struct input_source *s;
    struct input *in;
    enum err err;

    bool from_query;         /* what is being read stands in the query */
    uint32_t given[SIDES];   /* a bit for each option that a header had, */
    uint32_t queried[SIDES]; /* and that the query had */
    struct header_list queried_options;

    struct header_list forward;
    struct callback_input callback[SIDES]; /* [SIDE_MAIN] is not used */
    struct str content_type, dedup_id, flow_value;
    bool has_content_type, by_content, forward_all, has_flow;
};

bool input_refuse(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool input_no_memory(struct reading *r);

/* A value of the source as text: transcoded, trimmed, without control characters. */
bool input_text(struct reading *r, struct str name, struct str value, struct str *ret_text);

/* --- input_url.c --- */

/* Sets url, host and path, or group; and takes the options out of the query. */
bool input_destination(struct reading *r);
/* what: "destination", "callback". */
bool input_url(struct reading *r, const char *what, struct str url);

/* --- input_options.c --- */

/* One header, whatever it is; option is its name behind "upstash-", value is text. */
bool input_option(struct reading *r, struct str name, struct str option, struct str value);
/* What can only be judged when all of them are there. */
bool input_options_end(struct reading *r);

/* --- input_forward.c --- */

/* Adds a header to those that are sent along, unless it is one that never is. */
bool input_forward(struct reading *r, struct header_list *list, struct str name, struct str value);
/* Upstash-Header-Forward: true. */
bool input_forward_all(struct reading *r);
/* What r->forward has becomes the parcel's header; merged into what is there already. */
bool input_header_end(struct reading *r);
/* The same of the callbacks. */
bool input_callbacks_end(struct reading *r);

/* --- input_dedup.c --- */

void input_dedup(struct reading *r);
