/* tries.h - what all adapters share: how an ask begins and ends, and for HTTP its budget, its tries
 * and the pauses between them (P6). Only gateway/ includes this. */
#pragma once

#include "gateway/port.h"
#include "http/client/client.h"

/* --- an ask --- */

void gateway_clear(struct gateway_call *c); /* nothing was sent, nothing is known */
void gateway_say(struct gateway_call *c, struct str code, struct str message); /* cut to fit */
/* Calls done() later, on the executor, and never from within gateway_call(). */
void gateway_done_later(struct gateway_call *c);

/* --- the record of its tries (O7) --- */

/* Nothing is recorded where c->seen is NULL. The last try of the list is the one under way. */
void note_try(struct gateway_call *c, int64_t at_ms, int64_t began_us);
void note_answer(struct gateway_call *c, enum gateway_answer answer, bool sent, bool timed_out,
                 int status);

/* --- its tries --- */

struct tries {
    struct env *env;
    int64_t began_ms, ends_ms; /* monotonic: this try, the budget */
    int retries, lost_retries; /* lost: after a broken connection */
};

struct tries tries_begin(struct env *env, const struct gateway_call *c);
/* Begins a try: fills what all requests have in common, and counts it. */
void tries_send(struct tries *t, struct gateway_call *c, struct call *http);
/* Ends a try: records its own answer, with the present error_code of the call. */
void tries_heard(struct tries *t, struct gateway_call *c, const struct call *http,
                 enum gateway_answer answer);
bool tries_timed_out(const struct tries *t, const struct call *http);
bool tries_has_time(const struct tries *t); /* for one more request */
/* After a pause: a busy loop may fire the timer late, and then no time is left for a request. */
bool tries_is_too_late(const struct tries *t);
/* Arms the timer for another try. False: no try is left, or no time for one. */
bool tries_again(struct tries *t, struct gateway_call *c, bool lost, struct timer *pause);
