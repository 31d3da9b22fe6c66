/* What a notification is called, and where it points. */
#include "unit/cm.h"
#include "webhook/paypay_notification.h"

#include <stdlib.h>
#include <string.h>

#define OURS "0189c2f0000070008000000000000001"
#define TOLD(more) "{'notification_type':'Transaction','merchant_order_id':'" OURS "'" more "}"
#define STATE(state, time) TOLD(",'order_id':'0451','state':'" state "'," time)

static struct arena arena;

static struct paypay_notice read_notice(const char *single)
{
    char *text = strdup(single);
    struct paypay_notice n;
    struct str body;

    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    arena_release(&arena);
    arena_init(&arena, 1 << 20);
    body = arena_str(&arena, str_of(text));
    free(text);
    assert_int_equal(paypay_notice_read(&arena, body, &n), OK);
    return n;
}

static void w8_a_notification_has_one_name(void **state)
{
    static const struct {
        const char *body, *name; /* name: how it begins */
    } rows[] = {
        { TOLD(",'notification_id':'a-1'"), "paypay:n:a-1" },
        { TOLD(",'notification_id':17"), "paypay:n:17" },
        { STATE("COMPLETED", "'paid_at':'2026-11-16T20:03:19+09:00'"),
          "paypay:t:0451:COMPLETED:2026-11-16T20:03:19+09:00" },
        { STATE("AUTHORIZED", "'paid_at':'x','authorized_at':'y'"), "paypay:t:0451:AUTHORIZED:y" },
        { STATE("EXPIRED", "'expires_at':'z'"), "paypay:t:0451:EXPIRED:z" },
        { STATE("EXPIRED_USER_CONFIRMATION", "'confirmation_expires_at':'c'"),
          "paypay:t:0451:EXPIRED_USER_CONFIRMATION:c" },
        { STATE("COMPLETED", "'paid_at':null"), "paypay:sha256:" },
        { STATE("CANCELED", "'paid_at':'x'"), "paypay:sha256:" },
        { STATE("NEW", "'paid_at':'x'"), "paypay:sha256:" },
        { TOLD(",'state':'COMPLETED','paid_at':'x'"), "paypay:sha256:" },
        { TOLD(",'notification_id':'a b'"), "paypay:sha256:" },
        { TOLD(",'notification_id':''"), "paypay:sha256:" },
        { TOLD(",'notification_id':'\\u0041'"), "paypay:sha256:" },
        { "nonsense", "paypay:sha256:" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct paypay_notice n = read_notice(rows[i].body);
        bool whole = rows[i].name[strlen(rows[i].name) - 1] != ':';

        if (!str_starts(n.event.id, str_of(rows[i].name)) ||
            (whole && n.event.id.n != strlen(rows[i].name)))
            fail_msg("row %zu is called " STR_FMT, i, STR_ARG(n.event.id));
    }
}

static void w8_only_a_payment_of_ours_is_named(void **state)
{
    static const struct {
        const char *body, *type;
        bool readable, has_payment;
    } rows[] = {
        { TOLD(""), "Transaction", true, true },
        { "{'notification_type':'Transaction','merchant_order_id':'" OURS "-2'}", "Transaction",
          true, true },
        { "{'merchant_order_id':'" OURS "'}", "Transaction", true, true },
        { "{'notification_type':'Transaction','merchant_order_id':'shop-1'}", "Transaction", true,
          false },
        { "{'notification_type':'Transaction'}", "Transaction", true, false },
        { "{'notification_type':'Transaction','merchant_order_id':7}", "Transaction", true, false },
        { "{'notification_type':'file.created','merchant_order_id':'" OURS "'}", "file.created",
          true, false },
        { "{'notification_type':7}", "", false, false },
        { "{}", "", false, false },
        { "[]", "", false, false },
        { "[{'notification_type':'Transaction'}]", "", false, false },
        { "'Transaction'", "", false, false },
        { "{'notification_type':'Transaction'", "", false, false },
        { TOLD("") "x", "", false, false },
        { TOLD(",'merchant_order_id':'" OURS "'"), "", false, false },
        { "", "", false, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct paypay_notice n = read_notice(rows[i].body);

        if (n.event.readable != rows[i].readable || n.has_payment != rows[i].has_payment ||
            !str_eq(n.event.type, str_of(rows[i].type)) || (!n.event.readable && !n.event.why))
            fail_msg("row %zu: readable %d, payment %d, type " STR_FMT, i, n.event.readable,
                     n.has_payment, STR_ARG(n.event.type));
    }
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(w8_a_notification_has_one_name),
        TEST(w8_only_a_payment_of_ours_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
