#include "dlq/redaction_marks.h"

#include <string.h>

enum { SURELY_A_MASK = 4 }; /* so many stars are one where any is, however many were edited away */

/* --- what there is --- */

struct counts {
    size_t redacted, zero, stars[MARK_STARS + 1];
};

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.';
}

static size_t run_of_stars(struct str s, size_t i)
{
    size_t n = 0;

    while (i + n < s.n && s.p[i + n] == '*')
        n++;
    return n;
}

static bool is_zero(struct str s, size_t i)
{
    return s.p[i] == '0' && (!i || !is_word(s.p[i - 1])) && (i + 1 == s.n || !is_word(s.p[i + 1]));
}

static void redaction_marks_count(struct str s, struct counts *c)
{
    static const struct str mark = S("[redacted]");

    *c = (struct counts){ 0 };
    for (size_t i = 0, n; i < s.n; i += n) {
        n = run_of_stars(s, i);
        if (n)
            c->stars[n < MARK_STARS ? n : MARK_STARS]++;
        else
            n = 1;
        c->zero += is_zero(s, i);
        if (s.p[i] == '[' && str_starts((struct str){ s.p + i, s.n - i }, mark))
            c->redacted++;
    }
}

void marks_of(struct str was, struct str shown, struct marks *ret_marks)
{
    struct counts before, now;

    redaction_marks_count(was, &before);
    redaction_marks_count(shown, &now);
    *ret_marks = (struct marks){ .redacted = now.redacted > before.redacted,
                                 .zero = now.zero > before.zero };
    for (size_t i = 0; i <= MARK_STARS; i++) {
        ret_marks->stars[i] = now.stars[i] > before.stars[i];
        ret_marks->any_stars |= ret_marks->stars[i];
    }
}

bool marks_left(const struct marks *m, struct str text, bool zero_counts)
{
    struct counts c;

    redaction_marks_count(text, &c);
    if ((m->redacted && c.redacted) || (zero_counts && m->zero && c.zero))
        return true;
    for (size_t i = 1; i <= MARK_STARS; i++)
        if (c.stars[i] && (m->stars[i] || (m->any_stars && i >= SURELY_A_MASK)))
            return true;
    return false;
}

/* --- a text --- */

struct texts {
    struct str was, shown, edited;
    size_t before, behind; /* so many bytes of it are as they were shown */
};

/* The 0 that ends a number that was hidden is part of the mask, whatever stood there. */
static bool is_hidden(const struct texts *t, size_t i)
{
    const char *was = t->was.p, *shown = t->shown.p;

    return was[i] != shown[i] || (shown[i] == '0' && i && shown[i - 1] == ' ' && was[i - 1] != ' ');
}

static void find_change(struct texts *t)
{
    struct str s = t->shown, e = t->edited;
    size_t least = s.n < e.n ? s.n : e.n;

    while (t->before < least && s.p[t->before] == e.p[t->before])
        t->before++;
    while (t->behind < least && s.p[s.n - 1 - t->behind] == e.p[e.n - 1 - t->behind])
        t->behind++;
}

/* Where what was taken away or put in looks like its neighbours, it may have been any of them:
 *
 *     cvc=***\ncvc=***\n  -->  cvc=***\n
 *
 * That matters where something is hidden there. False: it is, and nobody can tell. */
static bool settle_change(struct texts *t)
{
    size_t n = t->shown.n, least = n < t->edited.n ? n : t->edited.n, gone = n - least;

    if (t->before + t->behind <= least)
        return true;
    for (size_t i = least - t->behind; i < t->before; i++)
        if (is_hidden(t, i) || is_hidden(t, i + gone))
            return false;
    t->behind = least - t->before;
    return true;
}

/* A mask of which a part was changed was changed. */
static void leave_whole_masks(struct texts *t)
{
    size_t n = t->shown.n;

    while (t->before && t->before < n && is_hidden(t, t->before) && is_hidden(t, t->before - 1))
        t->before--;
    while (t->behind && t->behind < n && is_hidden(t, n - t->behind) &&
           is_hidden(t, n - t->behind - 1))
        t->behind--;
}

static struct str middle_of(const struct texts *t)
{
    return (struct str){ t->edited.p + t->before, t->edited.n - t->before - t->behind };
}

static enum err put_together(struct arena *a, const struct texts *t, struct str *ret_body)
{
    struct str middle = middle_of(t);
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
    struct texts t = { .was = was, .shown = shown, .edited = edited };
    struct marks m;

    marks_of(was, shown, &m);
    find_change(&t);
    if (!settle_change(&t))
        return ERR_UNPROCESSABLE;
    leave_whole_masks(&t);
    if (marks_left(&m, middle_of(&t), true))
        return ERR_UNPROCESSABLE;
    return put_together(a, &t, ret_body);
}
