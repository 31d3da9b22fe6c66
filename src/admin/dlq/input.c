/* input.c - queries of the lists, then the bodies of acts, redrives, replays and edits. A body must
 * name its dead letters by exactly one of ids, filter and all, so that nobody acts on all by
 * accident. */
#include "admin/dlq/input.h"

#include "base/limits.h"
#include "endpoint/fields.h"

enum { PAGE_DEFAULT = 20, TIME_MAX = 64 };

#define WORDS_ID                                                                                   \
    "must be the id of a letter: a UUID, or msg_ and 32 hex digits",                               \
        "レターの ID (UUID、または msg_ と 16 進数 32 桁) を指定してください"
#define WORDS_CURSOR                                                                               \
    "must be the cursor of an earlier answer", "前の応答のカーソルを指定してください"

/* --- the query --- */

static bool query_kind(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_text(value, LIMIT_DEAD_TEXT, &((struct dlq_page *)ctx)->filter.kind);
}

static bool query_ref(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_text(value, LIMIT_DEAD_TEXT, &((struct dlq_page *)ctx)->filter.ref);
}

static bool query_reason(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_text(value, LIMIT_DEAD_TEXT, &((struct dlq_page *)ctx)->filter.reason);
}

static bool query_cause(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_text(value, LIMIT_DEAD_TEXT, &((struct dlq_page *)ctx)->filter.cause);
}

static bool query_payment(struct request *r, void *ctx, struct str value)
{
    struct dead_filter *f = &((struct dlq_page *)ctx)->filter;

    (void)r;
    f->has_payment = uuid_parse(value, &f->payment);
    return f->has_payment;
}

static bool query_from(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_time(value, &((struct dlq_page *)ctx)->filter.from_ms);
}

static bool query_to(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_time(value, &((struct dlq_page *)ctx)->filter.to_ms);
}

static bool query_page_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct dlq_page *)ctx)->limit);
}

static bool query_dead_cursor(struct request *r, void *ctx, struct str value)
{
    struct dlq_page *g = ctx;

    (void)r;
    g->has_cursor = dead_cursor_read(value, &g->cursor);
    return g->has_cursor;
}

bool dlq_read_page(struct request *r, struct dlq_page *ret_page)
{
    static const struct query_parameter parameters[] = {
        { "kind", query_kind, QUERY_TEXT_WORDS },
        { "ref", query_ref, QUERY_TEXT_WORDS },
        { "paymentId", query_payment, QUERY_UUID_WORDS },
        { "reason", query_reason, QUERY_TEXT_WORDS },
        { "cause", query_cause, QUERY_TEXT_WORDS },
        { "from", query_from, QUERY_TIME_WORDS },
        { "to", query_to, QUERY_TIME_WORDS },
        QUERY_LIMIT(query_page_limit),
        QUERY_CURSOR(query_dead_cursor),
    };
    struct json_problems problems;

    *ret_page = (struct dlq_page){ .limit = PAGE_DEFAULT };
    if (!query_read(r, parameters, COUNT(parameters), ret_page))
        return false;
    fields_problems(r, &problems);
    query_check_times(ret_page->filter.from_ms, ret_page->filter.to_ms, &problems);
    return !fields_refused(r, &problems);
}

/* --- the query of groups --- */

struct groups_query {
    struct dlq_page page; /* first, so that the readers above work on it, too */
    struct dead_groups *groups;
};

static bool query_group_cursor(struct request *r, void *ctx, struct str value)
{
    return dead_groups_cursor(&r->arena, value, ((struct groups_query *)ctx)->groups);
}

bool dlq_read_groups(struct request *r, struct dead_groups *ret_groups)
{
    static const struct query_parameter parameters[] = {
        { "kind", query_kind, QUERY_TEXT_WORDS }, { "from", query_from, QUERY_TIME_WORDS },
        { "to", query_to, QUERY_TIME_WORDS },     QUERY_LIMIT(query_page_limit),
        QUERY_CURSOR(query_group_cursor),
    };
    struct groups_query q = { .page = { .limit = PAGE_DEFAULT }, .groups = ret_groups };
    const struct dead_filter *f = &q.page.filter;
    struct json_problems problems;

    *ret_groups = (struct dead_groups){ 0 };
    if (!query_read(r, parameters, COUNT(parameters), &q))
        return false;
    fields_problems(r, &problems);
    query_check_times(f->from_ms, f->to_ms, &problems);
    ret_groups->kind = f->kind;
    ret_groups->from_ms = f->from_ms;
    ret_groups->to_ms = f->to_ms;
    ret_groups->limit = q.page.limit;
    return !fields_refused(r, &problems);
}

/* --- the path --- */

bool dlq_read_id(struct request *r, const struct dead_letters *letters, struct uuid *ret_id)
{
    if (dead_id_read(letters, r->params[0], ret_id))
        return true;
    fields_refuse(r, "id", WORDS_ID);
    return false;
}

/* --- the body --- */

struct dlq_body_reading {
    struct request *request;
    struct dead_act *act;
    struct json_problems problems;
    bool no_memory;
};

static void body_text(struct dlq_body_reading *g, const cJSON *o, const char *field,
                      struct str *ret_text)
{
    struct str text;

    if (!json_get_str(o, field, false, LIMIT_DEAD_TEXT, &text, &g->problems))
        return;
    if (query_text(text, LIMIT_DEAD_TEXT, ret_text))
        *ret_text = fields_keep(g->request, text, &g->no_memory);
    else
        json_problem_in(&g->problems, field, QUERY_TEXT_WORDS);
}

static void body_time(struct dlq_body_reading *g, const cJSON *o, const char *field,
                      int64_t *ret_ms)
{
    struct str text;

    if (json_get_str(o, field, false, TIME_MAX, &text, &g->problems) && !query_time(text, ret_ms))
        json_problem_in(&g->problems, field, QUERY_TIME_WORDS);
}

static void read_filter(struct dlq_body_reading *g, const cJSON *o)
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
    query_check_times(f->from_ms, f->to_ms, &g->problems);
    fields_only(o, names, COUNT(names), &g->problems);
    if (g->problems.count == before && dead_filter_is_empty(f))
        json_problem_in(
            &g->problems, "filter", "names nothing; \"all\": true takes every letter",
            "条件がありません。すべてを対象にするには \"all\": true を指定してください");
}

static void read_ids(struct dlq_body_reading *g, const cJSON *list)
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

static void read_limit_and_cursor(struct dlq_body_reading *g, const cJSON *body)
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

static const cJSON *body_member(const cJSON *body, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(body, name);
}

/* Exactly one of ids, filter and all. */
static void read_selection(struct dlq_body_reading *g, const cJSON *body)
{
    const cJSON *ids = body_member(body, "ids"), *filter = body_member(body, "filter");
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
    if (ids && (body_member(body, "limit") || body_member(body, "cursor")))
        json_problem_in(&g->problems, "ids", "take neither limit nor cursor",
                        "limit や cursor とは併用できません");
}

static void read_body(struct dlq_body_reading *g, const cJSON *body)
{
    static const char *const names[] = { "ids", "filter", "all", "dryRun", "limit", "cursor" };

    read_selection(g, body);
    read_limit_and_cursor(g, body);
    json_get_bool(body, "dryRun", false, &g->act->dry_run, &g->problems);
    fields_only(body, names, COUNT(names), &g->problems);
}

/* Reads the body with the function given. False: the answer was sent. */
ANSWERS static bool dlq_read_with(struct request *r, struct dead_act *act,
                                  void (*read)(struct dlq_body_reading *g, const cJSON *body,
                                               int64_t *ret_rate),
                                  int64_t *ret_rate)
{
    CLEANUP(json_freep) cJSON *body = NULL;
    struct dlq_body_reading g = { .request = r, .act = act };

    if (!fields_body(r, &body))
        return false;
    fields_problems(r, &g.problems);
    read(&g, body, ret_rate);
    return !fields_failed(r, &g.problems, g.no_memory ? ERR_NO_MEMORY : OK);
}

static void read_act(struct dlq_body_reading *g, const cJSON *body, int64_t *ret_rate)
{
    (void)ret_rate;
    read_body(g, body);
}

bool dlq_read_act(struct request *r, struct dead_act *ret_act)
{
    ret_act->limit = LIMIT_DEAD_ACT_USUAL;
    return dlq_read_with(r, ret_act, read_act, NULL);
}

/* --- redrives and replays --- */

/* A dry run needs no rate. */
static void read_rate(struct dlq_body_reading *g, const cJSON *body, int64_t *ret_rate)
{
    json_get_bool(body, "dryRun", false, &g->act->dry_run, &g->problems);
    json_get_int(body, "ratePerSecond", !g->act->dry_run, 1, LIMIT_REDRIVE_RATE, ret_rate,
                 &g->problems);
}

static void read_redrive(struct dlq_body_reading *g, const cJSON *body, int64_t *ret_rate)
{
    static const char *const names[] = { "ids", "filter", "all", "dryRun", "ratePerSecond" };

    read_selection(g, body);
    read_rate(g, body, ret_rate);
    fields_only(body, names, COUNT(names), &g->problems);
}

bool dlq_read_redrive(struct request *r, struct dead_act *ret_act, int64_t *ret_rate)
{
    return dlq_read_with(r, ret_act, read_redrive, ret_rate);
}

static void read_replay(struct dlq_body_reading *g, const cJSON *body, int64_t *ret_rate)
{
    static const char *const names[] = {
        "eventId", "from", "to", "type", "dryRun", "ratePerSecond"
    };
    struct dead_filter *f = &g->act->filter;
    bool span = body_member(body, "from") || body_member(body, "to") || body_member(body, "type");

    body_text(g, body, "eventId", &f->ref);
    body_text(g, body, "type", &f->kind);
    body_time(g, body, "from", &f->from_ms);
    body_time(g, body, "to", &f->to_ms);
    query_check_times(f->from_ms, f->to_ms, &g->problems);
    read_rate(g, body, ret_rate);
    fields_only(body, names, COUNT(names), &g->problems);
    if (!!body_member(body, "eventId") + span != 1)
        json_problem_in(&g->problems, "body",
                        "must name the events by \"eventId\", or by \"from\" and \"to\"",
                        "\"eventId\" または \"from\" と \"to\" で対象を指定してください");
    else if (span && !(body_member(body, "from") && body_member(body, "to")))
        json_problem_in(&g->problems, body_member(body, "from") ? "to" : "from", QUERY_TIME_WORDS);
}

bool dlq_read_replay(struct request *r, struct dead_act *ret_act, int64_t *ret_rate)
{
    return dlq_read_with(r, ret_act, read_replay, ret_rate);
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
    *ret_has = body->child != NULL; /* {} retries the stored body */
    return !*ret_has || read_edited(r, body, ret_body);
}
