/* endpoint.h - what the providers' doors do alike: who may knock, whether there is room, one durable
 * commit, and its answer (W2, W3, W6, W7). What is believed, and what becomes of it, each door says
 * itself. */
#pragma once

#include "base/why.h"
#include "http/http.h"
#include "webhook/allow.h"
#include "webhook/receive.h"
#include "webhook/rejected.h"

struct door {
    /* set by its owner, before door_init() */
    struct str provider, kind; /* of the event's row and of its message */
    struct env *env;
    struct store *store;
    struct queue *queue;
    struct executor *executor; /* where refusals are summed up and written */
    const struct allow_list *trusted;
    int64_t backlog_limit; /* live messages; 0: no limit */
    bool everybody;        /* an empty list lets all in */
    int ack;               /* 204, or 200 with {"received":true} */
    void (*alert)(void *ctx, const struct message *m, const char *why); /* may be NULL */
    void *alert_ctx;

    /* its own */
    struct allow_list allow;
    struct refusals refusals;
    _Atomic int64_t unstored, quiet_until_ms; /* of those that may come again: a line a minute */
};

struct knock { /* one request, in its own arena */
    struct receive receive;
    struct request *request;
    struct door *door;
};

/* allow: CIDRs. False: `why` names the one that is none. */
bool door_init(struct door *d, struct str allow, struct why *why);

/* In this order, any loop. False: the answer was sent. */
bool door_lets_in(struct door *d, struct request *r) ANSWERS;
bool door_has_room(struct door *d, struct request *r) ANSWERS;
/* All but the event and its job. NULL: no memory. */
struct knock *knock_new(struct door *d, struct request *r);
/* Stores it and answers. NULL: there was no memory, which is answered. */
void door_post(struct door *d, struct request *r, struct knock *k);
