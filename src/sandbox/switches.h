/* switches.h - what the routes under /_sandbox set and the rest of the sandbox obeys. The rules
 * belong to the sandbox's loop. Of the webhook switches those that are looked at when an event is
 * written are atomic: that happens on the store's thread. */
#pragma once

#include "base/limits.h"
#include "sandbox/parts.h"

#include <stdatomic.h>

enum { RULE_PATH_MAX = 128, RULE_METHOD_MAX = 8, RULE_CODE_MAX = 64, WEBHOOK_URL_MAX = 512 };

/* One row of POST /_sandbox/faults. */
struct call_rule {
    char path[RULE_PATH_MAX]; /* a prefix, "*" stands for one segment; "": any call */
    char method[RULE_METHOD_MAX];
    int64_t skip, times; /* calls that it lets pass first, calls that it spoils then */
    struct sandbox_fault fault;
    char decline_code[RULE_CODE_MAX]; /* fault.decline_code is made of it */
};

struct webhook_switches {
    char url[WEBHOOK_URL_MAX]; /* instead of the option's; "": that one */
    bool on;                   /* false: nothing reaches the receiver, as if it were down */
    int64_t drop_first;        /* so many tries get lost on their way */
    _Atomic int64_t delay_ms, copies, factor;
    _Atomic bool reorder;
    _Atomic uint32_t turn; /* for reorder */
};

struct sandbox_faults {
    struct call_rule rules[LIMIT_SANDBOX_RULES];
    size_t count;
    struct webhook_switches webhooks;
};

/* Adds a rule. OVERLOADED: there are LIMIT_SANDBOX_RULES. */
enum err rules_add(struct sandbox_faults *f, const struct call_rule *rule);
void rules_clear(struct sandbox_faults *f); /* the rules; webhooks stay as they are */
