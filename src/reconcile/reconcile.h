/* reconcile.h - the provider's books beside ours, day by day (E11).
 *
 *   daily, or asked for --> a row and a message --> reconcile.c, in steps that are kept --> a
 * report
 *
 * A day is that of the time zone in the settings. What differs is looked at once more after a
 * pause, since it may only have been under way; what asking the gateway can mend is mended, and
 * told as healed. A crash at any moment goes on at the last step. */
#pragma once

#include "domain/cron.h"
#include "payment/payments.h"

struct stripe_lister; /* gateway/stripe/list.h */
struct zone;

struct reconcile {
    struct payments *payments;
    struct stripe_lister *lister; /* NULL: no gateway speaks Stripe's words */
    const struct zone *zone;
    struct str time_zone; /* its name */
    bool daily;
    struct cron at; /* when, where it is daily */
};

/* ICHIDO_RECONCILE_AT: "04:00", or "off". */
bool reconcile_set_time(struct reconcile *r, struct str at);

/* --- in a transaction --- */

/* Begins a day, anew where it was done before, or where the message that worked on it is gone.
 * *ret_began false: it is being worked on. by: "schedule" or "admin". run: an id that was made
 * before the unit. UNPROCESSABLE: the day is not over yet. */
enum err reconcile_begin(struct tx *tx, struct reconcile *r, int64_t day, struct str by,
                         struct uuid run, int64_t now_ms, bool *ret_began);

struct job_kind reconcile_kind(struct reconcile *r);       /* "reconcile.day" */
struct job_kind reconcile_daily_kind(struct reconcile *r); /* "reconcile.daily": one message */
/* CONFLICT: it is there since an earlier start. */
enum err reconcile_daily_start(struct tx *tx, struct reconcile *r, int64_t now_ms);

/* --- reports (report.c) --- */

/* {"data":[...],"nextCursor":...}: the newest first; before: a day, or empty. */
enum err reconcile_list(struct tx *tx, struct arena *a, struct str before, int limit,
                        struct str *ret_json);
/* NOT_FOUND: that day was never looked at. */
enum err reconcile_show(struct tx *tx, struct arena *a, struct str day, struct str *ret_json);
/* For a spreadsheet: UTF-8 with a byte order mark, RFC 4180, and no cell that would be a formula.
 */
enum err reconcile_show_csv(struct tx *tx, struct arena *a, struct str day, struct str *ret_csv);
