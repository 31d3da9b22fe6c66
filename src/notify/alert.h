/* alert.h - alerts to those who must hear of them (O4): the job "alert", one telling to one target.
 *
 *   waiting --commit--> sending --mail or webhook--> sent | failed (a dead letter) | unknown
 *      ^---- surely not taken: again by the policy ----'
 *
 * As with notify.h (2): a mail that may have been taken is not sent again, a webhook is, with the
 * same webhook-id. A dead letter of this kind raises no alert. */
#pragma once

#include "notify/notify.h"

struct alert_out {
    const struct runtime *runtime;
    struct transport *mail, *hook; /* NULL: not set up */
    enum language language;        /* the first of a mail's two */
};

struct job_kind alert_kind(struct alert_out *o);

/* The mail's two texts, from what alert_json() wrote. VALIDATION: it is none. */
enum err alert_mail_text(struct arena *a, struct str json, enum language first,
                         struct str *ret_title, struct str *ret_body);
