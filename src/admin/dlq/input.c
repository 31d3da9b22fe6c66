#include "admin/dlq/input.h"

#include "base/limits.h"
#include "base/time/parse.h"
#include "endpoint/fields.h"

#include <string.h>

enum { PAGE_DEFAULT = 20, TIME_MAX = 64 };

#define WORDS_TEXT "must be a text of 1 to 255 characters", "1〜255 文字の文字列にしてください"
#define WORDS_UUID "must be a UUID", "UUID を指定してください"
#define WORDS_ID                                                                                   \
    "must be the id of a letter: a UUID, or msg_ and 32 hex digits",                               \
        "レターの ID (UUID、または msg_ と 16 進数 32 桁) を指定してください"
#define WORDS_TIME                                                                                 \
    "must be a time after 1970 like 2026-11-16T09:30:00Z",                                         \
        "2026-11-16T09:30:00Z のような 1970 年より後の日時にしてください"
#define WORDS_CURSOR                                                                               \
    "must be the cursor of an earlier answer", "前の応答のカーソルを指定してください"

/* --- single values --- */

static size_t count_chars(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

/* PostgreSQL has no text with a NUL in it. */
static bool is_text(struct str s)
{
    return s.n && str_is_utf8(s) && count_chars(s) <= LIMIT_DEAD_TEXT && !memchr(s.p, '\0', s.n);
}

static bool set_text(struct str value, struct str *ret_text)
{
    *ret_text = value;
    return is_text(value);
}

/* 0 would mean: open. */
static bool set_time(struct str value, int64_t *ret_ms)
{
    return time_parse(value, ret_ms) && *ret_ms > 0;
}

static bool set_payment(struct str value, struct dead_filter *f)
{
    f->has_payment = uuid_parse(value, &f->payment);
    return f->has_payment;
}

static void check_times(const struct dead_filter *f, struct json_problems *p)
{
    if (f->from_ms && f->to_ms && f->from_ms >= f->to_ms)
        json_problem_in(p, "to", "must be later than from", "from より後にしてください");
}

/* --- the query --- */

static bool query_kind(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return set_text(value, &((struct dlq_page *)ctx)->filter.kind);
}

static bool query_ref(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return set_text(value, &((struct dlq_page *)ctx)->filter.ref);
}

static bool query_reason(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return set_text(value, &((struct dlq_page *)ctx)->filter.reason);
}

static bool query_cause(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return set_text(value, &((struct dlq_page *)ctx)->filter.cause);
}

static bool query_payment(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return set_payment(value, &((struct dlq_page *)ctx)->filter);
}

static bool query_from(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return set_time(value, &((struct dlq_page *)ctx)->filter.from_ms);
}

static bool query_to(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return set_time(value, &((struct dlq_page *)ctx)->filter.to_ms);
}

static bool query_count(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct dlq_page *)ctx)->limit);
}

static bool query_place(struct request *r, void *ctx, struct str value)
{
    struct dlq_page *g = ctx;

    (void)r;
    g->has_cursor = dead_cursor_read(value, &g->cursor);
    return g->has_cursor;
}

bool dlq_read_page(struct request *r, struct dlq_page *ret_page)
{
    static const struct query_parameter parameters[] = {
        { "kind", query_kind, WORDS_TEXT },
        { "ref", query_ref, WORDS_TEXT },
        { "paymentId", query_payment, WORDS_UUID },
        { "reason", query_reason, WORDS_TEXT },
        { "cause", query_cause, WORDS_TEXT },
        { "from", query_from, WORDS_TIME },
        { "to", query_to, WORDS_TIME },
        QUERY_LIMIT(query_count),
        QUERY_CURSOR(query_place),
    };
    struct json_problems problems;

    *ret_page = (struct dlq_page){ .limit = PAGE_DEFAULT };
    if (!query_read(r, parameters, COUNT(parameters), ret_page))
        return false;
    fields_problems(r, &problems);
    check_times(&ret_page->filter, &problems);
    return !fields_refused(r, &problems);
}

/* --- the query of groups --- */

struct groups_query { /* first, so that the readers above serve it too */
    struct dlq_page page;
    struct dead_groups *groups;
};

static bool query_group(struct request *r, void *ctx, struct str value)
{
    return dead_groups_cursor(&r->arena, value, ((struct groups_query *)ctx)->groups);
}

bool dlq_read_groups(struct request *r, struct dead_groups *ret_groups)
{
    static const struct query_parameter parameters[] = {
        { "kind", query_kind, WORDS_TEXT }, { "from", query_from, WORDS_TIME },
        { "to", query_to, WORDS_TIME },     QUERY_LIMIT(query_count),
        QUERY_CURSOR(query_group),
    };
    struct groups_query q = { .page = { .limit = PAGE_DEFAULT }, .groups = ret_groups };
    const struct dead_filter *f = &q.page.filter;
    struct json_problems problems;

    *ret_groups = (struct dead_groups){ 0 };
    if (!query_read(r, parameters, COUNT(parameters), &q))
        return false;
    fields_problems(r, &problems);
    check_times(f, &problems);
    ret_groups->kind = f->kind;
    ret_groups->from_ms = f->from_ms;
    ret_groups->to_ms = f->to_ms;
    ret_groups->limit = q.page.limit;
    return !fields_refused(r, &problems);
}

/* --- the path --- */

bool dlq_read_id(struct request *r, const struct dead_letters *letters, struct uuid *ret_id)
{
    struct json_problems problems;

    if (dead_id_read(letters, r->params[0], ret_id))
        return true;
    fields_problems(r, &problems);
    json_problem_in(&problems, "id", WORDS_ID);
    return !fields_refused(r, &problems);
}

/* --- the body --- */

struct dlq_input_reading {
    struct request *request;
    struct dead_act *act;
    struct json_problems problems;
    bool no_memory;
};

static void body_text(struct dlq_input_reading *g, const cJSON *o, const char *field,
                      struct str *ret_text)
{
    struct str text;

    if (!json_get_str(o, field, false, LIMIT_DEAD_TEXT, &text, &g->problems))
        return;
    if (is_text(text))
        *ret_text = fields_keep(g->request, text, &g->no_memory);
    else
        json_problem_in(&g->problems, field, WORDS_TEXT);
}

static void body_time(struct dlq_input_reading *g, const cJSON *o, const char *field,
                      int64_t *ret_ms)
{
    struct str text;

    if (json_get_str(o, field, false, TIME_MAX, &text, &g->problems) && !set_time(text, ret_ms))
        json_problem_in(&g->problems, field, WORDS_TIME);
}

static void read_filter(struct dlq_input_reading *g, const cJSON *o)
{
    static const char *const names[] = {
        "kind", "ref", "paymentId", "reason", "cause", "from", "to"
    };
    struct dead_filter *f = &g->act->filter;
    int before = g->problems.count;

    if (!cJSON_IsObject(o)) {
        json_problem_in(&g->problems, "filter", "must be a JSON object",
                        "JSON オブジェクトにしてください");
        return;
    }
    body_text(g, o, "kind", &f->kind);
    body_text(g, o, "ref", &f->ref);
    body_text(g, o, "reason", &f->reason);
    body_text(g, o, "cause", &f->cause);
    f->has_payment = fields_uuid(o, "paymentId", false, &f->payment, &g->problems);
    body_time(g, o, "from", &f->from_ms);
    body_time(g, o, "to", &f->to_ms);
    check_times(f, &g->problems);
    fields_only(o, names, COUNT(names), &g->problems);
    if (g->problems.count == before && dead_filter_is_empty(f))
        json_problem_in(
            &g->problems, "filter", "names nothing; \"all\": true takes every letter",
            "条件がありません。すべてを対象にするには \"all\": true を指定してください");
}

static void read_ids(struct dlq_input_reading *g, const cJSON *list)
{
    size_t n = cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0, i = 0;
    struct uuid *ids;
    const cJSON *one;

    if (!n || n > LIMIT_DEAD_IDS) {
        json_problem_in(&g->problems, "ids", "must be a list of 1 to 1000 ids",
                        "1〜1000 個の ID の配列にしてください");
        return;
    }
    ids = arena_alloc(&g->request->arena, n, sizeof(*ids));
    g->no_memory = g->no_memory || !ids;
    cJSON_ArrayForEach(one, list)
    {
        if (ids && cJSON_IsString(one) &&
            dead_id_read(g->act->letters, str_of(one->valuestring), &ids[i])) {
            i++;
            continue;
        }
        json_problem_in(&g->problems, "ids", WORDS_ID);
        return;
    }
    g->act->ids = ids;
    g->act->id_count = n;
}

static void read_place(struct dlq_input_reading *g, const cJSON *body)
{
    struct dead_act *act = g->act;
    struct str text;

    json_get_int(body, "limit", false, 1, LIMIT_DEAD_ACT, &act->limit, &g->problems);
    if (!json_get_str(body, "cursor", false, DEAD_CURSOR_TEXT, &text, &g->problems))
        return;
    act->has_cursor = dead_cursor_read(text, &act->cursor);
    if (!act->has_cursor)
        json_problem_in(&g->problems, "cursor", WORDS_CURSOR);
}

static const cJSON *dlq_input_member(const cJSON *body, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(body, name);
}

/* Exactly one of them says which letters are meant: never all of them by accident. */
static void read_choice(struct dlq_input_reading *g, const cJSON *body)
{
    const cJSON *ids = dlq_input_member(body, "ids"), *filter = dlq_input_member(body, "filter");
    bool all = false;

    json_get_bool(body, "all", false, &all, &g->problems);
    if (!!ids + !!filter + all != 1) {
        json_problem_in(
            &g->problems, "body",
            "must name the letters by one of \"ids\", \"filter\" and \"all\": true",
            "\"ids\"、\"filter\"、\"all\": true のいずれか 1 つで対象を指定してください");
        return;
    }
    if (ids)
        read_ids(g, ids);
    if (filter)
        read_filter(g, filter);
    if (ids && (dlq_input_member(body, "limit") || dlq_input_member(body, "cursor")))
        json_problem_in(&g->problems, "ids", "take neither limit nor cursor",
                        "limit や cursor とは併用できません");
}

static void read_body(struct dlq_input_reading *g, const cJSON *body)
{
    static const char *const names[] = { "ids", "filter", "all", "dryRun", "limit", "cursor" };

    read_choice(g, body);
    read_place(g, body);
    json_get_bool(body, "dryRun", false, &g->act->dry_run, &g->problems);
    fields_only(body, names, COUNT(names), &g->problems);
}

/* Reads a body by one of the functions around here. */
ANSWERS static bool read_with(struct request *r, struct dead_act *act,
                              void (*read)(struct dlq_input_reading *g, const cJSON *body,
                                           int64_t *ret_rate),
                              int64_t *ret_rate)
{
    CLEANUP(json_freep) cJSON *body = NULL;
    struct dlq_input_reading g = { .request = r, .act = act };

    if (!fields_body(r, &body))
        return false;
    fields_problems(r, &g.problems);
    read(&g, body, ret_rate);
    return !fields_failed(r, &g.problems, g.no_memory ? ERR_NO_MEMORY : OK);
}

static void read_act(struct dlq_input_reading *g, const cJSON *body, int64_t *ret_rate)
{
    (void)ret_rate;
    read_body(g, body);
}

bool dlq_read_act(struct request *r, struct dead_act *ret_act)
{
    ret_act->limit = LIMIT_DEAD_ACT_USUAL;
    return read_with(r, ret_act, read_act, NULL);
}

/* --- redrives and replays --- */

/* A dry run needs no rate. */
static void read_rate(struct dlq_input_reading *g, const cJSON *body, int64_t *ret_rate)
{
    json_get_bool(body, "dryRun", false, &g->act->dry_run, &g->problems);
    json_get_int(body, "ratePerSecond", !g->act->dry_run, 1, LIMIT_REDRIVE_RATE, ret_rate,
                 &g->problems);
}

static void read_redrive(struct dlq_input_reading *g, const cJSON *body, int64_t *ret_rate)
{
    static const char *const names[] = { "ids", "filter", "all", "dryRun", "ratePerSecond" };

    read_choice(g, body);
    read_rate(g, body, ret_rate);
    fields_only(body, names, COUNT(names), &g->problems);
}

bool dlq_read_redrive(struct request *r, struct dead_act *ret_act, int64_t *ret_rate)
{
    return read_with(r, ret_act, read_redrive, ret_rate);
}

static void read_replay(struct dlq_input_reading *g, const cJSON *body, int64_t *ret_rate)
{
    static const char *const names[] = {
        "eventId", "from", "to", "type", "dryRun", "ratePerSecond"
    };
    struct dead_filter *f = &g->act->filter;
    bool span = dlq_input_member(body, "from") || dlq_input_member(body, "to") ||
                dlq_input_member(body, "type");

    body_text(g, body, "eventId", &f->ref);
    body_text(g, body, "type", &f->kind);
    body_time(g, body, "from", &f->from_ms);
    body_time(g, body, "to", &f->to_ms);
    check_times(f, &g->problems);
    read_rate(g, body, ret_rate);
    fields_only(body, names, COUNT(names), &g->problems);
    if (!!dlq_input_member(body, "eventId") + span != 1)
        json_problem_in(&g->problems, "body",
                        "must name the events by \"eventId\", or by \"from\" and \"to\"",
                        "\"eventId\" または \"from\" と \"to\" で対象を指定してください");
    else if (span && !(dlq_input_member(body, "from") && dlq_input_member(body, "to")))
        json_problem_in(&g->problems, dlq_input_member(body, "from") ? "to" : "from", WORDS_TIME);
}

bool dlq_read_replay(struct request *r, struct dead_act *ret_act, int64_t *ret_rate)
{
    return read_with(r, ret_act, read_replay, ret_rate);
}

/* --- an edited body --- */

ANSWERS static bool read_edited(struct request *r, const cJSON *body, struct str *ret_body)
{
    static const char *const names[] = { "body" };
    struct json_problems problems;
    struct str text = S("");
    bool no_memory = false;

    fields_problems(r, &problems);
    if (json_get_str(body, "body", true, LIMIT_DEAD_EDIT, &text, &problems) &&
        (text.n > LIMIT_DEAD_EDIT || !str_is_utf8(text)))
        json_problem_in(&problems, "body", "must be a text of 256 KiB at most",
                        "256 KiB 以内の文字列にしてください");
    fields_only(body, names, COUNT(names), &problems);
    *ret_body = fields_keep(r, text, &no_memory);
    return !fields_failed(r, &problems, no_memory ? ERR_NO_MEMORY : OK);
}

bool dlq_read_edit(struct request *r, bool *ret_has, struct str *ret_body)
{
    CLEANUP(json_freep) cJSON *body = NULL;

    *ret_has = r->body.n > 0;
    if (!*ret_has)
        return true;
    if (!fields_body(r, &body))
        return false;
    *ret_has = body->child != NULL; /* {} is a retry as it is */
    return !*ret_has || read_edited(r, body, ret_body);
}
