/* reminder.h - participants who owe a collection's money are reminded (S2): before, on and after the
 * due date, by the calendar of the collection's time zone.
 *
 *   put --plan n, its next reminder--> collection.remind --some people--> collection.remind ...
 *                                              '--the last of them--> the next reminder's message
 *
 *   (1) A collection has one message of its present plan. A message of an older plan does nothing.
 *   (2) Nobody is reminded twice: a notification is unique by participant, due date and day.
 *   (3) Nobody who has paid is reminded: that is checked when the notification is made, and again just
 *       before it is sent (reminder_holds), together with amount, date and day. After a refund the
 *       participant stays paid.
 *   (4) A reminder that is late by less than a day is sent late; older ones are left out. Of several
 *       late ones only the newest is sent.
 *   (5) A plan covers the time after it was made, and a participant gets reminders due after it was
 *       added. Reminders that were due under the old plan and not yet sent are sent by the new one. */
#pragma once

#include "collection/collection.h"

/* True if the two states of a collection have reminders at different times. */
bool reminders_differ(const struct payments *pp, const struct collection *a,
                      const struct collection *b);

/* Makes a new plan, in the transaction that changes its input. c: the collection as it is now, with
 * its old plan. */
enum err reminder_plan(struct tx *tx, struct payments *pp, const struct collection *c,
                       int64_t now_ms);

/* At a start: collections without a rule of their own get the server's present rule. */
enum err reminder_start(struct tx *tx, struct payments *pp, int64_t now_ms);

/* True if a reminder may still be sent: the participant still owes that amount by that date, the day
 * is still one of the collection's, the text is true today, and it is not older than a day.
 * OVERLOADED: the time zone is unknown here. */
enum err reminder_holds(struct tx *tx, struct uuid notification, int64_t now_ms, bool *ret_holds);

struct job_kind reminder_kind(struct payments *pp);      /* "collection.remind" */
struct job_kind reminder_plan_kind(struct payments *pp); /* "collection.plan" */
