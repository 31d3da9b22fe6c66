/* paypay_notification.c - the name of a notification:
 *
 *   paypay:n:<notification_id>                 where it has one
 *   paypay:t:<order_id>:<state>:<its time>     the payment's, which has none
 *   paypay:sha256:<hex of the body>            whatever has neither */
#include "webhook/paypay_notification.h"

#include "base/hex.h"
#include "base/json/json.h"
#include "gateway/paypay/id.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST = 32, WORD_MAX = 80, TYPE_MAX = 200 };

enum {
    AT_TYPE,
    AT_ID,
    AT_ORDER,
    AT_OURS,
    AT_STATE,
    AT_PAID,
    AT_AUTHORIZED,
    AT_EXPIRES,
    AT_CONFIRM,
    AT_COUNT
};
static const char *const paths[AT_COUNT] = {
    [AT_TYPE] = "notification_type",
    [AT_ID] = "notification_id",
    [AT_ORDER] = "order_id",
    [AT_OURS] = "merchant_order_id",
    [AT_STATE] = "state",
    [AT_PAID] = "paid_at",
    [AT_AUTHORIZED] = "authorized_at",
    [AT_EXPIRES] = "expires_at",
    [AT_CONFIRM] = "confirmation_expires_at",
};

/* Each of these states has a time: notifications with the same order, state and time are the same.
 * Other states have none, so their notifications are compared by their bytes. */
static const struct {
    const char *state;
    int at;
} times[] = {
    { "COMPLETED", AT_PAID },
    { "AUTHORIZED", AT_AUTHORIZED },
    { "EXPIRED", AT_EXPIRES },
    { "EXPIRED_USER_CONFIRMATION", AT_CONFIRM },
};

/* Empty where the value cannot be part of a name. A number can: an id may be sent as a number. */
static struct str paypay_notification_word(const struct json_value *v, size_t most)
{
    if ((v->type != JSON_STRING && v->type != JSON_NUMBER) || v->has_escape || v->raw.n > most)
        return (struct str){ 0 };
    for (size_t i = 0; i < v->raw.n; i++)
        if (v->raw.p[i] < '!' || v->raw.p[i] > '~')
            return (struct str){ 0 };
    return v->raw;
}

static struct str time_of(const struct json_value *v, struct str state)
{
    for (size_t i = 0; i < COUNT(times); i++)
        if (str_eq(state, str_of(times[i].state)))
            return paypay_notification_word(&v[times[i].at], WORD_MAX);
    return (struct str){ 0 };
}

static void name_by_content(struct str body, char *ret, size_t size)
{
    unsigned char digest[DIGEST];
    char hex[DIGEST * 2 + 1];
    unsigned int n = 0;

    if (!EVP_Digest(body.p, body.n, digest, &n, EVP_sha256(), NULL) || n != DIGEST)
        abort(); /* it fails only without memory, and the notification must have a name */
    *hex_put(hex, digest, DIGEST) = '\0';
    snprintf(ret, size, "paypay:sha256:%s", hex);
}

static void paypay_notification_name(const struct json_value *v, struct str body, char *ret,
                                     size_t size)
{
    struct str id = paypay_notification_word(&v[AT_ID], WORD_MAX),
               order = paypay_notification_word(&v[AT_ORDER], WORD_MAX);
    struct str state = paypay_notification_word(&v[AT_STATE], WORD_MAX), time = time_of(v, state);

    if (id.n)
        snprintf(ret, size, "paypay:n:" STR_FMT, STR_ARG(id));
    else if (order.n && time.n)
        snprintf(ret, size, "paypay:t:" STR_FMT ":" STR_FMT ":" STR_FMT, STR_ARG(order),
                 STR_ARG(state), STR_ARG(time));
    else
        name_by_content(body, ret, size);
}

static bool is_object(struct str body)
{
    size_t i = 0;

    while (i < body.n && (body.p[i] == ' ' || (body.p[i] >= '\t' && body.p[i] <= '\r')))
        i++;
    return i < body.n && body.p[i] == '{';
}

static void read_names(const struct json_value *v, struct paypay_notice *n)
{
    struct str ours = paypay_notification_word(&v[AT_OURS], PAYPAY_ID);

    if (v[AT_TYPE].type == JSON_STRING)
        n->event.type = paypay_notification_word(&v[AT_TYPE], TYPE_MAX);
    if (!n->event.type.n && ours.n)
        n->event.type = S("Transaction"); /* only transactions name an order of ours */
    n->event.readable = n->event.type.n > 0;
    if (!n->event.readable)
        n->event.why = "no sane notification_type";
    if (!str_eq(n->event.type, S("Transaction")))
        return;
    n->order = ours;
    n->has_payment = paypay_payment_of(ours, &n->payment);
}

enum err paypay_notice_read(struct arena *a, struct str body, struct paypay_notice *ret_notice)
{
    struct paypay_notice n = { .event = { .livemode = -1 } };
    struct json_value v[AT_COUNT];
    struct json_fault fault = { 0 };
    char id[3 * WORD_MAX + 32];

    if (json_pick(body, paths, AT_COUNT, v, &fault) || !is_object(body)) {
        n.event.why = fault.why ? fault.why : "not a JSON object";
        name_by_content(body, id, sizeof(id));
    } else {
        read_names(v, &n);
        paypay_notification_name(v, body, id, sizeof(id));
    }
    n.event.id = arena_str(a, str_of(id));
    if (!n.event.id.p)
        return ERR_NO_MEMORY;
    *ret_notice = n;
    return OK;
}
