/* exchange.h - a request and its reply, from the first byte to the last. It outlives its connection
 * when the peer goes away while a handler works. Loops keep a few for reuse. */
#pragma once

#include "http/http.h"
#include "http/message/parse.h"

struct conn;
struct loop;

struct exchange {
    struct request request;
    struct conn *conn; /* NULL: the peer has gone */
    struct loop *loop;
    struct exchange *before, *next; /* among the loop's admitted, answered or spare ones */
    struct parser parser;
    struct buf headers; /* of the reply, beyond those that every reply has */
    size_t body_bytes;  /* counted into the loop's sum */
    size_t cut;         /* so many bytes at the reply's end are never sent */
    enum err route_error;
    struct str allow;
    bool identified, admitted, refused, answered, close;
    bool has_cache_control, has_retry_after;
    char id[REQUEST_ID_MAX];
    char ip[48], client_ip[48]; /* the second is empty until somebody asks */
};

struct exchange *exchange_new(struct loop *l, struct conn *c); /* NULL: no memory */
/* It was answered, or its peer left before it was complete. It no longer counts; its memory is
 * freed by exchanges_recycle(), which the loop calls before it waits for events again. */
void exchange_free(struct exchange *x);
/* Frees the answered ones up to `until`, which was the newest (l->answered) before their handlers
 * were called. NULL: all of them. */
void exchanges_recycle(struct loop *l, const struct exchange *until);
void exchange_admit(struct exchange *x); /* from now on a handler has it */
/* The loop has ended: frees the spare ones, and those whose handlers will never reply. Each of the
 * latter is an ERROR line, unless a second signal cut the stop short. */
void exchanges_free(struct loop *l);

/* The head is there: fills the request in, finds its route. An err is for the client; *ret_detail
 * (may be NULL) tells more. */
enum err exchange_head(struct exchange *x, const char **ret_detail);
/* No route takes it, and it has a body: nobody will read that. */
bool exchange_is_unwanted(const struct exchange *x);
/* Who asks: behind a proxy the client, else the peer. */
void exchange_client(struct exchange *x, struct sockaddr_storage *ret_client);
/* Gives it an id and a trace, from its headers where they are there. */
void exchange_identify(struct exchange *x);
/* Counts the memory of its body. False: it grew, and all bodies of the loop are over their limit.
 */
bool exchange_count_body(struct exchange *x);
