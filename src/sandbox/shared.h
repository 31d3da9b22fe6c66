/* shared.h - what the sandbox's files share; private to sandbox/. */
#pragma once

#include "base/arena.h"
#include "base/why.h"
#include "http/http.h"
#include "queue/queue.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

#include <stdatomic.h>

struct call;
struct client;
struct sandbox_faults;

struct sandbox {
    struct env env; /* its own clock; the server's log and random numbers */
    struct sandbox_options o;
    struct store *store; /* its own file */
    struct queue *queue; /* its own: webhooks and everything that happens later */
    struct client *client;
    struct server *server;
    struct sandbox_faults *faults;
    struct route *routes;
    size_t route_count;
    int64_t event_ms;     /* this and the next two: on the store's writer thread, for events.c */
    uint32_t event_count; /* events of that millisecond */
    bool no_endpoints;    /* no webhook endpoint exists */
    _Atomic int strict;   /* of stripe/strict.c */
    void *impl;           /* private to sandbox.c */
};

/* --- sandbox/webhook/events.c --- */

struct sandbox_event {
    struct str type;     /* "payment_intent.created" */
    struct str object;   /* data.object as JSON text, as it is after the change */
    struct str previous; /* data.previous_attributes as JSON text; empty: none */
    struct str request_id, idempotency_key; /* empty: a background change (null) */
};
/* In the transaction of the change: adds a row of sandbox_events and a message for each receiver of
 * the type. */
enum err sandbox_event_add(struct sandbox *s, struct tx *tx, struct arena *a,
                           const struct sandbox_event *e);
/* The job kind that sends events: signed with a new timestamp in each attempt, and repeated by the
 * schedule of G3, divided by a factor. */
struct job_kind sandbox_webhook_kind(struct sandbox *s);
/* Whether the receiver answered 2xx. False: `why` says what happened. */
bool sandbox_delivered(const struct call *c, struct why *why);

/* --- sandbox/fault/rules.c: faults of calls, by the rules and by chaos --- */

enum spoil { /* how an answer is spoiled on the wire; what was done and stored stays as it is */
             SPOIL_NONE,
             SPOIL_HALF_JSON,
             SPOIL_HTML,
             SPOIL_TYPE,     /* the right bytes as text/html */
             SPOIL_REDIRECT, /* 302 */
             SPOIL_CURRENCY, /* another currency in every object */
             SPOIL_CUT,      /* the connection is closed in the middle of the body */
             SPOILS
};

enum retry_word { RETRY_AS_USUAL, RETRY_SAYS_TRUE, RETRY_SAYS_FALSE };

struct sandbox_fault {
    int64_t delay_ms;  /* before anything is done */
    int status_before; /* answer this and do nothing (500, 429, 409); 0: go on */
    int status_after;  /* do it, then store and answer this (500); 0: the true answer */
    bool drop_before;  /* close the connection without doing it */
    bool drop_after;   /* do it, then never answer: the connection is closed after hang_ms */
    int64_t hang_ms;
    enum spoil answer;            /* how the answer is spoiled */
    enum retry_word should_retry; /* stripe-should-retry of an error */
    struct str decline_code;      /* declines the next confirmation with it; empty: no */
};
/* The faults of this call, by the rules and by chaos. Each rule counts down. */
struct sandbox_fault sandbox_fault_take(struct sandbox *s, struct arena *a, struct str method,
                                        struct str path);
struct sandbox_faults *sandbox_faults_new(void);
void sandbox_faults_free(struct sandbox_faults *f);
/* Loads the switches from disk, before the sandbox's thread runs. */
enum err sandbox_faults_load(struct sandbox *s, struct why *why);
/* Sends an answer, spoiled as the fault says. */
void sandbox_answer_send(struct request *r, const struct sandbox_fault *f, int status,
                         struct str body);

/* How an event is sent, by the switches and by chaos. Any thread. */
struct delivery_plan {
    size_t copies; /* besides the first one */
    int64_t due_ms;
};
struct delivery_plan sandbox_delivery_plan(struct sandbox *s, int64_t now_ms);
/* On the executor, for one attempt to deliver an event: why it is lost. NULL: it is not. */
const char *sandbox_webhook_lost(struct sandbox *s);

/* --- sandbox/control/control.c: the routes under /_sandbox --- */
extern const size_t sandbox_control_route_count;

struct control_endpoint { /* the ctx of a route */
    const struct control_route *route;
    struct sandbox *sandbox;
};
/* Fills sandbox_control_route_count elements of both arrays. */
void sandbox_control_fill(struct sandbox *s, struct control_endpoint *endpoints,
                          struct route *routes);

/* --- sandbox/stripe/pay.c: the customer's answer on the 3-D Secure page --- */
enum err sandbox_authenticate(struct sandbox *s, struct tx *tx, struct arena *a,
                              struct str intent_id, bool success);
