#include "auth/verify.h"

/* A kid must be that of a key in the set; without a kid exactly one key must fit. If no key of the
 * set has the kid, our PEM key is used. */
static enum verdict choose_key(const struct verifier *v, const struct key_set *jwks,
                               const struct jwt *t, const struct public_key **ret_key)
{
    const struct public_key *found = NULL;
    size_t n = jwks ? key_set_find(jwks, t, &found) : 0;

    if (v->pem && (v->pem->algs & t->alg) && (!n || !t->has_kid)) {
        found = v->pem;
        n++;
    }
    *ret_key = found;
    if (n == 1)
        return VERDICT_OK;
    if (n)
        return VERDICT_AMBIGUOUS;
    return jwks ? VERDICT_UNKNOWN_KEY : VERDICT_ALG;
}

static enum verdict verify_public(const struct verifier *v, const struct key_set *jwks,
                                  const struct jwt *t, uint64_t *ret_print)
{
    const struct public_key *k;
    enum verdict e = choose_key(v, jwks, t, &k);

    if (e)
        return e;
    *ret_print = k == v->pem ? 0 : k->print;
    if (public_key_verifies(k, t->alg, t->signed_part, t->signature))
        return VERDICT_OK;
    /* Our PEM was only a guess, then: the kid may be that of a key that is new in the set. */
    return k == v->pem && jwks && t->has_kid ? VERDICT_UNKNOWN_KEY : VERDICT_SIGNATURE;
}

static enum verdict verify_secret(const struct verifier *v, const struct jwt *t)
{
    if (!v->secret)
        return VERDICT_ALG;
    return secret_key_verifies(v->secret, t->signed_part, t->signature) ? VERDICT_OK
                                                                        : VERDICT_SIGNATURE;
}

enum verdict verify_token(const struct verifier *v, const struct key_set *jwks, struct arena *a,
                          struct str token, int64_t now_ms, struct verified *ret_verified)
{
    struct verified r = { 0 };
    struct jwt t;
    enum verdict e = jwt_read(a, token, &t);

    if (e)
        return e;
    e = t.alg == JWT_HS256 ? verify_secret(v, &t) : verify_public(v, jwks, &t, &r.key);
    if (e)
        return e;
    e = jwt_read_claims(a, t.claims, &v->rules, now_ms, &r.claims);
    if (e)
        return e;
    *ret_verified = r;
    return VERDICT_OK;
}
