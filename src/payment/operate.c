/* operate.c - a client's request: it looks up its key, claims it or waits, and is answered once.
 *
 *      enter the waiting room
 *        '-> lookup (read) --> done: replay    another content: 409
 *              |-> running --------------------> wait
 *              '-> none, expired, unknown --> claim (write) --> adopted by the queue --> wait
 *
 *   (1) The request enters the waiting room before it reads the key (waiting.h), so it misses no
 *       answer.
 *   (2) A replay writes nothing; replays are counted in memory (replays.h).
 *   (3) A waiting request holds only its own memory. With several nodes it reads the key again from
 *       time to time, because another node may settle the operation (M11).
 *   (4) While a unit of work is under way, an answer that arrives is kept until the unit is done.
 *
 * A crash loses the waiting requests and nothing else: the client repeats its request. */
#include "payment/operate.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "payment/claim.h"
#include "payment/operation_log.h"
#include "payment/operation_span.h"
#include "payment/replays.h"
#include "payment/waiting.h"

#include <string.h>

enum { LOOKUP_FIRST_MS = 20, LOOKUP_MAX_MS = 500 };

struct operate_run {
    struct operate *o;
    struct claim claim;
    struct unit look;
    struct key_record record;
    bool found;
    struct waiter waiter;
    struct timer timer;
    int64_t look_ms; /* the pause before the next lookup; 0: there are no other nodes */
    int64_t look_at; /* monotonic */
    bool busy;       /* a unit of work is under way */
    bool answered;   /* the answer came meanwhile */
    bool ours;       /* this request claimed the key: a late answer is the gateway's fault */
    bool in_room;
    struct uuid operation;   /* the operation of the answer, if known */
    bool decided;            /* the result is set; an answer under way is dropped */
    struct span span, check; /* the whole request; the lookup of its key */
};

static struct store *operate_store(const struct operate_run *a)
{
    return a->o->payments->runtime.store;
}

static int64_t operate_mono_ms(const struct operate_run *a)
{
    return clock_mono_ms(&a->o->payments->runtime.env->clock);
}

/* --- the end --- */

static void operate_end_check(struct operate_run *a, bool known)
{
    SPAN_END(&a->check, NULL, SPAN_BOOL("payment.key_known", known));
}

static void operate_done(struct operate_run *a)
{
    const struct operate *o = a->o;

    executor_arm(a->o->executor, &a->timer, CLOCK_NEVER);
    operate_end_check(a, a->found);
    operate_log_answered(o);
    if (!o->err && o->replayed)
        replays_add(o->payments->replays, o->payment_id, a->operation, o->kind);
    operate_span_end(&a->span, a->o);
    run_free(a->claim.run);
    a->claim.run = NULL;
    a->o->done(a->o);
}

/* Leaves the room with result e. An answer that is under way must arrive first and is dropped: it may
 * be for a request with another content. */
static void operate_finish(struct operate_run *a, enum err e)
{
    a->o->err = e;
    a->decided = a->in_room && !waiting_leave(a->o->payments->waiting, &a->waiter);
    if (a->decided)
        return;
    a->in_room = false;
    operate_done(a);
}

/* The deadline has passed. An answer that is under way already is still delivered. */
static void operate_time_out(struct operate_run *a, enum err e)
{
    if (a->in_room && !waiting_leave(a->o->payments->waiting, &a->waiter))
        return;
    a->in_room = false;
    a->o->unknown = e == ERR_GATEWAY_TIMEOUT;
    operate_finish(a, e);
}

/* The payment's status, read from a stored answer that another node has settled. */
static enum payment_status body_status(struct str body)
{
    static const char *const paths[] = { "payment.status", "status" };
    struct json_value v[COUNT(paths)];
    enum payment_status status = PAYMENT_PENDING;

    if (!json_pick(body, paths, COUNT(paths), v, NULL))
        payment_status_parse(v[v[0].type == JSON_STRING ? 0 : 1].raw, &status);
    return status;
}

static void operate_finish_stored(struct operate_run *a, const struct key_record *k)
{
    a->o->status = k->status;
    a->o->body = k->body;
    a->o->replayed = !a->ours; /* the lookup may be faster than the waiting room */
    if (a->ours)
        a->o->settled_as = body_status(k->body);
    a->o->has_payment = true;
    a->o->payment_id = k->payment;
    a->operation = k->operation;
    operate_finish(a, OK);
}

static void operate_take_answer(struct operate_run *a)
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
    struct operate_run *a = CONTAINER_OF(w, struct operate_run, waiter);

    if (a->decided) {
        answer_release(w->answer);
        operate_done(a);
        return;
    }
    a->answered = true;
    if (!a->busy)
        operate_take_answer(a);
}

/* --- waiting --- */

static void operate_lookup(struct operate_run *a);

/* Timers follow the wall clock, which a test may move; deadlines are monotonic. */
static void operate_arm(struct operate_run *a)
{
    int64_t now = operate_mono_ms(a), until = a->o->deadline_mono_ms;

    if (a->look_ms && a->look_at < until)
        until = a->look_at;
    executor_arm(a->o->executor, &a->timer,
                 env_now_ms(a->o->payments->runtime.env) + (until > now ? until - now : 0));
}

static void operate_wait(struct operate_run *a)
{
    operate_end_check(a, true);
    if (a->look_ms)
        a->look_at = operate_mono_ms(a) + a->look_ms;
    if (a->look_ms && a->look_ms < LOOKUP_MAX_MS)
        a->look_ms = a->look_ms * 2 < LOOKUP_MAX_MS ? a->look_ms * 2 : LOOKUP_MAX_MS;
    operate_arm(a);
}

static void operate_timer_fired(struct timer *t)
{
    struct operate_run *a = CONTAINER_OF(t, struct operate_run, timer);
    int64_t now = operate_mono_ms(a);

    if (a->busy || a->answered || a->decided)
        return;
    if (now >= a->o->deadline_mono_ms)
        operate_time_out(a, a->ours ? ERR_GATEWAY_TIMEOUT : ERR_UNCERTAIN);
    else if (a->look_ms && now >= a->look_at)
        operate_lookup(a);
    else
        operate_arm(a);
}

/* --- claiming --- */

static void operate_adopt(struct operate_run *a)
{
    struct op_run *run = a->claim.run;

    a->ours = true;
    a->claim.run = NULL; /* the job's from here on */
    fault_point(&a->o->payments->runtime.env->faults, "op.claimed");
    queue_adopt(a->o->payments->runtime.queue, &a->claim.message, run);
    operate_wait(a);
}

/* Drops an answer that came during a unit of work. It may be for another content, unless the unit has
 * shown that the content is the same. The request enters the room again. */
static void operate_drop_answer(struct operate_run *a)
{
    if (!a->answered)
        return;
    a->answered = false;
    answer_release(a->waiter.answer);
    a->in_room = waiting_enter(a->o->payments->waiting, &a->waiter);
    if (!a->in_room && !a->look_ms)
        a->look_ms = LOOKUP_FIRST_MS; /* the room is full: read the key again instead */
}

static void claim_done(struct unit *u)
{
    struct operate_run *a = CONTAINER_OF(u, struct operate_run, claim.unit);

    a->busy = false;
    operate_end_check(a, !u->err && a->claim.result != CLAIMED);
    claim_span(&a->claim);
    if (!u->err && a->claim.result == CLAIM_RUNNING && a->answered) {
        operate_take_answer(a);
        return;
    }
    operate_drop_answer(a);
    if (u->err) {
        operate_finish(a, u->err);
        return;
    }
    switch (a->claim.result) {
    case CLAIMED: operate_adopt(a); return;
    case CLAIM_DONE: operate_finish_stored(a, &a->claim.record); return;
    case CLAIM_OTHER: operate_finish(a, ERR_KEY_REUSED); return;
    case CLAIM_RUNNING: operate_wait(a); return;
    case CLAIM_IMPOSSIBLE: operate_finish(a, ERR_INTERNAL); return;
    }
}

static void operate_claim(struct operate_run *a)
{
    struct env *env = a->o->payments->runtime.env;
    struct claim *c = &a->claim;

    run_free(c->run); /* of an earlier claim that did not get the key */
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
    c->unit = (struct unit){
        .kind = &claim_kind, .executor = a->o->executor, .done = claim_done, .arena = a->o->arena
    };
    a->busy = true;
    store_post(operate_store(a), &c->unit);
}

/* --- the lookup of the key --- */

static enum err key_lookup(struct tx *tx, struct unit *u)
{
    struct operate_run *a = CONTAINER_OF(u, struct operate_run, look);
    struct operate *o = a->o;
    enum err e = key_find(tx, o->arena, o->user, o->kind, o->key, &a->record);

    a->found = !e;
    return e == ERR_NOT_FOUND ? OK : e;
}

static const struct unit_kind key_lookup_kind = { "key.look", UNIT_READ, key_lookup, NULL };

static void operate_decide(struct operate_run *a)
{
    struct payments *p = a->o->payments;
    const struct key_record *k = &a->record;

    if (!a->found ||
        (k->done && key_expired(k->created_ms, p->key_ttl_ms, env_now_ms(p->runtime.env))))
        operate_claim(a);
    else if (memcmp(k->hash, a->o->hash, KEY_HASH) != 0)
        operate_finish(a, ERR_KEY_REUSED);
    else if (k->done)
        operate_finish_stored(a, k);
    else if (k->phase == PHASE_UNKNOWN && !a->ours)
        operate_claim(a);
    else
        operate_wait(a);
}

static void key_lookup_done(struct unit *u)
{
    struct operate_run *a = CONTAINER_OF(u, struct operate_run, look);
    bool same = !u->err && a->found && memcmp(a->record.hash, a->o->hash, KEY_HASH) == 0;

    a->busy = false;
    if (a->answered && same && !a->record.done) {
        operate_take_answer(a);
        return;
    }
    operate_drop_answer(a);
    if (u->err)
        operate_finish(a, u->err);
    else
        operate_decide(a);
}

static void operate_lookup(struct operate_run *a)
{
    a->look = (struct unit){ .kind = &key_lookup_kind,
                             .executor = a->o->executor,
                             .done = key_lookup_done,
                             .arena = a->o->arena };
    a->busy = true;
    store_post(operate_store(a), &a->look);
}

void operate_begin(struct operate *o)
{
    struct operate_run *a = arena_alloc(o->arena, 1, sizeof(*a));

    if (!a) {
        o->err = ERR_NO_MEMORY;
        o->done(o);
        return;
    }
    a->o = o;
    a->look_ms = store_health(o->payments->runtime.store).many_nodes ? LOOKUP_FIRST_MS : 0;
    a->timer = (struct timer){ .fire = operate_timer_fired, .due_ms = CLOCK_NEVER };
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
    operate_lookup(a);
}
