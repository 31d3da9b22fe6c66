#include "gateway/guard.h"

#include "base/limits.h"
#include "domain/retry.h"
#include "gateway/layer.h"
#include "observe/log.h"
#include "observe/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct guard {
    struct gateway_layer layer;
    struct guard_options o;
    enum guard_state state;
    unsigned char number; /* among those that are counted */
    int underway, waiting;
    struct gateway_call *first, **last; /* in line */
    int failures;                       /* in a row, of different payments */
    struct uuid last_failed;
    int openings;          /* in a row: each pause is longer */
    int64_t open_until_ms; /* GUARD_OPEN: nobody passes before */
};

struct guarded {               /* the guard's frame of a call */
    int64_t came_ms, began_us; /* monotonic */
    bool probe;
};

static int64_t mono_ms(const struct guard *g)
{
    return clock_mono_ms(&g->o.env->clock);
}

/* --- the breaker --- */

static bool is_life(const struct gateway_call *c)
{
    if (c->answer == GATEWAY_UNCERTAIN)
        return c->status >= 200 && c->status < 500;
    return c->answer != GATEWAY_RETRY_LATER || (c->status > 0 && c->status < 500);
}

static void open_breaker(struct guard *g)
{
    int64_t pause_ms = retry_delay_ms(&retry_table[RETRY_BREAKER], ++g->openings);

    if (g->state == GUARD_CLOSED)
        LOG(g->o.env->log, LOG_ERROR, "GatewayBreakerOpened",
            LOG_TEXT("gateway", str_of(g->layer.gateway.name)), LOG_NUM("failures", g->failures),
            LOG_NUM("pauseMs", pause_ms));
    g->state = GUARD_OPEN;
    g->open_until_ms = env_now_ms(g->o.env) + pause_ms;
}

static void close_breaker(struct guard *g)
{
    if (g->state != GUARD_CLOSED)
        LOG(g->o.env->log, LOG_WARN, "GatewayBreakerClosed",
            LOG_TEXT("gateway", str_of(g->layer.gateway.name)));
    g->state = GUARD_CLOSED;
    g->openings = 0;
}

/* One payment that fails again and again (a gateway may keep a 500 for its key) says nothing about
 * the others. */
static void count_failure(struct guard *g, const struct gateway_call *c)
{
    if (g->failures && uuid_eq(c->payment, g->last_failed))
        return;
    g->last_failed = c->payment;
    g->failures++;
}

/* A late answer to a call from before the breaker opened is life too. */
static void guard_learn(struct guard *g, const struct gateway_call *c, bool probe)
{
    if (is_life(c)) {
        g->failures = 0;
        close_breaker(g);
        return;
    }
    count_failure(g, c);
    if (probe || (g->state == GUARD_CLOSED && g->failures >= LIMIT_BREAKER_FAILURES))
        open_breaker(g);
}

/* False: not now. */
static bool lets_pass(struct guard *g, struct guarded *own)
{
    if (g->state == GUARD_CLOSED)
        return true;
    if (g->state == GUARD_PROBING || env_now_ms(g->o.env) < g->open_until_ms)
        return false;
    g->state = GUARD_PROBING;
    own->probe = true;
    return true;
}

/* --- numbers (O2) --- */

enum { STATUS_TIMEOUT = GATEWAY_UNCERTAIN + 1, STATUS_TURNED_AWAY };

static void guard_count(const struct guard *g, const struct gateway_call *c, int status)
{
    metrics_count_at(g->o.env->metrics, COUNT_GATEWAY_REQUEST,
                     AT(g->number, (unsigned char)c->ask, (unsigned char)status), 1);
}

static void count_answer(const struct guard *g, const struct gateway_call *c, int64_t began_us)
{
    struct env *env = g->o.env;

    guard_count(g, c,
                c->answer == GATEWAY_UNCERTAIN && c->timed_out ? STATUS_TIMEOUT : (int)c->answer);
    metrics_time_at(env->metrics, TIME_GATEWAY, AT(g->number, (unsigned char)c->ask),
                    clock_mono_us(&env->clock) - began_us);
    if (strcmp(c->error_code, "idempotency_error") == 0)
        metrics_count_at(env->metrics, COUNT_VIOLATION, AT(VIOLATION_GATEWAY_KEY), 1);
}

static void turn_away(const struct guard *g, struct gateway_call *c, const char *code,
                      const char *message)
{
    guard_count(g, c, STATUS_TURNED_AWAY);
    layer_pop(c);
    gateway_turn_away(c, GATEWAY_RETRY_LATER, code, message);
}

/* --- calls --- */

static void guard_begin(struct guard *g, struct gateway_call *c);

static void turn_away_late(const struct guard *g, struct gateway_call *c)
{
    turn_away(g, c, "gateway_busy", "too many calls of this gateway are under way");
}

/* Its time in line was part of its budget (P6). */
static bool has_time(const struct guard *g, struct gateway_call *c)
{
    const struct guarded *own = layer_own(c);
    int64_t waited_ms = mono_ms(g) - own->came_ms;
    int64_t budget_ms = c->budget_ms > 0 ? c->budget_ms : LIMIT_GATEWAY_BUDGET_MS;

    c->budget_ms = budget_ms - waited_ms;
    return waited_ms <= LIMIT_GATEWAY_WAIT_MS && c->budget_ms >= LIMIT_GATEWAY_LEAST_MS;
}

static void begin_next(struct guard *g)
{
    while (g->first && g->underway < g->o.calls) {
        struct gateway_call *c = g->first;

        g->first = c->next;
        if (!g->first)
            g->last = &g->first;
        g->waiting--;
        if (has_time(g, c))
            guard_begin(g, c);
        else
            turn_away_late(g, c);
    }
}

static void guard_ended(struct gateway_call *c)
{
    struct guard *g = layer_of(c);
    const struct guarded *own = layer_own(c);

    g->underway--;
    count_answer(g, c, own->began_us);
    guard_learn(g, c, own->probe);
    layer_pop(c);
    begin_next(g);
    c->done(c);
}

static void guard_begin(struct guard *g, struct gateway_call *c)
{
    struct guarded *own = layer_own(c);

    if (!lets_pass(g, own)) {
        turn_away(g, c, "gateway_unavailable", "the gateway did not answer; it is given a pause");
        return;
    }
    if (!c->try_ms)
        c->try_ms = g->o.try_ms;
    own->began_us = clock_mono_us(&g->o.env->clock);
    g->underway++;
    gateway_call(g->layer.inner, c);
}

static void on_call(struct gateway *gateway, struct gateway_call *c)
{
    struct guard *g = CONTAINER_OF(gateway, struct guard, layer.gateway);
    struct guarded *own = layer_push(c, g, sizeof(*own), guard_ended);

    if (g->underway < g->o.calls) {
        guard_begin(g, c);
        return;
    }
    if (g->waiting >= LIMIT_GATEWAY_WAITING) {
        turn_away_late(g, c);
        return;
    }
    own->came_ms = mono_ms(g);
    c->next = NULL;
    *g->last = c;
    g->last = &c->next;
    g->waiting++;
}

struct gateway *guard_new(const struct guard_options *o, struct gateway *inner)
{
    static const struct gateway_ops ops = { .call = on_call, .free = layer_free };
    struct guard *g = layer_new(sizeof(*g), &ops, inner);

    if (!g)
        return NULL;
    g->o = *o;
    g->last = &g->first;
    g->number = metrics_gateway(o->env->metrics, str_of(inner->name));
    return &g->layer.gateway;
}

struct guard_view guard_look(const struct gateway *gateway)
{
    const struct guard *g = CONTAINER_OF(gateway, struct guard, layer.gateway);

    return (struct guard_view){ g->state, g->underway, g->waiting };
}
