/* inbound_events.c - a row of inbound_events and the change of its booking are one commit, so a
 * crash loses both and the sender repeats. An event whose change is rejected leaves no row: sent
 * again later it may be applied. */
#include "api/inbound_events.h"

#include "api/cloud_event.h"
#include "auth/standard_webhooks.h"
#include "base/limits.h"
#include "endpoint/act.h"
#include "endpoint/answer.h"
#include "observe/log.h"
#include "store/store.h"

enum inbound_events_refusal { REFUSED_NOT, REFUSED_MONEY, REFUSED_UNKNOWN };

struct inbound_events_call { /* one request, in its own arena */
    struct unit unit;
    struct request *request;
    const struct api_events *api;
    struct cloud_event *events;
    size_t count;
    bool has_user; /* false: a signed request, with no person behind it */
    struct uuid user;
    enum inbound_events_refusal refusal; /* set with ERR_UNPROCESSABLE */
};

/* --- the unit --- */

static struct str inbound_event_outcome(enum booking_put put)
{
    switch (put) {
    case BOOKING_STORED: return S("stored");
    case BOOKING_UNCHANGED: return S("unchanged");
    case BOOKING_OLDER: return S("older");
    case BOOKING_REFUSED: break;
    }
    return S("refused");
}

static enum err inbound_event_apply(struct tx *tx, struct inbound_events_call *a,
                                    const struct cloud_event *e, int64_t now_ms,
                                    struct str *ret_outcome)
{
    struct booking_result result;
    enum err err = booking_change(tx, a->api->payments, &e->change, now_ms, &result);

    if (err == ERR_NOT_FOUND)
        a->refusal = REFUSED_UNKNOWN;
    else if (!err && result.put == BOOKING_REFUSED)
        a->refusal = REFUSED_MONEY;
    if (a->refusal)
        return ERR_UNPROCESSABLE;
    *ret_outcome = inbound_event_outcome(result.put);
    return err ? err : act_audit_booking(tx, &result, a->has_user ? &a->user : NULL);
}

static enum err inbound_event_store(struct tx *tx, struct inbound_events_call *a,
                                    const struct cloud_event *e, int64_t now_ms)
{
    struct str outcome = S("ignored");
    struct row row;
    enum err err = TX_ROW(tx, STMT_inbound_event_add, &row, V_TEXT(e->key), V_TEXT(e->type),
                          V_TEXT(outcome), V_INT(now_ms));

    if (err == ERR_NOT_FOUND)
        return OK; /* the event is known: a repeat */
    if (err || !e->is_booking)
        return err;
    err = inbound_event_apply(tx, a, e, now_ms, &outcome);
    return err ? err : TX_DO(tx, STMT_inbound_event_outcome, 1, V_TEXT(outcome), V_TEXT(e->key));
}

static enum err inbound_events_run(struct tx *tx, struct unit *u)
{
    struct inbound_events_call *a = CONTAINER_OF(u, struct inbound_events_call, unit);
    int64_t now_ms = env_now_ms(a->api->payments->runtime.env);
    enum err e = OK;

    a->refusal = REFUSED_NOT;
    for (size_t i = 0; i < a->count && !e; i++)
        e = inbound_event_store(tx, a, &a->events[i], now_ms);
    return e;
}

static const char *inbound_events_refusal_words(enum inbound_events_refusal refusal,
                                                enum language language)
{
    static const char *const words[][2] = {
        [REFUSED_MONEY] = { "Owner, amount and currency cannot change while money is under way.",
                            "支払いの処理中は、所有者・金額・通貨を変更できません。" },
        [REFUSED_UNKNOWN] = { "This booking is not known yet: send userId, amount and currency "
                              "along, or send it again after BookingCreated.",
                              "この予約はまだ登録されていません。userId・amount・currency "
                              "を含めるか、"
                              "BookingCreated の後に再送してください。" },
    };

    return refusal ? words[refusal][language] : NULL;
}

static void inbound_events_answer(struct unit *u)
{
    struct inbound_events_call *a = CONTAINER_OF(u, struct inbound_events_call, unit);
    struct request *r = a->request;

    if (u->err)
        reply_problem(r, u->err,
                      u->err == ERR_UNPROCESSABLE
                          ? inbound_events_refusal_words(a->refusal, r->language)
                          : NULL);
    else
        reply_send(r, 204, S(""), S(""));
}

/* --- the request --- */

static void inbound_events_receive(struct request *r, const struct api_events *api,
                                   const struct principal *p)
{
    static const struct unit_kind kind = { "events.take", UNIT_FRONT, inbound_events_run, NULL };
    struct inbound_events_call *a = api_room(r, sizeof(*a));

    if (!a)
        return;
    a->unit =
        (struct unit){ .kind = &kind, .executor = r->executor, .done = inbound_events_answer };
    a->request = r;
    a->api = api;
    a->has_user = p;
    if (p)
        a->user = p->user;
    if (!cloud_events_read(r, &a->events, &a->count))
        return;
    if (a->count)
        store_post(api->store, &a->unit);
    else
        reply_send(r, 204, S(""), S("")); /* an empty batch */
}

static void inbound_events_receive_checked(struct request *r, void *ctx, enum err e,
                                           const struct principal *p)
{
    if (e || !(p->service || p->admin))
        reply_problem(r, e ? e : ERR_FORBIDDEN, NULL);
    else
        inbound_events_receive(r, ctx, p);
}

static bool inbound_events_is_signed(const struct request *r, const struct api_events *api)
{
    return signing_verify(api->secret, request_header(r, S("webhook-id"), NULL),
                          request_header(r, S("webhook-timestamp"), NULL),
                          request_header(r, S("webhook-signature"), NULL), r->body,
                          clock_wall_ms(&api->payments->runtime.env->clock) / 1000);
}

static void inbound_events_receive_signed(struct request *r, const struct api_events *api)
{
    if (!inbound_events_is_signed(r, api))
        reply_problem(r, ERR_SIGNATURE, NULL);
    else if (cloud_event_is_binary(r))
        reply_problem(
            r, ERR_MEDIA_TYPE,
            r->language == LANG_JA
                ? "binary 形式のヘッダーは署名の対象外です。structured 形式で送ってください。"
                : "The headers of a binary event are not signed: send it structured.");
    else
        inbound_events_receive(r, api, NULL);
}

void api_events_post(struct request *r, void *ctx)
{
    const struct api_events *api = ctx;
    size_t signatures;

    request_header(r, S("webhook-signature"), &signatures);
    if (signatures && api->secret.n)
        inbound_events_receive_signed(r, api);
    else
        auth_check(api->auth, r, inbound_events_receive_checked, ctx);
}
