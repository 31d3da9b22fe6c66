/* reminder_plan.c - which reminders a collection has: by its own rule, or by the server's.
 *
 * The rule of a plan is stored with it, so a node with other settings that runs its messages does not
 * change the plan. The server's rule is read when a plan is made. A node that starts gives its rule,
 * page by page, to all collections without one of their own; it writes nothing where that is the rule
 * already, or where it does not know the time zone. A crash leaves the message of the next page. */
#include "base/json/json.h"
#include "base/limits.h"
#include "base/time/zone.h"
#include "collection/reminder_rows.h"
#include "domain/day.h"
#include "observe/log.h"
#include "payment/rows.h"

#include <stdio.h>

enum { BODY_MAX = 192 };

/* --- one collection --- */

static bool collection_rule(const struct payments *pp, const struct collection *c,
                            struct reminder_rule *ret_rule)
{
    struct reminder_rule r = { 0 };

    if (!c->has_reminders) {
        *ret_rule = pp->reminders;
        return true;
    }
    if (!reminder_days_read(c->reminder_days, &r) ||
        !reminder_time_read(c->reminder_time, &r.minute))
        return false;
    *ret_rule = r;
    return true;
}

static bool is_same_rule(const struct reminder_rule *a, const struct reminder_rule *b)
{
    char x[REMINDER_RULE_MAX + 1], y[REMINDER_RULE_MAX + 1];

    return str_eq(reminder_rule_text(a, x), reminder_rule_text(b, y));
}

static bool is_same_day(struct str zone, int64_t a_ms, int64_t b_ms)
{
    struct zone *z = NULL;
    bool same;

    if (a_ms == b_ms)
        return true;
    if (!a_ms || !b_ms || zone_load(zone, &z))
        return false;
    same = day_at(z, a_ms) == day_at(z, b_ms);
    zone_free(z);
    return same;
}

bool reminders_differ(const struct payments *pp, const struct collection *a,
                      const struct collection *b)
{
    struct reminder_rule x, y;

    if (!collection_rule(pp, a, &x) || !collection_rule(pp, b, &y) || !is_same_rule(&x, &y))
        return true;
    return !str_eq(a->time_zone, b->time_zone) || !is_same_day(a->time_zone, a->due_ms, b->due_ms);
}

/* The time from which the plan counts. Reminders that are being sent right now are planned again: the
 * participants who have got theirs do not get it twice, and the others get it. */
static int64_t plans_from(const struct collection *c, int64_t now_ms)
{
    bool under_way = c->reminder_ms && c->reminder_ms <= now_ms && now_ms - c->reminder_ms < DAY_MS;

    return under_way ? c->reminder_ms - 1 : now_ms;
}

/* NOT_FOUND: the time zone is unknown here. */
static enum err plan_find_next(struct payments *pp, const struct collection *c,
                               const struct reminder_rule *rule, int64_t now_ms, bool *ret_found,
                               struct reminder *ret_next)
{
    struct zone *z = NULL;
    enum err e;

    *ret_found = false;
    if (!c->due_ms || !rule->count)
        return OK;
    e = zone_load(c->time_zone, &z);
    if (!e)
        *ret_found = reminder_next(rule, z, c->due_ms, plans_from(c, now_ms), ret_next);
    zone_free(z);
    if (e != ERR_NOT_FOUND && e != ERR_VALIDATION)
        return e;
    LOG(pp->runtime.env->log, LOG_WARN,
        "Reminders stay as they are: their time zone is not known here",
        LOG_TEXT("timeZone", c->time_zone));
    return ERR_NOT_FOUND;
}

static enum err plan_store(struct tx *tx, struct payments *pp, const struct collection *c,
                           const struct reminder_rule *rule, int64_t now_ms)
{
    struct planning p = { .collection = c, .rule = rule, .plan = c->plan + 1 };
    struct reminder next;
    bool found;
    enum err e = plan_find_next(pp, c, rule, now_ms, &found, &next);

    return e ? e : reminder_store(tx, pp, &p, found ? &next : NULL, now_ms);
}

enum err reminder_plan(struct tx *tx, struct payments *pp, const struct collection *c,
                       int64_t now_ms)
{
    struct reminder_rule rule;
    enum err e;

    if (!collection_rule(pp, c, &rule))
        return ERR_INTERNAL;
    e = plan_store(tx, pp, c, &rule, now_ms);
    return e == ERR_NOT_FOUND ? ERR_STALE : e;
}

/* --- all collections by the server's rule --- */

struct server_rule_scan {
    struct reminder_rule rule;
    int64_t due_ms; /* the scan's place */
    bool has_after;
    struct uuid after;
};

static enum err scan_add_message(struct tx *tx, struct payments *pp,
                                 const struct server_rule_scan *s, int64_t now_ms)
{
    struct queue_new m = { .id = env_uuid(tx_env(tx)),
                           .kind = S("collection.plan"),
                           .due_ms = now_ms };
    char rule[REMINDER_RULE_MAX + 1], after[UUID_TEXT + 1] = "", body[BODY_MAX];

    reminder_rule_text(&s->rule, rule);
    if (s->has_after)
        uuid_text(s->after, after);
    snprintf(body, sizeof(body), "{\"rule\":\"%s\",\"due\":%lld,\"after\":\"%s\"}", rule,
             (long long)s->due_ms, after);
    m.body = str_of(body);
    return queue_add(pp->runtime.queue, tx, now_ms, &m, 1);
}

static bool scan_read_message(const struct message *m, struct server_rule_scan *ret)
{
    static const char *const paths[] = { "rule", "due", "after" };
    struct json_value v[COUNT(paths)];

    if (json_pick(m->body, paths, COUNT(paths), v, NULL) || v[0].type != JSON_STRING ||
        !reminder_rule_read(v[0].raw, &ret->rule) || v[1].type != JSON_NUMBER ||
        !str_to_i64(v[1].raw, &ret->due_ms) || v[2].type != JSON_STRING)
        return false;
    ret->has_after = v[2].raw.n;
    return !ret->has_after || uuid_parse(v[2].raw, &ret->after);
}

struct plan_page {
    struct str rule;
    size_t looked_at;
    struct collection last; /* the last that was looked at */
    struct collection all[LIMIT_REMINDED];
    size_t n;
};

/* Adds the collections without a rule of their own whose plan has another rule. Collections that find
 * no room are left to the next page. */
static enum err plan_page_add(void *ctx, const struct row *row)
{
    struct plan_page *g = ctx;
    enum err e = OK;

    if (g->n == LIMIT_REMINDED)
        return OK;
    e = collection_of_row(row, &g->last);
    g->looked_at++;
    if (!e && !g->last.has_reminders && !str_eq(g->last.rule, g->rule))
        g->all[g->n++] = g->last;
    return e;
}

static enum err plan_page_run(struct tx *tx, struct payments *pp, struct server_rule_scan *s,
                              int64_t now_ms)
{
    char rule[REMINDER_RULE_MAX + 1];
    struct plan_page g = { .rule = reminder_rule_text(&s->rule, rule) };
    struct val v[] = { V_INT(s->due_ms), s->has_after ? v_uuid(&s->after) : V_BLOB(S("")),
                       V_INT(LIMIT_PLANS_LOOKED_AT) };
    enum err e = tx_each(tx, STMT_collections_due, v, COUNT(v), plan_page_add, &g);

    for (size_t i = 0; !e && i < g.n; i++) {
        e = plan_store(tx, pp, &g.all[i], &s->rule, now_ms);
        if (e == ERR_NOT_FOUND) /* changed and planned meanwhile, or an unknown time zone */
            e = OK;
    }
    if (e || (g.looked_at < LIMIT_PLANS_LOOKED_AT && g.n < LIMIT_REMINDED))
        return e;
    s->due_ms = g.last.due_ms;
    s->has_after = true;
    s->after = g.last.id;
    return scan_add_message(tx, pp, s, now_ms);
}

enum err reminder_start(struct tx *tx, struct payments *pp, int64_t now_ms)
{
    struct server_rule_scan s = { .rule = pp->reminders, .due_ms = now_ms - REMINDERS_END_MS };

    return plan_page_run(tx, pp, &s, now_ms);
}

static enum err reminder_plan_run(struct tx *tx, const struct message *m, void *ctx,
                                  struct why *why)
{
    struct payments *pp = ctx;
    struct server_rule_scan s = { .due_ms = 0 };

    if (scan_read_message(m, &s))
        return plan_page_run(tx, pp, &s, env_now_ms(pp->runtime.env));
    return why_err(why, ERR_VALIDATION, "the message has no rule, or no place to go on from");
}

struct job_kind reminder_plan_kind(struct payments *pp)
{
    return (struct job_kind){ .name = "collection.plan",
                              .run = reminder_plan_run,
                              .ctx = pp,
                              .retry = retry_table[RETRY_PLANNED] };
}
