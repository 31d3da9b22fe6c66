/* target.c - splits and decodes the request target. */
#include "http/message/target.h"

#include "base/hex.h"

#include <string.h>

static const char control_words[] = "The path has control bytes or is not UTF-8.";

bool percent_next(struct str *s, unsigned char *ret_byte)
{
    size_t n = 1;

    if (!s->n)
        return false;
    *ret_byte = (unsigned char)s->p[0];
    if (s->p[0] == '%') {
        if (s->n < 3 || hex_value(s->p[1]) < 0 || hex_value(s->p[2]) < 0)
            return false;
        *ret_byte = (unsigned char)(hex_value(s->p[1]) * 16 + hex_value(s->p[2]));
        n = 3;
    }
    s->p += n;
    s->n -= n;
    return true;
}

struct str percent_decode(struct arena *a, struct str s)
{
    char *p;
    size_t n = 0;
    unsigned char c;

    if (!s.n || !memchr(s.p, '%', s.n))
        return s.p ? s : S("");
    p = arena_alloc(a, s.n, 1);
    if (!p)
        return (struct str){ 0 };
    while (percent_next(&s, &c))
        p[n++] = (char)c;
    return s.n ? (struct str){ 0 } : (struct str){ p, n };
}

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return true;
    return false;
}

static bool is_dots(struct str segment)
{
    unsigned char c;
    int dots = 0;

    while (percent_next(&segment, &c)) {
        if (c != '.' || ++dots > 2)
            return false;
    }
    return dots > 0;
}

static bool has_dots(struct str raw_path)
{
    while (raw_path.n)
        if (is_dots(str_cut(&raw_path, '/')))
            return true;
    return false;
}

/* Cuts "http://host" off an absolute target. False: the target is not absolute. */
static bool cut_authority(struct str *target)
{
    struct str rest = *target;
    struct str scheme = str_cut(&rest, ':');
    size_t i = 2;

    if (!str_eq_nocase(scheme, S("http")) && !str_eq_nocase(scheme, S("https")))
        return false;
    if (!str_starts(rest, S("//")))
        return false;
    while (i < rest.n && rest.p[i] != '/' && rest.p[i] != '?')
        i++;
    *target = (struct str){ rest.p + i, rest.n - i };
    return i > 2;
}

enum err target_split(struct str target, bool is_options, struct target *ret, const char **ret_why)
{
    struct target t;

    *ret_why = "The request target is neither a path nor an http URL.";
    if (memchr(target.p, '#', target.n))
        return ERR_VALIDATION;
    if (!(is_options && str_eq(target, S("*"))) && target.p[0] != '/' && !cut_authority(&target))
        return ERR_VALIDATION;
    t.query = target;
    t.raw_path = str_cut(&t.query, '?');
    if (!t.raw_path.n)
        t.raw_path = S("/");
    *ret_why = control_words;
    if (has_control(t.raw_path)) /* a tab may stand in a line */
        return ERR_VALIDATION;
    t.path = t.raw_path;
    *ret = t;
    *ret_why = NULL;
    return OK;
}

enum err target_decode(struct arena *a, struct target *t, const char **ret_why)
{
    size_t used = a->used;

    t->path = percent_decode(a, t->raw_path);
    *ret_why = "The path has broken percent-encoding.";
    if (!t->path.p)
        return a->used > used ? ERR_VALIDATION : ERR_NO_MEMORY;
    *ret_why = control_words;
    if (has_control(t->path) || !str_is_utf8(t->path))
        return ERR_VALIDATION;
    *ret_why = "The path has a segment of dots.";
    if (has_dots(t->raw_path))
        return ERR_VALIDATION;
    *ret_why = NULL;
    return OK;
}
