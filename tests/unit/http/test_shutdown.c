/* Ending in good order, and the loop as an executor for tasks and timers. */
#include "observe/log.h"
#include "unit/http/harness.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static int set_up(void **state)
{
    struct fixture *f = fixture_new();

    f->options.loops = 2;
    fixture_start(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_free(*state);
    return 0;
}

static void expect_refused(const struct fixture *f)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *)&f->at, sizeof(f->at)), -1);
    assert_int_equal(errno, ECONNREFUSED);
    close(fd);
}

static void a5_a_stop_finishes_what_began_and_nothing_else(void **state)
{
    struct fixture *f = *state;
    int working = dial(f), idle = dial(f);
    struct answer a;

    say(idle, S(GET("/echo")));
    expect_answer(idle, 200, "");
    say(working, S(GET("/hold")));
    wait_for(f, &f->holds, 1);
    server_stop(f->server);
    server_stop(f->server); /* asking twice is no second signal */
    expect_end(idle);
    assert_int_equal(f->drained, 0);
    let_go(f);
    a = hear(working, true);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.text, "\r\nConnection: close\r\n"));
    answer_free(&a);
    expect_end(working);
    fixture_join(f);
    assert_int_equal(f->drained, 1);
    expect_refused(f);
}

static void a_request_half_sent_is_still_served(void **state)
{
    struct fixture *f = *state;
    int fd = dial(f), other = dial(f);

    say(fd, S("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nh"));
    say(other, S(GET("/echo")));
    expect_answer(other, 200, "");
    server_stop(f->server);
    expect_end(other);
    say(fd, S("i"));
    expect_answer(fd, 200, "hi");
    expect_end(fd);
    fixture_join(f);
}

static void what_was_sent_before_the_stop_is_served(void **state)
{
    struct fixture *f = fixture_new();
    int fds[20];

    (void)state;
    fixture_start(f);
    for (size_t i = 0; i < COUNT(fds); i++)
        say(fds[i] = dial(f), S(GET("/later/1")));
    server_stop(f->server);
    for (size_t i = 0; i < COUNT(fds); i++) {
        expect_answer(fds[i], 200, "/later/1");
        close(fds[i]);
    }
    fixture_free(f);
}

static void a_signal_stops_it_and_a_second_one_hurries(void **state)
{
    struct fixture *f = *state;
    int fd = dial(f);

    say(fd, S(GET("/hold")));
    wait_for(f, &f->holds, 1);
    kill(getpid(), SIGTERM);
    while (!server_stopping(f->server))
        usleep(1000);
    assert_int_equal(f->drained, 0);
    kill(getpid(), SIGINT);
    expect_end(fd);
    wait_for(f, &f->drained, 1); /* though a handler still holds a request */
    fixture_join(f);
}

/* Stops a server while a handler holds a request that it never answers. ret_log: what it logged. */
static void end_beside_a_held_request(bool hurried, char *ret_log, size_t size)
{
    struct fixture *f = fixture_new();
    int lines[2], fd;
    ssize_t n;

    assert_int_equal(pipe(lines), 0);
    f->env.log = log_new(&f->env.clock, lines[1], LOG_WARN, false);
    fixture_start(f);
    say(fd = dial(f), S(GET("/hold")));
    wait_for(f, &f->holds, 1);
    if (hurried) {
        kill(getpid(), SIGTERM);
        while (!server_stopping(f->server))
            usleep(1000);
        kill(getpid(), SIGTERM);
    } else {
        server_finish(f->server);
    }
    fixture_join(f);
    server_free(f->server);
    f->server = NULL;
    log_free(f->env.log);
    close(lines[1]);
    n = read(lines[0], ret_log, size - 1);
    ret_log[n > 0 ? n : 0] = '\0';
    close(lines[0]);
    close(fd);
    fixture_free(f);
}

static void a_request_that_was_never_answered_is_an_error_line(void **state)
{
    char log[4096];

    (void)state;
    end_beside_a_held_request(false, log, sizeof(log));
    assert_non_null(strstr(log, "\"level\":\"error\""));
    assert_non_null(strstr(log, "The server ended before a request was answered"));
    assert_non_null(strstr(log, "\"method\":\"GET\",\"route\":\"/hold\""));
    end_beside_a_held_request(true, log, sizeof(log));
    assert_string_equal(log, ""); /* a second signal asked for it */
}

static void without_a_drain_callback_it_ends_by_itself(void **state)
{
    struct fixture *f = fixture_new();

    (void)state;
    fixture_start(f);
    server_on_drain(f->server, NULL, NULL);
    server_stop(f->server);
    fixture_free(f);
}

/* --- the executor --- */

struct bell {
    struct timer timer;
    struct task task;
    struct fixture *fixture;
    int64_t delay_ms;
    int rings;
};

static void ring(struct timer *t)
{
    struct bell *b = CONTAINER_OF(t, struct bell, timer);

    assert(t->due_ms == CLOCK_NEVER);
    count(b->fixture, &b->rings);
}

static void arm_bell(struct task *t)
{
    struct bell *b = CONTAINER_OF(t, struct bell, task);
    struct env *env = &b->fixture->env;

    executor_arm(server_executor(b->fixture->server), &b->timer,
                 b->delay_ms == CLOCK_NEVER ? CLOCK_NEVER : env_now_ms(env) + b->delay_ms);
}

static struct bell bell_for(struct fixture *f)
{
    return (struct bell){ .timer = { .fire = ring, .due_ms = CLOCK_NEVER },
                          .task = { .run = arm_bell },
                          .fixture = f };
}

static void set_bell(struct bell *b, int64_t delay_ms)
{
    b->delay_ms = delay_ms;
    executor_post(server_executor(b->fixture->server), &b->task);
}

static void timers_fire_once_at_their_time(void **state)
{
    struct fixture *f = *state;
    struct bell soon = bell_for(f), now = soon, far = soon, endless = soon;

    set_bell(&far, 24 * 3600 * 1000);
    set_bell(&endless, CLOCK_NEVER - 4102444800000); /* a due that no uv timer could hold */
    set_bell(&soon, 30);
    set_bell(&now, -5);
    wait_for(f, &now.rings, 1);
    wait_for(f, &soon.rings, 1);
    set_bell(&soon, 10);
    wait_for(f, &soon.rings, 2);
    clock_advance(&f->env.clock, 24 * 3600 * 1000);
    set_bell(&far, 0); /* whoever moves the clock arms again */
    wait_for(f, &far.rings, 1);
    set_bell(&endless, CLOCK_NEVER);
    set_bell(&now, 1);
    wait_for(f, &now.rings, 2);
    server_stop(f->server);
    fixture_join(f);
    assert_in_range(far.rings, 1, 2); /* the step may have rung it already */
    assert_int_equal(endless.rings, 0);
}

static void run_nothing(struct task *t)
{
    (void)t;
}

/* A store's thread may still bring something executor when the loops have gone. Who owned the task
 * before may have been freed meanwhile. */
static void what_comes_home_too_late_is_left_alone(void **state)
{
    struct fixture *f = *state;
    struct task *first = calloc(1, sizeof(*first)), second = { .run = run_nothing };

    first->run = run_nothing;
    server_stop(f->server);
    fixture_join(f);
    executor_post(server_executor(f->server), first);
    free(first);
    executor_post(server_executor(f->server), &second);
}

struct many {
    struct task tasks[1000];
    struct fixture *fixture;
    atomic_int run;
};

static struct many *many_of; /* the tasks below have no room for a pointer of their own */

static void run_one(struct task *t)
{
    (void)t;
    if (atomic_fetch_add(&many_of->run, 1) + 1 == 4 * (int)COUNT(many_of->tasks))
        count(many_of->fixture, &many_of->fixture->drained);
}

static void *give_many(void *arg)
{
    struct many *m = arg;

    for (size_t i = 0; i < COUNT(m->tasks); i++) {
        m->tasks[i].run = run_one;
        executor_post(server_executor(m->fixture->server), &m->tasks[i]);
    }
    return NULL;
}

static void tasks_from_every_thread_come_home(void **state)
{
    static struct many many[4];
    pthread_t threads[4];
    struct fixture *f = *state;

    many_of = &many[0];
    for (size_t i = 0; i < 4; i++)
        many[i].fixture = f;
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, give_many, &many[i]);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    wait_for(f, &f->drained, 1);
}

#define SERVED(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(a5_a_stop_finishes_what_began_and_nothing_else),
        SERVED(a_request_half_sent_is_still_served),
        TEST(what_was_sent_before_the_stop_is_served),
        SERVED(a_signal_stops_it_and_a_second_one_hurries),
        TEST(a_request_that_was_never_answered_is_an_error_line),
        TEST(without_a_drain_callback_it_ends_by_itself),
        SERVED(timers_fire_once_at_their_time),
        SERVED(what_comes_home_too_late_is_left_alone),
        SERVED(tasks_from_every_thread_come_home),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
