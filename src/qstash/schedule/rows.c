/* rows.c - schedules as rows, and their wake-ups. */
#include "qstash/rows.h"

#include "base/limits.h"
#include "base/time/zone.h"
#include "domain/cron.h"
#include "qstash/schedule/schedules.h"
#include "queue/lane.h"
#include "store/values.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

enum { DIGEST = 32 };

/* --- rows --- */

enum err schedule_lock(struct tx *tx, struct str id)
{
    char text[LIMIT_QSTASH_NAME + 20];
    int64_t lane;

    snprintf(text, sizeof(text), "qstash.schedule:" STR_FMT, STR_ARG(id));
    lane = lane_of(str_of(text));
    return queue_lock_lanes(tx, &lane, 1);
}

static int64_t number_or_zero(const struct val *v)
{
    return v->type == VAL_NULL ? 0 : v->i;
}

enum err schedule_of_row(struct arena *a, const struct row *row, struct schedule *ret)
{
    const struct val *c = row->col;
    bool fits;

    *ret = (struct schedule){ .version = c[1].i,
                              .delay_ms = c[4].i,
                              .paused = c[5].i,
                              .created_ms = c[6].i,
                              .next_ms = number_or_zero(&c[7]),
                              .last_ms = number_or_zero(&c[8]) };
    if (!uuid_of_bytes(c[2].s, &ret->template_id))
        return ERR_INTERNAL;
    fits = text_keep(a, &c[0], &ret->id) && text_keep(a, &c[3], &ret->cron) &&
           text_keep(a, &c[9], &ret->last_ids) && text_keep(a, &c[10], &ret->error);
    return fits ? OK : ERR_NO_MEMORY;
}

enum err schedule_read(struct tx *tx, struct arena *a, struct str id, struct schedule *ret)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_qstash_schedule_read, &row, V_TEXT(id));

    return e ? e : schedule_of_row(a, &row, ret);
}

/* --- the next time --- */

enum err schedule_next(struct str cron, int64_t after_ms, int64_t *ret_ms, struct why *why)
{
    struct why fault;
    struct zone *z = NULL;
    struct cron c;
    enum err e = cron_parse(cron, &c, &fault);

    if (e)
        return why_err(why, e, "invalid cron: %s", fault.text);
    e = zone_load(c.zone, &z);
    if (e)
        return why_err(why, e, "the time zone " STR_FMT " cannot be read here", STR_ARG(c.zone));
    *ret_ms = cron_next(&c, z, after_ms);
    zone_free(z);
    return OK;
}

/* --- wake-ups: "version time", followed by " look" if it fires nothing --- */

enum { WAKEUP_TEXT = 64 };

/* The id follows from the schedule, so that the wake-up can be removed without storing its id. */
static bool wakeup_id(const struct schedule *s, struct uuid *ret_id)
{
    char text[LIMIT_QSTASH_NAME + 64];
    unsigned char digest[DIGEST];
    unsigned n = DIGEST;

    snprintf(text, sizeof(text), STR_FMT " %lld %lld", STR_ARG(s->id), (long long)s->version,
             (long long)s->next_ms);
    if (!EVP_Digest(text, strlen(text), digest, &n, EVP_sha256(), NULL))
        return false;
    memcpy(ret_id->b, digest, sizeof(ret_id->b));
    return true;
}

bool wakeup_read(struct str body, struct wakeup *ret_wakeup)
{
    struct str version = str_cut(&body, ' '), next = str_cut(&body, ' ');

    ret_wakeup->look = str_eq(body, S("look"));
    return str_to_i64(version, &ret_wakeup->version) && str_to_i64(next, &ret_wakeup->next_ms) &&
           (ret_wakeup->look || !body.n);
}

enum err schedule_plan(struct qstash *q, struct tx *tx, const struct schedule *s, bool look,
                       int64_t now_ms)
{
    struct queue_new m = { .kind = QSTASH_SCHEDULE_KIND, .ref = s->id, .due_ms = s->next_ms };
    char text[WAKEUP_TEXT];

    if (!s->next_ms)
        return OK;
    snprintf(text, sizeof(text), "%lld %lld%s", (long long)s->version, (long long)s->next_ms,
             look ? " look" : "");
    m.body = str_of(text);
    if (!wakeup_id(s, &m.id))
        return ERR_INTERNAL;
    return queue_add(q->queue, tx, now_ms, &m, 1);
}

enum err schedule_unplan(struct qstash *q, struct tx *tx, const struct schedule *s, int64_t now_ms)
{
    struct uuid id;
    enum err e = OK;

    if (s->next_ms && wakeup_id(s, &id))
        e = queue_cancel(q->queue, tx, id, now_ms);
    return e == ERR_NOT_FOUND ? OK : e;
}
