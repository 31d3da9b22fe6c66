/* reminder.c - see reminder.h. One page of people a run: a crash repeats that page, and (2) tells
 * nobody twice; what is written between two pages of a large collection does not wait for the rest.
 *
 * The instant that a message was made for goes along with it, and only who finds it in the row too
 * adds the next message. So a dead letter that is retried, when its successor is long under way,
 * tells people and starts no second chain. */
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

enum { ZONE_AGAIN_MS = 3600 * 1000, TELL_ARENA = 1024 * 1024, BODY_MAX = 160 };

/* --- messages --- */

struct reminder_walk {
    struct uuid collection;
    int64_t plan, at_ms; /* the instant it was planned for; it stays the same from page to page */
    int64_t day;
    bool has_after;
    struct uuid after; /* the last participant that was looked at */
};

static enum err add_walk(struct tx *tx, struct payments *pp, const struct reminder_walk *w,
                         int64_t now_ms, int64_t due_ms)
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

static bool reminder_number(const struct json_value *v, int64_t *ret)
{
    return v->type == JSON_NUMBER && str_to_i64(v->raw, ret);
}

static bool read_walk(const struct message *m, struct reminder_walk *ret)
{
    static const char *const paths[] = { "plan", "at", "day", "after" };
    struct json_value v[COUNT(paths)];

    if (!uuid_parse(m->ref, &ret->collection) || json_pick(m->body, paths, COUNT(paths), v, NULL) ||
        !reminder_number(&v[0], &ret->plan) || !reminder_number(&v[1], &ret->at_ms) ||
        !reminder_number(&v[2], &ret->day) || v[3].type != JSON_STRING)
        return false;
    ret->has_after = v[3].raw.n;
    return !ret->has_after || uuid_parse(v[3].raw, &ret->after);
}

/* --- plans --- */

enum err reminder_store(struct tx *tx, struct payments *pp, const struct planning *p,
                        const struct reminder *next, int64_t now_ms)
{
    struct reminder_walk w = { .collection = p->collection->id, .plan = p->plan };
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
    return add_walk(tx, pp, &w, now_ms, next->at_ms);
}

/* --- one page --- */

struct remind {
    struct tx *tx;
    struct payments *payments;
    struct arena arena;
    int64_t now_ms;
    struct reminder_walk walk;
    struct collection collection;
    struct reminder_rule rule;
    struct zone *zone;
};

struct debtor {
    struct uuid id, user;
    bool has_user;
    int64_t amount;
    struct str url;
};

struct debtors {
    struct debtor all[LIMIT_REMINDED];
    size_t n;
};

static enum err add_debtor(void *ctx, const struct row *row)
{
    struct debtors *d = ctx;
    struct debtor *one = &d->all[d->n++];
    const struct val *v = row->col;

    one->has_user = v[1].type == VAL_BLOB && uuid_of_bytes(v[1].s, &one->user);
    one->amount = v[2].i;
    one->url = v[3].type == VAL_TEXT ? v[3].s : (struct str){ 0 };
    return uuid_of_bytes(v[0].s, &one->id) ? OK : ERR_INTERNAL;
}

/* The name is that of the rule's day; the words go by what day it really is, should it be late. */
static enum err reminder_tell(struct remind *r, const struct reminder *due, const struct debtor *d)
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

static void reminder_note(const struct remind *r, const struct reminder *due, size_t n)
{
    char id[UUID_TEXT + 1];

    uuid_text(r->collection.id, id);
    LOG(r->payments->runtime.env->log, LOG_INFO, "Participants are reminded",
        LOG_TEXT("collectionId", str_of(id)), LOG_NUM("day", due->day),
        LOG_NUM("participants", (int64_t)n));
}

static enum err tell_page(struct remind *r, const struct reminder *due, bool *ret_more)
{
    struct debtors d = { .n = 0 };
    struct reminder_walk *w = &r->walk;
    struct val v[] = { V_INT(r->now_ms), v_uuid(&w->collection),
                       w->has_after ? v_uuid(&w->after) : V_BLOB(S("")), V_INT(due->at_ms),
                       V_INT(LIMIT_REMINDED) };
    enum err e = tx_each(r->tx, STMT_reminder_people, v, COUNT(v), add_debtor, &d);

    for (size_t i = 0; !e && i < d.n; i++)
        e = reminder_tell(r, due, &d.all[i]);
    fault_point(&r->payments->runtime.env->faults, "collection.remind");
    *ret_more = d.n == LIMIT_REMINDED;
    if (d.n) {
        w->has_after = true;
        w->after = d.all[d.n - 1].id;
    }
    if (!e && d.n)
        reminder_note(r, due, d.n);
    return e;
}

/* Yesterday's, on a day that has one of its own: that one will say the same in a few hours. */
static bool is_overtaken(const struct remind *r, const struct reminder *late)
{
    int64_t today = day_at(r->zone, r->now_ms) - day_at(r->zone, r->collection.due_ms);

    return late->day != today && reminder_rule_has(&r->rule, today);
}

/* The newest that has come, if it is one of those that this message is for, and not too late. */
static bool is_due(struct remind *r, struct reminder *ret)
{
    return reminder_newest(&r->rule, r->zone, r->collection.due_ms, r->now_ms, ret) &&
           ret->day >= r->walk.day && r->now_ms - ret->at_ms < DAY_MS && !is_overtaken(r, ret);
}

static bool is_rows_own(const struct remind *r)
{
    return r->walk.at_ms == r->collection.reminder_ms;
}

/* Who is not the row's own message adds none: NOT_FOUND. Who was, when it was read, has told people
 * of a plan that has changed since: STALE takes that back (PostgreSQL). */
static enum err plan_next(struct remind *r)
{
    struct collection c = r->collection;
    struct planning p = { .collection = &c, .rule = &r->rule, .plan = c.plan };
    struct reminder next;
    bool found = reminder_next(&r->rule, r->zone, c.due_ms, r->now_ms, &next);
    enum err e;

    c.reminder_ms = r->walk.at_ms;
    e = reminder_store(r->tx, r->payments, &p, found ? &next : NULL, r->now_ms);
    if (e == ERR_NOT_FOUND)
        return is_rows_own(r) ? ERR_STALE : OK;
    return e;
}

static enum err reminder_step(struct remind *r)
{
    struct reminder due;
    bool more = false;
    enum err e = OK;

    if (is_due(r, &due)) {
        if (due.day != r->walk.day)
            r->walk.has_after = false; /* a newer one: for all of them */
        r->walk.day = due.day;
        e = tell_page(r, &due, &more);
    }
    if (e)
        return e;
    return more ? add_walk(r->tx, r->payments, &r->walk, r->now_ms, r->now_ms) : plan_next(r);
}

/* --- the job --- */

/* NOT_FOUND: there is nothing to do for this message any more. */
static enum err open_plan(struct remind *r)
{
    struct collection *c = &r->collection;
    enum err e = collection_read(r->tx, r->walk.collection, c);

    if (e)
        return e;
    if (c->plan != r->walk.plan || !c->due_ms)
        return ERR_NOT_FOUND;
    return reminder_rule_read(c->rule, &r->rule) ? OK : ERR_INTERNAL;
}

/* A zone that is not here (any more) may come back with the next update of the system's data: until
 * nothing could be told any more. */
static enum err look_later(struct remind *r)
{
    const struct collection *c = &r->collection;
    struct planning over = { .collection = c, .rule = &r->rule, .plan = c->plan };
    enum err e;

    if (!is_rows_own(r))
        return OK;
    if (r->now_ms > c->due_ms + REMINDERS_END_MS) {
        e = reminder_store(r->tx, r->payments, &over, NULL, r->now_ms);
        return e == ERR_NOT_FOUND ? ERR_STALE : e;
    }
    LOG(r->payments->runtime.env->log, LOG_WARN, "A collection's time zone is not known here",
        LOG_TEXT("timeZone", r->collection.time_zone));
    return add_walk(r->tx, r->payments, &r->walk, r->now_ms, r->now_ms + ZONE_AGAIN_MS);
}

static enum err with_zone(struct remind *r, enum err (*act)(struct remind *r))
{
    enum err e = open_plan(r);

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    e = zone_load(r->collection.time_zone, &r->zone);
    if (e == ERR_NOT_FOUND || e == ERR_VALIDATION)
        return look_later(r);
    if (e)
        return e;
    arena_init(&r->arena, TELL_ARENA);
    e = act(r);
    arena_release(&r->arena);
    r->zone = zone_free(r->zone);
    return e;
}

static enum err reminder_run(struct tx *tx, const struct message *m, void *ctx, struct why *why)
{
    struct payments *pp = ctx;
    struct remind r = { .tx = tx, .payments = pp, .now_ms = env_now_ms(pp->runtime.env) };

    if (!read_walk(m, &r.walk))
        return why_err(why, ERR_VALIDATION, "the message names no collection, or no place in it");
    return with_zone(&r, reminder_step);
}

/* One reminder is lost; those behind it are not. */
static enum err reminder_buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    struct payments *pp = ctx;
    struct remind r = { .tx = tx, .payments = pp, .now_ms = env_now_ms(pp->runtime.env) };

    (void)why;
    return read_walk(m, &r.walk) ? with_zone(&r, plan_next) : OK;
}

struct job_kind reminder_kind(struct payments *pp)
{
    return (struct job_kind){ .name = "collection.remind",
                              .run = reminder_run,
                              .ctx = pp,
                              .retry = retry_table[RETRY_PLANNED],
                              .buried = reminder_buried };
}
