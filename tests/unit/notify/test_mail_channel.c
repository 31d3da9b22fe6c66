/* The transport of mails against a mail server of plain sockets. */
#include "base/limits.h"
#include "unit/http/smtp_box.h"
#include "unit/notify/push_peer.h"

#include <openssl/evp.h>

struct fixture {
    struct stage stage;
    struct box *box;
    char url[64];
    struct transport *mail;
};

static struct transport *mail_at(struct fixture *f, const char *url, const char *from,
                                 struct why *why)
{
    return mail_new(&(struct mail_options){ .env = &f->stage.env,
                                            .client = f->stage.client,
                                            .url = str_of(url),
                                            .from = str_of(from) },
                    why);
}

static int open_fixture(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct why why = { 0 };

    stage_init(&f->stage);
    f->box = box_new();
    snprintf(f->url, sizeof(f->url), "smtp://127.0.0.1:%d", f->box->port);
    f->mail = mail_at(f, f->url, "pay@example.com", &why);
    assert_non_null(f->mail);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;

    stage_stop(&f->stage);
    f->mail->free(f->mail);
    box_free(f->box);
    stage_release(&f->stage);
    free(f);
    return 0;
}

static struct sent *tell(struct fixture *f, struct transport *t, const char *to)
{
    struct sent *one = sent_new(&f->stage);

    one->p.target = str_of(to);
    t->send(t, &one->p);
    assert_int_equal(one->times, 0); /* never from within send() */
    sent_end(&f->stage, one);
    return one;
}

/* Of the last mail, decoded. */
static const char *text_of(struct fixture *f)
{
    const char *at = strstr(f->box->last, "\r\n\r\n") + 4;
    char *text = arena_alloc(&f->stage.arena, strlen(at) + 4, 1);
    size_t n = 0;

    while (*at) {
        size_t line = strcspn(at, "\r");
        int size = EVP_DecodeBlock((unsigned char *)text + n, (const unsigned char *)at, (int)line);

        assert_true(size >= 0);
        n += (size_t)size; /* the last line's padding is left as NUL */
        at += line + 2;
    }
    return text;
}

static void a_notification_is_mailed_with_its_links(void **state)
{
    struct fixture *f = *state;
    struct sent *one = sent_new(&f->stage);

    one->p.target = S("taro@example.jp");
    one->p.data = S("{\"receiptUrl\":\"https:\\/\\/pay.example\\/r\\/1\",\"paymentId\":\"x\"}");
    f->mail->send(f->mail, &one->p);
    assert_int_equal(sent_end(&f->stage, one), TOLD_SENT);
    assert_non_null(strstr(f->box->last, "\r\nTo: taro@example.jp\r\n"));
    assert_non_null(
        strstr(f->box->last, "\r\nMessage-ID: <0190d5c2-7e1a-7b3c-8d4e-5f0000000001@example.com>"));
    assert_non_null(strstr(f->box->last,
                           "\r\nX-Ichido-Notification: 0190d5c2-7e1a-7b3c-8d4e-5f0000000002\r\n"));
    assert_non_null(strstr(text_of(f), "ポジションの購入が確定しました。\r\n\r\n領収書:\r\n"
                                       "https://pay.example/r/1\r\n"));
}

static void what_the_server_says_decides(void **state)
{
    static const struct {
        const char *stage, *words;
        enum told told;
    } rows[] = {
        { "CONNECT", "554 go away\r\n", TOLD_LATER },
        { "CONNECT", "close", TOLD_LATER },
        { "MAIL", "451 later\r\n", TOLD_LATER },
        { "MAIL", "530 5.7.0 log in first\r\n", TOLD_LATER },
        { "MAIL", "550 5.7.1 not you <pay@example.com>\r\n", TOLD_LATER },
        { "RCPT", "450 4.2.0 greylisted <taro@example.jp>\r\n", TOLD_LATER },
        { "RCPT", "421 4.3.2 closing\r\n", TOLD_LATER },
        { "RCPT", "554 5.7.1 <taro@example.jp>: relay access denied\r\n", TOLD_LATER },
        { "RCPT", "550 5.1.1 unknown <taro@example.jp>\r\n", TOLD_NEVER },
        { "RCPT", "close", TOLD_LATER },
        { "DATA", "452 full\r\n", TOLD_LATER },
        { "RCPT", "550 relaying denied\r\n", TOLD_LATER },
        { "DATA", "554 no\r\n", TOLD_LATER },
        { "DATA", "554 5.5.1 no\r\n", TOLD_NEVER },
        { ".", "451 later\r\n", TOLD_LATER },
        { ".", "554 5.7.1 spam <taro@example.jp>\r\n", TOLD_LATER },
        { ".", "552 5.3.4 too big <taro@example.jp>\r\n", TOLD_NEVER },
        { ".", "close", TOLD_UNKNOWN },
        { ".", "nonsense\r\n", TOLD_UNKNOWN },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sent *one;

        f->box->words = rows[i].words;
        f->box->stage = rows[i].stage;
        one = tell(f, f->mail, "taro@example.jp");
        if (one->p.told != rows[i].told || !one->p.why.text[0] || strchr(one->p.why.text, '@') ||
            one->p.retry_after_ms != -1)
            fail_msg("%s %s: %d %s", rows[i].stage, rows[i].words, (int)one->p.told, one->p.why);
    }
    assert_null(strchr(stage_logged(&f->stage), '@'));
}

static void an_address_that_cannot_be_is_never_told(void **state)
{
    static const char *const bad[] = { "",
                                       "taro",
                                       "taro@example.jp\r\nBcc: x@example.jp",
                                       "taro@example.jp> SIZE=1",
                                       "a@example.jp,b@example.jp",
                                       "太郎@example.jp",
                                       "taro@例え.jp" };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(bad); i++) {
        struct sent *one = tell(f, f->mail, bad[i]);

        assert_int_equal(one->p.told, TOLD_NEVER);
        assert_non_null(strstr(one->p.why.text, "address"));
        assert_null(strchr(one->p.why.text, '@'));
    }
    assert_int_equal(f->box->accepted, 0);
}

static void without_memory_it_is_told_later(void **state)
{
    struct fixture *f = *state;
    struct sent *one = sent_new(&f->stage);
    struct arena small;

    for (size_t limit = 1; limit < 4096; limit += 97) {
        arena_init(&small, limit);
        one->p.target = S("taro@example.jp");
        one->p.arena = &small;
        one->times = 0;
        f->mail->send(f->mail, &one->p);
        if (sent_end(&f->stage, one) != TOLD_SENT)
            assert_int_equal(one->p.told, TOLD_LATER);
        arena_release(&small);
    }
    assert_int_equal(one->p.told, TOLD_SENT);
}

static void wrong_settings_are_named(void **state)
{
    static const struct {
        const char *url, *from, *named;
    } rows[] = {
        { "http://x", "pay@example.com", "ICHIDO_SMTP_URL" },
        { "smtp://", "pay@example.com", "ICHIDO_SMTP_URL" },
        { "smtp://u:se/cret@mail.example.com", "pay@example.com", "ICHIDO_SMTP_URL" },
        { "smtp://mail.example.com", "pay", "ICHIDO_MAIL_FROM" },
        { "smtp://mail.example.com", "", "ICHIDO_MAIL_FROM" },
        { "smtp://mail.example.com", "支払@example.com", "ICHIDO_MAIL_FROM" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct why why = { 0 };

        assert_null(mail_at(f, rows[i].url, rows[i].from, &why));
        if (!strstr(why.text, rows[i].named) || strstr(why.text, "cret"))
            fail_msg("row %zu: %s", i, why.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_notification_is_mailed_with_its_links, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(what_the_server_says_decides, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(an_address_that_cannot_be_is_never_told, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(without_memory_it_is_told_later, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(wrong_settings_are_named, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
