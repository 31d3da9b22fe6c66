/* attempt.c - the headers of one attempt with both signatures, and what the destination's answer
 * means: delivered, refused for good, or when to try again. */
#include "qstash/deliver/attempt.h"

#include "auth/standard_webhooks.h"
#include "auth/upstash.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "domain/expression.h"
#include "qstash/header_json.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

/* --- the Standard Webhooks signature --- */

enum { SECRET_PREFIX = 6, SECRET_TEXT = SECRET_PREFIX + (SIGNING_KEY_MAX + 2) / 3 * 4 };

/* Standard Webhooks wants keys of 24 to 64 bytes. HMAC itself pads a short key with zeros and
 * hashes one of more than 64 bytes; doing so here changes no signature. */
static bool standard_key(struct str key, unsigned char ret_bytes[SIGNING_KEY_MAX], size_t *ret_n)
{
    unsigned int n = 0;

    memset(ret_bytes, 0, SIGNING_KEY_MAX);
    *ret_n = key.n < SIGNING_KEY_MIN ? SIGNING_KEY_MIN : key.n;
    if (key.n <= SIGNING_KEY_MAX) {
        memcpy(ret_bytes, key.p, key.n);
        return true;
    }
    if (!EVP_Digest(key.p, key.n, ret_bytes, &n, EVP_sha256(), NULL))
        return false;
    *ret_n = n;
    return true;
}

static bool sign_standard(struct str key, struct str id, struct str at, struct str body,
                          char ret_signature[SIGNING_TEXT + 1])
{
    unsigned char bytes[SIGNING_KEY_MAX];
    char secret[SECRET_TEXT + 1] = "whsec_";
    size_t n;
    bool fine = standard_key(key, bytes, &n);

    if (fine) {
        EVP_EncodeBlock((unsigned char *)secret + SECRET_PREFIX, bytes, (int)n);
        fine = signing_sign(str_of(secret), id, at, body, ret_signature);
    }
    OPENSSL_cleanse(bytes, sizeof(bytes));
    OPENSSL_cleanse(secret, sizeof(secret));
    return fine;
}

/* --- what is sent --- */

struct attempt_list {
    struct arena *arena;
    struct header *all;
    size_t n, room;
    enum err err;
};

enum { OURS = 12 }; /* at most so many headers are not the publisher's */

/* An empty value is left out. */
static void attempt_list_add(struct attempt_list *l, struct str name, struct str value)
{
    if (!value.n || l->err)
        return;
    if (l->n == l->room) {
        l->err = ERR_INTERNAL;
        return;
    }
    l->all[l->n++] = (struct header){ name, value };
}

static void attempt_list_add_copy(struct attempt_list *l, struct str name, const char *value)
{
    struct str copy = arena_str(l->arena, str_of(value));

    if (!copy.p)
        l->err = l->err ? l->err : ERR_NO_MEMORY;
    attempt_list_add(l, name, copy);
}

static void attempt_list_add_number(struct attempt_list *l, struct str name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    attempt_list_add_copy(l, name, text);
}

static void attempt_list_add_id(struct attempt_list *l, struct str name, struct uuid id)
{
    char text[MESSAGE_ID_TEXT + 1];

    message_id_text(id, text);
    attempt_list_add_copy(l, name, text);
}

static bool attempt_list_has(const struct attempt_list *l, struct str name)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_eq_nocase(l->all[i].name, name))
            return true;
    return false;
}

/* Headers that are never forwarded were left out at publishing (qstash/publish/input_forward.c). */
static void add_forwarded(struct attempt_list *l, const struct parcel *p)
{
    struct header *given;
    size_t n;

    l->err = header_json_read(l->arena, p->header, &given, &n);
    if (l->err)
        return;
    l->room = n + OURS;
    l->all = arena_alloc(l->arena, l->room, sizeof(*l->all));
    if (!l->all) {
        l->err = ERR_NO_MEMORY;
        return;
    }
    if (n)
        memcpy(l->all, given, n * sizeof(*given)); /* a forwarded header may be empty */
    l->n = n;
}

static void add_upstash(struct attempt_list *l, const struct parcel *p, const struct stamp *s)
{
    struct str signature =
        upstash_sign(l->arena, s->key, p->url, p->body, s->wall_ms / 1000, &s->jti);

    if (!signature.p && !l->err)
        l->err = ERR_INTERNAL;
    attempt_list_add_id(l, S("Upstash-Message-Id"), p->id);
    attempt_list_add_number(l, S("Upstash-Retried"), s->retried);
    attempt_list_add(l, S("Upstash-Signature"), signature);
    attempt_list_add(l, S("Upstash-Schedule-Id"), p->schedule_id);
    attempt_list_add(l, S("Upstash-Topic-Name"), p->topic);
    attempt_list_add(l, S("Upstash-Caller-Ip"), p->caller_ip);
}

static void add_standard(struct attempt_list *l, const struct parcel *p, const struct stamp *s)
{
    char id[MESSAGE_ID_TEXT + 1], at[24], signature[SIGNING_TEXT + 1];

    message_id_text(p->has_webhook_id ? p->webhook_id : p->id, id);
    snprintf(at, sizeof(at), "%lld", (long long)(s->wall_ms / 1000));
    if (!sign_standard(s->key, str_of(id), str_of(at), p->body, signature)) {
        l->err = l->err ? l->err : ERR_INTERNAL;
        return;
    }
    attempt_list_add_copy(l, S("webhook-id"), id);
    attempt_list_add_copy(l, S("webhook-timestamp"), at);
    attempt_list_add_copy(l, S("webhook-signature"), signature);
}

enum err attempt_headers(struct arena *a, const struct parcel *p, const struct stamp *s,
                         struct header **ret_headers, size_t *ret_count)
{
    struct attempt_list l = { .arena = a };

    add_forwarded(&l, p);
    if (!l.err && !attempt_list_has(&l, S("User-Agent")))
        attempt_list_add(&l, S("User-Agent"), S("Upstash-QStash"));
    if (!l.err)
        add_upstash(&l, p, s);
    if (!l.err)
        add_standard(&l, p, s);
    if (l.err)
        return l.err;
    *ret_headers = l.all;
    *ret_count = l.n;
    return OK;
}

/* --- what the answer means --- */

static struct str header_json(struct arena *a, const struct header *h, size_t n)
{
    struct buf b;

    buf_init(&b, LIMIT_QSTASH_ANSWER_HEADER);
    header_json_write(&b, h, n);
    return out_done(&b, a);
}

/* As text, with names in canonical case; as many as fit. */
static struct str answer_header_json(const struct call *c)
{
    size_t n = 0;
    struct header *h = arena_alloc(c->arena, c->answer_header_count, sizeof(*h));
    struct str json = { 0 };

    for (size_t i = 0; h && i < c->answer_header_count; i++) {
        struct str name = header_name(c->arena, c->answer_headers[i].name);
        struct str value = header_text(c->arena, c->answer_headers[i].value);

        if (name.p && value.p && header_name_is_valid(name))
            h[n++] = (struct header){ name, value };
    }
    do
        json = header_json(c->arena, h, n);
    while (!json.p && (n = n * 3 / 4));
    return json;
}

static bool answer_is_fatal(const struct call *c)
{
    return c->status == 489 &&
           str_eq_nocase(call_header(c, S("Upstash-NonRetryable-Error")), S("true"));
}

static int64_t next_delay_ms(const struct call *c, const struct parcel *p, int64_t retried,
                             int64_t wall_ms)
{
    const struct backoff_headers asked = {
        .retry_after = call_header(c, S("Retry-After")),
        .reset = call_header(c, S("X-RateLimit-Reset")),
        .reset_requests = call_header(c, S("X-RateLimit-Reset-Requests")),
        .reset_tokens = call_header(c, S("X-RateLimit-Reset-Tokens")),
    };
    int64_t ms = backoff_asked_ms(&asked, wall_ms);

    if (ms < 0 && p->retry_delay.n)
        ms = expression_delay_ms(p->retry_delay, retried);
    return ms < 0 ? backoff_delay_ms(retried + 1) : ms;
}

/* The status decides even if the rest of the answer was lost. */
void attempt_read(const struct call *c, const struct parcel *p, int64_t retried, int64_t wall_ms,
                  struct attempt *ret_attempt)
{
    *ret_attempt = (struct attempt){
        .status = c->status,
        .delivered = c->status >= 200 && c->status < 300,
        .fatal = answer_is_fatal(c),
        .error = c->result == CALL_ANSWERED ? (struct str){ 0 } : str_of(c->why),
        .response_header = c->answer_header_count ? answer_header_json(c) : (struct str){ 0 },
        .response_body = c->answer,
        .next_delay_ms = next_delay_ms(c, p, retried, wall_ms),
    };
}
