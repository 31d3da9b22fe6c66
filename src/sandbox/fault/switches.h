/* switches.h - what the routes under /_sandbox set and the rest of the sandbox obeys. The rules
 * belong to the sandbox's loop. What is looked at when an event is written is atomic: that happens
 * on the store's thread.
 *
 * All of it is kept on disk (switches_kept.c): a change is known to nobody before it is durable.
 * Rules that are used up and deliveries that were dropped are written down behind the calls, so
 * that a crash may give a rule its last calls back; chance begins anew with its seed. */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/shared.h"

#include <stdatomic.h>

enum { RULE_PATH_MAX = 128, RULE_METHOD_MAX = 8, RULE_CODE_MAX = 64, WEBHOOK_URL_MAX = 512 };

/* One row of POST /_sandbox/faults. */
struct call_rule {
    int64_t seq;              /* its row; 0: none */
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
    _Atomic bool burst;    /* what happens in one second is told at its end, at once */
    _Atomic uint32_t turn; /* for reorder */
};

/* --- chaos.c: the same by chance --- */

/*  X(name, wire): on calls */
#define CHAOS_CALL_LIST(X)                                                                         \
    X(CHAOS_DECLINE, "decline")                                                                    \
    X(CHAOS_DELAY, "delay")                                                                        \
    X(CHAOS_ERROR_BEFORE, "error_before")                                                          \
    X(CHAOS_ERROR_AFTER, "error_after")                                                            \
    X(CHAOS_DROP_BEFORE, "drop_before")                                                            \
    X(CHAOS_DROP_AFTER, "drop_after")                                                              \
    X(CHAOS_HANG, "hang")                                                                          \
    X(CHAOS_CONFLICT, "conflict")                                                                  \
    X(CHAOS_RATE_LIMIT, "rate_limit")                                                              \
    X(CHAOS_RATE_LIMIT_RETRY, "rate_limit_retry")                                                  \
    X(CHAOS_HALF_JSON, "half_json")                                                                \
    X(CHAOS_HTML, "html")                                                                          \
    X(CHAOS_TYPE, "content_type")                                                                  \
    X(CHAOS_REDIRECT, "redirect")                                                                  \
    X(CHAOS_CURRENCY, "currency")                                                                  \
    X(CHAOS_CUT, "cut")

/*  X(name, wire): on webhooks */
#define CHAOS_WEBHOOK_LIST(X)                                                                      \
    X(CHAOS_DUPLICATE, "duplicate")                                                                \
    X(CHAOS_REORDER, "reorder")                                                                    \
    X(CHAOS_LATE, "delay")                                                                         \
    X(CHAOS_BURST, "burst")                                                                        \
    X(CHAOS_DROP, "drop")

#define CHAOS_NAME(name, wire) name,
enum chaos_kind { CHAOS_CALL_LIST(CHAOS_NAME) CHAOS_WEBHOOK_LIST(CHAOS_NAME) CHAOS_KINDS };
#undef CHAOS_NAME
enum { CHAOS_CALLS = CHAOS_DUPLICATE }; /* those before it */

extern const char *const chaos_names[CHAOS_KINDS];

struct chaos_plan {
    bool on;
    int64_t seed;
    int64_t rate[CHAOS_KINDS]; /* of a million */
    int64_t delay_ms, hang_ms; /* at most */
    int64_t until_ms;          /* 0: for ever */
};

struct chaos {
    struct chaos_plan plan; /* as it was asked for; on the executor */
    _Atomic bool on;        /* this and the rest: what the plan says, for any thread */
    _Atomic int64_t until_ms, delay_ms, hang_ms, seed;
    _Atomic int64_t rate[CHAOS_KINDS];
    _Atomic uint64_t drawn[CHAOS_KINDS]; /* each kind has numbers of its own */
    _Atomic int64_t happened[CHAOS_KINDS];
};

void chaos_begin(struct chaos *c,
                 const struct chaos_plan *plan); /* on the executor; anew from its seed */
void chaos_end(struct chaos *c);                 /* what happened stays to be seen */
bool chaos_is_on(struct chaos *c, int64_t now_ms);
/* Whether it happens this time. *ret_chance (may be NULL) is another number of the same draw. */
bool chaos_strikes(struct chaos *c, enum chaos_kind kind, int64_t now_ms, uint64_t *ret_chance);
/* Adds what happens to this call by chance. */
void chaos_spoil(struct chaos *c, int64_t now_ms, bool charges, struct sandbox_fault *f);

/* --- all of them --- */

struct change;

struct sandbox_faults {
    struct call_rule rules[LIMIT_SANDBOX_RULES];
    size_t count;
    struct webhook_switches webhooks;
    struct chaos chaos;
    struct kept *kept; /* of switches_kept.c */
};

/* Adds a rule. OVERLOADED: there are LIMIT_SANDBOX_RULES. */
enum err rules_add(struct sandbox_faults *f, const struct call_rule *rule);
void rules_clear(struct sandbox_faults *f); /* the rules; webhooks stay as they are */

/* --- switches_json.c: as the API has them, and as they are kept --- */

struct webhook_values {
    char url[WEBHOOK_URL_MAX];
    bool on, reorder, burst;
    int64_t drop_first, delay_ms, copies, factor;
};
struct webhook_values webhooks_now(struct webhook_switches *w);
void webhooks_set(struct webhook_switches *w, const struct webhook_values *v);

extern const char *const rule_names[], *const webhook_names[], *const chaos_fields[];
extern const size_t rule_name_count, webhook_name_count, chaos_field_count;
/* Each reads the body of a reading that has begun; what is wrong is in its problems. */
struct call_rule rule_read(struct reading *in);
void webhooks_read(struct reading *in, struct webhook_values *v); /* not named: kept */
struct chaos_plan chaos_read(struct reading *in);
void rule_write(struct buf *b, const struct call_rule *rule);
void rules_write(struct buf *b, const struct sandbox_faults *f);
void webhooks_write(struct buf *b, const struct webhook_values *v);
void chaos_write(struct buf *b, const struct chaos_plan *p); /* what was asked for */
void chaos_write_state(struct buf *b, struct chaos *c, int64_t now_ms);

/* --- switches_kept.c --- */

struct kept *kept_new(void);
void kept_free(struct kept *k);
/* On the executor: the rule was used, or a delivery dropped; it is written down soon. */
void kept_rule_used(struct sandbox *s, const struct call_rule *rule);
void kept_webhooks_used(struct sandbox *s);

/* A change of the switches, one after another. `read` is called on the executor when it is its
 * turn: it looks at the switches as they are and fills in what is wanted, or answers the request
 * itself and returns false. When that is durable the switches are set and `done` answers; where it
 * could not be kept nothing has changed. */
enum change_kind { CHANGE_ADD, CHANGE_CLEAR, CHANGE_WEBHOOKS, CHANGE_CHAOS };
struct change {
    struct sandbox *s;
    struct request *request;
    enum change_kind kind;
    bool (*read)(struct change *c) ANSWERS;
    void (*done)(struct change *c); /* the switches are as they were asked for */
    struct call_rule rule;
    struct webhook_values webhooks;
    struct chaos_plan chaos;
    struct str text[2]; /* of a page's form */
    struct unit unit;   /* this and the rest: switches_kept.c's */
    struct buf body;
    int64_t seq;
    struct change *next;
};
/* A copy of it begins; the request's arena holds it. */
void change_post(struct request *r, struct sandbox *s, const struct change *as);
