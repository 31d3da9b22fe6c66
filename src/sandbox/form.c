/* form.c - parses application/x-www-form-urlencoded into a tree, and writes the canonical text of a
 * tree. The manual is form.h. */
#include "sandbox/form.h"

#include "base/hex.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

/* --- decoding --- */

/* False: a "%" is not followed by two hex digits. */
static bool decode_into(struct str s, char *p, size_t *ret_n)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        int high, low;

        if (s.p[i] != '%') {
            p[n++] = s.p[i];
            if (s.p[i] == '+')
                p[n - 1] = ' ';
            continue;
        }
        if (i + 2 >= s.n)
            return false;
        high = hex_value(s.p[i + 1]);
        low = hex_value(s.p[i + 2]);
        if (high < 0 || low < 0)
            return false;
        p[n++] = (char)(high * 16 + low);
        i += 2;
    }
    *ret_n = n;
    return true;
}

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '%' || s.p[i] == '+')
            return false;
    return true;
}

static enum err sandbox_form_decode(struct arena *a, struct str s, struct str *ret_text,
                                    const char **ret_why)
{
    char *p;
    size_t n;

    if (!s.p)
        s = S("");
    *ret_text = s;
    if (!is_plain(s)) {
        p = arena_alloc(a, s.n, 1);
        if (!p)
            return ERR_NO_MEMORY;
        *ret_why = "a percent sign needs two hexadecimal digits behind it";
        if (!decode_into(s, p, &n))
            return ERR_VALIDATION;
        *ret_text = (struct str){ p, n };
    }
    *ret_why = "it is not UTF-8, or has a NUL in it";
    if (!str_is_utf8(*ret_text) || (ret_text->n && memchr(ret_text->p, '\0', ret_text->n)))
        return ERR_VALIDATION;
    return OK;
}

/* --- the tree --- */

const struct form *form_get(const struct form *f, struct str name)
{
    const struct form *child = f ? f->first : NULL;

    while (child && !str_eq(child->name, name))
        child = child->next;
    return child;
}

static struct form *add_child(struct arena *a, struct form *f, struct str name)
{
    struct form *child = arena_alloc(a, 1, sizeof(*child));

    if (!child)
        return NULL;
    child->name = name;
    if (f->last)
        f->last->next = child;
    else
        f->first = child;
    f->last = child;
    f->count++;
    return child;
}

static struct str number_name(struct arena *a, size_t n)
{
    char digits[20], *p = digits + sizeof(digits);

    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    return arena_str(a, (struct str){ p, (size_t)(digits + sizeof(digits) - p) });
}

/* "[]" is the next index. Within a longer name it stays with the last element until that has the
 * field that follows. CONFLICT: the next index is already taken. */
static enum err next_element(struct arena *a, struct form *f, const struct str *follows,
                             struct form **ret)
{
    struct str name;

    *ret = f->last;
    if (follows && follows->n && f->last && !f->last->has_value && !form_get(f->last, *follows))
        return OK;
    name = number_name(a, f->count);
    if (!name.p)
        return ERR_NO_MEMORY;
    if (form_get(f, name))
        return ERR_CONFLICT;
    *ret = add_child(a, f, name);
    return *ret ? OK : ERR_NO_MEMORY;
}

/* --- names --- */

struct path {
    struct str parts[LIMIT_FORM_DEPTH];
    size_t count;
};

/* "a[b][]" -> a, b and an empty part. */
static const char *split_name(struct str name, struct path *ret_path)
{
    size_t at = 0;

    ret_path->count = 0;
    while (at < name.n && name.p[at] != '[' && name.p[at] != ']')
        at++;
    ret_path->parts[ret_path->count++] = (struct str){ name.p, at };
    if (!at)
        return "a name begins with a bracket";
    while (at < name.n) {
        const char *close = memchr(name.p + at, ']', name.n - at);
        size_t from = at + 1;

        if (name.p[at] != '[' || !close ||
            memchr(name.p + from, '[', (size_t)(close - name.p) - from))
            return "its brackets do not match";
        if (ret_path->count == LIMIT_FORM_DEPTH)
            return "it is nested too deeply";
        at = (size_t)(close - name.p);
        ret_path->parts[ret_path->count++] = (struct str){ name.p + from, at - from };
        at++;
    }
    return NULL;
}

static enum err sandbox_form_step(struct arena *a, struct form **f, const struct path *path,
                                  size_t i)
{
    const struct str *follows = i + 1 < path->count ? &path->parts[i + 1] : NULL;
    struct form *child;

    if (!path->parts[i].n)
        return next_element(a, *f, follows, f);
    child = (struct form *)form_get(*f, path->parts[i]);
    *f = child ? child : add_child(a, *f, path->parts[i]);
    return *f ? OK : ERR_NO_MEMORY;
}

static enum err sandbox_form_set(struct arena *a, struct form *root, const struct path *path,
                                 struct str value, const char **ret_why)
{
    struct form *f = root;

    *ret_why = "it is a value in one place and has fields in another";
    for (size_t i = 0; i < path->count; i++) {
        enum err e = f->has_value ? ERR_VALIDATION : sandbox_form_step(a, &f, path, i);

        if (e == ERR_CONFLICT)
            *ret_why = "its elements are counted in two ways";
        if (e)
            return e == ERR_CONFLICT ? ERR_VALIDATION : e;
    }
    if (f->first)
        return ERR_VALIDATION;
    f->value = value;
    f->has_value = true;
    return OK;
}

static enum err add_pair(struct arena *a, struct str pair, struct form *root,
                         struct form_fault *ret_fault)
{
    struct str raw = str_cut(&pair, '='), value;
    struct path path;
    enum err e;

    ret_fault->name = raw;
    e = sandbox_form_decode(a, raw, &ret_fault->name, &ret_fault->why);
    if (e)
        return e;
    e = sandbox_form_decode(a, pair, &value, &ret_fault->why);
    if (e)
        return e;
    ret_fault->why = split_name(ret_fault->name, &path);
    return ret_fault->why ? ERR_VALIDATION
                          : sandbox_form_set(a, root, &path, value, &ret_fault->why);
}

enum err form_parse(struct arena *a, struct str text, struct form *root,
                    struct form_fault *ret_fault)
{
    size_t pairs = 0;
    enum err e = OK;

    *ret_fault = (struct form_fault){ 0 };
    while (text.n && !e) {
        struct str pair = str_cut(&text, '&');

        if (!pair.n || pair.p[0] == '=')
            continue;
        ret_fault->why = "there are too many parameters";
        e = pairs++ == LIMIT_FORM_PAIRS ? ERR_VALIDATION : add_pair(a, pair, root, ret_fault);
    }
    return e;
}

/* --- the canonical text --- */

static int compare_names(const void *a, const void *b)
{
    const struct form *x = *(const struct form *const *)a, *y = *(const struct form *const *)b;

    return str_cmp(x->name, y->name);
}

/* The length comes first, so that no text can be mistaken for a separator. */
static void add_text(struct buf *out, struct str s)
{
    buf_i64(out, (int64_t)s.n);
    buf_char(out, ':');
    buf_add(out, s);
}

/* Recursion ends at LIMIT_FORM_DEPTH. */
static enum err write_node(struct arena *a, const struct form *f, struct buf *out)
{
    const struct form **sorted;
    size_t n = 0;
    enum err e = OK;

    add_text(out, f->name);
    if (f->has_value) {
        buf_char(out, '=');
        add_text(out, f->value);
        return OK;
    }
    sorted = arena_alloc(a, f->count + 1, sizeof(void *));
    if (!sorted)
        return ERR_NO_MEMORY;
    for (const struct form *child = f->first; child; child = child->next)
        sorted[n++] = child;
    qsort(sorted, n, sizeof(void *), compare_names);
    buf_char(out, '{');
    for (size_t i = 0; i < n && !e; i++)
        e = write_node(a, sorted[i], out);
    buf_char(out, '}');
    return e;
}

enum err form_canonical(struct arena *a, const struct form *root, struct buf *out)
{
    enum err e = write_node(a, root, out);

    return !e && out->failed ? ERR_NO_MEMORY : e;
}
