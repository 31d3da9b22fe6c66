/* faults.c - what goes wrong next, on demand. Every rule that fits a call applies to it, and where
 * two say something about the same thing the older one wins; each counts down by itself and is gone
 * when it has been used up. */
#include "sandbox/switches.h"

#include <stdlib.h>
#include <string.h>

struct sandbox_faults *sandbox_faults_new(void)
{
    struct sandbox_faults *f = calloc(1, sizeof(*f));

    if (f) {
        f->webhooks.on = true;
        atomic_init(&f->webhooks.factor, LIMIT_SANDBOX_RESEND_FACTOR);
    }
    return f;
}

void sandbox_faults_free(struct sandbox_faults *f)
{
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

/* A rule that only declines cards, and names no path, waits for a call that may charge one. */
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

static void join(struct sandbox_fault *f, const struct sandbox_fault *more)
{
    if (!f->delay_ms)
        f->delay_ms = more->delay_ms;
    if (!f->status_before)
        f->status_before = more->status_before;
    if (!f->status_after)
        f->status_after = more->status_after;
    if (!f->hang_ms)
        f->hang_ms = more->hang_ms;
    f->drop_before |= more->drop_before;
    f->drop_after |= more->drop_after;
}

/* False: the rule is used up. */
static bool use_rule(struct call_rule *r, struct arena *a, struct sandbox_fault *f)
{
    if (r->skip > 0) {
        r->skip--;
        return true;
    }
    join(f, &r->fault);
    if (r->decline_code[0] && !f->decline_code.n)
        f->decline_code = arena_str(a, str_of(r->decline_code));
    return --r->times > 0;
}

struct sandbox_fault sandbox_fault_take(struct sandbox *s, struct arena *a, struct str method,
                                        struct str path)
{
    struct sandbox_faults *f = s->faults;
    struct sandbox_fault fault = { 0 };
    size_t kept = 0;

    for (size_t i = 0; i < f->count; i++) {
        struct call_rule *r = &f->rules[i];

        if (rule_fits(r, method, path) && !use_rule(r, a, &fault))
            continue;
        if (kept != i)
            f->rules[kept] = *r;
        kept++;
    }
    f->count = kept;
    return fault;
}
