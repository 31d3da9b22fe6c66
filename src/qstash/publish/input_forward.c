/* input_forward.c - the headers that are forwarded with a message and with its callbacks, as JSON;
 * and the configuration of the callbacks. */
#include "base/json/json.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "qstash/header_json.h"
#include "qstash/publish/input_reader.h"

#include <string.h>

/* --- headers that are never forwarded --- */

static bool is_in(struct str name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq_nocase(name, str_of(names[i])))
            return true;
    return false;
}

/* They belong to one connection, or are set by us. */
static bool is_reserved(struct str name)
{
    static const char *const names[] = {
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "http2-settings",
        "proxy-connection",
        "proxy-authenticate",
        "proxy-authorization",
        "upstash-message-id",
        "upstash-retried",
        "upstash-signature",
        "upstash-schedule-id",
        "upstash-topic-name",
        "upstash-caller-ip",
        "upstash-region",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
    };

    return is_in(name, names, COUNT(names));
}

/* Headers that the publisher's HTTP client adds by itself. */
static bool is_noise(struct str name)
{
    static const char *const names[] = { "accept",          "accept-language", "sec-fetch-mode",
                                         "accept-encoding", "user-agent",      "content-type" };

    return is_in(name, names, COUNT(names));
}

/* --- the list --- */

static bool list_has(const struct header_list *l, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq_nocase(l->all[i].name, name))
            return true;
    return false;
}

static bool input_forward_grow(struct reading *r, struct header_list *l)
{
    size_t room = l->room ? l->room * 2 : 8;
    struct header *all = arena_alloc(r->a, room, sizeof(*all));

    if (!all)
        return input_no_memory(r);
    if (l->n)
        memcpy(all, l->all, l->n * sizeof(*all));
    l->all = all;
    l->room = room;
    return true;
}

static bool input_forward_add(struct reading *r, struct header_list *l, struct str name,
                              struct str value)
{
    if (l->n == LIMIT_HEADER_COUNT)
        return input_refuse(r, "more than %d headers are to be sent along", LIMIT_HEADER_COUNT);
    if (l->n == l->room && !input_forward_grow(r, l))
        return false;
    name = header_name(r->a, name);
    if (!name.p)
        return input_no_memory(r);
    l->all[l->n++] = (struct header){ name, value };
    return true;
}

bool input_forward(struct reading *r, struct header_list *list, struct str name, struct str value)
{
    if (!header_name_is_valid(name))
        return input_refuse(r, "a header that is to be sent along has no valid name");
    if (is_reserved(name) || (r->from_query && list_has(list, list->fixed, name)))
        return true;
    return input_forward_add(r, list, name, value);
}

/* --- all of them --- */

static bool is_named_in(struct str list, struct str name)
{
    while (list.n)
        if (str_eq_nocase(str_trim(str_cut(&list, ',')), name))
            return true;
    return false;
}

/* "Connection: x-hop" says that x-hop belongs to that connection. */
static bool is_of_connection(const struct reading *r, struct str name)
{
    for (size_t i = 0; i < r->s->header_count; i++)
        if (str_eq_nocase(r->s->headers[i].name, S("connection")) &&
            is_named_in(r->s->headers[i].value, name))
            return true;
    return false;
}

/* The publisher's token for this API must not reach the destination. */
static bool is_our_token(const struct header *h)
{
    struct str rest = h->value;

    return str_eq_nocase(h->name, S("authorization")) &&
           str_eq_nocase(str_cut(&rest, ' '), S("Bearer"));
}

bool input_forward_all(struct reading *r)
{
    size_t explicit = r->forward.n;

    for (size_t i = 0; i < r->s->header_count; i++) {
        const struct header *h = &r->s->headers[i];
        struct str text;

        if (starts_nocase(h->name, S("upstash-")) || is_noise(h->name) || is_our_token(h) ||
            is_of_connection(r, h->name) || list_has(&r->forward, explicit, h->name))
            continue;
        if (!input_text(r, h->name, h->value, &text) ||
            !input_forward(r, &r->forward, h->name, text))
            return false;
    }
    return true;
}

/* --- as JSON --- */

/* Keeps the message's headers that are not given again. */
static bool merge_known(struct reading *r)
{
    size_t fresh = r->forward.n, count;
    struct header *known;
    enum err e = header_json_read(r->a, r->in->parcel.header, &known, &count);

    if (e) {
        r->err = e;
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct str text = header_text(r->a, known[i].value);

        if (!text.p)
            return input_no_memory(r);
        if (!list_has(&r->forward, fresh, known[i].name) &&
            !input_forward_add(r, &r->forward, known[i].name, text))
            return false;
    }
    return true;
}

bool input_header_end(struct reading *r)
{
    static const struct str type = { "Content-Type", 12 };
    struct buf b;

    if (r->content_type.n && !list_has(&r->forward, r->forward.n, type) &&
        !input_forward_add(r, &r->forward, type, r->content_type))
        return false;
    if (!r->forward.n)
        return true;
    if (r->in->parcel.header.n && !merge_known(r))
        return false;
    buf_init(&b, LIMIT_QSTASH_HEADER);
    header_json_write(&b, r->forward.all, r->forward.n);
    r->in->parcel.header = out_done(&b, r->a);
    return r->in->parcel.header.p || input_no_memory(r);
}

static void write_callback(struct buf *b, const struct callback_input *c)
{
    buf_add(b, S("{\"url\":"));
    buf_json(b, c->url);
    if (c->method.n)
        out_text(b, "method", c->method);
    if (c->retries >= 0)
        out_int(b, "retries", c->retries);
    if (c->retry_delay.n)
        out_text(b, "retryDelay", c->retry_delay);
    if (c->timeout_ms)
        out_int(b, "timeoutMs", c->timeout_ms);
    if (c->forward.n) {
        out_name(b, "header");
        header_json_write(b, c->forward.all, c->forward.n);
    }
    buf_char(b, '}');
}

/* A callback that is given replaces the stored one. */
static void add_side(struct buf *b, const char *name, const struct callback_input *c,
                     struct str known)
{
    if (!c->url.n && !known.n)
        return;
    out_name(b, name);
    if (c->url.n)
        write_callback(b, c);
    else
        buf_add(b, known);
}

bool input_callbacks_end(struct reading *r)
{
    static const char *const sides[] = { "callback", "failure" };
    const struct callback_input *c = &r->callback[SIDE_CALLBACK], *f = &r->callback[SIDE_FAILURE];
    struct json_value known[COUNT(sides)] = { { 0 } };
    struct buf b;

    if (!c->url.n && !f->url.n)
        return true;
    if (r->in->parcel.callbacks.n)
        r->err = json_pick(r->in->parcel.callbacks, sides, COUNT(sides), known, NULL);
    if (r->err)
        return false;
    buf_init(&b, 2 * LIMIT_QSTASH_HEADER);
    buf_char(&b, '{');
    add_side(&b, "callback", c, known[0].raw);
    add_side(&b, "failure", f, known[1].raw);
    buf_char(&b, '}');
    r->in->parcel.callbacks = out_done(&b, r->a);
    return r->in->parcel.callbacks.p || input_no_memory(r);
}
