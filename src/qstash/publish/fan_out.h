/* fan_out.h - a publish to a URL group: a parcel for each member that it has at that moment, in as
 * few units as their bodies allow. A megabyte for a hundred members is a hundred megabytes; in one
 * unit, nobody else would write for half a second. */
#pragma once

#include "base/why.h"
#include "qstash/publish/publish_one.h"

struct mailing {
    const struct input *in;
    const struct uuid *ids; /* for LIMIT_QSTASH_ENDPOINTS, made before the first unit */
    int64_t now_ms;
    struct posting *all; /* in the order of the members; read by the first unit */
    size_t count;
    size_t done; /* so many of them are stored */
    size_t upto; /* set by each unit: so many will be */
};

/* False: the arena is full. in and the arena outlive the mailing. */
bool mailing_init(struct mailing *m, struct env *env, struct arena *a, const struct input *in,
                  int64_t now_ms);
/* In a unit, whose arena it is: the next ones. NOT_FOUND: there is no such group. CONFLICT: as with
 * postings_store(). */
enum err mailing_run(struct qstash *q, struct tx *tx, struct arena *a, struct mailing *m);
/* Behind a unit that went well. True: another one has to follow. */
bool mailing_goes_on(struct mailing *m);

/* Of all and count are given, and nothing else: the next ones. */
enum err mailing_store(struct qstash *q, struct tx *tx, struct mailing *m);

/* [{...},{...}]; those that were not stored say why: e is what the last unit said. */
void mailing_write(struct buf *b, const struct mailing *m, enum err e);

/* --- fan_out_rest.c: where nobody waits for it --- */

/* In the unit that stored the first ones: a message of the schedules' kind that goes on with the
 * others. It is told from a wake-up by mailing_is_rest(), and run by mailing_go_on(). */
enum err mailing_leave_rest(struct qstash *q, struct tx *tx, const struct mailing *m);
bool mailing_is_rest(const struct message *m);
enum err mailing_go_on(struct qstash *q, struct tx *tx, const struct message *m, struct why *why);
