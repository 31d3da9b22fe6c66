/* send.c - the jobs "notify.mail", "notify.push" and "notify.webhook": one notification to one
 * target.
 *
 *   room? --no--> put off
 *     | mark (last_check.c): the last look; waiting -> sending
 *     |     '--> over, skipped, unknown, given up, not here: nothing is sent
 *     v
 *   the transport --> settle (tx): sent | failed | unknown, or waiting again
 *
 * A crash before the mark is durable costs nothing. After it, nobody knows whether the transport
 * got to it: who finds `sending` ends it as unknown, or, on the channel webhook, sends it again
 * with the same webhook-id. What was surely not taken goes back to `waiting` in settle, so a crash
 * behind that is none either. */
#include "base/limits.h"
#include "notify/sending.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "store/values.h"

#include <stdlib.h>
#include <string.h>

/* --- the transport --- */

/* Below what the notification tells of; the transport hands it on. */
static void begin_span(struct sending *s)
{
    s->span = span_begin(s->job->env, str_of(s->parcel.trace), SPAN_CLIENT, "Notify.send");
    if (s->span.spans)
        trace_text(&s->span.trace, s->parcel.trace);
}

static void end_span(struct sending *s)
{
    char id[UUID_TEXT + 1];

    if (!s->span.spans)
        return;
    uuid_text(s->parcel.notification, id);
    SPAN_END(&s->span, s->parcel.told == TOLD_SENT ? NULL : "it was not sent",
             SPAN_TEXT("notification.id", str_of(id)),
             SPAN_TEXT("notification.type", s->parcel.type),
             SPAN_TEXT("notification.channel", str_of(channel_name(s->channel))),
             SPAN_NUM("messaging.attempt", s->tries));
}

static void was_told(struct parcel_out *p)
{
    struct sending *s = CONTAINER_OF(p, struct sending, parcel);

    end_span(s);
    fault_point(&s->job->env->faults, "notify.told");
    why_set(&s->why, "%s", p->told == TOLD_SENT ? "" : p->why.text);
    job_outside_done(s->job, OK, NULL);
}

/* Marked or not, nothing was sent: settle takes the mark back, if there is one. */
static void mark_is_in_doubt(struct sending *s)
{
    s->parcel.told = TOLD_LATER;
    why_set(&s->why, "the database did not say whether it is marked");
    job_outside_done(s->job, OK, NULL);
}

static void was_marked(struct unit *u)
{
    struct sending *s = CONTAINER_OF(u, struct sending, unit);
    struct transport *t = s->notify->transports[s->channel];
    enum err e = u->err;

    if (!e && s->outcome == OUTCOME_GO)
        e = fault_point(&s->job->env->faults, "notify.marked");
    if (e == ERR_STALE) /* called off between the look and the mark: look again */
        job_put_off(s->job, env_now_ms(s->job->env) + SECOND);
    else if (e == ERR_UNCERTAIN && s->outcome == OUTCOME_GO)
        mark_is_in_doubt(s);
    else if (e)
        job_outside_done(s->job, e, NULL);
    else if (s->outcome == OUTCOME_NOT_HERE)
        job_put_off(s->job, env_now_ms(s->job->env) + notify_pause_ms(s->waited_ms));
    else if (s->outcome == OUTCOME_GIVEN_UP)
        job_outside_done(s->job, ERR_UNPROCESSABLE, s->why.text);
    else if (s->outcome != OUTCOME_GO)
        job_outside_done(s->job, OK, NULL);
    else {
        begin_span(s);
        t->send(t, &s->parcel);
    }
}

/* --- room --- */

/* One behind the other, so that they do not all come back at once to find no room again. */
static void put_off(struct notify *n, struct job *j, enum channel c)
{
    struct notify_turn *t = &n->turns[c];
    int64_t first_ms = env_now_ms(j->env) + LIMIT_SEND_TURN_MS;

    t->last_ms += LIMIT_SEND_SPACE_MS;
    if (t->last_ms < first_ms)
        t->last_ms = first_ms;
    metrics_add(send_cell(j->env, c, RESULT_PUT_OFF), 1);
    job_put_off(j, t->last_ms);
}

static void notify_send_begin(struct notify *n, struct job *j, enum channel c)
{
    static const struct unit_kind kind = { "notify.mark", UNIT_BACK, send_mark, NULL };
    struct sending *s = calloc(1, sizeof(*s));

    if (!s) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = s; /* freed by notify_send_release() */
    n->turns[c].under_way++;
    s->job = j;
    s->notify = n;
    s->channel = c;
    arena_init(&s->arena, LIMIT_SEND_ARENA);
    s->parcel = (struct parcel_out){ .send = j->message->id,
                                     .arena = &s->arena,
                                     .executor = n->runtime->executor,
                                     .done = was_told,
                                     .retry_after_ms = -1 };
    s->unit = (struct unit){
        .kind = &kind, .executor = n->runtime->executor, .done = was_marked, .arena = &s->arena
    };
    store_post(n->runtime->store, &s->unit);
}

/* Without the transport another node may have it; only what is old is looked at. */
static void outside_on(struct notify *n, struct job *j, enum channel c)
{
    int64_t now_ms = env_now_ms(j->env), age_ms = now_ms - j->message->added_ms;

    if (!n->transports[c] && age_ms < LIMIT_SEND_NOWHERE_MS)
        job_put_off(j, now_ms + notify_pause_ms(age_ms));
    else if (n->turns[c].under_way >= LIMIT_SENDS)
        put_off(n, j, c);
    else
        notify_send_begin(n, j, c);
}

static void notify_send_release(struct job *j, void *ctx)
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

static enum err end_as(struct tx *tx, const struct sending *s, const char *status, enum result r)
{
    send_count(tx, s->job->env, s->channel, r);
    return TX_DO(tx, STMT_send_end, -1, V_TEXT(str_of(status)), v_text(str_of(s->why.text)),
                 V_INT(env_now_ms(s->job->env)), v_uuid(&s->parcel.send), V_TEXT(S("sending")));
}

/* Surely not taken, or taken by a machine that knows a repeat. Past the last try it comes back at
 * once, to be buried: that way its row has said `waiting` before. */
static enum err notify_send_again(struct tx *tx, const struct sending *s)
{
    int64_t now_ms = env_now_ms(s->job->env);
    int64_t delay = send_delay_ms(s->tries, s->parcel.retry_after_ms);

    s->job->again_ms = now_ms + (delay < 0 ? 0 : delay);
    return end_as(tx, s, "waiting", RESULT_LATER);
}

static enum err settle_told(struct tx *tx, const struct sending *s)
{
    enum err e;

    switch (s->parcel.told) {
    case TOLD_SENT: return end_as(tx, s, "sent", RESULT_SENT);
    case TOLD_LATER: return notify_send_again(tx, s);
    case TOLD_NEVER: return end_as(tx, s, "failed", RESULT_FAILED);
    case TOLD_UNKNOWN:
        return s->channel == CHANNEL_WEBHOOK ? notify_send_again(tx, s)
                                             : end_as(tx, s, "unknown", RESULT_UNKNOWN);
    case TOLD_GONE:
        e = s->channel == CHANNEL_PUSH ? TX_DO(tx, STMT_device_gone, -1, V_TEXT(s->parcel.target))
                                       : OK;
        return e ? e : end_as(tx, s, "failed", RESULT_FAILED);
    }
    abort();
}

static const char *word_of(const struct sending *s)
{
    static const char *const told[] = { [TOLD_SENT] = "sent",
                                        [TOLD_LATER] = "later",
                                        [TOLD_NEVER] = "failed",
                                        [TOLD_UNKNOWN] = "unknown",
                                        [TOLD_GONE] = "failed" };
    static const char *const others[] = {
        [OUTCOME_OVER] = "over", [OUTCOME_SKIPPED] = "skipped", [OUTCOME_UNKNOWN] = "unknown"
    };

    return s->outcome == OUTCOME_GO ? told[s->parcel.told] : others[s->outcome];
}

static enum err notify_send_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct sending *s = j->state;
    enum err e = fault_point(&tx_env(tx)->faults, "notify.settling");

    (void)ctx;
    j->again_ms = 0;
    why_set(why, "%s%s%s", word_of(s), s->why.text[0] ? ": " : "", s->why.text);
    if (e)
        return e;
    if (s->outcome == OUTCOME_UNKNOWN)
        return end_as(tx, s, "unknown", RESULT_UNKNOWN);
    return s->outcome == OUTCOME_GO ? settle_told(tx, s) : OK;
}

/* What waits has surely not been sent, so an operator may send it. Of what was under way nobody
 * knows; a machine may have it again. */
static enum err notify_send_buried(struct tx *tx, const struct message *m, void *ctx,
                                   const char *why)
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

/* `why` begins with the word of what became of it; put off for want of room, it is empty. */
static void notify_send_ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
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

static void outside_mail(struct job *j, void *ctx)
{
    outside_on(ctx, j, CHANNEL_MAIL);
}

static void outside_push(struct job *j, void *ctx)
{
    outside_on(ctx, j, CHANNEL_PUSH);
}

static void outside_webhook(struct job *j, void *ctx)
{
    outside_on(ctx, j, CHANNEL_WEBHOOK);
}

struct job_kind notify_send_kind(struct notify *n, enum channel c)
{
    static const struct {
        const char *name;
        void (*outside)(struct job *j, void *ctx);
    } kinds[CHANNELS] = {
        [CHANNEL_MAIL] = { "notify.mail", outside_mail },
        [CHANNEL_PUSH] = { "notify.push", outside_push },
        [CHANNEL_WEBHOOK] = { "notify.webhook", outside_webhook },
    };

    return (struct job_kind){
        .name = kinds[c].name,
        .ctx = n,
        .retry = retry_table
            [RETRY_SEND_JOB], /* tries are in the row, since each wait for room is a lease too */
        .outside = kinds[c].outside,
        .settle = notify_send_settle,
        .release = notify_send_release,
        .patient = true,
        .buried = notify_send_buried,
        .ended = notify_send_ended,
    };
}
