/* One mail as bytes. (npm postal-mime reads them back in tests/e2e/mail.test.mjs.) */
#include "base/limits.h"
#include "notify/mime.h"
#include "unit/cm.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

static struct letter letter(void)
{
    return (struct letter){ .from = S("pay@example.com"),
                            .to = S("taro@example.jp"),
                            .title = S("Your receipt"),
                            .body = S("The receipt of your payment is ready."),
                            .send = { { 1 } },
                            .notification = { { 2 } },
                            .now_ms = 1794842097000 };
}

/* The mail, NUL behind it, in memory that the test frees. */
static char *write_mail(const struct letter *l)
{
    const char *why = NULL;
    struct buf b;

    buf_init(&b, LIMIT_MAIL);
    if (!mime_write(&b, l, &why))
        fail_msg("%s", why);
    assert_null(why);
    buf_char(&b, '\0');
    assert_false(b.failed);
    return b.p;
}

static void decode(const char *base64, size_t n, char *text)
{
    int size = EVP_DecodeBlock((unsigned char *)text, (const unsigned char *)base64, (int)n);

    assert_true(size >= 0);
    for (size_t i = n; i > 0 && base64[i - 1] == '='; i--)
        size--;
    text[size] = '\0';
}

/* What stands behind the headers, decoded. */
static char *text_of(const char *mail)
{
    const char *at = strstr(mail, "\r\n\r\n") + 4;
    char *text = calloc(1, strlen(at) + 4);
    size_t n = 0;

    while (*at) {
        size_t line = strcspn(at, "\r");

        assert_true(line <= 76);
        decode(at, line, text + n);
        n += strlen(text + n);
        at += line + 2;
    }
    return text;
}

/* The subject, decoded word by word: each must be whole UTF-8. */
static void subject_of(const char *mail, char *subject)
{
    const char *at = strstr(mail, "\r\nSubject: ") + 11;
    size_t n = 0;

    while (!strncmp(at, "=?UTF-8?B?", 10)) {
        size_t size = strcspn(at + 10, "?");

        assert_true(size + 12 <= 75);
        decode(at + 10, size, subject + n);
        assert_true(str_is_utf8(str_of(subject + n)));
        n += strlen(subject + n);
        at += 10 + size + 2;
        if (!strncmp(at, "\r\n ", 3))
            at += 3;
    }
    if (!n)
        snprintf(subject, 4096, "%.*s", (int)strcspn(at, "\r"), at);
}

static void lines_are_short_and_plain(const char *mail)
{
    for (const char *at = mail; *at;) {
        size_t n = strcspn(at, "\r\n");

        assert_true(n <= 78);
        assert_memory_equal(at + n, "\r\n", 2);
        for (size_t i = 0; i < n; i++)
            assert_true(at[i] >= ' ' && at[i] <= '~');
        at += n + 2;
    }
}

static void a_mail_has_these_headers(void **state)
{
    struct letter l = letter();
    char *mail = write_mail(&l);
    const char *body = strstr(mail, "\r\n\r\n");

    (void)state;
    assert_int_equal(strncmp(mail,
                             "Date: Mon, 16 Nov 2026 15:14:57 +0000\r\n"
                             "From: pay@example.com\r\n"
                             "To: taro@example.jp\r\n"
                             "Subject: Your receipt\r\n"
                             "Message-ID: <01000000-0000-0000-0000-000000000000@example.com>\r\n"
                             "X-Ichido-Notification: 02000000-0000-0000-0000-000000000000\r\n"
                             "Auto-Submitted: auto-generated\r\n"
                             "MIME-Version: 1.0\r\n"
                             "Content-Type: text/plain; charset=UTF-8\r\n"
                             "Content-Transfer-Encoding: base64\r\n"
                             "Content-Language: en\r\n\r\n",
                             (size_t)(body + 4 - mail)),
                     0);
    free(mail);
}

static void both_languages_have_their_links_and_one_end(void **state)
{
    struct letter l = letter();
    char *mail, *text;

    (void)state;
    l.receipt = S("https://pay.example/receipts/1?a=b&c=%20");
    mail = write_mail(&l);
    text = text_of(mail);
    assert_string_equal(text, "The receipt of your payment is ready.\r\n\r\n"
                              "Your receipt:\r\nhttps://pay.example/receipts/1?a=b&c=%20\r\n"
                              "\r\n-- \r\nこのメールは自動で送信されています。\r\n"
                              "This mail was sent automatically.\r\n");
    free(mail);
    free(text);
    l.is_japanese = true;
    l.body = S("会費のお支払いをお願いします。\n二行目\r\n三行目\r");
    l.receipt = (struct str){ 0 };
    l.pay = S("http://127.0.0.1:8787/c/1");
    mail = write_mail(&l);
    text = text_of(mail);
    assert_non_null(strstr(mail, "\r\nContent-Language: ja\r\n"));
    assert_string_equal(text, "会費のお支払いをお願いします。\r\n二行目\r\n三行目\r\n\r\n\r\n"
                              "お支払いはこちら:\r\nhttp://127.0.0.1:8787/c/1\r\n"
                              "\r\n-- \r\nこのメールは自動で送信されています。\r\n"
                              "This mail was sent automatically.\r\n");
    free(mail);
    free(text);
}

static void only_links_are_links(void **state)
{
    static const char *const none[] = { "javascript:alert(1)",
                                        "https://a b",
                                        "https://a\r\nhttps://b",
                                        "https://a\"><script>",
                                        "https://例え.jp",
                                        "ftp://x",
                                        "" };
    (void)state;
    for (size_t i = 0; i < COUNT(none); i++) {
        struct letter l = letter();
        char *mail, *text;

        l.pay = l.receipt = str_of(none[i]);
        mail = write_mail(&l);
        text = text_of(mail);
        assert_null(strstr(text, "Pay here"));
        assert_null(strstr(text, "Your receipt:"));
        free(mail);
        free(text);
    }
}

/* Every length, in characters of one to four bytes, so that every cut falls everywhere. */
static void a_subject_of_any_length_is_whole(void **state)
{
    static const char *const letters[] = { "a", "é", "領", "😀" };
    char title[LIMIT_MAIL_TITLE + 8], subject[4096];

    (void)state;
    for (size_t k = 0; k < COUNT(letters); k++)
        for (size_t shift = 0; shift < 4; shift++) {
            size_t n = shift;

            memset(title, 'x', shift);
            title[n] = '\0';
            while (n + strlen(letters[k]) <= 400) {
                struct letter l = letter();
                char *mail;

                strcpy(title + n, letters[k]);
                n += strlen(letters[k]);
                l.title = (struct str){ title, n };
                mail = write_mail(&l);
                lines_are_short_and_plain(mail);
                memset(subject, 0, sizeof(subject));
                subject_of(mail, subject);
                assert_string_equal(subject, title);
                free(mail);
            }
        }
}

static void a_subject_that_looks_encoded_is_encoded(void **state)
{
    static const char *const titles[] = { "=?UTF-8?Q?x?=", " x", "x ", "" };

    (void)state;
    for (size_t i = 0; i < COUNT(titles); i++) {
        struct letter l = letter();
        char subject[4096] = "", *mail;

        l.title = str_of(titles[i]);
        mail = write_mail(&l);
        subject_of(mail, subject);
        assert_string_equal(subject, titles[i]);
        if (*titles[i])
            assert_non_null(strstr(mail, "Subject: =?UTF-8?B?"));
        free(mail);
    }
}

static void an_old_address_of_a_carrier_is_quoted(void **state)
{
    struct letter l = letter();
    char *mail;

    (void)state;
    l.to = S("taro..x.@docomo.ne.jp");
    mail = write_mail(&l);
    assert_non_null(strstr(mail, "\r\nTo: \"taro..x.\"@docomo.ne.jp\r\n"));
    free(mail);
}

static void nothing_is_injected(void **state)
{
    static const struct {
        struct str from, to, title, body;
    } rows[] = {
        { .to = S("taro@example.jp\r\nBcc: all@example.jp") },
        { .to = S("taro@example.jp\nBcc: all@example.jp") },
        { .to = S("taro@example.jp, all@example.jp") },
        { .to = S("taro@example.jp\0") },
        { .to = S("Taro <taro@example.jp>") },
        { .to = S("太郎@example.jp") },
        { .to = S("taro@例え.jp") },
        { .from = S("pay@example.com>\r\nX: y") },
        { .title = S("\xff\xfe") },
        { .body = S("\xc0\x80") },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct letter l = letter();
        const char *why = NULL;
        struct buf b;

        l.from = rows[i].from.n ? rows[i].from : l.from;
        l.to = rows[i].to.n ? rows[i].to : l.to;
        l.title = rows[i].title.n ? rows[i].title : l.title;
        l.body = rows[i].body.n ? rows[i].body : l.body;
        buf_init(&b, LIMIT_MAIL);
        if (mime_write(&b, &l, &why) || !why || strchr(why, '@') || b.n || b.failed)
            fail_msg("row %zu: %s", i, why ? why : "taken");
        buf_release(&b);
    }
}

static void control_characters_become_blanks(void **state)
{
    struct letter l = letter();
    char subject[4096] = "", *mail, *text;

    (void)state;
    l.title = S("a\r\nBcc: all@example.jp\t\0\x7f b");
    l.body = S("a\0b\x1b[2J\tc");
    mail = write_mail(&l);
    text = text_of(mail);
    subject_of(mail, subject);
    assert_string_equal(subject, "a  Bcc: all@example.jp    b");
    assert_null(strstr(mail, "\r\nBcc"));
    assert_int_equal(strncmp(text, "a b [2J c\r\n", 11), 0);
    free(mail);
    free(text);
}

static void the_longest_fits_and_a_longer_one_is_refused(void **state)
{
    char *big = malloc(LIMIT_MAIL), *link = malloc(LIMIT_MAIL_LINK);
    struct letter l = letter();
    const char *why = NULL;
    struct buf b;
    char *mail;

    (void)state;
    memset(big, 'x', LIMIT_MAIL);
    memset(link, 'x', LIMIT_MAIL_LINK);
    memcpy(link, "https://", 8);
    l.title = (struct str){ big, LIMIT_MAIL_TITLE };
    l.body = (struct str){ big, LIMIT_MAIL_TEXT };
    l.pay = l.receipt = (struct str){ link, LIMIT_MAIL_LINK };
    mail = write_mail(&l);
    lines_are_short_and_plain(mail);
    free(mail);
    l.body.n++;
    buf_init(&b, LIMIT_MAIL);
    assert_false(mime_write(&b, &l, &why));
    assert_string_equal(why, "it is too long for a mail");
    l.body.n--;
    l.title.n++;
    assert_false(mime_write(&b, &l, &why));
    buf_release(&b);
    free(big);
    free(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mail_has_these_headers),
        cmocka_unit_test(both_languages_have_their_links_and_one_end),
        cmocka_unit_test(only_links_are_links),
        cmocka_unit_test(a_subject_of_any_length_is_whole),
        cmocka_unit_test(a_subject_that_looks_encoded_is_encoded),
        cmocka_unit_test(an_old_address_of_a_carrier_is_quoted),
        cmocka_unit_test(nothing_is_injected),
        cmocka_unit_test(control_characters_become_blanks),
        cmocka_unit_test(the_longest_fits_and_a_longer_one_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
