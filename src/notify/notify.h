/* notify.h - how a notification reaches a person (N1).
 *
 *   change --one commit--> notification (its words) + message "notify"
 *   "notify" --one commit--> a send for each channel and target + its message "notify.<channel>"
 *   "notify.<channel>":
 *       waiting --commit--> sending --the transport--> sent | failed | unknown
 *          ^---- surely not taken: again by the schedule ----'
 *
 *   (1) A send is unique by notification, channel and target: nobody is told twice, however often
 *       the job runs.
 *   (2) `sending` is committed before the transport hears of it. Who is killed in between, or gets
 *       no answer, does not know whether it was told: mail and push end as unknown, and are not
 *       sent again. The channel webhook is a machine that knows webhook-id: it is sent again.
 *   (3) Just before it is sent it is looked at once more: a person who was removed or moved is not
 *       told at the old place, and who has paid is not reminded (S2).
 *   (4) LIMIT_SENDS of a channel are under way at a time; the others are put off, one behind the
 *       other. So a transport that hangs holds up its own channel and nothing else. */
#pragma once

#include "base/why.h"
#include "notify/contact.h"
#include "queue/queue.h"
#include "queue/runtime.h"

struct client;

/* One message on its way, as the transports see it. All of it lives until done. */
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
        TOLD_GONE /* so is the target */
    } told;
    int64_t retry_after_ms; /* TOLD_LATER; -1: by the policy */
    struct why why;         /* nothing secret, no address, no token */
    void *impl;             /* the transport's */
    struct task back;       /* the same: the way back where there was no call */
};

struct transport {
    const char *channel;                                     /* "mail", "push", "webhook" */
    void (*send)(struct transport *t, struct parcel_out *p); /* on p->executor; never fails */
    void (*free)(struct transport *t);
};

struct notify {
    const struct runtime *runtime;
    struct transport *transports[CHANNELS]; /* NULL: that one is not set up */
    /* Is a reminder still true just before it is sent (collection/reminder.h)? */
    enum err (*reminder_holds)(struct tx *tx, struct uuid notification, int64_t now_ms,
                               bool *ret_holds);

    /* on the executor: of each channel ... */
    struct notify_turn {
        int under_way;
        int64_t last_ms; /* ... and when the last that was put off is due */
    } turns[CHANNELS];
};

/* Both once the transports are there. "notify": takes notify/notification.c's message. */
struct job_kind notify_kind(struct notify *n);
struct job_kind notify_send_kind(struct notify *n, enum channel c); /* "notify.mail" ... */

/* The transports. NULL: `why` says what is wrong with their settings. */
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
