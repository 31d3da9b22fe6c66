/* parts.h - what the sandbox's files share. Only sandbox/ includes this. */
#pragma once

#include "base/arena.h"
#include "http/http.h"
#include "queue/queue.h"
#include "sandbox/sandbox.h"
#include "store/store.h"

struct client;
struct sandbox_faults;

struct sandbox {
    struct env env; /* its own clock; log, metrics and chance of the server */
    struct sandbox_options o;
    struct store *store; /* its own file */
    struct queue *queue; /* its own runner: webhooks, lapses, delayed things */
    struct client *client;
    struct server *server;
    struct sandbox_faults *faults;
    struct route *routes;
    size_t route_count;
    void *impl; /* sandbox.c's own */
};

/* --- events.c: what happened, told to whoever listens --- */

struct sandbox_event {
    struct str type;     /* "payment_intent.created" */
    struct str object;   /* data.object as JSON text, as it is after the change */
    struct str previous; /* data.previous_attributes as JSON text; empty: none */
    struct str request_id, idempotency_key; /* empty: a background change (null) */
};
/* In the transaction of the change: a row of sandbox_events and, for each endpoint that wants the
 * type, a message of the sandbox's queue. */
enum err sandbox_event_add(struct sandbox *s, struct tx *tx, struct arena *a,
                           const struct sandbox_event *e);
/* The job kind that sends them: signed, with a new timestamp on each try, retried by G3's schedule
 * divided by a factor. */
struct job_kind sandbox_webhook_kind(struct sandbox *s);

/* --- faults.c: the switches of POST /_sandbox/faults --- */

struct sandbox_fault {
    int64_t delay_ms;  /* before anything is done */
    int status_before; /* answer this and do nothing (500, 429, 409); 0: go on */
    int status_after;  /* do it, save and answer this (500); 0: the true answer */
    bool drop_before;  /* close the connection without doing it */
    bool drop_after;   /* do it, then never answer: the connection is closed after hang_ms */
    int64_t hang_ms;
    struct str decline_code; /* the next confirmation is declined with it; empty: no */
};
/* What the switches say about this call; each switch counts down. */
struct sandbox_fault sandbox_fault_take(struct sandbox *s, struct arena *a, struct str method,
                                        struct str path);
struct sandbox_faults *sandbox_faults_new(void);
void sandbox_faults_free(struct sandbox_faults *f);

/* --- control.c: routes that are no part of Stripe's API; they append to s->routes --- */
/* POST /_sandbox/faults, DELETE /_sandbox/faults, POST /_sandbox/webhooks {on}, GET
 * /_sandbox/books, GET and POST /_sandbox/authenticate/{intent} (the 3-D Secure page), GET
 * /_sandbox/events. */
extern const struct route sandbox_control_routes[];
extern const size_t sandbox_control_route_count; /* their ctx is set to the sandbox by sandbox.c */

/* --- intents.c, for control.c: the customer has answered the 3-D Secure question --- */
enum err sandbox_authenticate(struct sandbox *s, struct tx *tx, struct arena *a,
                              struct str intent_id, bool success);
