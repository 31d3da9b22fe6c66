/* text.c - adds one entry, and writes its details: text from outside is redacted and shortened
 * (A6). */
#include "base/text.h"

#include "observe/redact.h"
#include "timeline/entries.h"

enum { DETAIL_MAX = 16 * 1024, WORDS_CHARS = 300, WORDS_MAX = 64 * 1024 };

/* --- values --- */

bool val_is_word(const struct val *v, struct str word)
{
    return v->type == VAL_TEXT && str_eq(v->s, word);
}

int64_t val_number(const struct val *v)
{
    return v->type == VAL_INT ? v->i : 0;
}

/* --- entries --- */

struct entry *timeline_add(struct timeline *t, enum timeline_lane lane, struct str kind,
                           int64_t at_ms)
{
    struct entry *e = &t->nowhere;

    if (t->count < TIMELINE_ENTRIES)
        e = &t->entries[t->count];
    else
        t->truncated = true;
    *e = (struct entry){ .at_ms = at_ms,
                         .kind = timeline_kind_of(lane, kind),
                         .times = 1,
                         .ms = -1,
                         .order = t->count };
    t->count += t->count < TIMELINE_ENTRIES;
    return e;
}

void timeline_ended(struct entry *e, int64_t ended_ms)
{
    e->ended_ms = ended_ms;
    if (ended_ms)
        e->ms = ended_ms > e->at_ms ? ended_ms - e->at_ms : 0;
}

struct str timeline_uuid(struct timeline *t, struct str bytes)
{
    char text[UUID_TEXT + 1];
    struct uuid id;

    if (!uuid_of_bytes(bytes, &id))
        return (struct str){ 0 };
    uuid_text(id, text);
    return arena_str(t->arena, str_of(text));
}

void timeline_message(struct timeline *t, struct uuid id, struct str kind)
{
    if (t->message_count == TIMELINE_MESSAGES)
        return;
    t->messages[t->message_count].id = id;
    t->messages[t->message_count++].kind = kind;
}

/* --- details --- */

void detail_begin(struct buf *b)
{
    buf_init(b, DETAIL_MAX);
    buf_char(b, '{');
}

void detail_end(struct timeline *t, struct entry *e, struct buf *b)
{
    buf_char(b, '}');
    if (t->detail_bytes + b->n > LIMIT_TIMELINE_DETAILS) {
        t->truncated = true;
        buf_release(b);
        return;
    }
    t->detail_bytes += b->n;
    e->detail = out_done(b, t->arena);
    if (!e->detail.p)
        t->err = ERR_NO_MEMORY;
}

static bool mail_address_char(unsigned char c)
{
    return c > ' ' && c != '<' && c != '>' && c != '(' && c != ')' && c != ',' && c != ';' &&
           c != ':' && c != '"' && c != '\'' && c != '@' && c != 0x7f;
}

/* "taro@example.com" -> "****@example.com", in place. Bytes above 0x7f count as part of an address,
 * so the rest stays valid UTF-8. */
static void mask_mail_addresses(char *p, size_t n)
{
    for (size_t i = 1; i + 1 < n; i++) {
        if (p[i] != '@' || !mail_address_char((unsigned char)p[i + 1]))
            continue;
        for (size_t k = i; k > 0 && mail_address_char((unsigned char)p[k - 1]); k--)
            p[k - 1] = '*';
    }
}

void detail_words(struct buf *b, const char *name, const struct val *v)
{
    struct str words = { 0 };
    struct buf clean;

    if (v->type != VAL_TEXT || !v->s.n)
        return;
    buf_init(&clean, WORDS_MAX);
    redact_text(&clean, v->s); /* before it is cut, since cut JSON cannot be parsed */
    if (!clean.failed && clean.n) {
        mask_mail_addresses(clean.p, clean.n);
        words = cut_utf8(buf_str(&clean), WORDS_CHARS);
    }
    out_text(b, name, words);
    buf_release(&clean);
}

void detail_number(struct buf *b, const char *name, const struct val *v)
{
    if (v->type == VAL_INT)
        out_int(b, name, v->i);
}
