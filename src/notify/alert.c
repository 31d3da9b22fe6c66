/* alert.c - the job "alert": one alert to one mail address or to the webhook; alert.h has the
 * states.
 *
 *   mark (unit: waiting -> sending) --> mail or webhook --> settle (tx): sent, waiting, unknown
 *
 * A crash before the mark is durable costs nothing. A run that finds `sending` ends a mail as
 * unknown and posts a webhook again. */
#include "notify/alert.h"

#include "base/limits.h"
#include "notify/webhook_channel.h"
#include "observe/log.h"
#include "store/values.h"

#include <stdlib.h>

enum { SEND_ARENA = 256 * 1024 };

enum alert_send_end { END_SENT, END_LATER, END_FAILED, END_UNKNOWN, END_SKIPPED, END_OVER };

struct alert_sending {
    struct job *job;
    struct alert_out *out;
    struct arena arena;
    struct unit unit;
    struct str target, title, body;
    struct str status; /* of the row, before the mark */
    bool is_mail;
    struct parcel_out outgoing;
    struct hook_post post;
    char id[UUID_TEXT + 1];
    bool go; /* marked as sending: the transport is called */
    enum alert_send_end end;
    int64_t retry_after_ms;
    struct why why;
};

/* --- the transport --- */

static void alert_answered(struct alert_sending *s, enum told told, int64_t again_ms,
                           const char *why)
{
    static const enum alert_send_end ends[] = { [TOLD_SENT] = END_SENT,
                                                [TOLD_LATER] = END_LATER,
                                                [TOLD_NEVER] = END_FAILED,
                                                [TOLD_UNKNOWN] = END_UNKNOWN,
                                                [TOLD_GONE] = END_FAILED };

    fault_point(&s->job->env->faults, "alert.sent");
    s->end = ends[told];
    s->retry_after_ms = again_ms;
    why_set(&s->why, "%s", why);
    job_outside_done(s->job, OK, NULL);
}

static void alert_mailed(struct parcel_out *p)
{
    struct alert_sending *s = CONTAINER_OF(p, struct alert_sending, outgoing);

    alert_answered(s, p->told, p->retry_after_ms, p->why.text);
}

static void alert_posted(struct hook_post *p)
{
    struct alert_sending *s = CONTAINER_OF(p, struct alert_sending, post);

    alert_answered(s, p->told, p->retry_after_ms, p->why.text);
}

static void alert_send_mail(struct alert_sending *s)
{
    struct transport *t = s->out->mail;

    s->outgoing = (struct parcel_out){ .send = s->job->message->id,
                                       .notification = s->job->message->id,
                                       .type = S("alert"),
                                       .title = s->title,
                                       .body = s->body,
                                       .data = S("{}"),
                                       .target = s->target,
                                       .is_japanese = s->out->language == LANG_JA,
                                       .created_ms = s->job->message->added_ms,
                                       .arena = &s->arena,
                                       .executor = s->out->runtime->executor,
                                       .done = alert_mailed };
    t->send(t, &s->outgoing);
}

static void alert_send_webhook(struct alert_sending *s)
{
    uuid_text(s->job->message->id, s->id);
    s->post = (struct hook_post){ .id = str_of(s->id),
                                  .body = s->job->message->body,
                                  .arena = &s->arena,
                                  .executor = s->out->runtime->executor,
                                  .done = alert_posted };
    hook_send(s->out->hook, &s->post);
}

/* --- mark --- */

static void alert_set_end(struct alert_sending *s, enum alert_send_end end, const char *why)
{
    s->end = end;
    why_set(&s->why, "%s", why);
}

static bool alert_has_transport(const struct alert_sending *s)
{
    return s->is_mail ? s->out->mail != NULL : s->out->hook != NULL;
}

/* A mail that is found as `sending` has an unknown outcome and is not sent a second time. */
static void alert_decide(struct alert_sending *s, struct str status)
{
    if (str_eq(status, S("sent")) || str_eq(status, S("unknown")) || str_eq(status, S("skipped")))
        alert_set_end(s, END_OVER, "it has ended before");
    else if (!alert_has_transport(s))
        alert_set_end(s, END_SKIPPED, "that way to tell is not set up any more");
    else if (s->is_mail && str_eq(status, S("sending")))
        alert_set_end(s, END_UNKNOWN, "the server died while it was sent");
    else
        s->go = true;
}

static enum err alert_mark(struct tx *tx, struct unit *u)
{
    struct alert_sending *s = CONTAINER_OF(u, struct alert_sending, unit);
    struct row row;
    enum err e = TX_ROW(tx, STMT_alert_send_get, &row, v_uuid(&s->job->message->id));

    s->go = false;
    if (e == ERR_NOT_FOUND) {
        alert_set_end(s, END_OVER, "it is not stored any more");
        return OK;
    }
    if (e)
        return e;
    s->is_mail = str_eq(row.col[0].s, S("mail"));
    s->target = arena_str(&s->arena, row.col[1].s);
    s->status = arena_str(&s->arena, row.col[2].s);
    if (!s->target.p || !s->status.p)
        return ERR_NO_MEMORY;
    alert_decide(s, s->status);
    return s->go ? TX_DO(tx, STMT_send_mark, 1, V_INT(env_now_ms(s->job->env)),
                         v_uuid(&s->job->message->id), V_TEXT(s->status))
                 : OK;
}

static void alert_mark_uncertain(struct alert_sending *s)
{
    alert_set_end(s, END_LATER, "the database did not say whether it is marked");
    job_outside_done(s->job, OK, NULL);
}

static void alert_marked(struct unit *u)
{
    struct alert_sending *s = CONTAINER_OF(u, struct alert_sending, unit);

    fault_point(&s->job->env->faults, "alert.marked");
    if (u->err == ERR_STALE) /* another node marked it meanwhile: check again */
        job_put_off(s->job, env_now_ms(s->job->env) + LIMIT_SEND_TURN_MS);
    else if (u->err == ERR_UNCERTAIN && s->go) /* marked or not, nothing was sent */
        alert_mark_uncertain(s);
    else if (u->err || !s->go)
        job_outside_done(s->job, u->err, NULL);
    else if (s->is_mail)
        alert_send_mail(s);
    else
        alert_send_webhook(s);
}

/* --- the job --- */

static void alert_outside(struct job *j, void *ctx)
{
    static const struct unit_kind kind = { "alert.mark", UNIT_BACK, alert_mark, NULL };
    struct alert_sending *s = calloc(1, sizeof(*s));
    enum err e;

    if (!s) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = s; /* freed by alert_release() */
    s->job = j;
    s->out = ctx;
    arena_init(&s->arena, SEND_ARENA);
    e = alert_mail_text(&s->arena, j->message->body, s->out->language, &s->title, &s->body);
    if (e) { /* nothing is marked yet */
        job_outside_done(j, e, NULL);
        return;
    }
    s->unit = (struct unit){ .kind = &kind,
                             .executor = s->out->runtime->executor,
                             .done = alert_marked,
                             .arena = &s->arena };
    store_post(s->out->runtime->store, &s->unit);
}

/* -1: no tries are left. */
static int64_t alert_delay_ms(const struct alert_sending *s)
{
    return retry_no_sooner_ms(retry_delay_ms(&retry_table[RETRY_ALERT], s->job->message->attempt),
                              s->retry_after_ms);
}

static enum err alert_end_row(struct tx *tx, const struct uuid *id, struct str status,
                              const char *why, struct str before)
{
    return TX_DO(tx, STMT_send_end, -1, V_TEXT(status), v_text(str_of(why)),
                 V_INT(env_now_ms(tx_env(tx))), v_uuid(id), V_TEXT(before));
}

static enum err alert_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    static const struct str words[] = { [END_SENT] = { "sent", 4 },
                                        [END_LATER] = { "waiting", 7 },
                                        [END_UNKNOWN] = { "unknown", 7 },
                                        [END_SKIPPED] = { "skipped", 7 } };
    const struct alert_sending *s = j->state;
    int64_t delay = s->end == END_LATER ? alert_delay_ms(s) : 0;

    (void)ctx;
    j->again_ms = 0;
    why_set(why, "%s", s->why.text);
    if (s->end == END_OVER)
        return OK;
    if (s->end == END_FAILED || delay < 0)
        return ERR_UNPROCESSABLE; /* alert_buried() marks the row */
    if (delay > 0)
        j->again_ms = env_now_ms(j->env) + delay;
    return alert_end_row(tx, &j->message->id, words[s->end], s->end == END_SENT ? "" : s->why.text,
                         s->go ? S("sending") : s->status);
}

static enum err alert_buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    enum err e = alert_end_row(tx, &m->id, S("failed"), why, S("waiting"));

    (void)ctx;
    return e ? e : alert_end_row(tx, &m->id, S("failed"), why, S("sending"));
}

static void alert_release(struct job *j, void *ctx)
{
    struct alert_sending *s = j->state;

    (void)ctx;
    if (!s)
        return;
    arena_release(&s->arena);
    free(s);
    j->state = NULL;
}

static void alert_ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                        const char *why)
{
    static const struct {
        enum log_level level;
        const char *line;
    } lines[] = {
        [JOB_DONE] = { LOG_INFO, "Alert told" },
        [JOB_RETRIED] = { LOG_WARN, "Alert could not be told" },
        [JOB_DEAD] = { LOG_WARN, "Alert could not be told: given up" },
        [JOB_PUT_OFF] = { LOG_WARN, "Alert could not be told" },
    };
    char id[UUID_TEXT + 1];

    (void)ctx;
    uuid_text(m->id, id);
    LOG(env->log, lines[end].level, lines[end].line, LOG_TEXT("name", m->ref),
        LOG_TEXT("messageId", str_of(id)), LOG_NUM("attempt", m->attempt),
        LOG_SOME("why", str_of(why)));
}

struct job_kind alert_kind(struct alert_out *o)
{
    return (struct job_kind){
        .name = "alert",
        .ctx = o,
        .retry = retry_table[RETRY_ALERT],
        .outside = alert_outside,
        .settle = alert_settle,
        .release = alert_release,
        .patient = true,
        .buried = alert_buried,
        .ended = alert_ended,
    };
}
