/* One mail's dialogue, without a socket: every reply at every stage, in every split. */
#include "base/limits.h"
#include "http/client/smtp.h"
#include "unit/cm.h"

#include <stdlib.h>
#include <string.h>

static const struct str FROM = { "pay@example.com", 15 }, TO = { "taro@example.jp", 15 };

/* Sends all that wants to be sent; *ret_said keeps it. */
static void pump(struct smtp *s, struct buf *said)
{
    struct str out;

    while ((out = smtp_out(s)).n) {
        buf_add(said, (struct str){ out.p, 1 });
        smtp_sent(s, 1);
    }
}

/* The server's words, one string for each of its turns, fed in pieces of `step` bytes. */
static void hold(struct smtp *s, const char *const *turns, size_t step, struct buf *said)
{
    pump(s, said);
    for (; *turns; turns++) {
        struct str left = str_of(*turns);

        while (left.n) {
            size_t n = left.n < step ? left.n : step;

            smtp_heard(s, (struct str){ left.p, n });
            left.p += n;
            left.n -= n;
        }
        pump(s, said);
    }
}

static void every_reply_at_every_stage_means_one_thing(void **state)
{
    static const struct {
        const char *why, *turns[6];
        bool has_verdict, may_be_taken;
        int code;
        const char *words;
    } rows[] = {
        { "taken",
          { "250 ok\r\n", "250 ok\r\n", "354 go\r\n", "250 queued\r\n" },
          true,
          true,
          250,
          "250 to the mail" },
        { "several lines, bare line feeds",
          { "250-a\n250-b\n250 c\n", "251 x\r\n", "354\r\n", "250-q\r\n250 2.6.0 queued\r\n" },
          true,
          true,
          250,
          "250 2.6.0 to the mail" },
        { "the sender is refused",
          { "550 5.7.1 <pay@example.com> go away\r\n" },
          true,
          false,
          550,
          "550 5.7.1 to the sender" },
        { "the recipient is refused",
          { "250 ok\r\n", "550 5.1.1 <taro@example.jp>\r\n" },
          true,
          false,
          550,
          "550 5.1.1 to the recipient" },
        { "greylisted",
          { "250 ok\r\n", "450 4.2.0 later\r\n" },
          true,
          false,
          450,
          "450 4.2.0 to the recipient" },
        { "no mail wanted",
          { "250 ok\r\n", "250 ok\r\n", "451 not now\r\n" },
          true,
          false,
          451,
          "451 to a mail" },
        { "refused after all",
          { "250 ok\r\n", "250 ok\r\n", "354 go\r\n", "554 spam\r\n" },
          true,
          true,
          554,
          "554 to the mail" },
        { "an answer to the dot that is none",
          { "250 ok\r\n", "250 ok\r\n", "354 go\r\n", "354 go\r\n" },
          false,
          true,
          354,
          NULL },
        { "no answer to the dot",
          { "250 ok\r\n", "250 ok\r\n", "354 go\r\n" },
          false,
          true,
          354,
          NULL },
        { "half an answer to the dot",
          { "250 ok\r\n", "250 ok\r\n", "354 go\r\n", "250 o" },
          false,
          true,
          354,
          NULL },
        { "only the first line of an answer",
          { "250 ok\r\n", "250 ok\r\n", "354 go\r\n", "250-o\r\n" },
          false,
          true,
          354,
          NULL },
        { "not SMTP", { "HTTP/1.1 400 Bad Request\r\n" }, false, false, 0, NULL },
        { "no code", { "hello\r\n" }, false, false, 0, NULL },
        { "no blank", { "250ok\r\n" }, false, false, 0, NULL },
        { "an empty line", { "\r\n" }, false, false, 0, NULL },
        { "a code of no class", { "650 ok\r\n" }, false, false, 0, NULL },
        { "more text than asked for to MAIL", { "354 go\r\n" }, false, false, 354, NULL },
        { "250 to DATA", { "250 ok\r\n", "250 ok\r\n", "250 ok\r\n" }, false, false, 250, NULL },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t step = 1; step < 40; step++) {
            struct smtp s;
            struct buf said;
            char words[64];

            buf_init(&said, 4096);
            assert_true(smtp_init(&s, FROM, TO, S("Subject: x\r\n\r\nhi\r\n")));
            hold(&s, rows[i].turns, step, &said);
            if (smtp_has_verdict(&s) != rows[i].has_verdict ||
                s.may_be_taken != rows[i].may_be_taken || s.code != rows[i].code)
                fail_msg("row %zu, step %zu: %s: %d %d %d", i, step, rows[i].why,
                         smtp_has_verdict(&s), s.may_be_taken, s.code);
            smtp_words(&s, words, sizeof(words));
            if (rows[i].words)
                assert_string_equal(words, rows[i].words);
            buf_release(&said);
            smtp_release(&s);
        }
}

/* N1: what the operator mends (our login, our sender, for whom it relays) is tried again; what is
 * about the mail or its reader is not. Many relays judge the sender only behind the last dot. */
static void n1_a_refusal_is_about_us_or_about_the_mail(void **state)
{
    enum { TO_MAIL, TO_RCPT, TO_DATA, TO_DOT }; /* so many of our words were taken before */
    static const char *const yes[] = { "250 relay ok\r\n", "250 ok\r\n", "354 go\r\n" };
    static const struct {
        const char *why;
        size_t taken;
        const char *reply;
        bool us;
    } rows[] = {
        { "a sender", TO_MAIL, "550 no\r\n", true },
        { "a sender, later", TO_MAIL, "451 no\r\n", false },
        { "a login", TO_RCPT, "530 log in first\r\n", true },
        { "a mailbox", TO_RCPT, "550 5.1.1 unknown\r\n", false },
        { "a mailbox, in words alone", TO_RCPT, "550 no such user here\r\n", false },
        { "Postfix", TO_RCPT, "554 5.7.1 <a@b.example>: Relay access denied\r\n", true },
        { "relaying, in words", TO_RCPT, "550 Relaying denied.\r\n", true },
        { "relaying, in other words", TO_RCPT, "554 relay access denied\r\n", true },
        { "relaying, on a line above", TO_RCPT, "550-relay denied\r\n550 good bye\r\n", true },
        { "Exim", TO_RCPT, "550 relay not permitted\r\n", true },
        { "of another code", TO_RCPT, "552 relay quota\r\n", false },
        { "an enhanced code has the say", TO_RCPT, "550 5.1.1 relay denied\r\n", false },
        { "an address, no word", TO_RCPT, "550 <relay@b.example> unknown\r\n", false },
        { "a host, no word", TO_RCPT, "550 at relay.example: unknown user\r\n", false },
        { "a longer word", TO_RCPT, "550 relayed by relayhost\r\n", false },
        { "DATA, no code", TO_DATA, "554 no\r\n", true },
        { "DATA, no valid recipients", TO_DATA, "554 5.5.1 no valid recipients\r\n", false },
        { "DATA, not authorized", TO_DATA, "550 5.7.1 no\r\n", true },
        { "SES", TO_DOT, "554 Message rejected: Email address is not verified.\r\n", true },
        { "Microsoft 365", TO_DOT, "554 5.2.252 SendAsDenied; a@b.example\r\n", true },
        { "Microsoft 365, too", TO_DOT, "550 5.7.60 SMTP; Client does not\r\n", true },
        { "DMARC", TO_DOT, "550-5.7.26 This mail\r\n550 5.7.26 is unauthenticated\r\n", true },
        { "a full mailbox", TO_DOT, "552 5.2.2 full\r\n", false },
        { "too big", TO_DOT, "552 too big\r\n", false },
        { "a mailbox after all", TO_DOT, "550 5.1.1 unknown\r\n", false },
        { "nearly that code", TO_DOT, "554 5.2.25 x\r\n", false },
        { "later", TO_DOT, "451 4.7.1 later\r\n", false },
        { "taken", TO_DOT, "250 ok\r\n", false },
        { "no answer", TO_DOT, "554", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t step = 1; step < 40; step++) {
            const char *turns[COUNT(yes) + 2] = { 0 };
            struct smtp s;
            struct buf said;

            memcpy(turns, yes, rows[i].taken * sizeof(turns[0]));
            turns[rows[i].taken] = rows[i].reply;
            buf_init(&said, 4096);
            assert_true(smtp_init(&s, FROM, TO, S("Subject: x\r\n\r\nhi\r\n")));
            hold(&s, turns, step, &said);
            if (smtp_refuses_us(&s) != rows[i].us)
                fail_msg("step %zu: %s", step, rows[i].why);
            buf_release(&said);
            smtp_release(&s);
        }
}

/* A server that says yes ahead of time must not be believed: it has not seen the mail. */
static void a_yes_before_the_question_counts_for_nothing(void **state)
{
    static const char *const early[] = { "250 ok\r\n250 ok\r\n", "250 ok\r\n250 ok\r\n354 go\r\n",
                                         "250 ok\r\n250 ok\r\n354 go\r\n250 taken\r\n" };
    (void)state;
    for (size_t i = 0; i < COUNT(early); i++) {
        struct smtp s;
        struct buf said;

        buf_init(&said, 4096);
        assert_true(smtp_init(&s, FROM, TO, S("hi\r\n")));
        pump(&s, &said);
        smtp_heard(&s, str_of(early[i]));
        assert_true(s.stage == SMTP_OVER && s.is_broken && !s.may_be_taken);
        buf_release(&said);
        smtp_release(&s);
    }
}

static void a_refusal_in_the_middle_of_the_text_ends_it_without_the_dot(void **state)
{
    static const char *const turns[] = { "250 ok\r\n", "250 ok\r\n", NULL };
    struct smtp s;
    struct buf said;

    (void)state;
    buf_init(&said, 4096);
    assert_true(smtp_init(&s, FROM, TO, S("hello\r\n")));
    hold(&s, turns, 100, &said);
    smtp_heard(&s, S("354 go\r\n"));
    smtp_sent(&s, 3);
    smtp_heard(&s, S("421 4.3.2 shutting down\r\n"));
    assert_true(smtp_has_verdict(&s) && !s.may_be_taken && s.code == 421);
    assert_int_equal(smtp_out(&s).n, 0);
    buf_release(&said);
    smtp_release(&s);
}

static void the_text_ends_where_every_server_sees_its_end(void **state)
{
    static const struct {
        const char *body, *sent;
    } rows[] = {
        { "a\r\nb\r\n", "a\r\nb\r\n.\r\n" },
        { "a\r\nb", "a\r\nb\r\n.\r\n" },
        { "a\nb\n", "a\r\nb\r\n.\r\n" },
        { "a\rb\r", "a\r\nb\r\n.\r\n" },
        { ".\r\n", "..\r\n.\r\n" },
        { "a\r\n.\r\nMAIL FROM:<x@y>\r\n", "a\r\n..\r\nMAIL FROM:<x@y>\r\n.\r\n" },
        { "a\n.\nRSET\n", "a\r\n..\r\nRSET\r\n.\r\n" },
        { "a\r.\rRSET\r", "a\r\n..\r\nRSET\r\n.\r\n" },
        { "a\n.\r\nRSET", "a\r\n..\r\nRSET\r\n.\r\n" },
        { "a\r\n\r\n..b\r\n", "a\r\n\r\n...b\r\n.\r\n" },
    };
    static const char *const turns[] = { "250 ok\r\n", "250 ok\r\n", "354 go\r\n", NULL };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct smtp s;
        struct buf said;
        struct str head = S("MAIL FROM:<pay@example.com>\r\nRCPT TO:<taro@example.jp>\r\nDATA\r\n");
        struct str all;

        buf_init(&said, 4096);
        assert_true(smtp_init(&s, FROM, TO, str_of(rows[i].body)));
        hold(&s, turns, 100, &said);
        all = buf_str(&said);
        assert_true(str_starts(all, head));
        if (!str_eq((struct str){ all.p + head.n, all.n - head.n }, str_of(rows[i].sent)))
            fail_msg("row %zu: " STR_FMT, i, STR_ARG(all));
        buf_release(&said);
        smtp_release(&s);
    }
}

static void a_server_that_talks_without_end_is_not_listened_to(void **state)
{
    struct smtp s;
    size_t n = 0;

    (void)state;
    assert_true(smtp_init(&s, FROM, TO, S("hi\r\n")));
    smtp_sent(&s, smtp_out(&s).n);
    while (s.stage != SMTP_OVER && n <= LIMIT_MAIL_REPLY) {
        smtp_heard(&s, S("250-more\r\n"));
        n += 10;
    }
    assert_true(s.stage == SMTP_OVER && s.is_broken);
    smtp_release(&s);
}

static void an_address_is_written_as_it_may_stand_in_a_mail(void **state)
{
    static const struct {
        const char *address, *written; /* NULL: refused */
    } rows[] = {
        { "taro@example.jp", "taro@example.jp" },
        { "a+b_c-d.e!#$%&'*/=?^`{|}~@x-y.example", "a+b_c-d.e!#$%&'*/=?^`{|}~@x-y.example" },
        { "root@localhost", "root@localhost" },
        { "taro.@docomo.ne.jp", "\"taro.\"@docomo.ne.jp" },
        { ".a..b@ezweb.ne.jp", "\".a..b\"@ezweb.ne.jp" },
        { "", NULL },
        { "taro", NULL },
        { "@example.jp", NULL },
        { "taro@", NULL },
        { "a@b@c", NULL },
        { "a b@example.jp", NULL },
        { "a@example.jp>\r\nRCPT TO:<b@example.jp", NULL },
        { "a\r\nDATA@example.jp", NULL },
        { "a\nb@example.jp", NULL },
        { "<a@example.jp>", NULL },
        { "\"a b\"@example.jp", NULL },
        { "a\\@example.jp", NULL },
        { "a,b@example.jp", NULL },
        { "a@example.jp,b@example.jp", NULL },
        { "a@-x.jp", NULL },
        { "a@x-.jp", NULL },
        { "a@x..jp", NULL },
        { "a@x.jp.", NULL },
        { "a@.jp", NULL },
        { "a@[127.0.0.1]", NULL },
        { "太郎@example.jp", NULL },
        { "taro@例え.jp", NULL },
        { "a@x.jp SIZE=1", NULL },
        { "a123456789012345678901234567890123456789012345678901234567890123@x.jp",
          "a123456789012345678901234567890123456789012345678901234567890123@x.jp" },
        { "a1234567890123456789012345678901234567890123456789012345678901234@x.jp", NULL },
    };
    struct buf b;

    (void)state;
    buf_init(&b, 1024);
    for (size_t i = 0; i < COUNT(rows); i++) {
        bool fine = smtp_write_address(&b, str_of(rows[i].address));

        if (fine != (rows[i].written != NULL) || !str_eq(buf_str(&b), str_of(rows[i].written)))
            fail_msg("row %zu: %s", i, rows[i].address);
        buf_clear(&b);
    }
    assert_false(smtp_write_address(&b, (struct str){ "a\0b@example.jp", 14 }));
    buf_release(&b);
}

static void what_cannot_be_sent_is_not_begun(void **state)
{
    struct smtp s;
    char *big = calloc(1, LIMIT_MAIL + 1);

    (void)state;
    memset(big, 'x', LIMIT_MAIL + 1);
    assert_false(smtp_init(&s, S("pay"), TO, S("hi")));
    smtp_release(&s);
    assert_false(smtp_init(&s, FROM, S("taro"), S("hi")));
    smtp_release(&s);
    assert_false(smtp_init(&s, FROM, TO, (struct str){ big, LIMIT_MAIL + 1 }));
    smtp_release(&s);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n1_a_refusal_is_about_us_or_about_the_mail),
        cmocka_unit_test(every_reply_at_every_stage_means_one_thing),
        cmocka_unit_test(a_yes_before_the_question_counts_for_nothing),
        cmocka_unit_test(a_refusal_in_the_middle_of_the_text_ends_it_without_the_dot),
        cmocka_unit_test(the_text_ends_where_every_server_sees_its_end),
        cmocka_unit_test(a_server_that_talks_without_end_is_not_listened_to),
        cmocka_unit_test(an_address_is_written_as_it_may_stand_in_a_mail),
        cmocka_unit_test(what_cannot_be_sent_is_not_begun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
