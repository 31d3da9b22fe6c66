/* send.c - the jobs "notify.mail", "notify.push" and "notify.webhook": one notification to one
 * target.
 *
 *   room? --no--> postponed
 *     | mark (last_check.c): the last check; waiting -> sending
 *     |     '--> over, skipped, unknown, given up, not here: nothing is sent
 *     v
 *   the transport --> settle (tx): sent | failed | unknown, or waiting again
 *
 * A crash before the mark is durable costs nothing. After a crash behind it, the outcome is not
 * known: a run that finds `sending` ends the send as unknown, or, on the channel webhook, sends it
 * again with the same webhook-id. What was surely not accepted goes back to `waiting` in settle. */
#include "base/limits.h"
#include "notify/sending.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "store/values.h"

#include <stdlib.h>
#include <string.h>

/* --- the transport --- */

/* A child of the span of the change; the transport passes it on. */
static void send_span_begin(struct sending *s)
{
    s->span = span_begin(s->job->env, str_of(s->outgoing.trace), SPAN_CLIENT, "Notify.send");
    if (s->span.spans)
        trace_text(&s->span.trace, s->outgoing.trace);
}

static void send_span_end(struct sending *s)
{
    char id[UUID_TEXT + 1];

    if (!s->span.spans)
        return;
    uuid_text(s->outgoing.notification, id);
    SPAN_END(&s->span, s->outgoing.told == TOLD_SENT ? NULL : "it was not sent",
             SPAN_TEXT("notification.id", str_of(id)),
             SPAN_TEXT("notification.type", s->outgoing.type),
             SPAN_TEXT("notification.channel", str_of(channel_name(s->channel))),
             SPAN_NUM("messaging.attempt", s->tries));
}

static void send_answered(struct parcel_out *p)
{
    struct sending *s = CONTAINER_OF(p, struct sending, outgoing);

    send_span_end(s);
    fault_point(&s->job->env->faults, "notify.told");
    why_set(&s->why, "%s", p->told == TOLD_SENT ? "" : p->why.text);
    job_outside_done(s->job, OK, NULL);
}

/* Marked or not, nothing was sent: settle removes the mark, if there is one. */
static void send_mark_uncertain(struct sending *s)
{
    s->outgoing.told = TOLD_LATER;
    why_set(&s->why, "the database did not say whether it is marked");
    job_outside_done(s->job, OK, NULL);
}

static void send_marked(struct unit *u)
{
    struct sending *s = CONTAINER_OF(u, struct sending, unit);
    struct transport *t = s->notify->transports[s->channel];
    enum err e = u->err;

    if (!e && s->outcome == OUTCOME_GO)
        e = fault_point(&s->job->env->faults, "notify.marked");
    if (e == ERR_STALE) /* changed between the check and the mark: check again */
        job_put_off(s->job, env_now_ms(s->job->env) + SECOND);
    else if (e == ERR_UNCERTAIN && s->outcome == OUTCOME_GO)
        send_mark_uncertain(s);
    else if (e)
        job_outside_done(s->job, e, NULL);
    else if (s->outcome == OUTCOME_NOT_HERE)
        job_put_off(s->job, env_now_ms(s->job->env) + notify_pause_ms(s->waited_ms));
    else if (s->outcome == OUTCOME_GIVEN_UP)
        job_outside_done(s->job, ERR_UNPROCESSABLE, s->why.text);
    else if (s->outcome != OUTCOME_GO)
        job_outside_done(s->job, OK, NULL);
    else {
        send_span_begin(s);
        t->send(t, &s->outgoing);
    }
}

/* --- room --- */

/* Spaced apart, so that they do not all come back at once and find no room again. */
static void send_postpone(struct notify *n, struct job *j, enum channel c)
{
    struct notify_turn *t = &n->turns[c];
    int64_t first_ms = env_now_ms(j->env) + LIMIT_SEND_TURN_MS;

    t->last_ms += LIMIT_SEND_SPACE_MS;
    if (t->last_ms < first_ms)
        t->last_ms = first_ms;
    metrics_add(send_cell(j->env, c, RESULT_PUT_OFF), 1);
    job_put_off(j, t->last_ms);
}

static void send_begin(struct notify *n, struct job *j, enum channel c)
{
    static const struct unit_kind kind = { "notify.mark", UNIT_BACK, send_mark, NULL };
    struct sending *s = calloc(1, sizeof(*s));

    if (!s) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = s; /* freed by send_release() */
    n->turns[c].under_way++;
    s->job = j;
    s->notify = n;
    s->channel = c;
    arena_init(&s->arena, LIMIT_SEND_ARENA);
    s->outgoing = (struct parcel_out){ .send = j->message->id,
                                       .arena = &s->arena,
                                       .executor = n->runtime->executor,
                                       .done = send_answered,
                                       .retry_after_ms = -1 };
    s->unit = (struct unit){
        .kind = &kind, .executor = n->runtime->executor, .done = send_marked, .arena = &s->arena
    };
    store_post(n->runtime->store, &s->unit);
}

/* A node without the transport leaves the send to another node until it is old. */
static void send_outside(struct notify *n, struct job *j, enum channel c)
{
    int64_t now_ms = env_now_ms(j->env), age_ms = now_ms - j->message->added_ms;

    if (!n->transports[c] && age_ms < LIMIT_SEND_NOWHERE_MS)
        job_put_off(j, now_ms + notify_pause_ms(age_ms));
    else if (n->turns[c].under_way >= LIMIT_SENDS)
        send_postpone(n, j, c);
    else
        send_begin(n, j, c);
}

static void send_release(struct job *j, void *ctx)
{
    struct sending *s = j->state;

    (void)ctx;
    if (!s)
        return;
    s->notify->turns[s->channel].under_way--;
    arena_release(&s->arena);
    free(s);
    j->state = NULL;
}

/* --- settle --- */

static enum err send_end(struct tx *tx, const struct sending *s, const char *status, enum result r)
{
    send_count(tx, s->job->env, s->channel, r);
    return TX_DO(tx, STMT_send_end, -1, V_TEXT(str_of(status)), v_text(str_of(s->why.text)),
                 V_INT(env_now_ms(s->job->env)), v_uuid(&s->outgoing.send), V_TEXT(S("sending")));
}

/* Not accepted, or accepted by a receiver that recognizes a repeat. After the last try the job
 * comes back at once and becomes a dead letter; its row is `waiting` by then. */
static enum err send_again(struct tx *tx, const struct sending *s)
{
    int64_t now_ms = env_now_ms(s->job->env);
    int64_t delay = send_delay_ms(s->tries, s->outgoing.retry_after_ms);

    s->job->again_ms = now_ms + (delay < 0 ? 0 : delay);
    return send_end(tx, s, "waiting", RESULT_LATER);
}

static enum err send_settle_answer(struct tx *tx, const struct sending *s)
{
    enum err e;

    switch (s->outgoing.told) {
    case TOLD_SENT: return send_end(tx, s, "sent", RESULT_SENT);
    case TOLD_LATER: return send_again(tx, s);
    case TOLD_NEVER: return send_end(tx, s, "failed", RESULT_FAILED);
    case TOLD_UNKNOWN:
        return s->channel == CHANNEL_WEBHOOK ? send_again(tx, s)
                                             : send_end(tx, s, "unknown", RESULT_UNKNOWN);
    case TOLD_GONE:
        e = s->channel == CHANNEL_PUSH ? TX_DO(tx, STMT_device_gone, -1, V_TEXT(s->outgoing.target))
                                       : OK;
        return e ? e : send_end(tx, s, "failed", RESULT_FAILED);
    }
    abort();
}

static const char *send_end_word(const struct sending *s)
{
    static const char *const told[] = { [TOLD_SENT] = "sent",
                                        [TOLD_LATER] = "later",
                                        [TOLD_NEVER] = "failed",
                                        [TOLD_UNKNOWN] = "unknown",
                                        [TOLD_GONE] = "failed" };
    static const char *const others[] = {
        [OUTCOME_OVER] = "over", [OUTCOME_SKIPPED] = "skipped", [OUTCOME_UNKNOWN] = "unknown"
    };

    return s->outcome == OUTCOME_GO ? told[s->outgoing.told] : others[s->outcome];
}

static enum err send_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct sending *s = j->state;
    enum err e = fault_point(&tx_env(tx)->faults, "notify.settling");

    (void)ctx;
    j->again_ms = 0;
    why_set(why, "%s%s%s", send_end_word(s), s->why.text[0] ? ": " : "", s->why.text);
    if (e)
        return e;
    if (s->outcome == OUTCOME_UNKNOWN)
        return send_end(tx, s, "unknown", RESULT_UNKNOWN);
    return s->outcome == OUTCOME_GO ? send_settle_answer(tx, s) : OK;
}

/* A waiting send was not sent: it ends as failed, so that an operator may retry it. A send that was
 * under way has an unknown outcome; only a webhook may be repeated. */
static enum err send_buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    const struct notify *n = ctx;
    struct str kind = m->kind;
    enum channel c = CHANNEL_WEBHOOK;
    struct val now = V_INT(env_now_ms(n->runtime->env)), failed = V_TEXT(S("failed"));
    enum err e;

    str_cut(&kind, '.');
    channel_parse(kind, &c);
    send_count(tx, n->runtime->env, c, RESULT_FAILED);
    e = TX_DO(tx, STMT_send_end, -1, failed, v_text(str_of(why)), now, v_uuid(&m->id),
              V_TEXT(S("waiting")));
    if (e)
        return e;
    return TX_DO(tx, STMT_send_end, -1, c == CHANNEL_WEBHOOK ? failed : V_TEXT(S("unknown")),
                 v_text(str_of(why)), now, v_uuid(&m->id), V_TEXT(S("sending")));
}

/* `why` begins with send_end_word(); it is empty when the send was postponed for lack of room. */
static void send_ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                       const char *why)
{
    bool fine = str_starts(str_of(why), S("sent")) || str_starts(str_of(why), S("skipped"));
    struct str line = S("Notification was not sent");
    char id[UUID_TEXT + 1];

    (void)ctx;
    if (end == JOB_PUT_OFF && !why[0])
        return;
    uuid_text(m->id, id);
    if (fine)
        line = S("Notification done");
    else if (end == JOB_DEAD)
        line = S("Notification given up");
    LOG(env->log,
        fine              ? LOG_INFO
        : end == JOB_DEAD ? LOG_ERROR
                          : LOG_WARN,
        line.p, LOG_TEXT("notificationId", m->ref), LOG_TEXT("sendId", str_of(id)),
        LOG_TEXT("kind", m->kind), LOG_NUM("attempt", m->attempt), LOG_TEXT("why", str_of(why)));
}

/* --- the three kinds --- */

static void send_outside_mail(struct job *j, void *ctx)
{
    send_outside(ctx, j, CHANNEL_MAIL);
}

static void send_outside_push(struct job *j, void *ctx)
{
    send_outside(ctx, j, CHANNEL_PUSH);
}

static void send_outside_webhook(struct job *j, void *ctx)
{
    send_outside(ctx, j, CHANNEL_WEBHOOK);
}

struct job_kind notify_send_kind(struct notify *n, enum channel c)
{
    static const struct {
        const char *name;
        void (*outside)(struct job *j, void *ctx);
    } kinds[CHANNELS] = {
        [CHANNEL_MAIL] = { "notify.mail", send_outside_mail },
        [CHANNEL_PUSH] = { "notify.push", send_outside_push },
        [CHANNEL_WEBHOOK] = { "notify.webhook", send_outside_webhook },
    };

    return (struct job_kind){
        .name = kinds[c].name,
        .ctx = n,
        /* Tries are counted in the row, since each wait for room is a lease too. */
        .retry = retry_table[RETRY_SEND_JOB],
        .outside = kinds[c].outside,
        .settle = send_settle,
        .release = send_release,
        .patient = true,
        .buried = send_buried,
        .ended = send_ended,
    };
}
