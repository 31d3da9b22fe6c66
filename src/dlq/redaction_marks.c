/* redaction_marks.c - counts the marks of redaction in a text, and merges an edited text that
 * is not JSON: the change is what lies between the longest equal beginning and end. Pure. */
#include "dlq/redaction_marks.h"

#include <string.h>

enum { SURELY_A_MASK = 4 }; /* so many stars count as a mask wherever the text has star masks */

/* --- counting --- */

struct mark_counts {
    size_t redacted, zero, stars[MARK_STARS + 1];
};

static bool mark_is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.';
}

static size_t mark_stars_at(struct str s, size_t i)
{
    size_t n = 0;

    while (i + n < s.n && s.p[i + n] == '*')
        n++;
    return n;
}

static bool mark_is_zero(struct str s, size_t i)
{
    return s.p[i] == '0' && (!i || !mark_is_word(s.p[i - 1])) &&
           (i + 1 == s.n || !mark_is_word(s.p[i + 1]));
}

static void marks_count(struct str s, struct mark_counts *c)
{
    static const struct str mark = S("[redacted]");

    *c = (struct mark_counts){ 0 };
    for (size_t i = 0, n; i < s.n; i += n) {
        n = mark_stars_at(s, i);
        if (n)
            c->stars[n < MARK_STARS ? n : MARK_STARS]++;
        else
            n = 1;
        c->zero += mark_is_zero(s, i);
        if (s.p[i] == '[' && str_starts((struct str){ s.p + i, s.n - i }, mark))
            c->redacted++;
    }
}

void marks_of(struct str was, struct str shown, struct marks *ret_marks)
{
    struct mark_counts before, now;

    marks_count(was, &before);
    marks_count(shown, &now);
    *ret_marks = (struct marks){ .redacted = now.redacted > before.redacted,
                                 .zero = now.zero > before.zero };
    for (size_t i = 0; i <= MARK_STARS; i++) {
        ret_marks->stars[i] = now.stars[i] > before.stars[i];
        ret_marks->any_stars |= ret_marks->stars[i];
    }
}

bool marks_left(const struct marks *m, struct str text, bool zero_counts)
{
    struct mark_counts c;

    marks_count(text, &c);
    if ((m->redacted && c.redacted) || (zero_counts && m->zero && c.zero))
        return true;
    for (size_t i = 1; i <= MARK_STARS; i++)
        if (c.stars[i] && (m->stars[i] || (m->any_stars && i >= SURELY_A_MASK)))
            return true;
    return false;
}

/* --- merging a text --- */

struct text_edit {
    struct str was, shown, edited;
    size_t before, behind; /* bytes at the beginning and end that are as they were shown */
};

/* A 0 at the end of a hidden number is part of the mask, whatever it replaced. */
static bool text_edit_is_hidden(const struct text_edit *t, size_t i)
{
    const char *was = t->was.p, *shown = t->shown.p;

    return was[i] != shown[i] || (shown[i] == '0' && i && shown[i - 1] == ' ' && was[i - 1] != ' ');
}

static void text_edit_find(struct text_edit *t)
{
    struct str s = t->shown, e = t->edited;
    size_t least = s.n < e.n ? s.n : e.n;

    while (t->before < least && s.p[t->before] == e.p[t->before])
        t->before++;
    while (t->behind < least && s.p[s.n - 1 - t->behind] == e.p[e.n - 1 - t->behind])
        t->behind++;
}

/* If the changed part looks like its neighbours, any of them may have been removed or added:
 *
 *     cvc=***\ncvc=***\n  -->  cvc=***\n
 *
 * That matters only if something is hidden there; then this returns false. */
static bool text_edit_settle(struct text_edit *t)
{
    size_t n = t->shown.n, least = n < t->edited.n ? n : t->edited.n, gone = n - least;

    if (t->before + t->behind <= least)
        return true;
    for (size_t i = least - t->behind; i < t->before; i++)
        if (text_edit_is_hidden(t, i) || text_edit_is_hidden(t, i + gone))
            return false;
    t->behind = least - t->before;
    return true;
}

/* A mask that was changed in part counts as changed. */
static void text_edit_whole_masks(struct text_edit *t)
{
    size_t n = t->shown.n;

    while (t->before && t->before < n && text_edit_is_hidden(t, t->before) &&
           text_edit_is_hidden(t, t->before - 1))
        t->before--;
    while (t->behind && t->behind < n && text_edit_is_hidden(t, n - t->behind) &&
           text_edit_is_hidden(t, n - t->behind - 1))
        t->behind--;
}

static struct str text_edit_middle(const struct text_edit *t)
{
    return (struct str){ t->edited.p + t->before, t->edited.n - t->before - t->behind };
}

static enum err text_edit_apply(struct arena *a, const struct text_edit *t, struct str *ret_body)
{
    struct str middle = text_edit_middle(t);
    size_t n = t->before + middle.n + t->behind;
    char *p = arena_alloc(a, n + 1, 1);

    if (!p)
        return ERR_NO_MEMORY;
    memcpy(p, t->was.p, t->before);
    memcpy(p + t->before, middle.p, middle.n);
    memcpy(p + t->before + middle.n, t->was.p + t->was.n - t->behind, t->behind);
    *ret_body = (struct str){ p, n };
    return OK;
}

enum err marks_merge(struct arena *a, struct str was, struct str shown, struct str edited,
                     struct str *ret_body)
{
    struct text_edit t = { .was = was, .shown = shown, .edited = edited };
    struct marks m;

    marks_of(was, shown, &m);
    text_edit_find(&t);
    if (!text_edit_settle(&t))
        return ERR_UNPROCESSABLE;
    text_edit_whole_masks(&t);
    if (marks_left(&m, text_edit_middle(&t), true))
        return ERR_UNPROCESSABLE;
    return text_edit_apply(a, &t, ret_body);
}
