/* The door's parsers: the input is a Stripe-Signature header, a line feed, and a body. Nobody gets
 * in without the digest that a plain HMAC gives, and everybody with it does, whatever stands before
 * it. */
#include "base/limits.h"
#include "webhook/allow.h"
#include "webhook/event.h"
#include "webhook/signature.h"

#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRET "whsec_fuzz"
#define T "1760000000"
enum { NOW = 1760000000, HEX = 64, GOOD = sizeof("t=" T ",v1=") - 1 + HEX };

static void promise(int holds)
{
    if (!holds)
        abort();
}

static struct stripe_keys *keys(void)
{
    static struct stripe_keys *k;
    static const struct str secrets[] = { { "whsec_other", 11 }, { SECRET, sizeof(SECRET) - 1 } };

    if (!k)
        k = stripe_keys_new(secrets, COUNT(secrets));
    return k;
}

static void plain_digest(struct str t, struct str body, char hex[HEX + 1])
{
    unsigned char mac[32], *text = malloc(t.n + 1 + body.n);

    memcpy(text, t.p, t.n);
    text[t.n] = '.';
    memcpy(text + t.n + 1, body.p, body.n);
    HMAC(EVP_sha256(), SECRET, sizeof(SECRET) - 1, text, t.n + 1 + body.n, mac, NULL);
    free(text);
    for (size_t i = 0; i < sizeof(mac); i++)
        snprintf(hex + i * 2, 3, "%02x", mac[i]);
}

static void nobody_gets_in_by_chance(struct str header, struct str body)
{
    if (stripe_verify(keys(), header, body, NOW) == SIGNATURE_OK)
        promise(header.n >= GOOD && memmem(header.p, header.n, "v1=", 3) != NULL);
}

static void the_right_digest_gets_in(struct str noise, struct str body)
{
    struct str header = { 0 };
    char hex[HEX + 1], *text = malloc(noise.n + GOOD + 2);
    enum signature_verdict v;

    plain_digest(S(T), body, hex);
    memcpy(text, noise.p, noise.n);
    header.n = noise.n + (size_t)sprintf(text + noise.n, ",t=" T ",v1=%s", hex);
    header.p = text;
    v = stripe_verify(keys(), header, body, NOW);
    promise(v == SIGNATURE_OK || v == SIGNATURE_MALFORMED);
    text[header.n - 1] ^= 1; /* no hex digit becomes another spelling of the same */
    promise(stripe_verify(keys(), header, body, NOW) != SIGNATURE_OK ||
            memmem(noise.p, noise.n, hex, HEX));
    free(text);
}

static void an_event_keeps_its_promises(struct str body)
{
    struct stripe_event e;
    struct arena a;

    arena_init(&a, LIMIT_REQUEST_ARENA);
    if (!stripe_event_read(&a, body, &e)) {
        promise(e.id.n >= 1 && e.id.n <= 255);
        promise(e.readable == (e.type.n > 0));
        promise(e.readable || (str_starts(e.id, S("sha256:")) && e.why && !e.has_lane));
        promise(e.lane >= 0 && e.livemode >= -1 && e.livemode <= 1);
        for (size_t i = 0; i < e.id.n; i++)
            promise(e.id.p[i] >= '!' && e.id.p[i] <= '~');
    }
    arena_release(&a);
}

static void addresses_do_not_crash(struct str text)
{
    struct header h = { S("X-Forwarded-For"), text };
    static struct allow_list list;
    struct address a = { 0 };
    struct why why;

    (void)allow_parse(&list, text, &why);
    if (!allow_parse(&list, S("::/0"), &why))
        abort();
    (void)client_address(&list, a, &h, 1, &a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = { (const char *)data, size }, header = str_cut(&body, '\n');

    if (!header.p)
        header.p = "";
    addresses_do_not_crash(header);
    if (!body.n)
        return 0;
    nobody_gets_in_by_chance(header, body);
    the_right_digest_gets_in(header, body);
    an_event_keeps_its_promises(body);
    return 0;
}
