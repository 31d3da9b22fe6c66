#include "admin/audit.h"

#include "audit/list.h"
#include "audit/verify.h"
#include "base/limits.h"
#include "base/time/parse.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"

#include <string.h>

enum { PAGE_DEFAULT = 20 };

#define WORDS_TEXT "must be a text of 1 to 255 characters", "1〜255 文字の文字列にしてください"
#define WORDS_UUID "must be a UUID", "UUID を指定してください"
#define WORDS_TIME                                                                                 \
    "must be a time after 1970 like 2026-11-16T09:30:00Z",                                         \
        "2026-11-16T09:30:00Z のような 1970 年より後の日時にしてください"

struct admin_audit_look { /* one request, in its own arena */
    struct api_answer answer;
    struct audit_filter filter;
    int limit;
    bool has_cursor;
    struct audit_cursor cursor;

    struct audit_place place;
    struct audit_expect expect;

    enum audit_format format;
    struct audit_export_place export_from;
    struct audit_export export;
};

/* --- parameters --- */

static size_t audit_count_chars(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

/* PostgreSQL has no text with a NUL in it. */
static bool audit_set_text(struct str value, struct str *ret_text)
{
    *ret_text = value;
    return value.n && str_is_utf8(value) && audit_count_chars(value) <= LIMIT_AUDIT_TEXT &&
           !memchr(value.p, '\0', value.n);
}

static bool audit_read_operation(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return audit_set_text(value, &((struct admin_audit_look *)ctx)->filter.operation);
}

static bool audit_read_subject(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return audit_set_text(value, &((struct admin_audit_look *)ctx)->filter.subject);
}

static bool audit_read_result(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return audit_set_text(value, &((struct admin_audit_look *)ctx)->filter.result);
}

static bool audit_read_payment(struct request *r, void *ctx, struct str value)
{
    struct audit_filter *f = &((struct admin_audit_look *)ctx)->filter;

    (void)r;
    return f->has_payment = uuid_parse(value, &f->payment);
}

static bool audit_read_user(struct request *r, void *ctx, struct str value)
{
    struct audit_filter *f = &((struct admin_audit_look *)ctx)->filter;

    (void)r;
    return f->has_user = uuid_parse(value, &f->user);
}

static bool audit_set_time(struct str value, int64_t *ret_ms) /* 0 would mean: open */
{
    return time_parse(value, ret_ms) && *ret_ms > 0;
}

static bool audit_read_from(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return audit_set_time(value, &((struct admin_audit_look *)ctx)->filter.from_ms);
}

static bool audit_read_to(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return audit_set_time(value, &((struct admin_audit_look *)ctx)->filter.to_ms);
}

static bool audit_read_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct admin_audit_look *)ctx)->limit);
}

static bool audit_read_cursor(struct request *r, void *ctx, struct str value)
{
    struct admin_audit_look *l = ctx;

    (void)r;
    return l->has_cursor = audit_cursor_read(value, &l->cursor);
}

/* --- pages --- */

static enum err audit_read_page(struct tx *tx, struct unit *u)
{
    struct admin_audit_look *l = CONTAINER_OF(u, struct admin_audit_look, answer.unit);

    return audit_page(tx, u->arena, &l->filter, l->has_cursor ? &l->cursor : NULL, l->limit,
                      &l->answer.text);
}

ANSWERS static bool audit_times_are_fine(struct request *r, const struct audit_filter *f)
{
    struct json_problems problems;

    fields_problems(r, &problems);
    if (f->from_ms && f->to_ms && f->from_ms >= f->to_ms)
        json_problem_in(&problems, "to", "must be later than from", "from より後にしてください");
    return !fields_refused(r, &problems);
}

void api_audit_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct query_parameter parameters[] = {
        { "operation", audit_read_operation, WORDS_TEXT },
        { "paymentId", audit_read_payment, WORDS_UUID },
        { "userId", audit_read_user, WORDS_UUID },
        { "subject", audit_read_subject, WORDS_TEXT },
        { "result", audit_read_result, WORDS_TEXT },
        { "from", audit_read_from, WORDS_TIME },
        { "to", audit_read_to, WORDS_TIME },
        QUERY_LIMIT(audit_read_limit),
        QUERY_CURSOR(audit_read_cursor),
    };
    static const struct unit_kind kind = { "audit.list", UNIT_READ, audit_read_page, NULL };
    struct admin_audit_look *l = api_room(r, sizeof(*l));

    (void)p;
    if (!l)
        return;
    l->limit = PAGE_DEFAULT;
    if (query_read(r, parameters, COUNT(parameters), l) && audit_times_are_fine(r, &l->filter))
        api_answer_post(&l->answer, r, ctx, &kind, api_answer_show);
}

/* --- verifying --- */

static bool audit_read_place(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return audit_place_read(value, &((struct admin_audit_look *)ctx)->place);
}

static bool audit_read_expect(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return audit_expect_read(value, &((struct admin_audit_look *)ctx)->expect);
}

static enum err admin_audit_verify(struct tx *tx, struct unit *u)
{
    struct admin_audit_look *l = CONTAINER_OF(u, struct admin_audit_look, answer.unit);

    return audit_verify_step(tx, u->arena, &l->place, &l->expect, &l->answer.text);
}

void api_audit_verify(struct request *r, void *ctx, const struct principal *p)
{
    static const struct query_parameter parameters[] = {
        { "expect", audit_read_expect,
          "must be the number of a seal, a colon, and its hash of 64 hex digits",
          "シール番号、コロン、64 桁の 16 進数のハッシュの形にしてください" },
        QUERY_CURSOR(audit_read_place),
    };
    static const struct unit_kind kind = { "audit.verify", UNIT_READ, admin_audit_verify, NULL };
    struct admin_audit_look *l = api_room(r, sizeof(*l));

    (void)p;
    if (l && query_read(r, parameters, COUNT(parameters), l))
        api_answer_post(&l->answer, r, ctx, &kind, api_answer_show);
}

/* --- all of it --- */

static bool audit_read_format(struct request *r, void *ctx, struct str value)
{
    struct admin_audit_look *l = ctx;

    (void)r;
    l->format = str_eq(value, S("csv")) ? AUDIT_CSV : AUDIT_JSONL;
    return l->format == AUDIT_CSV || str_eq(value, S("jsonl"));
}

static bool audit_read_export_from(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return audit_export_read(value, &((struct admin_audit_look *)ctx)->export_from);
}

static enum err admin_audit_export(struct tx *tx, struct unit *u)
{
    struct admin_audit_look *l = CONTAINER_OF(u, struct admin_audit_look, answer.unit);

    return audit_export(tx, u->arena, l->format, &l->export_from, &l->export);
}

static void admin_audit_exported(struct unit *u)
{
    struct admin_audit_look *l = CONTAINER_OF(u, struct admin_audit_look, answer.unit);
    struct request *r = l->answer.request;
    char next[AUDIT_EXPORT_TEXT + 1];

    if (u->err) {
        reply_problem(r, u->err, NULL);
        return;
    }
    audit_export_text(&l->export.next, next);
    if (!l->export.is_last)
        reply_header(r, S("X-Next-Cursor"), str_of(next));
    reply_header(r, S("Content-Disposition"), S("attachment"));
    reply_send(r, 200,
               l->format == AUDIT_CSV ? S("text/csv; charset=utf-8") : S("application/jsonl"),
               l->export.text);
}

void api_audit_export(struct request *r, void *ctx, const struct principal *p)
{
    static const struct query_parameter parameters[] = {
        { "format", audit_read_format, "must be jsonl or csv", "jsonl か csv にしてください" },
        { "cursor", audit_read_export_from, "must be the X-Next-Cursor of an earlier part",
          "前の応答の X-Next-Cursor を指定してください" },
    };
    static const struct unit_kind kind = { "audit.export", UNIT_READ, admin_audit_export, NULL };
    struct admin_audit_look *l = api_room(r, sizeof(*l));

    (void)p;
    if (l && query_read(r, parameters, COUNT(parameters), l))
        api_answer_post(&l->answer, r, ctx, &kind, admin_audit_exported);
}
