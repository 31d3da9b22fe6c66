#include "admin/page.h"
#include "unit/http/harness.h"

static int setup(void **state)
{
    static const struct route table[] = {
        { .method = "GET", .path = "/admin", .handle = admin_page },
        { .method = "GET", .path = "/admin/*", .handle = admin_page },
    };
    struct fixture *f = fixture_new();
    struct route *routes = malloc(sizeof(table));

    assert_non_null(routes);
    memcpy(routes, table, sizeof(table));
    free((void *)f->options.routes);
    f->options.routes = routes;
    f->options.route_count = COUNT(table);
    fixture_start(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture_free(*state);
    return 0;
}

/* headers: lines that end in CRLF, or "". */
static struct answer ask(struct fixture *f, const char *method, const char *target,
                         const char *headers)
{
    struct answer a;
    struct buf b;
    int fd = dial(f);

    buf_init(&b, 4096);
    buf_fmt(&b, "%s %s HTTP/1.1\r\nHost: a\r\n%s\r\n", method, target, headers);
    say(fd, buf_str(&b));
    a = hear(fd, strcmp(method, "HEAD") != 0);
    buf_release(&b);
    close(fd);
    return a;
}

static bool has(const struct answer *a, const char *line)
{
    struct buf b;
    bool yes;

    buf_init(&b, 4096);
    buf_fmt(&b, "\r\n%s\r\n", line);
    buf_char(&b, '\0');
    yes = strcasestr(a->text, buf_str(&b).p) != NULL;
    buf_release(&b);
    return yes;
}

static const struct page_file *file(const char *path)
{
    for (const struct page_file *f = page_files; f->path; f++)
        if (!strcmp(f->path, path))
            return f;
    fail_msg("%s is not in the program", path);
    return NULL;
}

static bool is_form(const struct answer *a, const struct page_form *form)
{
    char etag[80];

    snprintf(etag, sizeof(etag), "ETag: %s", form->etag);
    return has(a, etag) && has(a, "Vary: Accept-Encoding") && a->body_n == form->size &&
           memcmp(a->body, form->bytes, form->size) == 0;
}

static void every_file_comes_with_its_type_and_whole(void **state)
{
    static const struct {
        const char *target, *path, *type;
    } rows[] = {
        { "/admin", "index.html", "Content-Type: text/html; charset=utf-8" },
        { "/admin/", "index.html", "Content-Type: text/html; charset=utf-8" },
        { "/admin/index.html", "index.html", "Content-Type: text/html; charset=utf-8" },
        { "/admin/main.js?v=1", "main.js", "Content-Type: text/javascript; charset=utf-8" },
        { "/admin/lib/%64om.js", "lib/dom.js", "Content-Type: text/javascript; charset=utf-8" },
        { "/admin/style.css", "style.css", "Content-Type: text/css; charset=utf-8" },
        { "/admin/icon.svg", "icon.svg", "Content-Type: image/svg+xml" },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct page_file *want = file(rows[i].path);
        struct answer a = ask(*state, "GET", rows[i].target, "");

        if (a.status != 200 || !has(&a, rows[i].type) || !is_form(&a, &want->plain))
            fail_msg("%s: %d %.400s", rows[i].target, a.status, a.text);
        answer_free(&a);
    }
}

static void nothing_but_our_own_may_be_loaded_or_framed(void **state)
{
    static const char *const targets[] = { "/admin/", "/admin/main.js", "/admin/nothing" };

    for (size_t i = 0; i < COUNT(targets); i++) {
        struct answer a = ask(*state, "GET", targets[i], "");

        if (!strstr(a.text, "Content-Security-Policy: default-src 'none'; script-src 'self'; "
                            "style-src 'self';") ||
            strstr(a.text, "unsafe") || !strstr(a.text, "frame-ancestors 'none'") ||
            !has(&a, "X-Frame-Options: DENY") || !has(&a, "X-Content-Type-Options: nosniff") ||
            !has(&a, "Referrer-Policy: no-referrer"))
            fail_msg("%s: %.600s", targets[i], a.text);
        answer_free(&a);
    }
}

static void what_the_browser_has_is_not_sent_again(void **state)
{
    const char *etag = file("main.js")->plain.etag;
    static const struct {
        const char *why, *before, *after;
        int status;
    } rows[] = {
        { "the same", "If-None-Match: ", "\r\n", 304 },
        { "made weak by a proxy", "If-None-Match: W/", "\r\n", 304 },
        { "one of several", "If-None-Match: \"a\", ", " , \"b\"\r\n", 304 },
        { "anything", "If-None-Match: *\r\nX-Tag: ", "\r\n", 304 },
        { "another one", "If-None-Match: \"a\"\r\nX-Tag: ", "\r\n", 200 },
        { "a part of it", "If-None-Match: \"", "\r\n", 200 },
        { "nothing", "If-None-Match: \r\nX-Tag: ", "\r\n", 200 },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a;
        char line[200];

        snprintf(line, sizeof(line), "%s%s%s", rows[i].before, etag, rows[i].after);
        a = ask(*state, "GET", "/admin/main.js", line);
        snprintf(line, sizeof(line), "ETag: %s", etag);
        if (a.status != rows[i].status || !has(&a, line) || !has(&a, "Cache-Control: no-cache") ||
            (a.status == 304 && a.body_n))
            fail_msg("%s: %.400s", rows[i].why, a.text);
        answer_free(&a);
    }
}

static void who_takes_gzip_gets_it_and_nobody_else(void **state)
{
    static const struct {
        const char *headers;
        bool packed;
    } rows[] = {
        { "", false },
        { "Accept-Encoding: gzip\r\n", true },
        { "Accept-Encoding: gzip, deflate, br, zstd\r\n", true },
        { "Accept-Encoding: br , GZIP ; q=0.001\r\n", true },
        { "Accept-Encoding: x-gzip;Q=1\r\n", true },
        { "Accept-Encoding: *\r\n", true },
        { "Accept-Encoding: *;q=0, gzip\r\n", true },
        { "Accept-Encoding: \r\n", false },
        { "Accept-Encoding: identity\r\n", false },
        { "Accept-Encoding: gzipped, agzip\r\n", false },
        { "Accept-Encoding: gzip;q=0\r\n", false },
        { "Accept-Encoding: gzip; q=0.000, *\r\n", false },
        { "Accept-Encoding: *, gzip;q=0.\r\n", false },
        { "Accept-Encoding: *;q=0\r\n", false },
        { "Accept-Encoding: gzip;q=0\r\nAccept-Encoding: gzip\r\n", false },
    };
    const struct page_file *want = file("main.js");

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = ask(*state, "GET", "/admin/main.js", rows[i].headers);

        if (a.status != 200 || has(&a, "Content-Encoding: gzip") != rows[i].packed ||
            !is_form(&a, rows[i].packed ? &want->gzip : &want->plain))
            fail_msg("%s: %.400s", rows[i].headers, a.text);
        answer_free(&a);
    }
}

static void the_packed_file_and_the_plain_one_have_tags_of_their_own(void **state)
{
    const struct page_file *f = file("main.js");
    const struct {
        const char *has, *takes;
        int status;
    } rows[] = {
        { f->gzip.etag, "gzip", 304 },
        { f->plain.etag, "identity", 304 },
        { f->plain.etag, "gzip", 200 },
        { f->gzip.etag, "identity", 200 },
    };

    assert_string_not_equal(f->plain.etag, f->gzip.etag);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a;
        char lines[200];

        snprintf(lines, sizeof(lines), "If-None-Match: %s\r\nAccept-Encoding: %s\r\n", rows[i].has,
                 rows[i].takes);
        a = ask(*state, "GET", "/admin/main.js", lines);
        if (a.status != rows[i].status || !has(&a, "Vary: Accept-Encoding"))
            fail_msg("%s: %.400s", lines, a.text);
        answer_free(&a);
    }
}

static void every_file_is_smaller_when_packed(void **state)
{
    size_t plain = 0, packed = 0;

    (void)state;
    for (const struct page_file *f = page_files; f->path; f++) {
        static const unsigned char magic[] = { 0x1f, 0x8b, 8, 0 }; /* deflate; no name */
        static const unsigned char no_time[4];

        assert_true(f->gzip.size > 18);
        assert_memory_equal(f->gzip.bytes, magic, sizeof(magic));
        assert_memory_equal(f->gzip.bytes + 4, no_time, sizeof(no_time));
        if (f->gzip.size >= f->plain.size)
            fail_msg("%s: %zu bytes became %zu", f->path, f->plain.size, f->gzip.size);
        plain += f->plain.size;
        packed += f->gzip.size;
    }
    assert_true(packed * 2 < plain);
}

static void head_says_the_same_without_the_file(void **state)
{
    struct answer a = ask(*state, "HEAD", "/admin/style.css", "");
    char line[60];

    snprintf(line, sizeof(line), "Content-Length: %zu", file("style.css")->plain.size);
    assert_int_equal(a.status, 200);
    assert_true(has(&a, line));
    assert_true(has(&a, "Content-Type: text/css; charset=utf-8"));
    answer_free(&a);
}

static void what_is_no_file_of_the_page_is_not_there(void **state)
{
    static const struct {
        const char *target;
        int status;
    } rows[] = {
        { "/admin/nothing.js", 404 },
        { "/admin/lib", 404 },
        { "/admin/lib/", 404 },
        { "/admin//index.html", 404 },
        { "/admin/index.html/", 404 },
        { "/admin/INDEX.HTML", 404 },
        { "/admin/README.md", 404 },
        { "/admin/index.html%00.js", 400 },
        { "/admin/../../etc/passwd", 400 },
        { "/admin/%2e%2e/%2e%2e/etc/passwd", 400 },
        { "/admin/..%2f..%2fetc%2fpasswd", 404 },
        { "/admin/lib/./dom.js", 400 },
        { "/administrator", 404 },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answer a = ask(*state, "GET", rows[i].target, "");

        if (a.status != rows[i].status || strstr(a.body, "root:"))
            fail_msg("%s: %.400s", rows[i].target, a.text);
        answer_free(&a);
    }
}

static void only_reading_is_possible(void **state)
{
    struct answer a = ask(*state, "POST", "/admin/", "Content-Length: 0\r\n");

    assert_int_equal(a.status, 405);
    answer_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_comes_with_its_type_and_whole),
        cmocka_unit_test(nothing_but_our_own_may_be_loaded_or_framed),
        cmocka_unit_test(what_the_browser_has_is_not_sent_again),
        cmocka_unit_test(who_takes_gzip_gets_it_and_nobody_else),
        cmocka_unit_test(the_packed_file_and_the_plain_one_have_tags_of_their_own),
        cmocka_unit_test(every_file_is_smaller_when_packed),
        cmocka_unit_test(head_says_the_same_without_the_file),
        cmocka_unit_test(what_is_no_file_of_the_page_is_not_there),
        cmocka_unit_test(only_reading_is_possible),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
