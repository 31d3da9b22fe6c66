#include "flow/unknown.h"

#include "base/limits.h"
#include "flow/alert.h"
#include "flow/json_out.h"
#include "flow/rows.h"
#include "observe/log.h"
#include "observe/mask.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 256 * 1024, LOOK_ARENA = 256 * 1024 };

/* The columns of both statements. */
enum {
    COL_ID,
    COL_PAYMENT,
    COL_KIND,
    COL_CAUSE,
    COL_CLAIMED,
    COL_SENT,
    COL_SENDS,
    COL_ASKS,
    COL_RESULT,
    COL_AMOUNT,
    COL_CURRENCY,
    COL_GATEWAY,
    COL_INTENT,
    COL_STATUS,
    COL_CONTEXT,
};

enum err unknown_read_state(struct tx *tx, int64_t now_ms, struct unknown_state *ret_state)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_unknown_state, &row, V_INT(LIMIT_UNKNOWN_SEEN));

    if (e)
        return e;
    *ret_state = (struct unknown_state){ .count = row.col[0].i };
    if (row.col[1].i && now_ms > row.col[1].i)
        ret_state->oldest_ms = now_ms - row.col[1].i;
    return OK;
}

/* --- shown --- */

struct page {
    struct buf *out;
    int64_t now_ms;
    int limit, count;
    bool more;
    struct uuid last;
};

static enum err add_one(void *ctx, const struct row *row)
{
    struct page *g = ctx;
    const struct val *c = row->col;
    struct buf *b = g->out;
    struct uuid id, payment;

    if (!uuid_of_bytes(c[COL_ID].s, &id) || !uuid_of_bytes(c[COL_PAYMENT].s, &payment))
        return ERR_INTERNAL;
    if (g->count == g->limit) {
        g->more = true;
        return OK;
    }
    buf_add(b, g->count++ ? S(",{") : S("{"));
    out_uuid(b, "operationId", id);
    out_uuid(b, "paymentId", payment);
    out_text(b, "operation", c[COL_KIND].s);
    out_text(b, "cause", c[COL_CAUSE].s);
    out_text(b, "status", c[COL_STATUS].s);
    out_int(b, "amount", c[COL_AMOUNT].i);
    out_text(b, "currency", c[COL_CURRENCY].s);
    out_text(b, "gateway", c[COL_GATEWAY].s);
    out_text(b, "gatewayTransactionId", c[COL_INTENT].s);
    out_text(b, "lastError", c[COL_RESULT].s);
    out_int(b, "sends", c[COL_SENDS].i);
    out_int(b, "asks", c[COL_ASKS].i);
    out_time(b, "claimedAt", c[COL_CLAIMED].i);
    out_time(b, "lastSentAt", c[COL_SENT].i);
    out_int(b, "ageMs", g->now_ms > c[COL_CLAIMED].i ? g->now_ms - c[COL_CLAIMED].i : 0);
    buf_char(b, '}');
    g->last = id;
    return OK;
}

enum err unknown_page(struct tx *tx, struct arena *a, int64_t now_ms, const struct uuid *after,
                      int limit, struct str *ret_json)
{
    static const struct uuid first = { 0 };
    const struct uuid *from = after ? after : &first;
    struct val v[] = { v_uuid(from), V_INT(limit + 1) };
    struct buf b;
    struct page g = { .out = &b, .now_ms = now_ms, .limit = limit };
    enum err e;

    buf_init(&b, PAGE_BYTES);
    buf_add(&b, S("{\"data\":["));
    e = tx_each(tx, STMT_unknown_page, v, COUNT(v), add_one, &g);
    buf_char(&b, ']');
    if (g.more)
        out_uuid(&b, "nextCursor", g.last);
    else
        out_json(&b, "nextCursor", S("null"));
    buf_char(&b, '}');
    *ret_json = out_done(&b, a);
    return e ? e : ret_json->p ? OK : ERR_NO_MEMORY;
}

/* --- told --- */

struct told {
    struct uuid id, payment;
    struct str kind, cause, gateway, error;
    int64_t age_ms, asks, sends;
};

struct look {
    struct arena arena;
    struct env *env;
    struct unknown_state state;
    int64_t now_ms;
    struct told told[LIMIT_UNKNOWN_TOLD];
    size_t count;
    struct alert_tellings tellings;
};

/* A gateway's words name its objects (A6). */
static struct str words_of(struct arena *a, struct str text)
{
    char *copy = arena_alloc(a, text.n + 1, 1);

    if (!copy)
        return (struct str){ 0 };
    if (text.n)
        memcpy(copy, text.p, text.n);
    mask_ids(copy, text.n);
    return (struct str){ copy, text.n };
}

static enum err note(void *ctx, const struct row *row)
{
    struct look *l = ctx;
    struct told *t = &l->told[l->count];
    const struct val *c = row->col;

    if (l->count == LIMIT_UNKNOWN_TOLD || !uuid_of_bytes(c[COL_ID].s, &t->id) ||
        !uuid_of_bytes(c[COL_PAYMENT].s, &t->payment))
        return ERR_INTERNAL;
    t->kind = arena_str(&l->arena, c[COL_KIND].s);
    t->cause = arena_str(&l->arena, c[COL_CAUSE].s);
    t->gateway = arena_str(&l->arena, c[COL_GATEWAY].s);
    t->error = words_of(&l->arena, c[COL_RESULT].s);
    t->age_ms = l->now_ms - c[COL_CLAIMED].i;
    t->asks = c[COL_ASKS].i;
    t->sends = c[COL_SENDS].i;
    l->count++;
    return OK;
}

/* Rows are taken in the order of their ids, as everywhere. */
static enum err mark_told(struct tx *tx, struct look *l)
{
    struct val v[2 * LIMIT_UNKNOWN_TOLD];

    qsort(l->told, l->count, sizeof(l->told[0]), uuid_order);
    for (size_t i = 0; i < l->count; i++) {
        v[2 * i] = V_INT(l->now_ms);
        v[2 * i + 1] = v_uuid(&l->told[i].id);
    }
    return tx_bulk(tx, STMT_unknown_told, v, l->count, 2, NULL, NULL);
}

/* Only what is durably marked as told is told: never twice within the hour. */
static void tell(void *ctx, int64_t arg)
{
    struct look *l = ctx;

    (void)arg;
    for (size_t i = 0; i < l->count; i++) {
        const struct told *t = &l->told[i];
        char id[UUID_TEXT + 1], payment[UUID_TEXT + 1];

        uuid_text(t->id, id);
        uuid_text(t->payment, payment);
        LOG(l->env->log, LOG_ERROR, "PaymentOutcomeUnknown", LOG_TEXT("paymentId", str_of(payment)),
            LOG_TEXT("operation", t->kind), LOG_TEXT("operationId", str_of(id)),
            LOG_TEXT("cause", t->cause), LOG_NUM("ageMs", t->age_ms), LOG_NUM("asks", t->asks),
            LOG_NUM("sends", t->sends), LOG_TEXT("gateway", t->gateway),
            LOG_TEXT("lastError", t->error), LOG_NUM("unknown", l->state.count),
            LOG_TEXT("alert", S("unknown_outcome"))); /* which tells Sentry, and once */
    }
}

/* --- the job --- */

static void outside(struct job *j, void *ctx)
{
    struct look *l = calloc(1, sizeof(*l));

    (void)ctx;
    if (!l) {
        job_outside_done(j, ERR_NO_MEMORY, NULL);
        return;
    }
    j->state = l;
    l->env = j->env;
    arena_init(&l->arena, LOOK_ARENA);
    j->arena = &l->arena;
    job_outside_done(j, OK, NULL);
}

static enum err name_them(struct tx *tx, const struct unknown_watch *w, struct look *l,
                          int64_t now_ms)
{
    struct val v[] = { V_INT(now_ms - LIMIT_UNKNOWN_AGAIN_MS), V_INT(now_ms - w->alert_ms),
                       V_INT(LIMIT_UNKNOWN_TOLD) };
    enum err e = unknown_read_state(tx, now_ms, &l->state);

    l->now_ms = now_ms;
    l->count = 0;
    if (e || l->state.oldest_ms < w->alert_ms)
        return e;
    e = tx_each(tx, STMT_unknown_untold, v, COUNT(v), note, l);
    if (!e)
        e = mark_told(tx, l);
    if (!e && l->count)
        tx_after_commit(tx, tell, l, 0);
    return e;
}

/* Then whoever makes something wrong hastens the next look (unknown_hasten), so that an idle server
 * does nothing (Q11). Not where another node may do so while this look is under way. */
static bool is_quiet(const struct unknown_watch *w, const struct look *l)
{
    return !l->state.count && !l->tellings.stands && !store_health(w->payments->store).many_nodes;
}

static enum err settle(struct tx *tx, struct job *j, void *ctx, char why[256])
{
    const struct unknown_watch *w = ctx;
    struct look *l = j->state;
    int64_t now_ms = env_now_ms(j->env);
    enum err e = name_them(tx, w, l, now_ms);

    (void)why;
    l->tellings.stands = false;
    if (!e && w->alerts)
        e = alert_look(tx, w->alerts, &l->arena, now_ms, &l->tellings);
    j->again_ms = now_ms + (is_quiet(w, l) ? LIMIT_QUIET_LOOK_MS : LIMIT_UNKNOWN_LOOK_MS);
    return e;
}

static void release(struct job *j, void *ctx)
{
    struct look *l = j->state;

    (void)ctx;
    if (!l)
        return;
    arena_release(&l->arena);
    free(l);
    j->state = NULL;
}

struct job_kind unknown_kind(struct unknown_watch *w)
{
    return (struct job_kind){
        .name = "payment.unknown",
        .ctx = w,
        .retry = { .retries = INT32_MAX - 1,
                   .first_ms = 1000,
                   .max_ms = LIMIT_UNKNOWN_LOOK_MS,
                   .factor = 2 },
        .outside = outside,
        .settle = settle,
        .release = release,
        .patient = true,
    };
}

static const struct uuid only = { { 0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 'u', 'n', 'k', 'n', 0,
                                    1 } };

enum err unknown_hasten(struct tx *tx, struct payments *pp, int64_t now_ms)
{
    return queue_hasten(pp->queue, tx, only, now_ms + LIMIT_UNKNOWN_LOOK_MS);
}

enum err unknown_start(struct tx *tx, struct unknown_watch *w, int64_t now_ms)
{
    struct queue_new first = { .id = only,
                               .kind = S("payment.unknown"),
                               .due_ms = now_ms + LIMIT_UNKNOWN_LOOK_MS };
    enum err e = queue_stand(w->payments->queue, tx, now_ms, &first);

    return e ? e : unknown_hasten(tx, w->payments, now_ms);
}
