/* input_reader.h - what the input*.c files share. A reader that returns false has set the error,
 * and reading ends with it. */
#pragma once

#include "qstash/publish/input.h"

static inline struct str str_behind(struct str s, size_t n)
{
    return (struct str){ s.p + n, s.n - n };
}

static inline bool starts_nocase(struct str s, struct str prefix)
{
    return s.n >= prefix.n && str_eq_nocase((struct str){ s.p, prefix.n }, prefix);
}

struct header_list {
    struct header *all; /* names in canonical case, values as text */
    size_t n, room;
    size_t fixed; /* so many came in headers; the query cannot replace these */
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

    bool from_query;         /* the query is being read, not the headers */
    uint32_t given[SIDES];   /* a bit for each option that a header had */
    uint32_t queried[SIDES]; /* and for each that the query had */
    struct header_list queried_options;

    struct header_list forward;
    struct callback_input callback[SIDES]; /* [SIDE_MAIN] is not used */
    struct str content_type, dedup_id, flow_value;
    bool has_content_type, by_content, forward_all, has_flow;
};

bool input_refuse(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool input_no_memory(struct reading *r);

/* A value of the source as text: transcoded and trimmed. False: it has control characters. */
bool input_text(struct reading *r, struct str name, struct str value, struct str *ret_text);

/* --- input_url.c --- */

/* Sets url, host and path, or group, and takes our options out of the query. */
bool input_destination(struct reading *r);
/* what: "destination", "callback". */
bool input_url(struct reading *r, const char *what, struct str url);

/* --- input_options.c --- */

/* One Upstash-* header; option is its name after "upstash-", value is text. */
bool input_option(struct reading *r, struct str name, struct str option, struct str value);
/* Checks what needs all options. */
bool input_options_end(struct reading *r);

/* --- input_forward.c --- */

/* Adds a header to those that are forwarded, unless it never is. */
bool input_forward(struct reading *r, struct header_list *list, struct str name, struct str value);
/* Upstash-Header-Forward: true. */
bool input_forward_all(struct reading *r);
/* Writes r->forward to the message, merged with the headers that it has already. */
bool input_header_end(struct reading *r);
/* The same for the callbacks. */
bool input_callbacks_end(struct reading *r);

/* --- input_dedup.c --- */

void input_dedup(struct reading *r);
