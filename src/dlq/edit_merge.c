#include "dlq/edit_merge.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "dlq/redaction_marks.h"
#include "observe/redact.h"

#include <stdlib.h>
#include <string.h>

enum { REDACTED_GROWS = 3 };

#define WHY_LEFT                                                                                   \
    "a [redacted] is left that cannot be put back (or its ***, or its 0): write the value"         \
    " / 元の値に戻せない [redacted]（*** や 0）が残っています。値を書き直してください"

/* Why not the rest of it: what is shown of a list says too little of who is who. So
 *   (1) a member is who has its name; an element is who is at its place and looks as it did there;
 *   (2) what is left of these as it was shown becomes as it was;
 *   (3) whatever else looks like a mask may be one that was moved: the edit is refused. */
struct merge {
    struct arena *arena;
    struct marks marks;
};

struct str dead_shown(struct arena *a, struct str body)
{
    struct str copy = { 0 };
    struct buf b;

    buf_init(&b, REDACTED_GROWS * body.n + 64);
    redact_text(&b, body);
    if (!b.failed)
        copy = arena_str(a, buf_str(&b));
    buf_release(&b);
    return copy;
}

/* --- the two trees of what there was --- */

/* What is shown has the form of what it shows, so members and elements are pairs by their order. */
struct pair {
    const cJSON *shown, *was;
    int order;
};

static int by_name(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int c = strcmp(x->shown->string, y->shown->string);

    return c ? c : x->order - y->order;
}

static int compare_name(const void *name, const void *entry)
{
    return strcmp(name, ((const struct pair *)entry)->shown->string);
}

static size_t edit_merge_length(const cJSON *list)
{
    size_t n = 0;

    for (const cJSON *item = list->child; item; item = item->next)
        n++;
    return n;
}

/* NULL: no memory. */
static struct pair *pair_up(struct arena *a, const cJSON *shown, const cJSON *was, size_t *ret_n)
{
    struct pair *pairs = arena_alloc(a, edit_merge_length(shown) + 1, sizeof(*pairs));
    const cJSON *s = shown->child, *o = was->child;
    int n = 0;

    for (; pairs && s && o; s = s->next, o = o->next, n++)
        pairs[n] = (struct pair){ .shown = s, .was = o, .order = n };
    *ret_n = (size_t)n;
    return pairs;
}

static bool is_list(const cJSON *item)
{
    return cJSON_IsObject(item) || cJSON_IsArray(item);
}

static bool same_type(const cJSON *a, const cJSON *b)
{
    return (a->type & 0xff) == (b->type & 0xff);
}

/* Of single values; two lists are never compared. */
static bool edit_merge_same(const cJSON *a, const cJSON *b)
{
    if (!same_type(a, b) || is_list(a))
        return false;
    if (cJSON_IsString(a) || (cJSON_IsNumber(a) && a->valuestring && b->valuestring))
        return strcmp(a->valuestring, b->valuestring) == 0;
    return !cJSON_IsNumber(a) || a->valuedouble == b->valuedouble;
}

/* A value that hides something is a single one. */
static bool is_mask(const cJSON *shown, const cJSON *was)
{
    return !is_list(shown) && !edit_merge_same(shown, was);
}

static bool is_redacted(const cJSON *shown)
{
    return cJSON_IsString(shown) && strcmp(shown->valuestring, "[redacted]") == 0;
}

/* NULL: there is none of that name. */
static const struct pair *pair_of(const cJSON *item, const struct pair *sorted, size_t n)
{
    return bsearch(item->string, sorted, n, sizeof(*sorted), compare_name);
}

/* --- what nobody knows the place of --- */

/* Is a 0 of this part one that hides a number? */
static bool has_zero_mask(const cJSON *shown, const cJSON *was)
{
    const cJSON *s = shown->child, *o = was->child;
    struct marks m;

    if (is_mask(shown, was)) {
        if (!cJSON_IsString(shown) || !cJSON_IsString(was))
            return cJSON_IsNumber(shown);
        marks_of(str_of(was->valuestring), str_of(shown->valuestring), &m);
        return m.zero;
    }
    for (; is_list(shown) && same_type(shown, was) && s && o; s = s->next, o = o->next)
        if (has_zero_mask(s, o))
            return true;
    return false;
}

/* A mask that was moved or copied. `zero`: a 0 may be one. Its own name is the caller's. */
static bool has_mark(const struct merge *m, const cJSON *edited, bool zero)
{
    struct marks marks = m->marks;

    marks.zero = zero;
    if (cJSON_IsString(edited))
        return marks_left(&marks, str_of(edited->valuestring), true);
    if (cJSON_IsNumber(edited))
        return zero && edited->valuedouble == 0;
    for (const cJSON *item = edited->child; item; item = item->next)
        if ((item->string && marks_left(&marks, str_of(item->string), false)) ||
            has_mark(m, item, zero))
            return true;
    return false;
}

static enum err refuse_marks(const struct merge *m, const cJSON *edited, bool zero)
{
    return has_mark(m, edited, zero) ? ERR_UNPROCESSABLE : OK;
}

/* --- does an element look as it did? --- */

static enum err edit_merge_fits(const struct merge *m, const cJSON *edited, const cJSON *shown,
                                const cJSON *was, bool *ret_fits);

static enum err members_fit(const struct merge *m, const cJSON *edited, struct pair *pairs,
                            size_t n, bool *ret_fits)
{
    enum err e = OK;

    qsort(pairs, n, sizeof(*pairs), by_name);
    for (const cJSON *item = edited->child; item && *ret_fits && !e; item = item->next) {
        const struct pair *p = pair_of(item, pairs, n);

        *ret_fits = p;
        if (p)
            e = edit_merge_fits(m, item, p->shown, p->was, ret_fits);
    }
    return e;
}

static enum err elements_fit(const struct merge *m, const cJSON *edited, const struct pair *pairs,
                             bool *ret_fits)
{
    enum err e = OK;

    for (const cJSON *item = edited->child; item && *ret_fits && !e; item = item->next, pairs++)
        e = edit_merge_fits(m, item, pairs->shown, pairs->was, ret_fits);
    return e;
}

static enum err list_fits(const struct merge *m, const cJSON *edited, const cJSON *shown,
                          const cJSON *was, bool *ret_fits)
{
    struct arena_mark mark = arena_mark(m->arena);
    size_t n;
    struct pair *pairs = pair_up(m->arena, shown, was, &n);
    enum err e;

    if (!pairs)
        return ERR_NO_MEMORY;
    *ret_fits = edit_merge_length(edited) == n;
    e = cJSON_IsObject(shown) ? members_fit(m, edited, pairs, n, ret_fits)
                              : elements_fit(m, edited, pairs, ret_fits);
    arena_rewind(m->arena, mark);
    return e;
}

/* Everything that can be seen of it is as it was shown. */
static enum err edit_merge_fits(const struct merge *m, const cJSON *edited, const cJSON *shown,
                                const cJSON *was, bool *ret_fits)
{
    if (is_list(shown)) {
        *ret_fits = same_type(edited, shown) && same_type(was, shown);
        return *ret_fits ? list_fits(m, edited, shown, was, ret_fits) : OK;
    }
    *ret_fits = edit_merge_same(edited, shown) || is_redacted(shown) ||
                (is_mask(shown, was) && !has_mark(m, edited, true));
    return OK;
}

/* --- put back --- */

static enum err put_back(const struct merge *m, cJSON *in, cJSON *edited, const cJSON *shown,
                         const cJSON *was);

static bool edit_merge_replace(cJSON *in, cJSON *item, const cJSON *with)
{
    cJSON *copy = cJSON_Duplicate(with, true);

    if (copy && item->string && !copy->string)
        copy->string = strdup(item->string);
    return copy && cJSON_ReplaceItemViaPointer(in, item, copy);
}

/* Names are masked too. */
static bool rename_as(cJSON *item, const char *name)
{
    char *copy;

    if (strcmp(item->string, name) == 0)
        return true;
    copy = strdup(name);
    if (!copy)
        return false;
    cJSON_free(item->string);
    item->string = copy;
    return true;
}

static enum err put_members(const struct merge *m, cJSON *edited, const cJSON *shown,
                            const cJSON *was, struct pair *pairs, size_t n)
{
    int zero = -1; /* not looked yet */
    cJSON *next;

    qsort(pairs, n, sizeof(*pairs), by_name);
    for (cJSON *item = edited->child; item; item = next) {
        const struct pair *p = pair_of(item, pairs, n);
        enum err e;

        next = item->next;
        if (p) {
            e = rename_as(item, p->was->string) ? put_back(m, edited, item, p->shown, p->was)
                                                : ERR_NO_MEMORY;
        } else {
            zero = zero < 0 ? has_zero_mask(shown, was) : zero;
            e = marks_left(&m->marks, str_of(item->string), false) ? ERR_UNPROCESSABLE
                                                                   : refuse_marks(m, item, zero);
        }
        if (e)
            return e;
    }
    return OK;
}

static enum err put_elements(const struct merge *m, cJSON *edited, const cJSON *shown,
                             const cJSON *was, const struct pair *pairs, size_t n)
{
    bool places = edit_merge_length(edited) == n, zero = has_zero_mask(shown, was);
    cJSON *next;

    for (cJSON *item = edited->child; item; item = next, pairs++) {
        bool same_one = false;
        enum err e = places ? edit_merge_fits(m, item, pairs->shown, pairs->was, &same_one) : OK;

        next = item->next;
        if (!e)
            e = same_one ? put_back(m, edited, item, pairs->shown, pairs->was)
                         : refuse_marks(m, item, zero);
        if (e)
            return e;
    }
    return OK;
}

static enum err put_list(const struct merge *m, cJSON *edited, const cJSON *shown, const cJSON *was)
{
    struct arena_mark mark = arena_mark(m->arena);
    size_t n;
    struct pair *pairs = pair_up(m->arena, shown, was, &n);
    enum err e;

    if (!pairs)
        return ERR_NO_MEMORY;
    e = cJSON_IsObject(shown) ? put_members(m, edited, shown, was, pairs, n)
                              : put_elements(m, edited, shown, was, pairs, n);
    arena_rewind(m->arena, mark);
    return e;
}

static enum err edit_merge_run(struct arena *a, struct str was, struct str shown, struct str edited,
                               struct str *ret_body);

/* A text of which a part is hidden. It may be JSON itself. */
static enum err put_text(const struct merge *m, cJSON *edited, const cJSON *shown, const cJSON *was)
{
    struct arena_mark mark = arena_mark(m->arena);
    struct str body;
    const char *text;
    enum err e = edit_merge_run(m->arena, str_of(was->valuestring), str_of(shown->valuestring),
                                str_of(edited->valuestring), &body);

    if (!e) {
        text = arena_cstr(m->arena, body);
        e = text && cJSON_SetValuestring(edited, text) ? OK : ERR_NO_MEMORY;
    }
    arena_rewind(m->arena, mark);
    return e;
}

static enum err put_back(const struct merge *m, cJSON *in, cJSON *edited, const cJSON *shown,
                         const cJSON *was)
{
    bool list = is_list(shown) && same_type(was, shown);

    if (list && same_type(edited, shown))
        return put_list(m, edited, shown, was);
    if (list)
        return refuse_marks(m, edited, has_zero_mask(shown, was));
    if (edit_merge_same(edited, shown))
        return !is_mask(shown, was) || edit_merge_replace(in, edited, was) ? OK : ERR_NO_MEMORY;
    if (is_mask(shown, was) && !is_redacted(shown) && cJSON_IsString(edited) &&
        cJSON_IsString(shown) && cJSON_IsString(was))
        return put_text(m, edited, shown, was);
    return refuse_marks(m, edited, false);
}

/* --- as text --- */

/* Numbers keep the text that a double might not hold. */
static void keep_numbers(cJSON *tree)
{
    for (cJSON *item = tree->child; item; item = item->next) {
        if (cJSON_IsNumber(item) && item->valuestring)
            item->type = cJSON_Raw;
        keep_numbers(item);
    }
}

static enum err edit_merge_print(struct arena *a, cJSON *tree, struct str *ret_text)
{
    char *text;

    keep_numbers(tree);
    text = cJSON_PrintUnformatted(tree);
    *ret_text = text ? arena_str(a, str_of(text)) : (struct str){ 0 };
    cJSON_free(text);
    return ret_text->p ? OK : ERR_NO_MEMORY;
}

/* A value alone stands in a list, so that it can be replaced like any other. */
static enum err put_back_all(const struct merge *m, cJSON **edited, const cJSON *shown,
                             const cJSON *was)
{
    CLEANUP(json_freep) cJSON *around = cJSON_CreateArray();
    cJSON *only = *edited;
    enum err e;

    if (!around || !cJSON_AddItemToArray(around, only))
        return ERR_NO_MEMORY;
    e = put_back(m, around, only, shown, was);
    *edited = cJSON_DetachItemFromArray(around, 0);
    return e;
}

static enum err merge_trees(struct arena *a, const struct marks *marks, const cJSON *was,
                            const cJSON *shown, struct str edited, struct str *ret_body)
{
    CLEANUP(json_freep) cJSON *e = NULL;
    struct merge m = { .arena = a, .marks = *marks };
    enum err err = json_parse(edited, &e, NULL);

    *ret_body = edited;
    if (err)
        return err == ERR_NO_MEMORY              ? err
               : marks_left(marks, edited, true) ? ERR_UNPROCESSABLE
                                                 : OK;
    err = put_back_all(&m, &e, shown, was);
    return err ? err : edit_merge_print(a, e, ret_body);
}

/* JSON by its trees; what is no JSON was masked in its place. Neither: two names of an object are
 * masked alike, and then nothing has a place. */
static enum err edit_merge_run(struct arena *a, struct str was, struct str shown, struct str edited,
                               struct str *ret_body)
{
    CLEANUP(json_freep) cJSON *o = NULL;
    CLEANUP(json_freep) cJSON *s = NULL;
    struct marks marks;

    enum err e = json_parse(was, &o, NULL);

    if (!e)
        e = json_parse(shown, &s, NULL);
    if (e == ERR_NO_MEMORY)
        return e;
    marks_of(was, shown, &marks);
    if (s)
        return merge_trees(a, &marks, o, s, edited, ret_body);
    if (!o && was.n == shown.n)
        return marks_merge(a, was, shown, edited, ret_body);
    *ret_body = edited;
    return marks_left(&marks, edited, true) ? ERR_UNPROCESSABLE : OK;
}

enum err dead_merge(struct arena *a, struct str was, struct str edited, struct str *ret_body,
                    struct why *why)
{
    struct str shown = dead_shown(a, was);
    enum err e;

    *ret_body = edited;
    if (!shown.p)
        return ERR_NO_MEMORY;
    if (str_eq(shown, was))
        return OK;
    if (str_eq(shown, edited)) {
        *ret_body = was;
        return OK;
    }
    e = edit_merge_run(a, was, shown, edited, ret_body);
    if (e == ERR_UNPROCESSABLE)
        why_set(why, "%s", WHY_LEFT);
    return e;
}
