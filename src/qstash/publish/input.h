/* input.h - what a publisher asked for: destination, query, headers and body become a message, or a
 * 400 with its reason. Publish, enqueue, each item of a batch and schedules are read by the same
 * rules (sections 1.3, 4.2, 4.4, 10 and 11 of the reference). Pure functions, apart from the arena
 * and from loading the time zone that a schedule names.
 *
 * Texts of the result are slices of the source where nothing had to be changed, else they are in
 * the arena. All of them are UTF-8 without control characters; the body may have any bytes. */
#pragma once

#include "base/why.h"
#include "http/http.h"
#include "qstash/message.h"

struct qstash_request;

enum { DEDUP_KEY = 32 };

struct input_source {
    struct str destination; /* as in the path, encoded; or an item's text */
    struct str query;       /* raw */
    bool has_query;         /* there was a '?' */
    const struct header *headers;
    size_t header_count;
    bool is_text;     /* of an item: headers are UTF-8, and the destination includes its query */
    struct str queue; /* of enqueue, or an item; empty: none */
    struct str body, caller_ip;
    int64_t now_ms;
    bool allow_private; /* false: a destination that is a private address is refused */
};

enum input_dedup { DEDUP_NONE, DEDUP_BY_ID, DEDUP_BY_CONTENT };

struct input {
    /* What all messages of this publish share: all but id, created_ms, not_before_ms, topic and
     * endpoint. For a group url, host and path are empty too. */
    struct parcel parcel;
    struct str group;      /* the destination is a URL group; empty: a URL */
    int64_t delay_ms;      /* 0: none */
    int64_t not_before_ms; /* 0: not given; it overrides the delay */

    enum input_dedup dedup;
    unsigned char dedup_base[DEDUP_KEY]; /* see input_dedup_key() */

    struct str cron;        /* checked and trimmed, its zone known; empty: none */
    struct str schedule_id; /* as asked for; empty: none */

    struct why why; /* of an error */
};

/* VALIDATION: 400, with the reason in why. TOO_LARGE: the body. NO_MEMORY: the arena is full. */
enum err input_read(struct arena *a, const struct input_source *s, struct input *ret_input);

/* The source of an API call; the destination is what the * of its route matched. */
struct input_source input_source_of(const struct qstash_request *v);

/* Applies only the options among the headers to a message that exists: a dead letter is retried
 * with other retries, callbacks and so on. Ignores destination, body and query; a forwarded header
 * replaces those of its name. in->parcel is given; the rest is filled as above. */
enum err input_override(struct arena *a, const struct input_source *s, struct input *in);

/* When a message that is published at now_ms may first be delivered. */
int64_t input_due_ms(const struct input *in, int64_t now_ms);

/* The deduplication key of the message to url: a member of the group, or the destination itself. */
void input_dedup_key(const struct input *in, struct str url, unsigned char ret_key[DEDUP_KEY]);

/* --- checks of names and addresses --- */

/* [A-Za-z0-9._-]+, LIMIT_QSTASH_NAME bytes at most: of a queue, a group, a schedule. */
bool input_name_is_valid(struct str name);
/* NULL, or the reason (a static text) why this may not be called: not an http(s) address, too long,
 * an invalid host, or a private one where that is not allowed. */
const char *input_url_fault(struct str url, bool allow_private);
