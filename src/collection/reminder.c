/* reminder.c - the job `collection.remind`: one page of participants a run, so that a large collection
 * does not hold up other writes. A crash repeats a page, and invariant (2) of reminder.h keeps it from
 * reminding anybody twice.
 *
 * A message contains the time for which it was planned. Only a message whose time is also in the
 * collection's row adds the next message. So a dead letter that is retried after its successor was
 * added reminds people, but starts no second chain. */
#include "collection/reminder.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "base/time/zone.h"
#include "collection/reminder_rows.h"
#include "domain/day.h"
#include "notify/notification.h"
#include "observe/log.h"
#include "payment/rows.h"

#include <stdio.h>

enum { ZONE_AGAIN_MS = 3600 * 1000, REMIND_ARENA = 1024 * 1024, BODY_MAX = 160 };

/* --- messages --- */

struct remind_message {
    struct uuid collection;
    int64_t plan, at_ms; /* the planned time; the same for all pages */
    int64_t day;
    bool has_after;
    struct uuid after; /* the last participant of the page before */
};

static enum err remind_message_add(struct tx *tx, struct payments *pp,
                                   const struct remind_message *w, int64_t now_ms, int64_t due_ms)
{
    struct queue_new m = { .id = env_uuid(tx_env(tx)),
                           .kind = S("collection.remind"),
                           .due_ms = due_ms };
    char id[UUID_TEXT + 1], after[UUID_TEXT + 1] = "", body[BODY_MAX];

    uuid_text(w->collection, id);
    if (w->has_after)
        uuid_text(w->after, after);
    snprintf(body, sizeof(body), "{\"plan\":%lld,\"at\":%lld,\"day\":%lld,\"after\":\"%s\"}",
             (long long)w->plan, (long long)w->at_ms, (long long)w->day, after);
    m.ref = str_of(id);
    m.body = str_of(body);
    return queue_add(pp->runtime.queue, tx, now_ms, &m, 1);
}

static bool read_number(const struct json_value *v, int64_t *ret)
{
    return v->type == JSON_NUMBER && str_to_i64(v->raw, ret);
}

static bool remind_message_read(const struct message *m, struct remind_message *ret)
{
    static const char *const paths[] = { "plan", "at", "day", "after" };
    struct json_value v[COUNT(paths)];

    if (!uuid_parse(m->ref, &ret->collection) || json_pick(m->body, paths, COUNT(paths), v, NULL) ||
        !read_number(&v[0], &ret->plan) || !read_number(&v[1], &ret->at_ms) ||
        !read_number(&v[2], &ret->day) || v[3].type != JSON_STRING)
        return false;
    ret->has_after = v[3].raw.n;
    return !ret->has_after || uuid_parse(v[3].raw, &ret->after);
}

/* --- plans --- */

enum err reminder_store(struct tx *tx, struct payments *pp, const struct planning *p,
                        const struct reminder *next, int64_t now_ms)
{
    struct remind_message w = { .collection = p->collection->id, .plan = p->plan };
    char rule[REMINDER_RULE_MAX + 1];
    struct row row;
    int64_t old_ms = p->collection->reminder_ms;
    enum err e = TX_ROW(tx, STMT_collection_planned, &row, V_INT(p->plan),
                        V_TEXT(reminder_rule_text(p->rule, rule)),
                        next ? V_INT(next->at_ms) : V_NULL, v_uuid(&p->collection->id),
                        V_INT(p->collection->plan), old_ms ? V_INT(old_ms) : V_NULL);

    if (e || !next)
        return e;
    w.at_ms = next->at_ms;
    w.day = next->day;
    return remind_message_add(tx, pp, &w, now_ms, next->at_ms);
}

/* --- one page --- */

struct remind_run {
    struct tx *tx;
    struct payments *payments;
    struct arena arena;
    int64_t now_ms;
    struct remind_message walk;
    struct collection collection;
    struct reminder_rule rule;
    struct zone *zone;
};

struct person_owing {
    struct uuid id, user;
    bool has_user;
    int64_t amount;
    struct str url;
};

struct people_owing {
    struct person_owing all[LIMIT_REMINDED];
    size_t n;
};

static enum err people_owing_add(void *ctx, const struct row *row)
{
    struct people_owing *d = ctx;
    struct person_owing *one = &d->all[d->n++];
    const struct val *v = row->col;

    one->has_user = v[1].type == VAL_BLOB && uuid_of_bytes(v[1].s, &one->user);
    one->amount = v[2].i;
    one->url = v[3].type == VAL_TEXT ? v[3].s : (struct str){ 0 };
    return uuid_of_bytes(v[0].s, &one->id) ? OK : ERR_INTERNAL;
}

/* The dedupe name uses the day of the rule; the text uses the real day, in case the reminder is
 * late. */
static enum err remind_person(struct remind_run *r, const struct reminder *due,
                              const struct person_owing *d)
{
    const struct collection *c = &r->collection;
    int64_t due_day = day_at(r->zone, c->due_ms);
    char name[REMINDER_DATE_MAX + 1];
    struct notice n = { .type = NOTICE_REMINDER,
                        .subject = d->id,
                        .attempt = reminder_name(r->zone, c->due_ms, due->day, name),
                        .user = d->has_user ? &d->user : NULL,
                        .participant = &d->id,
                        .collection = &c->id,
                        .url = d->url,
                        .item = c->title,
                        .due = civil_of(due_day),
                        .day = day_at(r->zone, r->now_ms) - due_day };

    if (!money_make(d->amount, str_of(c->currency), &n.money))
        return ERR_INTERNAL;
    return notice_add(r->tx, &r->payments->notifier, &r->arena, &n, r->now_ms, NULL);
}

static void remind_log(const struct remind_run *r, const struct reminder *due, size_t n)
{
    char id[UUID_TEXT + 1];

    uuid_text(r->collection.id, id);
    LOG(r->payments->runtime.env->log, LOG_INFO, "Participants are reminded",
        LOG_TEXT("collectionId", str_of(id)), LOG_NUM("day", due->day),
        LOG_NUM("participants", (int64_t)n));
}

static enum err remind_page(struct remind_run *r, const struct reminder *due, bool *ret_more)
{
    struct people_owing d = { .n = 0 };
    struct remind_message *w = &r->walk;
    struct val v[] = { V_INT(r->now_ms), v_uuid(&w->collection),
                       w->has_after ? v_uuid(&w->after) : V_BLOB(S("")), V_INT(due->at_ms),
                       V_INT(LIMIT_REMINDED) };
    enum err e = tx_each(r->tx, STMT_reminder_people, v, COUNT(v), people_owing_add, &d);

    for (size_t i = 0; !e && i < d.n; i++)
        e = remind_person(r, due, &d.all[i]);
    fault_point(&r->payments->runtime.env->faults, "collection.remind");
    *ret_more = d.n == LIMIT_REMINDED;
    if (d.n) {
        w->has_after = true;
        w->after = d.all[d.n - 1].id;
    }
    if (!e && d.n)
        remind_log(r, due, d.n);
    return e;
}

/* A late reminder on a day that has its own, which will say the same within hours. */
static bool reminder_is_overtaken(const struct remind_run *r, const struct reminder *late)
{
    int64_t today = day_at(r->zone, r->now_ms) - day_at(r->zone, r->collection.due_ms);

    return late->day != today && reminder_rule_has(&r->rule, today);
}

/* The newest reminder whose time has come, if this message is for it and it is not too late. */
static bool reminder_is_due(struct remind_run *r, struct reminder *ret)
{
    return reminder_newest(&r->rule, r->zone, r->collection.due_ms, r->now_ms, ret) &&
           ret->day >= r->walk.day && r->now_ms - ret->at_ms < DAY_MS &&
           !reminder_is_overtaken(r, ret);
}

static bool message_is_current(const struct remind_run *r)
{
    return r->walk.at_ms == r->collection.reminder_ms;
}

/* Adds the next message. NOT_FOUND of the store: the row has another plan or time. A message that was
 * never the row's own adds none; one that was, when the row was read, has reminded people by a plan
 * that has changed since, and STALE rolls that back (PostgreSQL). */
static enum err remind_plan_next(struct remind_run *r)
{
    struct collection c = r->collection;
    struct planning p = { .collection = &c, .rule = &r->rule, .plan = c.plan };
    struct reminder next;
    bool found = reminder_next(&r->rule, r->zone, c.due_ms, r->now_ms, &next);
    enum err e;

    c.reminder_ms = r->walk.at_ms;
    e = reminder_store(r->tx, r->payments, &p, found ? &next : NULL, r->now_ms);
    if (e == ERR_NOT_FOUND)
        return message_is_current(r) ? ERR_STALE : OK;
    return e;
}

static enum err remind_step(struct remind_run *r)
{
    struct reminder due;
    bool more = false;
    enum err e = OK;

    if (reminder_is_due(r, &due)) {
        if (due.day != r->walk.day)
            r->walk.has_after = false; /* a newer reminder begins with the first participant */
        r->walk.day = due.day;
        e = remind_page(r, &due, &more);
    }
    if (e)
        return e;
    return more ? remind_message_add(r->tx, r->payments, &r->walk, r->now_ms, r->now_ms)
                : remind_plan_next(r);
}

/* --- the job --- */

/* NOT_FOUND: the message's plan or its collection does not exist any more. */
static enum err remind_read_plan(struct remind_run *r)
{
    struct collection *c = &r->collection;
    enum err e = collection_read(r->tx, r->walk.collection, c);

    if (e)
        return e;
    if (c->plan != r->walk.plan || !c->due_ms)
        return ERR_NOT_FOUND;
    return reminder_rule_read(c->rule, &r->rule) ? OK : ERR_INTERNAL;
}

/* A time zone that is unknown here may come with the next update of the system's data. It is checked
 * again until all reminders would be too late. */
static enum err remind_check_later(struct remind_run *r)
{
    const struct collection *c = &r->collection;
    struct planning over = { .collection = c, .rule = &r->rule, .plan = c->plan };
    enum err e;

    if (!message_is_current(r))
        return OK;
    if (r->now_ms > c->due_ms + REMINDERS_END_MS) {
        e = reminder_store(r->tx, r->payments, &over, NULL, r->now_ms);
        return e == ERR_NOT_FOUND ? ERR_STALE : e;
    }
    LOG(r->payments->runtime.env->log, LOG_WARN, "A collection's time zone is not known here",
        LOG_TEXT("timeZone", r->collection.time_zone));
    return remind_message_add(r->tx, r->payments, &r->walk, r->now_ms, r->now_ms + ZONE_AGAIN_MS);
}

static enum err remind_with_zone(struct remind_run *r, enum err (*act)(struct remind_run *r))
{
    enum err e = remind_read_plan(r);

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    e = zone_load(r->collection.time_zone, &r->zone);
    if (e == ERR_NOT_FOUND || e == ERR_VALIDATION)
        return remind_check_later(r);
    if (e)
        return e;
    arena_init(&r->arena, REMIND_ARENA);
    e = act(r);
    arena_release(&r->arena);
    r->zone = zone_free(r->zone);
    return e;
}

static enum err reminder_job_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    struct payments *pp = ctx;
    struct remind_run r = { .tx = tx, .payments = pp, .now_ms = env_now_ms(pp->runtime.env) };

    if (!remind_message_read(m, &r.walk))
        return why_err(why, ERR_VALIDATION, "the message names no collection, or no place in it");
    return remind_with_zone(&r, remind_step);
}

/* The dead message's reminder is lost; the following ones are planned. */
static enum err reminder_buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    struct payments *pp = ctx;
    struct remind_run r = { .tx = tx, .payments = pp, .now_ms = env_now_ms(pp->runtime.env) };

    (void)why;
    return remind_message_read(m, &r.walk) ? remind_with_zone(&r, remind_plan_next) : OK;
}

struct job_kind reminder_kind(struct payments *pp)
{
    return (struct job_kind){ .name = "collection.remind",
                              .run = reminder_job_run,
                              .ctx = pp,
                              .retry = retry_table[RETRY_PLANNED],
                              .buried = reminder_buried };
}
