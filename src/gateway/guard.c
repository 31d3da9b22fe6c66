/* guard.c - the states of the breaker are drawn in guard.h. They are kept in memory only: after a
 * restart the breaker is closed, and the first failures open it again. */
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
    unsigned char number; /* of the gateway, in the metrics */
    int underway, waiting;
    struct gateway_call *first, **last; /* calls that wait */
    int failures;                       /* consecutive, of different payments */
    struct uuid last_failed;
    int openings;          /* consecutive: each pause is longer */
    int64_t open_until_ms; /* GUARD_OPEN: no call passes before */
};

struct guard_frame {           /* the guard's frame of a call */
    int64_t came_ms, began_us; /* monotonic */
    bool probe;
};

static int64_t guard_mono_ms(const struct guard *g)
{
    return clock_mono_ms(&g->o.env->clock);
}

/* --- the breaker --- */

static bool call_shows_life(const struct gateway_call *c)
{
    if (c->answer == GATEWAY_UNCERTAIN)
        return c->status >= 200 && c->status < 500;
    return c->answer != GATEWAY_RETRY_LATER || (c->status > 0 && c->status < 500);
}

static void guard_open(struct guard *g)
{
    int64_t pause_ms = retry_delay_ms(&retry_table[RETRY_BREAKER], ++g->openings);

    if (g->state == GUARD_CLOSED)
        LOG(g->o.env->log, LOG_ERROR, "GatewayBreakerOpened",
            LOG_TEXT("gateway", str_of(g->layer.gateway.name)), LOG_NUM("failures", g->failures),
            LOG_NUM("pauseMs", pause_ms));
    g->state = GUARD_OPEN;
    g->open_until_ms = env_now_ms(g->o.env) + pause_ms;
}

static void guard_close(struct guard *g)
{
    if (g->state != GUARD_CLOSED)
        LOG(g->o.env->log, LOG_WARN, "GatewayBreakerClosed",
            LOG_TEXT("gateway", str_of(g->layer.gateway.name)));
    g->state = GUARD_CLOSED;
    g->openings = 0;
}

/* A gateway may repeat a stored 500 for the key of one payment, so one payment that fails again and
 * again says nothing about the others. */
static void guard_count_failure(struct guard *g, const struct gateway_call *c)
{
    if (g->failures && uuid_eq(c->payment, g->last_failed))
        return;
    g->last_failed = c->payment;
    g->failures++;
}

/* A late answer to a call that began before the breaker opened closes it too. */
static void guard_learn(struct guard *g, const struct gateway_call *c, bool probe)
{
    if (call_shows_life(c)) {
        g->failures = 0;
        guard_close(g);
        return;
    }
    guard_count_failure(g, c);
    if (probe || (g->state == GUARD_CLOSED && g->failures >= LIMIT_BREAKER_FAILURES))
        guard_open(g);
}

/* False: the breaker is open. */
static bool guard_admit(struct guard *g, struct guard_frame *own)
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

static void guard_count_answer(const struct guard *g, const struct gateway_call *c,
                               int64_t began_us)
{
    struct env *env = g->o.env;

    guard_count(g, c,
                c->answer == GATEWAY_UNCERTAIN && c->timed_out ? STATUS_TIMEOUT : (int)c->answer);
    metrics_time_at(env->metrics, TIME_GATEWAY, AT(g->number, (unsigned char)c->ask),
                    clock_mono_us(&env->clock) - began_us);
    if (strcmp(c->error_code, "idempotency_error") == 0)
        metrics_count_at(env->metrics, COUNT_VIOLATION, AT(VIOLATION_GATEWAY_KEY), 1);
}

static void guard_reject(const struct guard *g, struct gateway_call *c, const char *code,
                         const char *message)
{
    guard_count(g, c, STATUS_TURNED_AWAY);
    layer_pop(c);
    gateway_turn_away(c, GATEWAY_RETRY_LATER, code, message);
}

/* --- calls --- */

static void guard_begin(struct guard *g, struct gateway_call *c);

static void guard_reject_busy(const struct guard *g, struct gateway_call *c)
{
    guard_reject(g, c, "gateway_busy", "too many calls of this gateway are under way");
}

/* The time that the call waited is part of its budget (P6). */
static bool guard_has_time(const struct guard *g, struct gateway_call *c)
{
    const struct guard_frame *own = layer_own(c);
    int64_t waited_ms = guard_mono_ms(g) - own->came_ms;
    int64_t budget_ms = c->budget_ms > 0 ? c->budget_ms : LIMIT_GATEWAY_BUDGET_MS;

    c->budget_ms = budget_ms - waited_ms;
    return waited_ms <= LIMIT_GATEWAY_WAIT_MS && c->budget_ms >= LIMIT_GATEWAY_LEAST_MS;
}

static void guard_begin_waiting(struct guard *g)
{
    while (g->first && g->underway < g->o.calls) {
        struct gateway_call *c = g->first;

        g->first = c->next;
        if (!g->first)
            g->last = &g->first;
        g->waiting--;
        if (guard_has_time(g, c))
            guard_begin(g, c);
        else
            guard_reject_busy(g, c);
    }
}

static void guard_ended(struct gateway_call *c)
{
    struct guard *g = layer_of(c);
    const struct guard_frame *own = layer_own(c);

    g->underway--;
    guard_count_answer(g, c, own->began_us);
    guard_learn(g, c, own->probe);
    layer_pop(c);
    guard_begin_waiting(g);
    c->done(c);
}

static void guard_begin(struct guard *g, struct gateway_call *c)
{
    struct guard_frame *own = layer_own(c);

    if (!guard_admit(g, own)) {
        guard_reject(g, c, "gateway_unavailable",
                     "the gateway did not answer; it is given a pause");
        return;
    }
    if (!c->try_ms)
        c->try_ms = g->o.try_ms;
    own->began_us = clock_mono_us(&g->o.env->clock);
    g->underway++;
    gateway_call(g->layer.inner, c);
}

static void guard_call(struct gateway *gateway, struct gateway_call *c)
{
    struct guard *g = CONTAINER_OF(gateway, struct guard, layer.gateway);
    struct guard_frame *own = layer_push(c, g, sizeof(*own), guard_ended);

    if (g->underway < g->o.calls) {
        guard_begin(g, c);
        return;
    }
    if (g->waiting >= LIMIT_GATEWAY_WAITING) {
        guard_reject_busy(g, c);
        return;
    }
    own->came_ms = guard_mono_ms(g);
    c->next = NULL;
    *g->last = c;
    g->last = &c->next;
    g->waiting++;
}

struct gateway *guard_new(const struct guard_options *o, struct gateway *inner)
{
    static const struct gateway_ops ops = { .call = guard_call, .free = layer_free };
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
