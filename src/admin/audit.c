/* audit.c - three reads, each a read-only unit of work of bounded size. Verification and export of
 * the whole log take several requests: each answer has the cursor for the next. */
#include "admin/audit.h"

#include "audit/list.h"
#include "audit/verify.h"
#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"

enum { PAGE_DEFAULT = 20 };

struct audit_call { /* one request, in its own arena */
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

static bool audit_read_operation(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_text(value, LIMIT_AUDIT_TEXT, &((struct audit_call *)ctx)->filter.operation);
}

static bool audit_read_subject(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_text(value, LIMIT_AUDIT_TEXT, &((struct audit_call *)ctx)->filter.subject);
}

static bool audit_read_result(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_text(value, LIMIT_AUDIT_TEXT, &((struct audit_call *)ctx)->filter.result);
}

static bool audit_read_payment(struct request *r, void *ctx, struct str value)
{
    struct audit_filter *f = &((struct audit_call *)ctx)->filter;

    (void)r;
    return f->has_payment = uuid_parse(value, &f->payment);
}

static bool audit_read_user(struct request *r, void *ctx, struct str value)
{
    struct audit_filter *f = &((struct audit_call *)ctx)->filter;

    (void)r;
    return f->has_user = uuid_parse(value, &f->user);
}

static bool audit_read_from(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_time(value, &((struct audit_call *)ctx)->filter.from_ms);
}

static bool audit_read_to(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_time(value, &((struct audit_call *)ctx)->filter.to_ms);
}

static bool audit_read_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct audit_call *)ctx)->limit);
}

static bool audit_read_cursor(struct request *r, void *ctx, struct str value)
{
    struct audit_call *c = ctx;

    (void)r;
    return c->has_cursor = audit_cursor_read(value, &c->cursor);
}

/* --- pages --- */

static enum err audit_read_page(struct tx *tx, struct unit *u)
{
    struct audit_call *c = CONTAINER_OF(u, struct audit_call, answer.unit);

    return audit_page(tx, u->arena, &c->filter, c->has_cursor ? &c->cursor : NULL, c->limit,
                      &c->answer.text);
}

ANSWERS static bool audit_times_are_fine(struct request *r, const struct audit_filter *f)
{
    struct json_problems problems;

    fields_problems(r, &problems);
    query_check_times(f->from_ms, f->to_ms, &problems);
    return !fields_refused(r, &problems);
}

void api_audit_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct query_parameter parameters[] = {
        { "operation", audit_read_operation, QUERY_TEXT_WORDS },
        { "paymentId", audit_read_payment, QUERY_UUID_WORDS },
        { "userId", audit_read_user, QUERY_UUID_WORDS },
        { "subject", audit_read_subject, QUERY_TEXT_WORDS },
        { "result", audit_read_result, QUERY_TEXT_WORDS },
        { "from", audit_read_from, QUERY_TIME_WORDS },
        { "to", audit_read_to, QUERY_TIME_WORDS },
        QUERY_LIMIT(audit_read_limit),
        QUERY_CURSOR(audit_read_cursor),
    };
    static const struct unit_kind kind = { "audit.list", UNIT_READ, audit_read_page, NULL };
    struct audit_call *c = api_room(r, sizeof(*c));

    (void)p;
    if (!c)
        return;
    c->limit = PAGE_DEFAULT;
    if (query_read(r, parameters, COUNT(parameters), c) && audit_times_are_fine(r, &c->filter))
        api_answer_post(&c->answer, r, ctx, &kind, api_answer_show);
}

/* --- verifying --- */

static bool audit_read_place(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return audit_place_read(value, &((struct audit_call *)ctx)->place);
}

static bool audit_read_expect(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return audit_expect_read(value, &((struct audit_call *)ctx)->expect);
}

static enum err audit_run_verify(struct tx *tx, struct unit *u)
{
    struct audit_call *c = CONTAINER_OF(u, struct audit_call, answer.unit);

    return audit_verify_step(tx, u->arena, &c->place, &c->expect, &c->answer.text);
}

void api_audit_verify(struct request *r, void *ctx, const struct principal *p)
{
    static const struct query_parameter parameters[] = {
        { "expect", audit_read_expect,
          "must be the number of a seal, a colon, and its hash of 64 hex digits",
          "シール番号、コロン、64 桁の 16 進数のハッシュの形にしてください" },
        QUERY_CURSOR(audit_read_place),
    };
    static const struct unit_kind kind = { "audit.verify", UNIT_READ, audit_run_verify, NULL };
    struct audit_call *c = api_room(r, sizeof(*c));

    (void)p;
    if (c && query_read(r, parameters, COUNT(parameters), c))
        api_answer_post(&c->answer, r, ctx, &kind, api_answer_show);
}

/* --- export --- */

static bool audit_read_format(struct request *r, void *ctx, struct str value)
{
    struct audit_call *c = ctx;

    (void)r;
    c->format = str_eq(value, S("csv")) ? AUDIT_CSV : AUDIT_JSONL;
    return c->format == AUDIT_CSV || str_eq(value, S("jsonl"));
}

static bool audit_read_export_from(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return audit_export_read(value, &((struct audit_call *)ctx)->export_from);
}

static enum err audit_run_export(struct tx *tx, struct unit *u)
{
    struct audit_call *c = CONTAINER_OF(u, struct audit_call, answer.unit);

    return audit_export(tx, u->arena, c->format, &c->export_from, &c->export);
}

static void audit_answer_export(struct unit *u)
{
    struct audit_call *c = CONTAINER_OF(u, struct audit_call, answer.unit);
    struct request *r = c->answer.request;
    char next[AUDIT_EXPORT_TEXT + 1];

    if (u->err) {
        reply_problem(r, u->err, NULL);
        return;
    }
    audit_export_text(&c->export.next, next);
    if (!c->export.is_last)
        reply_header(r, S("X-Next-Cursor"), str_of(next));
    reply_header(r, S("Content-Disposition"), S("attachment"));
    reply_send(r, 200,
               c->format == AUDIT_CSV ? S("text/csv; charset=utf-8") : S("application/jsonl"),
               c->export.text);
}

void api_audit_export(struct request *r, void *ctx, const struct principal *p)
{
    static const struct query_parameter parameters[] = {
        { "format", audit_read_format, "must be jsonl or csv", "jsonl か csv にしてください" },
        { "cursor", audit_read_export_from, "must be the X-Next-Cursor of an earlier part",
          "前の応答の X-Next-Cursor を指定してください" },
    };
    static const struct unit_kind kind = { "audit.export", UNIT_READ, audit_run_export, NULL };
    struct audit_call *c = api_room(r, sizeof(*c));

    (void)p;
    if (c && query_read(r, parameters, COUNT(parameters), c))
        api_answer_post(&c->answer, r, ctx, &kind, audit_answer_export);
}
