/* batch_item.c - cuts a batch into items by counting brackets, checks each with the strict JSON
 * scanner, and reads the ones that passed. So a large batch needs no tree, and the scanner's limits
 * on depth and number apply to each item. */
#include "qstash/publish/batch_item.h"

#include "base/limits.h"
#include "qstash/publish/input_reader.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct str skip_blanks(struct str s)
{
    while (s.n && is_blank(s.p[0]))
        s = str_behind(s, 1);
    return s;
}

/* --- cutting --- */

/* The size of the string that s begins with, both quotes included. */
static size_t string_size(struct str s)
{
    size_t n = 1;

    while (n < s.n && s.p[n] != '"')
        n += s.p[n] == '\\' ? 2 : 1;
    return n < s.n ? n + 1 : s.n;
}

/* Cuts off everything up to the comma or bracket that ends a value. The scanner checks it later. */
static struct str cut_value(struct str *s)
{
    struct str value = *s;
    size_t n = 0;
    int depth = 0;

    while (n < s->n) {
        char c = s->p[n];

        if (!depth && (c == ',' || c == ']' || c == '}'))
            break;
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        n += c == '"' ? string_size(str_behind(*s, n)) : 1;
    }
    value.n = n;
    *s = str_behind(*s, n);
    return value;
}

static bool take_char(struct str *s, char c)
{
    *s = skip_blanks(*s);
    if (!s->n || s->p[0] != c)
        return false;
    *s = str_behind(*s, 1);
    return true;
}

/* --- the list --- */

struct batch_item_list {
    struct arena *arena;
    struct str text;
    struct batch_item *all;
    size_t n, room;
    struct json_fault *fault;
};

static enum err batch_item_refuse(struct batch_item_list *l, struct str rest, const char *why)
{
    *l->fault = (struct json_fault){ l->text.n - rest.n, why };
    return ERR_VALIDATION;
}

static enum err make_room(struct batch_item_list *l)
{
    size_t room = l->room ? l->room * 2 : 16;
    struct batch_item *all;

    if (l->n < l->room)
        return OK;
    all = arena_alloc(l->arena, room, sizeof(*all));
    if (!all)
        return ERR_NO_MEMORY;
    if (l->n)
        memcpy(all, l->all, l->n * sizeof(*all));
    l->all = all;
    l->room = room;
    return OK;
}

static enum err batch_item_add(struct batch_item_list *l, struct str value)
{
    static const char *const paths[] = { "destination", "headers", "body", "queue" };
    struct json_value picked[COUNT(paths)];
    struct batch_item *item;
    enum err e = make_room(l);

    if (e)
        return e;
    e = json_pick(value, paths, COUNT(paths), picked, l->fault);
    if (e) {
        l->fault->offset += (size_t)(value.p - l->text.p);
        return e;
    }
    item = &l->all[l->n++];
    *item = (struct batch_item){ .type = value.p[0] == '{' ? JSON_OBJECT : JSON_ABSENT,
                                 .destination = picked[0],
                                 .headers = picked[1],
                                 .body = picked[2],
                                 .queue = picked[3] };
    return OK;
}

static enum err add_all(struct batch_item_list *l, struct str *rest)
{
    enum err e;

    do {
        struct str value;

        *rest = skip_blanks(*rest);
        if (l->n == LIMIT_QSTASH_ITEMS)
            return batch_item_refuse(l, *rest, "the batch has too many items");
        value = cut_value(rest);
        if (!value.n)
            return batch_item_refuse(l, *rest, "a value was expected");
        e = batch_item_add(l, value);
        if (e)
            return e;
    } while (take_char(rest, ','));
    return OK;
}

enum err batch_items_read(struct arena *a, struct str text, struct batch_item **ret_items,
                          size_t *ret_count, struct json_fault *ret_fault)
{
    struct batch_item_list l = { .arena = a, .text = text, .fault = ret_fault };
    struct str rest = text;
    enum err e;

    if (!take_char(&rest, '['))
        return batch_item_refuse(&l, rest, "an array was expected");
    if (!take_char(&rest, ']')) {
        e = add_all(&l, &rest);
        if (e)
            return e;
        if (!take_char(&rest, ']'))
            return batch_item_refuse(&l, rest, "the array does not end");
    }
    rest = skip_blanks(rest);
    if (rest.n)
        return batch_item_refuse(&l, rest, "there is something behind the array");
    *ret_items = l.all;
    *ret_count = l.n;
    return OK;
}

/* --- one of them --- */

static enum err refuse_item(struct input *in, const char *why)
{
    return why_err(&in->why, ERR_VALIDATION, "%s", why);
}

static enum err string_text(struct arena *a, const struct json_value *v, struct str *ret_text)
{
    *ret_text = v->raw;
    return v->has_escape ? json_unescape(a, v, ret_text) : OK;
}

static bool is_absent(const struct json_value *v)
{
    return v->type == JSON_ABSENT || v->type == JSON_NULL;
}

/* Cuts off and decodes the string that s begins with. */
static enum err take_string(struct arena *a, struct str *s, struct str *ret_text)
{
    size_t n = string_size(*s);
    struct json_value v = { .type = JSON_STRING, .raw = { s->p + 1, n - 2 } };

    v.has_escape = v.raw.n && memchr(v.raw.p, '\\', v.raw.n);
    *s = str_behind(*s, n);
    return string_text(a, &v, ret_text);
}

/* A number or a word is taken as its text; null counts as absent. */
static enum err take_value(struct arena *a, struct str *s, struct input *in, struct str *ret_text)
{
    struct str value;

    if (s->p[0] == '"')
        return take_string(a, s, ret_text);
    if (s->p[0] == '{' || s->p[0] == '[')
        return refuse_item(in, "the values of headers must be strings");
    value = cut_value(s);
    while (value.n && is_blank(value.p[value.n - 1]))
        value.n--;
    *ret_text = str_eq(value, S("null")) ? (struct str){ 0 } : value;
    return OK;
}

/* json is an object that has passed the scanner. */
static enum err read_headers(struct arena *a, struct str json, struct input *in,
                             struct header **ret_headers, size_t *ret_count)
{
    struct header *h = arena_alloc(a, LIMIT_HEADER_COUNT, sizeof(*h));
    enum err e = h ? OK : ERR_NO_MEMORY;
    size_t n = 0, bytes = 0;

    json = str_behind(json, 1);
    while (!e && !take_char(&json, '}')) {
        take_char(&json, ',');
        json = skip_blanks(json);
        if (n == LIMIT_HEADER_COUNT || bytes > LIMIT_HEADERS)
            return refuse_item(in, "there are too many headers");
        e = take_string(a, &json, &h[n].name);
        take_char(&json, ':');
        json = skip_blanks(json);
        if (!e)
            e = take_value(a, &json, in, &h[n].value);
        bytes += h[n].name.n + h[n].value.n;
        n += h[n].value.p != NULL;
    }
    *ret_headers = h;
    *ret_count = n;
    return e ? e : bytes > LIMIT_HEADERS ? refuse_item(in, "there are too many headers") : OK;
}

static enum err check_item(const struct batch_item *item, struct input *in)
{
    if (item->type != JSON_OBJECT)
        return refuse_item(in, "an item must be an object");
    if (item->destination.type != JSON_STRING)
        return refuse_item(in, "destination must be a string");
    if (!is_absent(&item->headers) && item->headers.type != JSON_OBJECT)
        return refuse_item(in, "headers must be an object");
    if (!is_absent(&item->body) && item->body.type != JSON_STRING)
        return refuse_item(in, "body must be a string");
    if (!is_absent(&item->queue) && item->queue.type != JSON_STRING)
        return refuse_item(in, "queue must be a string");
    return OK;
}

enum err batch_item_input(struct arena *a, const struct batch_item *item,
                          const struct input_source *common, struct input *ret_input)
{
    struct input_source s = *common;
    struct header *headers = NULL;
    enum err e = check_item(item, ret_input);

    s.is_text = true;
    if (!e)
        e = string_text(a, &item->destination, &s.destination);
    if (!e && item->headers.type == JSON_OBJECT)
        e = read_headers(a, item->headers.raw, ret_input, &headers, &s.header_count);
    if (!e && item->body.type == JSON_STRING)
        e = string_text(a, &item->body, &s.body);
    if (!e && item->queue.type == JSON_STRING)
        e = string_text(a, &item->queue, &s.queue);
    s.headers = headers;
    return e ? e : input_read(a, &s, ret_input);
}
