/* keys.c - GET /v2/keys, and the rotation of the keys: current := next, next := a new one.
 *
 *   (1) A receiver that has (current, next) accepts the deliveries before and after one rotation.
 *       After two it has neither key, so a second rotation within the hour must be forced.
 *   (2) The settings give the first keys. A rotation is durable and outlives the program, until the
 *       settings are changed: then the settings win.
 *
 * A crash leaves the last committed pair, which every node reads again before it signs. */
#include "qstash/admin/keys.h"

#include "auth/base64url.h"
#include "auth/upstash.h"
#include "base/limits.h"
#include "qstash/call.h"
#include "qstash/forget.h"
#include "queue/lane.h"
#include "store/values.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

enum { KEY_BYTES = 24, KEY_TEXT = 4 + KEY_BYTES * 4 / 3, DIGEST = 32 };

struct keys_row {
    struct str current, next, from_settings; /* live as long as the unit's run */
    int64_t rotated_ms;                      /* 0: never */
};

static enum err keys_lock(struct tx *tx)
{
    int64_t lane = lane_of(S("qstash.keys"));

    return queue_lock_lanes(tx, &lane, 1);
}

static enum err keys_read(struct tx *tx, struct keys_row *ret_row)
{
    struct row row;
    enum err e = tx_row(tx, STMT_qstash_keys_read, NULL, 0, &row);

    if (!e)
        *ret_row = (struct keys_row){ row.col[0].s, row.col[1].s, row.col[2].s,
                                      row.col[3].type == VAL_NULL ? 0 : row.col[3].i };
    return e;
}

static enum err keys_set_copy(struct qstash *q, const struct keys_row *row)
{
    return upstash_keys_set(q->keys, row->current, row->next) ? OK : ERR_INTERNAL;
}

/* --- loading: at start, and after a rotation by another node --- */

static bool keys_hash_settings(const struct qstash *q, unsigned char ret_digest[DIGEST])
{
    char text[2 * LIMIT_SIGNING_KEY + 2];
    int n = snprintf(text, sizeof(text), STR_FMT "\n" STR_FMT, STR_ARG(q->current_key),
                     STR_ARG(q->next_key));
    bool hashed =
        n > 0 && n < (int)sizeof(text) &&
        EVP_Digest(text, (size_t)n, ret_digest, &(unsigned){ DIGEST }, EVP_sha256(), NULL);

    OPENSSL_cleanse(text, sizeof(text));
    return hashed;
}

/* Sets the node's copy before the commit: if that fails, the next unit that signs loads it
 * again. */
static enum err keys_load(struct tx *tx, struct qstash *q)
{
    unsigned char digest[DIGEST];
    struct str hash = { (const char *)digest, DIGEST };
    struct keys_row row;
    enum err e = keys_read(tx, &row);

    if (e && e != ERR_NOT_FOUND)
        return e;
    if (!q->current_key
             .n) /* the API is off; messages that were published before are still signed */
        return e ? OK : keys_set_copy(q, &row);
    if (!keys_hash_settings(q, digest))
        return ERR_INTERNAL;
    if (!e && str_eq(row.from_settings, hash))
        return keys_set_copy(q, &row);
    row = (struct keys_row){ .current = q->current_key, .next = q->next_key };
    e = TX_DO(tx, STMT_qstash_keys_put, 1, V_TEXT(row.current), V_TEXT(row.next), V_BLOB(hash));
    return e ? e : keys_set_copy(q, &row);
}

static void keys_loaded(void *ctx, int64_t now_ms)
{
    struct qstash *q = ctx;

    atomic_store(&q->keys_read_ms, now_ms);
    atomic_store(&q->keys_begun, true);
}

enum err keys_begin(struct tx *tx, struct qstash *q)
{
    enum err e = keys_lock(tx);

    if (!e)
        e = keys_load(tx, q);
    if (!e)
        tx_after_commit(tx, keys_loaded, q, clock_mono_ms(&q->env->clock));
    return e;
}

enum err qstash_start(struct tx *tx, struct qstash *q, int64_t now_ms)
{
    enum err e = keys_begin(tx, q);

    return e ? e : qstash_forget_start(q, tx, now_ms);
}

enum err keys_follow(struct qstash *q, struct tx *tx)
{
    int64_t now_ms = clock_mono_ms(&q->env->clock);
    struct keys_row row;
    enum err e;

    if (!atomic_load(&q->keys_begun))
        return keys_begin(tx, q);
    if (now_ms - atomic_load(&q->keys_read_ms) < LIMIT_QSTASH_KEYS_MS ||
        !store_health(q->store).many_nodes)
        return OK;
    e = keys_read(tx, &row);
    if (!e)
        e = keys_set_copy(q, &row);
    if (e && e != ERR_NOT_FOUND)
        return e;
    atomic_store(&q->keys_read_ms,
                 now_ms); /* after the read: a unit that runs meanwhile reads too */
    return OK;
}

/* --- GET /v2/keys --- */

static void keys_write(struct buf *out, struct str current, struct str next)
{
    buf_add(out, S("{\"current\":"));
    buf_json(out, current);
    buf_add(out, S(",\"next\":"));
    buf_json(out, next);
    buf_char(out, '}');
}

static enum err keys_get(struct tx *tx, struct api_call *c)
{
    struct keys_row row;
    enum err e = keys_read(tx, &row);

    if (e == ERR_NOT_FOUND)
        return api_call_refuse(c, 404, "there are no signing keys");
    if (!e)
        keys_write(&c->out, row.current, row.next);
    return e;
}

static enum err keys_begin_and_get(struct tx *tx, struct api_call *c)
{
    enum err e = keys_begin(tx, c->v->q);

    return e ? e : keys_get(tx, c);
}

void qstash_keys_get(struct qstash_request *v)
{
    reply_header(v->r, S("Cache-Control"), S("no-store"));
    if (atomic_load(&v->q->keys_begun))
        api_call_read(v, keys_get);
    else
        api_call_write(v, keys_begin_and_get);
}

/* --- POST /v2/keys/rotate --- */

struct rotation {
    bool force;
    char fresh[KEY_TEXT + 1];
    struct str current; /* set by the unit, in the request's arena */
};

static enum err rotation_too_soon(struct api_call *c, int64_t ago_ms)
{
    return api_call_refuse(
        c, 409,
        "the keys were rotated %lld minutes ago: a receiver that was not given the new"
        " ones since would lose both of its keys; with ?force=true it is done anyway",
        (long long)(ago_ms / 60000));
}

static enum err keys_rotate(struct tx *tx, struct api_call *c)
{
    struct rotation *r = c->v->more;
    int64_t now_ms = env_now_ms(c->v->q->env);
    struct str fresh = str_of(r->fresh);
    struct keys_row row;
    enum err e = keys_follow(c->v->q, tx);

    if (!e)
        e = keys_lock(tx);
    if (!e)
        e = keys_read(tx, &row);
    if (e == ERR_NOT_FOUND)
        return api_call_refuse(c, 404, "there are no signing keys");
    if (e)
        return e;
    if (row.rotated_ms && now_ms - row.rotated_ms < LIMIT_QSTASH_ROTATE_MS && !r->force)
        return rotation_too_soon(c, now_ms - row.rotated_ms);
    r->current = arena_str(c->unit.arena, row.next);
    if (!r->current.p)
        return ERR_NO_MEMORY;
    keys_write(&c->out, r->current, fresh);
    e = TX_DO(tx, STMT_qstash_keys_rotate, 1, V_TEXT(r->current), V_TEXT(fresh), V_INT(now_ms));
    return e ? e
             : TX_DO(tx, STMT_audit_add, 1, V_INT(now_ms), V_TEXT(S("QSTASH_KEYS_ROTATE")),
                     V_TEXT(S("qstash")), V_TEXT(S("success")), V_INT(1), V_NULL);
}

static void keys_rotated(struct api_call *c)
{
    const struct rotation *r = c->v->more;

    upstash_keys_set(c->v->q->keys, r->current, str_of(r->fresh)); /* both are short enough */
}

static void key_make(struct rng *rng, char ret_key[KEY_TEXT + 1])
{
    unsigned char bytes[KEY_BYTES];

    rng_bytes(rng, bytes, sizeof(bytes));
    *base64url_put(stpcpy(ret_key, "sig_"), (struct str){ (const char *)bytes, sizeof(bytes) }) =
        '\0';
    OPENSSL_cleanse(bytes, sizeof(bytes));
}

void qstash_keys_rotate(struct qstash_request *v)
{
    struct rotation *r = arena_alloc(&v->r->arena, 1, sizeof(*r));

    if (!r) {
        qstash_reply_err(v, ERR_NO_MEMORY);
        return;
    }
    r->force = str_eq(qstash_request_query(v, S("force")), S("true"));
    key_make(&v->q->env->rng, r->fresh);
    v->more = r;
    reply_header(v->r, S("Cache-Control"), S("no-store"));
    api_call_write_then(v, keys_rotate, keys_rotated);
}
