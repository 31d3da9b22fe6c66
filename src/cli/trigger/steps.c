/* steps.c - the calls that cause each event: the ones of Stripe's command line, and some that it
 * does not have. */
#include "cli/trigger/command.h"

#include <string.h>

#define POST(path, form)                                                                           \
    {                                                                                              \
        "POST", path, form, false                                                                  \
    }
#define DECLINED(path, form)                                                                       \
    {                                                                                              \
        "POST", path, form, true                                                                   \
    }
#define GET(path)                                                                                  \
    {                                                                                              \
        "GET", path, "", false                                                                     \
    }

#define INTENTS "/v1/payment_intents"
#define NOTE "&description=(created+by+ichido+trigger)"
#define CARD(amount, method)                                                                       \
    "amount=" amount                                                                               \
    "&currency=usd&confirm=true&payment_method_types[]=card&payment_method=" method NOTE
#define HELD CARD("2000", "pm_card_visa") "&capture_method=manual"
#define CATALOG(currency)                                                                          \
    POST("/v1/products", "name=myproduct" NOTE),                                                   \
        POST("/v1/prices", "product=$1&unit_amount=1500&currency=" currency)
#define SESSION                                                                                    \
    "mode=payment&success_url=https%3A%2F%2Fexample.com%2Fsuccess&cancel_url=https%3A%2F%2F"       \
    "example.com%2Fcancel&line_items[0][price]=$2&line_items[0][quantity]=2"
#define DEBIT(iban)                                                                                \
    "type=sepa_debit&sepa_debit[iban]=" iban                                                       \
    "&billing_details[name]=Jenny+Rosen&billing_details[email]=stripe%40example.com"
#define PAY_LATER(iban)                                                                            \
    CATALOG("eur"),                                                                                \
        POST("/v1/checkout/sessions",                                                              \
             SESSION "&payment_method_types[]=sepa_debit"                                          \
                     "&payment_intent_data[setup_future_usage]=off_session"),                      \
        GET("/v1/payment_pages/$3"), POST("/v1/payment_methods", DEBIT(iban)),                     \
        POST("/v1/payment_pages/$3/confirm", "payment_method=$5&expected_amount=3000")
#define TRANSFER                                                                                   \
    "amount=20000&currency=jpy&confirm=true&customer=$1&payment_method_types[]=customer_balance"   \
    "&payment_method_data[type]=customer_balance"                                                  \
    "&payment_method_options[customer_balance][funding_type]=bank_transfer"                        \
    "&payment_method_options[customer_balance][bank_transfer][type]=jp_bank_account"
#define DISPUTED POST(INTENTS, CARD("100", "pm_card_createDisputeInquiry"))

/* clang-format off */
const struct trigger triggers[] = {
    { "payment_intent.succeeded", "a card pays", "カードで支払いが成功する",
      { POST(INTENTS, CARD("2000", "pm_card_visa")) } },
    { "payment_intent.payment_failed", "a card is declined", "カードが拒否される",
      { DECLINED(INTENTS, CARD("2000", "pm_card_chargeDeclined")) } },
    { "payment_intent.canceled", "a payment is cancelled before it was paid", "支払い前にキャンセルされる",
      { POST(INTENTS, "amount=2000&currency=usd" NOTE),
        POST(INTENTS "/$1/cancel", "cancellation_reason=requested_by_customer") } },
    { "payment_intent.created", "a payment begins", "支払いが作成される",
      { POST(INTENTS, "amount=2000&currency=usd&payment_method_types[]=card" NOTE) } },
    { "payment_intent.requires_action", "3-D Secure asks the customer", "3Dセキュア認証を求められる",
      { POST(INTENTS, CARD("2000", "pm_card_authenticationRequired")) } },
    { "payment_intent.amount_capturable_updated", "money is held", "与信枠が確保される",
      { POST(INTENTS, HELD "&confirmation_method=manual&return_url=https%3A%2F%2Fexample.com") } },
    { "payment_intent.processing", "a bank debit is under way", "口座振替が処理中になる",
      { POST("/v1/payment_methods", DEBIT("AT321904300235473204")),
        POST(INTENTS, "amount=1000&currency=eur&confirm=true&payment_method=$1&payment_method_types[]=sepa_debit"
                      "&mandate_data[customer_acceptance][type]=offline"
                      "&mandate_data[customer_acceptance][accepted_at]=1590590577") } },
    { "payment_intent.partially_funded", "a part of a bank transfer arrives", "銀行振込の一部が着金する",
      { POST("/v1/customers", "description=(created+by+ichido+trigger)"), POST(INTENTS, TRANSFER),
        POST("/v1/test_helpers/customers/$1/fund_cash_balance", "amount=10000&currency=jpy") } },
    { "charge.succeeded", "a card is charged", "カードへの課金が成功する",
      { POST(INTENTS, CARD("100", "pm_card_visa")) } },
    { "charge.failed", "a charge is declined", "課金が拒否される",
      { DECLINED(INTENTS, CARD("100", "pm_card_visa_chargeDeclined")) } },
    { "charge.captured", "money that was held is taken", "与信枠が確定される",
      { POST(INTENTS, HELD), POST(INTENTS "/$1/capture", "") } },
    { "charge.updated", "a charge reaches the balance", "課金が残高に反映される",
      { POST(INTENTS, CARD("100", "pm_card_visa")) } },
    { "charge.expired", "money that was held is let go, its time being over", "与信枠の有効期限が切れる",
      { POST(INTENTS, HELD), POST("/_sandbox/intents/$1/lapse", "") } },
    { "charge.refunded", "a charge is refunded", "課金が返金される",
      { POST(INTENTS, CARD("100", "pm_card_visa")), POST("/v1/refunds", "payment_intent=$1") } },
    { "charge.refund.updated", "a refund is changed", "返金が更新される",
      { POST(INTENTS, CARD("100", "pm_card_visa")), POST("/v1/refunds", "payment_intent=$1"),
        POST("/v1/refunds/$2", "metadata[order_id]=6735") } },
    { "refund.created", "a refund begins", "返金が作成される",
      { POST(INTENTS, CARD("100", "pm_card_visa")), POST("/v1/refunds", "payment_intent=$1") } },
    { "refund.updated", "a refund is changed", "返金が更新される",
      { POST(INTENTS, CARD("100", "pm_card_visa")), POST("/v1/refunds", "payment_intent=$1"),
        POST("/v1/refunds/$2", "metadata[order_id]=6735") } },
    { "refund.failed", "a refund comes back", "返金が失敗する",
      { POST(INTENTS, CARD("100", "pm_card_refundFail")), POST("/v1/refunds", "payment_intent=$1") } },
    { "charge.dispute.created", "a customer's bank asks about a charge", "チャージバックの照会が届く",
      { DISPUTED } },
    { "charge.dispute.updated", "a dispute is changed", "不審請求の申請が更新される",
      { DISPUTED, GET("/v1/disputes?payment_intent=$1"), POST("/v1/disputes/$2", "metadata[foo]=bar") } },
    { "charge.dispute.closed", "a dispute is closed", "不審請求の申請が終了する",
      { DISPUTED, GET("/v1/disputes?payment_intent=$1"), POST("/v1/disputes/$2/close", "") } },
    { "checkout.session.completed", "a Checkout page is paid by card", "Checkout でカード決済が完了する",
      { CATALOG("usd"), POST("/v1/checkout/sessions", SESSION), GET("/v1/payment_pages/$3"),
        POST("/v1/payment_methods", "type=card&card[token]=tok_visa&billing_details[email]=stripe%40example.com"
                                    "&billing_details[name]=Jenny+Rosen"),
        POST("/v1/payment_pages/$3/confirm", "payment_method=$5&expected_amount=3000") } },
    { "checkout.session.expired", "a Checkout page expires", "Checkout の有効期限が切れる",
      { CATALOG("usd"), POST("/v1/checkout/sessions", SESSION), POST("/v1/checkout/sessions/$3/expire", "") } },
    { "checkout.session.async_payment_succeeded", "a Checkout page is paid by bank debit", "Checkout の口座振替が成功する",
      { PAY_LATER("AT611904300234573201") } },
    { "checkout.session.async_payment_failed", "the bank debit of a Checkout page fails", "Checkout の口座振替が失敗する",
      { PAY_LATER("IT60X0542811101000000123456") } },
};
/* clang-format on */
const size_t trigger_count = COUNT(triggers);

const struct trigger *trigger_find(struct str event)
{
    for (size_t i = 0; i < COUNT(triggers); i++)
        if (str_eq(str_of(triggers[i].event), event))
            return &triggers[i];
    return NULL;
}

/* --- the nearest name --- */

enum { FAR = 8 };

const char *trigger_nearest(struct str event)
{
    const char *nearest = NULL;
    size_t best = FAR;

    for (size_t i = 0; i < COUNT(triggers); i++) {
        struct str name = str_of(triggers[i].event);
        bool inside = event.n > 3 && memmem(name.p, name.n, event.p, event.n);
        size_t far = inside ? 1 : str_distance(event, name);

        if (far < best) {
            best = far;
            nearest = triggers[i].event;
        }
    }
    return nearest;
}
