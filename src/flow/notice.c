/* notice.c - see notice.h. Titles, bodies and data are those of 003, word for word; a new row
 * brings one message along, which will hand it to the transports. */
#include "flow/notice.h"

#include "base/limits.h"
#include "flow/json_out.h"
#include "flow/rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATA_MAX = 4 * 1024, TYPE_MAX = 32, LANGUAGES = 2, RECORDED_COLUMNS = 2 };

/* --- the words --- */

enum {
    WITH_PURCHASE = 1,
    WITH_CAMPAIGN = 2,
    WITH_PARTICIPANT = 4,
    WITH_PAYMENT = 8,
    WITH_ERROR = 16,
    WITH_URL = 32,
    WITH_DRAW = 64,
};

static const struct kind {
    const char *name;
    unsigned data; /* what goes along, where it is given */
    struct {
        const char *title, *body; /* body NULL: by the table of failures */
    } words[LANGUAGES];
} kinds[NOTICE_TYPES] = {
    [NOTICE_PURCHASE_CONFIRMED] = { "purchase_confirmed",
                                    WITH_PURCHASE | WITH_CAMPAIGN,
                                    { [LANG_JA] = { "購入が完了しました",
                                                    "ポジションの購入が確定しました。" },
                                      [LANG_EN] = { "Your purchase is complete",
                                                    "The purchase of your position is "
                                                    "confirmed." } } },
    [NOTICE_PAYMENT_FAILED] = { "payment_failed",
                                WITH_PURCHASE | WITH_PARTICIPANT | WITH_ERROR,
                                { [LANG_JA] = { "決済に失敗しました", NULL },
                                  [LANG_EN] = { "Your payment failed", NULL } } },
    [NOTICE_PAYMENT_CANCELLED] = { "payment_cancelled",
                                   WITH_PURCHASE | WITH_PARTICIPANT,
                                   { [LANG_JA] = { "購入がキャンセルされました",
                                                   "予約期限が切れたため、購入がキャンセルされまし"
                                                   "た。" },
                                     [LANG_EN] = { "Your purchase was cancelled",
                                                   "Your reservation ran out, so the purchase was "
                                                   "cancelled." } } },
    [NOTICE_PAYMENT_REFUNDED] = { "payment_refunded",
                                  WITH_PURCHASE | WITH_CAMPAIGN | WITH_PARTICIPANT | WITH_PAYMENT,
                                  { [LANG_JA] = { "返金のお知らせ",
                                                  "お支払いを受け付けることができなかったため、全額"
                                                  "を返金いたします。" },
                                    [LANG_EN] = { "Your money is on its way back",
                                                  "Your payment could not be accepted, so all of "
                                                  "it is refunded." } } },
    [NOTICE_RECEIPT] = { "receipt",
                         WITH_PURCHASE | WITH_PARTICIPANT | WITH_PAYMENT | WITH_URL,
                         { [LANG_JA] = { "領収書のお知らせ", "お支払いの領収書を発行しました。" },
                           [LANG_EN] = { "Your receipt",
                                         "The receipt of your payment is ready." } } },
    [NOTICE_LOTTERY_WON] = { "lottery_result",
                             WITH_PURCHASE | WITH_CAMPAIGN | WITH_DRAW,
                             { [LANG_JA] = { "抽選結果のお知らせ",
                                             "おめでとうございます。抽選に当選しました。" },
                               [LANG_EN] = { "The draw", "Congratulations: you have won." } } },
    [NOTICE_LOTTERY_LOST] = { "lottery_result",
                              WITH_PURCHASE | WITH_CAMPAIGN | WITH_DRAW,
                              { [LANG_JA] = { "抽選結果のお知らせ",
                                              "抽選の結果、今回は落選となりました。" },
                                [LANG_EN] = { "The draw", "You have not won this time." } } },
};

/* 003's table: it wins over its own sample code, which forgets processing_error. */
static const struct failure {
    const char *code;
    const char *words[LANGUAGES];
} failures[] = {
    { "card_declined",
      { [LANG_JA] = "カードが拒否されました。別のカードをお試しください。",
        [LANG_EN] = "Your card was declined. Please try another card." } },
    { "insufficient_funds",
      { [LANG_JA] = "カード残高が不足しています。",
        [LANG_EN] = "Your card has insufficient funds." } },
    { "expired_card",
      { [LANG_JA] = "カードの有効期限が切れています。", [LANG_EN] = "Your card has expired." } },
    { "incorrect_cvc",
      { [LANG_JA] = "セキュリティコードが正しくありません。",
        [LANG_EN] = "The security code is not correct." } },
    { "processing_error",
      { [LANG_JA] = "決済処理中にエラーが発生しました。再試行してください。",
        [LANG_EN] = "An error occurred while the payment was processed. Please try again." } },
    { "konbini_timeout",
      { [LANG_JA] = "コンビニ決済の支払期限が切れました。",
        [LANG_EN] = "The time to pay at the convenience store has run out." } },
};

static const char *const other_failure[LANGUAGES] = {
    [LANG_JA] = "決済処理中にエラーが発生しました。",
    [LANG_EN] = "An error occurred while the payment was processed.",
};

static const struct failure *failure_of(struct str code)
{
    for (size_t i = 0; i < COUNT(failures); i++)
        if (str_eq(code, str_of(failures[i].code)))
            return &failures[i];
    return NULL;
}

const char *failure_words(struct str decline_code, struct str code, enum language language)
{
    const struct failure *f = failure_of(decline_code);

    if (!f)
        f = failure_of(code);
    return f ? f->words[language] : other_failure[language];
}

const char *notice_type_name(enum notice_type t)
{
    return kinds[t].name;
}

/* --- the row --- */

static void add_id(struct buf *b, const char *name, const struct uuid *id)
{
    if (id)
        out_uuid(b, name, *id);
}

static struct str data_of(struct arena *a, const struct notice *n)
{
    unsigned with = kinds[n->type].data;
    struct buf b;

    buf_init(&b, DATA_MAX);
    buf_char(&b, '{');
    add_id(&b, "purchaseId", with & WITH_PURCHASE ? n->purchase : NULL);
    add_id(&b, "campaignId", with & WITH_CAMPAIGN ? n->campaign : NULL);
    add_id(&b, "participantId", with & WITH_PARTICIPANT ? n->participant : NULL);
    add_id(&b, "paymentId", with & WITH_PAYMENT ? n->payment : NULL);
    if (with & WITH_ERROR)
        out_text(&b, "errorCode", n->code);
    if (with & WITH_URL)
        out_text(&b, "receiptUrl", n->url);
    if (with & WITH_DRAW)
        out_bool(&b, "won", n->type == NOTICE_LOTTERY_WON);
    if (n->type == NOTICE_LOTTERY_WON)
        out_int(&b, "rank", n->rank);
    buf_char(&b, '}');
    return out_done(&b, a);
}

enum { DEDUPE_MAX = UUID_TEXT + 1 + TYPE_MAX + 1 + GATEWAY_ID_MAX };

/* Never the event's id: two events can tell one change (E10). */
static struct str dedupe_of(const struct notice *n, char text[DEDUPE_MAX + 1])
{
    char subject[UUID_TEXT + 1];
    size_t attempt = n->attempt.n < GATEWAY_ID_MAX ? n->attempt.n : GATEWAY_ID_MAX;
    int length;

    uuid_text(n->subject, subject);
    length = snprintf(text, DEDUPE_MAX + 1, "%s:%s:%.*s", subject, kinds[n->type].name,
                      (int)attempt, attempt ? n->attempt.p : "");
    return (struct str){ text, (size_t)length };
}

static struct val v_id(const struct uuid *id)
{
    return id ? v_uuid(id) : V_NULL;
}

/* NOT_FOUND: it was told before. */
static enum err insert(struct tx *tx, const struct uuid *id, const struct notice *n,
                       enum language language, struct str data, int64_t now_ms)
{
    const struct kind *k = &kinds[n->type];
    const char *body = k->words[language].body;
    char dedupe[DEDUPE_MAX + 1];
    struct row row;

    if (!body)
        body = failure_words(n->decline_code, n->code, language);
    return TX_ROW(tx, STMT_notification_add, &row, v_uuid(id), V_TEXT(dedupe_of(n, dedupe)),
                  v_id(n->user), v_id(n->participant), v_id(n->payment), V_TEXT(str_of(k->name)),
                  V_TEXT(language == LANG_JA ? S("ja") : S("en")),
                  V_TEXT(str_of(k->words[language].title)), V_TEXT(str_of(body)), V_TEXT(data),
                  V_INT(now_ms));
}

/* The message has the row's own id: it needs no body, and a second one for it cannot be added. */
enum err notice_add(struct tx *tx, struct payments *pp, struct arena *a, const struct notice *n,
                    int64_t now_ms, bool *ret_new)
{
    struct queue_new m = { .id = env_uuid(tx_env(tx)), .kind = S("notify"), .due_ms = now_ms };
    struct str data = data_of(a, n);
    enum err e;

    assert(n->type < NOTICE_TYPES);
    if (!data.p)
        return ERR_NO_MEMORY;
    e = insert(tx, &m.id, n, pp->notice_language, data, now_ms);
    if (ret_new)
        *ret_new = !e;
    if (e)
        return e == ERR_NOT_FOUND ? OK : e;
    return queue_add(pp->queue, tx, now_ms, &m, 1);
}

/* --- the job --- */

static int by_id(const void *a, const void *b)
{
    return memcmp(((const struct uuid *)a)->b, ((const struct uuid *)b)->b,
                  sizeof(((const struct uuid *)a)->b));
}

static enum err record_many(struct tx *tx, const struct message *const *m, size_t n, void *ctx)
{
    struct uuid ids[LIMIT_BULK];
    struct val v[LIMIT_BULK * RECORDED_COLUMNS];
    int64_t now_ms = env_now_ms(tx_env(tx));

    (void)ctx;
    assert(n <= LIMIT_BULK);
    for (size_t i = 0; i < n; i++)
        ids[i] = m[i]->id;
    qsort(ids, n, sizeof(ids[0]), by_id);
    for (size_t i = 0; i < n; i++) {
        v[i * RECORDED_COLUMNS] = V_INT(now_ms);
        v[i * RECORDED_COLUMNS + 1] = v_uuid(&ids[i]);
    }
    return tx_bulk(tx, STMT_notification_recorded, v, n, RECORDED_COLUMNS, NULL, NULL);
}

static enum err record(struct tx *tx, const struct message *m, void *ctx, char why[256])
{
    (void)why;
    return record_many(tx, &m, 1, ctx);
}

struct job_kind notice_kind(struct payments *pp)
{
    static const struct retry_policy policy = {
        .retries = 20, .first_ms = 1000, .max_ms = 3600 * 1000, .factor = 2
    };

    return (struct job_kind){
        .name = "notify", .run = record, .run_many = record_many, .ctx = pp, .retry = policy
    };
}
