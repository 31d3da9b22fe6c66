/* reconcile.h - compares our payments with the provider's ledger, day by day (E11).
 *
 *   daily, or requested --> a row and a message --> reconcile.c, in durable steps --> a report
 *
 * A day is a day of the settings' time zone. A difference is checked once more after a pause, since
 * the payment may have been changing; what a query to the gateway can repair is repaired and
 * reported as `healed`. After a crash the day goes on at its last step. */
#pragma once

#include "domain/cron.h"
#include "payment/payments.h"

struct stripe_lister; /* gateway/stripe/list.h */
struct zone;

struct reconcile {
    struct payments *payments;
    struct stripe_lister *lister; /* NULL: no gateway has Stripe's API */
    const struct zone *zone;
    struct str time_zone; /* its name */
    bool daily;
    struct cron at; /* if daily */
};

/* ICHIDO_RECONCILE_AT: "04:00", or "off". */
bool reconcile_set_time(struct reconcile *r, struct str at);

/* --- in a transaction --- */

/* Starts a day; starts it again if it was done before or if its message is gone. *ret_began false:
 * it is running already. by: "schedule" or "admin". run: an id that was made before the unit.
 * UNPROCESSABLE: the day is not over yet. */
enum err reconcile_begin(struct tx *tx, struct reconcile *r, int64_t day, struct str by,
                         struct uuid run, int64_t now_ms, bool *ret_began);

struct job_kind reconcile_kind(struct reconcile *r);       /* "reconcile.day" */
struct job_kind reconcile_daily_kind(struct reconcile *r); /* "reconcile.daily": one message */
/* CONFLICT: the message exists since an earlier start. */
enum err reconcile_daily_start(struct tx *tx, struct reconcile *r, int64_t now_ms);

/* --- reports (report.c) --- */

/* {"data":[...],"nextCursor":...}, newest first. before: a day, or empty. */
enum err reconcile_list(struct tx *tx, struct arena *a, struct str before, int limit,
                        struct str *ret_json);
/* NOT_FOUND: that day was never compared. */
enum err reconcile_show(struct tx *tx, struct arena *a, struct str day, struct str *ret_json);
/* For a spreadsheet: UTF-8 with a byte order mark, RFC 4180, no cell that is a formula. */
enum err reconcile_show_csv(struct tx *tx, struct arena *a, struct str day, struct str *ret_csv);
