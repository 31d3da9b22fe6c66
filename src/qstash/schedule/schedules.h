/* schedules.h - parcels by cron. A schedule is a row with a template: a content row that is copied
 * at each trigger and never sent itself. There is one wake-up for it in the queue, a message that
 * is due at next_ms; its run makes the parcels and adds the next wake-up, all in one commit.
 *
 *   (1) A wake-up is for a version and a time. Another version: the schedule was overwritten since,
 *       or deleted, and nothing happens. Another time (a dead wake-up that an operator revived):
 *       the parcels are made, but no further wake-up, so there is never more than one.
 *   (2) However late it is, it fires once; the next time is the first one after now. */
#pragma once

#include "base/why.h"
#include "qstash/message.h"

#define QSTASH_SCHEDULE_KIND S("qstash.schedule")

struct schedule {
    struct str id, cron;
    int64_t version;
    struct uuid template_id; /* its url is the destination; host empty: a URL group's name */
    int64_t delay_ms, created_ms;
    bool paused;
    int64_t next_ms, last_ms;   /* 0: none */
    struct str last_ids, error; /* ["msg_..."] */
};

/* PostgreSQL: before anything else of a unit that changes it. */
enum err schedule_lock(struct tx *tx, struct str id);
/* NOT_FOUND. Texts go to the arena. */
enum err schedule_read(struct tx *tx, struct arena *a, struct str id, struct schedule *ret);
enum err schedule_of_row(struct arena *a, const struct row *row, struct schedule *ret);

/* The first firing after after_ms; CLOCK_NEVER: there is none. NOT_FOUND, VALIDATION: the zone or
 * the text is not known here (any more), why has the words. Others: try again. */
enum err schedule_next(struct str cron, int64_t after_ms, int64_t *ret_ms, struct why *why);

/* The wake-up for s->next_ms, if there is one. look: only to find out when it fires next. */
enum err schedule_plan(struct qstash *q, struct tx *tx, const struct schedule *s, bool look,
                       int64_t now_ms);
/* Takes that wake-up away. One that is under way finds another version, or nothing. */
enum err schedule_unplan(struct qstash *q, struct tx *tx, const struct schedule *s, int64_t now_ms);

struct wakeup { /* as said by the message's body */
    int64_t version, next_ms;
    bool look;
};
bool wakeup_read(struct str body, struct wakeup *ret_wakeup);
