#include "gateway/stripe/ledger.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "gateway/stripe/form.h"
#include "gateway/stripe/read.h"

static struct str ledger_keep(struct arena *a, struct buf *b)
{
    struct str path = b->failed ? (struct str){ 0 } : arena_str(a, buf_str(b));

    buf_release(b);
    return path;
}

struct str stripe_intents_path(struct arena *a, int64_t from_ms, int64_t until_ms)
{
    struct buf b;

    buf_init(&b, LIMIT_GATEWAY_FORM);
    buf_add(&b, S("/v1/payment_intents?"));
    form_int(&b, "created[gte]", from_ms / 1000);
    form_int(&b, "created[lt]", until_ms / 1000);
    form_add(&b, "expand[]", S("data.latest_charge.balance_transaction"));
    return ledger_keep(a, &b);
}

struct str stripe_refunds_path(struct arena *a, struct str intent_id)
{
    struct buf b;

    buf_init(&b, LIMIT_GATEWAY_FORM);
    buf_add(&b, S("/v1/refunds?"));
    form_add(&b, "payment_intent", intent_id);
    return ledger_keep(a, &b);
}

static enum err read_refunded(struct arena *a, const cJSON *intent, int64_t *ret)
{
    const cJSON *charge = cJSON_GetObjectItemCaseSensitive(intent, "latest_charge");
    struct fact f;
    enum err e;

    *ret = 0;
    if (!cJSON_IsObject(charge))
        return OK; /* nothing was paid yet */
    e = stripe_read_object(a, charge, &f);
    if (e)
        return e;
    if (f.kind != FACT_CHARGE)
        return ERR_VALIDATION;
    *ret = f.charge_refunded;
    return OK;
}

static struct str id_of(struct arena *a, const cJSON *object)
{
    struct str id = str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "id")));

    return id.n && id.n <= LIMIT_GATEWAY_ID ? arena_str(a, id) : (struct str){ 0 };
}

enum err stripe_listed_intent(struct arena *a, struct str item, struct stripe_listed_intent *ret)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    enum err e = json_parse(item, &tree, NULL);

    *ret = (struct stripe_listed_intent){ 0 };
    if (e)
        return e;
    ret->id = id_of(a, tree);
    e = stripe_read_object(a, tree, &ret->fact);
    if (e)
        return e;
    if (ret->fact.kind != FACT_INTENT)
        return ERR_VALIDATION;
    return read_refunded(a, tree, &ret->refunded);
}

enum err stripe_listed_refund(struct arena *a, struct str item, struct fact *ret)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    enum err e = json_parse(item, &tree, NULL);

    if (e)
        return e;
    e = stripe_read_object(a, tree, ret);
    if (e)
        return e;
    return ret->kind == FACT_REFUND ? OK : ERR_VALIDATION;
}
