/* The server over real sockets: what a client sees. */
#include "unit/http/harness.h"

#define HEAD_OF(line) line " HTTP/1.1\r\nHost: a\r\n"
#define GET(path) HEAD_OF("GET " path) "\r\n"

static int set_up(void **state)
{
    struct fixture *f = fixture_new();

    fixture_start(f);
    *state = f;
    return 0;
}

static int set_up_impatient(void **state)
{
    struct fixture *f = fixture_new();

    f->options.head_ms = f->options.body_ms = f->options.idle_ms = f->options.reply_ms = 100;
    fixture_start(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_free(*state);
    return 0;
}

static void one_connection_serves_many_requests(void **state)
{
    int fd = dial(*state);

    for (int i = 0; i < 20; i++) {
        say(fd, S(HEAD_OF("POST /echo") "Content-Length: 5\r\n\r\nhello"));
        expect_answer(fd, 200, "hello");
        say(fd, S(GET("/later/1")));
        expect_answer(fd, 200, "/later/1");
    }
    close(fd);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    int fd = dial(*state);

    say(fd,
        S(GET("/later/1") HEAD_OF("POST /echo") "Content-Length: 1\r\n\r\n2" GET("/nowhere")
              GET("/later/4") HEAD_OF("POST /later/5") "Transfer-Encoding: chunked\r\n\r\n"
                                                       "1\r\nx\r\n0\r\n\r\n" GET("/param/6/end")));
    expect_answer(fd, 200, "/later/1");
    expect_answer(fd, 200, "2");
    expect_answer(fd, 404, NULL);
    expect_answer(fd, 200, "/later/4");
    expect_answer(fd, 200, "/later/5");
    expect_answer(fd, 200, "6");
    close(fd);
}

static void a_raw_path_reaches_its_handler_as_it_came(void **state)
{
    static const struct {
        const char *target, *path; /* path NULL: 400 */
    } rows[] = {
        { "/raw/%ff/../x?y", "/raw/%ff/../x" },
        { "/raw/%zz", "/raw/%zz" },
        { "http://h/raw/%2e%2e", "/raw/%2e%2e" },
        { "/later/%ff", NULL },
        { "/later/..", NULL },
        { "/x/../raw/1", NULL },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        char request[200];
        int fd = dial(*state);

        snprintf(request, sizeof(request), HEAD_OF("POST %s") "Content-Length: 0\r\n\r\n",
                 rows[i].target);
        say(fd, str_of(request));
        expect_answer(fd, rows[i].path ? 200 : 400, rows[i].path);
        close(fd);
    }
}

struct writer {
    int fd;
    struct str bytes;
};

static void *write_all(void *arg)
{
    struct writer *w = arg;

    while (w->bytes.n) {
        ssize_t n = send(w->fd, w->bytes.p, w->bytes.n, MSG_NOSIGNAL);

        if (n <= 0)
            break;
        w->bytes.p += n;
        w->bytes.n -= (size_t)n;
    }
    return NULL;
}

static void more_is_pipelined_than_a_read_takes(void **state)
{
    struct buf b;
    struct writer w;
    pthread_t thread;
    int fd = dial(*state), n = 6000;

    buf_init(&b, 1024 * 1024);
    for (int i = 0; i < n; i++)
        buf_fmt(&b, HEAD_OF("GET /later/%d") "\r\n", i);
    w = (struct writer){ fd, buf_str(&b) };
    pthread_create(&thread, NULL, write_all, &w);
    for (int i = 0; i < n; i++) {
        char path[32];

        snprintf(path, sizeof(path), "/later/%d", i);
        expect_answer(fd, 200, path);
    }
    pthread_join(thread, NULL);
    buf_release(&b);
    close(fd);
}

static void bytes_may_come_one_by_one(void **state)
{
    struct str in =
        S(HEAD_OF("POST /echo") "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    int fd = dial(*state);

    for (size_t i = 0; i < in.n; i++)
        say(fd, (struct str){ in.p + i, 1 });
    expect_answer(fd, 200, "abc");
    close(fd);
}

static void a_large_body_comes_back(void **state)
{
    struct buf b;
    struct answer a;
    size_t n = 1500 * 1000;
    int fd = dial(*state);

    buf_init(&b, 2 * n);
    buf_fmt(&b, HEAD_OF("POST /echo") "Content-Length: %zu\r\n\r\n", n);
    for (size_t i = 0; i < n; i++)
        buf_char(&b, (char)('a' + i % 23));
    say(fd, buf_str(&b));
    a = hear(fd, true);
    assert_int_equal(a.body_n, n);
    assert_memory_equal(a.body, b.p + b.n - n, n);
    answer_free(&a);
    buf_release(&b);
    close(fd);
}

static void expect_100_gets_its_continue(void **state)
{
    int fd = dial(*state);
    struct answer a;

    say(fd, S(HEAD_OF("POST /echo") "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    a = hear(fd, false);
    assert_int_equal(a.status, 100);
    answer_free(&a);
    say(fd, S("hi"));
    expect_answer(fd, 200, "hi");
    close(fd);
}

static void what_will_be_refused_gets_no_continue(void **state)
{
    static const struct {
        const char *head;
        int status;
    } rows[] = {
        { HEAD_OF("POST /small") "Expect: 100-continue\r\nContent-Length: 17\r\n\r\n", 413 },
        { HEAD_OF("POST /nowhere") "Expect: 100-continue\r\nContent-Length: 17\r\n\r\n", 404 },
        { HEAD_OF("PUT /small") "Expect: 100-continue\r\nContent-Length: 17\r\n\r\n", 405 },
        { HEAD_OF("POST /small") "Expect: wonders\r\nContent-Length: 1\r\n\r\n", 417 },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        int fd = dial(*state);

        say(fd, str_of(rows[i].head));
        expect_answer(fd, rows[i].status, NULL);
        expect_end(fd);
    }
}

static void head_has_the_length_and_no_body(void **state)
{
    int fd = dial(*state);
    struct answer a;

    say(fd, S(HEAD_OF("HEAD /param/abc/end") "\r\n"));
    a = hear(fd, false);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.text, "Content-Length: 3\r\n"));
    answer_free(&a);
    say(fd, S(GET("/param/abc/end"))); /* the next reply begins right behind it */
    expect_answer(fd, 200, "abc");
    close(fd);
}

static void methods_are_told(void **state)
{
    int fd = dial(*state);
    struct answer a;

    say(fd, S(HEAD_OF("DELETE /echo") "\r\n" HEAD_OF("OPTIONS /echo") "\r\n"));
    a = hear(fd, true);
    assert_int_equal(a.status, 405);
    assert_non_null(strstr(a.text, "\r\nAllow: POST, GET, HEAD, OPTIONS\r\n"));
    assert_non_null(strstr(a.text, "\r\nCache-Control: no-store\r\n"));
    assert_non_null(strstr(a.body, "\"code\":\"METHOD_NOT_ALLOWED\""));
    answer_free(&a);
    a = hear(fd, true);
    assert_int_equal(a.status, 204);
    assert_non_null(strstr(a.text, "\r\nAllow: POST, GET, HEAD, OPTIONS\r\n"));
    assert_null(strstr(a.text, "Content-Length"));
    answer_free(&a);
    close(fd);
}

static void ids_and_traces_are_echoed_where_they_are_sane(void **state)
{
    static const char trace[] = "\r\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-";
    int fd = dial(*state);
    struct answer a;

    say(fd,
        S(HEAD_OF("GET /echo") "X-Request-Id: a.B_c-9\r\ntraceparent: "
                               "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n"));
    a = hear(fd, true);
    assert_non_null(strstr(a.text, "\r\nX-Request-Id: a.B_c-9\r\n"));
    assert_non_null(strstr(a.text, trace));
    assert_null(strstr(a.text, "b7ad6b7169203331")); /* that is the client's own place in it */
    assert_memory_equal(strstr(a.text, trace) + strlen(trace) + 16, "-01\r\n", 5);
    assert_non_null(strstr(a.text, "\r\nX-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(a.text, "\r\nDate: "));
    assert_non_null(strstr(a.text, "\r\nX-Peer: 127.0.0.1\r\n"));
    answer_free(&a);
    say(fd, S(HEAD_OF("GET /nowhere") "X-Request-Id: a b\r\nAccept-Language: ja\r\n\r\n"));
    a = hear(fd, true);
    assert_null(strstr(a.text, "a b"));
    assert_non_null(strstr(a.text, "\r\nContent-Language: ja\r\n"));
    assert_non_null(strstr(a.text, "\r\nContent-Type: application/problem+json\r\n"));
    answer_free(&a);
    close(fd);
}

static void http_1_0_is_closed_unless_it_asks(void **state)
{
    int fd = dial(*state);
    struct answer a;

    say(fd, S("GET /later/1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    a = hear(fd, true);
    assert_non_null(strstr(a.text, "\r\nConnection: keep-alive\r\n"));
    answer_free(&a);
    say(fd, S("GET /later/1 HTTP/1.0\r\n\r\n"));
    a = hear(fd, true);
    assert_non_null(strstr(a.text, "\r\nConnection: close\r\n"));
    answer_free(&a);
    expect_end(fd);
}

static void a_client_may_close_its_half_and_wait(void **state)
{
    int fd = dial(*state);

    say(fd, S(GET("/later/7") GET("/later/8")));
    shutdown(fd, SHUT_WR);
    expect_answer(fd, 200, "/later/7");
    expect_answer(fd, 200, "/later/8");
    expect_end(fd);
}

static void a_truncated_request_is_told_so(void **state)
{
    int fd = dial(*state);

    say(fd, S(HEAD_OF("POST /echo") "Content-Length: 5\r\n\r\nhel"));
    shutdown(fd, SHUT_WR);
    expect_answer(fd, 400, NULL);
    expect_end(fd);
}

static void broken_framing_ends_the_connection(void **state)
{
    struct fixture *f = *state;
    int fd = dial(f);

    say(fd,
        S("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"
          "\r\n0\r\n\r\n" GET("/echo")));
    expect_answer(fd, 400, NULL);
    expect_end(fd);
    wait_for(f, &f->refused, 1);
}

/* W5: the client sends all of it before it looks for the answer. */
static void w5_a_413_reaches_a_client_that_is_still_sending(void **state)
{
    static char zeros[64 * 1024];
    int fd = dial(*state);

    say(fd, S(HEAD_OF("POST /small") "Content-Length: 4194304\r\n\r\n"));
    for (int i = 0; i < 64; i++)
        say(fd, (struct str){ zeros, sizeof(zeros) });
    expect_answer(fd, 413, NULL);
    expect_end(fd);
}

/* Sends a byte, waits a little for an answer, sends the next: until the server has had enough. */
static void drip(int fd, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        struct pollfd p = { .fd = fd, .events = POLLIN };

        if (send(fd, bytes.p + i, 1, MSG_NOSIGNAL) != 1 || poll(&p, 1, 20) > 0)
            return;
    }
    fail_msg("the server waited for ever");
}

static void w5_a_slow_head_meets_its_deadline(void **state)
{
    int fd = dial(*state);

    drip(fd, S(HEAD_OF("GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")));
    expect_answer(fd, 408, NULL);
    expect_end(fd);
}

static void w5_a_slow_body_meets_its_deadline(void **state)
{
    int fd = dial(*state);

    say(fd, S(HEAD_OF("POST /echo") "Content-Length: 500\r\n\r\n"));
    drip(fd,
         S("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    expect_answer(fd, 408, NULL);
    expect_end(fd);
}

static void an_idle_connection_is_closed_in_silence(void **state)
{
    int fd = dial(*state);

    say(fd, S(GET("/echo")));
    expect_answer(fd, 200, "");
    expect_end(fd);
    expect_end(dial(*state));
}

static void a_reply_that_nobody_takes_ends_the_connection(void **state)
{
    struct fixture *f = *state;
    int fd = dial(f);

    for (int i = 0; i < 8; i++)
        say(fd, S(GET("/big")));
    wait_for(f, &f->replied, 1); /* the first one is on its way, and it is not read */
    while (server_counts(f->server).connections > 0)
        usleep(1000);
    close(fd);
}

static void a_handler_may_reply_after_the_peer_has_gone(void **state)
{
    struct fixture *f = *state;
    struct linger reset = { .l_onoff = 1 };
    int fd = dial(f);

    say(fd, S(GET("/hold")));
    wait_for(f, &f->holds, 1);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    while (server_counts(f->server).connections > 0)
        usleep(1000);
    assert_int_equal(server_counts(f->server).in_flight, 1);
    let_go(f);
    wait_for(f, &f->replied, 1);
    fd = dial(f);
    say(fd, S(GET("/echo")));
    expect_answer(fd, 200, "");
    assert_int_equal(server_counts(f->server).in_flight, 0);
    close(fd);
}

/* --- several loops --- */

static int set_up_loops(void **state)
{
    struct fixture *f = fixture_new();

    f->options.loops = 4;
    fixture_start(f);
    *state = f;
    return 0;
}

static void every_loop_answers(void **state)
{
    int fds[64];

    for (size_t i = 0; i < COUNT(fds); i++)
        say(fds[i] = dial(*state), S(GET("/later/1") GET("/later/2")));
    for (size_t i = 0; i < COUNT(fds); i++) {
        expect_answer(fds[i], 200, "/later/1");
        expect_answer(fds[i], 200, "/later/2");
        close(fds[i]);
    }
}

/* --- opening --- */

static void an_address_in_use_is_told(void **state)
{
    struct fixture *f = *state, *other = fixture_new();
    char address[32];
    struct why why = { 0 };

    snprintf(address, sizeof(address), "127.0.0.1:%d", server_port(f->server));
    other->options.listen = str_of(address);
    for (int loops = 1; loops <= 2; loops++) {
        other->options.loops = loops;
        assert_int_equal(server_open(&other->options, &other->server, &why), ERR_VALIDATION);
        assert_non_null(strstr(why.text, "in use"));
    }
    other->options.listen = S("nonsense");
    assert_int_equal(server_open(&other->options, &other->server, &why), ERR_VALIDATION);
    fixture_free(other);
}

static void a_server_that_never_ran_is_freed(void **state)
{
    struct fixture *f = fixture_new();
    struct why why;

    (void)state;
    f->options.loops = 2;
    assert_int_equal(server_open(&f->options, &f->server, &why), OK);
    assert_true(server_port(f->server) > 0);
    fixture_free(f);
}

#define SERVED(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SERVED_BY(name, how) cmocka_unit_test_setup_teardown(name, how, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(one_connection_serves_many_requests),
        SERVED(pipelined_requests_are_answered_in_order),
        SERVED(a_raw_path_reaches_its_handler_as_it_came),
        SERVED(more_is_pipelined_than_a_read_takes),
        SERVED(bytes_may_come_one_by_one),
        SERVED(a_large_body_comes_back),
        SERVED(expect_100_gets_its_continue),
        SERVED(what_will_be_refused_gets_no_continue),
        SERVED(head_has_the_length_and_no_body),
        SERVED(methods_are_told),
        SERVED(ids_and_traces_are_echoed_where_they_are_sane),
        SERVED(http_1_0_is_closed_unless_it_asks),
        SERVED(a_client_may_close_its_half_and_wait),
        SERVED(a_truncated_request_is_told_so),
        SERVED(broken_framing_ends_the_connection),
        SERVED(w5_a_413_reaches_a_client_that_is_still_sending),
        SERVED_BY(w5_a_slow_head_meets_its_deadline, set_up_impatient),
        SERVED_BY(w5_a_slow_body_meets_its_deadline, set_up_impatient),
        SERVED_BY(an_idle_connection_is_closed_in_silence, set_up_impatient),
        SERVED_BY(a_reply_that_nobody_takes_ends_the_connection, set_up_impatient),
        SERVED(a_handler_may_reply_after_the_peer_has_gone),
        SERVED_BY(every_loop_answers, set_up_loops),
        SERVED(an_address_in_use_is_told),
        TEST(a_server_that_never_ran_is_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
