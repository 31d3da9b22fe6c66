/* fan_out.h - a publish to a URL group: a message for each present member, in as few units of work
 * as the bodies allow. A body of 1 MB for a hundred members is 100 MB; stored in one unit, it would
 * block all other writers for half a second. */
#pragma once

#include "base/why.h"
#include "qstash/publish/publish_one.h"

struct mailing {
    const struct input *in;
    const struct uuid *ids; /* for LIMIT_QSTASH_ENDPOINTS, made before the first unit */
    int64_t now_ms;
    struct posting *all; /* in the order of the members; read by the first unit */
    size_t count;
    size_t done; /* so many are stored */
    size_t upto; /* set by each unit: so many are stored once it commits */
};

/* False: the arena is full. in and the arena outlive the mailing. */
bool mailing_init(struct mailing *m, struct env *env, struct arena *a, const struct input *in,
                  int64_t now_ms);
/* Stores the next ones; a is the unit's arena. NOT_FOUND: there is no such group. CONFLICT: as with
 * postings_store(). */
enum err mailing_run(struct qstash *q, struct tx *tx, struct arena *a, struct mailing *m);
/* After a unit that committed. True: another unit must follow. */
bool mailing_goes_on(struct mailing *m);

/* The same where only all, count and done are set. */
enum err mailing_store(struct qstash *q, struct tx *tx, struct mailing *m);

/* [{...},{...}]; those that were not stored report e, the error of the last unit. */
void mailing_write(struct buf *b, const struct mailing *m, enum err e);

/* --- fan_out_rest.c: the fan-out of a schedule, where no request waits --- */

/* In the unit that stored the first ones: adds a job of the schedules' kind that stores the others.
 * mailing_is_rest() tells it from a wake-up of a schedule; mailing_go_on() runs it. */
enum err mailing_leave_rest(struct qstash *q, struct tx *tx, const struct mailing *m);
bool mailing_is_rest(const struct message *m);
enum err mailing_go_on(struct qstash *q, struct tx *tx, const struct message *m, struct why *why);
