/* schedules.h - messages by cron. A schedule is a row with a template: a content row that is copied
 * at each firing and never sent itself. Each schedule has one wake-up: a job that is due at
 * next_ms. Its run stores the messages and adds the next wake-up, all in one commit.
 *
 *   (1) A wake-up carries a version and a time. If the version differs, the schedule was
 *       overwritten or deleted, and nothing happens. If the time differs (an operator retried a
 *       dead wake-up), the messages are stored but no wake-up is added, so there is never more than
 *       one.
 *   (2) However late it runs, it fires once; the next time is the first one after now. */
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

/* PostgreSQL: must come first in a unit that changes the schedule. */
enum err schedule_lock(struct tx *tx, struct str id);
/* NOT_FOUND. Texts go to the arena. */
enum err schedule_read(struct tx *tx, struct arena *a, struct str id, struct schedule *ret);
enum err schedule_of_row(struct arena *a, const struct row *row, struct schedule *ret);

/* The first firing after after_ms; CLOCK_NEVER: there is none. NOT_FOUND, VALIDATION: this machine
 * does not know the time zone, or the text is invalid; why says which. Other errors: try again. */
enum err schedule_next(struct str cron, int64_t after_ms, int64_t *ret_ms, struct why *why);

/* Adds the wake-up for s->next_ms, if there is one. look: it only computes the next time. */
enum err schedule_plan(struct qstash *q, struct tx *tx, const struct schedule *s, bool look,
                       int64_t now_ms);
/* Removes that wake-up. One that is running finds another version, or no schedule. */
enum err schedule_unplan(struct qstash *q, struct tx *tx, const struct schedule *s, int64_t now_ms);

struct wakeup { /* the body of its job */
    int64_t version, next_ms;
    bool look;
};
bool wakeup_read(struct str body, struct wakeup *ret_wakeup);
