/* sandbox.h - the pretend Stripe and PayPay (G3): a stateful server on a listener and a thread of
 * its own, with its own file and writer. The real SDKs believe in it. Our adapters talk to it over
 * HTTP as they would to Stripe and PayPay. */
#pragma once

#include "base/env.h"
#include "base/err.h"
#include "base/why.h"

struct sandbox;

struct sandbox_options {
    struct env
        *env; /* of the server, for log, numbers and chance; the sandbox's clock is its own */
    struct str listen;      /* host:port; port 0 takes a free one; loopback only */
    struct str db;          /* sqlite:PATH, its own file */
    struct str webhook_url; /* where its events go; empty: nowhere */
    struct str webhook_secret;
    /* Its PayPay. Without a key nobody may call it. */
    struct str paypay_key, paypay_secret, paypay_merchant;
    struct str paypay_webhook_url; /* where its notifications go; empty: nowhere */
};

/* Opens the file and listens. On failure `why` says what to do. */
enum err sandbox_open(const struct sandbox_options *o, struct sandbox **ret_sandbox,
                      struct why *why);
int sandbox_port(const struct sandbox *s);
void sandbox_start(struct sandbox *s); /* its thread */
/* Any thread: moves the sandbox's clock too (T5); calls moved(ctx) on the sandbox's own thread when
 * its leases and due work followed. */
void sandbox_clock_moved(struct sandbox *s, int64_t ms, void (*moved)(void *ctx), void *ctx);
void sandbox_free(struct sandbox *s); /* stops it; NULL is fine */
