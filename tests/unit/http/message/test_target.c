#include "http/message/target.h"
#include "unit/cm.h"

#include <stdlib.h>
#include <string.h>

static void a_target_is_a_path_and_a_query(void **state)
{
    static const struct {
        const char *target, *path, *query; /* path NULL: refused */
        bool options;
    } rows[] = {
        { "/", "/", "", false },
        { "/a/b?c=d", "/a/b", "c=d", false },
        { "/a?", "/a", "", false },
        { "/a?b?c", "/a", "b?c", false },
        { "/a%20b", "/a b", "", false },
        { "/%E4%B8%80", "/\xe4\xb8\x80", "", false },
        { "/a%2Fb", "/a/b", "", false },
        { "//a", "//a", "", false },
        { "/a.b", "/a.b", "", false },
        { "/...", "/...", "", false },
        { "http://h/a?b", "/a", "b", false },
        { "HTTPS://h:1/a", "/a", "", false },
        { "http://h", "/", "", false },
        { "http://h?a", "/", "a", false },
        { "*", "*", "", true },
        { "*", NULL, NULL, false },
        { "a", NULL, NULL, false },
        { "http:", NULL, NULL, false },
        { "http:///a", NULL, NULL, false },
        { "ftp://h/a", NULL, NULL, false },
        { "h:443", NULL, NULL, false },
        { "/a#b", NULL, NULL, false },
        { "/%", NULL, NULL, false },
        { "/%4", NULL, NULL, false },
        { "/%zz", NULL, NULL, false },
        { "/%00", NULL, NULL, false },
        { "/%0a", NULL, NULL, false },
        { "/%7f", NULL, NULL, false },
        { "/%ff", NULL, NULL, false },
        { "/%c0%af", NULL, NULL, false },
        { "/%ed%a0%80", NULL, NULL, false },
        { "/.", NULL, NULL, false },
        { "/a/..", NULL, NULL, false },
        { "/../a", NULL, NULL, false },
        { "/%2e%2e/a", NULL, NULL, false },
        { "/a/%2E/b", NULL, NULL, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena a;
        struct target t = { 0 };
        const char *why = NULL;
        enum err e;

        arena_init(&a, 4096);
        e = target_split(str_of(rows[i].target), rows[i].options, &t, &why);
        if (!e)
            e = target_decode(&a, &t, &why);
        if ((e == OK) != (rows[i].path != NULL) || (e && (e != ERR_VALIDATION || !why)) ||
            (!e &&
             (!str_eq(t.path, str_of(rows[i].path)) || !str_eq(t.query, str_of(rows[i].query)))))
            fail_msg("%s: %d, \"%.*s\" ? \"%.*s\"", rows[i].target, e, STR_ARG(t.path),
                     STR_ARG(t.query));
        arena_release(&a);
    }
}

static void a_path_that_is_only_split_is_as_it_came(void **state)
{
    static const struct {
        const char *target, *path, *query; /* path NULL: refused */
    } rows[] = {
        { "/a/../b?c", "/a/../b", "c" },
        { "/%ff/%2e%2e?%ff", "/%ff/%2e%2e", "%ff" },
        { "/%zz%", "/%zz%", "" },
        { "http://h/%00?", "/%00", "" },
        { "http://h", "/", "" },
        { "/a\tb", NULL, NULL },
        { "/a\x7f", NULL, NULL },
        { "/a#b", NULL, NULL },
        { "a", NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct target t = { 0 };
        const char *why = NULL;
        enum err e = target_split(str_of(rows[i].target), false, &t, &why);

        if ((e == OK) != (rows[i].path != NULL) || (e && (e != ERR_VALIDATION || !why)) ||
            (!e && (!str_eq(t.path, str_of(rows[i].path)) || !str_eq(t.raw_path, t.path) ||
                    !str_eq(t.query, str_of(rows[i].query)))))
            fail_msg("%s: %d, \"%.*s\" ? \"%.*s\"", rows[i].target, e, STR_ARG(t.path),
                     STR_ARG(t.query));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(a_target_is_a_path_and_a_query),
                                        TEST(a_path_that_is_only_split_is_as_it_came) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
