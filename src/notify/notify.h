/* notify.h - how a notification reaches a person (N1).
 *
 *   change --one commit--> notification (its words) + message "notify"
 *   "notify" --one commit--> a send for each channel and target + its message "notify.<channel>"
 *   "notify.<channel>":
 *       waiting --commit--> sending --the transport--> sent | failed | unknown
 *          ^---- surely not taken: again by the schedule ----'
 *
 *   (1) A send is unique by notification, channel and target, however often the job runs.
 *   (2) `sending` is committed before the transport is called. After a crash in between, or without
 *       an answer, the outcome is unknown: mail and push end as `unknown` and are not sent again.
 *       The receiver of the channel webhook recognizes a repeat by webhook-id: it is sent again.
 *   (3) Each send is checked once more just before it goes out: a person who was removed or has
 *       a new address is not notified at the old one, and a person who paid gets no reminder (S2).
 *   (4) At most LIMIT_SENDS of a channel are under way at a time; the others are postponed, spaced
 *       apart. A transport that hangs therefore delays its own channel and nothing else. */
#pragma once

#include "base/why.h"
#include "notify/contact.h"
#include "queue/queue.h"
#include "queue/runtime.h"

struct client;

/* One message for a transport. All of it lives until done() is called. */
struct parcel_out {
    struct uuid send, notification;
    struct str type, title, body, data; /* data: a JSON object */
    struct str target;                  /* a mail address, a device's token; webhook: empty */
    bool is_japanese;
    const struct uuid *user, *participant; /* NULL: none */
    int64_t created_ms;
    char trace[56]; /* traceparent; "" : none */
    struct arena *arena;
    struct executor *executor;
    void (*done)(struct parcel_out *p); /* on the executor, once, never from within send() */

    /* out */
    enum told {
        TOLD_SENT,
        TOLD_LATER,
        TOLD_NEVER,
        TOLD_UNKNOWN,
        TOLD_GONE /* never, and the target does not exist any more */
    } told;
    int64_t retry_after_ms; /* TOLD_LATER; -1: by the retry policy */
    struct why why;         /* contains no secret, no address, no token */
    struct task back;       /* used by outgoing_end_later() */
};

/* Ends it from within send(), where done() must not be called: done() runs as a task of
 * p->executor. The caller sets p->why. */
void outgoing_end_later(struct parcel_out *p, enum told told);

struct transport {
    const char *channel;                                     /* "mail", "push", "webhook" */
    void (*send)(struct transport *t, struct parcel_out *p); /* on p->executor; never fails */
    void (*free)(struct transport *t);
};

struct notify {
    const struct runtime *runtime;
    struct transport *transports[CHANNELS]; /* NULL: not configured */
    /* Checked just before a reminder is sent: does it still hold (collection/reminder.h)? */
    enum err (*reminder_holds)(struct tx *tx, struct uuid notification, int64_t now_ms,
                               bool *ret_holds);

    /* per channel; used on the executor only */
    struct notify_turn {
        int under_way;
        int64_t last_ms; /* when the send that was postponed last is due */
    } turns[CHANNELS];
};

/* Both are called once the transports are set. */
struct job_kind notify_kind(struct notify *n);                      /* "notify" */
struct job_kind notify_send_kind(struct notify *n, enum channel c); /* "notify.mail" ... */

/* The transports. They return NULL when a setting is wrong, and `why` says which. */
struct mail_options {
    struct env *env;
    struct client *client;
    struct str url, from;
};
struct transport *mail_new(const struct mail_options *o, struct why *why);

struct push_options {
    struct env *env;
    struct client *client;
    struct str credentials; /* the service account's JSON, or the name of its file */
    struct str base;        /* empty: Google's own */
};
struct transport *push_new(const struct push_options *o, struct why *why);

struct hook_options {
    struct env *env;
    struct client *client;
    struct str url, secret; /* whsec_... ; an empty secret: not signed (alerts) */
};
struct transport *hook_new(const struct hook_options *o, struct why *why);
