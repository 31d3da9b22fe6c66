/* stripe_read.c - one list of fields, two ways to find them, one way to read them.
 *
 *   tree --pick_tree--> values by field --read--> fact
 *   body --json_pick--^
 *
 * So an answer and an event that say the same give the same fact. */
#include "gateway/stripe_read.h"

#include "base/json.h"
#include "base/limits.h"
#include "gateway/stripe_money.h"

#include <stdio.h>
#include <string.h>

#define SECONDS_MAX INT64_C(100000000000) /* so that milliseconds fit in any column */

/*  X(name, path within the object) */
#define FIELDS(X)                                                                                  \
    X(OBJECT, "object")                                                                            \
    X(ID, "id")                                                                                    \
    X(AMOUNT, "amount")                                                                            \
    X(CURRENCY, "currency")                                                                        \
    X(STATUS, "status")                                                                            \
    X(PAYMENT_ID, "metadata.payment_id")                                                           \
    /* intents */                                                                                  \
    X(RECEIVED, "amount_received")                                                                 \
    X(LATEST, "latest_charge")                                                                     \
    X(LATEST_ID, "latest_charge.id")                                                               \
    X(LATEST_BEFORE, "latest_charge.payment_method_details.card.capture_before")                   \
    X(LATEST_BALANCE, "latest_charge.balance_transaction")                                         \
    X(LATEST_BALANCE_ID, "latest_charge.balance_transaction.id")                                   \
    X(LATEST_CURRENCY, "latest_charge.balance_transaction.currency")                               \
    X(LATEST_FEE, "latest_charge.balance_transaction.fee")                                         \
    X(LATEST_NET, "latest_charge.balance_transaction.net")                                         \
    X(LATEST_RECEIPT, "latest_charge.receipt_url")                                                 \
    X(OLD_CHARGES, "charges.data")                                                                 \
    X(FAILURE, "last_payment_error")                                                               \
    X(FAILURE_CODE, "last_payment_error.code")                                                     \
    X(DECLINE_CODE, "last_payment_error.decline_code")                                             \
    X(FAILURE_MESSAGE, "last_payment_error.message")                                               \
    X(CANCEL_REASON, "cancellation_reason")                                                        \
    X(ACTION, "next_action.type")                                                                  \
    X(ACTION_URL, "next_action.redirect_to_url.url")                                               \
    X(CLIENT_SECRET, "client_secret")                                                              \
    /* charges, refunds */                                                                         \
    X(INTENT, "payment_intent")                                                                    \
    X(INTENT_ID, "payment_intent.id")                                                              \
    X(CAPTURED, "captured")                                                                        \
    X(AMOUNT_CAPTURED, "amount_captured")                                                          \
    X(CAPTURE_BEFORE, "payment_method_details.card.capture_before")                                \
    X(BALANCE, "balance_transaction")                                                              \
    X(BALANCE_ID, "balance_transaction.id")                                                        \
    X(BALANCE_CURRENCY, "balance_transaction.currency")                                            \
    X(FEE, "balance_transaction.fee")                                                              \
    X(NET, "balance_transaction.net")                                                              \
    X(RECEIPT, "receipt_url")                                                                      \
    X(CHARGE, "charge")                                                                            \
    X(CHARGE_ID, "charge.id")                                                                      \
    X(REFUND_ID, "metadata.refund_id")                                                             \
    X(REFUND_FAILURE, "failure_reason")

#define FIELD_AT(name, path) AT_##name,
#define FIELD_PATH(name, path) [AT_##name] = "" path,
#define FIELD_EVENT_PATH(name, path) [AT_##name] = "data.object." path,

enum { FIELDS(FIELD_AT) AT_FIELDS, AT_TYPE = AT_FIELDS, AT_COUNT };

static const char *const object_paths[AT_FIELDS] = { FIELDS(FIELD_PATH) };
static const char *const event_paths[AT_COUNT] = { [AT_TYPE] = "type", FIELDS(FIELD_EVENT_PATH) };

struct reader {
    struct arena *arena;
    const struct json_value *v;
    enum err err;
    bool unfit; /* money or currency is left out */
};

static void fail(struct reader *r, enum err e)
{
    if (!r->err)
        r->err = e;
}

/* --- single values --- */

/* Empty for anything but a string. */
static struct str text(struct reader *r, int at)
{
    const struct json_value *v = &r->v[at];
    struct str s = { 0 };
    enum err e;

    if (v->type != JSON_STRING)
        return s;
    if (!v->has_escape)
        return v->raw;
    e = json_unescape(r->arena, v, &s);
    if (e)
        fail(r, e);
    return s;
}

/* What is shown, logged and sent in URLs has 1 to 255 printable characters; all else is empty. */
static struct str sane(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '!' || s.p[i] > '~')
            return (struct str){ 0 };
    return s.n <= LIMIT_GATEWAY_ID ? s : (struct str){ 0 };
}

static struct str id(struct reader *r, int at)
{
    return sane(text(r, at));
}

/* Either the id, or the object that has it. */
static struct str ref(struct reader *r, int at, int at_id)
{
    return id(r, r->v[at].type == JSON_OBJECT ? at_id : at);
}

static bool is_absent(const struct reader *r, int at)
{
    return r->v[at].type == JSON_ABSENT || r->v[at].type == JSON_NULL;
}

static bool is_true(const struct reader *r, int at)
{
    return r->v[at].type == JSON_BOOL && r->v[at].raw.p[0] == 't';
}

static bool number(const struct reader *r, int at, int64_t *ret)
{
    return r->v[at].type == JSON_NUMBER && str_to_i64(r->v[at].raw, ret);
}

/* --- money and times --- */

static bool upper_code(struct str s, char ret_code[4])
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'z'))
            return false;
    if (s.n != 3)
        return false;
    for (size_t i = 0; i < 3; i++)
        ret_code[i] = (char)((unsigned char)s.p[i] & 0xdfU); /* a letter without its case */
    ret_code[3] = '\0';
    return true;
}

static void read_currency(struct reader *r, struct fact *f)
{
    if (is_absent(r, AT_CURRENCY))
        r->unfit = true;
    else if (!upper_code(text(r, AT_CURRENCY), f->currency))
        fail(r, ERR_VALIDATION);
}

/* In our units; 0 where it is left out. */
static int64_t amount(struct reader *r, int at, const char currency[4])
{
    int64_t wire, minor = 0;

    if (is_absent(r, at))
        r->unfit = true;
    else if (!number(r, at, &wire) || wire < 0 || !stripe_amount_in(wire, currency, &minor))
        fail(r, ERR_VALIDATION);
    return minor;
}

static int64_t time_ms(const struct reader *r, int at)
{
    int64_t s;

    return number(r, at, &s) && s > 0 && s <= SECONDS_MAX ? s * 1000 : 0;
}

static void read_common(struct reader *r, struct fact *f)
{
    read_currency(r, f);
    f->amount = amount(r, AT_AMOUNT, f->currency);
    f->payment_id = id(r, AT_PAYMENT_ID);
}

/* --- the intent --- */

/* D7. What the customer's browser still has to confirm is an action without a state of its own. */
static const struct {
    const char *word;
    enum intent_state state;
    bool confirm;
} intent_words[] = {
    { "requires_payment_method", INTENT_OPEN, true },
    { "requires_confirmation", INTENT_OPEN, true },
    { "processing", INTENT_OPEN, false },
    { "requires_action", INTENT_ACTION, false },
    { "requires_capture", INTENT_AUTHORIZED, false },
    { "succeeded", INTENT_SUCCEEDED, false },
    { "canceled", INTENT_CANCELED, false },
};

static void read_failure(struct reader *r, struct fact *f)
{
    f->failure_code = text(r, AT_FAILURE_CODE);
    f->decline_code = text(r, AT_DECLINE_CODE);
    f->failure_message = text(r, AT_FAILURE_MESSAGE);
}

static void read_state(struct reader *r, struct fact *f)
{
    struct str word = text(r, AT_STATUS);
    bool failed = r->v[AT_FAILURE].type == JSON_OBJECT;
    size_t i = 0;

    while (i < COUNT(intent_words) && !str_eq(word, str_of(intent_words[i].word)))
        i++;
    if (i == COUNT(intent_words)) {
        fail(r, ERR_VALIDATION);
        return;
    }
    f->state = intent_words[i].state;
    if (intent_words[i].confirm)
        f->action_type = S("confirm");
    if (failed && str_eq(word, S("requires_payment_method"))) {
        f->state = INTENT_DECLINED;
        f->action_type = (struct str){ 0 };
    }
    /* A failure of an earlier try is history once the intent goes on. */
    if (failed && (f->state == INTENT_DECLINED || f->state == INTENT_CANCELED))
        read_failure(r, f);
}

/* Before API version 2022-11-15 an intent carried its charges instead of naming the last one. Only
 * events can be that old: answers have the version we pin. The text was scanned, so nothing but
 * memory can be missing. */
static void read_old_charge(struct reader *r, struct fact *f)
{
    CLEANUP(json_freep) cJSON *list = NULL;
    const cJSON *first;
    struct str name;

    if (r->v[AT_OLD_CHARGES].type != JSON_ARRAY || !r->v[AT_OLD_CHARGES].raw.n)
        return;
    if (json_parse(r->v[AT_OLD_CHARGES].raw, &list, NULL)) {
        fail(r, ERR_NO_MEMORY);
        return;
    }
    first = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(list, 0), "id");
    name = sane(str_of(cJSON_GetStringValue(first)));
    if (!name.n)
        return;
    f->charge_id = arena_str(r->arena, name);
    if (!f->charge_id.p)
        fail(r, ERR_NO_MEMORY);
}

static void read_action(struct reader *r, struct fact *f)
{
    if (f->state == INTENT_ACTION) {
        f->action_type = id(r, AT_ACTION);
        f->action_url = text(r, AT_ACTION_URL);
    }
    if (f->action_type.n)
        f->client_secret = id(r, AT_CLIENT_SECRET);
}

/* fee_at, net_at, currency_at: where the balance transaction has them. Only where Stripe settles in
 * the charge's own currency: another one's fee would be compared with our amounts. */
static void read_fee(struct reader *r, int fee_at, int net_at, int currency_at, struct fact *f)
{
    int64_t fee, net;
    char code[4];

    if (!number(r, fee_at, &fee) || !number(r, net_at, &net))
        return;
    if (!is_absent(r, currency_at) &&
        (!upper_code(text(r, currency_at), code) || memcmp(code, f->currency, 4) != 0))
        return;
    f->has_fee =
        stripe_amount_in(fee, f->currency, &f->fee) && stripe_amount_in(net, f->currency, &f->net);
}

static void read_intent(struct reader *r, struct fact *f)
{
    f->intent_id = id(r, AT_ID);
    if (!f->intent_id.n)
        fail(r, ERR_VALIDATION);
    read_state(r, f);
    read_action(r, f);
    if (f->state == INTENT_SUCCEEDED || !is_absent(r, AT_RECEIVED))
        f->received = amount(r, AT_RECEIVED, f->currency);
    f->charge_id = ref(r, AT_LATEST, AT_LATEST_ID);
    if (r->v[AT_LATEST].type == JSON_ABSENT)
        read_old_charge(r, f);
    f->capture_before_ms = time_ms(r, AT_LATEST_BEFORE);
    f->balance_transaction = ref(r, AT_LATEST_BALANCE, AT_LATEST_BALANCE_ID);
    f->receipt_url = text(r, AT_LATEST_RECEIPT);
    read_fee(r, AT_LATEST_FEE, AT_LATEST_NET, AT_LATEST_CURRENCY, f);
    if (f->state == INTENT_CANCELED)
        f->cancel_reason = text(r, AT_CANCEL_REASON);
}

/* --- the charge --- */

/* Only where Stripe settles in the charge's own currency: a fee in another one has no column. */
static void read_charge(struct reader *r, struct fact *f)
{
    f->charge_id = id(r, AT_ID);
    if (!f->charge_id.n)
        fail(r, ERR_VALIDATION);
    f->intent_id = ref(r, AT_INTENT, AT_INTENT_ID);
    f->captured = is_true(r, AT_CAPTURED);
    if (f->captured && !is_absent(r, AT_AMOUNT_CAPTURED))
        f->amount = amount(r, AT_AMOUNT_CAPTURED, f->currency);
    f->charge_failed = str_eq(text(r, AT_STATUS), S("failed"));
    f->capture_before_ms = time_ms(r, AT_CAPTURE_BEFORE);
    f->balance_transaction = ref(r, AT_BALANCE, AT_BALANCE_ID);
    f->receipt_url = text(r, AT_RECEIPT);
    read_fee(r, AT_FEE, AT_NET, AT_BALANCE_CURRENCY, f);
}

/* --- the refund --- */

static const struct {
    const char *word;
    enum refund_status status;
} refund_words[] = {
    { "pending", REFUND_PENDING },     { "requires_action", REFUND_REQUIRES_ACTION },
    { "succeeded", REFUND_SUCCEEDED }, { "failed", REFUND_FAILED },
    { "canceled", REFUND_CANCELED },
};

static void read_refund(struct reader *r, struct fact *f)
{
    struct str word = text(r, AT_STATUS);
    size_t i = 0;

    while (i < COUNT(refund_words) && !str_eq(word, str_of(refund_words[i].word)))
        i++;
    f->refund_id = id(r, AT_ID);
    if (i == COUNT(refund_words) || !f->refund_id.n) {
        fail(r, ERR_VALIDATION);
        return;
    }
    f->refund = refund_words[i].status;
    f->refund_our_id = id(r, AT_REFUND_ID);
    f->refund_failure = text(r, AT_REFUND_FAILURE);
    f->intent_id = ref(r, AT_INTENT, AT_INTENT_ID);
    f->charge_id = ref(r, AT_CHARGE, AT_CHARGE_ID);
}

/* --- any of them --- */

static const struct kind {
    const char *object;
    const char *events; /* where the object's kind is left out, as 003's smallest event does */
    enum fact_kind kind;
    void (*read)(struct reader *r, struct fact *f);
} kinds[] = {
    { "payment_intent", "payment_intent.", FACT_INTENT, read_intent },
    { "charge", NULL, FACT_CHARGE, read_charge }, /* charge.* are also disputes and refunds */
    { "refund", "refund.", FACT_REFUND, read_refund },
};

static const struct kind *kind_of(struct reader *r)
{
    struct str object = text(r, AT_OBJECT), type = text(r, AT_TYPE);
    bool by_type = r->v[AT_OBJECT].type == JSON_ABSENT;

    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (by_type && kinds[i].events && str_starts(type, str_of(kinds[i].events)))
            return &kinds[i];
        if (!by_type && str_eq(object, str_of(kinds[i].object)))
            return &kinds[i];
    }
    return NULL;
}

static enum err read_fact(struct arena *a, const struct json_value *v, struct fact *ret_fact)
{
    struct reader r = { .arena = a, .v = v };
    const struct kind *kind = kind_of(&r);
    struct fact f = { .kind = FACT_NONE };

    if (kind) {
        f.kind = kind->kind;
        read_common(&r, &f);
        kind->read(&r, &f);
    }
    if (r.err)
        return r.err;
    if (r.unfit)
        f.currency[0] = '\0';
    *ret_fact = f;
    return OK;
}

enum err stripe_read_event(struct arena *a, struct str body, struct fact *ret_fact)
{
    struct json_value v[AT_COUNT];
    enum err e = json_pick(body, event_paths, AT_COUNT, v, NULL);

    return e ? e : read_fact(a, v, ret_fact);
}

/* --- the same out of a tree --- */

static const cJSON *walk(const cJSON *item, const char *path)
{
    struct str rest = str_of(path);
    char name[64];

    while (rest.n && item) {
        struct str part = str_cut(&rest, '.');

        memcpy(name, part.p, part.n);
        name[part.n] = '\0';
        item = cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, name) : NULL;
    }
    return item;
}

/* As it was written; what a double cannot hold exactly and was not kept as text is no number. */
static struct str number_text(struct arena *a, const cJSON *item)
{
    char digits[32] = "";

    if (item->valuestring)
        return arena_str(a, str_of(item->valuestring));
    if (item->valuedouble > -1e15 && item->valuedouble < 1e15 &&
        (double)(int64_t)item->valuedouble == item->valuedouble)
        snprintf(digits, sizeof(digits), "%lld", (long long)item->valuedouble);
    return arena_str(a, str_of(digits));
}

static struct json_value value_of(struct arena *a, const cJSON *item)
{
    if (!item)
        return (struct json_value){ .type = JSON_ABSENT };
    if (cJSON_IsString(item))
        return (struct json_value){ JSON_STRING, arena_str(a, str_of(item->valuestring)), false };
    if (cJSON_IsNumber(item))
        return (struct json_value){ JSON_NUMBER, number_text(a, item), false };
    if (cJSON_IsBool(item))
        return (struct json_value){ JSON_BOOL, cJSON_IsTrue(item) ? S("true") : S("false"), false };
    if (cJSON_IsObject(item))
        return (struct json_value){ .type = JSON_OBJECT };
    return (struct json_value){ .type = cJSON_IsArray(item) ? JSON_ARRAY : JSON_NULL };
}

enum err stripe_read_object(struct arena *a, const cJSON *object, struct fact *ret_fact)
{
    struct json_value v[AT_COUNT] = { 0 };

    for (int i = 0; i < AT_FIELDS; i++) {
        v[i] = value_of(a, walk(object, object_paths[i]));
        if ((v[i].type == JSON_STRING || v[i].type == JSON_NUMBER) && !v[i].raw.p)
            return ERR_NO_MEMORY;
    }
    return read_fact(a, v, ret_fact);
}
