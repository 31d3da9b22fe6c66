#include "auth/auth.h"
#include "auth/base64url.h"
#include "auth/keys.h"
#include "base/limits.h"

static void add_text(struct buf *b, const char *name, struct str value)
{
    if (!value.n)
        return;
    buf_fmt(b, "\"%s\":", name);
    buf_json(b, value);
    buf_char(b, ',');
}

static void add_claims(struct buf *b, struct str issuer, struct str audience, struct uuid user,
                       struct str scope, int64_t now_ms, int64_t life_ms)
{
    char id[UUID_TEXT + 1];

    uuid_text(user, id);
    buf_char(b, '{');
    add_text(b, "iss", issuer);
    add_text(b, "aud", audience);
    add_text(b, "scope", scope);
    buf_fmt(b, "\"sub\":\"%s\",\"iat\":%lld,\"exp\":%lld}", id, (long long)(now_ms / 1000),
            (long long)((now_ms + life_ms) / 1000));
}

struct str auth_make_token(struct arena *a, struct str secret, struct str issuer,
                           struct str audience, struct uuid user, struct str scope, int64_t now_ms,
                           int64_t life_ms)
{
    unsigned char mac[32];
    struct why why;
    struct secret_key *key = secret_key_new(secret, &why);
    struct str token = { 0 };
    struct buf claims, text;

    buf_init(&claims, LIMIT_TOKEN);
    buf_init(&text, LIMIT_TOKEN);
    add_claims(&claims, issuer, audience, user, scope, now_ms, life_ms);
    base64url_add(&text, S("{\"alg\":\"HS256\",\"typ\":\"JWT\"}"));
    buf_char(&text, '.');
    base64url_add(&text, buf_str(&claims));
    if (key && secret_key_sign(key, buf_str(&text), mac)) {
        buf_char(&text, '.');
        base64url_add(&text, (struct str){ (const char *)mac, sizeof(mac) });
        if (!text.failed && !claims.failed)
            token = arena_str(a, buf_str(&text));
    }
    secret_key_free(key);
    buf_release(&claims);
    buf_release(&text);
    return token;
}
