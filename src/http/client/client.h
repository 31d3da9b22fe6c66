/* client.h - outgoing HTTP on a thread of its own (libcurl multi). One call in, one answer out, on
 * the caller's executor. What may have reached the other side is never reported as a plain
 * failure. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/executor.h"
#include "base/why.h"
#include "http/http.h"

struct client;

enum call_result {
    CALL_ANSWERED, /* status, headers and body are there */
    CALL_NOT_SENT, /* provably never reached it: resolve, connect or TLS failure, refused address */
    CALL_UNCERTAIN, /* it may have happened: ask */
};

struct call {
    struct str method, url, body;
    const struct header *headers;
    size_t header_count;
    int64_t timeout_ms;
    int64_t turn_ms;   /* how long it may wait for its turn; 0: that counts as part of timeout_ms */
    size_t answer_max; /* a longer answer is UNCERTAIN, its status kept */
    bool cut_answer;   /* ... or it is ANSWERED, with what fits of its headers and body */
    bool once;         /* sent one time at most: libcurl would send again by itself where a kept
                          connection breaks without a word; then it is UNCERTAIN */
    /* A mail, where the url is smtp:// or smtps:// (user and password in it): body is the whole
     * message, headers and all. ANSWERED: the server's word on it is status, 2xx taken, 4xx later,
     * 5xx never. NOT_SENT: it was not reached, refused the login (status, if it said one), or broke
     * off before the mail's end. UNCERTAIN once its end was sent and no answer came. */
    struct str mail_from, mail_to; /* bare addresses */
    struct arena *arena;           /* the answer's memory */
    struct executor *executor;
    void (*done)(struct call *c);

    enum call_result result;
    int status;
    struct header *answer_headers;
    size_t answer_header_count;
    struct str answer;
    /* The failure is ours: the client was stopped, there was no turn, or no memory. Try again later. */
    bool ours;
    bool refuses_us; /* a mail: ANSWERED 5xx, but it is about our settings; mended, it goes out */
    char why[128];   /* for the log; nothing secret */

    struct task back;
    struct call *next;
    void *impl;
};

/* The first header of that name in the answer, in any case; empty: none. */
static inline struct str call_header(const struct call *c, struct str name)
{
    for (size_t i = 0; i < c->answer_header_count; i++)
        if (str_eq_nocase(c->answer_headers[i].name, name))
            return c->answer_headers[i].value;
    return (struct str){ 0 };
}

struct client_options {
    struct env *env;
    int max_per_host, max_total;
    bool allow_private; /* false: the SSRF guard refuses loopback, private and link-local targets */
    const char *thread; /* its name; NULL: "egress" */
};

enum err client_open(const struct client_options *o, struct client **ret_client, struct why *why);
void client_call(struct client *c, struct call *call); /* any thread; never fails */
void client_free(struct client *c); /* calls under way end as UNCERTAIN (or NOT_SENT) */
