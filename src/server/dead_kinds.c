/* dead_kinds.c - how each kind of dead letter is retried, edited, deleted and shown.
 *
 * A kind without a row here is retried by the queue with the same message. All functions run inside
 * the transaction of their caller, so an act that fails changes nothing. */
#include "server/dead_kinds.h"

#include "base/json/json.h"
#include "qstash/dlq/dead_letter.h"
#include "webhook/paypay.h"
#include "webhook/reparse.h"

/* A QStash message that is retried gets a new id and keeps its webhook-id, as at Upstash, whether
 * the QStash API, an operator or a command retries it. */
static enum err retry_qstash(struct tx *tx, void *ctx, struct dead_letter *d, int64_t now_ms,
                             bool *ret_live, struct why *why)
{
    struct qstash *q = ctx;
    enum err e = qstash_dead_retry(tx, q, d->id, env_uuid(q->env));

    (void)now_ms;
    *ret_live = !e;
    if (e == ERR_NOT_FOUND)
        why_set(why, "what it should deliver is not stored any more; delete it");
    if (e == ERR_UNPROCESSABLE)
        why_set(why, "%s; delete one that is idle, then retry it", QUEUES_FULL);
    return e;
}

static enum err need_of_qstash(struct tx *tx, void *ctx, const struct dead_letter *d,
                               struct dead_need *ret_need)
{
    (void)ctx;
    return qstash_dead_need(tx, d->id, ret_need);
}

static enum err forget_qstash(struct tx *tx, void *ctx, const struct dead_letter *d,
                              struct why *why)
{
    enum err e = qstash_dead_forget(tx, ctx, d->id);

    (void)why;
    return e == ERR_NOT_FOUND ? OK : e;
}

static enum err show_qstash(struct tx *tx, void *ctx, const struct dead_letter *d, struct buf *b)
{
    return qstash_dead_show(tx, ctx, d, b);
}

/* --- editing --- */

/* Bodies that were replaced are stored beside the message; the first row has the original body. */
static enum err edited_from(struct tx *tx, const struct dead_letter *d, struct dead_body *body)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_message_edit_first, &row, V_BLOB(uuid_bytes(&d->id)));

    body->first = body->now;
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    body->edited = true;
    body->first = row.col[0].type == VAL_BLOB ? row.col[0].s : (struct str){ 0 };
    return OK;
}

static enum err body_of_qstash(struct tx *tx, void *ctx, const struct dead_letter *d,
                               struct dead_body *ret_body, struct why *why)
{
    bool hidden = false;
    enum err e = qstash_dead_body(tx, d->id, &ret_body->now, &hidden);

    (void)ctx;
    if (e)
        return e;
    if (hidden)
        return why_err(why, ERR_UNPROCESSABLE,
                       "its publisher asked for its body to be hidden; it cannot be edited");
    return edited_from(tx, d, ret_body);
}

static enum err edit_qstash(struct tx *tx, void *ctx, struct dead_letter *d, struct str body,
                            int64_t now_ms, bool *ret_live, struct uuid *ret_id, struct why *why)
{
    struct qstash *q = ctx;
    enum err e;

    (void)now_ms;
    *ret_id = env_uuid(q->env);
    e = qstash_dead_edit(tx, q, d->id, *ret_id, &body);
    *ret_live = !e;
    if (e == ERR_UNPROCESSABLE)
        why_set(why, "%s; delete one that is idle, then retry it", QUEUES_FULL);
    return e;
}

static enum err body_of_message(struct tx *tx, void *ctx, const struct dead_letter *d,
                                struct dead_body *ret_body, struct why *why)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_letter_body, &row, V_BLOB(uuid_bytes(&d->id)));

    (void)ctx, (void)why;
    if (e)
        return e;
    ret_body->now = row.col[0].type == VAL_TEXT ? row.col[0].s : (struct str){ 0 };
    return edited_from(tx, d, ret_body);
}

static enum err edit_message(struct tx *tx, void *ctx, struct dead_letter *d, struct str body,
                             int64_t now_ms, bool *ret_live, struct uuid *ret_id, struct why *why)
{
    struct json_fault fault;

    (void)ctx, (void)now_ms, (void)ret_live, (void)ret_id;
    if (json_check(body, &fault))
        return why_err(why, ERR_UNPROCESSABLE, "the edited body is not JSON (%s, at byte %zu)",
                       fault.why, fault.offset);
    return TX_DO(tx, STMT_letter_body_put, 1, V_TEXT(body), V_BLOB(uuid_bytes(&d->id)));
}

size_t dead_kinds_fill(struct dead_kind kinds[DEAD_KINDS], struct qstash *q)
{
    size_t n = 0;

    kinds[n++] = stripe_dead_kind();
    kinds[n++] = paypay_dead_kind();
    kinds[n++] = (struct dead_kind){ .name = "qstash.deliver",
                                     .ctx = q,
                                     .retry = retry_qstash,
                                     .need = need_of_qstash,
                                     .forget = forget_qstash,
                                     .show = show_qstash,
                                     .parse = message_id_parse,
                                     .body = body_of_qstash,
                                     .edit = edit_qstash };
    kinds[n++] =
        (struct dead_kind){ .name = "alert", .body = body_of_message, .edit = edit_message };
    kinds[n++] = refetch_dead_kind();
    kinds[n++] = (struct dead_kind){ .name = "op",
                                     .why_not = "it is a money operation: what it does is told by "
                                                "its own row, which nobody edits" };
    return n;
}
