#include "base/url_mask.h"
#include "unit/cm.h"

static void a4_an_address_is_shown_without_what_lets_somebody_in(void **state)
{
    static const struct {
        const char *why, *url;
        bool bare;
        const char *shown;
    } rows[] = {
        { "nothing to hide", "https://example.com/a/b", false, "https://example.com/a/b" },
        { "a password", "postgres://ichido:s3cret@db:5432/pay", false,
          "postgres://ichido:***@db:5432/pay" },
        { "a name alone may be a token", "https://t0ken@example.com/", false,
          "https://***@example.com/" },
        { "no name before a password", "redis://:s3cret@h/0", false, "redis://:***@h/0" },
        { "a query", "postgres://h/pay?password=s3cret&sslmode=require", false,
          "postgres://h/pay?***" },
        { "a fragment", "https://h/a#s3cret", false, "https://h/a#***" },
        { "an @ in the password", "postgres://u:s3@cret@h/d", false, "postgres://u:***@h/d" },
        { "a / in the password", "postgres://u:s3/cret@h/d", false, "postgres://u:***@h/d" },
        { "a ? in the password", "postgres://u:s3?cret@h/d", false, "postgres://u:***@h/d" },
        { "an @ that is in the query", "postgres://h/d?user=s3cret:x@y", false,
          "postgres://***@y" },
        { "a hook's address", "https://hooks.example.com/services/T0/s3cret", true,
          "https://hooks.example.com/***" },
        { "a hook's bare host", "https://hooks.example.com/", true, "https://hooks.example.com/" },
        { "a file", "sqlite:data/ichido.db", false, "sqlite:data/ichido.db" },
        { "nothing", "", false, "" },
    };
    struct buf b;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        buf_init(&b, 1024);
        url_mask(&b, str_of(rows[i].url), rows[i].bare);
        if (!str_eq(buf_str(&b), str_of(rows[i].shown)))
            fail_msg("%s: " STR_FMT, rows[i].why, STR_ARG(buf_str(&b)));
        buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a4_an_address_is_shown_without_what_lets_somebody_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
