/* sandbox.h - the sandbox on the admin page (O8, G3): create a payment, switch faults, send an
 * event. It exists only where the sandbox runs in this process. Everything takes its real way: a
 * payment is a payment's operation, faults are switched over the sandbox's HTTP, and an event goes
 * over HTTP to our webhook endpoint. */
#pragma once

#include "auth/auth.h"
#include "http/client/client.h"
#include "http/http.h"
#include "payment/payments.h"

struct api_sandbox {
    struct payments *payments;
    struct client *client;
    struct str base;        /* of the sandbox: http://127.0.0.1:12111 */
    struct str webhook_url; /* of our own webhook endpoint */
    struct str secret;      /* that endpoint's signing secret */
};

/* ctx: struct api_sandbox. In pay.c, faults.c (three of them) and event.c. */
void api_sandbox_pay(struct request *r, void *ctx, const struct principal *p);
void api_sandbox_faults(struct request *r, void *ctx, const struct principal *p);
void api_sandbox_set_faults(struct request *r, void *ctx, const struct principal *p);
void api_sandbox_clear_faults(struct request *r, void *ctx, const struct principal *p);
void api_sandbox_event(struct request *r, void *ctx, const struct principal *p);

/* --- request.c: what the handlers of switches and events share --- */

enum { SANDBOX_CALLS_MAX = 6 };

struct sandbox_call {
    struct str method, url, body; /* body: JSON, or empty */
    struct header header;         /* one more; name empty: none */
    struct str answer;            /* out */
};

/* HTTP calls to the sandbox, one after another, in the request's arena. The audit line is committed
 * before the first call. */
struct sandbox_calls {
    struct unit unit;
    struct call call;
    struct header headers[2];
    struct request *request;
    const struct api_sandbox *api;
    struct sandbox_call steps[SANDBOX_CALLS_MAX];
    size_t count, at;
    const char *operation; /* of the audit line; NULL: a read, without one */
    struct str subject, detail;
    struct uuid user;
    void (*done)(struct sandbox_calls *e); /* answers the request when all steps got 2xx */
};
struct sandbox_calls *sandbox_calls_new(
    struct request *r, const struct api_sandbox *api,
    const struct principal *p) ANSWERS; /* NULL: that was answered */
struct sandbox_call *sandbox_calls_add(struct sandbox_calls *e, struct str method, const char *path,
                                       struct str body); /* below api->base */
/* The first 4xx of a step is the answer; a sandbox that fails or does not answer is 502. */
void sandbox_calls_begin(struct sandbox_calls *e);
