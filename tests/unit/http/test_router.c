#include "http/router.h"
#include "unit/cm.h"

#include <stdlib.h>
#include <string.h>

static void nothing(struct request *r, void *ctx)
{
    (void)r;
    (void)ctx;
}

static const struct route routes[] = {
    { .method = "GET", .path = "/", .handle = nothing },
    { .method = "POST", .path = "/payments", .handle = nothing },
    { .method = "GET", .path = "/payments", .handle = nothing },
    { .method = "GET", .path = "/payments/search", .handle = nothing },
    { .method = "GET", .path = "/payments/{id}", .handle = nothing },
    { .method = "POST", .path = "/payments/{id}/capture", .handle = nothing },
    { .method = "GET", .path = "/a/{b}/c/{d}/{e}/{f}", .handle = nothing },
    { .method = "GET", .path = "/all/*", .handle = nothing },
    { .method = "POST", .path = "/raw/*", .handle = nothing, .raw = true },
    { .method = "GET", .path = "/raw/one", .handle = nothing, .raw = true },
    { .method = "PUT", .path = "/raw/{id}", .handle = nothing },
};

static void a_path_finds_its_row(void **state)
{
    static const struct {
        const char *method, *path;
        int row;            /* -1: NOT_FOUND, -2: METHOD */
        const char *detail; /* the first param, or Allow */
    } rows[] = {
        { "GET", "/", 0, "" },
        { "HEAD", "/", 0, "" },
        { "POST", "/payments", 1, "" },
        { "GET", "/payments", 2, "" },
        { "GET", "/payments/search", 3, "" },
        { "GET", "/payments/searching", 4, "searching" },
        { "GET", "/payments/a%20b", 4, "a b" },
        { "GET", "/payments/a%2Fb", 4, "a/b" },
        { "GET", "/payments/%e4%b8%80", 4, "\xe4\xb8\x80" },
        { "GET", "/%70ayments/x", 4, "x" },
        { "POST", "/payments/x/capture", 5, "x" },
        { "GET", "/a/1/c/2/3/4", 6, "1" },
        { "GET", "/all/x", 7, "" },
        { "GET", "/all/x/y/", 7, "" },
        { "GET", "/all/", 7, "" },
        { "GET", "/all", -1, "" },
        { "POST", "/all/x", -2, "GET, HEAD, OPTIONS" },
        { "POST", "/raw/", 8, "" },
        { "POST", "/raw/../%ff/%zz//", 8, "" },
        { "POST", "/raw/one", 8, "" },
        { "GET", "/raw/one", 9, "" },
        { "GET", "/raw/on%65", -2, "POST, OPTIONS" },
        { "POST", "/raw", -1, "" },
        { "POST", "/r%61w/x", -2, "PUT, OPTIONS" },
        { "PUT", "/r%61w/x", 10, "x" },
        { "PUT", "/raw/x", -2, "POST, OPTIONS" },
        { "GET", "", -1, "" },
        { "GET", "//", -1, "" },
        { "GET", "/payments/", -1, "" },
        { "GET", "/payments//", -1, "" },
        { "POST", "/payments//capture", -1, "" },
        { "GET", "//payments", -1, "" },
        { "GET", "/payment", -1, "" },
        { "GET", "/paymentss", -1, "" },
        { "GET", "/PAYMENTS", -1, "" },
        { "GET", "/payments%2Fx", -1, "" },
        { "GET", "/payments/x/capture/y", -1, "" },
        { "GET", "*", -1, "" },
        { "DELETE", "/payments", -2, "POST, GET, HEAD, OPTIONS" },
        { "OPTIONS", "/payments", -2, "POST, GET, HEAD, OPTIONS" },
        { "GET", "/payments/x/capture", -2, "POST, OPTIONS" },
        { "PUT", "/payments/search", -2, "GET, HEAD, OPTIONS" },
        { "get", "/payments/search", -2, "GET, HEAD, OPTIONS" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena a;
        const struct route *found = NULL;
        struct str params[ROUTE_PARAMS] = { { 0 } }, allow = { 0 };
        enum err e, want = rows[i].row == -1 ? ERR_NOT_FOUND : rows[i].row == -2 ? ERR_METHOD : OK;

        arena_init(&a, 4096);
        e = route_find(&a, routes, COUNT(routes), str_of(rows[i].method), str_of(rows[i].path),
                       &found, params, &allow);
        if (e != want || (want == OK && found != &routes[rows[i].row]) ||
            !str_eq(want == OK ? params[0] : allow, str_of(rows[i].detail)))
            fail_msg("%s %s: %d", rows[i].method, rows[i].path, e);
        arena_release(&a);
    }
}

static void a_broken_table_is_told(void **state)
{
    const struct route raw_with_a_name = {
        .method = "GET", .path = "/{a}/*", .handle = nothing, .raw = true
    };
    const struct route bad[] = {
        { .method = "GET", .path = "payments", .handle = nothing },
        { .method = "GET", .path = "/{a}/{b}/{c}/{d}/{e}", .handle = nothing },
        { .method = "GET", .path = "/", .handle = NULL },
    };

    (void)state;
    assert_false(routes_are_sane(&raw_with_a_name, 1));
    assert_true(routes_are_sane(routes, COUNT(routes)));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(routes_are_sane(&bad[i], 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_path_finds_its_row),
        TEST(a_broken_table_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
