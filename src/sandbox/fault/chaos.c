/* chaos.c - random faults from a seed. Each kind of fault has its own series of random numbers, and
 * the n-th number decides about the n-th occasion. So the rate of one kind does not change the
 * others, and a run can be repeated if its calls come in the same order. After a restart the series
 * begin again. */
#include "base/rng.h"
#include "sandbox/fault/switches.h"

enum { MILLION = 1000000 };

#define CHAOS_WIRE(name, wire) [name] = (wire),
const char *const chaos_names[CHAOS_KINDS] = { CHAOS_CALL_LIST(CHAOS_WIRE)
                                                   CHAOS_WEBHOOK_LIST(CHAOS_WIRE) };
#undef CHAOS_WIRE

/* Switches chaos off while the values change, because other threads may read at any moment. */
void chaos_begin(struct chaos *c, const struct chaos_plan *plan)
{
    atomic_store(&c->on, false);
    c->plan = *plan;
    atomic_store(&c->seed, plan->seed);
    atomic_store(&c->until_ms, plan->until_ms);
    atomic_store(&c->delay_ms, plan->delay_ms > 0 ? plan->delay_ms : 1);
    atomic_store(&c->hang_ms, plan->hang_ms > 0 ? plan->hang_ms : 1);
    for (size_t i = 0; i < CHAOS_KINDS; i++) {
        atomic_store(&c->rate[i], plan->rate[i]);
        atomic_store(&c->drawn[i], 0);
        atomic_store(&c->happened[i], 0);
    }
    atomic_store(&c->on, plan->on);
}

void chaos_end(struct chaos *c)
{
    atomic_store(&c->on, false);
    c->plan.on = false;
}

bool chaos_is_on(struct chaos *c, int64_t now_ms)
{
    int64_t until_ms = atomic_load(&c->until_ms);

    return atomic_load(&c->on) && (!until_ms || now_ms < until_ms);
}

/* The next number in the series of a kind. */
static uint64_t chaos_draw(struct chaos *c, enum chaos_kind kind, struct rng *r)
{
    uint64_t n = atomic_fetch_add(&c->drawn[kind], 1);
    uint64_t seed;

    rng_init_seeded(r, (uint64_t)atomic_load(&c->seed) * CHAOS_KINDS + kind);
    seed = rng_u64(r);
    rng_init_seeded(r, seed ^ n);
    return rng_u64(r);
}

bool chaos_strikes(struct chaos *c, enum chaos_kind kind, int64_t now_ms, uint64_t *ret_random)
{
    struct rng r;

    if (!chaos_is_on(c, now_ms))
        return false;
    if ((int64_t)(chaos_draw(c, kind, &r) % MILLION) >= atomic_load(&c->rate[kind]))
        return false;
    if (ret_random)
        *ret_random = rng_u64(&r);
    atomic_fetch_add(&c->happened[kind], 1);
    return true;
}

/* --- faults of calls --- */

static void add_delay(struct chaos *c, enum chaos_kind kind, uint64_t chance,
                      struct sandbox_fault *f)
{
    if (kind == CHAOS_DELAY) {
        f->delay_ms += 1 + (int64_t)(chance % (uint64_t)atomic_load(&c->delay_ms));
    } else {
        f->drop_after = true;
        f->hang_ms += 1 + (int64_t)(chance % (uint64_t)atomic_load(&c->hang_ms));
    }
}

static void set_status_before(struct sandbox_fault *f, int status, enum retry_word word)
{
    if (f->status_before)
        return;
    f->status_before = status;
    f->should_retry = word;
}

static void set_spoil(struct sandbox_fault *f, enum spoil answer)
{
    if (!f->answer)
        f->answer = answer;
}

static void chaos_apply(struct chaos *c, enum chaos_kind kind, uint64_t chance,
                        struct sandbox_fault *f)
{
    switch (kind) {
    case CHAOS_DECLINE: f->decline_code = S("generic_decline"); break;
    case CHAOS_DELAY:
    case CHAOS_HANG: add_delay(c, kind, chance, f); break;
    case CHAOS_ERROR_BEFORE: set_status_before(f, 500, RETRY_AS_USUAL); break;
    case CHAOS_ERROR_AFTER: f->status_after = 500; break;
    case CHAOS_DROP_BEFORE: f->drop_before = true; break;
    case CHAOS_DROP_AFTER: f->drop_after = true; break;
    case CHAOS_CONFLICT: set_status_before(f, 409, RETRY_AS_USUAL); break;
    case CHAOS_RATE_LIMIT: set_status_before(f, 429, RETRY_AS_USUAL); break;
    case CHAOS_RATE_LIMIT_RETRY: set_status_before(f, 429, RETRY_SAYS_TRUE); break;
    case CHAOS_HALF_JSON: set_spoil(f, SPOIL_HALF_JSON); break;
    case CHAOS_HTML: set_spoil(f, SPOIL_HTML); break;
    case CHAOS_TYPE: set_spoil(f, SPOIL_TYPE); break;
    case CHAOS_REDIRECT: set_spoil(f, SPOIL_REDIRECT); break;
    case CHAOS_CURRENCY: set_spoil(f, SPOIL_CURRENCY); break;
    case CHAOS_CUT: set_spoil(f, SPOIL_CUT); break;
    case CHAOS_DUPLICATE:
    case CHAOS_REORDER:
    case CHAOS_LATE:
    case CHAOS_BURST:
    case CHAOS_DROP:
    case CHAOS_KINDS: break;
    }
}

void chaos_spoil(struct chaos *c, int64_t now_ms, bool charges, struct sandbox_fault *f)
{
    uint64_t chance;

    if (!chaos_is_on(c, now_ms))
        return;
    for (enum chaos_kind kind = 0; kind < CHAOS_DUPLICATE; kind++)
        if ((kind != CHAOS_DECLINE || charges) && chaos_strikes(c, kind, now_ms, &chance))
            chaos_apply(c, kind, chance, f);
}
