/* operate.c - a client's request: it looks, claims or waits, and is answered once.
 *
 *      enter the waiting room
 *        '-> look (read) --> done: replay    another content: 409
 *              |-> running --------------------> wait
 *              '-> none, expired, unknown --> claim (write) --> adopted by the queue --> wait
 *
 *   (1) It is in the room before it looks (waiting.h), so no answer is missed.
 *   (2) A replay touches no writer; how many there are is summed in memory (replays.h).
 *   (3) While it waits nothing is held but its own memory. With other nodes it looks again from
 * time to time: whoever settles may sit elsewhere (M11). */
#include "payment/operate.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "payment/claim.h"
#include "payment/operation_log.h"
#include "payment/operation_span.h"
#include "payment/replays.h"
#include "payment/waiting.h"

#include <string.h>

enum { LOOK_FIRST_MS = 20, LOOK_MAX_MS = 500 };

struct asking {
    struct operate *o;
    struct claim claim;
    struct unit look;
    struct key_record record;
    bool found;
    struct waiter waiter;
    struct timer timer;
    int64_t look_ms; /* the pause before the next look; 0: nobody else could settle it */
    int64_t look_at; /* monotonic */
    bool busy;       /* a unit is under way */
    bool answered;   /* and the answer came meanwhile */
    bool ours;       /* we claimed it: a late answer is the gateway's fault */
    bool in_room;
    struct uuid operation;   /* whose answer it is, where that is known */
    bool decided;            /* our own end is sure; an answer under way is not for us */
    struct span span, check; /* all of it; is the key known? */
};

static struct store *store_of(const struct asking *a)
{
    return a->o->payments->runtime.store;
}

static int64_t mono_ms(const struct asking *a)
{
    return clock_mono_ms(&a->o->payments->runtime.env->clock);
}

/* --- the end --- */

/* Once; what is looked at later is no news. */
static void end_check(struct asking *a, bool known)
{
    SPAN_END(&a->check, NULL, SPAN_BOOL("payment.key_known", known));
}

static void operate_done(struct asking *a)
{
    const struct operate *o = a->o;

    executor_arm(a->o->executor, &a->timer, CLOCK_NEVER);
    end_check(a, a->found);
    operate_log_answered(o);
    if (!o->err && o->replayed)
        replays_add(o->payments->replays, o->payment_id, a->operation, o->kind);
    operate_span_end(&a->span, a->o);
    run_free(a->claim.run);
    a->claim.run = NULL;
    a->o->done(a->o);
}

/* Leaves the room. An answer that is on its way already must come back first, and is dropped: it
 * may be for another content. */
static void operate_finish(struct asking *a, enum err e)
{
    a->o->err = e;
    a->decided = a->in_room && !waiting_leave(a->o->payments->waiting, &a->waiter);
    if (a->decided)
        return;
    a->in_room = false;
    operate_done(a);
}

/* Of somebody who waited for this very answer: if it comes now, it counts. */
static void give_up(struct asking *a, enum err e)
{
    if (a->in_room && !waiting_leave(a->o->payments->waiting, &a->waiter))
        return;
    a->in_room = false;
    a->o->unknown = e == ERR_GATEWAY_TIMEOUT;
    operate_finish(a, e);
}

/* Of our own payment that another node settled: what is stored of the answer is its JSON alone. */
static enum payment_status stored_status(struct str body)
{
    static const char *const paths[] = { "payment.status", "status" };
    struct json_value v[COUNT(paths)];
    enum payment_status status = PAYMENT_PENDING;

    if (!json_pick(body, paths, COUNT(paths), v, NULL))
        payment_status_parse(v[v[0].type == JSON_STRING ? 0 : 1].raw, &status);
    return status;
}

static void finish_stored(struct asking *a, const struct key_record *k)
{
    a->o->status = k->status;
    a->o->body = k->body;
    a->o->replayed = !a->ours; /* our own look may be faster than the waiting room */
    if (a->ours)
        a->o->settled_as = stored_status(k->body);
    a->o->has_payment = true;
    a->o->payment_id = k->payment;
    a->operation = k->operation;
    operate_finish(a, OK);
}

static void take_answer(struct asking *a)
{
    struct answer *answer = a->waiter.answer;
    struct operate *o = a->o;

    a->in_room = false;
    o->err = answer->err;
    o->unknown = answer->unknown;
    o->status = answer->status;
    o->settled_as = answer->settled_as;
    o->has_payment = true;
    o->payment_id = answer->payment;
    o->replayed = !a->ours;
    a->operation = a->found ? a->record.operation : a->claim.record.operation;
    o->body = arena_str(o->arena, (struct str){ answer->body, answer->size });
    if (!o->err && !o->body.p)
        o->err = ERR_NO_MEMORY;
    answer_release(answer);
    operate_done(a);
}

static void operate_answered(struct waiter *w)
{
    struct asking *a = CONTAINER_OF(w, struct asking, waiter);

    if (a->decided) {
        answer_release(w->answer);
        operate_done(a);
        return;
    }
    a->answered = true;
    if (!a->busy)
        take_answer(a);
}

/* --- waiting --- */

static void operate_look(struct asking *a);

/* Timers follow the wall clock, which a test may move: what counts is monotonic time. */
static void wait_on(struct asking *a)
{
    int64_t now = mono_ms(a), until = a->o->deadline_mono_ms;

    if (a->look_ms && a->look_at < until)
        until = a->look_at;
    executor_arm(a->o->executor, &a->timer,
                 env_now_ms(a->o->payments->runtime.env) + (until > now ? until - now : 0));
}

static void operate_wait(struct asking *a)
{
    end_check(a, true);
    if (a->look_ms)
        a->look_at = mono_ms(a) + a->look_ms;
    if (a->look_ms && a->look_ms < LOOK_MAX_MS)
        a->look_ms = a->look_ms * 2 < LOOK_MAX_MS ? a->look_ms * 2 : LOOK_MAX_MS;
    wait_on(a);
}

static void time_is_up(struct timer *t)
{
    struct asking *a = CONTAINER_OF(t, struct asking, timer);
    int64_t now = mono_ms(a);

    if (a->busy || a->answered || a->decided)
        return;
    if (now >= a->o->deadline_mono_ms)
        give_up(a, a->ours ? ERR_GATEWAY_TIMEOUT : ERR_UNCERTAIN);
    else if (a->look_ms && now >= a->look_at)
        operate_look(a);
    else
        wait_on(a);
}

/* --- claiming --- */

static void operate_adopt(struct asking *a)
{
    struct op_run *run = a->claim.run;

    a->ours = true;
    a->claim.run = NULL; /* the job's from here on */
    fault_point(&a->o->payments->runtime.env->faults, "op.claimed");
    queue_adopt(a->o->payments->runtime.queue, &a->claim.message, run);
    operate_wait(a);
}

/* An answer that came while we were looking was for whoever had the key before: it is not ours to
 * take unless the key's content is known to be the same. Back into the room. */
static void drop_answer(struct asking *a)
{
    if (!a->answered)
        return;
    a->answered = false;
    answer_release(a->waiter.answer);
    a->in_room = waiting_enter(a->o->payments->waiting, &a->waiter);
    if (!a->in_room && !a->look_ms)
        a->look_ms = LOOK_FIRST_MS; /* somebody took it: then we look ourselves */
}

static void claim_came_back(struct unit *u)
{
    struct asking *a = CONTAINER_OF(u, struct asking, claim.unit);

    a->busy = false;
    end_check(a, !u->err && a->claim.result != CLAIMED);
    claim_span(&a->claim);
    if (!u->err && a->claim.result == CLAIM_RUNNING && a->answered) {
        take_answer(a);
        return;
    }
    drop_answer(a);
    if (u->err) {
        operate_finish(a, u->err);
        return;
    }
    switch (a->claim.result) {
    case CLAIMED: operate_adopt(a); return;
    case CLAIM_DONE: finish_stored(a, &a->claim.record); return;
    case CLAIM_OTHER: operate_finish(a, ERR_KEY_REUSED); return;
    case CLAIM_RUNNING: operate_wait(a); return;
    case CLAIM_IMPOSSIBLE: operate_finish(a, ERR_INTERNAL); return;
    }
}

static void operate_claim(struct asking *a)
{
    struct env *env = a->o->payments->runtime.env;
    struct claim *c = &a->claim;

    run_free(c->run); /* of a claim that found somebody else at work, before the last look */
    *c = (struct claim){ .o = a->o,
                         .payment_id = env_uuid(env),
                         .operation_id = env_uuid(env),
                         .message_id = env_uuid(env),
                         .refund_id = env_uuid(env),
                         .subject_id = env_uuid(env),
                         .run = run_new(a->o->payments) };
    if (!c->run) {
        operate_finish(a, ERR_NO_MEMORY);
        return;
    }
    c->unit = (struct unit){ .kind = &claim_kind,
                             .executor = a->o->executor,
                             .done = claim_came_back,
                             .arena = a->o->arena };
    a->busy = true;
    store_post(store_of(a), &c->unit);
}

/* --- looking --- */

static enum err look_run(struct tx *tx, struct unit *u)
{
    struct asking *a = CONTAINER_OF(u, struct asking, look);
    struct operate *o = a->o;
    enum err e = key_find(tx, o->arena, o->user, o->kind, o->key, &a->record);

    a->found = !e;
    return e == ERR_NOT_FOUND ? OK : e;
}

static const struct unit_kind look_kind = { "key.look", UNIT_READ, look_run, NULL };

static void operate_decide(struct asking *a)
{
    struct payments *p = a->o->payments;
    const struct key_record *k = &a->record;

    if (!a->found ||
        (k->done && key_expired(k->created_ms, p->key_ttl_ms, env_now_ms(p->runtime.env))))
        operate_claim(a);
    else if (memcmp(k->hash, a->o->hash, KEY_HASH) != 0)
        operate_finish(a, ERR_KEY_REUSED);
    else if (k->done)
        finish_stored(a, k);
    else if (k->phase == PHASE_UNKNOWN && !a->ours)
        operate_claim(a);
    else
        operate_wait(a);
}

static void look_came_back(struct unit *u)
{
    struct asking *a = CONTAINER_OF(u, struct asking, look);
    bool same = !u->err && a->found && memcmp(a->record.hash, a->o->hash, KEY_HASH) == 0;

    a->busy = false;
    if (a->answered && same && !a->record.done) {
        take_answer(a);
        return;
    }
    drop_answer(a);
    if (u->err)
        operate_finish(a, u->err);
    else
        operate_decide(a);
}

static void operate_look(struct asking *a)
{
    a->look = (struct unit){
        .kind = &look_kind, .executor = a->o->executor, .done = look_came_back, .arena = a->o->arena
    };
    a->busy = true;
    store_post(store_of(a), &a->look);
}

void operate_begin(struct operate *o)
{
    struct asking *a = arena_alloc(o->arena, 1, sizeof(*a));

    if (!a) {
        o->err = ERR_NO_MEMORY;
        o->done(o);
        return;
    }
    a->o = o;
    a->look_ms = store_health(o->payments->runtime.store).many_nodes ? LOOK_FIRST_MS : 0;
    a->timer = (struct timer){ .fire = time_is_up, .due_ms = CLOCK_NEVER };
    a->waiter = (struct waiter){ .scope = key_scope(o->user, o->kind, o->key),
                                 .executor = o->executor,
                                 .answered = operate_answered };
    operate_log_attempted(o);
    a->span = operate_span_begin(o);
    a->in_room = waiting_enter(o->payments->waiting, &a->waiter);
    if (!a->in_room) {
        o->err = ERR_OVERLOADED;
        operate_done(a);
        return;
    }
    a->check = span_begin(o->payments->runtime.env, str_of(o->trace), SPAN_INTERNAL,
                          "Payment.checkIdempotency");
    operate_look(a);
}
