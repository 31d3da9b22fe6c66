/* answer.c - what one HTTP answer means.
 *
 *   2xx                    OK with the fact; DECLINED where an authorisation was declined
 *   402                    DECLINED
 *   400 with the intent    OK where it already is what was asked for, else REFUSED
 *   4xx                    REFUSED: nothing happened
 *   401, 403               RETRY_LATER: our settings are wrong, and no try heals that
 *   409                    again; UNCERTAIN: an earlier request with this key is still running
 *   429                    again; RETRY_LATER
 *   5xx, 424, 408          again; UNCERTAIN
 *   anything unreadable    UNCERTAIN
 *
 * Stripe repeats the first answer of a key for every later request with it, so a 2xx, 400 or 402
 * also tells the result of the earlier tries. An error without Stripe's error object may come from a
 * proxy, and proves nothing.
 *
 * A GET moves nothing, so a failed GET is RETRY_LATER. Only resource_missing or the end of the list
 * is ABSENT. The error for a session that cannot be expired does not name the session's state, so
 * the session is fetched. */
#include "gateway/stripe/answer.h"

#include "base/json/json.h"
#include "gateway/stripe/form.h"
#include "gateway/stripe/read.h"
#include "gateway/stripe/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct stripe_verdict uncertain = { .answer = GATEWAY_UNCERTAIN, .maybe = true };
static const struct stripe_verdict retry_later = { .answer = GATEWAY_RETRY_LATER };

/* --- codes and messages --- */

static struct str stripe_answer_field(const cJSON *object, const char *name)
{
    return str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name)));
}

/* Sets error_code to the error's code, else to its type, else to the status. */
static void say_error(struct gateway_call *c, const cJSON *error, int status)
{
    struct str code = stripe_answer_field(error, "code");
    char number[32];

    snprintf(number, sizeof(number), "http_%d", status);
    if (!code.n)
        code = stripe_answer_field(error, "type");
    gateway_say(c, code.n ? code : str_of(number), stripe_answer_field(error, "message"));
}

static struct stripe_verdict stripe_answer_unreadable(struct gateway_call *c, const char *why)
{
    c->fact = (struct fact){ 0 };
    gateway_say(c, S("unreadable_answer"), str_of(why));
    return uncertain;
}

/* --- success --- */

static bool is_uuid(struct str text, struct uuid wanted)
{
    struct uuid id;

    return uuid_parse(text, &id) && uuid_eq(id, wanted);
}

/* True if the object is the one we asked about. Any other object makes the answer UNCERTAIN. */
static bool stripe_answer_belongs(const struct gateway_call *c, const struct fact *f)
{
    switch (c->ask) {
    case GATEWAY_AUTHORIZE: return !f->payment_id.n || is_uuid(f->payment_id, c->payment);
    case GATEWAY_CAPTURE:
    case GATEWAY_VOID:
    case GATEWAY_FETCH: return !c->intent_id.n || str_eq(f->intent_id, c->intent_id);
    case GATEWAY_REFUND:
        return (!f->intent_id.n || str_eq(f->intent_id, c->intent_id)) &&
               (!f->refund_our_id.n || is_uuid(f->refund_our_id, c->refund));
    case GATEWAY_FETCH_REFUND: return !c->refund_id.n || str_eq(f->refund_id, c->refund_id);
    case GATEWAY_CHECKOUT: return !f->payment_id.n || is_uuid(f->payment_id, c->payment);
    case GATEWAY_EXPIRE: return str_eq(f->session_id, c->session_id);
    case GATEWAY_ASKS: break;
    }
    abort();
}

/* True if the object has the currency of our request. Otherwise the answer is UNCERTAIN, and the
 * gateway is queried for the object. */
static bool is_our_money(const struct gateway_call *c)
{
    const struct fact *f = &c->fact;

    return !c->money.currency[0] || !f->currency[0] || strcmp(c->money.currency, f->currency) == 0;
}

static struct stripe_verdict stripe_answer_mismatch(struct gateway_call *c, const char *why)
{
    c->fact = (struct fact){ 0 };
    gateway_say(c, S("answer_mismatch"), str_of(why));
    return uncertain;
}

static const enum fact_kind wanted_kinds[GATEWAY_ASKS] = {
    [GATEWAY_AUTHORIZE] = FACT_INTENT, [GATEWAY_CAPTURE] = FACT_INTENT,
    [GATEWAY_VOID] = FACT_INTENT,      [GATEWAY_REFUND] = FACT_REFUND,
    [GATEWAY_FETCH] = FACT_INTENT,     [GATEWAY_FETCH_REFUND] = FACT_REFUND,
    [GATEWAY_CHECKOUT] = FACT_SESSION, [GATEWAY_EXPIRE] = FACT_SESSION,
};

/* The verdict of an object that is the one we asked about. */
static struct stripe_verdict judge_fact(struct gateway_call *c)
{
    const struct fact *f = &c->fact;

    if (c->ask == GATEWAY_AUTHORIZE && f->state == INTENT_DECLINED) {
        gateway_say(c, f->failure_code, f->failure_message);
        return (struct stripe_verdict){ .answer = GATEWAY_DECLINED };
    }
    if (c->ask == GATEWAY_EXPIRE && f->session == SESSION_OPEN) {
        gateway_say(c, S("session_still_open"), S("the session could not be ended yet"));
        return retry_later;
    }
    return (struct stripe_verdict){ .answer = GATEWAY_OK };
}

static struct stripe_verdict judge_object(struct gateway_call *c, const cJSON *object)
{
    enum err e = stripe_read_object(c->arena, object, &c->fact);

    if (e == ERR_NO_MEMORY)
        return stripe_answer_unreadable(c, "the answer needs more memory than there is");
    if (e || c->fact.kind != wanted_kinds[c->ask])
        return stripe_answer_unreadable(
            c, "the answer has no object that we know, or one in an unknown state");
    if (!stripe_answer_belongs(c, &c->fact))
        return stripe_answer_mismatch(c, "the answer is about something else");
    if (!is_our_money(c))
        return stripe_answer_mismatch(c, "the answer is about money in another currency");
    return judge_fact(c);
}

/* --- lists --- */

static struct str our_id(const cJSON *item, const char *name)
{
    return stripe_answer_field(cJSON_GetObjectItemCaseSensitive(item, "metadata"), name);
}

static const cJSON *find_ours(const struct gateway_call *c, const cJSON *list)
{
    bool refund = c->ask == GATEWAY_FETCH_REFUND;
    const cJSON *item;

    cJSON_ArrayForEach(item, list) if (is_uuid(our_id(item, refund ? "refund_id" : "payment_id"),
                                               refund ? c->refund : c->payment)) return item;
    return NULL;
}

/* Searches the page for each wanted call. An unreadable object affects only its own call. */
static void find_sought(struct gateway_call *reading, const cJSON *list)
{
    struct uuid id;
    const cJSON *item;

    cJSON_ArrayForEach(item, list)
    {
        struct gateway_call **at = &reading->wanted, *c;

        if (!uuid_parse(our_id(item, "payment_id"), &id))
            continue;
        while ((c = *at) && !uuid_eq(c->payment, id))
            at = &c->next;
        if (!c)
            continue;
        c->answer = judge_object(c, item).answer;
        *at = c->next;
        c->next = reading->found;
        reading->found = c;
    }
}

static struct stripe_verdict judge_page(struct gateway_call *c, const cJSON *page)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(page, "data");
    const cJSON *has_more = cJSON_GetObjectItemCaseSensitive(page, "has_more");
    bool for_many = c->wanted != NULL;
    const cJSON *ours = for_many ? NULL : find_ours(c, list);
    int n = cJSON_GetArraySize(list);
    struct stripe_verdict v = { .answer = GATEWAY_ABSENT };

    if (ours)
        return judge_object(c, ours);
    find_sought(c, list);
    if (for_many && !c->wanted)
        return (struct stripe_verdict){ .answer = GATEWAY_OK };
    if (!cJSON_IsArray(list) || !cJSON_IsBool(has_more))
        return stripe_answer_unreadable(c, "the answer is no list");
    if (cJSON_IsFalse(has_more))
        return v;
    v.more =
        arena_str(c->arena, n ? stripe_answer_field(cJSON_GetArrayItem(list, n - 1), "id") : S(""));
    return v.more.n ? v : stripe_answer_unreadable(c, "the list does not say how it goes on");
}

/* --- errors --- */

static struct str stripe_answer_copy(struct gateway_call *c, const cJSON *object, const char *name)
{
    struct str s = arena_str(c->arena, stripe_answer_field(object, name));

    return s.p ? s : (struct str){ 0 };
}

/* Reads the intent within an error. True: it is readable and ours. */
static bool read_inner(struct gateway_call *c, const cJSON *error)
{
    const cJSON *intent = cJSON_GetObjectItemCaseSensitive(error, "payment_intent");

    if (cJSON_IsObject(intent) && !stripe_read_object(c->arena, intent, &c->fact) &&
        c->fact.kind == FACT_INTENT &&
        (c->ask == GATEWAY_REFUND || stripe_answer_belongs(c, &c->fact)))
        return true;
    c->fact = (struct fact){ 0 };
    return false;
}

static struct stripe_verdict judge_decline(struct gateway_call *c, const cJSON *error)
{
    struct fact *f = &c->fact;

    if (!cJSON_IsObject(error))
        return uncertain;
    if (read_inner(c, error) && f->state == INTENT_OPEN)
        f->state = INTENT_DECLINED;
    if (!is_our_money(c))
        return stripe_answer_mismatch(c, "the answer is about money in another currency");
    f->failure_code = stripe_answer_copy(c, error, "code");
    f->decline_code = stripe_answer_copy(c, error, "decline_code");
    f->failure_message = stripe_answer_copy(c, error, "message");
    return (struct stripe_verdict){ .answer = GATEWAY_DECLINED };
}

static bool is_what_was_asked(const struct gateway_call *c)
{
    return (c->ask == GATEWAY_CAPTURE && c->fact.state == INTENT_SUCCEEDED) ||
           (c->ask == GATEWAY_VOID && c->fact.state == INTENT_CANCELED);
}

static struct stripe_verdict judge_refusal(struct gateway_call *c, const cJSON *error)
{
    bool inner;

    if (!cJSON_IsObject(error))
        return uncertain;
    if (str_eq(stripe_answer_field(error, "type"), S("idempotency_error"))) {
        gateway_say(c, S("idempotency_error"), stripe_answer_field(error, "message"));
        return uncertain; /* our key came with other parameters: a fault of ours, an alarm */
    }
    if (c->ask == GATEWAY_EXPIRE)
        return (struct stripe_verdict){ .answer = GATEWAY_REFUSED, .look = true };
    inner = read_inner(c, error);
    if (!is_our_money(c))
        return stripe_answer_mismatch(c, "the answer is about money in another currency");
    if (inner && is_what_was_asked(c)) {
        gateway_say(c, S(""), S(""));
        return (struct stripe_verdict){ .answer = GATEWAY_OK };
    }
    if (!inner && str_eq(stripe_answer_field(error, "code"), S("payment_intent_unexpected_state")))
        return uncertain; /* the state may well be what was asked for */
    return (struct stripe_verdict){ .answer = GATEWAY_REFUSED };
}

static struct stripe_verdict judge_missing(struct gateway_call *c, const cJSON *error)
{
    bool tells_absence =
        stripe_is_fetch(c->ask) || c->ask == GATEWAY_EXPIRE || c->ask == GATEWAY_VOID;

    if (tells_absence && str_eq(stripe_answer_field(error, "code"), S("resource_missing")))
        return (struct stripe_verdict){ .answer = GATEWAY_ABSENT };
    return judge_refusal(c, error);
}

/* Stripe repeats part of a wrong key in its message. */
static struct stripe_verdict judge_settings(struct gateway_call *c)
{
    gateway_say(c, str_of(c->error_code), S("the gateway does not take our key, or not for this"));
    return retry_later;
}

static struct stripe_verdict judge_error(struct gateway_call *c, int status, const cJSON *error)
{
    say_error(c, error, status);
    switch (status) {
    case 401:
    case 403: return judge_settings(c);
    case 402: return judge_decline(c, error);
    case 404: return judge_missing(c, error);
    case 429: return (struct stripe_verdict){ .answer = GATEWAY_RETRY_LATER, .again = true };
    case 408:
    case 409:
    case 424: break;
    default:
        if (status >= 400 && status < 500)
            return judge_refusal(c, error);
        if (status < 500)
            return uncertain; /* Stripe sends no redirects and the like */
    }
    return (struct stripe_verdict){ GATEWAY_UNCERTAIN, .again = true, .maybe = true };
}

/* --- the verdict --- */

bool stripe_moves_nothing(const struct call *http)
{
    return str_eq(http->method, S("GET"));
}

/* Stripe-Should-Retry decides, except that a decline is never tried again. */
static struct stripe_verdict stripe_answer_heed(const struct call *http, struct stripe_verdict v)
{
    struct str word = call_header(http, S("Stripe-Should-Retry"));

    if (str_eq_nocase(word, S("false")))
        v.again = false;
    if (str_eq_nocase(word, S("true")) && v.answer == GATEWAY_REFUSED)
        v = (struct stripe_verdict){ .answer = GATEWAY_RETRY_LATER, .again = true };
    return v;
}

static struct stripe_verdict judge_answer(struct gateway_call *c, const struct call *http)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    bool read = http->answer.n && json_parse(http->answer, &tree, NULL) == OK;
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(tree, "error");
    struct stripe_verdict v;

    if (http->status < 200 || http->status > 299) {
        v = stripe_answer_heed(http, judge_error(c, http->status, error));
        if (stripe_moves_nothing(http) && v.answer != GATEWAY_ABSENT) {
            v.answer = GATEWAY_RETRY_LATER;
            v.look = false;
            c->fact = (struct fact){ 0 };
        }
        return v;
    }
    if (!read || error)
        return stripe_answer_unreadable(c, "the answer is not what a success looks like");
    return stripe_is_listing(c) ? judge_page(c, tree) : judge_object(c, tree);
}

struct stripe_verdict stripe_judge(struct gateway_call *c, const struct call *http, bool timed_out)
{
    c->fact = (struct fact){ 0 };
    gateway_say(c, S(""), S(""));
    switch (http->result) {
    case CALL_ANSWERED: return judge_answer(c, http);
    case CALL_NOT_SENT:
        gateway_say(c, S("not_sent"), str_of(http->why));
        return (struct stripe_verdict){ .answer = GATEWAY_RETRY_LATER, .again = !timed_out };
    case CALL_UNCERTAIN:
        gateway_say(c, timed_out ? S("timeout") : S("connection_lost"), str_of(http->why));
        return (struct stripe_verdict){ GATEWAY_UNCERTAIN, .again = !timed_out, .maybe = true };
    }
    abort();
}
