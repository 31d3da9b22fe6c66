/* template.c - the texts of every notification in Japanese and English. Where 003 has a title, a
 * body or data, it is used word for word. */
#include "notify/template.h"

#include "base/json/write.h"

#include <stdio.h>

enum { DATA_MAX = 4 * 1024, BODY_MAX = 8 * 1024, LANGUAGES = 2, DATE_MAX = 40 };

/* --- the tables --- */

enum {
    WITH_PURCHASE = 1,
    WITH_CAMPAIGN = 2,
    WITH_PARTICIPANT = 4,
    WITH_PAYMENT = 8,
    WITH_ERROR = 16,
    WITH_URL = 32,
    WITH_DRAW = 64,
    WITH_BOOKING = 128,
    WITH_COLLECTION = 256,
    WITH_MONEY = 512,
    WITH_DUE = 1024,
};

static const struct template
{
    const char *name;
    unsigned data; /* the fields of its data, WITH_... */
    struct {
        const char *title, *body; /* body NULL: composed, or from the table of failures */
    } words[LANGUAGES];
}
templates[NOTICE_TYPES] = {
    [NOTICE_PURCHASE_CONFIRMED] = { "purchase_confirmed",
                                    WITH_PURCHASE | WITH_CAMPAIGN,
                                    { [LANG_JA] = { "購入が完了しました",
                                                    "ポジションの購入が確定しました。" },
                                      [LANG_EN] = { "Your purchase is complete",
                                                    "The purchase of your position is "
                                                    "confirmed." } } },
    [NOTICE_PAYMENT_FAILED] = { "payment_failed",
                                WITH_PURCHASE | WITH_PARTICIPANT | WITH_BOOKING | WITH_ERROR,
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
    [NOTICE_PAYMENT_AUTHORIZED] = { "payment_authorized",
                                    WITH_BOOKING | WITH_PAYMENT | WITH_MONEY,
                                    { [LANG_JA] = { "お支払いを受け付けました", NULL },
                                      [LANG_EN] = { "Your payment is authorized", NULL } } },
    [NOTICE_REMINDER] = { "reminder",
                          WITH_COLLECTION | WITH_PARTICIPANT | WITH_MONEY | WITH_DUE | WITH_URL,
                          { [LANG_JA] = { "お支払いのお願い", NULL },
                            [LANG_EN] = { "A payment is due", NULL } } },
};

/* The table of 003; its sample code forgets processing_error, so the table counts. */
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

const char *notice_type_name(enum notice_type t)
{
    return templates[t].name;
}

/* --- failures --- */

static const struct failure *failure_find(struct str code)
{
    for (size_t i = 0; i < COUNT(failures); i++)
        if (str_eq(code, str_of(failures[i].code)))
            return &failures[i];
    return NULL;
}

const char *failure_words(struct str decline_code, struct str code, enum language language)
{
    const struct failure *f = failure_find(decline_code);

    if (!f)
        f = failure_find(code);
    return f ? f->words[language] : other_failure[language];
}

/* --- amounts and dates --- */

static void template_add_money(struct buf *b, struct money m, enum language language)
{
    char text[MONEY_TEXT];
    bool yen = language == LANG_JA && str_eq(str_of(m.currency), S("JPY"));

    if (!yen)
        buf_fmt(b, "%s ", m.currency);
    money_text(m.minor, m.currency, text);
    buf_add(b, str_of(text));
    if (yen)
        buf_add(b, S("円"));
}

static void template_date(struct civil d, enum language language, char text[DATE_MAX])
{
    static const char *const months[] = { "January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December" };

    if (language == LANG_JA)
        snprintf(text, DATE_MAX, "%lld年%d月%d日", (long long)d.year, d.month, d.day);
    else
        snprintf(text, DATE_MAX, "%s %d, %lld", months[(d.month + 11) % 12], d.day,
                 (long long)d.year);
}

/* --- composed bodies --- */

static struct str template_authorized_body(struct arena *a, const struct notice *n,
                                           enum language language)
{
    struct buf b;

    buf_init(&b, BODY_MAX);
    buf_add(&b, language == LANG_JA ? S("ご予約のお支払い（") : S(""));
    template_add_money(&b, n->money, language);
    buf_add(&b, language == LANG_JA ? S("）の与信が完了しました。")
                                    : S(" for your booking is authorized."));
    return out_done(&b, a);
}

static void template_add_due(struct buf *b, const struct notice *n, enum language language)
{
    char date[DATE_MAX];

    template_date(n->due, language, date);
    if (language == LANG_JA)
        buf_fmt(b,
                n->day < 0    ? "の期限は%sです。"
                : n->day == 0 ? "の期限は本日（%s）です。"
                              : "の期限（%s）を過ぎています。",
                date);
    else
        buf_fmt(b,
                n->day < 0    ? " is due on %s."
                : n->day == 0 ? " is due today, %s."
                              : " was due on %s.",
                date);
}

static struct str template_reminder_body(struct arena *a, const struct notice *n,
                                         enum language language)
{
    bool ja = language == LANG_JA;
    struct buf b;

    buf_init(&b, BODY_MAX);
    if (ja)
        buf_fmt(&b, "「" STR_FMT "」のお支払い（", STR_ARG(n->item));
    else
        buf_add(&b, S("The payment of "));
    template_add_money(&b, n->money, language);
    if (ja)
        buf_add(&b, S("）"));
    else
        buf_fmt(&b, " for \"" STR_FMT "\"", STR_ARG(n->item));
    template_add_due(&b, n, language);
    if (n->url.n) {
        buf_add(&b, ja ? S("お支払いはこちら: ") : S(" Pay here: "));
        buf_add(&b, n->url);
    }
    return out_done(&b, a);
}

struct notice_words notice_words(struct arena *a, const struct notice *n, enum language language)
{
    const struct template *k = &templates[n->type];
    const char *body = k->words[language].body;
    struct notice_words w = { .title = str_of(k->words[language].title) };

    if (n->type == NOTICE_PAYMENT_AUTHORIZED)
        w.body = template_authorized_body(a, n, language);
    else if (n->type == NOTICE_REMINDER)
        w.body = template_reminder_body(a, n, language);
    else
        w.body = str_of(body ? body : failure_words(n->decline_code, n->code, language));
    return w;
}

/* --- data --- */

static void template_add_id(struct buf *b, bool with, const char *name, const struct uuid *id)
{
    if (with && id)
        out_uuid(b, name, *id);
}

static void template_add_due_date(struct buf *b, struct civil d)
{
    char text[DATE_MAX];

    snprintf(text, sizeof(text), "%04lld-%02d-%02d", (long long)d.year, d.month, d.day);
    out_text(b, "dueDate", str_of(text));
}

static void template_add_facts(struct buf *b, const struct notice *n, unsigned with)
{
    if (with & WITH_ERROR)
        out_text(b, "errorCode", n->code);
    if (with & WITH_MONEY)
        money_out(b, n->money);
    if (with & WITH_DUE)
        template_add_due_date(b, n->due);
    if (with & WITH_URL)
        out_text(b, n->type == NOTICE_RECEIPT ? "receiptUrl" : "paymentUrl", n->url);
    if (with & WITH_DRAW)
        out_bool(b, "won", n->type == NOTICE_LOTTERY_WON);
    if (n->type == NOTICE_LOTTERY_WON)
        out_int(b, "rank", n->rank);
}

struct str notice_data(struct arena *a, const struct notice *n)
{
    unsigned with = templates[n->type].data;
    struct buf b;

    buf_init(&b, DATA_MAX);
    buf_char(&b, '{');
    template_add_id(&b, with & WITH_PURCHASE, "purchaseId", n->purchase);
    template_add_id(&b, with & WITH_CAMPAIGN, "campaignId", n->campaign);
    template_add_id(&b, with & WITH_COLLECTION, "collectionId", n->collection);
    template_add_id(&b, with & WITH_PARTICIPANT, "participantId", n->participant);
    template_add_id(&b, with & WITH_BOOKING, "bookingId", n->booking);
    template_add_id(&b, with & WITH_PAYMENT, "paymentId", n->payment);
    template_add_facts(&b, n, with);
    buf_char(&b, '}');
    return out_done(&b, a);
}
