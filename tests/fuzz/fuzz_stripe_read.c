/* A webhook's body into a fact. What the one pass reads, the tree reads the same way; what is read
 * keeps its promises, and survives being written to a queue message and read again. */
#include "base/json/json.h"
#include "base/limits.h"
#include "gateway/fact.h"
#include "gateway/stripe/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static bool is_id(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '!' || s.p[i] > '~')
            return false;
    return s.n <= LIMIT_GATEWAY_ID;
}

static void keeps_its_promises(const struct fact *f)
{
    must(f->kind <= FACT_DISPUTE && f->state < INTENT_STATES && f->refund < REFUND_STATUSES &&
             f->session < SESSION_STATUSES,
         "enums are in their range");
    must(f->amount >= 0 && f->received >= 0 && f->capture_before_ms >= 0 &&
             f->action_expires_ms >= 0 && f->session_expires_ms >= 0,
         "no number is negative");
    must(f->kind != FACT_INTENT || f->intent_id.n, "an intent has an id");
    must(f->kind != FACT_CHARGE || f->charge_id.n, "a charge has an id");
    must(f->kind != FACT_REFUND || f->refund_id.n, "a refund has an id");
    must(f->kind != FACT_SESSION || f->session_id.n, "a session has an id");
    must(f->kind != FACT_DISPUTE || (f->dispute_id.n && f->dispute_status.n),
         "a dispute has an id and a status");
    must(f->action_url.n <= LIMIT_GATEWAY_URL && f->receipt_url.n <= LIMIT_GATEWAY_URL &&
             f->session_url.n <= LIMIT_GATEWAY_URL && f->konbini_number.n <= LIMIT_GATEWAY_ID &&
             f->failure_message.n <= 4 * LIMIT_GATEWAY_MESSAGE,
         "texts stay within their limits");
    must(is_id(f->session_id) && is_id(f->customer_id) && is_id(f->dispute_id) &&
             is_id(f->intent_id) && is_id(f->payment_id) && is_id(f->charge_id) &&
             is_id(f->refund_id) && is_id(f->refund_our_id) && is_id(f->client_secret),
         "ids are sane");
    must(!f->currency[0] || strlen(f->currency) == 3, "a currency has three letters or is empty");
}

static void can_be_written_and_read(struct arena *a, const struct fact *f)
{
    struct str once = fact_write(a, f), twice;
    struct fact again;

    must(once.p && fact_read(a, once, &again) == OK, "a fact that was written can be read");
    twice = fact_write(a, &again);
    must(str_eq(once, twice), "and is the same");
}

/* The event's type says what the object leaves out, and that a dispute was closed. */
static bool is_comparable(const cJSON *object)
{
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "object"));
    bool is_session = kind && !strcmp(kind, "checkout.session");

    if (kind && !strcmp(kind, "dispute"))
        return false;
    return cJSON_GetObjectItemCaseSensitive(object, "object") &&
           (!is_session || cJSON_IsString(cJSON_GetObjectItemCaseSensitive(object, "status")));
}

static void is_the_same_as_a_tree(struct arena *a, struct str body, enum err e,
                                  const struct fact *f)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    const cJSON *object;
    struct fact other;

    if (json_parse(body, &tree, NULL)) {
        must(e, "what is not JSON is not read");
        return;
    }
    object =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(tree, "data"), "object");
    if (!is_comparable(object))
        return;
    must(stripe_read_object(a, object, &other) == e, "both ways read it or neither does");
    if (!e)
        must(str_eq(fact_write(a, f), fact_write(a, &other)), "both ways read the same");
}

static void has_a_sane_envelope(const struct stripe_webhook *w)
{
    must(is_id(w->id) && is_id(w->type) && is_id(w->object_id) && is_id(w->intent_id) &&
             is_id(w->charge_id) && is_id(w->payment_id),
         "its names are sane");
    must(w->livemode >= -1 && w->livemode <= 1 && w->created_ms >= 0, "its numbers too");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = { (const char *)data, size };
    struct stripe_webhook w = { 0 };
    struct arena a;
    enum err e;

    arena_init(&a, LIMIT_REQUEST_ARENA);
    e = stripe_read_webhook(&a, body, &w);
    must(e == OK || w.fault.why, "a refusal has its reason");
    if (!e) {
        has_a_sane_envelope(&w);
        e = w.fact_err;
    }
    must(e == OK || e == ERR_VALIDATION, "there is no other failure with memory");
    if (!e) {
        keeps_its_promises(&w.fact);
        can_be_written_and_read(&a, &w.fact);
    }
    is_the_same_as_a_tree(&a, body, e, &w.fact);
    arena_release(&a);
    return 0;
}
