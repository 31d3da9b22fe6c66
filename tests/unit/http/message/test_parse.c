/* Requests as bytes: what is taken, what is refused, and that it does not depend on the splits. */
#include "base/limits.h"
#include "http/message/parse.h"
#include "unit/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct outcome {
    enum err error;
    size_t rest; /* bytes left behind the request */
    char text[512];
};

/* Feeds the pieces in order and writes down what came of them. */
static enum parse feed_all(struct parser *p, struct str in, size_t *ret_rest)
{
    enum parse result;

    do {
        result = parser_feed(p, &in);
        if (result == PARSE_HEAD) {
            enum err e = parser_take_body(p, 4096);

            if (e) {
                p->error = e;
                result = PARSE_BAD;
            }
        }
    } while (result == PARSE_HEAD);
    *ret_rest = in.n;
    return result;
}

static void describe(const struct parser *p, struct outcome *o)
{
    size_t n = (size_t)snprintf(
        o->text, sizeof(o->text), STR_FMT " " STR_FMT " %s%s%s" STR_FMT, STR_ARG(p->method),
        STR_ARG(p->target), p->keep_alive ? "keep " : "close ",
        p->expects_continue ? "expect " : "", p->chunked ? "chunked " : "", STR_ARG(p->body));

    for (size_t i = 0; i < p->header_count && n < sizeof(o->text); i++)
        n += (size_t)snprintf(o->text + n, sizeof(o->text) - n, "|" STR_FMT "=" STR_FMT,
                              STR_ARG(p->headers[i].name), STR_ARG(p->headers[i].value));
}

/* Feeds `in` with cuts behind every `step` bytes, or one cut at `cut`. */
static struct outcome run(struct str in, size_t step, size_t cut)
{
    struct outcome o = { 0 };
    struct arena arena;
    struct parser p;
    enum parse result = PARSE_MORE;
    size_t at = 0;

    arena_init(&arena, LIMIT_REQUEST_ARENA);
    parser_init(&p, &arena);
    while (at < in.n && result == PARSE_MORE) {
        size_t n = cut && at == 0 ? cut : cut ? in.n - at : step;
        char *copy;
        size_t rest;

        if (n > in.n - at)
            n = in.n - at;
        copy = malloc(n); /* its own block, so that ASan sees a step over its end */
        assert_non_null(copy);
        memcpy(copy, in.p + at, n);
        result = feed_all(&p, (struct str){ copy, n }, &rest);
        free(copy);
        at += n - rest;
        if (result != PARSE_MORE)
            break;
    }
    o.error = result == PARSE_DONE ? OK : result == PARSE_BAD ? p.error : ERR_COUNT;
    if (result == PARSE_DONE) {
        o.rest = in.n - at;
        describe(&p, &o);
    }
    parser_release(&p);
    arena_release(&arena);
    return o;
}

/* The same in one piece, byte by byte, and with one cut at every place. */
static struct outcome run_every_way(const char *why, struct str in)
{
    struct outcome whole = run(in, in.n, 0);
    struct outcome bytes = run(in, 1, 0);

    if (bytes.error != whole.error || bytes.rest != whole.rest || strcmp(bytes.text, whole.text))
        fail_msg("%s: byte by byte %d \"%s\", whole %d \"%s\"", why, bytes.error, bytes.text,
                 whole.error, whole.text);
    for (size_t cut = 1; cut < in.n; cut++) {
        struct outcome o = run(in, 0, cut);

        if (o.error != whole.error || o.rest != whole.rest || strcmp(o.text, whole.text))
            fail_msg("%s: cut at %zu gives %d \"%s\", whole %d \"%s\"", why, cut, o.error, o.text,
                     whole.error, whole.text);
    }
    return whole;
}

#define HOST "Host: a\r\n"

static void a_good_request_is_taken_whole(void **state)
{
    static const struct {
        const char *why;
        struct str in;
        const char *text;
        size_t rest;
    } rows[] = {
        { "the smallest", S("GET / HTTP/1.1\r\n" HOST "\r\n"), "GET / keep |Host=a", 0 },
        { "an empty line before it", S("\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n"),
          "GET / keep |Host=a", 0 },
        { "a body", S("POST /a?b=c HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello"),
          "POST /a?b=c keep hello|Host=a|Content-Length=5", 0 },
        { "an empty body", S("POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n"),
          "POST / keep |Host=a|Content-Length=0", 0 },
        { "the next one follows",
          S("POST / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhiGET / HTTP/1.1\r\n"),
          "POST / keep hi|Host=a|Content-Length=2", 16 },
        { "GET with a body", S("GET / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi"),
          "GET / keep hi|Host=a|Content-Length=2", 0 },
        { "chunks",
          S("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world"
            "\r\n0\r\n\r\n"),
          "POST / keep chunked hello world|Host=a|Transfer-Encoding=chunked", 0 },
        { "chunks, then the next one",
          S("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\n"
            "\r\nGET"),
          "POST / keep chunked 0123456789|Host=a|Transfer-Encoding=Chunked", 3 },
        { "chunk extensions are ignored",
          S("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n2;a=\"d\"\r\nhi\r\n0;x"
            "\r\n\r\n"),
          "POST / keep chunked hi|Host=a|Transfer-Encoding=chunked", 0 },
        { "trailers are ignored",
          S("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: b\r\n"
            "Content-Length: 5\r\n\r\nGET"),
          "POST / keep chunked |Host=a|Transfer-Encoding=chunked", 3 },
        { "blanks around a value",
          S("GET / HTTP/1.1\r\nHost: \t a \t\r\nA:\r\nB:  \r\nC:d\r\n\r\n"),
          "GET / keep |Host=a|A=|B=|C=d", 0 },
        { "bytes beyond ASCII in a value", S("GET / HTTP/1.1\r\n" HOST "X: \xe4\xb8\x80\r\n\r\n"),
          "GET / keep |Host=a|X=\xe4\xb8\x80", 0 },
        { "an absolute target", S("GET http://a/b HTTP/1.1\r\n" HOST "\r\n"),
          "GET http://a/b keep |Host=a", 0 },
        { "OPTIONS *", S("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), "OPTIONS * keep |Host=a", 0 },
        { "1.0 closes", S("GET / HTTP/1.0\r\n\r\n"), "GET / close ", 0 },
        { "1.0 may be kept", S("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
          "GET / keep |Connection=keep-alive", 0 },
        { "1.1 may be closed", S("GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"),
          "GET / close |Host=a|Connection=close", 0 },
        { "close among others", S("GET / HTTP/1.1\r\n" HOST "Connection: x, close\r\n\r\n"),
          "GET / close |Host=a|Connection=x, close", 0 },
        { "100-continue",
          S("POST / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx"),
          "POST / keep expect x|Host=a|Expect=100-Continue|Content-Length=1", 0 },
        { "Upgrade: h2c is ignored",
          S("GET / HTTP/1.1\r\n" HOST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            "\r\nGET"),
          "GET / keep |Host=a|Connection=Upgrade, HTTP2-Settings|Upgrade=h2c", 3 },
        { "Upgrade with a body",
          S("POST / HTTP/1.1\r\n" HOST
            "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n"
            "\r\nhiGET"),
          "POST / keep hi|Host=a|Connection=Upgrade|Upgrade=h2c|Content-Length=2", 3 },
        { "Upgrade with chunks",
          S("POST / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n"
            "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nGET"),
          "POST / keep chunked hi|Host=a|Connection=Upgrade|Upgrade=h2c|Transfer-Encoding=chunked",
          3 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct outcome o = run_every_way(rows[i].why, rows[i].in);

        if (o.error != OK || o.rest != rows[i].rest || strcmp(o.text, rows[i].text))
            fail_msg("%s: error %d, rest %zu, \"%s\"", rows[i].why, o.error, o.rest, o.text);
    }
}

#define POST_CHUNKED "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
    static const struct {
        const char *why;
        struct str in;
        enum err error;
    } rows[] = {
        { "both lengths",
          S("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
          ERR_VALIDATION },
        { "both lengths, the other way round",
          S("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"),
          ERR_VALIDATION },
        { "two lengths",
          S("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"),
          ERR_VALIDATION },
        { "two equal lengths",
          S("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"),
          ERR_VALIDATION },
        { "a list of lengths", S("POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\n"),
          ERR_VALIDATION },
        { "a length with a sign", S("POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\n"),
          ERR_VALIDATION },
        { "a negative length", S("POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n"),
          ERR_VALIDATION },
        { "a hexadecimal length", S("POST / HTTP/1.1\r\n" HOST "Content-Length: 0x5\r\n\r\n"),
          ERR_VALIDATION },
        { "an empty length", S("POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n"),
          ERR_VALIDATION },
        { "a length beyond 64 bits",
          S("POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551617\r\n\r\n"),
          ERR_VALIDATION },
        { "chunked on 1.0",
          S("POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
          ERR_VALIDATION },
        { "two encodings",
          S("POST / HTTP/1.1\r\n" HOST
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"
            "\r\n"),
          ERR_VALIDATION },
        { "chunked is not the last",
          S("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, identity\r\n\r\n"),
          ERR_VALIDATION },
        { "another coding",
          S("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n"),
          ERR_NOT_IMPLEMENTED },
        { "an almost chunked", S("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n"),
          ERR_VALIDATION },
        { "a folded header", S("GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n"), ERR_VALIDATION },
        { "a folded length", S("GET / HTTP/1.1\r\n" HOST "Content-Length:\r\n 5\r\n\r\n"),
          ERR_VALIDATION },
        { "a folded first header", S("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), ERR_VALIDATION },
        { "a bare LF in the head", S("GET / HTTP/1.1\nHost: a\r\n\r\n"), ERR_VALIDATION },
        { "a bare LF ends the head", S("GET / HTTP/1.1\r\n" HOST "\n"), ERR_VALIDATION },
        { "a bare LF before it", S("\nGET / HTTP/1.1\r\n" HOST "\r\n"), ERR_VALIDATION },
        { "a bare CR", S("GET / HTTP/1.1\r\n" HOST "A: b\rc: d\r\n\r\n"), ERR_VALIDATION },
        { "CR CR LF", S("GET / HTTP/1.1\r\n" HOST "A: b\r\r\n\r\n"), ERR_VALIDATION },
        { "a blank before the colon", S("GET / HTTP/1.1\r\n" HOST "Content-Length : 5\r\n\r\n"),
          ERR_VALIDATION },
        { "no name", S("GET / HTTP/1.1\r\n" HOST ": b\r\n\r\n"), ERR_VALIDATION },
        { "no colon", S("GET / HTTP/1.1\r\n" HOST "abc\r\n\r\n"), ERR_VALIDATION },
        { "a blank in a name", S("GET / HTTP/1.1\r\n" HOST "a b: c\r\n\r\n"), ERR_VALIDATION },
        { "a slash in a name", S("GET / HTTP/1.1\r\n" HOST "a/b: c\r\n\r\n"), ERR_VALIDATION },
        { "NUL in a value", S("GET / HTTP/1.1\r\n" HOST "a: b\0c\r\n\r\n"), ERR_VALIDATION },
        { "a control byte in a value", S("GET / HTTP/1.1\r\n" HOST "a: b\x01\r\n\r\n"),
          ERR_VALIDATION },
        { "DEL in a value", S("GET / HTTP/1.1\r\n" HOST "a: b\x7f\r\n\r\n"), ERR_VALIDATION },
        { "NUL in the target", S("GET /\0 HTTP/1.1\r\n" HOST "\r\n"), ERR_VALIDATION },
        { "a TLS hello", S("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), ERR_VALIDATION },
        { "no Host", S("GET / HTTP/1.1\r\n\r\n"), ERR_VALIDATION },
        { "two Hosts", S("GET / HTTP/1.1\r\n" HOST "Host: b\r\n\r\n"), ERR_VALIDATION },
        { "two Hosts on 1.0", S("GET / HTTP/1.0\r\n" HOST "Host: b\r\n\r\n"), ERR_VALIDATION },
        { "an empty Host", S("GET / HTTP/1.1\r\nHost:\r\n\r\n"), ERR_VALIDATION },
        { "a Host with a path", S("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), ERR_VALIDATION },
        { "HTTP/2.0", S("GET / HTTP/2.0\r\n" HOST "\r\n"), ERR_HTTP_VERSION },
        { "HTTP/0.9", S("GET / HTTP/0.9\r\n" HOST "\r\n"), ERR_HTTP_VERSION },
        { "HTTP/1.2", S("GET / HTTP/1.2\r\n" HOST "\r\n"), ERR_HTTP_VERSION },
        { "the preface of HTTP/2", S("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ERR_HTTP_VERSION },
        { "no version", S("GET /\r\n" HOST "\r\n"), ERR_VALIDATION },
        { "ICE", S("SOURCE / ICE/1.0\r\n" HOST "\r\n"), ERR_VALIDATION },
        { "a long version", S("GET / HTTP/1.10\r\n" HOST "\r\n"), ERR_VALIDATION },
        { "two blanks", S("GET  / HTTP/1.1\r\n" HOST "\r\n"), ERR_VALIDATION },
        { "a blank at the end", S("GET / HTTP/1.1 \r\n" HOST "\r\n"), ERR_VALIDATION },
        { "a tab for a blank", S("GET\t/ HTTP/1.1\r\n" HOST "\r\n"), ERR_VALIDATION },
        { "an unknown method", S("BREW / HTTP/1.1\r\n" HOST "\r\n"), ERR_NOT_IMPLEMENTED },
        { "a method in small letters", S("get / HTTP/1.1\r\n" HOST "\r\n"), ERR_NOT_IMPLEMENTED },
        { "CONNECT", S("CONNECT a:443 HTTP/1.1\r\n" HOST "\r\n"), ERR_NOT_IMPLEMENTED },
        { "another expectation", S("POST / HTTP/1.1\r\n" HOST "Expect: a-miracle\r\n\r\n"),
          ERR_EXPECTATION },
        { "a chunk size that is none", S(POST_CHUNKED "x\r\n"), ERR_VALIDATION },
        { "a chunk size with 0x", S(POST_CHUNKED "0x5\r\nhello\r\n"), ERR_VALIDATION },
        { "a signed chunk size", S(POST_CHUNKED "+5\r\nhello\r\n0\r\n\r\n"), ERR_VALIDATION },
        { "a blank before a chunk size", S(POST_CHUNKED " 5\r\nhello\r\n0\r\n\r\n"),
          ERR_VALIDATION },
        { "a chunk size that overflows", S(POST_CHUNKED "10000000000000005\r\nhello\r\n"),
          ERR_VALIDATION },
        { "an empty chunk size", S(POST_CHUNKED "\r\nhello\r\n"), ERR_VALIDATION },
        { "a bare LF behind a chunk size", S(POST_CHUNKED "5\nhello\r\n0\r\n\r\n"),
          ERR_VALIDATION },
        { "a bare CR behind a chunk size", S(POST_CHUNKED "5\rhello\r\n0\r\n\r\n"),
          ERR_VALIDATION },
        { "a bare LF in a chunk extension", S(POST_CHUNKED "5;a\nhello\r\n0\r\n\r\n"),
          ERR_VALIDATION },
        { "a bare LF in a quoted chunk extension",
          S(POST_CHUNKED "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n"), ERR_VALIDATION },
        { "a bare CR in a chunk extension", S(POST_CHUNKED "5;a=b\rc\r\nhello\r\n0\r\n\r\n"),
          ERR_VALIDATION },
        { "NUL in a chunk extension", S(POST_CHUNKED "5;a=\0\r\nhello\r\n0\r\n\r\n"),
          ERR_VALIDATION },
        { "a chunk longer than it says", S(POST_CHUNKED "2\r\nhello\r\n0\r\n\r\n"),
          ERR_VALIDATION },
        { "a bare LF behind a chunk", S(POST_CHUNKED "5\r\nhello\n0\r\n\r\n"), ERR_VALIDATION },
        { "a bare LF behind the last chunk", S(POST_CHUNKED "0\n\r\n"), ERR_VALIDATION },
        { "a bare LF ends the trailers", S(POST_CHUNKED "0\r\n\n"), ERR_VALIDATION },
        { "a folded trailer", S(POST_CHUNKED "0\r\nA: b\r\n c\r\n\r\n"), ERR_VALIDATION },
        { "a control byte in a trailer", S(POST_CHUNKED "0\r\nA: \x02\r\n\r\n"), ERR_VALIDATION },
        { "a body over the limit", S("POST / HTTP/1.1\r\n" HOST "Content-Length: 4097\r\n\r\n"),
          ERR_TOO_LARGE },
        { "a chunk over the limit", S(POST_CHUNKED "1001\r\n"), ERR_TOO_LARGE },
        { "chunks over the limit", S(POST_CHUNKED "1\r\na\r\n1000\r\n"), ERR_TOO_LARGE },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct outcome o = run_every_way(rows[i].why, rows[i].in);

        if (o.error != rows[i].error)
            fail_msg("%s: error %d, not %d; \"%s\"", rows[i].why, o.error, rows[i].error, o.text);
    }
}

/* Head + n times filler; the error that meets it, and after how many bytes at the latest. */
static struct outcome flood(const char *head, const char *filler, size_t times)
{
    struct buf b;
    struct outcome o;

    buf_init(&b, 1024 * 1024);
    buf_add(&b, str_of(head));
    for (size_t i = 0; i < times; i++)
        buf_add(&b, str_of(filler));
    assert_false(b.failed);
    o = run(buf_str(&b), 1000, 0);
    buf_release(&b);
    return o;
}

static void floods_meet_their_limits(void **state)
{
    (void)state;
    assert_int_equal(flood("GET /", "aaaaaaaaaa", 900).error, ERR_URI_TOO_LONG);
    assert_int_equal(flood("", "\r\n", 5000).error, ERR_URI_TOO_LONG);
    assert_int_equal(flood("GET / HTTP/1.1\r\n", "a: b\r\n", 101).error, ERR_HEADERS_TOO_LARGE);
    assert_int_equal(flood("GET / HTTP/1.1\r\nX: ", "aaaaaaaaaa", 3300).error,
                     ERR_HEADERS_TOO_LARGE);
    assert_int_equal(flood(POST_CHUNKED "1;", "eeeeeeeeee", 6600).error, ERR_TOO_LARGE);
    assert_int_equal(flood(POST_CHUNKED "0\r\n", "a: b\r\n", 101).error, ERR_HEADERS_TOO_LARGE);
    assert_int_equal(flood(POST_CHUNKED, "1;eeeeeeeeeeeeeeeeeeeeeeee\r\na\r\n", 3000).error,
                     ERR_TOO_LARGE);
}

static void what_is_just_within_the_limits_is_taken(void **state)
{
    char target[LIMIT_REQUEST_LINE] = { 0 };
    struct buf b;

    (void)state;
    buf_init(&b, 1024 * 1024);
    memset(target, 'a', LIMIT_REQUEST_LINE - 16);
    buf_fmt(&b, "GET /%s HTTP/1.1\r\n" HOST, target);
    for (int i = 1; i < LIMIT_HEADER_COUNT; i++)
        buf_add(&b, S("a: b\r\n"));
    buf_add(&b, S("\r\n"));
    assert_int_equal(run(buf_str(&b), 4096, 0).error, OK);
    buf_release(&b);
}

static void a_parser_is_used_again(void **state)
{
    struct arena arena;
    struct parser p;
    size_t rest;

    (void)state;
    arena_init(&arena, LIMIT_REQUEST_ARENA);
    parser_init(&p, &arena);
    for (int i = 0; i < 3; i++) {
        struct str in = S("POST / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi");

        assert_int_equal(feed_all(&p, in, &rest), PARSE_DONE);
        assert_true(str_eq(buf_str(&p.body), S("hi")));
        assert_int_equal(p.header_count, 2);
        arena_release(&arena);
        parser_reset(&p);
    }
    parser_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_good_request_is_taken_whole), TEST(what_could_be_read_in_two_ways_is_refused),
        TEST(floods_meet_their_limits),      TEST(what_is_just_within_the_limits_is_taken),
        TEST(a_parser_is_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
