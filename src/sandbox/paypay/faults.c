/* faults.c - faults of PayPay's calls, on demand. Rules are rows, so they survive a restart. The
 * oldest rule that fits a call is used, and counts down in the same commit as what the call
 * does. */
#include "base/limits.h"
#include "sandbox/paypay/paypay.h"

static const char page_502[] = "<html><head><title>Bad Gateway</title></head></html>";

static const struct pp_fault_kind kinds[] = {
    { "rate_limit", .result = PP_RATE_LIMIT },
    { "maintenance", .result = PP_MAINTENANCE },
    { "not_done", .result = PP_INTERNAL },
    { "transaction_failed", .result = PP_FAILED },
    { "out_of_scope", .result = PP_OUT_OF_SCOPE },
    { "client_not_found", .result = PP_NO_CLIENT },
    { "missing_params", .result = PP_MISSING },
    { "qr_bad_request", .result = PP_CODE_BAD },
    { "canceled_user", .result = PP_CANCELED_USER },
    { "transaction_failed_too", .result = PP_FAILED_TOO },
    { "balance_exceeded", .result = PP_BALANCE },
    { "lose_request", .result = PP_INTERNAL, .lost = true },
    { "lose_reply", .after = true, .lost = true },
    { "internal_error", .after = true, .result = PP_INTERNAL },
    { "timed_out", .after = true, .result = PP_TIMED_OUT },
    { "service_error", .after = true, .result = PP_SERVICE },
    { "html", .after = true, .instead = page_502 },
    { "bad_gateway", .after = true, .instead = page_502, .status = 502 },
    { "gateway_timeout", .after = true, .instead = page_502, .status = 504 },
    { "unavailable", .after = true, .instead = "", .status = 503 },
    { "redirect", .after = true, .instead = page_502, .status = 302 },
    { "half", .after = true, .half = true },
    { "hang", .after = true, .hangs = true },
    { "hang_then_lose", .after = true, .hangs = true, .lost = true },
};

const struct pp_fault_kind *pp_fault_kind(struct str name)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (str_eq(str_of(kinds[i].name), name))
            return &kinds[i];
    return NULL;
}

/* --- the rules --- */

struct rule_list {
    struct pp_fault_rule *all;
    size_t count;
};

static enum err add_rule(void *ctx, const struct row *row)
{
    struct rule_list *l = ctx;
    const struct val *v = row->col;

    if (l->count == LIMIT_SANDBOX_RULES)
        return ERR_INTERNAL;
    l->all[l->count++] = (struct pp_fault_rule){ .seq = v[0].i,
                                                 .fault = v[1].s,
                                                 .method = v[2].s,
                                                 .path = v[3].s,
                                                 .skip = v[4].i,
                                                 .times = v[5].i,
                                                 .ms = v[6].i };
    return OK;
}

bool pp_fault_rules(struct work *w, struct pp_fault_rule **ret, size_t *ret_count)
{
    struct rule_list l = { .all = arena_alloc(w->a, LIMIT_SANDBOX_RULES, sizeof(*l.all)) };

    if (!work_ok(w, l.all ? OK : ERR_NO_MEMORY) ||
        !work_ok(w, tx_each(w->tx, STMT_sandbox_paypay_faults, NULL, 0, add_rule, &l)))
        return false;
    *ret = l.all;
    *ret_count = l.count;
    return true;
}

bool pp_fault_add(struct work *w, const struct pp_fault_rule *r)
{
    return work_ok(w, TX_DO(w->tx, STMT_sandbox_paypay_fault_add, 1, V_TEXT(r->fault),
                            V_TEXT(r->method), V_TEXT(r->path), V_INT(r->skip), V_INT(r->times),
                            V_INT(r->ms)));
}

/* "/v2/payments" fits that path alone, "/v2/payments*" every path with this prefix. */
static bool rule_fits(const struct pp_fault_rule *r, struct str method, struct str path)
{
    struct str begin = r->path;

    if (r->method.n && !str_eq(r->method, method))
        return false;
    if (!str_ends(begin, S("*")))
        return !begin.n || str_eq(begin, path);
    begin.n--;
    return str_starts(path, begin);
}

/* Uses up one call of the rule: one to let pass, or one to spoil. */
static bool count_down(struct work *w, const struct pp_fault_rule *r)
{
    int64_t skip = r->skip > 0 ? r->skip - 1 : 0, times = r->skip > 0 ? r->times : r->times - 1;

    if (!times)
        return work_ok(w, TX_DO(w->tx, STMT_sandbox_paypay_fault_forget, 1, V_INT(r->seq)));
    return work_ok(w, TX_DO(w->tx, STMT_sandbox_paypay_fault_count, 1, V_INT(skip), V_INT(times),
                            V_INT(r->seq)));
}

bool pp_fault_take(struct work *w, struct str method, struct str path, struct pp_fault *ret)
{
    struct pp_fault_rule *rules;
    size_t count;

    if (!pp_fault_rules(w, &rules, &count))
        return false;
    for (size_t i = 0; i < count && !ret->kind; i++) {
        if (!rule_fits(&rules[i], method, path))
            continue;
        if (!count_down(w, &rules[i]))
            return false;
        if (!rules[i].skip)
            *ret = (struct pp_fault){ pp_fault_kind(rules[i].fault), rules[i].ms };
    }
    return true;
}
