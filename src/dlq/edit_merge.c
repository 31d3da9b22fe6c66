/* edit_merge.c - walks three trees at once: the edited body, the body as it was shown, and the body
 * as it was. What is shown of a list says too little about its elements to match them by content,
 * so:
 *
 *   (1) A member is matched by its name, an element by its place and an unchanged visible part.
 *   (2) What is left of a matched value as it was shown becomes what it was.
 *   (3) Anything else that looks like a mask may be one that was moved: the edit is rejected. */
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

/* --- the two trees before the edit --- */

/* Both trees have the same form, so members and elements are paired by their order. */
struct pair {
    const cJSON *shown, *was;
    int order;
};

static int pair_by_name(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int c = strcmp(x->shown->string, y->shown->string);

    return c ? c : x->order - y->order;
}

static int pair_compare_name(const void *name, const void *entry)
{
    return strcmp(name, ((const struct pair *)entry)->shown->string);
}

static size_t json_length(const cJSON *list)
{
    size_t n = 0;

    for (const cJSON *item = list->child; item; item = item->next)
        n++;
    return n;
}

/* NULL: no memory. */
static struct pair *pair_up(struct arena *a, const cJSON *shown, const cJSON *was, size_t *ret_n)
{
    struct pair *pairs = arena_alloc(a, json_length(shown) + 1, sizeof(*pairs));
    const cJSON *s = shown->child, *o = was->child;
    int n = 0;

    for (; pairs && s && o; s = s->next, o = o->next, n++)
        pairs[n] = (struct pair){ .shown = s, .was = o, .order = n };
    *ret_n = (size_t)n;
    return pairs;
}

static bool json_is_container(const cJSON *item)
{
    return cJSON_IsObject(item) || cJSON_IsArray(item);
}

static bool json_same_type(const cJSON *a, const cJSON *b)
{
    return (a->type & 0xff) == (b->type & 0xff);
}

/* For single values; objects and arrays are never the same. */
static bool json_same_value(const cJSON *a, const cJSON *b)
{
    if (!json_same_type(a, b) || json_is_container(a))
        return false;
    if (cJSON_IsString(a) || (cJSON_IsNumber(a) && a->valuestring && b->valuestring))
        return strcmp(a->valuestring, b->valuestring) == 0;
    return !cJSON_IsNumber(a) || a->valuedouble == b->valuedouble;
}

/* Only a single value can be a mask. */
static bool merge_is_mask(const cJSON *shown, const cJSON *was)
{
    return !json_is_container(shown) && !json_same_value(shown, was);
}

static bool merge_is_redacted(const cJSON *shown)
{
    return cJSON_IsString(shown) && strcmp(shown->valuestring, "[redacted]") == 0;
}

/* Returns NULL if there is none of that name. */
static const struct pair *pair_find(const cJSON *item, const struct pair *sorted, size_t n)
{
    return bsearch(item->string, sorted, n, sizeof(*sorted), pair_compare_name);
}

/* --- masks without a known place --- */

/* Does a 0 in this part hide a number? */
static bool merge_has_zero_mask(const cJSON *shown, const cJSON *was)
{
    const cJSON *s = shown->child, *o = was->child;
    struct marks m;

    if (merge_is_mask(shown, was)) {
        if (!cJSON_IsString(shown) || !cJSON_IsString(was))
            return cJSON_IsNumber(shown);
        marks_of(str_of(was->valuestring), str_of(shown->valuestring), &m);
        return m.zero;
    }
    for (; json_is_container(shown) && json_same_type(shown, was) && s && o;
         s = s->next, o = o->next)
        if (merge_has_zero_mask(s, o))
            return true;
    return false;
}

/* Is there a mask that was moved or copied? `zero`: a 0 may be one. The caller checks its name. */
static bool merge_has_mask(const struct merge *m, const cJSON *edited, bool zero)
{
    struct marks marks = m->marks;

    marks.zero = zero;
    if (cJSON_IsString(edited))
        return marks_left(&marks, str_of(edited->valuestring), true);
    if (cJSON_IsNumber(edited))
        return zero && edited->valuedouble == 0;
    for (const cJSON *item = edited->child; item; item = item->next)
        if ((item->string && marks_left(&marks, str_of(item->string), false)) ||
            merge_has_mask(m, item, zero))
            return true;
    return false;
}

static enum err merge_reject_masks(const struct merge *m, const cJSON *edited, bool zero)
{
    return merge_has_mask(m, edited, zero) ? ERR_UNPROCESSABLE : OK;
}

/* --- is the visible part of an element unchanged? --- */

static enum err merge_is_unchanged(const struct merge *m, const cJSON *edited, const cJSON *shown,
                                   const cJSON *was, bool *ret_fits);

static enum err merge_members_unchanged(const struct merge *m, const cJSON *edited,
                                        struct pair *pairs, size_t n, bool *ret_fits)
{
    enum err e = OK;

    qsort(pairs, n, sizeof(*pairs), pair_by_name);
    for (const cJSON *item = edited->child; item && *ret_fits && !e; item = item->next) {
        const struct pair *p = pair_find(item, pairs, n);

        *ret_fits = p;
        if (p)
            e = merge_is_unchanged(m, item, p->shown, p->was, ret_fits);
    }
    return e;
}

static enum err merge_elements_unchanged(const struct merge *m, const cJSON *edited,
                                         const struct pair *pairs, bool *ret_fits)
{
    enum err e = OK;

    for (const cJSON *item = edited->child; item && *ret_fits && !e; item = item->next, pairs++)
        e = merge_is_unchanged(m, item, pairs->shown, pairs->was, ret_fits);
    return e;
}

static enum err merge_container_unchanged(const struct merge *m, const cJSON *edited,
                                          const cJSON *shown, const cJSON *was, bool *ret_fits)
{
    struct arena_mark mark = arena_mark(m->arena);
    size_t n;
    struct pair *pairs = pair_up(m->arena, shown, was, &n);
    enum err e;

    if (!pairs)
        return ERR_NO_MEMORY;
    *ret_fits = json_length(edited) == n;
    e = cJSON_IsObject(shown) ? merge_members_unchanged(m, edited, pairs, n, ret_fits)
                              : merge_elements_unchanged(m, edited, pairs, ret_fits);
    arena_rewind(m->arena, mark);
    return e;
}

static enum err merge_is_unchanged(const struct merge *m, const cJSON *edited, const cJSON *shown,
                                   const cJSON *was, bool *ret_fits)
{
    if (json_is_container(shown)) {
        *ret_fits = json_same_type(edited, shown) && json_same_type(was, shown);
        return *ret_fits ? merge_container_unchanged(m, edited, shown, was, ret_fits) : OK;
    }
    *ret_fits = json_same_value(edited, shown) || merge_is_redacted(shown) ||
                (merge_is_mask(shown, was) && !merge_has_mask(m, edited, true));
    return OK;
}

/* --- restoring --- */

static enum err merge_restore(const struct merge *m, cJSON *in, cJSON *edited, const cJSON *shown,
                              const cJSON *was);

static bool merge_replace(cJSON *in, cJSON *item, const cJSON *with)
{
    cJSON *copy = cJSON_Duplicate(with, true);

    if (copy && item->string && !copy->string)
        copy->string = strdup(item->string);
    return copy && cJSON_ReplaceItemViaPointer(in, item, copy);
}

/* Names are masked too. */
static bool merge_rename(cJSON *item, const char *name)
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

static enum err merge_restore_members(const struct merge *m, cJSON *edited, const cJSON *shown,
                                      const cJSON *was, struct pair *pairs, size_t n)
{
    int zero = -1; /* not determined yet */
    cJSON *next;

    qsort(pairs, n, sizeof(*pairs), pair_by_name);
    for (cJSON *item = edited->child; item; item = next) {
        const struct pair *p = pair_find(item, pairs, n);
        enum err e;

        next = item->next;
        if (p) {
            e = merge_rename(item, p->was->string)
                    ? merge_restore(m, edited, item, p->shown, p->was)
                    : ERR_NO_MEMORY;
        } else {
            zero = zero < 0 ? merge_has_zero_mask(shown, was) : zero;
            e = marks_left(&m->marks, str_of(item->string), false)
                    ? ERR_UNPROCESSABLE
                    : merge_reject_masks(m, item, zero);
        }
        if (e)
            return e;
    }
    return OK;
}

static enum err merge_restore_elements(const struct merge *m, cJSON *edited, const cJSON *shown,
                                       const cJSON *was, const struct pair *pairs, size_t n)
{
    bool places = json_length(edited) == n, zero = merge_has_zero_mask(shown, was);
    cJSON *next;

    for (cJSON *item = edited->child; item; item = next, pairs++) {
        bool same_one = false;
        enum err e = places ? merge_is_unchanged(m, item, pairs->shown, pairs->was, &same_one) : OK;

        next = item->next;
        if (!e)
            e = same_one ? merge_restore(m, edited, item, pairs->shown, pairs->was)
                         : merge_reject_masks(m, item, zero);
        if (e)
            return e;
    }
    return OK;
}

static enum err merge_restore_container(const struct merge *m, cJSON *edited, const cJSON *shown,
                                        const cJSON *was)
{
    struct arena_mark mark = arena_mark(m->arena);
    size_t n;
    struct pair *pairs = pair_up(m->arena, shown, was, &n);
    enum err e;

    if (!pairs)
        return ERR_NO_MEMORY;
    e = cJSON_IsObject(shown) ? merge_restore_members(m, edited, shown, was, pairs, n)
                              : merge_restore_elements(m, edited, shown, was, pairs, n);
    arena_rewind(m->arena, mark);
    return e;
}

static enum err merge_texts(struct arena *a, struct str was, struct str shown, struct str edited,
                            struct str *ret_body);

/* A text that is redacted in part. It may be JSON itself. */
static enum err merge_restore_text(const struct merge *m, cJSON *edited, const cJSON *shown,
                                   const cJSON *was)
{
    struct arena_mark mark = arena_mark(m->arena);
    struct str body;
    const char *text;
    enum err e = merge_texts(m->arena, str_of(was->valuestring), str_of(shown->valuestring),
                             str_of(edited->valuestring), &body);

    if (!e) {
        text = arena_cstr(m->arena, body);
        e = text && cJSON_SetValuestring(edited, text) ? OK : ERR_NO_MEMORY;
    }
    arena_rewind(m->arena, mark);
    return e;
}

static enum err merge_restore(const struct merge *m, cJSON *in, cJSON *edited, const cJSON *shown,
                              const cJSON *was)
{
    bool list = json_is_container(shown) && json_same_type(was, shown);

    if (list && json_same_type(edited, shown))
        return merge_restore_container(m, edited, shown, was);
    if (list)
        return merge_reject_masks(m, edited, merge_has_zero_mask(shown, was));
    if (json_same_value(edited, shown))
        return !merge_is_mask(shown, was) || merge_replace(in, edited, was) ? OK : ERR_NO_MEMORY;
    if (merge_is_mask(shown, was) && !merge_is_redacted(shown) && cJSON_IsString(edited) &&
        cJSON_IsString(shown) && cJSON_IsString(was))
        return merge_restore_text(m, edited, shown, was);
    return merge_reject_masks(m, edited, false);
}

/* --- as text --- */

/* Numbers keep their text, which a double might not represent. */
static void merge_keep_numbers(cJSON *tree)
{
    for (cJSON *item = tree->child; item; item = item->next) {
        if (cJSON_IsNumber(item) && item->valuestring)
            item->type = cJSON_Raw;
        merge_keep_numbers(item);
    }
}

static enum err merge_print(struct arena *a, cJSON *tree, struct str *ret_text)
{
    char *text;

    merge_keep_numbers(tree);
    text = cJSON_PrintUnformatted(tree);
    *ret_text = text ? arena_str(a, str_of(text)) : (struct str){ 0 };
    cJSON_free(text);
    return ret_text->p ? OK : ERR_NO_MEMORY;
}

/* Wraps the root in an array, so that it can be replaced like any other value. */
static enum err merge_restore_root(const struct merge *m, cJSON **edited, const cJSON *shown,
                                   const cJSON *was)
{
    CLEANUP(json_freep) cJSON *around = cJSON_CreateArray();
    cJSON *only = *edited;
    enum err e;

    if (!around || !cJSON_AddItemToArray(around, only))
        return ERR_NO_MEMORY;
    e = merge_restore(m, around, only, shown, was);
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
    err = merge_restore_root(&m, &e, shown, was);
    return err ? err : merge_print(a, e, ret_body);
}

/* JSON is merged by its trees, other text by its positions. In the remaining case two names of an
 * object are masked alike, so that no value has a known place. */
static enum err merge_texts(struct arena *a, struct str was, struct str shown, struct str edited,
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
    e = merge_texts(a, was, shown, edited, ret_body);
    if (e == ERR_UNPROCESSABLE)
        why_set(why, "%s", WHY_LEFT);
    return e;
}
