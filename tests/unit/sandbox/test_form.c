#include "base/limits.h"
#include "sandbox/form.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tree as text: a=1, b{c=2} */
static void show(const struct form *f, struct buf *b)
{
    for (const struct form *x = f->first; x; x = x->next) {
        buf_add(b, x == f->first ? S("") : S(", "));
        buf_add(b, x->name);
        buf_char(b, x->has_value ? '=' : '{');
        if (x->has_value) {
            buf_add(b, x->value);
        } else {
            show(x, b);
            buf_char(b, '}');
        }
    }
}

static void a_form_becomes_a_tree(void **state)
{
    static const struct {
        const char *text, *tree; /* NULL: refused */
    } rows[] = {
        { "", "" },
        { "a=1", "a=1" },
        { "a", "a=" },
        { "a=", "a=" },
        { "&&a=1&&b=2&", "a=1, b=2" },
        { "=x&a=1", "a=1" },
        { "a=1&a=2", "a=2" },
        { "a=b=c", "a=b=c" },
        { "a=x+y%20z%2Bq", "a=x y z+q" },
        { "a=%E9%A0%98", "a=領" },
        { "a%5Bb%5D=1", "a{b=1}" },
        { "a%5bb%5d%5Bc%5D=1", "a{b{c=1}}" },
        { "shipping[address][line1]=x&shipping[name]=J", "shipping{address{line1=x}, name=J}" },
        { "a[]=x&a[]=y", "a{0=x, 1=y}" },
        { "a[0]=x&a[1]=y", "a{0=x, 1=y}" },
        { "a[]=x&b=1&a[]=y", "a{0=x, 1=y}, b=1" },
        { "i[0][p]=1&i[0][q]=2&i[1][p]=3", "i{0{p=1, q=2}, 1{p=3}}" },
        { "i[][p]=1&i[][q]=2&i[][p]=3", "i{0{p=1, q=2}, 1{p=3}}" },
        { "metadata[a b]=1", "metadata{a b=1}" },
        { "a[1]=x&a[]=y", NULL }, /* both would be the second */
        { "a[0]=x&a[]=y", "a{0=x, 1=y}" },
        { "metadata[%5B]=1", NULL },
        { "a=1&a[b]=2", NULL },
        { "a[b]=2&a=1", NULL },
        { "a[b]=2&a[b][c]=1", NULL },
        { "a[b=1", NULL },
        { "a]=1", NULL },
        { "a[b]c=1", NULL },
        { "[a]=1", NULL },
        { "a=%", NULL },
        { "a=%4", NULL },
        { "a=%zz", NULL },
        { "%=1", NULL },
        { "a=%ff", NULL },
        { "a=%00", NULL },
        { "a[b][c][d][e][f][g][h]=1", "a{b{c{d{e{f{g{h=1}}}}}}}" },
        { "a[b][c][d][e][f][g][h][i]=1", NULL },
    };
    struct arena a;
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct form root = { 0 };
        struct form_fault fault;
        enum err e;

        arena_init(&a, 1 << 20);
        buf_clear(&b);
        e = form_parse(&a, str_of(rows[i].text), &root, &fault);
        show(&root, &b);
        if (e ? rows[i].tree != NULL || e != ERR_VALIDATION || !fault.why
              : !rows[i].tree || !str_eq(buf_str(&b), str_of(rows[i].tree)))
            fail_msg("row %zu, %s: %d %.*s", i, rows[i].text, e, STR_ARG(buf_str(&b)));
        arena_release(&a);
    }
    buf_release(&b);
}

static struct str canonical(struct arena *a, const char *text)
{
    struct form root = { 0 };
    struct form_fault fault;
    struct str s;
    struct buf b;

    buf_init(&b, 1 << 20);
    assert_int_equal(form_parse(a, str_of(text), &root, &fault), OK);
    assert_int_equal(form_canonical(a, &root, &b), OK);
    s = arena_str(a, buf_str(&b));
    buf_release(&b);
    return s;
}

static void two_spellings_of_one_form_are_the_same_and_nothing_else_is(void **state)
{
    static const struct {
        const char *one, *other;
        bool same;
    } rows[] = {
        { "a=1&b=2", "b=2&a=1", true },
        { "a[x]=1&a[y]=2", "a%5By%5D=2&a%5Bx%5D=1", true },
        { "a[]=1&a[]=2", "a[1]=2&a[0]=1", true },
        { "a=x+y", "a=x%20y", true },
        { "a=1&a=2", "a=2", true },
        { "", "&", true },
        { "a=1", "a=2", false },
        { "a=1", "b=1", false },
        { "a=1", "a[]=1", false },
        { "a[]=1&a[]=2", "a[]=2&a[]=1", false },
        { "a=", "", false },
        { "a=1&b=2", "a=1&b=2&c=3", false },
        { "a=1%261:b=2", "a=1&b=2", false },
        { "a=}", "a[}]=", false },
    };
    struct arena a;

    (void)state;
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_eq(canonical(&a, rows[i].one), canonical(&a, rows[i].other)) != rows[i].same)
            fail_msg("row %zu: %s and %s", i, rows[i].one, rows[i].other);
    arena_release(&a);
}

static void a_form_has_its_limits(void **state)
{
    struct form root = { 0 };
    struct form_fault fault;
    struct arena a;
    struct buf b;

    (void)state;
    arena_init(&a, 1 << 20);
    buf_init(&b, 1 << 20);
    for (int i = 0; i < LIMIT_FORM_PAIRS; i++)
        buf_fmt(&b, "a[]=%d&", i);
    assert_int_equal(form_parse(&a, buf_str(&b), &root, &fault), OK);
    assert_int_equal(root.first->count, LIMIT_FORM_PAIRS);
    buf_add(&b, S("b=1"));
    root = (struct form){ 0 };
    assert_int_equal(form_parse(&a, buf_str(&b), &root, &fault), ERR_VALIDATION);
    arena_release(&a);
    arena_init(&a, 64);
    root = (struct form){ 0 };
    assert_int_equal(form_parse(&a, buf_str(&b), &root, &fault), ERR_NO_MEMORY);
    arena_release(&a);
    buf_release(&b);
}

static void what_is_absent_has_no_fields(void **state)
{
    (void)state;
    assert_null(form_get(NULL, S("a")));
    assert_null(form_get(&(struct form){ 0 }, S("a")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_form_becomes_a_tree),
        TEST(two_spellings_of_one_form_are_the_same_and_nothing_else_is),
        TEST(a_form_has_its_limits),
        TEST(what_is_absent_has_no_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
