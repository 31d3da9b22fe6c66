/* collection.c - what a collection is, and what may be changed of it.
 *
 *   put --> lock the collection --> lock the participants that are named --> who of them pays?
 *             |                        |                                        |
 *         not the owner's: 403     another collection's: 422    another amount: 422
 *                                                       '--> store what differs, in as few
 *                                                            statements as it takes
 *
 * A refusal is an error of the unit, which rolls back: nothing is changed by half. PostgreSQL: a
 * payment begins under the participant's lock (participant.c), so whoever is seen not to pay here
 * does not begin before the commit. */
#include "collection/collection.h"

#include "base/limits.h"
#include "base/time/zone.h"
#include "collection/reminder.h"
#include "payment/rows.h"

#include <stdlib.h>
#include <string.h>

/* --- rows --- */

static bool take_uuid(const struct val *v, struct uuid *ret_id)
{
    return v->type == VAL_BLOB && uuid_of_bytes(v->s, ret_id);
}

static bool take_currency(const struct val *v, char ret[4])
{
    return currency_parse(v->s, ret);
}

static struct str take_text(const struct val *v)
{
    return v->type == VAL_TEXT ? v->s : (struct str){ 0 };
}

static int64_t take_time(const struct val *v)
{
    return v->type == VAL_INT ? v->i : 0;
}

enum err collection_of_row(const struct row *row, struct collection *ret)
{
    const struct val *v = row->col;
    struct collection c = { .title = take_text(&v[2]),
                            .description = take_text(&v[3]),
                            .due_ms = take_time(&v[5]),
                            .time_zone = take_text(&v[6]),
                            .created_ms = v[7].i,
                            .updated_ms = v[8].i,
                            .has_reminders = v[9].type == VAL_TEXT,
                            .reminder_days = take_text(&v[9]),
                            .reminder_time = take_text(&v[10]),
                            .plan = v[11].i,
                            .rule = take_text(&v[12]),
                            .reminder_ms = take_time(&v[13]) };

    if (!take_uuid(&v[0], &c.id) || !take_uuid(&v[1], &c.owner) ||
        !take_currency(&v[4], c.currency))
        return ERR_INTERNAL;
    *ret = c;
    return OK;
}

enum err collection_read(struct tx *tx, struct uuid id, struct collection *ret)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_collection_get, &row, v_uuid(&id));

    return e ? e : collection_of_row(&row, ret);
}

enum err participant_of_row(const struct row *row, struct participant *ret)
{
    const struct val *v = row->col;
    struct participant p = { .name = take_text(&v[2]),
                             .email = take_text(&v[3]),
                             .amount = v[5].i,
                             .paid = str_eq(v[6].s, S("paid")),
                             .paid_amount = minor_of(&v[7]),
                             .refunded_amount = minor_of(&v[8]),
                             .paid_ms = take_time(&v[9]),
                             .created_ms = v[10].i,
                             .updated_ms = v[11].i,
                             .title = take_text(&v[13]) };

    p.has_user = take_uuid(&v[4], &p.user);
    p.has_payment = take_uuid(&v[15], &p.payment);
    if (!take_uuid(&v[0], &p.id) || !take_uuid(&v[1], &p.collection) ||
        !take_uuid(&v[12], &p.owner) || !take_currency(&v[14], p.currency))
        return ERR_INTERNAL;
    *ret = p;
    return OK;
}

enum err participant_read(struct tx *tx, struct uuid id, struct participant *ret)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_participant_get, &row, v_uuid(&id));

    return e ? e : participant_of_row(&row, ret);
}

/* The collection comes first, as in collection_put(): or the two could wait for each other. */
enum err participant_hold(struct tx *tx, struct uuid id, struct participant *ret)
{
    struct participant p;
    struct row row;
    enum err e = participant_read(tx, id, &p);

    if (!e)
        e = TX_ROW(tx, STMT_collection_hold, &row, v_uuid(&p.collection));
    if (!e)
        e = TX_ROW(tx, STMT_participant_lock, &row, v_uuid(&id));
    return e ? e : participant_of_row(&row, ret);
}

bool participant_is_of(const struct participant *p, struct uuid who)
{
    return uuid_eq(p->owner, who) || (p->has_user && uuid_eq(p->user, who));
}

/* --- the collection itself --- */

struct putting {
    struct tx *tx;
    struct payments *payments;
    struct arena *arena;
    const struct collection_input *in;
    int64_t now_ms;
    struct collection_person *people; /* as many as are named, in their order */
    struct collection_result *result;
};

struct collection_person { /* what is known of somebody who is named */
    const struct participant_input *in;
    bool known, same, other_amount, elsewhere, paid, pays;
    struct str old_email; /* empty: it stays; lives as long as the unit */
};

static enum err collection_refuse(struct putting *s, enum collection_refusal why,
                                  const struct participant_input *who)
{
    s->result->refusal = why;
    s->result->has_participant = who;
    if (who)
        s->result->participant = who->id;
    return ERR_UNPROCESSABLE;
}

static struct val v_due(const struct collection_input *in)
{
    return in->due_ms ? V_INT(in->due_ms) : V_NULL;
}

static struct val v_own(const struct collection_input *in, struct str reminders)
{
    return in->has_reminders ? V_TEXT(reminders) : V_NULL;
}

/* What reminders are made of, as the input has it. */
static void take_reminders(struct collection *c, const struct collection_input *in)
{
    c->id = in->id;
    c->time_zone = in->time_zone;
    c->due_ms = in->due_ms;
    c->has_reminders = in->has_reminders;
    c->reminder_days = in->reminder_days;
    c->reminder_time = in->reminder_time;
}

/* CONFLICT: somebody added it since we looked. */
static enum err add_collection(struct putting *s)
{
    const struct collection_input *in = s->in;
    struct collection c = { .plan = 0 };
    struct row row;
    enum err e = TX_ROW(s->tx, STMT_collection_add, &row, v_uuid(&in->id), v_uuid(&in->owner),
                        V_TEXT(in->title), v_text(in->description), V_TEXT(str_of(in->currency)),
                        v_due(in), V_TEXT(in->time_zone), v_own(in, in->reminder_days),
                        v_own(in, in->reminder_time), V_INT(s->now_ms));

    s->result->put = COLLECTION_MADE;
    if (e)
        return e == ERR_NOT_FOUND ? ERR_CONFLICT : e;
    take_reminders(&c, in);
    return reminder_plan(s->tx, s->payments, &c, s->now_ms);
}

static enum err check_currency(struct putting *s)
{
    struct row row;
    enum err e = TX_ROW(s->tx, STMT_collection_has_money, &row, v_uuid(&s->in->id));

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    return collection_refuse(s, REFUSED_CURRENCY, NULL);
}

static bool is_same(const struct collection *c, const struct collection_input *in)
{
    return str_eq(c->title, in->title) && str_eq(c->description, in->description) &&
           str_eq(c->time_zone, in->time_zone) && strcmp(c->currency, in->currency) == 0 &&
           c->due_ms == in->due_ms && c->has_reminders == in->has_reminders &&
           (!c->has_reminders || (str_eq(c->reminder_days, in->reminder_days) &&
                                  str_eq(c->reminder_time, in->reminder_time)));
}

static enum err plan_anew(struct putting *s, const struct collection *before)
{
    struct collection c = *before;

    take_reminders(&c, s->in);
    if (!reminders_differ(s->payments, before, &c))
        return OK;
    return reminder_plan(s->tx, s->payments, &c, s->now_ms);
}

static enum err change_collection(struct putting *s, const struct collection *c)
{
    const struct collection_input *in = s->in;
    enum err e = OK;

    s->result->put = is_same(c, in) ? COLLECTION_UNCHANGED : COLLECTION_CHANGED;
    if (s->result->put == COLLECTION_UNCHANGED)
        return OK;
    if (strcmp(c->currency, in->currency) != 0)
        e = check_currency(s);
    if (e)
        return e;
    e = TX_DO(s->tx, STMT_collection_store, 1, V_TEXT(in->title), v_text(in->description),
              V_TEXT(str_of(in->currency)), v_due(in), V_TEXT(in->time_zone),
              v_own(in, in->reminder_days), v_own(in, in->reminder_time), V_INT(s->now_ms),
              v_uuid(&in->id));
    return e ? e : plan_anew(s, c);
}

static enum err lock_collection(struct putting *s, struct collection *ret)
{
    struct row row;
    enum err e = TX_ROW(s->tx, STMT_collection_lock, &row, v_uuid(&s->in->id));

    return e ? e : collection_of_row(&row, ret);
}

static enum err put_collection(struct putting *s, bool may_any)
{
    struct collection c;
    enum err e = lock_collection(s, &c);

    if (e == ERR_NOT_FOUND) {
        e = add_collection(s);
        if (e != ERR_CONFLICT)
            return e;
        e = lock_collection(s, &c); /* two at once: the other one was first, and is committed */
    }
    if (e)
        return e;
    return may_any || uuid_eq(c.owner, s->in->owner) ? change_collection(s, &c) : ERR_FORBIDDEN;
}

/* --- its participants --- */

/* The statement over all people for whom `fill` has values, LIMIT_STATEMENT_ROWS at a time. */
static enum err for_people(struct putting *s, enum stmt stmt, size_t columns,
                           bool (*fill)(const struct putting *s, const struct collection_person *p,
                                        struct val *ret_values),
                           tx_each_fn each)
{
    size_t count = s->in->participant_count, rows = 0;
    size_t room = count < LIMIT_STATEMENT_ROWS ? count + 1 : LIMIT_STATEMENT_ROWS;
    struct val *values = arena_alloc(s->arena, room * columns, sizeof(*values));
    enum err e = OK;

    if (!values)
        return ERR_NO_MEMORY;
    for (size_t i = 0; !e && i < count; i++) {
        rows += fill(s, &s->people[i], &values[rows * columns]);
        if (rows < LIMIT_STATEMENT_ROWS)
            continue;
        e = tx_bulk(s->tx, stmt, values, rows, columns, each, s);
        rows = 0;
    }
    return e ? e : tx_bulk(s->tx, stmt, values, rows, columns, each, s);
}

static int compare_person(const void *id, const void *person)
{
    const struct collection_person *p = person;

    return memcmp(((const struct uuid *)id)->b, p->in->id.b, sizeof(p->in->id.b));
}

static struct collection_person *person_of(struct putting *s, const struct val *id)
{
    struct uuid wanted;

    if (!take_uuid(id, &wanted))
        return NULL;
    return bsearch(&wanted, s->people, s->in->participant_count, sizeof(*s->people),
                   compare_person);
}

static bool all_ids(const struct putting *s, const struct collection_person *p, struct val *ret)
{
    (void)s;
    ret[0] = v_uuid(&p->in->id);
    return true;
}

static enum err collection_learn(void *ctx, const struct row *row)
{
    struct putting *s = ctx;
    const struct val *v = row->col;
    struct collection_person *p = person_of(s, &v[0]);
    struct uuid collection, user;
    bool has_user = take_uuid(&v[4], &user);

    if (!p || !take_uuid(&v[1], &collection))
        return ERR_INTERNAL;
    p->known = true;
    p->elsewhere = !uuid_eq(collection, s->in->id);
    p->other_amount = v[5].i != p->in->amount;
    p->paid = str_eq(v[6].s, S("paid"));
    if (!str_eq(take_text(&v[3]), p->in->email))
        p->old_email = take_text(&v[3]);
    p->same = !p->other_amount && str_eq(take_text(&v[2]), p->in->name) &&
              str_eq(take_text(&v[3]), p->in->email) && has_user == p->in->has_user &&
              (!has_user || uuid_eq(user, p->in->user));
    return OK;
}

static bool ids_with_other_amount(const struct putting *s, const struct collection_person *p,
                                  struct val *ret)
{
    (void)s;
    ret[0] = v_uuid(&p->in->id);
    return p->known && p->other_amount;
}

static enum err note_payer(void *ctx, const struct row *row)
{
    struct collection_person *p = person_of(ctx, &row->col[0]);

    if (!p)
        return ERR_INTERNAL;
    p->pays = true;
    return OK;
}

static enum err check_people(struct putting *s)
{
    for (size_t i = 0; i < s->in->participant_count; i++) {
        const struct collection_person *p = &s->people[i];

        if (p->elsewhere)
            return collection_refuse(s, REFUSED_ELSEWHERE, p->in);
        if (p->known && p->other_amount && (p->paid || p->pays))
            return collection_refuse(s, REFUSED_AMOUNT, p->in);
    }
    return OK;
}

enum { PUT_COLUMNS = 7 };

static bool what_differs(const struct putting *s, const struct collection_person *p,
                         struct val *ret)
{
    const struct participant_input *in = p->in;

    if (p->same)
        return false;
    ret[0] = v_uuid(&in->id);
    ret[1] = v_uuid(&s->in->id);
    ret[2] = V_TEXT(in->name);
    ret[3] = v_text(in->email);
    ret[4] = in->has_user ? v_uuid(&in->user) : V_NULL;
    ret[5] = V_INT(in->amount);
    ret[6] = V_INT(s->now_ms);
    return true;
}

enum { MOVED_COLUMNS = 2 };

static bool who_moved(const struct putting *s, const struct collection_person *p, struct val *ret)
{
    (void)s;
    ret[0] = v_uuid(&p->in->id);
    ret[1] = V_TEXT(p->old_email);
    return p->old_email.n > 0;
}

/* Known from here on, and ours: another collection may have been faster with somebody new. */
static enum err note_stored(void *ctx, const struct row *row)
{
    struct collection_person *p = person_of(ctx, &row->col[0]);

    if (!p)
        return ERR_INTERNAL;
    p->known = p->same = true;
    return OK;
}

static enum err store_people(struct putting *s)
{
    bool changes = false;
    enum err e;

    for (size_t i = 0; i < s->in->participant_count; i++)
        changes |= !s->people[i].same;
    if (!changes)
        return OK;
    if (s->result->put == COLLECTION_UNCHANGED)
        s->result->put = COLLECTION_CHANGED;
    e = for_people(s, STMT_participant_put, PUT_COLUMNS, what_differs, note_stored);
    for (size_t i = 0; !e && i < s->in->participant_count; i++)
        if (!s->people[i].same)
            e = collection_refuse(s, REFUSED_ELSEWHERE, s->people[i].in);
    return e ? e : for_people(s, STMT_sends_moved, MOVED_COLUMNS, who_moved, NULL);
}

static enum err check_count(struct putting *s)
{
    struct row row;
    enum err e = TX_ROW(s->tx, STMT_collection_totals, &row, v_uuid(&s->in->id));

    return !e && row.col[0].i > PARTICIPANTS_MAX ? collection_refuse(s, REFUSED_TOO_MANY, NULL) : e;
}

static enum err put_people(struct putting *s)
{
    size_t n = s->in->participant_count;
    enum err e;

    s->people = arena_alloc(s->arena, n ? n : 1, sizeof(*s->people));
    if (!s->people)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        s->people[i].in = &s->in->participants[i];
    e = for_people(s, STMT_participants_known, 1, all_ids, collection_learn);
    if (!e)
        e = for_people(s, STMT_participants_paying, 1, ids_with_other_amount, note_payer);
    if (!e)
        e = check_people(s);
    if (!e)
        e = store_people(s);
    return e ? e : check_count(s);
}

/* Here, since it may read a file: a thread of the store can wait for that. */
static enum err check_zone(struct putting *s)
{
    struct zone *z = NULL;
    enum err e = zone_load(s->in->time_zone, &z);

    zone_free(z);
    return e == ERR_NOT_FOUND || e == ERR_VALIDATION ? collection_refuse(s, REFUSED_ZONE, NULL) : e;
}

enum err collection_put(struct tx *tx, struct payments *pp, struct arena *a,
                        const struct collection_input *in, bool may_any, int64_t now_ms,
                        struct collection_result *ret_result)
{
    struct putting s = {
        .tx = tx, .payments = pp, .arena = a, .in = in, .now_ms = now_ms, .result = ret_result
    };
    enum err e;

    *ret_result = (struct collection_result){ 0 };
    e = check_zone(&s);
    if (!e)
        e = put_collection(&s, may_any);
    return e ? e : put_people(&s);
}
