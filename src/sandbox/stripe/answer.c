/* answer.c - the answers of the simulated Stripe: an object, a list, or an error. */
#include "base/limits.h"
#include "sandbox/stripe/call.h"

#include <stdarg.h>
#include <stdio.h>

void stripe_answer(struct stripe_call *v, struct str object)
{
    v->status = 200;
    v->body = object;
    v->keep = true;
}

static void put_optional(struct buf *b, struct str key, struct str value)
{
    if (value.n)
        sb_put_text(b, key, value);
}

bool stripe_reject(struct stripe_call *v, const struct rejection *r)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    sb_put_text(&b, S("{\"error\":{\"type\":"), str_of(r->type));
    put_optional(&b, S(",\"code\":"), r->code);
    put_optional(&b, S(",\"decline_code\":"), r->decline_code);
    put_optional(&b, S(",\"charge\":"), r->charge);
    sb_put_text(&b, S(",\"message\":"), r->message);
    put_optional(&b, S(",\"param\":"), r->param);
    if (r->intent.n)
        sb_put_raw(&b, S(",\"payment_intent\":"), r->intent);
    if (r->method.n)
        sb_put_raw(&b, S(",\"payment_method\":"), r->method);
    buf_add(&b, S("}}"));
    v->status = r->status;
    v->body = work_text_of(&v->w, &b);
    v->keep = r->began;
    return false;
}

bool stripe_reject_invalid(struct stripe_call *v, const char *code, const char *param,
                           const char *format, ...)
{
    char message[512];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    return stripe_reject(v, &(struct rejection){ .status = 400,
                                                 .type = "invalid_request_error",
                                                 .code = str_of(code),
                                                 .message = str_of(message),
                                                 .param = str_of(param) });
}

bool stripe_reject_missing(struct stripe_call *v, int status, const char *what, struct str id,
                           const char *param)
{
    struct str shown = { id.p, id.n < 200 ? id.n : 200 };

    return stripe_reject(
        v, &(struct rejection){
               .status = status,
               .type = "invalid_request_error",
               .code = S("resource_missing"),
               .message = work_text(&v->w, "No such %s: '" STR_FMT "'", what, STR_ARG(shown)),
               .param = str_of(param) });
}

bool stripe_reject_unexpected(struct stripe_call *v, const struct intent *p, struct str message)
{
    return stripe_reject(v, &(struct rejection){ .status = 400,
                                                 .type = "invalid_request_error",
                                                 .code = S("payment_intent_unexpected_state"),
                                                 .message = message,
                                                 .intent = sb_intent_json(&v->w, p, 0),
                                                 .began = true });
}

void stripe_reject_declined(struct stripe_call *v, const struct intent *p,
                            const struct pay_attempt *a)
{
    stripe_reject(v, &(struct rejection){ .status = 402,
                                          .type = "card_error",
                                          .code = a->code,
                                          .decline_code = a->decline_code,
                                          .message = a->message,
                                          .charge = a->charge,
                                          .intent = sb_intent_json(&v->w, p, 0),
                                          .method = a->method,
                                          .began = true });
}

/* The message of an error that the sandbox itself reports, by status. A status without a row is
 * answered as a plain server error. */
bool stripe_answer_failure(struct stripe_call *v, int status)
{
    struct rejection r = { .status = status, .type = "api_error", .began = v->keep };

    r.message = S("An unknown error occurred in the sandbox.");
    if (status == 429) {
        r.type = "invalid_request_error";
        r.code = S("rate_limit");
        r.message = S("Request rate limit exceeded.");
    } else if (status == 409) {
        r.type = "idempotency_error";
        r.code = S("idempotency_key_in_use");
        r.message = S("There is currently another in-progress request using this Idempotent Key; "
                      "please try again later.");
        v->retry = true;
    } else if (status == 503) {
        r.message = S("The sandbox's database did not take it; nothing was done.");
        v->retry = true;
    }
    return stripe_reject(v, &r);
}

struct str *stripe_list_objects(struct stripe_call *v, size_t count)
{
    struct str *objects = arena_alloc(v->w.a, count + 1, sizeof(*objects));

    work_ok(&v->w, objects ? OK : ERR_NO_MEMORY);
    return objects;
}

void stripe_answer_list(struct stripe_call *v, const char *url, const struct list_page *p,
                        const struct str *objects)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    buf_add(&b, S("{\"object\":\"list\",\"data\":["));
    for (size_t i = 0; i < p->count; i++) {
        if (i)
            buf_char(&b, ',');
        buf_add(&b, objects[i]);
    }
    sb_put_bool(&b, S("],\"has_more\":"), p->more);
    sb_put_text(&b, S(",\"url\":"), str_of(url));
    buf_char(&b, '}');
    stripe_answer(v, work_text_of(&v->w, &b));
}
