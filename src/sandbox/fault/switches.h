/* switches.h - what the routes under /_sandbox set: rules, webhook switches, chaos. The rules belong
 * to the sandbox's executor. What is read when an event is written is atomic, because that happens
 * on the store thread.
 *
 *   (1) A change takes effect after it is on disk (switches_kept.c).
 *   (2) Uses of rules are written down after the calls, so a crash may give a rule its last uses
 *       back. Random faults begin again with their seed. */
#pragma once

#include "base/buf.h"
#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/shared.h"

#include <stdatomic.h>

enum { RULE_PATH_MAX = 128, RULE_METHOD_MAX = 8, RULE_CODE_MAX = 64, WEBHOOK_URL_MAX = 512 };

/* One row of POST /_sandbox/faults. */
struct call_rule {
    int64_t seq;              /* id of its row; 0: none */
    char path[RULE_PATH_MAX]; /* a prefix, in which "*" is one segment; "": any call */
    char method[RULE_METHOD_MAX];
    int64_t skip, times; /* fitting calls to let pass first, then calls to spoil */
    struct sandbox_fault fault;
    char decline_code[RULE_CODE_MAX]; /* copied into fault.decline_code */
};

struct webhook_switches {
    char url[WEBHOOK_URL_MAX]; /* replaces the receiver of the settings; "": does not */
    bool on;                   /* false: deliveries fail, as if the receiver were down */
    int64_t drop_first;        /* deliveries that are still to be lost */
    _Atomic int64_t delay_ms, copies, factor;
    _Atomic bool reorder;
    _Atomic bool burst;    /* send the events of one second together, at its end */
    _Atomic uint32_t turn; /* counts events, for reorder */
};

/* --- chaos.c: random faults --- */

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
enum { CHAOS_CALLS = CHAOS_DUPLICATE }; /* the kinds before it are of calls */

extern const char *const chaos_names[CHAOS_KINDS];

struct chaos_plan {
    bool on;
    int64_t seed;
    int64_t rate[CHAOS_KINDS]; /* per million occasions */
    int64_t delay_ms, hang_ms; /* at most */
    int64_t until_ms;          /* 0: no end */
};

struct chaos {
    struct chaos_plan plan; /* as the caller asked for it; on the executor */
    _Atomic bool on;        /* from here on: copies of the plan for any thread */
    _Atomic int64_t until_ms, delay_ms, hang_ms, seed;
    _Atomic int64_t rate[CHAOS_KINDS];
    _Atomic uint64_t drawn[CHAOS_KINDS]; /* numbers drawn from the series of each kind */
    _Atomic int64_t happened[CHAOS_KINDS];
};

void chaos_begin(struct chaos *c,
                 const struct chaos_plan *plan); /* on the executor; begins every series again */
void chaos_end(struct chaos *c);                 /* keeps the counts of what happened */
bool chaos_is_on(struct chaos *c, int64_t now_ms);
/* Whether this kind strikes now. *ret_random (may be NULL) is another number of the same draw. */
bool chaos_strikes(struct chaos *c, enum chaos_kind kind, int64_t now_ms, uint64_t *ret_random);
/* Adds the random faults of this call. */
void chaos_spoil(struct chaos *c, int64_t now_ms, bool charges, struct sandbox_fault *f);

/* --- all switches --- */

struct change;

struct sandbox_faults {
    struct call_rule rules[LIMIT_SANDBOX_RULES];
    size_t count;
    struct webhook_switches webhooks;
    struct chaos chaos;
    struct switches_kept *kept; /* private to switches_kept.c */
};

/* Adds a rule. OVERLOADED: there are LIMIT_SANDBOX_RULES. */
enum err rules_add(struct sandbox_faults *f, const struct call_rule *rule);
void rules_clear(struct sandbox_faults *f); /* webhook switches stay as they are */

/* --- switches_json.c: the format of the API and of the rows --- */

struct webhook_values {
    char url[WEBHOOK_URL_MAX];
    bool on, reorder, burst;
    int64_t drop_first, delay_ms, copies, factor;
};
struct webhook_values webhooks_now(struct webhook_switches *w);
void webhooks_set(struct webhook_switches *w, const struct webhook_values *v);

extern const char *const rule_names[], *const webhook_names[], *const chaos_fields[];
extern const size_t rule_name_count, webhook_name_count, chaos_field_count;
/* Each reads the body of a reading that has begun, and adds errors to its problems. */
struct call_rule rule_read(struct control_body *in);
/* a field that is not named keeps its value */
void webhooks_read(struct control_body *in, struct webhook_values *v);
struct chaos_plan chaos_read(struct control_body *in);
void rule_write(struct buf *b, const struct call_rule *rule);
void rules_write(struct buf *b, const struct sandbox_faults *f);
void webhooks_write(struct buf *b, const struct webhook_values *v);
void chaos_write(struct buf *b, const struct chaos_plan *p); /* the plan, not the state */
void chaos_write_state(struct buf *b, struct chaos *c, int64_t now_ms);

/* --- switches_kept.c --- */

struct switches_kept *switches_kept_new(void);
void switches_kept_free(struct switches_kept *k);
/* On the executor, after a rule was used or a delivery dropped: it is written to disk soon. */
void switches_rule_used(struct sandbox *s, const struct call_rule *rule);
void switches_webhooks_used(struct sandbox *s);

/* A change of the switches. Changes run one after another. `read` is called on the executor when it
 * is the change's turn: it reads the current switches and fills in the new values, or answers the
 * request itself and returns false. When these are on disk the switches are set and `done` answers.
 * If they could not be stored, nothing has changed. */
enum change_kind { CHANGE_ADD, CHANGE_CLEAR, CHANGE_WEBHOOKS, CHANGE_CHAOS };
struct change {
    struct sandbox *s;
    struct request *request;
    enum change_kind kind;
    bool (*read)(struct change *c) ANSWERS;
    void (*done)(struct change *c); /* called when the switches are set */
    struct call_rule rule;
    struct webhook_values webhooks;
    struct chaos_plan chaos;
    struct str text[2]; /* values of a page's form */
    struct unit unit;   /* from here on: private to switches_kept.c */
    struct buf body;
    int64_t seq;
    struct change *next;
};
/* Begins a copy of the change, in the request's arena. */
void change_post(struct request *r, struct sandbox *s, const struct change *as);
