/* webhook_channel.h - posts one JSON body to one address, signed by Standard Webhooks: the channel
 * webhook (notify.h: hook_new) and alerts. */
#pragma once

#include "base/why.h"
#include "notify/notify.h"

/* One post. All of it lives until done() is called. */
struct hook_post {
    struct str id;    /* webhook-id: the same on every try, so the receiver recognizes a repeat */
    struct str body;  /* JSON, UTF-8 */
    struct str trace; /* traceparent; empty: none */
    struct arena *arena;
    struct executor *executor;
    void (*done)(struct hook_post *p); /* on the executor, once, never from within hook_send() */

    /* out: SENT (2xx), NEVER (410: the receiver wants no more), else LATER */
    enum told told;
    int64_t retry_after_ms; /* LATER; -1: by the retry policy */
    int status;             /* 0: no answer */
    struct why why;

    struct task back;
};

/* t is from hook_new(). Runs on p->executor; never fails. */
void hook_send(struct transport *t, struct hook_post *p);
