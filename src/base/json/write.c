#include "base/json/write.h"

#include "base/text.h"

void out_name(struct buf *b, const char *name)
{
    if (b->n && b->p[b->n - 1] != '{')
        buf_char(b, ',');
    buf_char(b, '"');
    buf_add(b, str_of(name));
    buf_add(b, S("\":"));
}

void out_uuid(struct buf *b, const char *name, struct uuid id)
{
    char text[UUID_TEXT + 1];

    uuid_text(id, text);
    out_name(b, name);
    buf_char(b, '"');
    buf_add(b, (struct str){ text, UUID_TEXT });
    buf_char(b, '"');
}

void out_text(struct buf *b, const char *name, struct str s)
{
    out_name(b, name);
    if (s.n)
        buf_json(b, s);
    else
        buf_add(b, S("null"));
}

void out_int(struct buf *b, const char *name, int64_t v)
{
    out_name(b, name);
    buf_i64(b, v);
}

void out_amount(struct buf *b, const char *name, int64_t v)
{
    if (v >= 0)
        out_int(b, name, v);
    else
        out_json(b, name, S("null"));
}

void out_bool(struct buf *b, const char *name, bool v)
{
    out_json(b, name, v ? S("true") : S("false"));
}

void out_time(struct buf *b, const char *name, int64_t ms)
{
    char text[TIME_TEXT + 1];

    if (ms)
        time_text(ms, text);
    out_text(b, name, ms ? str_of(text) : (struct str){ 0 });
}

void out_json(struct buf *b, const char *name, struct str json)
{
    out_name(b, name);
    buf_add(b, json.n ? json : S("null"));
}

struct str out_done(struct buf *b, struct arena *a)
{
    struct str copy = b->failed ? (struct str){ 0 } : arena_str(a, buf_str(b));

    buf_release(b);
    return copy;
}
