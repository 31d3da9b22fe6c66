/* The server over real sockets: what one client may take, and what others then get. */
#include "unit/http/harness.h"

#include <poll.h>

#define HEAD_OF(line) line " HTTP/1.1\r\nHost: a\r\n"
#define GET(path) HEAD_OF("GET " path) "\r\n"

static int tear_down(void **state)
{
    fixture_free(*state);
    return 0;
}

/* --- bodies --- */

static int set_up_roomy(void **state)
{
    struct fixture *f = fixture_new();

    fixture_start(f);
    *state = f;
    return 0;
}

static int set_up_no_room(void **state)
{
    struct fixture *f = fixture_new();

    f->options.max_bodies = 1;
    fixture_start(f);
    *state = f;
    return 0;
}

static int set_up_two_bodies(void **state)
{
    struct fixture *f = fixture_new();

    f->options.max_bodies = 128 * 1024;
    fixture_start(f);
    *state = f;
    return 0;
}

static void w5_a_body_that_no_route_takes_is_not_awaited(void **state)
{
    static const struct {
        const char *head;
        int status;
        const char *line;
    } rows[] = {
        { HEAD_OF("POST /nope") "Content-Length: 1048576\r\n\r\nbegin", 404, "" },
        { HEAD_OF("POST /nope") "Content-Length: 9999999999\r\n\r\n", 404, "" },
        { HEAD_OF("POST /nope") "Transfer-Encoding: chunked\r\n\r\n5\r\nhel", 404, "" },
        { HEAD_OF("PUT /small") "Content-Length: 9\r\n\r\n", 405, "\r\nAllow: POST, OPTIONS\r\n" },
        { HEAD_OF("OPTIONS /small") "Content-Length: 9\r\n\r\n", 204, "\r\nAllow: POST" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        int fd = dial(f);
        struct answer a;

        say(fd, str_of(rows[i].head));
        a = hear(fd, true);
        if (a.status != rows[i].status || !strstr(a.text, rows[i].line) ||
            !strstr(a.text, "\r\nConnection: close\r\n"))
            fail_msg("row %zu: %s", i, a.text);
        answer_free(&a);
        expect_end(fd);
    }
    wait_for(f, &f->replied, COUNT(rows)); /* they are answers, not refusals */
}

static void w5_a_client_that_sends_such_a_body_hears_the_answer(void **state)
{
    static char zeros[64 * 1024];
    int fd = dial(*state);

    say(fd, S(HEAD_OF("POST /nope") "Content-Length: 1048576\r\n\r\n"));
    for (int i = 0; i < 16; i++)
        say(fd, (struct str){ zeros, sizeof(zeros) });
    expect_answer(fd, 404, NULL);
    expect_end(fd);
}

static void say_zeros(int fd, size_t n)
{
    static char zeros[64 * 1024];

    say(fd, (struct str){ zeros, n });
}

static int begin_body(const struct fixture *f)
{
    int fd = dial(f);

    say(fd, S(HEAD_OF("POST /echo") "Content-Length: 61000\r\n\r\n"));
    say_zeros(fd, 60000);
    return fd;
}

static void w5_the_oldest_slow_body_gives_way_to_a_new_one(void **state)
{
    struct fixture *f = *state;
    int oldest = begin_body(f), slow = begin_body(f), good = dial(f);
    struct answer a;

    say(good, S(HEAD_OF("POST /echo") "Content-Length: 2\r\n\r\nhi"));
    expect_answer(good, 200, "hi");
    expect_answer(oldest, 503, NULL);
    expect_end(oldest);
    say_zeros(slow, 1000);
    a = hear(slow, true);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body_n, 61000);
    answer_free(&a);
    close(slow);
    close(good);
}

static void w5_a_request_without_a_body_needs_no_room(void **state)
{
    int fd = dial(*state);

    say(fd, S(HEAD_OF("POST /echo") "Content-Length: 5\r\n\r\nhello"));
    expect_answer(fd, 503, NULL); /* there is room for one byte */
    expect_end(fd);
    fd = dial(*state);
    say(fd, S(GET("/echo"))); /* in the same exchange, whose buffer was kept */
    expect_answer(fd, 200, "");
    close(fd);
}

/* --- connections --- */

enum { HOUSE = 50 };

static int set_up_house(void **state)
{
    struct fixture *f = fixture_new();

    f->options.max_connections = HOUSE;
    fixture_start(f);
    *state = f;
    return 0;
}

static void fill(const struct fixture *f, int fds[HOUSE], struct str first_words)
{
    for (int i = 0; i < HOUSE; i++)
        say(fds[i] = dial(f), first_words);
}

static void close_all(const int fds[HOUSE], int from)
{
    for (int i = from; i < HOUSE; i++)
        close(fds[i]);
}

static void a5_the_longest_silent_connection_makes_way(void **state)
{
    struct fixture *f = *state;
    int fds[HOUSE], good;

    fill(f, fds, S(""));
    good = dial(f);
    say(good, S(GET("/echo")));
    expect_answer(good, 200, "");
    expect_end(fds[0]);
    say(fds[1], S(GET("/echo"))); /* nobody else had to go */
    expect_answer(fds[1], 200, "");
    assert_int_equal(f->refused, 0);
    close(good);
    close_all(fds, 1);
}

static void a5_connections_between_requests_make_way(void **state)
{
    struct fixture *f = *state;
    int fds[HOUSE];

    fill(f, fds, S(GET("/echo")));
    for (int i = 0; i < HOUSE; i++)
        expect_answer(fds[i], 200, "");
    for (int i = 0; i < 2 * HOUSE; i++) {
        int good = dial(f);

        say(good, S(GET("/echo")));
        expect_answer(good, 200, "");
        close(good);
    }
    close_all(fds, 0);
}

/* Which of them had to go. Where the server has not read somebody's words yet, that one is silent
 * to it and goes first, without an answer. */
static int who_went(const int fds[HOUSE], bool *ret_heard)
{
    struct pollfd p[HOUSE];
    char byte;

    for (int i = 0; i < HOUSE; i++)
        p[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
    assert_true(poll(p, HOUSE, 10000) == 1);
    for (int i = 0; i < HOUSE; i++)
        if (p[i].revents) {
            *ret_heard = recv(fds[i], &byte, 1, MSG_PEEK) == 1;
            return i;
        }
    return -1;
}

static void w5_half_sent_requests_make_way_too(void **state)
{
    static const char *const words[] = {
        "GET /ec",
        HEAD_OF("POST /echo") "Content-Length: 5\r\n\r\nhe",
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(words); i++) {
        int fds[HOUSE], good, gone;
        bool heard = false;

        fill(f, fds, str_of(words[i]));
        good = dial(f);
        say(good, S(GET("/echo")));
        expect_answer(good, 200, "");
        gone = who_went(fds, &heard);
        if (heard)
            expect_answer(fds[gone], 503, NULL);
        expect_end(fds[gone]);
        fds[gone] = good;
        close_all(fds, 0);
        while (server_counts(f->server).connections > 0)
            usleep(1000);
    }
}

static int set_up_narrow(void **state)
{
    struct fixture *f = fixture_new();

    f->options.max_connections = 1;
    fixture_start(f);
    *state = f;
    return 0;
}

static void a5_a_house_full_of_work_says_so(void **state)
{
    struct fixture *f = *state;
    int a = dial(f), b;
    struct answer refusal;

    say(a, S(GET("/hold")));
    wait_for(f, &f->holds, 1);
    b = dial(f);
    refusal = hear(b, true);
    assert_int_equal(refusal.status, 503);
    assert_non_null(strstr(refusal.text, "\r\nRetry-After: "));
    answer_free(&refusal);
    expect_end(b);
    let_go(f);
    expect_answer(a, 200, "released");
    close(a);
}

/* --- requests --- */

static int set_up_one_request(void **state)
{
    struct fixture *f = fixture_new();

    f->options.max_in_flight = 1;
    fixture_start(f);
    *state = f;
    return 0;
}

static void a5_a_probe_is_answered_beside_too_many_requests(void **state)
{
    struct fixture *f = *state;
    int a = dial(f), b = dial(f);

    say(a, S(GET("/hold")));
    wait_for(f, &f->holds, 1);
    say(b, S(GET("/echo")));
    expect_answer(b, 503, NULL);
    say(b, S(GET("/probe")));
    expect_answer(b, 200, "");
    let_go(f);
    expect_answer(a, 200, "released");
    say(b, S(GET("/echo")));
    expect_answer(b, 200, "");
    close(a);
    close(b);
}

/* As behind a proxy: the client is the last byte of 192.0.2.0/24. */
static bool named_client(void *ctx, const struct request *r, struct sockaddr_storage *ret_client)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    int64_t n;

    (void)ctx;
    if (!str_to_i64(request_header(r, S("X-Client"), NULL), &n))
        return false;
    a.sin_addr.s_addr = htonl(0xc0000200u | (uint32_t)n);
    memcpy(ret_client, &a, sizeof(a));
    return true;
}

static int set_up_slow_down(void **state)
{
    struct fixture *f = fixture_new();

    f->options.rate_limit = 2;
    f->options.client = named_client;
    fixture_start(f);
    *state = f;
    return 0;
}

/* How many of 20 are refused. */
static int refusals(int fd, struct str request)
{
    int refused = 0;

    for (int i = 0; i < 20; i++) {
        struct answer a;

        say(fd, request);
        a = hear(fd, true);
        assert_true(a.status == 200 || a.status == 429);
        assert_true((a.status == 429) == (strstr(a.text, "\r\nRetry-After: ") != NULL));
        refused += a.status == 429;
        answer_free(&a);
    }
    return refused;
}

static void a5_a_client_that_asks_too_often_is_slowed_down(void **state)
{
    int fd = dial(*state);

    assert_in_range(refusals(fd, S(GET("/echo"))), 1, 16);
    close(fd);
}

static void a5_the_client_is_slowed_down_not_its_proxy(void **state)
{
    int fd = dial(*state);

    assert_in_range(refusals(fd, S(HEAD_OF("GET /echo") "X-Client: 7\r\n\r\n")), 1, 16);
    say(fd, S(HEAD_OF("GET /echo") "X-Client: 8\r\n\r\n"));
    expect_answer(fd, 200, "");
    say(fd, S(GET("/echo"))); /* who is not known is the peer */
    expect_answer(fd, 200, "");
    close(fd);
}

static void a5_a_handler_knows_the_client_behind_the_proxy(void **state)
{
    int fd = dial(*state);

    say(fd, S(HEAD_OF("GET /client") "X-Client: 9\r\n\r\n"));
    expect_answer(fd, 200, "192.0.2.9");
    say(fd, S(GET("/client")));
    expect_answer(fd, 200, "127.0.0.1");
    close(fd);
}

static void a5_a_route_says_in_its_own_words_what_the_server_refuses(void **state)
{
    int fd = dial(*state);
    struct answer a;

    say(fd, S(HEAD_OF("POST /raw/x") "Content-Length: 17\r\n\r\n"));
    a = hear(fd, true);
    assert_int_equal(a.status, 413);
    assert_string_equal(a.body, "PAYLOAD_TOO_LARGE: The body is larger than the limit.");
    assert_non_null(strstr(a.text, "\r\nContent-Type: application/json\r\n"));
    answer_free(&a);
    expect_end(fd);
    fd = dial(*state);
    for (int i = 0; i < 20; i++) {
        say(fd, S(HEAD_OF("POST /raw/x") "Content-Length: 0\r\nX-Client: 3\r\n\r\n"));
        a = hear(fd, true);
        if (a.status == 429) {
            assert_true(strstr(a.body, "TOO_MANY_REQUESTS: ") == a.body);
            assert_non_null(strstr(a.text, "\r\nRetry-After: "));
            answer_free(&a);
            close(fd);
            return;
        }
        answer_free(&a);
    }
    fail_msg("twenty at once were not too many");
}

static void a5_a_probe_is_never_slowed_down(void **state)
{
    int fd = dial(*state);

    assert_in_range(refusals(fd, S(GET("/echo"))), 1, 16);
    assert_int_equal(refusals(fd, S(GET("/probe"))), 0);
    close(fd);
}

#define SERVED_BY(name, how) cmocka_unit_test_setup_teardown(name, how, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED_BY(w5_a_body_that_no_route_takes_is_not_awaited, set_up_roomy),
        SERVED_BY(w5_a_client_that_sends_such_a_body_hears_the_answer, set_up_roomy),
        SERVED_BY(w5_the_oldest_slow_body_gives_way_to_a_new_one, set_up_two_bodies),
        SERVED_BY(w5_a_request_without_a_body_needs_no_room, set_up_no_room),
        SERVED_BY(a5_the_longest_silent_connection_makes_way, set_up_house),
        SERVED_BY(a5_connections_between_requests_make_way, set_up_house),
        SERVED_BY(w5_half_sent_requests_make_way_too, set_up_house),
        SERVED_BY(a5_a_house_full_of_work_says_so, set_up_narrow),
        SERVED_BY(a5_a_probe_is_answered_beside_too_many_requests, set_up_one_request),
        SERVED_BY(a5_a_client_that_asks_too_often_is_slowed_down, set_up_slow_down),
        SERVED_BY(a5_the_client_is_slowed_down_not_its_proxy, set_up_slow_down),
        SERVED_BY(a5_a_handler_knows_the_client_behind_the_proxy, set_up_slow_down),
        SERVED_BY(a5_a_route_says_in_its_own_words_what_the_server_refuses, set_up_slow_down),
        SERVED_BY(a5_a_probe_is_never_slowed_down, set_up_slow_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
