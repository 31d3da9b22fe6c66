/* manual.c - each ask is one unit of work on the transfer's row.
 *
 *   (1) A payment has one transfer row and one reference, however often AUTHORIZE is repeated.
 *   (2) A transaction that was not committed did nothing: RETRY_LATER. One whose COMMIT had no
 *       answer is UNCERTAIN, and is asked for again with the same row. */
#include "gateway/manual.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/time/zone.h"
#include "domain/day.h"
#include "domain/reference.h"
#include "gateway/transfer_row.h"
#include "gateway/tries.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct manual {
    struct gateway gateway;
    struct manual_options o;
};

struct manual_ask { /* in the call's arena */
    struct unit unit;
    struct manual *manual;
    struct gateway_call *call;

    /* made before the unit, which may be run again */
    int64_t now_ms, expires_ms;
    struct reference references[LIMIT_REFERENCE_TRIES];

    struct transfer transfer;
    enum gateway_answer answer;
    const char *code, *words; /* REFUSED */
};

int64_t manual_deadline_ms(const struct zone *z, int64_t now_ms, int days)
{
    return day_begins_ms(z, day_at(z, now_ms) + days + 1) - 1000;
}

/* --- facts --- */

/* The payment instructions for the customer, as JSON. .p NULL: no memory. */
static struct str transfer_details(struct manual_ask *k)
{
    const struct transfer *t = &k->transfer;
    struct str text = { 0 };
    char deadline[DAY_TEXT + 1];
    struct buf b;

    day_text(day_at(k->manual->o.zone, t->expires_ms), deadline);
    buf_init(&b, LIMIT_BANK_DETAILS);
    buf_add(&b, S("{\"account\":"));
    buf_json(&b, t->account);
    buf_fmt(&b,
            ",\"reference\":\"" STR_FMT
            "\",\"amount\":%lld,\"currency\":\"%s\",\"deadline\":\"%s\"}",
            STR_ARG(t->reference), (long long)t->money.minor, t->money.currency, deadline);
    if (!b.failed)
        text = arena_str(k->call->arena, buf_str(&b));
    buf_release(&b);
    return text;
}

static struct str manual_keep(struct arena *a, const char *text)
{
    return arena_str(a, str_of(text));
}

static enum intent_state transfer_intent_state(enum transfer_state s)
{
    static const enum intent_state states[TRANSFER_STATES] = {
        [TRANSFER_OPEN] = INTENT_ACTION,
        [TRANSFER_RECEIVED] = INTENT_SUCCEEDED,
        [TRANSFER_RETURNING] = INTENT_SUCCEEDED,
        [TRANSFER_CANCELED] = INTENT_CANCELED,
    };

    return states[s];
}

static enum err manual_transfer_fact(struct manual_ask *k)
{
    struct gateway_call *c = k->call;
    const struct transfer *t = &k->transfer;
    char intent[TRANSFER_ID_TEXT + 1], payment[UUID_TEXT + 1];
    struct fact *f = &c->fact;

    transfer_intent_id(t->payment_id, intent);
    uuid_text(t->payment_id, payment);
    *f = (struct fact){ .kind = FACT_INTENT,
                        .intent_id = manual_keep(c->arena, intent),
                        .payment_id = manual_keep(c->arena, payment),
                        .amount = t->money.minor,
                        .state = transfer_intent_state(t->state),
                        .received = t->received,
                        .cancel_reason = t->cancel_reason };
    memcpy(f->currency, t->money.currency, sizeof(f->currency));
    if (t->state == TRANSFER_OPEN) {
        f->action_type = S("bank_transfer");
        f->action_expires_ms = t->expires_ms;
        f->action_details = transfer_details(k);
    }
    return f->intent_id.p && f->payment_id.p && (f->action_details.p || t->state != TRANSFER_OPEN)
               ? OK
               : ERR_NO_MEMORY;
}

static enum err manual_refund_fact(struct manual_ask *k, int64_t amount, const char *currency,
                                   bool paid)
{
    struct gateway_call *c = k->call;
    char id[TRANSFER_ID_TEXT + 1], ours[UUID_TEXT + 1], intent[TRANSFER_ID_TEXT + 1];
    struct fact *f = &c->fact;

    transfer_refund_id(c->refund, id);
    transfer_intent_id(c->payment, intent);
    uuid_text(c->refund, ours);
    *f = (struct fact){ .kind = FACT_REFUND,
                        .intent_id = manual_keep(c->arena, intent),
                        .refund_id = manual_keep(c->arena, id),
                        .refund_our_id = manual_keep(c->arena, ours),
                        .amount = amount,
                        .refund = paid ? REFUND_SUCCEEDED : REFUND_PENDING };
    memcpy(f->currency, currency, sizeof(f->currency));
    return f->intent_id.p && f->refund_id.p && f->refund_our_id.p ? OK : ERR_NO_MEMORY;
}

static enum err manual_refuse(struct manual_ask *k, const char *code, const char *words)
{
    k->answer = GATEWAY_REFUSED;
    k->code = code;
    k->words = words;
    return OK;
}

/* --- each ask, inside a unit --- */

static enum err manual_read_row(struct tx *tx, struct manual_ask *k)
{
    return transfer_read(tx, k->call->arena, k->call->payment, false, &k->transfer);
}

/* ABSENT, or OK with the state of the row. */
static enum err manual_fetch(struct tx *tx, struct manual_ask *k)
{
    enum err e = manual_read_row(tx, k);

    k->answer = e == ERR_NOT_FOUND ? GATEWAY_ABSENT : GATEWAY_OK;
    return e == ERR_NOT_FOUND ? OK : e ? e : manual_transfer_fact(k);
}

/* Takes the first of the drawn references that no transfer has or had. */
static enum err manual_add_row(struct tx *tx, struct manual_ask *k)
{
    const struct gateway_call *c = k->call;
    enum err e = ERR_NOT_FOUND;
    struct row row;

    for (size_t i = 0; e == ERR_NOT_FOUND && i < LIMIT_REFERENCE_TRIES; i++) {
        e = TX_ROW(tx, STMT_transfer_add, &row, V_BLOB(uuid_bytes(&c->payment)),
                   V_TEXT(str_of(k->references[i].text)), V_INT(c->money.minor),
                   V_TEXT(str_of(c->money.currency)), V_TEXT(k->manual->o.account),
                   V_INT(k->expires_ms), V_INT(k->now_ms));
        if (e == ERR_NOT_FOUND && !manual_read_row(tx, k))
            return OK; /* another node added the row first */
    }
    return e == ERR_NOT_FOUND ? ERR_OVERLOADED : e;
}

static enum err manual_authorize(struct tx *tx, struct manual_ask *k)
{
    enum err e = manual_read_row(tx, k);

    if (e == ERR_NOT_FOUND)
        e = manual_add_row(tx, k);
    return e ? e : manual_fetch(tx, k);
}

static enum err manual_cancel(struct tx *tx, struct manual_ask *k)
{
    const struct gateway_call *c = k->call;
    struct str reason = c->reason.n ? c->reason : S("requested_by_customer");
    enum err e = TX_DO(tx, STMT_transfer_cancel, -1, V_TEXT(reason), V_INT(k->now_ms),
                       V_BLOB(uuid_bytes(&c->payment)));

    if (!e)
        e = manual_fetch(tx, k);
    if (e || k->answer != GATEWAY_OK || k->transfer.state == TRANSFER_CANCELED)
        return e;
    return manual_refuse(k, "transfer_received", "the money of this transfer has come");
}

static enum err manual_capture(struct tx *tx, struct manual_ask *k)
{
    enum err e = manual_fetch(tx, k);

    if (e || k->answer != GATEWAY_OK || k->transfer.received)
        return e;
    return manual_refuse(k, "transfer_not_received", "the money of this transfer has not come");
}

static enum err manual_refund(struct tx *tx, struct manual_ask *k)
{
    const struct gateway_call *c = k->call;
    struct row row;
    enum err e = manual_read_row(tx, k);

    if (e == ERR_NOT_FOUND || (!e && !k->transfer.received))
        return manual_refuse(k, "transfer_not_received", "there is nothing to send back");
    if (!e)
        e = TX_ROW(tx, STMT_return_add, &row, V_BLOB(uuid_bytes(&c->refund)), V_TEXT(S("refund")),
                   V_BLOB(uuid_bytes(&c->payment)), V_NULL, V_INT(c->money.minor),
                   V_TEXT(str_of(c->money.currency)), c->reason.n ? V_TEXT(c->reason) : V_NULL,
                   V_INT(k->now_ms));
    if (e && e != ERR_NOT_FOUND)
        return e;
    e = TX_ROW(tx, STMT_return_get, &row, V_BLOB(uuid_bytes(&c->refund)));
    return e ? e
             : manual_refund_fact(k, row.col[4].i, c->money.currency,
                                  str_eq(row.col[6].s, S("paid")));
}

static enum err manual_fetch_refund(struct tx *tx, struct manual_ask *k)
{
    char currency[4] = "";
    struct row row;
    enum err e = TX_ROW(tx, STMT_return_get, &row, V_BLOB(uuid_bytes(&k->call->refund)));

    if (e == ERR_NOT_FOUND) {
        k->answer = GATEWAY_ABSENT;
        return OK;
    }
    if (e)
        return e;
    if (row.col[5].s.n == 3)
        memcpy(currency, row.col[5].s.p, 3);
    uuid_of_bytes(row.col[2].s, &k->call->payment);
    return manual_refund_fact(k, row.col[4].i, currency, str_eq(row.col[6].s, S("paid")));
}

static enum err manual_no_page(struct tx *tx, struct manual_ask *k)
{
    (void)tx;
    return manual_refuse(k, "not_supported", "bank transfers have no page of the gateway's own");
}

static const struct {
    enum err (*run)(struct tx *tx, struct manual_ask *k);
    bool writes;
} asks[GATEWAY_ASKS] = {
    [GATEWAY_AUTHORIZE] = { manual_authorize, true },
    [GATEWAY_CAPTURE] = { manual_capture, false },
    [GATEWAY_VOID] = { manual_cancel, true },
    [GATEWAY_REFUND] = { manual_refund, true },
    [GATEWAY_FETCH] = { manual_fetch, false },
    [GATEWAY_CHECKOUT] = { manual_no_page, false },
    [GATEWAY_FETCH_REFUND] = { manual_fetch_refund, false },
    [GATEWAY_EXPIRE] = { manual_no_page, false },
};

static enum err manual_run(struct tx *tx, struct unit *u)
{
    struct manual_ask *k = CONTAINER_OF(u, struct manual_ask, unit);

    k->call->fact = (struct fact){ 0 };
    k->answer = GATEWAY_OK;
    k->code = k->words = "";
    return asks[k->call->ask].run(tx, k);
}

/* --- the call --- */

static void manual_answer(struct gateway_call *c, enum gateway_answer a, const char *code,
                          const char *words)
{
    c->answer = a;
    c->timed_out = false;
    c->status = 0;
    c->tries = 1;
    gateway_say(c, str_of(code), str_of(words));
}

static void manual_done(struct unit *u)
{
    struct manual_ask *k = CONTAINER_OF(u, struct manual_ask, unit);
    struct gateway_call *c = k->call;

    c->sent = !u->err || u->err == ERR_UNCERTAIN;
    if (u->err)
        c->fact = (struct fact){ 0 };
    if (!u->err)
        manual_answer(c, k->answer, k->code, k->words);
    else
        manual_answer(c, u->err == ERR_UNCERTAIN ? GATEWAY_UNCERTAIN : GATEWAY_RETRY_LATER,
                      err_code(u->err), err_words(u->err, LANG_EN));
    c->done(c);
}

static bool manual_parse_id(struct str text, struct str prefix, struct uuid *ret_id)
{
    if (!str_starts(text, prefix))
        return false;
    return uuid_parse((struct str){ text.p + prefix.n, text.n - prefix.n }, ret_id);
}

/* A caller may name payment and refund by this gateway's own ids. */
static void manual_parse_ids(struct gateway_call *c)
{
    struct uuid id;

    if (manual_parse_id(c->intent_id, S("bt_"), &id))
        c->payment = id;
    if (manual_parse_id(c->refund_id, S("btr_"), &id))
        c->refund = id;
}

static void manual_prepare(struct manual_ask *k)
{
    struct env *env = k->manual->o.env;

    k->now_ms = env_now_ms(env);
    if (k->call->ask != GATEWAY_AUTHORIZE)
        return;
    k->expires_ms = manual_deadline_ms(k->manual->o.zone, k->now_ms, k->manual->o.days);
    for (size_t i = 0; i < LIMIT_REFERENCE_TRIES; i++)
        k->references[i] = reference_make(rng_below(&env->rng, REFERENCE_COUNT));
}

static void manual_call(struct gateway *g, struct gateway_call *c)
{
    static const struct unit_kind writes = { "manual.write", UNIT_FRONT, manual_run, NULL },
                                  reads = { "manual.read", UNIT_READ, manual_run, NULL };
    struct manual_ask *k = arena_alloc(c->arena, 1, sizeof(*k));

    if (!k) {
        gateway_turn_away(c, GATEWAY_RETRY_LATER, "no_memory", "the call has no memory left");
        return;
    }
    k->manual = CONTAINER_OF(g, struct manual, gateway);
    k->call = c;
    manual_parse_ids(c);
    manual_prepare(k);
    k->unit = (struct unit){ .kind = asks[c->ask].writes ? &writes : &reads,
                             .executor = c->executor,
                             .done = manual_done,
                             .arena = c->arena };
    store_post(k->manual->o.store, &k->unit);
}

static void manual_free(struct gateway *g)
{
    struct manual *m = CONTAINER_OF(g, struct manual, gateway);

    zone_free(m->o.zone);
    free(m);
}

struct gateway *manual_gateway_new(const struct manual_options *o)
{
    static const struct gateway_ops ops = { .call = manual_call, .free = manual_free };
    struct manual *m = calloc(1, sizeof(*m));

    if (!m) {
        zone_free(o->zone);
        return NULL;
    }
    m->o = *o;
    m->gateway = (struct gateway){
        .ops = &ops, .name = "manual", .provider = "manual", .methods = "bank_transfer"
    };
    return &m->gateway;
}
