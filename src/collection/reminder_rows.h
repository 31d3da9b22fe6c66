/* reminder_rows.h - what reminder.c and reminder_plan.c share. Only they include it. */
#pragma once

#include "collection/reminder.h"
#include "domain/reminder.h"

#define DAY_MS INT64_C(86400000)
/* So long after the due date no reminder is left, in any time zone. */
#define REMINDERS_END_MS ((LIMIT_REMINDER_DAYS + 2) * DAY_MS)

struct planning {
    const struct collection *collection; /* plan and reminder_ms: as the row must have them */
    const struct reminder_rule *rule;
    int64_t plan; /* from now on */
};

/* Stores the plan, and the message of its next reminder (NULL: there is none). NOT_FOUND: the row
 * has another plan or another next reminder by now; nothing was stored. */
enum err reminder_store(struct tx *tx, struct payments *pp, const struct planning *p,
                        const struct reminder *next, int64_t now_ms);
