/* gateways.c - the outermost layer of a call: it selects the gateway, ends the span, and records a
 * call that led to no request. */
#include "gateway/gateways.h"

#include "gateway/layer.h"
#include "gateway/tries.h"

#include <string.h>

/* --- selection --- */

bool gateway_takes(const struct gateway *g, struct str method)
{
    struct str list = str_of(g->methods);

    while (list.n)
        if (str_eq(str_cut(&list, ','), method))
            return true;
    return false;
}

static bool gateways_fits(const struct gateway_route *r, struct str method, const char *currency)
{
    return (!r->method.n || str_eq(r->method, method)) &&
           (!r->currency[0] || strcmp(r->currency, currency) == 0);
}

struct gateway *gateways_for(const struct gateways *g, struct str method, const char *currency)
{
    struct str named = str_of(g->all[0]->methods);

    if (!method.n)
        method = str_cut(&named, ',');
    for (size_t i = 0; i < g->route_count; i++)
        if (gateways_fits(&g->routes[i], method, currency))
            return gateway_takes(g->routes[i].to, method) ? g->routes[i].to : NULL;
    return gateway_takes(g->all[0], method) ? g->all[0] : NULL;
}

struct gateway *gateways_named(const struct gateways *g, struct str name)
{
    for (size_t i = 0; i < g->count; i++)
        if (str_eq(str_of(g->all[i]->name), name))
            return g->all[i];
    return NULL;
}

struct gateway *gateways_of(const struct gateways *g, struct str provider)
{
    for (size_t i = 0; i < g->count; i++)
        if (str_eq(str_of(g->all[i]->provider), provider))
            return g->all[i];
    return NULL;
}

/* --- calls --- */

const char *gateway_ask_name(enum gateway_ask ask)
{
    static const char *const names[GATEWAY_ASKS] = {
        [GATEWAY_AUTHORIZE] = "authorize", [GATEWAY_CAPTURE] = "capture",
        [GATEWAY_VOID] = "void",           [GATEWAY_REFUND] = "refund",
        [GATEWAY_FETCH] = "fetch",         [GATEWAY_FETCH_REFUND] = "fetch_refund",
        [GATEWAY_CHECKOUT] = "checkout",   [GATEWAY_EXPIRE] = "expire",
    };

    return names[ask];
}

struct gateways_frame { /* of a call; its layer is the gateway that was called, or NULL */
    struct span span;
    int64_t at_ms, began_us; /* with `seen` alone */
};

/* A decline is an answer, so its span does not fail. */
static void gateways_span_end(const struct gateway_call *c, const struct gateway *to,
                              struct span *span)
{
    static const char *const answers[] = {
        [GATEWAY_OK] = "ok",
        [GATEWAY_DECLINED] = "declined",
        [GATEWAY_REFUSED] = "refused",
        [GATEWAY_ABSENT] = "absent",
        [GATEWAY_RETRY_LATER] = "retry later",
        [GATEWAY_UNCERTAIN] = "uncertain",
    };
    const char *answer = answers[c->answer];
    bool failed = c->answer == GATEWAY_RETRY_LATER || c->answer == GATEWAY_UNCERTAIN;

    SPAN_END(span, failed ? c->timed_out ? "timeout" : answer : NULL,
             SPAN_TEXT("payment.gateway", str_of(to ? to->name : "")),
             SPAN_TEXT("gateway.operation", str_of(gateway_ask_name(c->ask))),
             SPAN_TEXT("gateway.answer", str_of(answer)), SPAN_NUM("gateway.tries", c->tries),
             SPAN_NUM("http.response.status_code", c->status),
             SPAN_TEXT("error.type", str_of(c->error_code)));
}

static void gateways_call_ended(struct gateway_call *c)
{
    struct gateways_frame *own = layer_own(c);

    if (c->seen &&
        !c->tries) { /* no request was sent, but the list of attempts has an entry for each call */
        note_try(c, own->at_ms, own->began_us);
        note_answer(c, c->answer, c->sent, false, 0);
    }
    gateways_span_end(c, layer_of(c), &own->span);
    layer_pop(c);
    c->done(c);
}

static void gateways_span_begin(struct gateway_call *c, struct span *span)
{
    *span = span_begin(c->env, str_of(c->trace), SPAN_CLIENT,
                       c->span_name ? c->span_name : "Gateway.call");
    if (span->spans)
        trace_text(&span->trace, c->trace);
}

void gateways_call(struct gateway *to, struct gateway_call *c)
{
    struct gateways_frame *own = layer_push(c, to, sizeof(*own), gateways_call_ended);

    if (c->env)
        gateways_span_begin(c, &own->span);
    if (c->seen) {
        own->at_ms = env_now_ms(c->seen->env);
        own->began_us = clock_mono_us(&c->seen->env->clock);
    }
    if (to)
        gateway_call(to, c);
    else
        gateway_turn_away(c, GATEWAY_RETRY_LATER, "gateway_not_set_up",
                          "the payment's gateway is not set up here; ICHIDO_GATEWAY and "
                          "ICHIDO_ROUTES say which are");
}

/* --- rules --- */

static bool is_currency(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 'A' || s.p[i] > 'Z')
            return false;
    return s.n == 3;
}

static bool gateways_add_route(struct gateways *g, struct str rule, struct why *why)
{
    struct gateway_route *r = &g->routes[g->route_count];
    struct str name = rule, what = str_cut(&name, '='), currency = what,
               method = str_cut(&currency, ':');
    bool has_currency = method.n < what.n;

    if (g->route_count == GATEWAY_ROUTES_MAX)
        return why_false(why, "has more than %d rules", GATEWAY_ROUTES_MAX);
    *r = (struct gateway_route){ .method = str_eq(method, S("*")) ? S("") : method,
                                 .to = gateways_named(g, name) };
    if (!method.n || (has_currency && !is_currency(currency)) || !r->to)
        return why_false(
            why,
            "\"%.*s\" must be like paypay=paypay or card:USD=stripe, with a gateway that is "
            "set up",
            (int)(rule.n < 60 ? rule.n : 60), rule.p);
    if (has_currency)
        memcpy(r->currency, currency.p, 3);
    g->route_count++;
    return true;
}

bool gateways_route(struct gateways *g, struct str rules, struct why *why)
{
    while (rules.n)
        if (!gateways_add_route(g, str_trim(str_cut(&rules, ',')), why))
            return false;
    return true;
}

void gateways_free(struct gateways *g)
{
    for (size_t i = 0; i < g->count; i++)
        g->all[i]->ops->free(g->all[i]);
    g->count = 0;
}
