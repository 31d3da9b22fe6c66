/* relay.h - the server side of `stripe listen`: a session is made (POST /v1/stripecli/sessions), a
 * WebSocket is opened for it, and every event that is added from then on is sent over it, signed
 * with the session's secret, until the listener acknowledges it.
 *
 * The writer of events adds one message of kind "sandbox.relay" for each event, in the event's
 * transaction, while relay_has_sessions():
 *
 *     if (relay_has_sessions(s))
 *         err = relay_add_event(s, tx, id, now_ms);
 *
 * An event that is sent again (for_stripecli=true) gets one in the same way. */
#pragma once

#include "sandbox/shared.h"

struct stripe_call;

/* Any thread: is at least one session connected, or expected to connect? */
bool relay_has_sessions(const struct sandbox *s);
/* In the event's transaction: adds the message that sends the event to every listener. */
enum err relay_add_event(struct sandbox *s, struct tx *tx, struct str event_id, int64_t now_ms);
/* The job kind of those messages. Its ref is the event's id; if that is empty, its body is. */
struct job_kind sandbox_relay_kind(struct sandbox *s);

void relay_session_create(struct stripe_call *v); /* POST /v1/stripecli/sessions */
/* the route of the WebSocket; its ctx is the sandbox */
extern const struct route sandbox_relay_route;

/* --- start and stop, for sandbox.c --- */

bool relay_open(struct sandbox *s);  /* false: no memory */
void relay_start(struct sandbox *s); /* before anything else is posted to the store */
/* On the executor, after the last connection has closed: calls `stopped` when no unit is under
 * way. */
void relay_stop(struct sandbox *s, void (*stopped)(void *ctx), void *ctx);
void relay_end(struct sandbox *s);  /* after the thread has ended: nothing more is posted */
void relay_free(struct sandbox *s); /* after server_free() */
