/* keys.c - the records of clients' idempotency keys: claim, answer, release, expiry.
 *
 *   (1) One conditional INSERT or UPDATE decides who has a key; two requests never both claim it.
 *   (2) A record that is running never expires. One that is done expires after key_ttl_ms (D5, I2).
 *   (3) key_done() and key_release() match the operation, so an older operation cannot end the key
 *       of a newer one. */
#include "payment/keys.h"

#include "base/limits.h"

#include <string.h>

enum { HOUR_MS = 3600 * 1000, EXPIRE_ROWS = 200, EXPIRE_PAUSE_MS = 50 };

struct scope key_scope(struct uuid user, enum op_kind kind, struct uuid key)
{
    struct scope s;

    memcpy(s.b, user.b, sizeof(user.b));
    s.b[sizeof(user.b)] = (unsigned char)kind;
    memcpy(s.b + sizeof(user.b) + 1, key.b, sizeof(key.b));
    return s;
}

static bool key_uuid(const struct val *v, struct uuid *ret)
{
    return v->type == VAL_BLOB && uuid_of_bytes(v->s, ret);
}

static enum err key_of_row(struct arena *a, const struct row *row, struct key_record *ret)
{
    struct key_record k = { .phase = PHASE_DONE };

    if (row->col[0].s.n != KEY_HASH || !key_uuid(&row->col[4], &k.payment) ||
        !key_uuid(&row->col[5], &k.operation))
        return ERR_INTERNAL;
    memcpy(k.hash, row->col[0].s.p, KEY_HASH);
    k.done = str_eq(row->col[1].s, S("done"));
    k.created_ms = row->col[6].i;
    if (k.done) {
        k.status = (int)row->col[2].i;
        k.body = arena_str(a, row->col[3].s);
        if (!k.body.p)
            return ERR_NO_MEMORY;
    } else if (key_uuid(&row->col[8], &k.message)) {
        k.phase = str_eq(row->col[7].s, S("unknown")) ? PHASE_UNKNOWN : PHASE_SEND;
    }
    *ret = k;
    return OK;
}

enum err key_find(struct tx *tx, struct arena *a, struct uuid user, enum op_kind kind,
                  struct uuid key, struct key_record *ret_record)
{
    struct row row;
    enum err e = TX_ROW(tx, STMT_key_find, &row, v_uuid(&user), V_TEXT(str_of(op_keyword(kind))),
                        v_uuid(&key));

    return e ? e : key_of_row(a, &row, ret_record);
}

enum err key_claim(struct tx *tx, const struct operate *o, struct uuid payment,
                   struct uuid operation, int64_t now_ms, bool *ret_ours)
{
    int64_t ttl = o->payments->key_ttl_ms;
    struct row row;
    enum err e =
        TX_ROW(tx, STMT_key_claim, &row, v_uuid(&o->user), V_TEXT(str_of(op_keyword(o->kind))),
               v_uuid(&o->key), V_TEXT(str_of(o->hash)), v_uuid(&payment), v_uuid(&operation),
               V_INT(now_ms), V_INT(now_ms + ttl), V_INT(now_ms - ttl));

    *ret_ours = e == OK;
    return e == ERR_NOT_FOUND ? OK : e;
}

enum err key_name_payment(struct tx *tx, const struct operate *o, struct uuid payment)
{
    return TX_DO(tx, STMT_key_name_payment, 1, v_uuid(&payment), v_uuid(&o->user),
                 V_TEXT(str_of(op_keyword(o->kind))), v_uuid(&o->key));
}

enum err key_done(struct tx *tx, const struct operation *op, int status, struct str body)
{
    if (!op->has_key)
        return OK;
    return TX_DO(tx, STMT_key_done, 1, V_INT(status), V_TEXT(body), v_uuid(&op->user),
                 V_TEXT(str_of(op_keyword(op->kind))), v_uuid(&op->key), v_uuid(&op->id));
}

enum err key_release(struct tx *tx, const struct operation *op)
{
    if (!op->has_key)
        return OK;
    return TX_DO(tx, STMT_key_release, 1, v_uuid(&op->user), V_TEXT(str_of(op_keyword(op->kind))),
                 v_uuid(&op->key), v_uuid(&op->id));
}

/* --- expiry --- */

static enum err count_deleted(void *ctx, const struct row *row)
{
    (void)row;
    (*(int *)ctx)++;
    return OK;
}

/* One message with a fixed id, put off by an hour each time, or by a short pause while there is more
 * to delete. It has nothing to do outside, but only a job with an outside part can be put off. */
static void keys_expire_outside(struct job *j, void *ctx)
{
    (void)ctx;
    job_outside_done(j, OK, NULL);
}

static enum err keys_expire_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct payments *pp = ctx;
    int64_t now_ms = env_now_ms(tx_env(tx));
    struct val v[] = { V_INT(now_ms), V_INT(EXPIRE_ROWS) };
    int gone = 0;
    bool more = false;
    enum err e = tx_each(tx, STMT_keys_expire, v, COUNT(v), count_deleted, &gone);

    (void)why;
    if (!e && pp->expire_also)
        e = pp->expire_also(tx, now_ms, &more);
    more = more || gone == EXPIRE_ROWS;
    j->again_ms = more ? now_ms + EXPIRE_PAUSE_MS : now_ms + HOUR_MS;
    return e;
}

struct job_kind keys_expire_kind(struct payments *pp)
{
    return (struct job_kind){
        .name = "keys.expire",
        .ctx = pp,
        .retry = retry_table[RETRY_HOUSEKEEPING],
        .outside = keys_expire_outside,
        .settle = keys_expire_settle,
        .patient = true,
    };
}

enum err keys_expire_start(struct tx *tx, struct payments *pp, int64_t now_ms)
{
    static const struct uuid only = { { 0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 'k', 'e', 'y',
                                        's', 0, 1 } };
    struct queue_new first = { .id = only, .kind = S("keys.expire"), .due_ms = now_ms + HOUR_MS };

    return queue_add(pp->runtime.queue, tx, now_ms, &first, 1);
}
