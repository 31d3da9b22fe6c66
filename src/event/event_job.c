/* event_job.c - the types of Stripe events that are applied, and the body of an event's queue
 * message. */
#include "event/event_job.h"

#include "base/buf.h"
#include "base/json/json.h"

#include <stdlib.h>

/* --- the types we apply, sorted --- */

static const char *const known_types[] = {
    "charge.captured",
    "charge.dispute.closed",
    "charge.dispute.created",
    "charge.dispute.funds_reinstated",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.updated",
    "charge.expired",
    "charge.failed",
    "charge.pending",
    "charge.refund.updated",
    "charge.refunded",
    "charge.succeeded",
    "charge.updated",
    "checkout.session.async_payment_failed",
    "checkout.session.async_payment_succeeded",
    "checkout.session.completed",
    "checkout.session.expired",
    "payment_intent.amount_capturable_updated",
    "payment_intent.canceled",
    "payment_intent.created",
    "payment_intent.partially_funded",
    "payment_intent.payment_failed",
    "payment_intent.processing",
    "payment_intent.requires_action",
    "payment_intent.succeeded",
    "refund.created",
    "refund.failed",
    "refund.updated",
};

static int compare_type(const void *type, const void *entry)
{
    return str_cmp(*(const struct str *)type, str_of(*(const char *const *)entry));
}

bool event_type_is_known(struct str type)
{
    return bsearch(&type, known_types, COUNT(known_types), sizeof(known_types[0]), compare_type);
}

bool event_type_is_refund(struct str type)
{
    return str_starts(type, S("refund.")) || str_starts(type, S("charge.refund."));
}

bool event_type_fits(struct str type, enum fact_kind kind)
{
    bool refund = event_type_is_refund(type);
    bool dispute = str_starts(type, S("charge.dispute."));

    switch (kind) {
    case FACT_INTENT: return str_starts(type, S("payment_intent."));
    case FACT_CHARGE: return str_starts(type, S("charge.")) && !refund && !dispute;
    case FACT_REFUND: return refund;
    case FACT_SESSION: return str_starts(type, S("checkout.session."));
    case FACT_DISPUTE: return dispute;
    case FACT_NONE: break;
    }
    return true;
}

/* --- the message's body --- */

enum {
    AT_TYPE,
    AT_LIVEMODE,
    AT_OBJECT,
    AT_INTENT,
    AT_PAYMENT,
    AT_PARTICIPANT,
    AT_TRACE,
    AT_FACT,
    AT_ASK,
    AT_COUNT
};
static const char *const body_paths[AT_COUNT] = { "type",   "live",    "object",
                                                  "intent", "payment", "participant",
                                                  "trace",  "fact",    "ask" };

static void body_add_text(struct buf *b, const char *name, struct str text)
{
    if (!text.n)
        return;
    buf_fmt(b, ",\"%s\":", name);
    buf_json(b, text);
}

struct str event_job_write(struct arena *a, const struct event_job *j)
{
    struct str copy = { 0 };
    struct buf b;

    buf_init(&b, EVENT_JOB_MAX);
    buf_add(&b, S("{\"type\":"));
    buf_json(&b, j->type);
    if (j->livemode >= 0)
        buf_add(&b, j->livemode ? S(",\"live\":true") : S(",\"live\":false"));
    body_add_text(&b, body_paths[AT_OBJECT], j->object_id);
    body_add_text(&b, body_paths[AT_INTENT], j->intent_id);
    body_add_text(&b, body_paths[AT_PAYMENT], j->payment_id);
    body_add_text(&b, body_paths[AT_PARTICIPANT], j->participant_id);
    body_add_text(&b, body_paths[AT_TRACE], j->trace);
    if (j->fact.n) {
        buf_add(&b, S(",\"fact\":"));
        buf_add(&b, j->fact);
    }
    if (j->ask)
        buf_add(&b, S(",\"ask\":true"));
    buf_char(&b, '}');
    if (!b.failed)
        copy = arena_str(a, buf_str(&b));
    buf_release(&b);
    return copy;
}

static enum err body_read_text(struct arena *a, const struct json_value *v, struct str *ret_text)
{
    *ret_text = (struct str){ 0 };
    if (v->type == JSON_ABSENT)
        return OK;
    if (v->type != JSON_STRING)
        return ERR_VALIDATION;
    *ret_text = v->raw;
    return v->has_escape ? json_unescape(a, v, ret_text) : OK;
}

enum err event_job_read(struct arena *a, struct str body, struct event_job *ret_job)
{
    struct json_value v[AT_COUNT];
    struct event_job j = { .livemode = -1 };
    enum err e = json_pick(body, body_paths, AT_COUNT, v, NULL);

    if (e)
        return e;
    if (v[AT_LIVEMODE].type == JSON_BOOL)
        j.livemode = str_eq(v[AT_LIVEMODE].raw, S("true"));
    e = body_read_text(a, &v[AT_TYPE], &j.type);
    if (!e && !j.type.n)
        return ERR_VALIDATION;
    if (!e)
        e = body_read_text(a, &v[AT_OBJECT], &j.object_id);
    if (!e)
        e = body_read_text(a, &v[AT_INTENT], &j.intent_id);
    if (!e)
        e = body_read_text(a, &v[AT_PAYMENT], &j.payment_id);
    if (!e)
        e = body_read_text(a, &v[AT_PARTICIPANT], &j.participant_id);
    if (!e)
        e = body_read_text(a, &v[AT_TRACE], &j.trace);
    if (e)
        return e;
    if (v[AT_FACT].type == JSON_OBJECT)
        j.fact = v[AT_FACT].raw;
    j.ask = v[AT_ASK].type != JSON_ABSENT;
    *ret_job = j;
    return OK;
}
