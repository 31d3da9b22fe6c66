/* alert.h - alerts to operators (O4): the job "alert" sends one alert to one target.
 *
 *   waiting --commit--> sending --mail or webhook--> sent | failed (a dead letter) | unknown
 *      ^---- surely not accepted: again by the retry policy ----'
 *
 * As in notify.h (2): a mail with an unknown outcome is not sent again; a webhook is, with the same
 * webhook-id. A dead letter of this kind raises no alert. */
#pragma once

#include "notify/notify.h"

struct alert_out {
    const struct runtime *runtime;
    struct transport *mail, *hook; /* NULL: not configured */
    enum language language;        /* the first of a mail's two languages */
};

struct job_kind alert_kind(struct alert_out *o);

/* The mail's title and text, from alert_json()'s output. VALIDATION: json is not such output. */
enum err alert_mail_text(struct arena *a, struct str json, enum language first,
                         struct str *ret_title, struct str *ret_body);
