/* sandbox.h - the simulated Stripe and PayPay (G3): a stateful server with a listener, a thread and
 * a file of its own, good enough for the real SDKs. Our adapters reach it over HTTP, as they would
 * reach Stripe and PayPay. */
#pragma once

#include "base/env.h"
#include "base/err.h"
#include "base/why.h"

struct sandbox;

struct sandbox_options {
    struct env *env;        /* the server's, for its log, clock and random numbers */
    struct str listen;      /* host:port; port 0 takes a free one; loopback only */
    struct str db;          /* sqlite:PATH, a file of its own */
    struct str webhook_url; /* receiver of events; empty: none */
    struct str webhook_secret;
    /* The simulated PayPay. Without a key every call to it is rejected. */
    struct str paypay_key, paypay_secret, paypay_merchant;
    struct str paypay_webhook_url; /* receiver of notifications; empty: none */
};

/* Opens the file and listens. On failure `why` says what to do next. */
enum err sandbox_open(const struct sandbox_options *o, struct sandbox **ret_sandbox,
                      struct why *why);
int sandbox_port(const struct sandbox *s);
void sandbox_start(struct sandbox *s); /* starts its thread */
/* Any thread: moves the sandbox's clock by ms (T5). Calls moved(ctx) on the sandbox's thread when
 * its leases and due messages have followed. */
void sandbox_clock_moved(struct sandbox *s, int64_t ms, void (*moved)(void *ctx), void *ctx);
void sandbox_free(struct sandbox *s); /* stops it; NULL is fine */
