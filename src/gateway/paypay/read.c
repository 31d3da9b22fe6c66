/* read.c - reads payments, refunds and codes of PayPay into facts. The first error stops the reading
 * of an object, so no fact is made of a half-read one. */
#include "gateway/paypay/read.h"

#include "base/limits.h"
#include "base/uuid.h"
#include "gateway/paypay/id.h"

#include <string.h>

#define YEN_MOST INT64_C(99999999999)      /* eleven digits */
#define SECONDS_MOST INT64_C(100000000000) /* more are milliseconds: the year 5138, or 1973 */
#define MILLIS_MOST (SECONDS_MOST * 1000)

struct paypay_read_reader {
    struct arena *arena;
    enum err err; /* the first error */
};

static void paypay_read_refuse(struct paypay_read_reader *r, enum err e)
{
    if (!r->err)
        r->err = e;
}

/* --- single values --- */

static const cJSON *paypay_read_member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static struct str paypay_read_text(const cJSON *object, const char *name)
{
    return str_of(cJSON_GetStringValue(paypay_read_member(object, name)));
}

static struct str paypay_read_keep(struct paypay_read_reader *r, struct str s)
{
    struct str copy = s.n ? arena_str(r->arena, s) : (struct str){ 0 };

    if (s.n && !copy.p)
        paypay_read_refuse(r, ERR_NO_MEMORY);
    return copy;
}

/* For texts that are shown, logged or sent in paths; empty where a character is not printable. */
static struct str paypay_read_printable(struct paypay_read_reader *r, const cJSON *object,
                                        const char *name, size_t most)
{
    struct str s = paypay_read_text(object, name);

    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '!' || s.p[i] > '~')
            return (struct str){ 0 };
    return s.n <= most ? paypay_read_keep(r, s) : (struct str){ 0 };
}

/* False for a number with a fraction, an exponent or too many digits. */
static bool paypay_read_whole(const cJSON *item, int64_t most, int64_t *ret)
{
    if (!cJSON_IsNumber(item) || item->valuestring || item->valuedouble < 0 ||
        item->valuedouble > (double)most || (double)(int64_t)item->valuedouble != item->valuedouble)
        return false;
    *ret = (int64_t)item->valuedouble;
    return true;
}

int64_t paypay_time_ms(const cJSON *item)
{
    int64_t v;

    if (!paypay_read_whole(item, MILLIS_MOST, &v))
        return 0;
    return v < SECONDS_MOST ? v * 1000 : v;
}

static bool upper_code(struct str s, char ret_code[4])
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 'A' || s.p[i] > 'Z')
            return false;
    if (s.n != 3)
        return false;
    memcpy(ret_code, s.p, 3);
    ret_code[3] = '\0';
    return true;
}

static int64_t read_money(struct paypay_read_reader *r, const cJSON *object, char ret_currency[4])
{
    const cJSON *money = paypay_read_member(object, "amount");
    int64_t amount = 0;

    if (!paypay_read_whole(paypay_read_member(money, "amount"), YEN_MOST, &amount) ||
        !upper_code(paypay_read_text(money, "currency"), ret_currency))
        paypay_read_refuse(r, ERR_VALIDATION);
    return amount;
}

/* --- ids --- */

static struct str uuid_copy(struct paypay_read_reader *r, struct uuid id)
{
    char t[UUID_TEXT + 1];

    uuid_text(id, t);
    return paypay_read_keep(r, str_of(t));
}

static void read_names(struct paypay_read_reader *r, const cJSON *data, struct fact *f)
{
    struct uuid ours;

    f->intent_id = paypay_read_printable(r, data, "merchantPaymentId", PAYPAY_ID);
    if (!f->intent_id.n)
        paypay_read_refuse(r, ERR_VALIDATION);
    if (paypay_payment_of(f->intent_id, &ours))
        f->payment_id = uuid_copy(r, ours);
}

/* --- refunds --- */

/* CREATED is a success: PayPay collects the money by itself. REFUND_FAILED is not final: a batch at
 * PayPay repeats the refund until it is done. */
static const struct {
    const char *word;
    enum refund_status status;
} refund_words[] = {
    { "CREATED", REFUND_SUCCEEDED },
    { "REFUNDED", REFUND_SUCCEEDED },
    { "REFUND_FAILED", REFUND_PENDING },
};

static bool refund_status_of(const cJSON *data, enum refund_status *ret_status)
{
    struct str word = paypay_read_text(data, "status");

    for (size_t i = 0; i < COUNT(refund_words); i++)
        if (str_eq(word, str_of(refund_words[i].word))) {
            *ret_status = refund_words[i].status;
            return true;
        }
    return false;
}

static void read_refund(struct paypay_read_reader *r, const cJSON *data, struct fact *f)
{
    struct uuid ours;

    *f = (struct fact){ .kind = FACT_REFUND };
    f->amount = read_money(r, data, f->currency);
    f->refund_id = paypay_read_printable(r, data, "merchantRefundId", PAYPAY_ID);
    if (!f->refund_id.n)
        paypay_read_refuse(r, ERR_VALIDATION);
    if (paypay_refund_of(f->refund_id, &ours))
        f->refund_our_id = uuid_copy(r, ours);
    f->charge_id = paypay_read_printable(r, data, "paymentId", LIMIT_GATEWAY_ID);
    if (!refund_status_of(data, &f->refund))
        paypay_read_refuse(r, ERR_VALIDATION);
}

enum err paypay_read_refund(struct arena *a, const cJSON *data, struct fact *ret_fact)
{
    struct paypay_read_reader r = { .arena = a };
    struct fact f;

    if (!cJSON_IsObject(data))
        return ERR_VALIDATION;
    read_refund(&r, data, &f);
    if (!r.err)
        *ret_fact = f;
    return r.err;
}

/* --- payments --- */

static const struct {
    const char *word;
    enum intent_state state;
} payment_words[PAYPAY_STATUSES] = {
    [PAYPAY_CREATED] = { "CREATED", INTENT_OPEN },
    [PAYPAY_AUTHORIZED] = { "AUTHORIZED", INTENT_AUTHORIZED },
    [PAYPAY_REAUTHORIZING] = { "REAUTHORIZING", INTENT_AUTHORIZED },
    [PAYPAY_COMPLETED] = { "COMPLETED", INTENT_SUCCEEDED },
    [PAYPAY_REFUNDED] = { "REFUNDED", INTENT_SUCCEEDED },
    [PAYPAY_FAILED] = { "FAILED", INTENT_CANCELED }, /* final: it cannot be tried again */
    [PAYPAY_CANCELED] = { "CANCELED", INTENT_CANCELED },
    [PAYPAY_EXPIRED] = { "EXPIRED", INTENT_CANCELED },
};

static void read_status(struct paypay_read_reader *r, const cJSON *data, struct paypay_payment *p)
{
    struct str word = paypay_read_text(data, "status");
    unsigned i = 0;

    while (i < PAYPAY_STATUSES && !str_eq(word, str_of(payment_words[i].word)))
        i++;
    if (i == PAYPAY_STATUSES) {
        paypay_read_refuse(r, ERR_VALIDATION);
        return;
    }
    p->status = (enum paypay_status)i;
    p->fact.state = payment_words[i].state;
    if (p->status == PAYPAY_FAILED)
        p->fact.failure_code = S("payment_failed");
    if (p->status == PAYPAY_EXPIRED)
        p->fact.cancel_reason = S("expired");
    if (p->status == PAYPAY_CANCELED)
        p->fact.cancel_reason = S("canceled");
}

/* A capture is done, or the customer has to agree to it first. */
static void read_captures(struct paypay_read_reader *r, const cJSON *data,
                          const struct paypay_wanted *w, struct paypay_payment *p)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, paypay_read_member(paypay_read_member(data, "captures"), "data"))
    {
        char currency[4] = "";
        int64_t amount = read_money(r, item, currency);

        if (str_eq(paypay_read_text(item, "status"), S("USER_REQUESTED"))) {
            int64_t ends_ms = paypay_time_ms(paypay_read_member(item, "expiresAt"));

            if (p->fact.state == INTENT_AUTHORIZED && (!ends_ms || ends_ms > w->now_ms))
                p->fact.action_type = S("confirm_capture");
            continue;
        }
        if (amount > YEN_MOST - p->fact.received || strcmp(currency, p->fact.currency) != 0)
            paypay_read_refuse(r, ERR_VALIDATION);
        else
            p->fact.received += amount;
        p->has_capture |=
            w->capture_id.n && str_eq(paypay_read_text(item, "merchantCaptureId"), w->capture_id);
    }
}

static void find_refund(struct paypay_read_reader *r, const cJSON *data,
                        const struct paypay_wanted *w, struct paypay_payment *p)
{
    const cJSON *item;

    if (!w->refund_id.n)
        return;
    cJSON_ArrayForEach(item, paypay_read_member(paypay_read_member(data, "refunds"), "data"))
    {
        if (!str_eq(paypay_read_text(item, "merchantRefundId"), w->refund_id))
            continue;
        read_refund(r, item, &p->refund);
        p->has_refund = true;
        return;
    }
}

/* Sums our refunds and those made on PayPay's own pages. The sum is only compared: with an
 * unreadable refund it stays unset, and the payment is read all the same. */
static void sum_refunds(const cJSON *data, struct paypay_payment *p)
{
    int64_t sum = 0, amount;
    const cJSON *item;

    cJSON_ArrayForEach(item, paypay_read_member(paypay_read_member(data, "refunds"), "data"))
    {
        struct paypay_read_reader r = { 0 };
        char currency[4] = "";
        enum refund_status status;

        amount = read_money(&r, item, currency);
        if (r.err || !refund_status_of(item, &status) || amount > YEN_MOST - sum ||
            strcmp(currency, p->fact.currency) != 0)
            return;
        if (status == REFUND_SUCCEEDED)
            sum += amount;
    }
    p->fact.has_refunded = true;
    p->fact.charge_refunded = sum || p->status != PAYPAY_REFUNDED ? sum : p->fact.received;
}

/* Without captures the whole amount was captured at once. Only captured money is received. */
static void settle_received(struct paypay_payment *p)
{
    if (p->fact.state != INTENT_SUCCEEDED)
        p->fact.received = 0;
    else if (!p->fact.received)
        p->fact.received = p->fact.amount;
}

enum err paypay_read_payment(struct arena *a, const cJSON *data, const struct paypay_wanted *w,
                             struct paypay_payment *ret)
{
    struct paypay_read_reader r = { .arena = a };
    struct paypay_payment p = { .fact = { .kind = FACT_INTENT } };

    if (!cJSON_IsObject(data))
        return ERR_VALIDATION;
    read_names(&r, data, &p.fact);
    p.fact.amount = read_money(&r, data, p.fact.currency);
    read_status(&r, data, &p);
    read_captures(&r, data, w, &p);
    settle_received(&p);
    sum_refunds(data, &p);
    find_refund(&r, data, w, &p);
    p.paypay_id = p.fact.charge_id = paypay_read_printable(&r, data, "paymentId", LIMIT_GATEWAY_ID);
    if (p.fact.state == INTENT_AUTHORIZED)
        p.fact.capture_before_ms = paypay_time_ms(paypay_read_member(data, "expiresAt"));
    if (p.has_refund) {
        p.refund.intent_id = p.fact.intent_id;
        p.refund.payment_id = p.fact.payment_id;
    }
    if (!r.err)
        *ret = p;
    return r.err;
}

/* --- codes --- */

/* Stored with the payment, since a code can only be deleted by its codeId. */
static struct str details_of(struct paypay_read_reader *r, const cJSON *data)
{
    struct str id = paypay_read_printable(r, data, "codeId", LIMIT_GATEWAY_ID), copy;
    struct buf b;

    if (!id.n)
        return id;
    buf_init(&b, 2 * LIMIT_GATEWAY_ID);
    buf_add(&b, S("{\"codeId\":"));
    buf_json(&b, id);
    buf_char(&b, '}');
    copy = b.failed ? (struct str){ 0 } : paypay_read_keep(r, buf_str(&b));
    buf_release(&b);
    return copy;
}

enum err paypay_read_code(struct arena *a, const cJSON *data, struct fact *ret_fact)
{
    struct paypay_read_reader r = { .arena = a };
    struct fact f = { .kind = FACT_INTENT, .state = INTENT_ACTION };

    if (!cJSON_IsObject(data))
        return ERR_VALIDATION;
    read_names(&r, data, &f);
    f.amount = read_money(&r, data, f.currency);
    f.action_type = S("redirect_to_url");
    f.action_url = paypay_read_printable(&r, data, "url", LIMIT_GATEWAY_URL);
    f.action_expires_ms = paypay_time_ms(paypay_read_member(data, "expiryDate"));
    f.action_details = details_of(&r, data);
    if (!f.action_url.n)
        paypay_read_refuse(&r, ERR_VALIDATION); /* without its address it cannot be paid */
    if (!r.err)
        *ret_fact = f;
    return r.err;
}
