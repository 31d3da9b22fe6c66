/* jwt.c - form and header, then claims.
 *
 * The header is checked before any key is used: a supported alg, no crit, no b64, no typ of another
 * kind of token. jku, x5u, jwk and x5c are ignored, so a token cannot bring its own key. json_pick
 * rejects duplicate members, malformed numbers and bad UTF-8. */
#include "auth/jwt.h"

#include "auth/base64url.h"
#include "base/json/json.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

const char *verdict_words(enum verdict v)
{
#define VERDICT_WORDS(name, words) [name] = (words),
    static const char *const all[VERDICTS] = { VERDICT_LIST(VERDICT_WORDS) };
#undef VERDICT_WORDS

    return all[v];
}

static enum verdict verdict_of_err(enum err e, enum verdict otherwise)
{
    return e == ERR_NO_MEMORY ? VERDICT_NO_MEMORY : otherwise;
}

/* --- the header --- */

unsigned jwt_alg_of(struct str name)
{
    static const struct {
        struct str name;
        enum jwt_alg alg;
    } rows[] = { { { "HS256", 5 }, JWT_HS256 },
                 { { "RS256", 5 }, JWT_RS256 },
                 { { "PS256", 5 }, JWT_PS256 },
                 { { "ES256", 5 }, JWT_ES256 } };

    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_eq(rows[i].name, name))
            return rows[i].alg;
    return 0;
}

/* A logout token or a proof of possession, signed by the same issuer, is no access token. */
static bool is_access_typ(const struct json_value *v)
{
    struct str typ = v->raw;

    if (v->type == JSON_ABSENT)
        return true;
    if (v->type != JSON_STRING || v->has_escape)
        return false;
    if (typ.n > 12 && str_eq_nocase((struct str){ typ.p, 12 }, S("application/")))
        typ = (struct str){ typ.p + 12, typ.n - 12 };
    return str_eq_nocase(typ, S("JWT")) || str_eq_nocase(typ, S("at+jwt"));
}

static enum verdict read_kid(struct arena *a, const struct json_value *v, struct jwt *t)
{
    enum err e;

    if (v->type == JSON_ABSENT)
        return VERDICT_OK;
    e = json_unescape(a, v, &t->kid);
    if (e)
        return verdict_of_err(e, VERDICT_KID);
    t->has_kid = true;
    return t->kid.n && t->kid.n <= LIMIT_TOKEN_KID ? VERDICT_OK : VERDICT_KID;
}

static enum verdict read_header(struct arena *a, struct str json, struct jwt *t)
{
    enum { ALG, KID, TYP, CRIT, B64, FIELDS };
    static const char *const paths[FIELDS] = { "alg", "kid", "typ", "crit", "b64" };
    struct json_value v[FIELDS];
    unsigned alg;

    if (json_pick(json, paths, FIELDS, v, NULL))
        return VERDICT_HEADER;
    if (v[CRIT].type != JSON_ABSENT || v[B64].type != JSON_ABSENT)
        return VERDICT_CRIT;
    /* An alg with an escape is not accepted. */
    alg = v[ALG].type == JSON_STRING ? jwt_alg_of(v[ALG].raw) : 0;
    if (!alg)
        return VERDICT_ALG;
    if (!is_access_typ(&v[TYP]))
        return VERDICT_TYP;
    t->alg = (enum jwt_alg)alg;
    return read_kid(a, &v[KID], t);
}

/* --- the form --- */

struct jwt_parts {
    struct str header, claims, signature; /* base64url */
};

/* Three parts: five would be a JWE. */
static bool jwt_split(struct str token, struct jwt_parts *ret)
{
    size_t dots = 0;

    for (size_t i = 0; i < token.n; i++)
        dots += token.p[i] == '.';
    ret->header = str_cut(&token, '.');
    ret->claims = str_cut(&token, '.');
    ret->signature = token;
    return dots == 2 && ret->header.n && ret->claims.n;
}

enum verdict jwt_read(struct arena *a, struct str token, struct jwt *ret_jwt)
{
    struct jwt t = { 0 };
    struct jwt_parts p;
    struct str header;
    enum verdict v;
    enum err e;

    if (token.n > LIMIT_TOKEN)
        return VERDICT_TOO_LONG;
    if (!jwt_split(token, &p))
        return VERDICT_FORM;
    e = base64url_decode(a, p.header, &header);
    if (!e)
        e = base64url_decode(a, p.claims, &t.claims);
    if (!e)
        e = base64url_decode(a, p.signature, &t.signature);
    if (e)
        return verdict_of_err(e, VERDICT_FORM);
    v = read_header(a, header, &t);
    if (v)
        return v;
    t.signed_part = (struct str){ token.p, p.header.n + 1 + p.claims.n };
    *ret_jwt = t;
    return VERDICT_OK;
}

/* --- claims --- */

enum { EXP, NBF, IAT, ISS, AUD, SUB, SCOPE, SCP, SCOPES, CLAIMS };

/* NumericDate: a number of seconds, maybe with a fraction, up to the year 9999. */
static bool read_time(const struct json_value *v, int64_t *ret_ms)
{
    char text[LIMIT_JSON_NUMBER + 1];
    double s;

    if (v->type != JSON_NUMBER || v->raw.n > LIMIT_JSON_NUMBER)
        return false;
    memcpy(text, v->raw.p, v->raw.n);
    text[v->raw.n] = '\0';
    s = strtod(text, NULL);
    if (!(s >= 0 && s <= 253402300799.0))
        return false;
    *ret_ms = (int64_t)(s * 1000);
    return true;
}

static enum verdict check_times(const struct json_value *v, int64_t now_ms, struct jwt_claims *c)
{
    static const int starts[] = { NBF, IAT };

    if (!read_time(&v[EXP], &c->until_ms))
        return VERDICT_NO_EXP;
    if (now_ms >= c->until_ms)
        return VERDICT_EXPIRED;
    c->from_ms = INT64_MIN;
    for (size_t i = 0; i < COUNT(starts); i++) {
        int64_t at;

        if (v[starts[i]].type == JSON_ABSENT)
            continue;
        if (!read_time(&v[starts[i]], &at))
            return VERDICT_NOT_YET;
        if (at - LIMIT_TOKEN_LEEWAY_MS > c->from_ms)
            c->from_ms = at - LIMIT_TOKEN_LEEWAY_MS;
    }
    return now_ms < c->from_ms ? VERDICT_NOT_YET : VERDICT_OK;
}

static bool is_text(struct arena *a, const struct json_value *v, struct str wanted)
{
    struct str text;

    return json_unescape(a, v, &text) == OK && str_eq(text, wanted);
}

/* Calls see() with the text, or with each text of the array. False: neither a text nor an array of
 * texts. */
static bool each_claim_text(struct arena *a, const struct json_value *v,
                            void (*see)(void *ctx, struct str text), void *ctx)
{
    CLEANUP(json_freep) cJSON *list = NULL;
    const cJSON *one;
    struct str text;

    if (v->type == JSON_STRING) {
        if (json_unescape(a, v, &text))
            return false;
        see(ctx, text);
        return true;
    }
    if (v->type != JSON_ARRAY || json_parse(v->raw, &list, NULL))
        return false;
    cJSON_ArrayForEach(one, list)
    {
        if (!cJSON_IsString(one))
            return false;
        see(ctx, str_of(one->valuestring));
    }
    return true;
}

struct auth_jwt_search {
    struct str wanted;
    bool found;
};

static void audience_matches(void *ctx, struct str text)
{
    struct auth_jwt_search *s = ctx;

    s->found |= str_eq(text, s->wanted);
}

static bool audience_is_ours(struct arena *a, const struct json_value *aud, struct str audience)
{
    struct auth_jwt_search s = { .wanted = audience };

    return !audience.n || (each_claim_text(a, aud, audience_matches, &s) && s.found);
}

static void add_scopes(void *ctx, struct str words)
{
    struct principal *p = ctx;

    while (words.n) {
        struct str word = str_cut(&words, ' ');

        p->service |= str_eq(word, S("service"));
        p->admin |= str_eq(word, S("admin"));
        p->viewer |= str_eq(word, S("viewer"));
    }
}

/* Issuers use different names and forms of the claim. null counts as absent. */
static bool read_scopes(struct arena *a, const struct json_value *v, struct principal *p)
{
    static const int names[] = { SCOPE, SCP, SCOPES };

    for (size_t i = 0; i < COUNT(names); i++) {
        const struct json_value *one = &v[names[i]];

        if (one->type != JSON_ABSENT && one->type != JSON_NULL &&
            !each_claim_text(a, one, add_scopes, p))
            return false;
    }
    return true;
}

/* The all-zero UUID is rejected, since it stands for the admin token. */
static bool read_user(struct arena *a, const struct json_value *v, struct uuid *ret_user)
{
    struct str text;

    return json_unescape(a, v, &text) == OK && uuid_parse(text, ret_user) &&
           !uuid_eq(*ret_user, (struct uuid){ 0 });
}

enum verdict jwt_read_claims(struct arena *a, struct str claims, const struct jwt_rules *rules,
                             int64_t now_ms, struct jwt_claims *ret_claims)
{
    static const char *const paths[CLAIMS] = { "exp", "nbf",   "iat", "iss",   "aud",
                                               "sub", "scope", "scp", "scopes" };
    struct json_value v[CLAIMS];
    struct jwt_claims c = { 0 };
    enum verdict verdict;

    if (json_pick(claims, paths, CLAIMS, v, NULL))
        return VERDICT_CLAIMS;
    verdict = check_times(v, now_ms, &c);
    if (verdict)
        return verdict;
    if (rules->issuer.n && !is_text(a, &v[ISS], rules->issuer))
        return VERDICT_ISSUER;
    if (!audience_is_ours(a, &v[AUD], rules->audience))
        return VERDICT_AUDIENCE;
    if (!read_user(a, &v[SUB], &c.who.user))
        return VERDICT_SUBJECT;
    if (!read_scopes(a, v, &c.who))
        return VERDICT_SCOPE;
    *ret_claims = c;
    return VERDICT_OK;
}
