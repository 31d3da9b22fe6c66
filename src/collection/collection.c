/* collection.c - collections and participants as rows, and the changes of a collection.
 *
 *   put --> lock the collection --> lock the named participants --> which of them are paying?
 *             |                        |                                  |
 *         not the owner's: 403     another collection's: 422    another amount: 422
 *                                                       '--> store what differs, in bulk statements
 *
 *   (1) A rejected change is an error of the unit of work, which rolls back: all or nothing is stored.
 *   (2) PostgreSQL: a payment begins under the participant's lock (participant.c), so a participant
 *       that is seen not to pay cannot begin before this transaction commits.
 *
 * A crash before the commit leaves nothing; the request is sent again. */
#include "collection/collection.h"

#include "base/limits.h"
#include "base/time/zone.h"
#include "collection/reminder.h"
#include "payment/rows.h"

#include <stdlib.h>
#include <string.h>

/* --- rows --- */

static bool row_uuid(const struct val *v, struct uuid *ret_id)
{
    return v->type == VAL_BLOB && uuid_of_bytes(v->s, ret_id);
}

static bool row_currency(const struct val *v, char ret[4])
{
    return currency_parse(v->s, ret);
}

static struct str row_text(const struct val *v)
{
    return v->type == VAL_TEXT ? v->s : (struct str){ 0 };
}

static int64_t row_time(const struct val *v)
{
    return v->type == VAL_INT ? v->i : 0;
}

enum err collection_of_row(const struct row *row, struct collection *ret)
{
    const struct val *v = row->col;
    struct collection c = { .title = row_text(&v[2]),
                            .description = row_text(&v[3]),
                            .due_ms = row_time(&v[5]),
                            .time_zone = row_text(&v[6]),
                            .created_ms = v[7].i,
                            .updated_ms = v[8].i,
                            .has_reminders = v[9].type == VAL_TEXT,
                            .reminder_days = row_text(&v[9]),
                            .reminder_time = row_text(&v[10]),
                            .plan = v[11].i,
                            .rule = row_text(&v[12]),
                            .reminder_ms = row_time(&v[13]) };

    if (!row_uuid(&v[0], &c.id) || !row_uuid(&v[1], &c.owner) || !row_currency(&v[4], c.currency))
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
    struct participant p = { .name = row_text(&v[2]),
                             .email = row_text(&v[3]),
                             .amount = v[5].i,
                             .paid = str_eq(v[6].s, S("paid")),
                             .paid_amount = minor_of(&v[7]),
                             .refunded_amount = minor_of(&v[8]),
                             .paid_ms = row_time(&v[9]),
                             .created_ms = v[10].i,
                             .updated_ms = v[11].i,
                             .title = row_text(&v[13]) };

    p.has_user = row_uuid(&v[4], &p.user);
    p.has_payment = row_uuid(&v[15], &p.payment);
    if (!row_uuid(&v[0], &p.id) || !row_uuid(&v[1], &p.collection) || !row_uuid(&v[12], &p.owner) ||
        !row_currency(&v[14], p.currency))
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

/* Locks the collection first, as collection_put() does, so that the two never wait for each other. */
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

struct put_context {
    struct tx *tx;
    struct payments *payments;
    struct arena *arena;
    const struct collection_input *in;
    int64_t now_ms;
    struct named_person *people; /* the named participants, in their order */
    struct collection_result *result;
};

struct named_person { /* a named participant, and what is stored of it */
    const struct participant_input *in;
    bool known, same, other_amount, elsewhere, paid, pays;
    struct str old_email; /* empty: unchanged; lives as long as the unit of work */
};

static enum err put_reject(struct put_context *s, enum collection_refusal why,
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

static struct val v_reminders(const struct collection_input *in, struct str reminders)
{
    return in->has_reminders ? V_TEXT(reminders) : V_NULL;
}

/* Sets the fields on which reminders depend. */
static void collection_take_reminders(struct collection *c, const struct collection_input *in)
{
    c->id = in->id;
    c->time_zone = in->time_zone;
    c->due_ms = in->due_ms;
    c->has_reminders = in->has_reminders;
    c->reminder_days = in->reminder_days;
    c->reminder_time = in->reminder_time;
}

/* CONFLICT: another transaction has added it meanwhile. */
static enum err put_add_collection(struct put_context *s)
{
    const struct collection_input *in = s->in;
    struct collection c = { .plan = 0 };
    struct row row;
    enum err e = TX_ROW(s->tx, STMT_collection_add, &row, v_uuid(&in->id), v_uuid(&in->owner),
                        V_TEXT(in->title), v_text(in->description), V_TEXT(str_of(in->currency)),
                        v_due(in), V_TEXT(in->time_zone), v_reminders(in, in->reminder_days),
                        v_reminders(in, in->reminder_time), V_INT(s->now_ms));

    s->result->put = COLLECTION_MADE;
    if (e)
        return e == ERR_NOT_FOUND ? ERR_CONFLICT : e;
    collection_take_reminders(&c, in);
    return reminder_plan(s->tx, s->payments, &c, s->now_ms);
}

static enum err put_check_currency(struct put_context *s)
{
    struct row row;
    enum err e = TX_ROW(s->tx, STMT_collection_has_money, &row, v_uuid(&s->in->id));

    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    return put_reject(s, REFUSED_CURRENCY, NULL);
}

static bool collection_is_same(const struct collection *c, const struct collection_input *in)
{
    return str_eq(c->title, in->title) && str_eq(c->description, in->description) &&
           str_eq(c->time_zone, in->time_zone) && strcmp(c->currency, in->currency) == 0 &&
           c->due_ms == in->due_ms && c->has_reminders == in->has_reminders &&
           (!c->has_reminders || (str_eq(c->reminder_days, in->reminder_days) &&
                                  str_eq(c->reminder_time, in->reminder_time)));
}

static enum err put_plan_reminders(struct put_context *s, const struct collection *before)
{
    struct collection c = *before;

    collection_take_reminders(&c, s->in);
    if (!reminders_differ(s->payments, before, &c))
        return OK;
    return reminder_plan(s->tx, s->payments, &c, s->now_ms);
}

static enum err put_change_collection(struct put_context *s, const struct collection *c)
{
    const struct collection_input *in = s->in;
    enum err e = OK;

    s->result->put = collection_is_same(c, in) ? COLLECTION_UNCHANGED : COLLECTION_CHANGED;
    if (s->result->put == COLLECTION_UNCHANGED)
        return OK;
    if (strcmp(c->currency, in->currency) != 0)
        e = put_check_currency(s);
    if (e)
        return e;
    e = TX_DO(s->tx, STMT_collection_store, 1, V_TEXT(in->title), v_text(in->description),
              V_TEXT(str_of(in->currency)), v_due(in), V_TEXT(in->time_zone),
              v_reminders(in, in->reminder_days), v_reminders(in, in->reminder_time),
              V_INT(s->now_ms), v_uuid(&in->id));
    return e ? e : put_plan_reminders(s, c);
}

static enum err put_lock_collection(struct put_context *s, struct collection *ret)
{
    struct row row;
    enum err e = TX_ROW(s->tx, STMT_collection_lock, &row, v_uuid(&s->in->id));

    return e ? e : collection_of_row(&row, ret);
}

static enum err put_collection(struct put_context *s, bool may_any)
{
    struct collection c;
    enum err e = put_lock_collection(s, &c);

    if (e == ERR_NOT_FOUND) {
        e = put_add_collection(s);
        if (e != ERR_CONFLICT)
            return e;
        e = put_lock_collection(s, &c); /* another transaction added it first, and has committed */
    }
    if (e)
        return e;
    return may_any || uuid_eq(c.owner, s->in->owner) ? put_change_collection(s, &c) : ERR_FORBIDDEN;
}

/* --- its participants --- */

/* Runs the statement for all people for whom `fill` gives values, LIMIT_STATEMENT_ROWS at a time. */
static enum err people_bulk(struct put_context *s, enum stmt stmt, size_t columns,
                            bool (*fill)(const struct put_context *s, const struct named_person *p,
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
    const struct named_person *p = person;

    return memcmp(((const struct uuid *)id)->b, p->in->id.b, sizeof(p->in->id.b));
}

static struct named_person *person_find(struct put_context *s, const struct val *id)
{
    struct uuid wanted;

    if (!row_uuid(id, &wanted))
        return NULL;
    return bsearch(&wanted, s->people, s->in->participant_count, sizeof(*s->people),
                   compare_person);
}

static bool fill_id(const struct put_context *s, const struct named_person *p, struct val *ret)
{
    (void)s;
    ret[0] = v_uuid(&p->in->id);
    return true;
}

static enum err person_read(void *ctx, const struct row *row)
{
    struct put_context *s = ctx;
    const struct val *v = row->col;
    struct named_person *p = person_find(s, &v[0]);
    struct uuid collection, user;
    bool has_user = row_uuid(&v[4], &user);

    if (!p || !row_uuid(&v[1], &collection))
        return ERR_INTERNAL;
    p->known = true;
    p->elsewhere = !uuid_eq(collection, s->in->id);
    p->other_amount = v[5].i != p->in->amount;
    p->paid = str_eq(v[6].s, S("paid"));
    if (!str_eq(row_text(&v[3]), p->in->email))
        p->old_email = row_text(&v[3]);
    p->same = !p->other_amount && str_eq(row_text(&v[2]), p->in->name) &&
              str_eq(row_text(&v[3]), p->in->email) && has_user == p->in->has_user &&
              (!has_user || uuid_eq(user, p->in->user));
    return OK;
}

static bool fill_id_if_other_amount(const struct put_context *s, const struct named_person *p,
                                    struct val *ret)
{
    (void)s;
    ret[0] = v_uuid(&p->in->id);
    return p->known && p->other_amount;
}

static enum err person_mark_paying(void *ctx, const struct row *row)
{
    struct named_person *p = person_find(ctx, &row->col[0]);

    if (!p)
        return ERR_INTERNAL;
    p->pays = true;
    return OK;
}

static enum err put_check_people(struct put_context *s)
{
    for (size_t i = 0; i < s->in->participant_count; i++) {
        const struct named_person *p = &s->people[i];

        if (p->elsewhere)
            return put_reject(s, REFUSED_ELSEWHERE, p->in);
        if (p->known && p->other_amount && (p->paid || p->pays))
            return put_reject(s, REFUSED_AMOUNT, p->in);
    }
    return OK;
}

enum { PUT_COLUMNS = 7 };

static bool fill_changed_person(const struct put_context *s, const struct named_person *p,
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

static bool fill_old_email(const struct put_context *s, const struct named_person *p,
                           struct val *ret)
{
    (void)s;
    ret[0] = v_uuid(&p->in->id);
    ret[1] = V_TEXT(p->old_email);
    return p->old_email.n > 0;
}

/* The row is stored. A new person whose row is not may have been added by another collection. */
static enum err person_mark_stored(void *ctx, const struct row *row)
{
    struct named_person *p = person_find(ctx, &row->col[0]);

    if (!p)
        return ERR_INTERNAL;
    p->known = p->same = true;
    return OK;
}

static enum err put_store_people(struct put_context *s)
{
    bool changes = false;
    enum err e;

    for (size_t i = 0; i < s->in->participant_count; i++)
        changes |= !s->people[i].same;
    if (!changes)
        return OK;
    if (s->result->put == COLLECTION_UNCHANGED)
        s->result->put = COLLECTION_CHANGED;
    e = people_bulk(s, STMT_participant_put, PUT_COLUMNS, fill_changed_person, person_mark_stored);
    for (size_t i = 0; !e && i < s->in->participant_count; i++)
        if (!s->people[i].same)
            e = put_reject(s, REFUSED_ELSEWHERE, s->people[i].in);
    return e ? e : people_bulk(s, STMT_sends_moved, MOVED_COLUMNS, fill_old_email, NULL);
}

static enum err put_check_count(struct put_context *s)
{
    struct row row;
    enum err e = TX_ROW(s->tx, STMT_collection_totals, &row, v_uuid(&s->in->id));

    return !e && row.col[0].i > PARTICIPANTS_MAX ? put_reject(s, REFUSED_TOO_MANY, NULL) : e;
}

static enum err put_people(struct put_context *s)
{
    size_t n = s->in->participant_count;
    enum err e;

    s->people = arena_alloc(s->arena, n ? n : 1, sizeof(*s->people));
    if (!s->people)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        s->people[i].in = &s->in->participants[i];
    e = people_bulk(s, STMT_participants_known, 1, fill_id, person_read);
    if (!e)
        e = people_bulk(s, STMT_participants_paying, 1, fill_id_if_other_amount,
                        person_mark_paying);
    if (!e)
        e = put_check_people(s);
    if (!e)
        e = put_store_people(s);
    return e ? e : put_check_count(s);
}

/* Checked in the unit of work because it may read a file, for which a store thread can wait. */
static enum err put_check_zone(struct put_context *s)
{
    struct zone *z = NULL;
    enum err e = zone_load(s->in->time_zone, &z);

    zone_free(z);
    return e == ERR_NOT_FOUND || e == ERR_VALIDATION ? put_reject(s, REFUSED_ZONE, NULL) : e;
}

enum err collection_put(struct tx *tx, struct payments *pp, struct arena *a,
                        const struct collection_input *in, bool may_any, int64_t now_ms,
                        struct collection_result *ret_result)
{
    struct put_context s = {
        .tx = tx, .payments = pp, .arena = a, .in = in, .now_ms = now_ms, .result = ret_result
    };
    enum err e;

    *ret_result = (struct collection_result){ 0 };
    e = put_check_zone(&s);
    if (!e)
        e = put_collection(&s, may_any);
    return e ? e : put_people(&s);
}
