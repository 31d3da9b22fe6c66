/* reminder_holds.c - the last look at a reminder, just before it is sent: between its words and now
 * there may be hours, in which a mail server was away and the organiser was not. */
#include "base/json/json.h"
#include "base/time/zone.h"
#include "collection/reminder.h"
#include "domain/reminder.h"
#include "store/values.h"

#define DAY_MS INT64_C(86400000)

struct look {
    struct str name; /* "2026-11-20:-3", as in reminder_name() */
    int64_t day, made_ms;
    struct str data;
    /* as they are now */
    int64_t amount, due_ms;
    struct str currency, zone, rule;
};

/* The name stands behind the participant and the type. */
static bool read_look(const struct row *row, struct look *ret)
{
    const struct val *v = row->col;
    struct str rest = v[0].s;

    str_cut(&rest, ':');
    str_cut(&rest, ':');
    *ret = (struct look){ .name = rest,
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

static bool is_same_money(const struct look *l)
{
    static const char *const paths[] = { "amount", "currency" };
    struct json_value v[COUNT(paths)];
    int64_t amount;

    return !json_pick(l->data, paths, COUNT(paths), v, NULL) && v[0].type == JSON_NUMBER &&
           str_to_i64(v[0].raw, &amount) && amount == l->amount && v[1].type == JSON_STRING &&
           str_eq(v[1].raw, l->currency);
}

static bool is_still_planned(const struct look *l)
{
    struct reminder_rule rule;

    return reminder_rule_read(l->rule, &rule) && reminder_rule_has(&rule, l->day);
}

static bool is_same_date(const struct look *l, const struct zone *z, int64_t now_ms)
{
    char name[REMINDER_DATE_MAX + 1];

    return str_eq(reminder_name(z, l->due_ms, (int)l->day, name), l->name) &&
           reminder_is_true(z, l->due_ms, l->made_ms, now_ms);
}

/* Where the zone is not known, another node may know it: that is waited for, for the day that a
 * reminder lives. */
enum err reminder_holds(struct tx *tx, struct uuid notification, int64_t now_ms, bool *ret_holds)
{
    struct zone *z = NULL;
    struct look l;
    struct row row;
    enum err e = TX_ROW(tx, STMT_reminder_owed, &row, v_uuid(&notification));

    *ret_holds = false;
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    if (!read_look(&row, &l) || now_ms - l.made_ms >= DAY_MS || !is_same_money(&l) ||
        !is_still_planned(&l))
        return OK;
    e = zone_load(l.zone, &z);
    if (e)
        return e == ERR_NOT_FOUND || e == ERR_VALIDATION ? ERR_OVERLOADED : e;
    *ret_holds = is_same_date(&l, z, now_ms);
    zone_free(z);
    return OK;
}
