/* remote.c - the source of dead letters that calls the admin API of the server that has the SQLite
 * file. */
#include "base/buf.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/admin_ask.h"
#include "cli/dlq/command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_MAX_BYTES = 6 * 1024, BODY_MAX = LIMIT_DEAD_BODY };

struct dlq_remote_remote {
    struct dlq_source source;
    struct admin *admin;
};

/* --- what is sent --- */

static struct str time_or_none(int64_t ms, char text[TIME_TEXT + 1])
{
    if (!ms)
        return (struct str){ 0 };
    time_text(ms, text);
    return str_of(text);
}

static void add_query(struct buf *b, const struct dead_filter *f)
{
    char payment[UUID_TEXT + 1], from[TIME_TEXT + 1], to[TIME_TEXT + 1];

    uuid_text(f->payment, payment);
    admin_parameter(b, "kind", f->kind);
    admin_parameter(b, "ref", f->ref);
    admin_parameter(b, "reason", f->reason);
    admin_parameter(b, "cause", f->cause);
    admin_parameter(b, "paymentId", f->has_payment ? str_of(payment) : (struct str){ 0 });
    admin_parameter(b, "from", time_or_none(f->from_ms, from));
    admin_parameter(b, "to", time_or_none(f->to_ms, to));
}

static void out_given(struct buf *b, const char *name, struct str text)
{
    if (text.n)
        out_text(b, name, text);
}

static void add_filter(struct buf *b, const struct dead_filter *f)
{
    out_name(b, "filter");
    buf_char(b, '{');
    out_given(b, "kind", f->kind);
    out_given(b, "ref", f->ref);
    out_given(b, "reason", f->reason);
    out_given(b, "cause", f->cause);
    if (f->has_payment)
        out_uuid(b, "paymentId", f->payment);
    if (f->from_ms)
        out_time(b, "from", f->from_ms);
    if (f->to_ms)
        out_time(b, "to", f->to_ms);
    buf_char(b, '}');
}

static void add_ids(struct buf *b, const struct uuid *ids, size_t n)
{
    out_name(b, "ids");
    buf_char(b, '[');
    for (size_t i = 0; i < n; i++) {
        char text[UUID_TEXT + 1];

        uuid_text(ids[i], text);
        buf_fmt(b, "%s\"%s\"", i ? "," : "", text);
    }
    buf_char(b, ']');
}

void dlq_choice(struct buf *b, const struct dlq_options *options, size_t first_id, size_t id_count)
{
    if (options->id_count)
        add_ids(b, options->ids + first_id, id_count);
    else if (options->all)
        out_bool(b, "all", true);
    else
        add_filter(b, &options->filter);
}

static void add_act(struct buf *b, const struct dlq_options *options, const struct dlq_span *span)
{
    buf_char(b, '{');
    dlq_choice(b, options, span->first_id, span->id_count);
    if (!options->id_count)
        out_int(b, "limit", span->limit);
    out_given(b, "cursor", span->cursor);
    out_bool(b, "dryRun", span->dry_run);
    buf_char(b, '}');
}

/* --- what comes back --- */

static void keep_problem(struct dlq_remote_remote *m, int status, struct str answer)
{
    CLEANUP(json_freep) cJSON *tree = NULL;

    json_parse(answer, &tree, NULL); /* NULL where it is none */
    admin_problem(status, tree, &m->source.why);
}

static enum err dlq_remote_call(struct dlq_remote_remote *m, struct arena *a, const char *method,
                                struct str path, struct str body, struct str *ret_json)
{
    int status;
    enum err e =
        admin_ask(m->admin, a, method, path, ADMIN_JSON, body, &status, ret_json, &m->source.why);

    if (e || status == 200)
        return e;
    if (status == 404)
        return ERR_NOT_FOUND;
    keep_problem(m, status, *ret_json);
    return status >= 500 ? ERR_UNAVAILABLE : ERR_VALIDATION;
}

/* --- the source --- */

static enum err dlq_remote_list(struct dlq_source *s, struct arena *a, const char *address,
                                const struct dead_filter *f, struct str cursor, int limit,
                                struct str *ret_json)
{
    struct dlq_remote_remote *m = CONTAINER_OF(s, struct dlq_remote_remote, source);
    struct buf path;
    enum err e = ERR_NO_MEMORY;

    buf_init(&path, PATH_MAX_BYTES);
    buf_fmt(&path, "%s?limit=%d", address, limit);
    add_query(&path, f);
    admin_parameter(&path, "cursor", cursor);
    if (!path.failed)
        e = dlq_remote_call(m, a, "GET", buf_str(&path), S(""), ret_json);
    buf_release(&path);
    return e;
}

static enum err remote_page(struct dlq_source *s, struct arena *a, const struct dead_filter *f,
                            struct str cursor, int limit, struct str *ret_json)
{
    return dlq_remote_list(s, a, "/api/v1/admin/dlq", f, cursor, limit, ret_json);
}

static enum err remote_show(struct dlq_source *s, struct arena *a, struct uuid id,
                            struct str *ret_json)
{
    struct dlq_remote_remote *m = CONTAINER_OF(s, struct dlq_remote_remote, source);
    char text[UUID_TEXT + 1], path[128];

    uuid_text(id, text);
    snprintf(path, sizeof(path), "/api/v1/admin/dlq/%s", text);
    return dlq_remote_call(m, a, "GET", str_of(path), S(""), ret_json);
}

static enum err remote_act(struct dlq_source *s, struct arena *a, const struct dlq_options *options,
                           const struct dlq_span *span, struct str *ret_json)
{
    struct dlq_remote_remote *m = CONTAINER_OF(s, struct dlq_remote_remote, source);
    struct str path =
        options->verb == DLQ_RETRY ? S("/api/v1/admin/dlq/retry") : S("/api/v1/admin/dlq/delete");
    struct buf body;
    enum err e = ERR_NO_MEMORY;

    buf_init(&body, BODY_MAX);
    add_act(&body, options, span);
    if (!body.failed)
        e = dlq_remote_call(m, a, "POST", path, buf_str(&body), ret_json);
    buf_release(&body);
    return e;
}

static enum err remote_groups(struct dlq_source *s, struct arena *a, const struct dead_filter *f,
                              struct str cursor, int limit, struct str *ret_json)
{
    return dlq_remote_list(s, a, "/api/v1/admin/dlq/groups", f, cursor, limit, ret_json);
}

static enum err remote_edit(struct dlq_source *s, struct arena *a, struct uuid id, struct str text)
{
    struct dlq_remote_remote *m = CONTAINER_OF(s, struct dlq_remote_remote, source);
    char id_text[UUID_TEXT + 1], path[128];
    struct str json;
    struct buf body;
    enum err e = ERR_NO_MEMORY;

    uuid_text(id, id_text);
    snprintf(path, sizeof(path), "/api/v1/admin/dlq/%s/retry", id_text);
    buf_init(&body, LIMIT_DEAD_EDIT_BODY);
    buf_char(&body, '{');
    out_text(&body, "body", text);
    buf_char(&body, '}');
    if (!body.failed)
        e = dlq_remote_call(m, a, "POST", str_of(path), buf_str(&body), &json);
    buf_release(&body);
    return e;
}

static void remote_free(struct dlq_source *s)
{
    struct dlq_remote_remote *m = CONTAINER_OF(s, struct dlq_remote_remote, source);

    admin_free(m->admin);
    free(m);
}

enum err dlq_remote_open(struct node *n, const char *address, struct dlq_source **ret_source,
                         struct why *why)
{
    static const struct dlq_source source = { .page = remote_page,
                                              .show = remote_show,
                                              .act = remote_act,
                                              .groups = remote_groups,
                                              .edit = remote_edit,
                                              .free = remote_free };
    struct dlq_remote_remote *m = calloc(1, sizeof(*m));
    enum err e = m ? admin_open(&n->settings, address, &m->admin, why) : ERR_NO_MEMORY;

    if (e) {
        free(m);
        return e;
    }
    m->source = source;
    m->source.afterwards = "The server is running them now";
    *ret_source = &m->source;
    return OK;
}
