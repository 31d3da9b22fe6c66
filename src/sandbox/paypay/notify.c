/* notify.c - PayPay's notifications: unsigned, unordered, and given up after three attempts.
 *
 *   move --same commit--> message "sandbox.paypay_notice" with the receiver and the text
 *   message --> POST --> 2xx within 1.5 s: done
 *                   '--> anything else: again in 100 ms, three attempts in all, then lost
 *
 * Two habits of the real PayPay that break receivers are kept: order_amount is a number in one
 * notification and a text in the next, and a transaction has no notification_id. A crash while
 * sending costs an attempt. */
#include "base/limits.h"
#include "base/time/civil.h"
#include "http/client/client.h"
#include "observe/log.h"
#include "sandbox/paypay/paypay.h"

#include <stdlib.h>

static const struct str notice_kind = { "sandbox.paypay_notice", 21 };

/* --- the text --- */

enum { JAPAN_S = 9 * 3600 };

/* As "2026-11-16T20:03:19+09:00"; 0 becomes null. */
static void put_moment(struct buf *b, struct str key, int64_t ms)
{
    int64_t s = ms / 1000 + JAPAN_S, rest = floor_mod(s, DAY_S);
    struct civil day = civil_of(floor_div(s, DAY_S));

    buf_add(b, key);
    if (!ms) {
        buf_add(b, S("null"));
        return;
    }
    buf_fmt(b, "\"%04lld-%02d-%02dT%02d:%02d:%02d+09:00\"", (long long)day.year, day.month, day.day,
            (int)(rest / 3600), (int)(rest / 60 % 60), (int)(rest % 60));
}

static void put_ids(struct work *w, struct buf *b, const struct pp_payment *p)
{
    buf_add(b, S("{\"notification_type\":\"Transaction\""));
    sb_put_text(b, S(",\"merchant_id\":"), w->s->o.paypay_merchant);
    sb_put_text(b, S(",\"store_id\":"), p->store_id);
    sb_put_text(b, S(",\"pos_id\":"), p->terminal_id);
    sb_put_text(b, S(",\"order_id\":"), p->id);
    sb_put_text(b, S(",\"merchant_order_id\":"), p->merchant_id);
}

static struct str notice_json(struct work *w, const struct pp_payment *p, const char *state,
                              int64_t confirm_until_ms, bool as_text)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_EVENT);
    put_ids(w, &b, p);
    put_moment(&b, S(",\"authorized_at\":"), p->authorized_ms);
    put_moment(&b, S(",\"expires_at\":"), p->expires_ms);
    put_moment(&b, S(",\"paid_at\":"), p->completed_ms);
    put_moment(&b, S(",\"confirmation_expires_at\":"), confirm_until_ms);
    buf_fmt(&b, as_text ? ",\"order_amount\":\"%lld\"" : ",\"order_amount\":%lld",
            (long long)(p->captured ? p->captured : p->amount));
    sb_put_text(&b, S(",\"state\":"), str_of(state));
    buf_char(&b, '}');
    return work_text_of(w, &b);
}

/* --- in the transaction of the move --- */

static bool add_messages(struct work *w, const struct pp_switches *s, struct str url,
                         struct str text)
{
    bool late = str_eq(s->webhooks, S("delay")), twice = str_eq(s->webhooks, S("duplicate"));
    struct queue_new m[2];
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_EVENT);
    buf_add(&b, url);
    buf_char(&b, '\n');
    buf_add(&b, text);
    for (size_t i = 0; i < COUNT(m); i++)
        m[i] = (struct queue_new){ .id = env_uuid(&w->s->env),
                                   .kind = notice_kind,
                                   .due_ms = w->now_ms + (late ? s->webhook_delay_ms : 0) };
    m[0].body = m[1].body = work_text_of(w, &b);
    return !w->err && work_ok(w, queue_add(w->s->queue, w->tx, w->now_ms, m, twice ? 2 : 1));
}

bool pp_notify(struct work *w, const struct pp_payment *p, const char *state,
               int64_t confirm_until_ms)
{
    struct pp_switches s;
    struct str url, text;

    if (w->err || !work_ok(w, pp_switches_read(w->tx, &s)))
        return false;
    url = s.webhook_url.n ? s.webhook_url : w->s->o.paypay_webhook_url;
    if (!url.n || str_eq(s.webhooks, S("off")))
        return true;
    text = notice_json(w, p, state, confirm_until_ms, s.notices % 2 == 1);
    return !w->err && work_ok(w, tx_do(w->tx, STMT_sandbox_paypay_notice_count, 1, NULL, 0)) &&
           add_messages(w, &s, url, text);
}

/* --- one attempt --- */

struct notice_delivery {
    struct job *job;
    struct sandbox *sandbox;
    struct arena arena;
    struct call call;
    struct header type;
    bool heard;
    struct why why;
};

static void notice_answered(struct call *c)
{
    struct notice_delivery *d = CONTAINER_OF(c, struct notice_delivery, call);

    d->heard = sandbox_delivered(c, &d->why);
    LOG(d->sandbox->env.log, LOG_DEBUG, "sandbox paypay notice",
        LOG_NUM("attempt", d->job->message->attempt),
        LOG_NUM("status", c->result == CALL_ANSWERED ? c->status : 0),
        LOG_TEXT("why", str_of(d->why.text)));
    job_outside_done(d->job, OK, d->why.text);
}

static void notice_send(struct job *j, void *ctx)
{
    struct sandbox *s = ctx;
    struct notice_delivery *d = calloc(1, sizeof(*d));
    struct str body = j->message->body, url = str_cut(&body, '\n');

    if (!d) {
        job_outside_done(j, ERR_NO_MEMORY, "no memory to send it");
        return;
    }
    j->state = d;
    d->job = j;
    d->sandbox = s;
    arena_init(&d->arena, 2 * LIMIT_SANDBOX_ANSWER);
    d->type = (struct header){ S("Content-Type"), S("application/json") };
    d->call = (struct call){ .method = S("POST"),
                             .url = url,
                             .body = body,
                             .headers = &d->type,
                             .header_count = 1,
                             .timeout_ms = LIMIT_SANDBOX_PP_NOTICE_MS,
                             .answer_max = LIMIT_SANDBOX_ANSWER,
                             .cut_answer = true,
                             .arena = &d->arena,
                             .executor = server_executor(s->server),
                             .done = notice_answered };
    client_call(s->client, &d->call);
}

static enum err notice_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    const struct notice_delivery *d = j->state;

    (void)tx;
    (void)ctx;
    if (d->heard)
        return OK;
    why_set(why, "%s", d->why.text);
    if (j->message->attempt < LIMIT_SANDBOX_PP_NOTICE_TRIES)
        j->again_ms = env_now_ms(j->env) + LIMIT_SANDBOX_PP_NOTICE_GAP_MS;
    return OK; /* lost: as with PayPay there is no dead letter */
}

static void notice_release(struct job *j, void *ctx)
{
    struct notice_delivery *d = j->state;

    (void)ctx;
    if (d)
        arena_release(&d->arena);
    free(d);
}

struct job_kind pp_notice_kind(struct sandbox *s)
{
    return (struct job_kind){
        .name = notice_kind.p,
        .ctx = s,
        .retry = retry_table[RETRY_SANDBOX_NOTICE],
        .outside = notice_send,
        .settle = notice_settle,
        .release = notice_release,
        .patient = true,
    };
}
