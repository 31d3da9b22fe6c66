/* last_check.c - the last check before a send goes out: its row, its person and its reminder. If
 * all still hold, the row moves from `waiting` to `sending`, which is durable before the transport
 * is called. A crash before that commit leaves the row as it was. */
#include "base/limits.h"
#include "notify/notification.h"
#include "notify/sending.h"
#include "notify/targets.h"
#include "observe/metrics.h"
#include "store/values.h"

#include <stdio.h>

/* --- when again --- */

int64_t send_delay_ms(int64_t tries, int64_t retry_after_ms)
{
    return retry_no_sooner_ms(retry_delay_ms(&retry_table[RETRY_SEND], tries), retry_after_ms);
}

/* --- numbers --- */

void *send_cell(struct env *env, enum channel c, enum result r)
{
    return metrics_cell(env->metrics, COUNT_NOTIFICATION, AT((unsigned char)c, (unsigned char)r));
}

void send_count(struct tx *tx, struct env *env, enum channel c, enum result r)
{
    tx_after_commit(tx, metrics_add, send_cell(env, c, r), 1);
}

int64_t notify_pause_ms(int64_t waited_ms)
{
    return retry_aged_ms(&retry_table[RETRY_SEND_CHANNEL], waited_ms);
}

/* --- not sent --- */

static enum err send_targets_now(struct tx *tx, struct sending *s, struct targets *ret)
{
    return targets_find(tx, &s->arena, &s->outgoing.notification, 1, CHANNEL_BIT(s->channel),
                        CHANNEL_BIT(s->channel), ret);
}

static enum err send_skip(struct tx *tx, struct sending *s, const char *why)
{
    s->outcome = OUTCOME_SKIPPED;
    why_set(&s->why, "%s", why);
    send_count(tx, s->job->env, s->channel, RESULT_SKIPPED);
    return TX_DO(tx, STMT_send_skip, 1, V_TEXT(str_of(why)), V_INT(env_now_ms(s->job->env)),
                 v_uuid(&s->outgoing.send));
}

/* Where the person was forgotten, the row has its own id in place of the address (sends_forget).
 * Such a person is not notified at another address either. */
static bool send_is_forgotten(const struct sending *s)
{
    const struct uuid *id = &s->outgoing.send;
    char hex[2 * sizeof(id->b) + 1];

    for (size_t i = 0; i < sizeof(id->b); i++)
        snprintf(hex + 2 * i, 3, "%02X", id->b[i]);
    return str_eq(s->outgoing.target, str_of(hex));
}

/* The person may have a new address on this channel: it gets a send, unless this channel was used
 * for this notification already. A row without its address does not say which it was. */
static enum err send_skip_for_new_target(struct tx *tx, struct sending *s)
{
    bool forgotten = send_is_forgotten(s);
    struct targets now;
    struct row row;
    enum err e = send_skip(tx, s, "the person or the address is not there any more");

    if (e || forgotten)
        return e;
    e = TX_ROW(tx, STMT_sends_told, &row, v_uuid(&s->outgoing.notification),
               V_TEXT(str_of(channel_name(s->channel))));
    if (e || row.col[0].i)
        return e;
    e = send_targets_now(tx, s, &now);
    return e ? e : targets_add(tx, s->notify->runtime->queue, &now, env_now_ms(s->job->env));
}

/* After a day without a node that has the transport, the channel is taken as not configured and the
 * send is skipped; it does not become a dead letter, since a retry would change nothing. */
static enum err send_wait_for_transport(struct tx *tx, struct sending *s, struct str status,
                                        int64_t since_ms)
{
    int64_t now_ms = env_now_ms(s->job->env);

    s->outcome = OUTCOME_NOT_HERE;
    if (str_eq(status, S("failed"))) /* retried as a dead letter: its day begins now */
        return TX_DO(tx, STMT_send_revive, 1, V_INT(now_ms), v_uuid(&s->outgoing.send));
    s->waited_ms = now_ms - since_ms;
    return s->waited_ms > LIMIT_SEND_NOWHERE_MS ? send_skip(tx, s, "its channel is not set up")
                                                : OK;
}

/* --- sent --- */

static enum err send_is_wanted(struct tx *tx, struct sending *s, bool *ret_wanted)
{
    struct targets now;
    enum err e = send_targets_now(tx, s, &now);

    *ret_wanted = false;
    for (size_t i = 0; !e && i < now.count; i++)
        *ret_wanted |= str_eq(now.all[i].where, s->outgoing.target);
    return e;
}

static bool send_keep_id(const struct val *v, struct uuid *id, const struct uuid **ret)
{
    *ret = v->type == VAL_NULL ? NULL : id;
    return v->type == VAL_NULL || uuid_of_bytes(v->s, id);
}

static enum err send_keep_row(struct sending *s, const struct row *row)
{
    const struct val *v = row->col;
    struct parcel_out *p = &s->outgoing;
    const struct val *user = v[13].type == VAL_NULL ? &v[15] : &v[13];

    p->target = arena_str(&s->arena, v[2].s);
    p->type = arena_str(&s->arena, v[6].s);
    p->is_japanese = str_eq(v[7].s, S("ja"));
    p->title = arena_str(&s->arena, v[8].s);
    p->body = arena_str(&s->arena, v[9].s);
    p->data = arena_str(&s->arena, v[10].s);
    p->created_ms = v[11].i;
    snprintf(p->trace, sizeof(p->trace), STR_FMT, STR_ARG(v[12].s));
    if (!p->target.p || !p->type.p || !p->title.p || !p->body.p || !p->data.p)
        return ERR_NO_MEMORY;
    return uuid_of_bytes(v[0].s, &p->notification) && send_keep_id(user, &s->user, &p->user) &&
                   send_keep_id(&v[14], &s->participant, &p->participant)
               ? OK
               : ERR_INTERNAL;
}

static enum err send_give_up(struct sending *s, struct str why)
{
    s->outcome = OUTCOME_GIVEN_UP;
    why_set(&s->why, STR_FMT, STR_ARG(why));
    return OK;
}

/* Only a reminder can be made obsolete by a payment or a change of its plan (S2). */
static enum err reminder_still_holds(struct tx *tx, const struct notify *notify,
                                     const struct parcel_out *p, int64_t now_ms, bool *ret_holds)
{
    *ret_holds = true;
    if (!p->participant || !str_eq(p->type, str_of(notice_type_name(NOTICE_REMINDER))))
        return OK;
    return notify->reminder_holds(tx, p->notification, now_ms, ret_holds);
}

static enum err send_decide(struct tx *tx, struct sending *s, struct str status,
                            struct str last_why)
{
    bool redriven = str_eq(status, S("failed")), wanted, held;
    enum err e = reminder_still_holds(tx, s->notify, &s->outgoing, env_now_ms(s->job->env), &held);

    if (e || !held)
        return e ? e : send_skip(tx, s, "it was paid or changed meanwhile, or its day is over");
    e = send_is_wanted(tx, s, &wanted);
    if (e || !wanted)
        return e ? e : send_skip_for_new_target(tx, s);
    if (redriven)
        s->tries = 1;
    if (s->tries > 1 && send_delay_ms(s->tries - 1, -1) < 0)
        return send_give_up(s, last_why);
    s->outcome = OUTCOME_GO;
    return TX_DO(tx, STMT_send_mark, 1, V_INT(env_now_ms(s->job->env)), v_uuid(&s->outgoing.send),
                 V_TEXT(status));
}

enum err send_mark(struct tx *tx, struct unit *u)
{
    struct sending *s = CONTAINER_OF(u, struct sending, unit);
    struct row row;
    struct str status;
    enum err e = TX_ROW(tx, STMT_send_read, &row, v_uuid(&s->outgoing.send));

    s->outcome = OUTCOME_OVER;
    why_set(&s->why, "it was over before");
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    status = row.col[3].s;
    s->tries = row.col[4].i + 1;
    if (str_eq(status, S("sent")) || str_eq(status, S("unknown")) || str_eq(status, S("skipped")))
        return OK;
    if (str_eq(status, S("sending")) && s->channel != CHANNEL_WEBHOOK) {
        s->outcome = OUTCOME_UNKNOWN;
        why_set(&s->why, "the server stopped while it was being sent");
        return OK;
    }
    if (!s->notify->transports[s->channel])
        return send_wait_for_transport(tx, s, status, row.col[16].i);
    e = send_keep_row(s, &row);
    return e ? e : send_decide(tx, s, status, row.col[5].s);
}
