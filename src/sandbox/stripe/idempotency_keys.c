/* idempotency_keys.c - Idempotency-Key, as Stripe handles it:
 *
 *   (1) The scope is the account: a key that was used at one endpoint is rejected at another.
 *   (2) The answer and the change that it reports are one commit. So a key is either unknown and
 *       nothing happened, or known with its answer.
 *   (3) What an operation answered once it had begun is stored, success or failure. Rejections of
 *       the request itself (API key, form, parameters) are not.
 *   (4) While a call is under way its key answers 409. This list is in memory only: after a crash
 *       no call is under way. */
#include "base/json/json.h"
#include "base/limits.h"
#include "sandbox/impl.h"
#include "sandbox/stripe/call.h"

#include <openssl/evp.h>
#include <string.h>

static bool sha256(struct str text, unsigned char ret_hash[HASH])
{
    unsigned int n = HASH;

    return EVP_Digest(text.p, text.n, ret_hash, &n, EVP_sha256(), NULL) == 1;
}

enum err idempotency_hash(struct stripe_call *v)
{
    struct request *r = v->request;
    CLEANUP(buf_release) struct buf b;
    enum err e;

    buf_init(&b, LIMIT_BODY * 2);
    buf_add(&b, request_header(r, S("Stripe-Account"), NULL));
    buf_char(&b, '\n');
    buf_add(&b, v->key);
    if (b.failed || !sha256(buf_str(&b), v->key_hash))
        return ERR_NO_MEMORY;
    buf_clear(&b);
    buf_add(&b, r->method);
    buf_char(&b, ' ');
    buf_add(&b, r->path);
    buf_char(&b, '\n');
    e = form_canonical(&r->arena, &v->form, &b);
    if (e)
        return e;
    return sha256(buf_str(&b), v->request_hash) ? OK : ERR_NO_MEMORY;
}

/* --- calls under way --- */

static struct stripe_call **bucket_of(struct stripe_call *v)
{
    size_t i = (size_t)v->key_hash[0] << 8 | v->key_hash[1];

    return &impl_of(v->w.s)->busy[i % BUSY_KEYS];
}

bool idempotency_enter(struct stripe_call *v)
{
    struct stripe_call **first = bucket_of(v);

    for (const struct stripe_call *x = *first; x; x = x->next)
        if (memcmp(x->key_hash, v->key_hash, HASH) == 0)
            return false;
    v->next = *first;
    v->place = first;
    if (v->next)
        v->next->place = &v->next;
    *first = v;
    return true;
}

void idempotency_leave(struct stripe_call *v)
{
    if (!v->place)
        return;
    *v->place = v->next;
    if (v->next)
        v->next->place = v->place;
    v->place = NULL;
}

/* --- stored answers --- */

static bool replay_answer(struct stripe_call *v, const struct row *row)
{
    v->original = arena_str(v->w.a, row->col[1].s);
    v->status = (int)row->col[2].i;
    v->body = arena_str(v->w.a, row->col[3].s);
    v->replayed = true;
    work_ok(&v->w, v->original.p && v->body.p ? OK : ERR_NO_MEMORY);
    return false;
}

static bool is_same_request(const struct stripe_call *v, struct str hashed)
{
    return hashed.n == HASH && memcmp(hashed.p, v->request_hash, HASH) == 0;
}

bool idempotency_claim(struct stripe_call *v)
{
    struct str key = { (const char *)v->key_hash, HASH };
    struct row row;
    enum err e = TX_ROW(v->w.tx, STMT_sandbox_key_read, &row, V_BLOB(key));

    if (e == ERR_NOT_FOUND)
        return true;
    if (!work_ok(&v->w, e))
        return false;
    if (row.col[4].i <= v->w.now_ms)
        return work_ok(&v->w, TX_DO(v->w.tx, STMT_sandbox_key_drop, 1, V_BLOB(key)));
    if (is_same_request(v, row.col[0].s))
        return replay_answer(v, &row);
    return stripe_reject(
        v, &(struct rejection){
               .status = 400,
               .type = "idempotency_error",
               .message = work_text(&v->w,
                                    "Keys for idempotent requests can only be used with the same "
                                    "endpoint and parameters they were first used with. Try using "
                                    "a key other than '" STR_FMT
                                    "' if you meant to execute a different request.",
                                    STR_ARG(v->key)) });
}

void idempotency_save(struct stripe_call *v)
{
    enum {
        PRUNE_EVERY = 32,
        PRUNED = 64
    }; /* deletes more keys than are added, so that expired ones become fewer */
    struct str key = { (const char *)v->key_hash, HASH },
               order = { (const char *)v->request_hash, HASH };
    struct tx *tx = v->w.tx;
    enum err e =
        TX_DO(tx, STMT_sandbox_key_write, 1, V_BLOB(key), V_BLOB(order), V_TEXT(v->w.request_id),
              V_INT(v->status), V_TEXT(v->body), V_INT(v->w.now_ms + LIMIT_SANDBOX_KEY_MS));

    if (!e && rng_below(&tx_env(tx)->rng, PRUNE_EVERY) == 0)
        e = TX_DO(tx, STMT_sandbox_keys_prune, -1, V_INT(PRUNED), V_INT(v->w.now_ms));
    work_ok(&v->w, e);
}
