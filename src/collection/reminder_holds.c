/* reminder_holds.c - the check just before a reminder is sent. Hours may have passed since it was
 * written, for example because the mail server was down, and the organizer may have changed the
 * collection. */
#include "base/json/json.h"
#include "base/time/zone.h"
#include "collection/reminder.h"
#include "domain/reminder.h"
#include "store/values.h"

#define DAY_MS INT64_C(86400000)

struct held_reminder {
    struct str name; /* "2026-11-20:-3", as in reminder_name() */
    int64_t day, made_ms;
    struct str data;
    /* the present state */
    int64_t amount, due_ms;
    struct str currency, zone, rule;
};

/* The dedupe key is "<participant>:<type>:<name>". */
static bool held_reminder_read(const struct row *row, struct held_reminder *ret)
{
    const struct val *v = row->col;
    struct str rest = v[0].s;

    str_cut(&rest, ':');
    str_cut(&rest, ':');
    *ret = (struct held_reminder){ .name = rest,
                                   .data = v[1].s,
                                   .made_ms = v[2].i,
                                   .amount = v[3].i,
                                   .currency = v[4].s,
                                   .due_ms = v[5].i,
                                   .zone = v[6].s,
                                   .rule = v[7].type == VAL_TEXT ? v[7].s : S("") };
    str_cut(&rest, ':');
    return str_to_i64(rest, &ret->day);
}

static bool holds_money(const struct held_reminder *l)
{
    static const char *const paths[] = { "amount", "currency" };
    struct json_value v[COUNT(paths)];
    int64_t amount;

    return !json_pick(l->data, paths, COUNT(paths), v, NULL) && v[0].type == JSON_NUMBER &&
           str_to_i64(v[0].raw, &amount) && amount == l->amount && v[1].type == JSON_STRING &&
           str_eq(v[1].raw, l->currency);
}

static bool holds_plan(const struct held_reminder *l)
{
    struct reminder_rule rule;

    return reminder_rule_read(l->rule, &rule) && reminder_rule_has(&rule, l->day);
}

static bool holds_date(const struct held_reminder *l, const struct zone *z, int64_t now_ms)
{
    char name[REMINDER_DATE_MAX + 1];

    return str_eq(reminder_name(z, l->due_ms, (int)l->day, name), l->name) &&
           reminder_is_true(z, l->due_ms, l->made_ms, now_ms);
}

/* A time zone that is unknown here may be known to another node, so the reminder waits (OVERLOADED),
 * for the day that it may be late. */
enum err reminder_holds(struct tx *tx, struct uuid notification, int64_t now_ms, bool *ret_holds)
{
    struct zone *z = NULL;
    struct held_reminder l;
    struct row row;
    enum err e = TX_ROW(tx, STMT_reminder_owed, &row, v_uuid(&notification));

    *ret_holds = false;
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    if (!held_reminder_read(&row, &l) || now_ms - l.made_ms >= DAY_MS || !holds_money(&l) ||
        !holds_plan(&l))
        return OK;
    e = zone_load(l.zone, &z);
    if (e)
        return e == ERR_NOT_FOUND || e == ERR_VALIDATION ? ERR_OVERLOADED : e;
    *ret_holds = holds_date(&l, z, now_ms);
    zone_free(z);
    return OK;
}
