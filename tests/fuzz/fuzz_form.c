/* The sandbox's form decoder: whatever comes, the tree keeps its promises, and a form that is
 * written out again from its tree, in reverse order, means the same. */
#include "base/limits.h"
#include "sandbox/form.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(int holds)
{
    if (!holds)
        abort();
}

static void check(const struct form *f, int depth)
{
    size_t n = 0;

    promise(depth <= LIMIT_FORM_DEPTH);
    promise(!f->has_value || !f->first);
    promise(str_is_utf8(f->name) && str_is_utf8(f->value));
    for (const struct form *x = f->first; x; x = x->next, n++) {
        promise(form_get(f, x->name) == x); /* no name is there twice */
        promise(x->next || f->last == x);
        check(x, depth + 1);
    }
    promise(n == f->count);
}

static void escape(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        buf_fmt(b, "%%%02x", (unsigned)(unsigned char)s.p[i]);
}

struct place {
    const struct place *above;
    const struct form *f;
};

static void write_name(struct buf *b, const struct place *p)
{
    if (p->above && p->above->above)
        write_name(b, p->above);
    if (p->above && p->above->above)
        buf_add(b, S("%5B"));
    escape(b, p->f->name);
    if (p->above && p->above->above)
        buf_add(b, S("%5D"));
}

/* Leaves in reverse order. False: it has an element without a name, which would not be the same
 * one again. */
static bool write_back(struct buf *b, const struct place *p)
{
    struct form *all[LIMIT_FORM_PAIRS + 1];
    size_t n = 0;

    if (p->f->has_value) {
        write_name(b, p);
        buf_char(b, '=');
        escape(b, p->f->value);
        buf_char(b, '&');
        return true;
    }
    for (struct form *x = p->f->first; x; x = x->next)
        all[n++] = x;
    while (n--) {
        struct place child = { p, all[n] };

        if (!child.f->name.n || !write_back(b, &child))
            return false;
    }
    return true;
}

static void means_the_same(struct arena *a, const struct form *root)
{
    struct place top = { NULL, root };
    struct form again = { 0 };
    struct form_fault fault;
    struct buf text, one, other;

    buf_init(&text, 1 << 24);
    buf_init(&one, 1 << 24);
    buf_init(&other, 1 << 24);
    if (write_back(&text, &top)) {
        promise(form_parse(a, buf_str(&text), &again, &fault) == OK);
        promise(form_canonical(a, root, &one) == OK && form_canonical(a, &again, &other) == OK);
        promise(str_eq(buf_str(&one), buf_str(&other)));
    }
    buf_release(&text);
    buf_release(&one);
    buf_release(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct form root = { 0 };
    struct form_fault fault;
    struct arena a;
    enum err e;

    arena_init(&a, 1 << 26);
    e = form_parse(&a, (struct str){ (const char *)data, size }, &root, &fault);
    promise(e == OK || e == ERR_VALIDATION);
    promise(!e || fault.why);
    if (!e) {
        check(&root, 0);
        means_the_same(&a, &root);
    }
    arena_release(&a);
    return 0;
}
