/* targets.c - see targets.h. Every statement takes many rows at once, since a lottery draw brings
 * thousands of notifications. A send is unique by notification, channel and target in the database:
 * only those that the INSERT added get a message, in the same commit. */
#include "notify/targets.h"

#include "base/limits.h"
#include "store/values.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { SEND_COLUMNS = 6, KIND_MAX = 16 };

struct target_person { /* the person a notification is for */
    struct uuid notification, user;
    bool has_user, has_contact;
    unsigned channels;
    struct str email, participant_email; /* live until the unit's end */
};

struct target_search {
    struct target_person people[LIMIT_BULK];
    size_t count;
    unsigned channels, here;
    struct arena *arena;
    struct targets *out;
    size_t room;
};

/* --- the people --- */

static enum err target_add_person(void *ctx, const struct row *row)
{
    struct target_search *f = ctx;
    struct target_person *p = &f->people[f->count];
    const struct val *v = row->col;

    if (f->count == LIMIT_BULK)
        return ERR_INTERNAL;
    *p = (struct target_person){ .has_contact = v[2].type != VAL_NULL,
                                 .channels = channels_of(v[3].s),
                                 .email = v[4].s,
                                 .participant_email = v[5].s };
    p->has_user = v[1].type != VAL_NULL;
    f->count++;
    return uuid_of_bytes(v[0].s, &p->notification) &&
                   (!p->has_user || uuid_of_bytes(v[1].s, &p->user))
               ? OK
               : ERR_INTERNAL;
}

/* --- their targets --- */

static enum err target_add(struct target_search *f, const struct target_person *p, enum channel c,
                           struct str where)
{
    struct targets *t = f->out;

    if (!(f->channels & CHANNEL_BIT(c)))
        return OK;
    if (t->count == f->room) {
        struct target *more = arena_alloc(f->arena, f->room * 2 + LIMIT_BULK, sizeof(*more));

        if (!more)
            return ERR_NO_MEMORY;
        if (t->count)
            memcpy(more, t->all, t->count * sizeof(*more));
        t->all = more;
        f->room = f->room * 2 + LIMIT_BULK;
    }
    t->all[t->count++] = (struct target){ .notification = p->notification,
                                          .user = p->user,
                                          .has_user = p->has_user,
                                          .channel = c,
                                          .where = where };
    return OK;
}

static bool target_person_wants(const struct target_person *p, enum channel c)
{
    return p->channels & CHANNEL_BIT(c);
}

static enum err target_add_plain(struct target_search *f, const struct target_person *p)
{
    struct str mail =
        target_person_wants(p, CHANNEL_MAIL) && p->email.n ? p->email : p->participant_email;
    enum err e = OK;

    if (mail.n && (target_person_wants(p, CHANNEL_MAIL) || !p->has_contact))
        e = target_add(f, p, CHANNEL_MAIL, mail);
    if (!e && (target_person_wants(p, CHANNEL_WEBHOOK) ||
               (!p->has_contact && (f->here & CHANNEL_BIT(CHANNEL_WEBHOOK)))))
        e = target_add(f, p, CHANNEL_WEBHOOK, S(""));
    return e;
}

/* A device is a target of each notification of its user. */
static enum err target_add_device(void *ctx, const struct row *row)
{
    struct target_search *f = ctx;
    struct uuid user;
    enum err e = uuid_of_bytes(row->col[0].s, &user) ? OK : ERR_INTERNAL;

    for (size_t i = 0; i < f->count && !e; i++) {
        const struct target_person *p = &f->people[i];

        if (p->has_user && uuid_eq(p->user, user) && target_person_wants(p, CHANNEL_PUSH))
            e = target_add(f, p, CHANNEL_PUSH, row->col[1].s);
    }
    return e;
}

/* Each user once: on SQLite every value is a query of its own. */
static size_t target_device_users(const struct target_search *f, struct val users[LIMIT_BULK])
{
    size_t n = 0;

    for (size_t i = 0; i < f->count; i++) {
        const struct target_person *p = &f->people[i];
        bool known = !p->has_user || !target_person_wants(p, CHANNEL_PUSH);

        for (size_t k = 0; k < n && !known; k++)
            known = str_eq(users[k].s, uuid_bytes(&p->user));
        if (!known)
            users[n++] = v_uuid(&p->user);
    }
    return n;
}

static enum err target_add_devices(struct tx *tx, struct target_search *f)
{
    struct val users[LIMIT_BULK];
    size_t n = f->channels & CHANNEL_BIT(CHANNEL_PUSH) ? target_device_users(f, users) : 0;

    return n ? tx_bulk(tx, STMT_devices_of_many, users, n, 1, target_add_device, f) : OK;
}

enum err targets_find(struct tx *tx, struct arena *a, const struct uuid *notifications, size_t n,
                      unsigned channels, unsigned here, struct targets *ret)
{
    struct target_search f = { .channels = channels, .here = here, .arena = a, .out = ret };
    struct val ids[LIMIT_BULK];
    enum err e;

    assert(n && n <= LIMIT_BULK);
    *ret = (struct targets){ 0 };
    for (size_t i = 0; i < n; i++)
        ids[i] = v_uuid(&notifications[i]);
    e = tx_bulk(tx, STMT_notify_read, ids, n, 1, target_add_person, &f);
    for (size_t i = 0; i < f.count && !e; i++)
        e = target_add_plain(&f, &f.people[i]);
    return e ? e : target_add_devices(tx, &f);
}

/* --- sends --- */

struct send_batch {
    struct uuid ids[LIMIT_BULK];
    bool is_new[LIMIT_BULK];
    size_t count;
};

static enum err send_batch_note_new(void *ctx, const struct row *row)
{
    struct send_batch *d = ctx;

    for (size_t i = 0; i < d->count; i++)
        d->is_new[i] |= str_eq(uuid_bytes(&d->ids[i]), row->col[0].s);
    return OK;
}

static enum err send_batch_add_messages(struct tx *tx, struct queue *q, const struct send_batch *d,
                                        const struct target *t, int64_t now_ms)
{
    static const struct str kinds[CHANNELS] = { [CHANNEL_MAIL] = { "notify.mail", 11 },
                                                [CHANNEL_PUSH] = { "notify.push", 11 },
                                                [CHANNEL_WEBHOOK] = { "notify.webhook", 14 } };
    char refs[LIMIT_BULK][UUID_TEXT + 1];
    struct queue_new m[LIMIT_BULK];
    size_t n = 0;

    for (size_t i = 0; i < d->count; i++) {
        if (!d->is_new[i])
            continue;
        uuid_text(t[i].notification, refs[n]);
        m[n] = (struct queue_new){
            .id = d->ids[i], .kind = kinds[t[i].channel], .ref = str_of(refs[n]), .due_ms = now_ms
        };
        n++;
    }
    return n ? queue_add(q, tx, now_ms, m, n) : OK;
}

static enum err send_batch_add(struct tx *tx, struct queue *q, const struct target *t, size_t n,
                               int64_t now_ms)
{
    struct val v[LIMIT_BULK * SEND_COLUMNS];
    struct send_batch d = { .count = n };
    enum err e;

    for (size_t i = 0; i < n; i++) {
        struct val *row = v + i * SEND_COLUMNS;

        d.ids[i] = env_uuid(tx_env(tx));
        row[0] = v_uuid(&d.ids[i]);
        row[1] = v_uuid(&t[i].notification);
        row[2] = V_TEXT(str_of(channel_name(t[i].channel)));
        row[3] = V_TEXT(t[i].where);
        row[4] = t[i].has_user ? v_uuid(&t[i].user) : V_NULL;
        row[5] = V_INT(now_ms);
    }
    e = tx_bulk(tx, STMT_send_add, v, n, SEND_COLUMNS, send_batch_note_new, &d);
    return e ? e : send_batch_add_messages(tx, q, &d, t, now_ms);
}

enum err targets_add(struct tx *tx, struct queue *q, const struct targets *t, int64_t now_ms)
{
    enum err e = OK;

    for (size_t done = 0; done < t->count && !e; done += LIMIT_BULK) {
        size_t left = t->count - done;

        e = send_batch_add(tx, q, t->all + done, left < LIMIT_BULK ? left : LIMIT_BULK, now_ms);
    }
    return e;
}
