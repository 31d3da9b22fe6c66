/* read.c - one list of fields (fields.h), two ways to find them, one way to read
 * them.
 *
 *   tree --fields_of_object--> values by field --read--> fact
 *   body --fields_of_event---^
 *
 * So an answer and an event that say the same give the same fact. */
#include "gateway/stripe/read.h"

#include "base/limits.h"
#include "base/uuid.h"
#include "gateway/stripe/fields.h"
#include "gateway/stripe/form.h"
#include "gateway/stripe/money.h"

#include <string.h>

struct stripe_read_reader {
    struct stripe_fields *f;
    bool unfit; /* money or currency is left out */
};

static void stripe_read_refuse(struct stripe_read_reader *r)
{
    fields_fail(r->f, ERR_VALIDATION);
}

/* --- money --- */

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

static void read_currency(struct stripe_read_reader *r, struct fact *f)
{
    if (field_is_absent(r->f, AT_CURRENCY))
        r->unfit = true;
    else if (!upper_code(field_text(r->f, AT_CURRENCY), f->currency))
        stripe_read_refuse(r);
}

/* The amount in our units; 0: absent. */
static int64_t stripe_read_amount(struct stripe_read_reader *r, int at, const char currency[4])
{
    int64_t wire, minor = 0;

    if (field_is_absent(r->f, at))
        r->unfit = true;
    else if (!field_number(r->f, at, &wire) || wire < 0 ||
             !stripe_amount_in(wire, currency, &minor))
        stripe_read_refuse(r);
    return minor;
}

static void read_money(struct stripe_read_reader *r, struct fact *f)
{
    read_currency(r, f);
    f->amount = stripe_read_amount(r, AT_AMOUNT, f->currency);
}

/* --- the intent --- */

/* confirm: the customer's browser has to confirm. That is an action, but no state of its own (D7). */
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

/* Decided by the method that failed; if it is not named, by the allowed methods. */
static bool was_konbini(struct stripe_read_reader *r)
{
    CLEANUP(json_freep) cJSON *owned = NULL;
    const cJSON *types, *item;
    bool found = false;

    if (r->f->v[AT_FAILED_METHOD].type == JSON_STRING)
        return str_eq(field_text(r->f, AT_FAILED_METHOD), S("konbini"));
    types = field_tree(r->f, AT_METHOD_TYPES, &owned);
    cJSON_ArrayForEach(item, types)
    {
        found |= str_eq(str_of(cJSON_GetStringValue(item)), S("konbini"));
    }
    return found;
}

/* Stripe has no failure code for a konbini slip that was not paid in time; document 003 has one. */
static void read_failure(struct stripe_read_reader *r, struct fact *f)
{
    f->failure_code = field_word(r->f, AT_FAILURE_CODE);
    f->decline_code = field_word(r->f, AT_DECLINE_CODE);
    f->failure_message =
        utf8_cut_chars(field_text(r->f, AT_FAILURE_MESSAGE), LIMIT_GATEWAY_MESSAGE);
    if (!f->decline_code.n &&
        str_eq(f->failure_code, S("payment_intent_payment_attempt_expired")) && was_konbini(r))
        f->decline_code = S("konbini_timeout");
}

static void read_state(struct stripe_read_reader *r, struct fact *f)
{
    struct str word = field_text(r->f, AT_STATUS);
    bool failed = r->f->v[AT_FAILURE].type == JSON_OBJECT;
    size_t i = 0;

    while (i < COUNT(intent_words) && !str_eq(word, str_of(intent_words[i].word)))
        i++;
    if (i == COUNT(intent_words)) {
        stripe_read_refuse(r);
        return;
    }
    f->state = intent_words[i].state;
    if (intent_words[i].confirm)
        f->action_type = S("confirm"); /* behind a decline too: with another card (D11) */
    if (failed && str_eq(word, S("requires_payment_method")))
        f->state = INTENT_DECLINED;
    /* The failure of an earlier try is dropped once the intent has continued. */
    if (failed && (f->state == INTENT_DECLINED || f->state == INTENT_CANCELED))
        read_failure(r, f);
}

static void read_action(struct stripe_read_reader *r, struct fact *f)
{
    if (f->state == INTENT_ACTION) {
        f->action_type = field_id(r->f, AT_ACTION);
        f->action_url = field_url(r->f, AT_ACTION_URL);
        if (!f->action_url.n)
            f->action_url = field_url(r->f, AT_SLIP_URL);
    }
    if (f->action_type.n)
        f->client_secret = field_id(r->f, AT_CLIENT_SECRET);
}

/* Each chain of stores has an entry, but the customer's number is the same in all of them. */
static struct str number_on_slip(struct stripe_read_reader *r)
{
    CLEANUP(json_freep) cJSON *owned = NULL;
    const cJSON *stores = field_tree(r->f, AT_SLIP_STORES, &owned), *store;
    struct str number = { 0 };

    cJSON_ArrayForEach(store, stores)
    {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(store, "confirmation_number");

        number = str_of(cJSON_GetStringValue(item));
        if (number.n && number.n <= LIMIT_GATEWAY_ID)
            break;
        number = (struct str){ 0 };
    }
    if (!number.n)
        return number;
    number = arena_str(r->f->arena, number);
    if (!number.p)
        fields_fail(r->f, ERR_NO_MEMORY);
    return number;
}

/* Read only while the slip can be paid, or was paid: the slip of a failed try is of no use. */
static void read_konbini(struct stripe_read_reader *r, struct fact *f)
{
    if (f->state != INTENT_ACTION && f->state != INTENT_SUCCEEDED)
        return;
    f->konbini_store = field_word(r->f, AT_KONBINI_STORE);
    f->konbini_number = field_word(r->f, AT_KONBINI_NUMBER);
    if (!f->konbini_number.n && r->f->v[AT_SLIP_STORES].type == JSON_OBJECT)
        f->konbini_number = number_on_slip(r);
    f->action_expires_ms = field_time_ms(r->f, AT_SLIP_EXPIRES);
    if (!f->action_expires_ms)
        f->action_expires_ms = field_time_ms(r->f, AT_KONBINI_EXPIRES);
}

/* --- the charge, alone or within its intent --- */

/* Read only where Stripe settles in the charge's currency, since fees are compared with our
 * amounts. */
static void read_fee(struct stripe_read_reader *r, struct fact *f)
{
    int64_t fee, net;
    char code[4];

    if (!field_number(r->f, AT_FEE, &fee) || !field_number(r->f, AT_NET, &net))
        return;
    if (!field_is_absent(r->f, AT_BALANCE_CURRENCY) &&
        (!upper_code(field_text(r->f, AT_BALANCE_CURRENCY), code) ||
         memcmp(code, f->currency, sizeof(code)) != 0))
        return;
    f->has_fee =
        stripe_amount_in(fee, f->currency, &f->fee) && stripe_amount_in(net, f->currency, &f->net);
}

static void read_charge_details(struct stripe_read_reader *r, struct fact *f)
{
    bool has_chain = r->f->v[AT_STORE].type == JSON_OBJECT;
    struct str store = field_word(r->f, has_chain ? AT_STORE_CHAIN : AT_STORE);

    f->charge_id = field_id(r->f, AT_ID);
    f->capture_before_ms = field_time_ms(r->f, AT_CAPTURE_BEFORE);
    f->balance_transaction = field_ref(r->f, AT_BALANCE, AT_BALANCE_ID);
    f->receipt_url = field_url(r->f, AT_RECEIPT);
    if (store.n)
        f->konbini_store = store; /* the store in which it was paid */
    read_fee(r, f);
}

static void read_inner_charge(struct stripe_read_reader *r, const cJSON *charge, struct fact *f)
{
    struct stripe_fields fields;
    struct stripe_read_reader inner = { .f = &fields };
    enum err e = fields_of_object(&fields, r->f->arena, charge);

    if (!e) {
        read_charge_details(&inner, f);
        e = fields.err;
    }
    if (e)
        fields_fail(r->f, e);
}

/* Before API version 2022-11-15 an intent carried its charges instead of naming the last one. Only
 * events can be that old: answers have the version we pin. */
static void read_latest_charge(struct stripe_read_reader *r, struct fact *f)
{
    bool whole = r->f->v[AT_LATEST].type == JSON_OBJECT;
    CLEANUP(json_freep) cJSON *owned = NULL;
    const cJSON *charge = NULL;

    f->charge_id = field_id(r->f, AT_LATEST);
    if (whole)
        charge = field_tree(r->f, AT_LATEST, &owned);
    else if (field_is_absent(r->f, AT_LATEST) && r->f->v[AT_OLD_CHARGES].type == JSON_ARRAY)
        charge = cJSON_GetArrayItem(field_tree(r->f, AT_OLD_CHARGES, &owned), 0);
    if (cJSON_IsObject(charge))
        read_inner_charge(r, charge, f);
}

static void read_charge(struct stripe_read_reader *r, struct fact *f)
{
    read_money(r, f);
    read_charge_details(r, f);
    if (!f->charge_id.n)
        stripe_read_refuse(r);
    /* A slip or a debit that is still pending has captured set, too. */
    f->captured =
        field_is_true(r->f, AT_CAPTURED) && !str_eq(field_text(r->f, AT_STATUS), S("pending"));
    if (f->captured && !field_is_absent(r->f, AT_AMOUNT_CAPTURED))
        f->amount = stripe_read_amount(r, AT_AMOUNT_CAPTURED, f->currency);
    if (!field_is_absent(r->f, AT_AMOUNT_REFUNDED))
        f->charge_refunded = stripe_read_amount(r, AT_AMOUNT_REFUNDED, f->currency);
    f->charge_failed = str_eq(field_text(r->f, AT_STATUS), S("failed"));
}

static void read_intent(struct stripe_read_reader *r, struct fact *f)
{
    read_money(r, f);
    if (!f->intent_id.n)
        stripe_read_refuse(r);
    read_state(r, f);
    read_action(r, f);
    read_konbini(r, f);
    if (f->state == INTENT_SUCCEEDED || !field_is_absent(r->f, AT_RECEIVED))
        f->received = stripe_read_amount(r, AT_RECEIVED, f->currency);
    read_latest_charge(r, f);
    if (f->state == INTENT_CANCELED)
        f->cancel_reason = field_word(r->f, AT_CANCEL_REASON);
}

/* --- the refund --- */

static void read_refund(struct stripe_read_reader *r, struct fact *f)
{
    read_money(r, f);
    f->refund_id = field_id(r->f, AT_ID);
    if (!refund_status_parse(field_text(r->f, AT_STATUS), &f->refund) || !f->refund_id.n)
        stripe_read_refuse(r);
    f->refund_our_id = field_id(r->f, AT_REFUND_ID);
    f->refund_failure = field_word(r->f, AT_REFUND_FAILURE);
    f->charge_id = field_ref(r->f, AT_CHARGE, AT_CHARGE_ID);
}

/* --- the dispute --- */

/* Stripe adds new statuses of disputes every year. Only the final ones matter, so all are passed
 * on. */
static void read_dispute(struct stripe_read_reader *r, struct fact *f)
{
    static const char *const ends[] = { "won", "lost", "warning_closed", "prevented" };

    read_money(r, f);
    f->dispute_id = field_id(r->f, AT_ID);
    f->dispute_status = field_id(r->f, AT_STATUS);
    if (!f->dispute_id.n || !f->dispute_status.n)
        stripe_read_refuse(r);
    f->dispute_closed = str_eq(field_text(r->f, AT_TYPE), S("charge.dispute.closed"));
    for (size_t i = 0; i < COUNT(ends); i++)
        f->dispute_closed |= str_eq(f->dispute_status, str_of(ends[i]));
    f->dispute_lost = str_eq(f->dispute_status, S("lost"));
    f->dispute_reason = field_word(r->f, AT_REASON);
    f->charge_id = field_ref(r->f, AT_CHARGE, AT_CHARGE_ID);
}

/* --- the Checkout Session --- */

/* Sessions of old API versions have no status, so the event's type decides it. */
static const struct {
    const char *word, *type;
    enum session_status status;
} session_words[] = {
    { "open", NULL, SESSION_OPEN },
    { "expired", "checkout.session.expired", SESSION_EXPIRED },
    { "complete", "checkout.session.completed", SESSION_COMPLETE },
    { "complete", "checkout.session.async_payment_succeeded", SESSION_COMPLETE },
    { "complete", "checkout.session.async_payment_failed", SESSION_COMPLETE },
};

static void read_session_status(struct stripe_read_reader *r, struct fact *f)
{
    bool by_type = field_is_absent(r->f, AT_STATUS);
    struct str word = field_text(r->f, by_type ? AT_TYPE : AT_STATUS);

    for (size_t i = 0; i < COUNT(session_words); i++) {
        const char *wanted = by_type ? session_words[i].type : session_words[i].word;

        if (wanted && str_eq(word, str_of(wanted))) {
            f->session = session_words[i].status;
            return;
        }
    }
    stripe_read_refuse(r);
}

/* Only identifiers are read from a session, never money (E1). */
static void read_session(struct stripe_read_reader *r, struct fact *f)
{
    f->session_id = field_id(r->f, AT_ID);
    if (!f->session_id.n)
        stripe_read_refuse(r);
    read_session_status(r, f);
    f->session_payment_status = field_word(r->f, AT_PAYMENT_STATUS);
    f->session_url = field_url(r->f, AT_URL);
    f->session_expires_ms = field_time_ms(r->f, AT_EXPIRES);
    f->customer_id = field_ref(r->f, AT_CUSTOMER, AT_CUSTOMER_ID);
}

/* --- any object --- */

static const struct stripe_read_kind {
    const char *object;
    const char *events; /* where the object's kind is left out, as 003's smallest event does */
    enum fact_kind kind;
    void (*read)(struct stripe_read_reader *r, struct fact *f);
} kinds[] = {
    { "payment_intent", "payment_intent.", FACT_INTENT, read_intent },
    { "checkout.session", "checkout.session.", FACT_SESSION, read_session },
    { "refund", "refund.", FACT_REFUND, read_refund },
    { "refund", "charge.refund.", FACT_REFUND, read_refund },
    { "dispute", "charge.dispute.", FACT_DISPUTE, read_dispute },
    { "charge", "charge.", FACT_CHARGE, read_charge }, /* behind the charge.* that are none */
};

static const struct stripe_read_kind *kind_of(struct stripe_fields *f)
{
    struct str object = field_text(f, AT_OBJECT), type = field_text(f, AT_TYPE);
    bool by_type = f->v[AT_OBJECT].type == JSON_ABSENT;

    for (size_t i = 0; i < COUNT(kinds); i++)
        if (by_type ? str_starts(type, str_of(kinds[i].events))
                    : str_eq(object, str_of(kinds[i].object)))
            return &kinds[i];
    return NULL;
}

static struct str intent_of(struct stripe_fields *f, const struct stripe_read_kind *kind)
{
    if (kind && kind->kind == FACT_INTENT)
        return field_id(f, AT_ID);
    return field_ref(f, AT_INTENT, AT_INTENT_ID);
}

/* Anyone who follows a payment link can set a session's client_reference_id; only the session's
 * creator sets its metadata. If both look like ours, they must name the same payment (D18). */
static struct str payment_of(struct stripe_fields *f, const struct stripe_read_kind *kind)
{
    struct str named = field_id(f, AT_PAYMENT_ID);
    struct uuid reference, ours;

    if (kind && kind->kind == FACT_SESSION && uuid_parse(field_id(f, AT_REFERENCE), &reference) &&
        uuid_parse(named, &ours) && !uuid_eq(reference, ours))
        return (struct str){ 0 };
    return named;
}

static enum err read_fact(struct stripe_fields *fields, const struct stripe_read_kind *kind,
                          struct fact *ret_fact)
{
    struct stripe_read_reader r = { .f = fields };
    struct fact f = { .kind = kind ? kind->kind : FACT_NONE };

    if (kind) {
        f.intent_id = intent_of(fields, kind);
        f.payment_id = payment_of(fields, kind);
        kind->read(&r, &f);
    }
    if (fields->err)
        return fields->err;
    if (r.unfit)
        f.currency[0] = '\0';
    *ret_fact = f;
    return OK;
}

enum err stripe_read_object(struct arena *a, const cJSON *object, struct fact *ret_fact)
{
    struct stripe_fields fields;
    enum err e = fields_of_object(&fields, a, object);

    return e ? e : read_fact(&fields, kind_of(&fields), ret_fact);
}

/* --- the envelope --- */

static int stripe_read_livemode(const struct stripe_fields *f)
{
    return f->v[AT_LIVEMODE].type == JSON_BOOL ? field_is_true(f, AT_LIVEMODE) : -1;
}

static void read_envelope(struct stripe_fields *f, const struct stripe_read_kind *kind,
                          struct stripe_webhook *w)
{
    w->id = field_id(f, AT_EVENT_ID);
    w->type = field_id(f, AT_TYPE);
    w->livemode = stripe_read_livemode(f);
    w->has_created = field_time(f, AT_CREATED, &w->created_ms);
    w->has_object = f->v[AT_DATA_OBJECT].type == JSON_OBJECT;
    w->thin = str_eq(field_text(f, AT_ENVELOPE), S("v2.core.event"));
    w->object_id = field_id(f, AT_ID);
    w->intent_id = intent_of(f, kind);
    w->charge_id = field_ref(f, AT_CHARGE, AT_CHARGE_ID);
    w->payment_id = payment_of(f, kind);
    if (str_eq(field_text(f, AT_CONTEXT), str_of(payment_context_name(CONTEXT_PARTICIPANT))))
        w->participant_id = field_id(f, AT_SUBJECT_ID);
}

enum err stripe_read_webhook(struct arena *a, struct str body, struct stripe_webhook *ret)
{
    struct stripe_fields fields;
    const struct stripe_read_kind *kind;
    enum err e = fields_of_event(&fields, a, body, &ret->fault);

    if (e)
        return e;
    kind = kind_of(&fields);
    read_envelope(&fields, kind, ret);
    if (fields.err)
        return fields.err;
    ret->fact = (struct fact){ .kind = FACT_NONE };
    ret->fact_err = read_fact(&fields, kind, &ret->fact);
    return ret->fact_err == ERR_NO_MEMORY ? ERR_NO_MEMORY : OK;
}
