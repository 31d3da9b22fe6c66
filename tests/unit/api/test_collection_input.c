/* The pure rules about what a client says of a collection and of its urls. */
#include "api/collection_input.h"
#include "base/settings/address.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

struct rule {
    const char *text;
    bool fine;
};

static void check(bool (*rule)(struct str), const struct rule *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rule(str_of(rows[i].text)) != rows[i].fine)
            fail_msg("row %zu: %s", i, rows[i].text);
}

static void a_web_url_has_http_and_a_host(void **state)
{
    static const struct rule rows[] = {
        { "https://shop.example", true },
        { "http://127.0.0.1:8080/paid?x=1#top", true },
        { "https://[::1]/", true },
        { "https://shop.example/?s={CHECKOUT_SESSION_ID}", true },
        { "https://", false },
        { "https:///paid", false },
        { "https://?x", false },
        { "https://user@", true }, /* odd, and the gateway's to refuse */
        { "https://@host/", false },
        { "https://:80/", false },
        { "HTTPS://shop.example", false }, /* nobody writes it so; a copy of it may be compared */
        { "ftp://shop.example", false },
        { "javascript:alert(1)", false },
        { "//shop.example", false },
        { "https://shop.example/a b", false },
        { "https://shop.example/\r\nX: y", false },
        { "https://shop.example/\"", false },
        { "https://shop.example/<x>", false },
        { "https://\xe5\xba\x97.example/", false },
        { "https://shop.example\\@evil.example/", false },
        { "", false },
    };

    (void)state;
    check(is_web_url, rows, COUNT(rows));
}

static void a_url_is_at_most_2000_characters(void **state)
{
    static char text[CHECKOUT_URL_MAX + 2];

    (void)state;
    memset(text, 'a', sizeof(text));
    memcpy(text, "https://", 8);
    assert_true(is_web_url((struct str){ text, CHECKOUT_URL_MAX }));
    assert_false(is_web_url((struct str){ text, CHECKOUT_URL_MAX + 1 }));
}

static void a_mail_address_has_two_sides(void **state)
{
    static const struct rule rows[] = {
        { "a@b", true },
        { "hanako.yamada+x@mail.example.co.jp", true },
        { "taro..x.@docomo.ne.jp", true }, /* a carrier's, of old */
        { "\xe8\x8a\xb1@\xe4\xbe\x8b.jp", false },
        { "taro@\xe4\xbe\x8b.jp", false },
        { "a@b..c", false },
        { "a@b.", false },
        { "a@-b.jp", false },
        { "a23456789-123456789-123456789-123456789-123456789-123456789-1234@b.jp", true },
        { "a23456789-123456789-123456789-123456789-123456789-123456789-12345@b.jp", false },
        { "", false },
        { "@", false },
        { "a@", false },
        { "@b", false },
        { "a", false },
        { "a@b@c", false },
        { "a b@c", false },
        { "a@b\n", false },
        { "A <a@b>", false },
        { "a@b,c@d", false },
    };

    (void)state;
    check(address_is_mail, rows, COUNT(rows));
}

static void a_zone_is_named_like_a_place(void **state)
{
    static const struct rule rows[] = {
        { "Asia/Tokyo", true },
        { "UTC", true },
        { "America/Argentina/Buenos_Aires", true },
        { "Etc/GMT+9", true },
        { "America/Port-au-Prince", true },
        { "", false },
        { "/Asia/Tokyo", false },
        { "Asia/", false },
        { "Asia//Tokyo", false },
        { "../etc/passwd", false },
        { "Asia/../Tokyo", false },
        { "Asia/-x", false },
        { "+09:00", false },
        { "9", false },
        { "Asia Tokyo", false },
        { "\xe6\x9d\xb1\xe4\xba\xac", false },
    };

    (void)state;
    check(is_zone_name, rows, COUNT(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_web_url_has_http_and_a_host),
        TEST(a_url_is_at_most_2000_characters),
        TEST(a_mail_address_has_two_sides),
        TEST(a_zone_is_named_like_a_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
