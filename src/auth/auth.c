/* auth.c - how a request is authenticated:
 *
 *   no Authorization, a path of the admin API, a cookie --> its session --> then()
 *
 *   Authorization --> is it the admin token? --> known? --> verify --> then()
 *                                                  |          |
 *                                 its key's set is too old    no key fits
 *                                                  v          v
 *                                    wait for one fetch, then once more from the start
 *
 * A request waits at most once. Every failure gives the same 401. The reason is in the log (debug),
 * the token never is. */
#include "auth/auth.h"

#include "auth/cache.h"
#include "auth/jwks.h"
#include "auth/verify.h"
#include "base/limits.h"
#include "observe/log.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

struct auth {
    struct env *env;
    struct arena arena; /* of the texts in verifier.rules */
    struct verifier verifier;
    struct cache *cache;
    struct jwks *jwks; /* NULL: no url */
    EVP_MD *sha256;
    bool has_admin;
    unsigned char admin[TOKEN_DIGEST];
    struct sessions sessions;
};

struct auth_check { /* one request's */
    struct jwks_waiter waiter;
    struct auth *auth;
    struct request *r;
    auth_then then;
    void *ctx;
    uint64_t seen; /* the generation of the JWKS' keys, from before they were used */
    bool waited;
};

/* --- the header --- */

/* "Bearer abc" -> "abc"; an empty slice for anything else, and for two Authorization headers. */
static struct str bearer_token(const struct request *r)
{
    struct str value = str_trim(request_header(r, S("Authorization"), NULL));

    if (!str_eq_nocase(str_cut(&value, ' '), S("Bearer")))
        return (struct str){ 0 };
    return str_trim(value);
}

static bool token_digest(const struct auth *a, struct str token, unsigned char ret[TOKEN_DIGEST])
{
    return EVP_Digest(token.p, token.n, ret, NULL, a->sha256, NULL) == 1;
}

/* --- verdicts --- */

/* Rejects a viewer's requests that change something, for all handlers. */
static void auth_admit(const struct auth_check *c, const struct principal *p)
{
    bool looks = str_eq(c->r->method, S("GET")) || str_eq(c->r->method, S("HEAD"));

    if (p->viewer && !p->admin && !p->service && !looks)
        c->then(c->r, c->ctx, ERR_FORBIDDEN, NULL);
    else
        c->then(c->r, c->ctx, OK, p);
}

/* set_is_old: the keys are about to be fetched again, so the verdict is not cached. */
static enum verdict auth_verify(struct auth *a, struct request *r, struct str token,
                                const unsigned char *digest, bool set_is_old, struct verified *ret)
{
    int64_t now_ms = clock_wall_ms(&a->env->clock);
    struct arena_mark mark = arena_mark(&r->arena);
    struct key_set *set;
    enum verdict v;

    if (cache_get(a->cache, digest, now_ms, ret))
        return VERDICT_OK;
    set = a->jwks ? jwks_keys(a->jwks) : NULL;
    v = verify_token(&a->verifier, set, &r->arena, token, now_ms, ret);
    if (!v && !(set_is_old && ret->key))
        cache_put(a->cache, digest, ret, set ? set->generation : 0);
    key_set_unref(set);
    arena_rewind(&r->arena, mark);
    return v;
}

static void auth_refuse(const struct auth_check *c, enum verdict v)
{
    if (v == VERDICT_NO_MEMORY) {
        c->then(c->r, c->ctx, ERR_NO_MEMORY, NULL);
        return;
    }
    LOG(c->auth->env->log, LOG_DEBUG, "token refused", LOG_TEXT("why", str_of(verdict_words(v))),
        LOG_TEXT("requestId", c->r->id));
    reply_header(c->r, S("WWW-Authenticate"), S("Bearer error=\"invalid_token\""));
    c->then(c->r, c->ctx, ERR_UNAUTHORIZED, NULL);
}

/* --- waiting for the JWKS --- */

static void auth_run(struct auth_check *c);

static void auth_fetched(struct task *t)
{
    auth_run(CONTAINER_OF(CONTAINER_OF(t, struct jwks_waiter, task), struct auth_check, waiter));
}

/* False: nothing to wait for; the verdict stands. */
ANSWERS static bool wait_for_keys(const struct auth_check *c)
{
    struct auth_check *kept = arena_alloc(&c->r->arena, 1, sizeof(*kept));

    if (!kept) {
        auth_refuse(c, VERDICT_NO_MEMORY);
        return true;
    }
    *kept = *c;
    kept->waited = true;
    kept->waiter =
        (struct jwks_waiter){ .task = { .run = auth_fetched }, .executor = c->r->executor };
    switch (jwks_await(c->auth->jwks, c->seen, &kept->waiter)) {
    case JWKS_WAITS: return true;
    case JWKS_NEWER: auth_run(kept); return true;
    case JWKS_FULL: c->then(c->r, c->ctx, ERR_OVERLOADED, NULL); return true;
    case JWKS_NO_USE: return false;
    }
    abort();
}

/* --- a check --- */

static void auth_check_token(struct auth_check *c, struct str token, const unsigned char *digest)
{
    struct auth *a = c->auth;
    struct verified got;
    bool is_old, needs_newer;
    enum verdict v;

    c->seen = a->jwks ? jwks_generation(a->jwks) : 0; /* first: a fetch may end at any time */
    is_old = a->jwks && jwks_tend(a->jwks);
    v = auth_verify(a, c->r, token, digest, is_old, &got);
    needs_newer = v == VERDICT_UNKNOWN_KEY || (!v && got.key && is_old);
    if (needs_newer && !c->waited && wait_for_keys(c))
        return;
    if (v)
        auth_refuse(c, v);
    else
        auth_admit(c, &got.claims.who);
}

static void auth_run(struct auth_check *c)
{
    static const struct principal operator_ = { .service = true, .admin = true };
    struct auth *a = c->auth;
    struct str token = bearer_token(c->r);
    unsigned char digest[TOKEN_DIGEST];

    if (!token.n)
        auth_refuse(c, VERDICT_NO_TOKEN);
    else if (token.n > LIMIT_TOKEN)
        auth_refuse(c, VERDICT_TOO_LONG);
    else if (!token_digest(a, token, digest))
        auth_refuse(c, VERDICT_NO_MEMORY);
    else if (a->has_admin && CRYPTO_memcmp(digest, a->admin, TOKEN_DIGEST) == 0)
        c->then(c->r, c->ctx, OK, &operator_);
    else
        auth_check_token(c, token, digest);
}

/* --- a session --- */

static void auth_session_read(struct request *r, void *ctx, enum err e, const struct session *s)
{
    const struct auth_check *c = ctx;
    struct principal p = { 0 };

    if (e == ERR_UNAUTHORIZED) {
        auth_refuse(c, VERDICT_SESSION);
        return;
    }
    if (e) {
        c->then(r, c->ctx, e, NULL);
        return;
    }
    p = (struct principal){ .user = s->user, .viewer = s->viewer, .name = s->name };
    p.admin = p.service = !s->viewer;
    auth_admit(c, &p);
}

static bool wants_session(const struct auth *a, const struct request *r)
{
    size_t given;

    if (!a->sessions.store || !str_starts(r->path, S(SESSION_PATH "/")))
        return false;
    request_header(r, S("Authorization"), &given);
    return !given && session_token(r).n;
}

void auth_check(struct auth *a, struct request *r, auth_then then, void *ctx)
{
    struct auth_check c = { .auth = a, .r = r, .then = then, .ctx = ctx }, *kept;

    if (!wants_session(a, r)) {
        auth_run(&c);
        return;
    }
    kept = arena_alloc(&r->arena, 1, sizeof(*kept));
    if (!kept) {
        auth_refuse(&c, VERDICT_NO_MEMORY);
        return;
    }
    *kept = c;
    session_check(&a->sessions, r, auth_session_read, kept);
}

const struct sessions *auth_sessions(const struct auth *a)
{
    return &a->sessions;
}

bool auth_is_admin_token(const struct auth *a, struct str token)
{
    unsigned char digest[TOKEN_DIGEST];

    return a->has_admin && token.n <= LIMIT_TOKEN && token_digest(a, token, digest) &&
           CRYPTO_memcmp(digest, a->admin, TOKEN_DIGEST) == 0;
}

bool auth_owner_may(struct str words, struct str verb)
{
    while (words.n)
        if (str_eq(str_trim(str_cut(&words, ',')), verb))
            return true;
    return false;
}

/* --- start and end --- */

static bool load_keys(struct auth *a, const struct auth_options *o, struct why *why)
{
    if (o->secret.n && !(a->verifier.secret = secret_key_new(o->secret, why)))
        return false;
    if (o->public_key.n && !(a->verifier.pem = public_key_from_pem(o->public_key, why)))
        return false;
    if (o->jwks_url.n && !o->client)
        return why_false(why, "nobody can fetch the JWKS");
    return true;
}

static bool load_admin(struct auth *a, struct str token)
{
    a->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL); /* once: a fetch costs more than the hash */
    a->has_admin = token.n > 0;
    return a->sha256 && (!token.n || token_digest(a, token, a->admin));
}

/* Also true for an empty text, which has no copy. */
static bool auth_copy(struct auth *a, struct str text, struct str *ret)
{
    *ret = text.n ? arena_str(&a->arena, text) : (struct str){ 0 };
    return ret->n == text.n && (!text.n || ret->p);
}

static bool auth_copy_sessions(struct auth *a, const struct auth_options *o)
{
    a->sessions = (struct sessions){ .env = o->env,
                                     .store = o->store,
                                     .admin = a->has_admin ? a->admin : NULL };
    return auth_copy(a, o->public_url, &a->sessions.public_url);
}

static bool start_jwks(struct auth *a, const struct auth_options *o)
{
    if (!o->jwks_url.n)
        return true;
    a->jwks = jwks_new(&(struct jwks_options){
        .env = o->env, .client = o->client, .url = o->jwks_url, .cache = a->cache });
    return a->jwks != NULL;
}

struct auth *auth_new(const struct auth_options *o, struct why *why)
{
    struct auth *a = calloc(1, sizeof(*a));

    why_set(why, "it needs more memory than there is");
    if (!a)
        return NULL;
    a->env = o->env;
    arena_init(&a->arena, 4 * LIMIT_SETTING);
    a->cache = cache_new();
    if (a->cache && load_keys(a, o, why) && load_admin(a, o->admin_token) &&
        auth_copy(a, o->issuer, &a->verifier.rules.issuer) &&
        auth_copy(a, o->audience, &a->verifier.rules.audience) && auth_copy_sessions(a, o) &&
        start_jwks(a, o))
        return a;
    auth_free(a);
    return NULL;
}

void auth_free(struct auth *a)
{
    if (!a)
        return;
    jwks_free(a->jwks);
    cache_free(a->cache);
    secret_key_free(a->verifier.secret);
    public_key_free(a->verifier.pem);
    EVP_MD_free(a->sha256);
    arena_release(&a->arena);
    OPENSSL_cleanse(a, sizeof(*a));
    free(a);
}
