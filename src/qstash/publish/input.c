/* input.c - a request becomes a message: first destination and query, then the headers, then the
 * options of the query that no header gave, and last the checks that need all of them. */
#include "qstash/publish/input.h"

#include "base/limits.h"
#include "qstash/endpoint.h"
#include "qstash/header_json.h"
#include "qstash/publish/input_reader.h"

#include <stdarg.h>

bool input_refuse(struct reading *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    why_vset(&r->in->why, format, args);
    va_end(args);
    r->err = ERR_VALIDATION;
    return false;
}

bool input_no_memory(struct reading *r)
{
    r->err = ERR_NO_MEMORY;
    return false;
}

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7f)
            return true;
    return false;
}

bool input_text(struct reading *r, struct str name, struct str value, struct str *ret_text)
{
    bool is_text = r->from_query || r->s->is_text;
    struct str text = is_text ? value : header_text(r->a, value);

    if (!text.p && value.n)
        return input_no_memory(r);
    *ret_text = str_trim(text);
    return !has_control(text) || input_refuse(r, STR_FMT " has a control character", STR_ARG(name));
}

static bool take_content_type(struct reading *r, const struct header *h)
{
    if (r->has_content_type)
        return input_refuse(r, "Content-Type is given twice");
    r->has_content_type = true;
    return input_text(r, h->name, h->value, &r->content_type);
}

/* Most headers are not ours, so the prefix is checked before anything else. */
static bool take_header(struct reading *r, const struct header *h)
{
    static const struct str prefix = { "upstash-", 8 };
    struct str text, option;

    if (str_eq_nocase(h->name, S("content-type")))
        return take_content_type(r, h);
    if (h->name.n <= prefix.n || !starts_nocase(h->name, prefix))
        return true;
    option = str_behind(h->name, prefix.n);
    return input_text(r, h->name, h->value, &text) && input_option(r, h->name, option, text);
}

static bool take_headers(struct reading *r)
{
    for (size_t i = 0; i < r->s->header_count; i++)
        if (!take_header(r, &r->s->headers[i]))
            return false;
    return true;
}

static bool take_query(struct reading *r)
{
    const struct header_list *l = &r->queried_options;

    r->from_query = true;
    r->forward.fixed = r->forward.n;
    for (int side = SIDE_CALLBACK; side < SIDES; side++)
        r->callback[side].forward.fixed = r->callback[side].forward.n;
    for (size_t i = 0; i < l->n; i++)
        if (!take_header(r, &l->all[i]))
            return false;
    r->from_query = false;
    return true;
}

static bool take_options(struct reading *r)
{
    return take_headers(r) && take_query(r) && input_options_end(r) &&
           (!r->forward_all || input_forward_all(r)) && input_header_end(r) &&
           input_callbacks_end(r);
}

static struct reading reading_of(struct arena *a, const struct input_source *s, struct input *in)
{
    return (struct reading){
        .a = a,
        .s = s,
        .in = in,
        .callback = { [SIDE_CALLBACK].retries = -1, [SIDE_FAILURE].retries = -1 },
    };
}

enum err input_read(struct arena *a, const struct input_source *s, struct input *ret_input)
{
    struct reading r = reading_of(a, s, ret_input);

    *ret_input = (struct input){ .parcel = { .method = S("POST"),
                                             .retries = LIMIT_QSTASH_RETRIES_USUAL,
                                             .queue = s->queue,
                                             .body = s->body,
                                             .caller_ip = s->caller_ip } };
    if (s->body.n > LIMIT_QSTASH_BODY)
        return ERR_TOO_LARGE;
    if (s->queue.n && !input_name_is_valid(s->queue))
        input_refuse(&r, "a queue's name may have letters, digits, '.', '_' and '-', %d at most",
                     LIMIT_QSTASH_NAME);
    else if (input_destination(&r) && take_options(&r))
        input_dedup(&r);
    return r.err;
}

enum err input_override(struct arena *a, const struct input_source *s, struct input *in)
{
    struct reading r = reading_of(a, s, in);

    if (take_options(&r))
        input_dedup(&r);
    return r.err;
}

struct input_source input_source_of(const struct qstash_request *v)
{
    const struct request *r = v->r;

    return (struct input_source){
        .destination = v->rest,
        .query = v->query,
        .has_query = v->query.p > v->rest.p + v->rest.n, /* the '?' lies between them */
        .headers = r->headers,
        .header_count = r->header_count,
        .body = r->body,
        .caller_ip = request_client_ip(v->r),
        .now_ms = env_now_ms(v->q->env),
        .allow_private = v->q->allow_private,
    };
}

int64_t input_due_ms(const struct input *in, int64_t now_ms)
{
    int64_t due_ms = in->not_before_ms ? in->not_before_ms : now_ms + in->delay_ms;

    return due_ms > now_ms ? due_ms : now_ms;
}
