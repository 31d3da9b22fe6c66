/* reparse.c - the retry and the edit of dead letters that hold events. The letter gets a new message
 * body in the transaction that retries it, so a crash leaves it as it was. */
#include "webhook/reparse.h"

#include "base/limits.h"
#include "event/apply_event.h"
#include "event/refetch.h"
#include "webhook/edited_event.h"
#include "webhook/receive.h"

enum { REPARSE_ARENA = 4 * LIMIT_WEBHOOK_BODY };

enum err reparse_reject(const struct stored_event *s, struct why *why, const char *reason)
{
    if (s->edited)
        why_set(why, "the edited body cannot be read (%.100s)", reason);
    else
        why_set(why, "its stored body still cannot be read (%.100s); delete it", reason);
    return ERR_UNPROCESSABLE;
}

enum err reparse_store(struct tx *tx, const struct dead_letter *d, struct str job)
{
    if (!job.p)
        return ERR_NO_MEMORY;
    return TX_DO(tx, STMT_letter_mend, 1, V_TEXT(job), d->has_lane ? V_INT(d->lane) : V_NULL,
                 d->has_payment ? V_BLOB(uuid_bytes(&d->payment)) : V_NULL,
                 V_BLOB(uuid_bytes(&d->id)));
}

static enum err reparse_as(struct tx *tx, struct dead_letter *d, const struct str *body,
                           reparse_fn mend, struct why *why)
{
    struct stored_event s;
    struct row row;
    struct arena a;
    enum err e = TX_ROW(tx, STMT_webhook_event_stored, &row, V_TEXT(d->ref));

    if (e == ERR_NOT_FOUND)
        why_set(why, "its event is not stored any more; delete it");
    if (e)
        return e;
    s = (struct stored_event){ .body = body ? *body : row.col[0].s, .trace = row.col[1].s };
    s.edited = !str_eq(s.body, row.col[2].s);
    arena_init(&a, REPARSE_ARENA);
    e = mend(tx, &a, d, &s, why);
    arena_release(&a);
    return e;
}

enum err reparse(struct tx *tx, struct dead_letter *d, reparse_fn mend, struct why *why)
{
    return reparse_as(tx, d, NULL, mend, why);
}

enum err reparse_need(struct tx *tx, struct str event_id, int64_t *ret_bytes)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_webhook_event_need, &row, V_TEXT(event_id));

    if (!e)
        *ret_bytes = row.col[0].i;
    return e;
}

/* --- edited events --- */

enum err reparse_edited(struct tx *tx, struct dead_letter *d, struct str body, reparse_fn mend,
                        struct why *why)
{
    if (body.n > LIMIT_WEBHOOK_BODY)
        return why_err(why, ERR_UNPROCESSABLE, "the edited body is larger than %d bytes",
                       LIMIT_WEBHOOK_BODY);
    return reparse_as(tx, d, &body, mend, why);
}

enum err reparse_body(struct tx *tx, void *ctx, const struct dead_letter *d,
                      struct dead_body *ret_body, struct why *why)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_webhook_event_stored, &row, V_TEXT(d->ref));

    (void)ctx;
    (void)why;
    if (e)
        return e;
    *ret_body = (struct dead_body){ .now = row.col[0].s,
                                    .first = row.col[2].s,
                                    .edited = !str_eq(row.col[0].s, row.col[2].s),
                                    .is_event = true };
    return OK;
}

/* --- Stripe's --- */

/* The letter never had a message, or its body cannot be read. Any other letter is retried as it is. */
static bool stripe_letter_is_unreadable(const struct dead_letter *d)
{
    return !d->has_body || str_eq(d->reason, S("the message's body cannot be read"));
}

static enum err stripe_letter_read(struct arena *a, const struct dead_letter *d,
                                   const struct stored_event *s, struct stripe_event *ret_event,
                                   struct why *why)
{
    enum err e = stripe_event_read(a, s->body, ret_event);

    if (e)
        return e;
    if (!ret_event->readable)
        return reparse_reject(s, why, ret_event->why);
    if (ret_event->fact_err)
        return reparse_reject(s, why, "it is not what Stripe sends");
    if (s->edited && !str_starts(d->ref, S("sha256:")) && !str_eq(ret_event->id, d->ref))
        return reparse_reject(s, why, "an event keeps its id");
    return OK;
}

static enum err stripe_letter_job(struct arena *a, const struct stored_event *s,
                                  const struct stripe_event *event, struct str *ret_job,
                                  struct why *why)
{
    if (s->edited)
        return edited_job(a, event, s->trace, ret_job, why);
    *ret_job = receive_job(a, event, s->trace);
    return OK;
}

static enum err stripe_letter_mend(struct tx *tx, struct arena *a, struct dead_letter *d,
                                   const struct stored_event *s, struct why *why)
{
    struct stripe_event event;
    struct uuid payment;
    struct str job;
    enum err e = stripe_letter_read(a, d, s, &event, why);

    if (e)
        return e;
    e = stripe_letter_job(a, s, &event, &job, why);
    if (e)
        return e;
    d->has_lane = event.has_lane;
    d->lane = event.lane;
    d->has_payment = uuid_parse(event.payment_id, &payment);
    if (d->has_payment)
        d->payment = payment;
    return reparse_store(tx, d, job);
}

static enum err stripe_letter_retry(struct tx *tx, void *ctx, struct dead_letter *d, int64_t now_ms,
                                    bool *ret_live, struct why *why)
{
    (void)ctx;
    (void)now_ms;
    (void)ret_live;
    return stripe_letter_is_unreadable(d) ? reparse(tx, d, stripe_letter_mend, why) : OK;
}

static enum err stripe_letter_need(struct tx *tx, void *ctx, const struct dead_letter *d,
                                   struct dead_need *ret_need)
{
    (void)ctx;
    return stripe_letter_is_unreadable(d) ? reparse_need(tx, d->ref, &ret_need->bytes) : OK;
}

static enum err stripe_letter_edit(struct tx *tx, void *ctx, struct dead_letter *d, struct str body,
                                   int64_t now_ms, bool *ret_live, struct uuid *ret_id,
                                   struct why *why)
{
    (void)ctx, (void)now_ms, (void)ret_live, (void)ret_id;
    return reparse_edited(tx, d, body, stripe_letter_mend, why);
}

struct dead_kind stripe_dead_kind(void)
{
    return (struct dead_kind){ .name = "stripe.event",
                               .retry = stripe_letter_retry,
                               .need = stripe_letter_need,
                               .body = reparse_body,
                               .edit = stripe_letter_edit };
}

/* --- messages that query the gateway for an event --- */

static enum err refetch_letter_mend(struct tx *tx, struct arena *a, struct dead_letter *d,
                                    const struct stored_event *s, struct why *why)
{
    struct stripe_event event;
    struct edited_ids ids;
    enum err e = stripe_letter_read(a, d, s, &event, why);

    if (e)
        return e;
    e = edited_ids(&event, &ids, why);
    if (e)
        return e;
    return reparse_store(
        tx, d,
        refetch_edited_body(a, refetch_id(d->id), event.type, ids.intent, ids.refund, s->trace));
}

/* The edit is stored with the event, so a replay of the event finds it too. */
static enum err refetch_letter_edit(struct tx *tx, void *ctx, struct dead_letter *d,
                                    struct str body, int64_t now_ms, bool *ret_live,
                                    struct uuid *ret_id, struct why *why)
{
    (void)ctx, (void)now_ms, (void)ret_live;
    *ret_id = refetch_id(d->id);
    return reparse_edited(tx, d, body, refetch_letter_mend, why);
}

struct dead_kind refetch_dead_kind(void)
{
    return (struct dead_kind){ .name = "stripe.refetch",
                               .body = reparse_body,
                               .edit = refetch_letter_edit };
}
