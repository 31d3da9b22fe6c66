/* message.c - the messages on a listener's WebSocket, as Stripe's command line reads and writes them.
 *
 * webhook_conversation_id holds the number of the waiting row. So an acknowledgement finds its row
 * by the session alone, also over the next connection and after a restart. */
#include "base/hex.h"
#include "base/json/json.h"
#include "sandbox/relay/listeners.h"
#include "sandbox/webhook/hooks.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#define CONVERSATION "wc_sandbox_"

enum { DIGEST = 32 };

/* Appends "t=...,v1=...", the signature over `text`, which is "t.body". */
static bool add_signature(struct str secret, struct str text, int64_t t, struct buf *out)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char hex[2 * DIGEST];
    unsigned int n = 0;

    if (!HMAC(EVP_sha256(), secret.p, (int)secret.n, (const unsigned char *)text.p, text.n, digest,
              &n) ||
        n != DIGEST)
        return false;
    hex_put(hex, digest, DIGEST);
    buf_fmt(out, "t=%lld,v1=", (long long)t);
    buf_add(out, (struct str){ hex, sizeof(hex) });
    return true;
}

/* endpoint.api_version is null for the account's own version, which listeners get without
 * --latest. */
static void write_event(struct buf *b, const struct relay_event_out *e, struct str payload,
                        struct str signature)
{
    buf_add(b, S("{\"type\":\"webhook_event\",\"endpoint\":{\"api_version\":null},"
                 "\"event_payload\":"));
    buf_json(b, payload);
    buf_add(b, S(",\"http_headers\":{\"Content-Type\":\"application/json; charset=utf-8\","
                 "\"User-Agent\":\"Stripe/1.0 (+https://stripe.com/docs/webhooks)\","
                 "\"Accept\":\"*/*; q=0.5, application/xml\",\"Cache-Control\":\"no-cache\","
                 "\"Stripe-Signature\":\""));
    buf_add(b, signature);
    buf_fmt(b, "\"},\"webhook_conversation_id\":\"" CONVERSATION "%lld\",\"webhook_id\":",
            (long long)e->seq);
    buf_json(b, e->id);
    buf_char(b, '}');
}

bool relay_message_write(struct buf *b, const struct relay_event_out *e, struct str secret,
                         int64_t now_s)
{
    struct buf text, signature; /* text: "1760000000." and the payload, which is signed */
    size_t skip;
    bool signed_;

    buf_init(&text, 4 * LIMIT_SANDBOX_EVENT);
    buf_init(&signature, 256);
    buf_reserve(&text, e->body.n * 2);
    buf_fmt(&text, "%lld.", (long long)now_s);
    skip = text.n;
    sb_indent(&text, e->body);
    signed_ = !text.failed && add_signature(secret, buf_str(&text), now_s, &signature);
    if (signed_)
        write_event(b, e, (struct str){ text.p + skip, text.n - skip }, buf_str(&signature));
    buf_release(&text);
    buf_release(&signature);
    return signed_ && !b->failed;
}

/* --- messages from the listener --- */

static int64_t seq_of(const struct json_value *v)
{
    struct str number = v->raw;
    int64_t seq;

    if (v->type != JSON_STRING || v->has_escape || !str_starts(number, S(CONVERSATION)))
        return 0;
    number.p += sizeof(CONVERSATION) - 1;
    number.n -= sizeof(CONVERSATION) - 1;
    return str_to_i64(number, &seq) && seq > 0 ? seq : 0;
}

static bool is_text(const struct json_value *v, struct str text)
{
    return v->type == JSON_STRING && str_eq(v->raw, text);
}

struct relay_message_in relay_message_read(struct str text)
{
    static const char *const paths[] = { "type", "webhook_conversation_id", "status" };
    struct relay_message_in in = { .type = RELAY_OTHER };
    struct json_value v[COUNT(paths)];

    if (json_pick(text, paths, COUNT(paths), v, NULL))
        return in;
    in.seq = seq_of(&v[1]);
    if (is_text(&v[0], S("event_ack")))
        in.type = RELAY_ACK;
    else if (is_text(&v[0], S("webhook_response")))
        in.type = RELAY_RESPONSE;
    if (v[2].type != JSON_NUMBER || !str_to_i64(v[2].raw, &in.status))
        in.status = 0;
    return in;
}
