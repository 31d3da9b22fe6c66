/* reminder.h - who owes a collection's money is reminded of it (S2): before, on and after the due
 * date, by the calendar of the collection's zone.
 *
 *   put --plan n, its next reminder--> collection.remind --some people--> collection.remind ...
 *                                              '--the last of them--> the next reminder's message
 *
 *   (1) A collection has one message of its present plan. One of an older plan does nothing.
 *   (2) Nobody is told twice: a notice is deduped by participant, due date and day.
 *   (3) Nobody who has paid is told: it is looked at when the notice is made, and once more just
 *       before it is sent (reminder_holds). A refund makes nobody a debtor again: the status stays.
 *       Nor is anybody told what is not so any more: another amount, date or day.
 *   (4) One that is late by less than a day is sent late; older ones are left out. Where several
 *       are late, only the newest is sent.
 *   (5) A plan counts from when it was made, and somebody from when he was added: what was before
 *       that is not made up for. But whom the old plan was about to tell, the new one tells. */
#pragma once

#include "collection/collection.h"

/* Whether these two would be reminded of at different times. */
bool reminders_differ(const struct payments *pp, const struct collection *a,
                      const struct collection *b);

/* Makes the plan anew, in the transaction that changes what it is made of. c: as it is now, but for
 * its plan, which is the old one. */
enum err reminder_plan(struct tx *tx, struct payments *pp, const struct collection *c,
                       int64_t now_ms);

/* At a start: collections that go by the server's own rule get the one it has now. */
enum err reminder_start(struct tx *tx, struct payments *pp, int64_t now_ms);

/* Whether a reminder may still be sent: its participant owes that money, by that date; that day is
 * still one of the collection's; its words are true today; and it is not older than a day.
 * OVERLOADED: the zone is not known here. */
enum err reminder_holds(struct tx *tx, struct uuid notification, int64_t now_ms, bool *ret_holds);

struct job_kind reminder_kind(struct payments *pp);      /* "collection.remind" */
struct job_kind reminder_plan_kind(struct payments *pp); /* "collection.plan" */
