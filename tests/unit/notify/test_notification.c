/* What people are told: 003's words, once, and handed on by a message. */
#include "notify/contact.h"
#include "notify/notification.h"
#include "notify/template.h"
#include "payment/rows.h"
#include "unit/queue/rig.h"

static struct {
    struct rig *rig;
    struct payments payments;
} w;

static void begin(void **state)
{
    memset(&w, 0, sizeof(w));
    w.rig = *state;
    rig_queue(w.rig, 0, (struct queue_options){ 0 });
    w.payments = (struct payments){ .runtime.env = &w.rig->env[0],
                                    .runtime.store = w.rig->store[0],
                                    .runtime.queue = w.rig->queue[0],
                                    .notifier.runtime = &w.payments.runtime,
                                    .notifier.language = LANG_JA,
                                    .notifier.has_channel = true };
}

struct telling {
    struct notice n;
    bool is_new;
};

static enum err do_tell(struct tx *tx, void *ctx)
{
    struct telling *t = ctx;
    struct arena a;
    enum err e;

    arena_init(&a, 1 << 20);
    e = notice_add(tx, &w.payments.notifier, &a, &t->n, env_now_ms(&w.rig->env[0]), &t->is_new);
    arena_release(&a);
    return e;
}

static bool tell(struct notice n)
{
    struct telling t = { .n = n };

    assert_int_equal(rig_do(w.rig, 0, do_tell, &t), OK);
    return t.is_new;
}

static struct notice told(enum notice_type type, struct uuid subject, struct str attempt)
{
    return (struct notice){ .type = type, .subject = subject, .attempt = attempt };
}

static int64_t count(const char *table)
{
    char sql[64];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
    return sql_int(w.rig, sql);
}

/* --- words --- */

static void n1_a_failure_is_told_in_the_words_of_003s_table(void **state)
{
    static const struct {
        const char *decline_code, *code, *ja, *en;
    } rows[] = {
        { "", "card_declined", "カードが拒否されました。別のカードをお試しください。",
          "Your card was declined. Please try another card." },
        { "", "insufficient_funds", "カード残高が不足しています。",
          "Your card has insufficient funds." },
        { "insufficient_funds", "card_declined", "カード残高が不足しています。",
          "Your card has insufficient funds." },
        { "", "expired_card", "カードの有効期限が切れています。", "Your card has expired." },
        { "", "incorrect_cvc", "セキュリティコードが正しくありません。",
          "The security code is not correct." },
        { "", "processing_error", "決済処理中にエラーが発生しました。再試行してください。",
          "An error occurred while the payment was processed. Please try again." },
        { "konbini_timeout", "payment_intent_payment_attempt_expired",
          "コンビニ決済の支払期限が切れました。",
          "The time to pay at the convenience store has run out." },
        { "lost_card", "card_declined", "カードが拒否されました。別のカードをお試しください。",
          "Your card was declined. Please try another card." },
        { "lost_card", "unheard_of", "決済処理中にエラーが発生しました。",
          "An error occurred while the payment was processed." },
        { "", "", "決済処理中にエラーが発生しました。",
          "An error occurred while the payment was processed." },
        { "Card_declined", "CARD_DECLINED", "決済処理中にエラーが発生しました。",
          "An error occurred while the payment was processed." },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str decline = str_of(rows[i].decline_code), code = str_of(rows[i].code);

        assert_string_equal(failure_words(decline, code, LANG_JA), rows[i].ja);
        assert_string_equal(failure_words(decline, code, LANG_EN), rows[i].en);
    }
}

static void n1_each_type_has_its_title_its_body_and_its_data(void **state)
{
    static const struct {
        enum notice_type type;
        enum language language;
        const char *want; /* type, language, title, body, data */
    } rows[] = {
        { NOTICE_PURCHASE_CONFIRMED, LANG_JA,
          "purchase_confirmed|ja|購入が完了しました|ポジションの購入が確定しました。|"
          "{\"purchaseId\":\"P\",\"campaignId\":\"C\"}" },
        { NOTICE_PURCHASE_CONFIRMED, LANG_EN,
          "purchase_confirmed|en|Your purchase is complete|"
          "The purchase of your position is confirmed.|"
          "{\"purchaseId\":\"P\",\"campaignId\":\"C\"}" },
        { NOTICE_PAYMENT_FAILED, LANG_JA,
          "payment_failed|ja|決済に失敗しました|カード残高が不足しています。|"
          "{\"purchaseId\":\"P\",\"errorCode\":\"card_declined\"}" },
        { NOTICE_PAYMENT_CANCELLED, LANG_JA,
          "payment_cancelled|ja|購入がキャンセルされました|"
          "予約期限が切れたため、購入がキャンセルされました。|{\"purchaseId\":\"P\"}" },
        { NOTICE_PAYMENT_REFUNDED, LANG_EN,
          "payment_refunded|en|Your money is on its way back|"
          "Your payment could not be accepted, so all of it is refunded.|"
          "{\"purchaseId\":\"P\",\"campaignId\":\"C\",\"paymentId\":\"Y\"}" },
        { NOTICE_RECEIPT, LANG_JA,
          "receipt|ja|領収書のお知らせ|お支払いの領収書を発行しました。|"
          "{\"purchaseId\":\"P\",\"paymentId\":\"Y\",\"receiptUrl\":\"https://r.test/1\"}" },
        { NOTICE_LOTTERY_WON, LANG_JA,
          "lottery_result|ja|抽選結果のお知らせ|おめでとうございます。抽選に当選しました。|"
          "{\"purchaseId\":\"P\",\"campaignId\":\"C\",\"won\":true,\"rank\":3}" },
        { NOTICE_LOTTERY_LOST, LANG_EN,
          "lottery_result|en|The draw|You have not won this time.|"
          "{\"purchaseId\":\"P\",\"campaignId\":\"C\",\"won\":false}" },
        { NOTICE_PAYMENT_AUTHORIZED, LANG_JA,
          "payment_authorized|ja|お支払いを受け付けました|"
          "ご予約のお支払い（1,234,567円）の与信が完了しました。|"
          "{\"bookingId\":\"C\",\"paymentId\":\"Y\",\"amount\":1234567,\"currency\":\"JPY\"}" },
        { NOTICE_PAYMENT_AUTHORIZED, LANG_EN,
          "payment_authorized|en|Your payment is authorized|"
          "JPY 1,234,567 for your booking is authorized.|"
          "{\"bookingId\":\"C\",\"paymentId\":\"Y\",\"amount\":1234567,\"currency\":\"JPY\"}" },
        { NOTICE_REMINDER, LANG_JA,
          "reminder|ja|お支払いのお願い|「合宿 50% & \"幹事\"」のお支払い（1,234,567円）の期限は"
          "2026年11月3日です。お支払いはこちら: https://r.test/1|"
          "{\"collectionId\":\"C\",\"amount\":1234567,\"currency\":\"JPY\","
          "\"dueDate\":\"2026-11-03\",\"paymentUrl\":\"https://r.test/1\"}" },
        { NOTICE_REMINDER, LANG_EN,
          "reminder|en|A payment is due|The payment of JPY 1,234,567 for \"合宿 50% & \"幹事\"\" "
          "is due"
          " on November 3, 2026. Pay here: https://r.test/1|"
          "{\"collectionId\":\"C\",\"amount\":1234567,\"currency\":\"JPY\","
          "\"dueDate\":\"2026-11-03\",\"paymentUrl\":\"https://r.test/1\"}" },
    };
    struct uuid purchase, campaign, payment;
    char p[UUID_TEXT + 1], c[UUID_TEXT + 1], y[UUID_TEXT + 1], sql[1024], text[2048];

    begin(state);
    purchase = env_uuid(&w.rig->env[0]);
    campaign = env_uuid(&w.rig->env[0]);
    payment = env_uuid(&w.rig->env[0]);
    uuid_text(purchase, p);
    uuid_text(campaign, c);
    uuid_text(payment, y);
    snprintf(sql, sizeof(sql),
             "SELECT type || '|' || language || '|' || title || '|' || body || '|' ||"
             " replace(replace(replace(data, '%s', 'P'), '%s', 'C'), '%s', 'Y')"
             " FROM notifications",
             p, c, y);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct notice n = { .type = rows[i].type,
                            .subject = env_uuid(&w.rig->env[0]),
                            .user = &payment,
                            .payment = &payment,
                            .campaign = &campaign,
                            .purchase = &purchase,
                            .booking = rows[i].type == NOTICE_PAYMENT_AUTHORIZED ? &campaign : NULL,
                            .collection = &campaign,
                            .money = { 1234567, "JPY" },
                            .item = S("合宿 50% & \"幹事\""),
                            .due = { 2026, 11, 3 },
                            .day = -3,
                            .code = S("card_declined"),
                            .decline_code = S("insufficient_funds"),
                            .url = S("https://r.test/1"),
                            .rank = 3 };

        w.payments.notifier.language = rows[i].language;
        sql_text(w.rig, "DELETE FROM notifications", text, sizeof(text));
        assert_true(tell(n));
        sql_text(w.rig, sql, text, sizeof(text));
        assert_string_equal(text, rows[i].want);
    }
}

static void n1_of_a_collection_it_is_the_participant_who_is_told(void **state)
{
    struct uuid participant;
    char data[256], want[256], id[UUID_TEXT + 1];

    begin(state);
    participant = env_uuid(&w.rig->env[0]);
    uuid_text(participant, id);
    assert_true(tell((struct notice){
        .type = NOTICE_PAYMENT_FAILED, .subject = participant, .participant = &participant }));
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM notifications WHERE user_id IS NULL"
                                    " AND participant_id IS NOT NULL AND payment_id IS NULL"),
                     1);
    sql_text(w.rig, "SELECT data FROM notifications", data, sizeof(data));
    snprintf(want, sizeof(want), "{\"participantId\":\"%s\",\"errorCode\":null}", id);
    assert_string_equal(data, want);
}

/* --- once --- */

static void e10_it_is_told_once_by_subject_type_and_attempt(void **state)
{
    struct uuid one, other;

    begin(state);
    one = env_uuid(&w.rig->env[0]);
    other = env_uuid(&w.rig->env[0]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tell(told(NOTICE_RECEIPT, one, S("ch_1"))), i == 0);
        assert_int_equal(tell(told(NOTICE_RECEIPT, one, S("ch_2"))), i == 0);
        assert_int_equal(tell(told(NOTICE_RECEIPT, other, S("ch_1"))), i == 0);
        assert_int_equal(tell(told(NOTICE_PAYMENT_FAILED, one, S("ch_1"))), i == 0);
        assert_int_equal(tell(told(NOTICE_PURCHASE_CONFIRMED, one, S(""))), i == 0);
        assert_int_equal(tell(told(NOTICE_LOTTERY_WON, one, S(""))), i == 0);
        assert_false(tell(told(NOTICE_LOTTERY_LOST, one, S(""))));
    }
    assert_int_equal(count("notifications"), 6);
    assert_int_equal(count("message"), 6);
}

static void e10_a_very_long_attempt_is_cut_and_still_told(void **state)
{
    char attempt[2000];

    begin(state);
    memset(attempt, 'x', sizeof(attempt));
    assert_true(tell((struct notice){ .attempt = { attempt, sizeof(attempt) } }));
    assert_false(tell((struct notice){ .attempt = { attempt, sizeof(attempt) } }));
    assert_int_equal(count("notifications"), 1);
}

static enum err do_tell_and_fail(struct tx *tx, void *ctx)
{
    enum err e = do_tell(tx, ctx);

    return e ? e : ERR_CONFLICT;
}

static void e10_what_is_rolled_back_was_never_told(void **state)
{
    struct telling t = { .n = { .type = NOTICE_RECEIPT } };

    begin(state);
    assert_int_equal(rig_do(w.rig, 0, do_tell_and_fail, &t), ERR_CONFLICT);
    assert_int_equal(count("notifications"), 0);
    assert_int_equal(count("message"), 0);
    assert_true(tell(t.n));
}

/* --- the message --- */

static void each_brings_its_message_along(void **state)
{
    begin(state);
    for (int i = 0; i < 100; i++)
        assert_true(tell((struct notice){ .subject = env_uuid(&w.rig->env[0]) }));
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM notifications n JOIN message m"
                                    " ON m.id = n.id WHERE n.recorded_at IS NULL"),
                     100);
}

static void without_a_transport_there_is_no_message_and_the_row_is_all(void **state)
{
    begin(state);
    w.payments.notifier.has_channel = false;
    assert_true(tell((struct notice){ .trace = S("00-1-2-01") }));
    assert_false(tell((struct notice){ 0 }));
    assert_int_equal(count("message"), 0);
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM notifications WHERE trace = '00-1-2-01'"
                                    " AND recorded_at = created_at"),
                     1);
}

static enum err do_see_teller(struct tx *tx, void *ctx)
{
    return TX_DO(tx, STMT_teller_seen, 1, v_uuid(&tx_env(tx)->node), V_INT(*(const int64_t *)ctx));
}

/* N1: what this node cannot tell another one may. SQLite has no other. */
static void n1_where_another_node_has_a_transport_the_row_brings_its_message(void **state)
{
    const int64_t day = 24 * 3600 * 1000;
    int64_t seen_ms, waits;

    begin(state);
    w.payments.notifier.has_channel = false;
    waits = w.rig->postgres;
    seen_ms = env_now_ms(&w.rig->env[0]) - day - 1000; /* gone for a day: no teller any more */
    assert_int_equal(rig_do(w.rig, 0, do_see_teller, &seen_ms), OK);
    assert_true(tell((struct notice){ .attempt = S("1") }));
    assert_int_equal(count("message"), 0);
    seen_ms += 60 * 1000;
    assert_int_equal(rig_do(w.rig, 0, do_see_teller, &seen_ms), OK);
    assert_true(tell((struct notice){ .attempt = S("2") }));
    assert_false(tell((struct notice){ .attempt = S("2") }));
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM notifications n JOIN message m"
                                    " ON m.id = n.id WHERE n.recorded_at IS NULL AND m.kind ="
                                    " 'notify' AND m.ready = 1 AND m.due_at = n.created_at"),
                     waits);
    assert_int_equal(count("message"), waits);
    assert_int_equal(count("notifications"), 2);
}

/* --- languages --- */

struct putting {
    struct contact contact;
    struct contact_put put;
};

static enum err do_put(struct tx *tx, void *ctx)
{
    struct putting *p = ctx;
    struct arena a;
    enum err e;

    arena_init(&a, 1 << 20);
    e = contact_put(tx, &a, &p->contact, env_now_ms(&w.rig->env[0]), &p->put);
    arena_release(&a);
    return e;
}

static void speaks(struct uuid user, struct str language)
{
    struct putting p = { .contact = { .user = user, .language = language } };

    assert_int_equal(rig_do(w.rig, 0, do_put, &p), OK);
}

static enum err do_add_participant(struct tx *tx, void *ctx)
{
    const struct uuid *ids = ctx; /* the participant, its user */
    struct val v[] = { v_uuid(&ids[0]), v_uuid(&ids[0]), V_TEXT(S("A")), V_NULL,
                       v_uuid(&ids[1]), V_INT(100),      V_INT(1) };

    return tx_bulk(tx, STMT_participant_put, v, 1, COUNT(v), NULL, NULL);
}

static void n1_a_person_is_told_in_the_language_of_the_contact(void **state)
{
    static const struct {
        const char *why;
        const char *contact; /* NULL: none */
        enum language server;
        bool of_participant;
        const char *want;
    } rows[] = {
        { "no contact: the server's", NULL, LANG_JA, false, "ja|返金のお知らせ" },
        { "no contact: the server's", NULL, LANG_EN, false, "en|Your money is on its way back" },
        { "a contact without a language", "", LANG_EN, false, "en|Your money is on its way back" },
        { "the person's own", "en", LANG_JA, false, "en|Your money is on its way back" },
        { "the person's own", "ja", LANG_EN, false, "ja|返金のお知らせ" },
        { "that of a participant's user", "en", LANG_JA, true, "en|Your money is on its way back" },
        { "a participant whose user has none", NULL, LANG_JA, true, "ja|返金のお知らせ" },
    };

    begin(state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct uuid ids[2] = { env_uuid(&w.rig->env[0]), env_uuid(&w.rig->env[0]) };
        struct notice n = { .type = NOTICE_PAYMENT_REFUNDED, .subject = ids[0] };
        char text[256];

        if (rows[i].contact)
            speaks(ids[1], str_of(rows[i].contact));
        if (rows[i].of_participant)
            assert_int_equal(rig_do(w.rig, 0, do_add_participant, ids), OK);
        *(rows[i].of_participant ? &n.participant : &n.user) = &ids[!rows[i].of_participant];
        w.payments.notifier.language = rows[i].server;
        sql_text(w.rig, "DELETE FROM notifications", text, sizeof(text));
        assert_true(tell(n));
        sql_text(w.rig, "SELECT language || '|' || title FROM notifications", text, sizeof(text));
        if (strcmp(text, rows[i].want) != 0)
            fail_msg("row %zu: %s: %s", i, rows[i].why, text);
    }
}

/* --- amounts and days --- */

static void amounts_are_written_for_people(void **state)
{
    static const struct {
        struct money money;
        const char *ja, *en;
    } rows[] = {
        { { 1, "JPY" }, "1円", "JPY 1" },
        { { 999, "JPY" }, "999円", "JPY 999" },
        { { 1000, "JPY" }, "1,000円", "JPY 1,000" },
        { { 99999999, "JPY" }, "99,999,999円", "JPY 99,999,999" },
        { { 5, "USD" }, "USD 0.05", "USD 0.05" },
        { { 123456, "USD" }, "USD 1,234.56", "USD 1,234.56" },
        { { 1234567, "KWD" }, "KWD 1,234.567", "KWD 1,234.567" },
    };
    struct arena a;

    (void)state;
    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct notice n = {
            .type = NOTICE_REMINDER, .item = S("x"), .money = rows[i].money, .due = { 2026, 12, 31 }
        };
        char ja[128], en[128];

        snprintf(ja, sizeof(ja), "「x」のお支払い（%s）の期限は本日（2026年12月31日）です。",
                 rows[i].ja);
        snprintf(en, sizeof(en), "The payment of %s for \"x\" is due today, December 31, 2026.",
                 rows[i].en);
        assert_true(str_eq(notice_words(&a, &n, LANG_JA).body, str_of(ja)));
        assert_true(str_eq(notice_words(&a, &n, LANG_EN).body, str_of(en)));
    }
    arena_release(&a);
}

static void s2_a_reminder_says_whether_its_day_is_to_come_is_here_or_is_gone(void **state)
{
    static const struct {
        int64_t day;
        const char *ja, *en;
    } rows[] = {
        { -3, "「合宿」のお支払い（500円）の期限は2026年12月31日です。",
          "The payment of JPY 500 for \"合宿\" is due on December 31, 2026." },
        { 0, "「合宿」のお支払い（500円）の期限は本日（2026年12月31日）です。",
          "The payment of JPY 500 for \"合宿\" is due today, December 31, 2026." },
        { 7, "「合宿」のお支払い（500円）の期限（2026年12月31日）を過ぎています。",
          "The payment of JPY 500 for \"合宿\" was due on December 31, 2026." },
    };
    struct arena a;

    (void)state;
    arena_init(&a, 1 << 16);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct notice n = { .type = NOTICE_REMINDER,
                            .item = S("合宿"),
                            .money = { 500, "JPY" },
                            .due = { 2026, 12, 31 },
                            .day = rows[i].day };

        assert_true(str_eq(notice_words(&a, &n, LANG_JA).body, str_of(rows[i].ja)));
        assert_true(str_eq(notice_words(&a, &n, LANG_EN).body, str_of(rows[i].en)));
    }
    arena_release(&a);
}

#define ALL(ON)                                                                                    \
    ON(n1_each_type_has_its_title_its_body_and_its_data),                                          \
        ON(n1_of_a_collection_it_is_the_participant_who_is_told),                                  \
        ON(e10_it_is_told_once_by_subject_type_and_attempt),                                       \
        ON(e10_a_very_long_attempt_is_cut_and_still_told),                                         \
        ON(e10_what_is_rolled_back_was_never_told), ON(each_brings_its_message_along),             \
        ON(without_a_transport_there_is_no_message_and_the_row_is_all),                            \
        ON(n1_where_another_node_has_a_transport_the_row_brings_its_message),                      \
        ON(n1_a_person_is_told_in_the_language_of_the_contact)

int main(void)
{
    static const struct CMUnitTest sqlite[] = {
        TEST(n1_a_failure_is_told_in_the_words_of_003s_table),
        TEST(amounts_are_written_for_people),
        TEST(s2_a_reminder_says_whether_its_day_is_to_come_is_here_or_is_gone),
        ALL(ON_SQLITE),
    };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
