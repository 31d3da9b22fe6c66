/* provider.c - the provider and the job that calls it.
 *
 *   (1) An event is called at most once in an attempt, and not beyond its budget.
 *   (2) A job settles only after an answer to a call of its node.
 *   (3) Every job state is released exactly once, also after a crash.
 *
 * A node's crash releases its jobs, but their calls stay under way and may be executed. */
#include "sim/provider.h"

#include "base/limits.h"
#include "sim/check.h"
#include "sim/events.h"
#include "sim/node.h"

#include <assert.h>
#include <stdlib.h>

enum { QUICK_MS = 2000, SLOW_MS = 40 * 1000, PUT_OFF_MS = 5000, MOST_ATTEMPTS = 64 };

/* What a job's state points to, from its adoption or its outside part until its release. */
struct call_token {
    const struct sim_node *node; /* NULL: not called yet */
    bool answered;
    struct call_token *next;
};

struct provider_call {
    struct sim_node *node;
    struct job *job; /* NULL: its node has crashed, and no job waits for the answer */
    struct event *event;
    int64_t attempt;
    int64_t began_ms, due_ms; /* monotonic */
};

struct provider {
    struct sim *sim;
    struct bag calls;
    struct call_token *tokens;
};

struct provider *provider_new(struct sim *s)
{
    struct provider *b = calloc(1, sizeof(*b));

    if (!b)
        abort();
    b->sim = s;
    return b;
}

void provider_free(struct provider *b)
{
    if (!b)
        return;
    while (b->calls.n)
        free(bag_take(&b->calls, 0));
    free(b->calls.p);
    free(b);
}

void *provider_state(struct provider *b)
{
    struct call_token *t = calloc(1, sizeof(*t));

    if (!t)
        abort();
    t->next = b->tokens;
    b->tokens = t;
    return t;
}

static int64_t mono_ms(const struct provider *b)
{
    return b->sim->mono_us / 1000;
}

/* --- the provider --- */

static enum err lose_request_or_answer(struct provider *b, struct event *e)
{
    if (sim_chance(b->sim, b->sim->plan.request_lost))
        return ERR_GATEWAY;
    e->charged = true;
    if (!sim_chance(b->sim, b->sim->plan.answer_lost))
        return OK;
    sim_mark(b->sim, MARK_ANSWER_LOST);
    return ERR_GATEWAY_TIMEOUT;
}

static enum err answer_order(struct provider *b, struct event *e, int64_t attempt)
{
    switch (e->nature) {
    case FAILS: return ERR_VALIDATION;
    case FAILS_FIRST: return attempt <= e->fails ? ERR_GATEWAY : lose_request_or_answer(b, e);
    case FAILS_ALWAYS: e->charged = true; return ERR_GATEWAY_TIMEOUT;
    case KILLS:
    case KILLS_ONCE:
    case PLAIN:
    case UNKNOWN_TYPE:
    case UNREADABLE:
    case NATURES: break;
    }
    return lose_request_or_answer(b, e);
}

static void end_call(struct provider *b, const struct provider_call *c)
{
    enum err e = answer_order(b, c->event, c->attempt);
    struct call_token *t;

    SIM_TRACE(b->sim, "the provider answers %s, attempt %lld: %s%s", c->event->id,
              (long long)c->attempt, err_code(e), c->job ? "" : ", and nobody hears it");
    if (!c->job)
        return;
    if (mono_ms(b) - c->began_ms > LIMIT_LEASE_MS)
        sim_mark(b->sim, MARK_CALL_LONG);
    if (c->node->stopping)
        sim_mark(b->sim, MARK_STOP_OUTSIDE);
    t = c->job->state;
    t->answered = !e;
    job_outside_done(c->job, e, e ? "the provider" : NULL);
}

static bool is_due(const struct provider *b, size_t i)
{
    return ((const struct provider_call *)b->calls.p[i])->due_ms <= mono_ms(b);
}

bool provider_can_answer(const struct provider *b)
{
    for (size_t i = 0; i < b->calls.n; i++)
        if (is_due(b, i))
            return true;
    return false;
}

void provider_answer(struct provider *b)
{
    size_t i = sim_below(b->sim, b->calls.n);
    struct provider_call *c;

    while (!is_due(b, i))
        i = (i + 1) % b->calls.n;
    c = bag_take(&b->calls, i);
    if (c->job || sim_below(b->sim, 2)) /* or it never got there */
        end_call(b, c);
    free(c);
}

bool provider_has_calls_of(const struct provider *b, const struct sim_node *n)
{
    for (size_t i = 0; i < b->calls.n; i++) {
        const struct provider_call *c = b->calls.p[i];

        if (c->job && c->node == n)
            return true;
    }
    return false;
}

bool provider_has_unsettled(const struct provider *b, const struct sim_node *n)
{
    for (const struct call_token *t = b->tokens; t; t = t->next)
        if (t->answered && t->node == n)
            return true;
    return false;
}

bool provider_is_awaited(const struct provider *b)
{
    return b->tokens;
}

void provider_check_end(struct provider *b)
{
    if (b->tokens)
        sim_fail(b->sim, "a job has ended and was not released");
}

/* --- the job --- */

static struct event *order_event_of(struct sim_node *n, const struct message *m)
{
    struct event *e = sim_client_event_of(n->sim->client, m->ref);

    if (!e || !e->is_order)
        sim_fail(n->sim, "a call for an order that nobody gave");
    return e;
}

static int64_t draw_ms(struct sim *s)
{
    bool slow = !s->quiet && sim_below(s, 4) == 0;

    return (int64_t)sim_below(s, slow ? SLOW_MS : QUICK_MS);
}

static void check_call(struct sim_node *n, struct event *e, int64_t attempt)
{
    uint64_t bit = UINT64_C(1) << (attempt % MOST_ATTEMPTS);

    SIM_TRACE(n->sim, "node %d calls the provider for %s, attempt %lld", n->index, e->id,
              (long long)attempt);
    if (e->called & bit)
        sim_fail(n->sim, "%s is called twice in attempt %lld", e->id, (long long)attempt);
    e->called |= bit;
    if (attempt > SIM_RETRIES + 1)
        sim_fail(n->sim, "%s is called beyond its budget", e->id);
    if (e->charged)
        sim_mark(n->sim, MARK_CALL_REPEATED);
}

static void call_outside(struct job *j, void *ctx)
{
    struct sim_node *n = ctx;
    struct provider *b = n->sim->provider;
    struct event *e = order_event_of(n, j->message);
    struct provider_call *c = calloc(1, sizeof(*c));
    struct call_token *t = j->state ? j->state : provider_state(b);

    if (!c)
        abort();
    j->state = t;
    t->node = n;
    check_call(n, e, j->message->attempt);
    *c = (struct provider_call){ n,          j,
                                 e,          j->message->attempt,
                                 mono_ms(b), mono_ms(b) + draw_ms(n->sim) };
    if (sim_below(n->sim, 6)) {
        bag_add(&b->calls, c);
        return;
    }
    end_call(b, c); /* before outside() returns */
    free(c);
}

static enum err count_row(void *ctx, const struct row *row)
{
    (void)row;
    (*(int *)ctx)++;
    return OK;
}

static enum err write_outcome(struct tx *tx, const struct message *m, struct str outcome)
{
    struct val v[] = { V_BLOB(uuid_bytes(&m->id)),    V_TEXT(outcome), V_NULL,
                       V_INT(env_now_ms(tx_env(tx))), V_NULL,          V_NULL };
    int rows = 0;
    enum err e = tx_bulk(tx, STMT_webhook_outcome_add, v, 1, COUNT(v), count_row, &rows);

    return e || rows ? e : ERR_CONFLICT; /* another attempt was first; the fence fails as well */
}

static enum err call_settle(struct tx *tx, struct job *j, void *ctx, struct why *why)
{
    struct sim_node *n = ctx;
    const struct message *m = j->message;
    const struct call_token *t = j->state;
    struct event *e = order_event_of(n, m);

    (void)why;
    SIM_TRACE(n->sim, "node %d settles %s, attempt %lld", n->index, e->id, (long long)m->attempt);
    if (!t || !t->answered || !e->charged)
        sim_fail(n->sim, "%s is settled without an answer", e->id);
    if (e->nature == KILLS || (e->nature == KILLS_ONCE && m->attempt == 1))
        return sim_kill_node_in_job(n);
    if (e->puts_off && m->attempt == 1) {
        j->again_ms = env_now_ms(&n->env) + PUT_OFF_MS;
        return OK;
    }
    check_ran(n->sim->check, m);
    return write_outcome(tx, m, S("applied"));
}

static enum err call_buried(struct tx *tx, const struct message *m, void *ctx, const char *why)
{
    (void)ctx, (void)why;
    return write_outcome(tx, m, S("dead"));
}

static void call_ended(struct env *env, void *ctx, const struct message *m, enum job_end end,
                       const char *why)
{
    struct sim_node *n = ctx;

    (void)env, (void)why;
    if (end == JOB_PUT_OFF)
        sim_mark(n->sim, MARK_PUT_OFF);
    if (end == JOB_DEAD)
        sim_mark(n->sim, MARK_DEAD_CALL);
    if (end == JOB_DONE && m->attempt > 1)
        sim_mark(n->sim, MARK_CALL_RESUMED);
}

static void call_release(struct job *j, void *ctx)
{
    struct sim_node *n = ctx;
    struct provider *b = n->sim->provider;
    struct call_token **at = &b->tokens;

    for (size_t i = 0; i < b->calls.n; i++) {
        struct provider_call *c = b->calls.p[i];

        if (c->job == j)
            c->job = NULL; /* the node crashed; its call is still under way */
    }
    if (!j->state)
        return;
    while (*at && *at != j->state)
        at = &(*at)->next;
    if (!*at) {
        sim_fail(n->sim, "a job was released twice");
        return;
    }
    *at = (*at)->next;
    free(j->state);
}

struct job_kind provider_job_kind(struct sim_node *n)
{
    return (struct job_kind){
        .name = "call",
        .ctx = n,
        .outside = call_outside,
        .settle = call_settle,
        .release = call_release,
        .buried = call_buried,
        .ended = call_ended,
        .retry = { .retries = SIM_RETRIES, .first_ms = SIM_RETRY_FIRST_MS, .factor = 2 },
    };
}
