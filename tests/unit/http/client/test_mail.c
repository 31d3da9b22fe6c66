/* Mails through the client, against a small mail server of plain sockets that fails where it is
 * told to. (With TLS and a login: tests/e2e/mail.test.mjs, against a real one.) */
#include "base/env.h"
#include "base/limits.h"
#include "http/client/client.h"
#include "http/client/mail.h"
#include "unit/cm.h"
#include "unit/http/smtp_box.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- what every test has --- */

struct fixture {
    struct executor executor;
    pthread_mutex_t lock;
    pthread_cond_t came;
    struct task *first;
    struct env env;
    struct box *box;
    struct client *client;
    struct arena arena;
};

struct letter {
    struct call call;
    char url[128];
    bool is_done;
};

static void executor_take(struct executor *h, struct task *t)
{
    struct fixture *f = CONTAINER_OF(h, struct fixture, executor);

    pthread_mutex_lock(&f->lock);
    t->next = f->first;
    f->first = t;
    pthread_cond_signal(&f->came);
    pthread_mutex_unlock(&f->lock);
}

static void await(struct fixture *f, const struct letter *l)
{
    while (!l->is_done) {
        struct task *t;

        pthread_mutex_lock(&f->lock);
        while (!f->first)
            pthread_cond_wait(&f->came, &f->lock);
        t = f->first;
        f->first = t->next;
        pthread_mutex_unlock(&f->lock);
        t->run(t);
    }
}

static void open_client(struct fixture *f, int per_host, bool allow_private)
{
    struct client_options o = {
        .env = &f->env, .max_per_host = per_host, .max_total = 32, .allow_private = allow_private
    };
    struct why why = { 0 };

    client_free(f->client);
    f->client = NULL;
    assert_int_equal(client_open(&o, &f->client, &why), OK);
}

static int setup(void **state)
{
    static const struct executor_ops ops = { .post = executor_take };
    struct fixture *f = calloc(1, sizeof(*f));

    clock_init(&f->env.clock);
    f->box = box_new();
    f->executor.ops = &ops;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->came, NULL);
    arena_init(&f->arena, 1 << 20);
    open_client(f, 8, true);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    client_free(f->client);
    box_free(f->box);
    arena_release(&f->arena);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->came);
    free(f);
    return 0;
}

static void on_done(struct call *c)
{
    struct letter *l = CONTAINER_OF(c, struct letter, call);

    assert_false(l->is_done);
    l->is_done = true;
}

static void post_to(struct fixture *f, struct letter *l, int64_t timeout_ms, const char *url,
                    int port)
{
    struct str body = l->call.body.n ? l->call.body : S("Subject: x\r\n\r\n.dot\r\n");

    *l = (struct letter){ 0 };
    snprintf(l->url, sizeof(l->url), url, port);
    l->call = (struct call){ .url = str_of(l->url),
                             .body = body,
                             .mail_from = S("pay@example.com"),
                             .mail_to = S("taro@example.jp"),
                             .timeout_ms = timeout_ms,
                             .arena = &f->arena,
                             .executor = &f->executor,
                             .done = on_done };
    client_call(f->client, &l->call);
}

static void post(struct fixture *f, struct letter *l, int64_t timeout_ms, const char *url)
{
    post_to(f, l, timeout_ms, url, f->box->port);
}

static const char PLAIN[] = "smtp://127.0.0.1:%d";

/* --- the tests --- */

static void a_mail_arrives_as_it_was_written(void **state)
{
    struct fixture *f = *state;
    struct letter l = { 0 };

    post(f, &l, 5000, PLAIN);
    await(f, &l);
    assert_int_equal(l.call.result, CALL_ANSWERED);
    assert_int_equal(l.call.status, 250);
    assert_string_equal(f->box->last, "Subject: x\r\n\r\n..dot\r\n");
}

static void every_failure_says_whether_the_mail_may_have_gone(void **state)
{
    static const struct {
        const char *stage, *words;
        enum call_result result;
        int status;
    } rows[] = {
        { "CONNECT", "554 go away\r\n", CALL_NOT_SENT, 554 },
        { "CONNECT", "421 too busy\r\n", CALL_NOT_SENT, 421 },
        { "CONNECT", "close", CALL_NOT_SENT, 0 },
        { "CONNECT", "hang", CALL_NOT_SENT, 0 },
        { "CONNECT", "HTTP/1.1 200 OK\r\n\r\n", CALL_NOT_SENT, 0 },
        { "EHLO", "close", CALL_NOT_SENT, 0 },
        { "EHLO", "hang", CALL_NOT_SENT, 0 },
        { "MAIL", "550 5.7.1 <pay@example.com> no\r\n", CALL_ANSWERED, 550 },
        { "MAIL", "451 later\r\n", CALL_ANSWERED, 451 },
        { "MAIL", "close", CALL_NOT_SENT, 0 },
        { "MAIL", "hang", CALL_NOT_SENT, 0 },
        { "MAIL", "nonsense\r\n", CALL_NOT_SENT, 0 },
        { "RCPT", "550 5.1.1 <taro@example.jp> unknown\r\n", CALL_ANSWERED, 550 },
        { "RCPT", "450 4.2.0 greylisted\r\n", CALL_ANSWERED, 450 },
        { "RCPT", "421 bye\r\n", CALL_ANSWERED, 421 },
        { "RCPT", "close", CALL_NOT_SENT, 0 },
        { "RCPT", "hang", CALL_NOT_SENT, 0 },
        { "DATA", "554 no\r\n", CALL_ANSWERED, 554 },
        { "DATA", "452 full\r\n", CALL_ANSWERED, 452 },
        { "DATA", "close", CALL_NOT_SENT, 0 },
        { "DATA", "hang", CALL_NOT_SENT, 0 },
        { ".", "554 5.7.1 spam\r\n", CALL_ANSWERED, 554 },
        { ".", "451 4.3.0 later\r\n", CALL_ANSWERED, 451 },
        { ".", "close", CALL_UNCERTAIN, 0 },
        { ".", "hang", CALL_UNCERTAIN, 0 },
        { ".", "250 half a li", CALL_UNCERTAIN, 0 },
        { ".", "nonsense\r\n", CALL_UNCERTAIN, 0 },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct letter l = { 0 };
        bool ends = strcmp(rows[i].words, "close") == 0 ||
                    (strchr("45", rows[i].words[0]) && strchr(rows[i].words, '\n'));

        f->box->words = rows[i].words;
        f->box->stage = rows[i].stage;
        /* Only a server that falls silent makes it wait, the later the longer it takes to get there. */
        post(f, &l, ends ? 20 * 1000 : rows[i].stage[0] == '.' ? 2000 : 500, PLAIN);
        await(f, &l);
        if (l.call.result != rows[i].result || l.call.status != rows[i].status)
            fail_msg("%s %s: %d %d %s", rows[i].stage, rows[i].words, (int)l.call.result,
                     l.call.status, l.call.why);
        if (!l.call.why[0] || strchr(l.call.why, '@'))
            fail_msg("%s %s: \"%s\"", rows[i].stage, rows[i].words, l.call.why);
    }
    f->box->stage = NULL;
}

static void nobody_there_is_not_sent(void **state)
{
    struct fixture *f = *state;
    struct letter l = { 0 };

    post(f, &l, 5000, "smtp://127.0.0.1:1");
    await(f, &l);
    assert_int_equal(l.call.result, CALL_NOT_SENT);
    post(f, &l, 5000, "smtps://127.0.0.1:%d"); /* it speaks no TLS */
    await(f, &l);
    assert_int_equal(l.call.result, CALL_NOT_SENT);
}

static void a_password_never_goes_out_in_clear_text(void **state)
{
    struct fixture *f = *state;
    struct letter l = { 0 };

    post(f, &l, 5000, "smtp://pay:geheim%%40wort@127.0.0.1:%d");
    await(f, &l);
    assert_int_equal(l.call.result, CALL_NOT_SENT);
    assert_int_equal(f->box->logins, 0);
    assert_int_equal(f->box->taken, 0);
    assert_non_null(strstr(l.call.why, "STARTTLS"));
    assert_null(strstr(l.call.why, "geheim"));
}

static void a_private_mail_server_is_refused_by_a_guarded_client(void **state)
{
    struct fixture *f = *state;
    struct letter l = { 0 };

    open_client(f, 8, false);
    post(f, &l, 5000, PLAIN);
    await(f, &l);
    assert_int_equal(l.call.result, CALL_NOT_SENT);
    assert_string_equal(l.call.why, "the target's address is not public");
    assert_int_equal(f->box->accepted, 0);
}

static void only_a_mail_goes_by_smtp_and_a_mail_by_nothing_else(void **state)
{
    struct fixture *f = *state;
    struct letter l = { 0 };

    post(f, &l, 5000, "http://127.0.0.1:%d/");
    await(f, &l);
    assert_int_equal(l.call.result, CALL_NOT_SENT);
    l.is_done = false;
    snprintf(l.url, sizeof(l.url), PLAIN, f->box->port);
    l.call.url = str_of(l.url);
    l.call.mail_to = (struct str){ 0 };
    l.call.method = S("POST");
    client_call(f->client, &l.call);
    await(f, &l);
    assert_int_equal(l.call.result, CALL_NOT_SENT);
    assert_int_equal(f->box->accepted, 0);
}

/* libcurl's own SMTP waits for the answer to the dot with the whole thread. */
static void who_hangs_at_the_dot_holds_up_nobody(void **state)
{
    struct fixture *f = *state;
    struct letter hanging[4] = { 0 }, quick = { 0 };
    struct box *other = box_new();

    f->box->words = "hang";
    f->box->stage = ".";
    for (size_t i = 0; i < COUNT(hanging); i++)
        post(f, &hanging[i], 60000, PLAIN);
    while (f->box->hanging < (int)COUNT(hanging))
        usleep(1000);
    post_to(f, &quick, 60000, PLAIN, other->port);
    await(f, &quick);
    assert_int_equal(quick.call.status, 250);
    for (size_t i = 0; i < COUNT(hanging); i++)
        assert_false(hanging[i].is_done);
    client_free(f->client); /* does not wait for them either */
    f->client = NULL;
    for (size_t i = 0; i < COUNT(hanging); i++) {
        await(f, &hanging[i]);
        assert_int_equal(hanging[i].call.result, CALL_UNCERTAIN);
    }
    box_free(other);
}

/* libcurl looks once a second for connections that nobody uses, and closes those where something
 * waits to be read. */
static void a_call_that_comes_later_leaves_the_talking_alone(void **state)
{
    struct fixture *f = *state;
    struct letter first = { 0 }, later = { 0 };
    struct box *other = box_new();

    f->box->words = "hang";
    f->box->stage = "RCPT";
    post(f, &first, 60000, PLAIN);
    while (!f->box->hanging)
        usleep(1000);
    for (int i = 0; i < 2; i++) {
        usleep(1100 * 1000);
        later.call.body = S("hi\r\n");
        post_to(f, &later, 60000, PLAIN, other->port);
        await(f, &later);
        assert_int_equal(later.call.status, 250);
    }
    box_well(f->box);
    await(f, &first);
    assert_int_equal(first.call.status, 250);
    assert_int_equal(f->box->accepted, 1);
    box_free(other);
}

static void a_stopped_client_knows_what_was_not_sent(void **state)
{
    struct fixture *f = *state;
    struct letter l = { 0 };

    f->box->words = "hang";
    f->box->stage = "RCPT";
    post(f, &l, 60000, PLAIN);
    while (!f->box->hanging)
        usleep(1000);
    client_free(f->client);
    f->client = NULL;
    await(f, &l);
    assert_int_equal(l.call.result, CALL_NOT_SENT);
    assert_true(l.call.ours);
}

static void the_largest_mail_and_many_at_once_arrive(void **state)
{
    enum { MANY = 100 };
    struct fixture *f = *state;
    struct letter *l = calloc(MANY, sizeof(*l));
    char *big = malloc(LIMIT_MAIL);

    for (size_t i = 0; i < LIMIT_MAIL; i++)
        big[i] = i % 64 == 63 ? '\n' : 'x';
    for (size_t i = 0; i < MANY; i++) {
        l[i].call.body = i % 10 ? S("hi\r\n") : (struct str){ big, LIMIT_MAIL };
        post(f, &l[i], 60000, PLAIN);
    }
    for (size_t i = 0; i < MANY; i++) {
        await(f, &l[i]);
        assert_int_equal(l[i].call.status, 250);
    }
    assert_int_equal(f->box->taken, MANY);
    free(big);
    free(l);
}

static void a_url_that_is_no_mail_server_is_told_apart(void **state)
{
    static const struct {
        const char *url;
        bool is_fine;
    } rows[] = {
        { "smtp://mail.example.com", true },
        { "smtp://mail.example.com:587", true },
        { "smtps://user:password@mail.example.com:465", true },
        { "smtps://user%40x:p%2Fw@mail.example.com:465/our.name", true },
        { "smtp://[::1]:25", true },
        { "smtp://user;AUTH=PLAIN:password@mail.example.com", true },
        { "smtp://user:xy;zzy@mail.example.com", false },
        { "http://mail.example.com", false },
        { "smtp://", false },
        { "smtp://user:xy/zzy@mail.example.com", false },
        { "smtp://user:xy?zzy@mail.example.com", false },
        { "smtp://user:xy#zzy@mail.example.com", false },
        { "smtp://mail.example.com:99999", false },
        { "smtp://mail.exa mple.com", false },
        { "", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct why why = { 0 };

        if (mail_url_is_fine(str_of(rows[i].url), &why) != rows[i].is_fine ||
            rows[i].is_fine != !why.text[0] || strstr(why.text, "zzy"))
            fail_msg("%s: %s", rows[i].url, why.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_mail_arrives_as_it_was_written, setup, teardown),
        cmocka_unit_test_setup_teardown(every_failure_says_whether_the_mail_may_have_gone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nobody_there_is_not_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(a_password_never_goes_out_in_clear_text, setup, teardown),
        cmocka_unit_test_setup_teardown(a_private_mail_server_is_refused_by_a_guarded_client, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(only_a_mail_goes_by_smtp_and_a_mail_by_nothing_else, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_hangs_at_the_dot_holds_up_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(a_call_that_comes_later_leaves_the_talking_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_stopped_client_knows_what_was_not_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(the_largest_mail_and_many_at_once_arrive, setup, teardown),
        cmocka_unit_test(a_url_that_is_no_mail_server_is_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
