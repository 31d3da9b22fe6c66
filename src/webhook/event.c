/* event.c - a Stripe event as the endpoint needs it, and references to events.
 *
 * An event without a valid id of its own is named by the SHA-256 of its bytes, so the same bytes
 * sent again are the same event (W6). */
#include "webhook/event.h"

#include "base/hex.h"
#include "base/limits.h"
#include "gateway/stripe/fields.h"
#include "gateway/stripe/read.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE "ichido.event" /* the "object" of a reference */

enum { DIGEST = 32 };

static void webhook_event_sha256(struct str s, unsigned char ret_digest[DIGEST])
{
    unsigned int n = 0;

    if (!EVP_Digest(s.p, s.n, ret_digest, &n, EVP_sha256(), NULL) || n != DIGEST)
        abort(); /* it fails only without memory, and the event must have a name */
}

static enum err name_by_content(struct arena *a, struct str body, const char *why,
                                struct stripe_event *ret)
{
    static const char prefix[] = "sha256:";
    size_t skip = sizeof(prefix) - 1;
    unsigned char digest[DIGEST];
    char *name = arena_alloc(a, 1, skip + (size_t)DIGEST * 2);

    *ret = (struct stripe_event){ .why = why, .livemode = -1 };
    if (!name)
        return ERR_NO_MEMORY;
    memcpy(name, prefix, skip);
    webhook_event_sha256(body, digest);
    hex_put(name + skip, digest, DIGEST);
    ret->id = (struct str){ name, skip + (size_t)DIGEST * 2 };
    return OK;
}

/* The events of one payment share a lane (D24). An event that names neither payment nor intent (a
 * dispute or refund of a bare charge) has the lane of its charge. */
static void choose_lane(const struct stripe_webhook *w, struct stripe_event *e)
{
    struct str key = w->payment_id.n ? w->payment_id : w->intent_id;

    if (!key.n)
        key = w->charge_id;
    e->has_lane = key.n;
    e->lane = key.n ? lane_of(key) : 0;
}

static struct stripe_event event_of(const struct stripe_webhook *w)
{
    struct stripe_event e = { .readable = true,
                              .id = w->id,
                              .type = w->type,
                              .livemode = w->livemode,
                              .has_created = w->has_created,
                              .created_ms = w->created_ms,
                              .object_id = w->object_id,
                              .intent_id = w->intent_id,
                              .payment_id = w->payment_id,
                              .participant_id = w->participant_id,
                              .fact_err = w->fact_err,
                              .fact = w->fact };

    choose_lane(w, &e);
    return e;
}

enum err stripe_event_read(struct arena *a, struct str body, struct stripe_event *ret_event)
{
    struct stripe_webhook w = { 0 };
    enum err e = stripe_read_webhook(a, body, &w);

    if (e == ERR_NO_MEMORY)
        return e; /* not stored, so Stripe sends it again */
    if (e)
        return name_by_content(a, body, w.fault.why ? w.fault.why : "not JSON", ret_event);
    if (!w.id.n)
        return name_by_content(a, body, "no sane id", ret_event);
    if (!w.type.n)
        return name_by_content(a, body, "no sane type", ret_event);
    if (!w.has_object && !w.thin)
        return name_by_content(a, body, "no data.object", ret_event);
    *ret_event = event_of(&w);
    return OK;
}

/* --- references --- */

struct str event_reference(struct arena *a, struct str id, struct str type)
{
    struct str text = { 0 };
    struct buf b;

    buf_init(&b, (size_t)16 * LIMIT_GATEWAY_ID);
    buf_add(&b, S("{\"object\":\"" REFERENCE "\",\"id\":"));
    buf_json(&b, id);
    buf_add(&b, S(",\"type\":"));
    buf_json(&b, type);
    buf_char(&b, '}');
    if (!b.failed)
        text = arena_str(a, buf_str(&b));
    buf_release(&b);
    return text;
}

enum err event_reference_read(struct arena *a, struct str body, struct str *ret_id)
{
    struct stripe_fields f;
    struct str id = { 0 };

    if (fields_of_event(&f, a, body, NULL))
        return ERR_NOT_FOUND;
    if (str_eq(field_text(&f, AT_ENVELOPE), S(REFERENCE)))
        id = field_id(&f, AT_EVENT_ID);
    if (f.err == ERR_NO_MEMORY)
        return f.err;
    if (f.err || !id.n)
        return ERR_NOT_FOUND;
    *ret_id = id;
    return OK;
}
