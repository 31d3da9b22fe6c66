/* keys.c - GET /v2/keys, and their rotation: current := next, next := a new one.
 *
 * A receiver that knows (current, next) understands both the deliveries before and after one
 * rotation. After two it knows neither key any more, so a second one within the hour has to be
 * asked for expressly. The settings say what the keys are at first; a rotation is durable and
 * outlives the program, until the settings are changed: then they win. */
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

static enum err admin_keys_lock(struct tx *tx)
{
    int64_t lane = lane_of(S("qstash.keys"));

    return queue_lock_lanes(tx, &lane, 1);
}

static enum err read_row(struct tx *tx, struct keys_row *ret_row)
{
    struct row row;
    enum err e = tx_row(tx, STMT_qstash_keys_read, NULL, 0, &row);

    if (!e)
        *ret_row = (struct keys_row){ row.col[0].s, row.col[1].s, row.col[2].s,
                                      row.col[3].type == VAL_NULL ? 0 : row.col[3].i };
    return e;
}

static enum err tell_holder(struct qstash *q, const struct keys_row *row)
{
    return upstash_keys_set(q->keys, row->current, row->next) ? OK : ERR_INTERNAL;
}

/* --- at start, and from other nodes --- */

static bool hash_settings(const struct qstash *q, unsigned char ret_digest[DIGEST])
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

/* The holder may know before the commit: if that fails, whoever signs next begins anew. */
static enum err admin_keys_begin(struct tx *tx, struct qstash *q)
{
    unsigned char digest[DIGEST];
    struct str hash = { (const char *)digest, DIGEST };
    struct keys_row row;
    enum err e = read_row(tx, &row);

    if (e && e != ERR_NOT_FOUND)
        return e;
    if (!q->current_key.n) /* the door is closed; what was published before is still signed */
        return e ? OK : tell_holder(q, &row);
    if (!hash_settings(q, digest))
        return ERR_INTERNAL;
    if (!e && str_eq(row.from_settings, hash))
        return tell_holder(q, &row);
    row = (struct keys_row){ .current = q->current_key, .next = q->next_key };
    e = TX_DO(tx, STMT_qstash_keys_put, 1, V_TEXT(row.current), V_TEXT(row.next), V_BLOB(hash));
    return e ? e : tell_holder(q, &row);
}

static void have_begun(void *ctx, int64_t now_ms)
{
    struct qstash *q = ctx;

    atomic_store(&q->keys_read_ms, now_ms);
    atomic_store(&q->keys_begun, true);
}

enum err keys_begin(struct tx *tx, struct qstash *q)
{
    enum err e = admin_keys_lock(tx);

    if (!e)
        e = admin_keys_begin(tx, q);
    if (!e)
        tx_after_commit(tx, have_begun, q, clock_mono_ms(&q->env->clock));
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
    e = read_row(tx, &row);
    if (!e)
        e = tell_holder(q, &row);
    if (e && e != ERR_NOT_FOUND)
        return e;
    atomic_store(&q->keys_read_ms, now_ms); /* behind it: who comes meanwhile reads as well */
    return OK;
}

/* --- GET /v2/keys --- */

static void admin_keys_show(struct buf *out, struct str current, struct str next)
{
    buf_add(out, S("{\"current\":"));
    buf_json(out, current);
    buf_add(out, S(",\"next\":"));
    buf_json(out, next);
    buf_char(out, '}');
}

static enum err admin_keys_get(struct tx *tx, struct call *c)
{
    struct keys_row row;
    enum err e = read_row(tx, &row);

    if (e == ERR_NOT_FOUND)
        return call_refuse(c, 404, "there are no signing keys");
    if (!e)
        admin_keys_show(&c->out, row.current, row.next);
    return e;
}

static enum err begin_and_get(struct tx *tx, struct call *c)
{
    enum err e = keys_begin(tx, c->v->q);

    return e ? e : admin_keys_get(tx, c);
}

void qstash_keys_get(struct visit *v)
{
    reply_header(v->r, S("Cache-Control"), S("no-store"));
    if (atomic_load(&v->q->keys_begun))
        call_read(v, admin_keys_get);
    else
        call_write(v, begin_and_get);
}

/* --- POST /v2/keys/rotate --- */

struct rotation {
    bool force;
    char fresh[KEY_TEXT + 1];
    struct str current; /* out: in the request's arena, like all that a unit leaves */
};

static enum err refuse_hurry(struct call *c, int64_t ago_ms)
{
    return call_refuse(
        c, 409,
        "the keys were rotated %lld minutes ago: a receiver that was not given the new"
        " ones since would lose both of its keys; with ?force=true it is done anyway",
        (long long)(ago_ms / 60000));
}

static enum err admin_keys_rotate(struct tx *tx, struct call *c)
{
    struct rotation *r = c->v->more;
    int64_t now_ms = env_now_ms(c->v->q->env);
    struct str fresh = str_of(r->fresh);
    struct keys_row row;
    enum err e = keys_follow(c->v->q, tx);

    if (!e)
        e = admin_keys_lock(tx);
    if (!e)
        e = read_row(tx, &row);
    if (e == ERR_NOT_FOUND)
        return call_refuse(c, 404, "there are no signing keys");
    if (e)
        return e;
    if (row.rotated_ms && now_ms - row.rotated_ms < LIMIT_QSTASH_ROTATE_MS && !r->force)
        return refuse_hurry(c, now_ms - row.rotated_ms);
    r->current = arena_str(c->unit.arena, row.next);
    if (!r->current.p)
        return ERR_NO_MEMORY;
    admin_keys_show(&c->out, r->current, fresh);
    e = TX_DO(tx, STMT_qstash_keys_rotate, 1, V_TEXT(r->current), V_TEXT(fresh), V_INT(now_ms));
    return e ? e
             : TX_DO(tx, STMT_audit_add, 1, V_INT(now_ms), V_TEXT(S("QSTASH_KEYS_ROTATE")),
                     V_TEXT(S("qstash")), V_TEXT(S("success")), V_INT(1), V_NULL);
}

static void admin_keys_rotated(struct call *c)
{
    const struct rotation *r = c->v->more;

    upstash_keys_set(c->v->q->keys, r->current, str_of(r->fresh)); /* both are short enough */
}

static void make_key(struct rng *rng, char ret_key[KEY_TEXT + 1])
{
    unsigned char bytes[KEY_BYTES];

    rng_bytes(rng, bytes, sizeof(bytes));
    *base64url_put(stpcpy(ret_key, "sig_"), (struct str){ (const char *)bytes, sizeof(bytes) }) =
        '\0';
    OPENSSL_cleanse(bytes, sizeof(bytes));
}

void qstash_keys_rotate(struct visit *v)
{
    struct rotation *r = arena_alloc(&v->r->arena, 1, sizeof(*r));

    if (!r) {
        visit_err(v, ERR_NO_MEMORY);
        return;
    }
    r->force = str_eq(visit_query(v, S("force")), S("true"));
    make_key(&v->q->env->rng, r->fresh);
    v->more = r;
    reply_header(v->r, S("Cache-Control"), S("no-store"));
    call_write_then(v, admin_keys_rotate, admin_keys_rotated);
}
