/* What people are told: 003's words, once, and handed on by a message. */
#include "flow/notice.h"
#include "flow/rows.h"
#include "unit/queue/rig.h"

static struct {
    struct rig *rig;
    struct payments payments;
} w;

static void begin(void **state)
{
    static struct job_kind kinds[1];

    memset(&w, 0, sizeof(w));
    w.rig = *state;
    kinds[0] = notice_kind(&w.payments);
    rig_queue(w.rig, 0, (struct queue_options){ .kinds = kinds, .kind_count = 1 });
    w.payments = (struct payments){ .env = &w.rig->env[0],
                                    .store = w.rig->store[0],
                                    .queue = w.rig->queue[0],
                                    .notice_language = LANG_JA };
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
    e = notice_add(tx, &w.payments, &a, &t->n, env_now_ms(&w.rig->env[0]), &t->is_new);
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
    };
    struct uuid purchase, campaign, payment;
    char p[UUID_TEXT + 1], c[UUID_TEXT + 1], y[UUID_TEXT + 1], sql[1024], text[1024];

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
             " FROM notifications ORDER BY id DESC LIMIT 1",
             p, c, y);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct notice n = { .type = rows[i].type,
                            .subject = env_uuid(&w.rig->env[0]),
                            .user = &payment,
                            .payment = &payment,
                            .campaign = &campaign,
                            .purchase = &purchase,
                            .code = S("card_declined"),
                            .decline_code = S("insufficient_funds"),
                            .url = S("https://r.test/1"),
                            .rank = 3 };

        w.payments.notice_language = rows[i].language;
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

static void each_is_handed_on_once_many_at_a_time(void **state)
{
    begin(state);
    for (int i = 0; i < 100; i++)
        assert_true(tell((struct notice){ .subject = env_uuid(&w.rig->env[0]) }));
    assert_int_equal(sql_int(w.rig, "SELECT count(*) FROM notifications n JOIN message m"
                                    " ON m.id = n.id WHERE n.recorded_at IS NULL"),
                     100);
    queue_start(w.rig->queue[0]);
    rig_settle(w.rig);
    assert_int_equal(count("message"), 0);
    assert_int_equal(
        sql_int(w.rig, "SELECT count(*) FROM notifications WHERE recorded_at IS NOT NULL"), 100);
}

#define ALL(ON)                                                                                    \
    ON(n1_each_type_has_its_title_its_body_and_its_data),                                          \
        ON(n1_of_a_collection_it_is_the_participant_who_is_told),                                  \
        ON(e10_it_is_told_once_by_subject_type_and_attempt),                                       \
        ON(e10_a_very_long_attempt_is_cut_and_still_told),                                         \
        ON(e10_what_is_rolled_back_was_never_told), ON(each_is_handed_on_once_many_at_a_time)

int main(void)
{
    static const struct CMUnitTest sqlite[] = {
        TEST(n1_a_failure_is_told_in_the_words_of_003s_table),
        ALL(ON_SQLITE),
    };
    static const struct CMUnitTest postgres[] = { ALL(ON_POSTGRES) };

    return RUN_BOTH(sqlite, postgres);
}
