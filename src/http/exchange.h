/* exchange.h - a request and its reply, from the first byte to the last. It outlives its connection
 * when the peer goes away while a handler works. Loops keep a few for reuse. */
#pragma once

#include "http/http.h"
#include "http/message/parse.h"

struct conn;
struct loop;

struct exchange {
    struct request request;
    struct conn *conn; /* NULL: the connection was closed */
    struct loop *loop;
    struct exchange *before, *next; /* among the loop's admitted, answered or spare ones */
    struct parser parser;
    struct buf headers; /* of the reply, beyond those that every reply has */
    size_t body_bytes;  /* counted into the loop's sum */
    size_t cut;         /* bytes at the reply's end that are never sent */
    enum err route_error;
    struct str allow;
    bool identified, admitted, refused, answered, close;
    bool has_cache_control, has_retry_after;
    char id[REQUEST_ID_MAX];
    char ip[48], client_ip[48]; /* client_ip: empty until it is first used */
};

struct exchange *exchange_new(struct loop *l, struct conn *c); /* NULL: no memory */
/* Called when it was answered, or its connection ended before it was complete. It no longer counts;
 * exchanges_recycle() frees its memory before the loop waits for events again. */
void exchange_free(struct exchange *x);
/* Frees the answered ones up to `until`, which was the newest (l->answered) before their handlers
 * were called. NULL: all of them. */
void exchanges_recycle(struct loop *l, const struct exchange *until);
void exchange_admit(struct exchange *x); /* from now on a handler has it */
/* The loop has ended: frees the spare ones, and those whose handlers will never reply. Each of the
 * latter is an ERROR line, unless a second signal cut the stop short. */
void exchanges_free(struct loop *l);

/* Called with a complete head: fills in the request and finds its route. The err is for the client;
 * *ret_detail (may be NULL) says more. */
enum err exchange_head(struct exchange *x, const char **ret_detail);
/* True: no route takes the request, and it has a body, which is not read then. */
bool exchange_is_unwanted(const struct exchange *x);
/* The client's address: behind a trusted proxy the forwarded one, else the peer's. */
void exchange_client(struct exchange *x, struct sockaddr_storage *ret_client);
/* Sets its id and trace, from its headers if it has them. */
void exchange_identify(struct exchange *x);
/* Counts the memory of its body. False: it grew, and all bodies of the loop are over their limit.
 */
bool exchange_count_body(struct exchange *x);
