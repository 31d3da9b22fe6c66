/* input_options.c - the Upstash-* headers, with a reader for each. Unknown ones are ignored,
 * because the vendor's other products have more of them. One that asks for a workflow is rejected,
 * since a workflow would only be executed in part. */
#include "base/limits.h"
#include "base/time/zone.h"
#include "domain/cron.h"
#include "domain/duration.h"
#include "domain/expression.h"
#include "qstash/publish/input_reader.h"

#include <string.h>

/* --- values that several options have --- */

static bool read_method(struct reading *r, struct str name, struct str v, struct str *ret_method)
{
    static const char *const methods[] = { "POST", "GET", "PUT", "PATCH", "DELETE" };

    for (size_t i = 0; i < COUNT(methods); i++)
        if (str_eq_nocase(v, str_of(methods[i]))) {
            *ret_method = str_of(methods[i]);
            return true;
        }
    return input_refuse(r, STR_FMT " must be GET, POST, PUT, PATCH or DELETE", STR_ARG(name));
}

static bool read_int(struct reading *r, struct str name, struct str v, int64_t least, int64_t most,
                     int64_t *ret_value)
{
    if (str_to_i64(v, ret_value) && *ret_value >= least && *ret_value <= most)
        return true;
    return input_refuse(r, STR_FMT " must be a whole number from %lld to %lld", STR_ARG(name),
                        (long long)least, (long long)most);
}

static bool read_retries(struct reading *r, struct str name, struct str v, int64_t *ret_retries)
{
    return read_int(r, name, v, 0, LIMIT_QSTASH_RETRIES, ret_retries);
}

static bool read_duration(struct reading *r, struct str name, struct str v, int64_t most_ms,
                          int64_t *ret_ms)
{
    switch (duration_parse(v, DURATION_NEEDS_UNIT, most_ms, ret_ms)) {
    case DURATION_OK: return true;
    case DURATION_BAD:
        return input_refuse(r, STR_FMT " must be a duration like 10s, 5m or 1d10h30m",
                            STR_ARG(name));
    case DURATION_TOO_LONG: break;
    }
    return input_refuse(r, STR_FMT " is longer than %lld seconds", STR_ARG(name),
                        (long long)most_ms / 1000);
}

static bool read_timeout(struct reading *r, struct str name, struct str v, int64_t *ret_ms)
{
    return read_duration(r, name, v, LIMIT_QSTASH_ATTEMPT_MOST_MS, ret_ms);
}

static bool read_retry_delay(struct reading *r, struct str name, struct str v,
                             struct str *ret_expression)
{
    struct why why;

    if (!expression_check(v, &why))
        return input_refuse(r, STR_FMT " is no expression: %s", STR_ARG(name), why.text);
    *ret_expression = v;
    return true;
}

static bool read_bool(struct reading *r, struct str name, struct str v, bool *ret_value)
{
    *ret_value = str_eq_nocase(v, S("true"));
    return *ret_value || str_eq_nocase(v, S("false")) ||
           input_refuse(r, STR_FMT " must be true or false", STR_ARG(name));
}

static bool read_name(struct reading *r, struct str name, struct str v, struct str *ret_name)
{
    *ret_name = v;
    return input_name_is_valid(v) ||
           input_refuse(r, STR_FMT " may have letters, digits, '.', '_' and '-', %d at most",
                        STR_ARG(name), LIMIT_QSTASH_NAME);
}

/* --- options of the message --- */

static bool take_method(struct reading *r, struct str name, struct str v)
{
    return read_method(r, name, v, &r->in->parcel.method);
}

static bool take_delay(struct reading *r, struct str name, struct str v)
{
    return read_duration(r, name, v, LIMIT_QSTASH_DELAY_DAYS * INT64_C(86400000), &r->in->delay_ms);
}

static bool take_not_before(struct reading *r, struct str name, struct str v)
{
    int64_t most_s = r->s->now_ms / 1000 + LIMIT_QSTASH_DELAY_DAYS * INT64_C(86400), s;

    if (!str_to_i64(v, &s) || s < 0)
        return input_refuse(r, STR_FMT " must be a time in seconds since 1970", STR_ARG(name));
    if (s > most_s)
        return input_refuse(r, STR_FMT " is more than %d days ahead", STR_ARG(name),
                            LIMIT_QSTASH_DELAY_DAYS);
    r->in->not_before_ms = s * 1000;
    return true;
}

static bool take_retries(struct reading *r, struct str name, struct str v)
{
    return read_retries(r, name, v, &r->in->parcel.retries);
}

static bool take_retry_delay(struct reading *r, struct str name, struct str v)
{
    return read_retry_delay(r, name, v, &r->in->parcel.retry_delay);
}

static bool take_timeout(struct reading *r, struct str name, struct str v)
{
    return read_timeout(r, name, v, &r->in->parcel.timeout_ms);
}

static bool take_callback(struct reading *r, struct str name, struct str v)
{
    (void)name;
    r->callback[SIDE_CALLBACK].url = v;
    return input_url(r, "callback", v);
}

static bool take_failure(struct reading *r, struct str name, struct str v)
{
    (void)name;
    r->callback[SIDE_FAILURE].url = v;
    return input_url(r, "failure callback", v);
}

static bool take_dedup_id(struct reading *r, struct str name, struct str v)
{
    (void)name;
    r->dedup_id = v;
    return !memchr(v.p, ':', v.n) || input_refuse(r, "DeduplicationId cannot contain ':'");
}

static bool take_by_content(struct reading *r, struct str name, struct str v)
{
    return read_bool(r, name, v, &r->by_content);
}

static bool take_flow_key(struct reading *r, struct str name, struct str v)
{
    r->in->parcel.flow_key = v;
    r->has_flow = true;
    return v.n <= LIMIT_QSTASH_KEY ||
           input_refuse(r, STR_FMT " is longer than %d bytes", STR_ARG(name), LIMIT_QSTASH_KEY);
}

static bool take_flow_value(struct reading *r, struct str name, struct str v)
{
    (void)name;
    r->flow_value = v;
    r->has_flow = true;
    return true;
}

/* "a, b" becomes "a,b". */
static bool take_label(struct reading *r, struct str name, struct str v)
{
    char *p = arena_alloc(r->a, v.n + 1, 1);
    size_t n = 0, count = 0;

    if (!p)
        return input_no_memory(r);
    while (v.n) {
        struct str label = str_trim(str_cut(&v, ','));

        if (!label.n)
            continue;
        if (label.n > LIMIT_QSTASH_NAME || ++count > LIMIT_QSTASH_LABELS)
            return input_refuse(r, STR_FMT " may name %d labels of %d bytes", STR_ARG(name),
                                LIMIT_QSTASH_LABELS, LIMIT_QSTASH_NAME);
        memcpy(p + n, label.p, label.n);
        n += label.n;
        p[n++] = ',';
    }
    r->in->parcel.labels = (struct str){ p, n ? n - 1 : 0 };
    return true;
}

/* body, header, headers, header[Name], headers[Name] */
static bool is_redact_field(struct str f)
{
    if (str_eq(f, S("body")))
        return true;
    if (!str_starts(f, S("header")))
        return false;
    f = str_behind(f, str_starts(f, S("headers")) ? 7 : 6);
    return !f.n || (f.n > 2 && f.p[0] == '[' && f.p[f.n - 1] == ']');
}

static bool take_redact(struct reading *r, struct str name, struct str v)
{
    struct str rest = v;

    while (rest.n)
        if (!is_redact_field(str_trim(str_cut(&rest, ','))))
            return input_refuse(r, STR_FMT " may name body, header and header[Name]",
                                STR_ARG(name));
    r->in->parcel.redact = v;
    return true;
}

static bool take_queue(struct reading *r, struct str name, struct str v)
{
    struct str queue;

    if (!read_name(r, name, v, &queue))
        return false;
    if (!r->s->queue.n) /* the queue of the path wins */
        r->in->parcel.queue = queue;
    return true;
}

static bool take_cron(struct reading *r, struct str name, struct str v)
{
    struct why why;
    struct cron cron;
    struct zone *zone;
    enum err e = cron_parse(v, &cron, &why);

    if (e)
        return input_refuse(r, "invalid cron: %s", why.text);
    (void)name;
    e = zone_load(cron.zone, &zone);
    if (e == ERR_VALIDATION || e == ERR_NOT_FOUND)
        return input_refuse(r, "invalid cron: there is no time zone " STR_FMT, STR_ARG(cron.zone));
    if (e) {
        r->err = e;
        return false;
    }
    zone_free(zone);
    r->in->cron = v;
    return true;
}

static bool take_schedule_id(struct reading *r, struct str name, struct str v)
{
    return read_name(r, name, v, &r->in->schedule_id);
}

static bool take_forward_all(struct reading *r, struct str name, struct str v)
{
    return read_bool(r, name, v, &r->forward_all);
}

static bool refuse_workflow(struct reading *r, struct str name, struct str v)
{
    (void)v;
    return input_refuse(r, STR_FMT ": workflows are not offered here", STR_ARG(name));
}

/* --- options of a callback --- */

static bool take_side_method(struct reading *r, struct str name, struct str v, int side)
{
    return read_method(r, name, v, &r->callback[side].method);
}

static bool take_side_timeout(struct reading *r, struct str name, struct str v, int side)
{
    return read_timeout(r, name, v, &r->callback[side].timeout_ms);
}

static bool take_side_retries(struct reading *r, struct str name, struct str v, int side)
{
    return read_retries(r, name, v, &r->callback[side].retries);
}

static bool take_side_retry_delay(struct reading *r, struct str name, struct str v, int side)
{
    return read_retry_delay(r, name, v, &r->callback[side].retry_delay);
}

static bool refuse_side_delay(struct reading *r, struct str name, struct str v, int side)
{
    (void)v;
    (void)side;
    return input_refuse(r, STR_FMT ": a callback cannot be delayed", STR_ARG(name));
}

/* --- the tables --- */

static const struct {
    const char *name;
    bool (*take)(struct reading *r, struct str name, struct str v);
} options[] = {
    { "method", take_method },
    { "delay", take_delay },
    { "not-before", take_not_before },
    { "retries", take_retries },
    { "retry-delay", take_retry_delay },
    { "timeout", take_timeout },
    { "callback", take_callback },
    { "failure-callback", take_failure },
    { "deduplication-id", take_dedup_id },
    { "content-based-deduplication", take_by_content },
    { "flow-control-key", take_flow_key },
    { "flow-control-value", take_flow_value },
    { "label", take_label },
    { "redact-fields", take_redact },
    { "queue-name", take_queue },
    { "cron", take_cron },
    { "schedule-id", take_schedule_id },
    { "header-forward", take_forward_all },
    { "feature-set", refuse_workflow },
};

static const struct {
    const char *name;
    bool (*take)(struct reading *r, struct str name, struct str v, int side);
} side_options[] = {
    { "method", take_side_method },           { "timeout", take_side_timeout },
    { "retries", take_side_retries },         { "delay", refuse_side_delay },
    { "retry-delay", take_side_retry_delay },
};

/* Marks an option as given. *ret_ours false: a header gave it, which wins over the query. */
static bool option_mark(struct reading *r, struct str name, int side, size_t i, bool *ret_ours)
{
    uint32_t *seen = r->from_query ? &r->queried[side] : &r->given[side], bit = 1U << i;

    *ret_ours = !r->from_query || !(r->given[side] & bit);
    if (*seen & bit)
        return input_refuse(r, STR_FMT " is given twice", STR_ARG(name));
    *seen |= bit;
    return true;
}

static bool read_main_option(struct reading *r, struct str name, struct str option, struct str v)
{
    bool ours;

    for (size_t i = 0; i < COUNT(options); i++)
        if (str_eq_nocase(option, str_of(options[i].name)))
            return !v.n || (option_mark(r, name, SIDE_MAIN, i, &ours) &&
                            (!ours || options[i].take(r, name, v)));
    return true;
}

static bool read_side_option(struct reading *r, struct str name, struct str option, struct str v,
                             int side)
{
    bool ours;

    if (starts_nocase(option, S("forward-")))
        return input_forward(r, &r->callback[side].forward, str_behind(option, 8), v);
    if (starts_nocase(option, S("workflow-")) || str_eq_nocase(option, S("feature-set")))
        return refuse_workflow(r, name, v);
    for (size_t i = 0; i < COUNT(side_options); i++)
        if (str_eq_nocase(option, str_of(side_options[i].name)))
            return !v.n || (option_mark(r, name, side, i, &ours) &&
                            (!ours || side_options[i].take(r, name, v, side)));
    return true;
}

bool input_option(struct reading *r, struct str name, struct str option, struct str value)
{
    if (starts_nocase(option, S("forward-")))
        return input_forward(r, &r->forward, str_behind(option, 8), value);
    if (starts_nocase(option, S("callback-")))
        return read_side_option(r, name, str_behind(option, 9), value, SIDE_CALLBACK);
    if (starts_nocase(option, S("failure-callback-")))
        return read_side_option(r, name, str_behind(option, 17), value, SIDE_FAILURE);
    if (starts_nocase(option, S("workflow-")))
        return refuse_workflow(r, name, value);
    return read_main_option(r, name, option, value);
}

/* --- the flow key's limits --- */

static bool refuse_flow(struct reading *r)
{
    return input_refuse(r, "Upstash-Flow-Control-Value must be like parallelism=2, rate=10, "
                           "period=60s: each at most once, and one of the first two");
}

static bool read_limit(struct str v, int64_t *limit)
{
    return !*limit && str_to_i64(v, limit) && *limit >= 1 && *limit <= LIMIT_QSTASH_FLOW;
}

static bool read_period(struct str v, int64_t *period_s)
{
    int64_t ms;

    if (*period_s || duration_parse(v, DURATION_BARE_IS_SECONDS, LIMIT_QSTASH_PERIOD_S * 1000LL,
                                    &ms) != DURATION_OK)
        return false;
    *period_s = (ms + 999) / 1000;
    return ms > 0;
}

static bool read_flow(struct reading *r)
{
    struct flow_limits f = { 0 };
    struct str rest = r->flow_value;

    while (rest.n) {
        struct str value = str_cut(&rest, ','), name = str_trim(str_cut(&value, '='));

        value = str_trim(value);
        if (str_eq_nocase(name, S("parallelism")) ? !read_limit(value, &f.parallelism)
            : str_eq_nocase(name, S("rate"))      ? !read_limit(value, &f.rate)
            : str_eq_nocase(name, S("period"))    ? !read_period(value, &f.period_s)
                                                  : true)
            return refuse_flow(r);
    }
    if (!f.parallelism && !f.rate)
        return refuse_flow(r);
    f.period_s = f.period_s ? f.period_s : 1;
    r->in->parcel.flow = f;
    return true;
}

bool input_options_end(struct reading *r)
{
    if (!r->has_flow)
        return true;
    if (!r->in->parcel.flow_key.n)
        return input_refuse(r, "Upstash-Flow-Control-Value needs an Upstash-Flow-Control-Key");
    return read_flow(r);
}
