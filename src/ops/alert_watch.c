/* alert_watch.c - evaluates the node's own rules each LIMIT_WINDOW_MS and stores what changed.
 *
 *   tick --> snapshot --> a step of each rule --> a change? --one unit--> rows, sends, messages
 *
 * One unit is under way at a time. What could not be stored is evaluated again by the next tick;
 * what was only in memory at a crash is evaluated anew from the next snapshots. */
#include "ops/alert_watch.h"

#include "base/limits.h"
#include "observe/log.h"
#include "payment/unknown.h"

#include <string.h>

enum { WATCH_ARENA = 1024 * 1024 };

bool alert_watch_open(struct alert_watch *w, const struct alert_desk *d)
{
    *w = (struct alert_watch){ .desk = d, .timer = { .due_ms = CLOCK_NEVER } };
    w->window = window_new(d->env->metrics);
    arena_init(&w->arena, WATCH_ARENA);
    return w->window != NULL;
}

void alert_watch_close(struct alert_watch *w)
{
    if (!w->desk)
        return;
    w->window = window_free(w->window);
    arena_release(&w->arena);
}

/* --- storing the changes --- */

static enum err alert_watch_store_plans(struct tx *tx, struct alert_watch *w)
{
    enum err e = OK;

    for (size_t i = 0; i < w->plan_count && !e; i++) {
        struct alert_plan *p = &w->plans[i];

        p->row = w->own[p->row.alert]; /* set anew, since the unit may be run again */
        e = alert_put(tx, &w->arena, &p->row, &p->new, p->news, w->now_ms, &w->tellings);
    }
    return e;
}

static enum err alert_watch_store(struct tx *tx, struct unit *u)
{
    struct alert_watch *w = CONTAINER_OF(u, struct alert_watch, unit);
    enum err e = OK;

    if (w->adopts) {
        memcpy(w->adopted, w->own, sizeof(w->own));
        return alert_adopt(tx, w->now_ms, w->adopted);
    }
    alert_tellings_begin(&w->tellings, w->desk);
    w->tellings.said = w->said;
    if (w->look) {
        e = alert_look(tx, w->desk, &w->arena, w->now_ms, &w->tellings_of_all);
        if (!e) /* the next check ends what this one began, such as a pending alert */
            e = unknown_hasten(tx, w->desk->payments, w->now_ms);
    }
    return e ? e : alert_watch_store_plans(tx, w);
}

/* A pending alert keeps its time, and a firing one is reported by what needs no store, since the
 * store's failure may be the reason of the alert. */
static void alert_watch_plan_failed(struct alert_watch *w, const struct alert_plan *p)
{
    struct alert_row *own = &w->own[p->row.alert], fires = *own;

    if (p->new.status == ALERT_PENDING && !own->version)
        own->state = p->new;
    if (p->news != NEWS_FIRES || w->said[own->alert])
        return;
    fires.state = p->new;
    alert_say(w->desk, &fires, NEWS_FIRES, w->now_ms);
    w->said[own->alert] = true;
}

static void alert_watch_failed(struct alert_watch *w, enum err e)
{
    LOG(w->desk->env->log, LOG_WARN, "alerts could not be stored",
        LOG_TEXT("code", str_of(err_code(e))));
    for (size_t i = 0; i < w->plan_count; i++)
        alert_watch_plan_failed(w, &w->plans[i]);
}

static void alert_watch_written(struct unit *u)
{
    struct alert_watch *w = CONTAINER_OF(u, struct alert_watch, unit);

    w->busy = false;
    if (!w->adopts)
        fault_point(&w->desk->env->faults, "alert.stored");
    if (u->err) {
        alert_watch_failed(w, u->err);
        return;
    }
    if (w->adopts)
        memcpy(w->own, w->adopted, sizeof(w->own));
    w->adopts = false;
    if (w->look)
        w->dead = w->dead_then;
    for (size_t i = 0; i < w->plan_count; i++)
        w->own[w->plans[i].row.alert] = w->plans[i].row;
}

static void alert_watch_post(struct alert_watch *w)
{
    static const struct unit_kind kind = { "alert.write", UNIT_BACK, alert_watch_store, NULL };

    w->busy = true;
    arena_release(&w->arena);
    w->unit = (struct unit){
        .kind = &kind, .executor = w->executor, .done = alert_watch_written, .arena = &w->arena
    };
    store_post(w->desk->payments->runtime.store, &w->unit);
}

/* --- each tick --- */

/* True if there is something to store. An unchanged row is stored again now and then, so that other
 * nodes see that this node lives. */
static bool alert_watch_plan(struct alert_watch *w, enum alert a, struct alert_plan *p)
{
    struct alert_row *own = &w->own[a];
    int64_t threshold = alert_threshold(a, w->desk->unknown_ms);

    *p = (struct alert_plan){ .row = *own, .new = own->state };
    p->news =
        alert_step(alert_rule(a), threshold, alert_value_here(a, w->window), w->now_ms, &p->new);
    own->state.value = p->new.value;
    if (w->said[a] && p->new.status == ALERT_OK) /* reported by alert_say() only */
        alert_say(w->desk, own, NEWS_RESOLVED, w->now_ms);
    w->said[a] &= p->news == NEWS_FIRES;
    if (p->new.status == ALERT_OK && !own->version) { /* it has no row */
        own->state = p->new;
        return false;
    }
    return p->news != NEWS_NONE ||
           (own->version && w->now_ms - own->seen_ms >= LIMIT_ALERT_SEEN_MS);
}

static void alert_watch_adopt(struct alert_watch *w)
{
    w->look = false;
    w->plan_count = 0;
    alert_watch_post(w);
}

static void alert_watch_tick(struct alert_watch *w)
{
    struct env *env = w->desk->env;

    w->now_ms = env_now_ms(env);
    window_take(w->window, w->now_ms);
    if (w->adopts) {
        alert_watch_adopt(w);
        return;
    }
    w->dead_then = metrics_read(env->metrics, COUNT_DEAD, S(""));
    w->look = w->dead_then != w->dead;
    w->plan_count = 0;
    for (int a = 0; a < ALERTS; a++)
        if (!alert_rule((enum alert)a)->of_all &&
            alert_watch_plan(w, (enum alert)a, &w->plans[w->plan_count]))
            w->plan_count++;
    if (w->plan_count || w->look)
        alert_watch_post(w);
}

static void alert_watch_fire(struct timer *t)
{
    struct alert_watch *w = CONTAINER_OF(t, struct alert_watch, timer);

    if (w->busy) /* a slow database: snapshots go on, rules wait */
        window_take(w->window, env_now_ms(w->desk->env));
    else
        alert_watch_tick(w);
    /* Counted from now, not on a fixed grid: two snapshots are never closer than this, so a minute
     * is always six of them. */
    executor_arm(w->executor, t, env_now_ms(w->desk->env) + LIMIT_WINDOW_MS);
}

void alert_watch_start(struct alert_watch *w, struct executor *executor)
{
    struct env *env = w->desk->env;

    w->executor = executor;
    w->timer.fire = alert_watch_fire;
    w->started_ms = env_now_ms(env);
    for (int a = 0; a < ALERTS; a++) {
        w->own[a].alert = (enum alert)a;
        uuid_text(env->node, w->own[a].node);
    }
    window_take(w->window, w->started_ms);
    w->now_ms = w->started_ms;
    w->adopts = !store_health(w->desk->payments->runtime.store).many_nodes;
    if (w->adopts)
        alert_watch_adopt(w);
    executor_arm(executor, &w->timer, w->started_ms + LIMIT_WINDOW_MS);
}
