/* rules.c - faults on demand. Every rule that fits a call applies to it, and counts down by
 * itself. Where two rules set the same field, the older one wins. Random faults are added after
 * the rules. */
#include "sandbox/fault/switches.h"

#include <stdlib.h>
#include <string.h>

struct sandbox_faults *sandbox_faults_new(void)
{
    struct sandbox_faults *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->kept = switches_kept_new();
    if (!f->kept) {
        free(f);
        return NULL;
    }
    f->webhooks.on = true;
    atomic_init(&f->webhooks.factor, LIMIT_SANDBOX_RESEND_FACTOR);
    return f;
}

void sandbox_faults_free(struct sandbox_faults *f)
{
    if (!f)
        return;
    switches_kept_free(f->kept);
    free(f);
}

enum err rules_add(struct sandbox_faults *f, const struct call_rule *rule)
{
    if (f->count == LIMIT_SANDBOX_RULES)
        return ERR_OVERLOADED;
    f->rules[f->count++] = *rule;
    return OK;
}

void rules_clear(struct sandbox_faults *f)
{
    f->count = 0;
}

/* "/v1/payment_intents/x/capture" begins with "/v1/payment_intents" and with
 * "/v1/payment_intents/x", but not with "/v1/payment". */
static bool path_fits(struct str pattern, struct str path)
{
    if (!pattern.n)
        return true;
    while (pattern.n) {
        struct str want = str_cut(&pattern, '/'), have;

        if (!path.n && want.n)
            return false;
        have = str_cut(&path, '/');
        if (!str_eq(want, have) && !str_eq(want, S("*")))
            return false;
    }
    return true;
}

/* A rule that declines a card and names no path fits only calls that may charge one. */
static bool may_charge(struct str method, struct str path)
{
    return str_eq(method, S("POST")) && path_fits(S("/v1/payment_intents"), path) &&
           (str_eq(path, S("/v1/payment_intents")) || str_ends(path, S("/confirm")));
}

static bool rule_fits(const struct call_rule *r, struct str method, struct str path)
{
    if (r->method[0] && !str_eq(str_of(r->method), method))
        return false;
    if (r->decline_code[0] && !may_charge(method, path))
        return false;
    return path_fits(str_of(r->path), path);
}

static void fault_join(struct sandbox_fault *f, const struct sandbox_fault *more)
{
    if (!f->delay_ms)
        f->delay_ms = more->delay_ms;
    if (!f->status_before)
        f->status_before = more->status_before;
    if (!f->status_after)
        f->status_after = more->status_after;
    if (!f->hang_ms)
        f->hang_ms = more->hang_ms;
    if (!f->answer)
        f->answer = more->answer;
    if (!f->should_retry)
        f->should_retry = more->should_retry;
    f->drop_before |= more->drop_before;
    f->drop_after |= more->drop_after;
}

static void rule_use(struct sandbox *s, struct call_rule *r, struct arena *a,
                     struct sandbox_fault *f)
{
    if (r->skip > 0) {
        r->skip--;
    } else {
        fault_join(f, &r->fault);
        if (r->decline_code[0] && !f->decline_code.n)
            f->decline_code = arena_str(a, str_of(r->decline_code));
        r->times--;
    }
    switches_rule_used(s, r);
}

struct sandbox_fault sandbox_fault_take(struct sandbox *s, struct arena *a, struct str method,
                                        struct str path)
{
    struct sandbox_faults *f = s->faults;
    struct sandbox_fault fault = { 0 };
    size_t kept = 0;

    for (size_t i = 0; i < f->count; i++) {
        struct call_rule *r = &f->rules[i];

        if (rule_fits(r, method, path))
            rule_use(s, r, a, &fault);
        if (!r->times)
            continue;
        if (kept != i)
            f->rules[kept] = *r;
        kept++;
    }
    f->count = kept;
    if (atomic_load(&f->chaos.on))
        chaos_spoil(&f->chaos, env_now_ms(&s->env), may_charge(method, path), &fault);
    return fault;
}

/* --- webhooks --- */

/* Reverses the order within groups: the first of a group waits longest. */
static int64_t reorder_ms(struct webhook_switches *w)
{
    uint32_t turn = atomic_fetch_add(&w->turn, 1) % LIMIT_SANDBOX_REORDER;

    return (int64_t)(LIMIT_SANDBOX_REORDER - turn) * LIMIT_SANDBOX_REORDER_MS;
}

/* The end of the second in which ms lies; Stripe's `created` counts seconds. */
static int64_t second_over_ms(int64_t ms)
{
    return (ms / 1000 + 1) * 1000;
}

struct delivery_plan sandbox_delivery_plan(struct sandbox *s, int64_t now_ms)
{
    struct webhook_switches *w = &s->faults->webhooks;
    struct chaos *c = &s->faults->chaos;
    struct delivery_plan t = { (size_t)atomic_load(&w->copies),
                               now_ms + atomic_load(&w->delay_ms) };
    uint64_t chance;

    if (atomic_load(&w->reorder))
        t.due_ms += reorder_ms(w);
    if (atomic_load(&w->burst))
        t.due_ms = second_over_ms(t.due_ms);
    if (!chaos_is_on(c, now_ms))
        return t;
    if (chaos_strikes(c, CHAOS_DUPLICATE, now_ms, NULL) && t.copies < LIMIT_SANDBOX_COPIES)
        t.copies++;
    if (chaos_strikes(c, CHAOS_REORDER, now_ms, &chance))
        t.due_ms += (int64_t)(chance % (LIMIT_SANDBOX_REORDER * LIMIT_SANDBOX_REORDER_MS));
    if (chaos_strikes(c, CHAOS_LATE, now_ms, &chance))
        t.due_ms += 1 + (int64_t)(chance % (uint64_t)atomic_load(&c->delay_ms));
    if (chaos_strikes(c, CHAOS_BURST, now_ms, NULL))
        t.due_ms = second_over_ms(t.due_ms);
    return t;
}

const char *sandbox_webhook_lost(struct sandbox *s)
{
    struct webhook_switches *w = &s->faults->webhooks;

    if (!w->on)
        return "webhooks are switched off";
    if (w->drop_first > 0) {
        w->drop_first--;
        switches_webhooks_used(s);
        return "dropped on demand";
    }
    return chaos_strikes(&s->faults->chaos, CHAOS_DROP, env_now_ms(&s->env), NULL)
               ? "dropped by chance"
               : NULL;
}
