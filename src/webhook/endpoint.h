/* endpoint.h - what the endpoints of all providers share: the check of the sender's address, the
 * limit of the backlog, one durable commit, and the answer (W2, W3, W6, W7). Each endpoint itself
 * verifies its requests and reads the event from them. */
#pragma once

#include "base/why.h"
#include "http/http.h"
#include "webhook/allow.h"
#include "webhook/receive.h"
#include "webhook/rejected.h"

struct webhook_endpoint {
    /* set by its owner, before webhook_endpoint_init() */
    struct str provider, kind; /* of the event's row and of its message */
    struct env *env;
    struct store *store;
    struct queue *queue;
    struct executor *executor; /* where rejected requests are summed up and written */
    const struct allow_list *trusted;
    int64_t backlog_limit; /* live messages; 0: no limit */
    bool everybody;        /* an empty list allows every address */
    int ack;               /* 204, or 200 with {"received":true} */
    void (*alert)(void *ctx, const struct message *m, const char *why); /* may be NULL */
    void *alert_ctx;

    /* private */
    struct allow_list allow;
    struct rejections rejections;
    _Atomic int64_t unstored, quiet_until_ms; /* requests answered 503: one log line a minute */
};

struct webhook_request { /* in the request's arena */
    struct receive receive;
    struct request *request;
    struct webhook_endpoint *endpoint;
};

/* allow: CIDRs. False: `why` names the element that is not one. */
bool webhook_endpoint_init(struct webhook_endpoint *d, struct str allow, struct why *why);

/* Called in this order, on any loop. False: the answer was sent. */
bool webhook_endpoint_admit(struct webhook_endpoint *d, struct request *r) ANSWERS;
bool webhook_endpoint_has_room(struct webhook_endpoint *d, struct request *r) ANSWERS;
/* Fills everything but the event and its job. NULL: no memory. */
struct webhook_request *webhook_request_new(struct webhook_endpoint *d, struct request *r);
/* Stores the request and answers it. k NULL: no memory, which is answered too. */
void webhook_endpoint_store(struct webhook_endpoint *d, struct request *r,
                            struct webhook_request *k);
