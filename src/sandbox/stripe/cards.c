/* cards.c - the tables of test cards, payment method types and decline codes, with their lookups. */
#include "sandbox/stripe/cards.h"

/* clang-format off */
static const struct card cards[] = {
    { "visa", "4242424242424242", "visa", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "visa_debit", "4000056655665556", "visa", "debit", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "mastercard", "5555555555554444", "mastercard", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "mastercard_debit", "5200828282828210", "mastercard", "debit", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "mastercard_prepaid", "5105105105105100", "mastercard", "prepaid", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "amex", "378282246310005", "amex", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "jcb", "3566002020360505", "jcb", "credit", "JP", CARD_PAYS, 0, 0, 0, 0 },
    { "jp", "4000003920000003", "visa", "credit", "JP", CARD_PAYS, 0, 0, 0, 0 },
    { "discover", "6011111111111117", "discover", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "diners", "3056930009020004", "diners", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "unionpay", "6200000000000005", "unionpay", "credit", "CN", CARD_PAYS, 0, 0, 0, 0 },

    { "chargeDeclined", "4000000000000002", "visa", "credit", "US", CARD_DECLINES, "card_declined", "generic_decline", 0, 0 },
    { "visa_chargeDeclined", "4000000000000002", "visa", "credit", "US", CARD_DECLINES, "card_declined", "generic_decline", 0, 0 },
    { "chargeDeclinedInsufficientFunds", "4000000000009995", "visa", "credit", "US", CARD_DECLINES, "card_declined", "insufficient_funds", 0, 0 },
    { "visa_chargeDeclinedInsufficientFunds", "4000000000009995", "visa", "credit", "US", CARD_DECLINES, "card_declined", "insufficient_funds", 0, 0 },
    { "chargeDeclinedLostCard", "4000000000009987", "visa", "credit", "US", CARD_DECLINES, "card_declined", "lost_card", 0, 0 },
    { "visa_chargeDeclinedLostCard", "4000000000009987", "visa", "credit", "US", CARD_DECLINES, "card_declined", "lost_card", 0, 0 },
    { "chargeDeclinedStolenCard", "4000000000009979", "visa", "credit", "US", CARD_DECLINES, "card_declined", "stolen_card", 0, 0 },
    { "visa_chargeDeclinedStolenCard", "4000000000009979", "visa", "credit", "US", CARD_DECLINES, "card_declined", "stolen_card", 0, 0 },
    { "chargeDeclinedExpiredCard", "4000000000000069", "visa", "credit", "US", CARD_DECLINES, "expired_card", 0, 0, 0 },
    { "chargeDeclinedIncorrectCvc", "4000000000000127", "visa", "credit", "US", CARD_DECLINES, "incorrect_cvc", 0, 0, 0 },
    { "chargeDeclinedProcessingError", "4000000000000119", "visa", "credit", "US", CARD_DECLINES, "processing_error", 0, 0, 0 },
    { "chargeDeclinedVelocityLimitExceeded", "4000000000006975", "visa", "credit", "US", CARD_DECLINES, "card_declined", "card_velocity_exceeded", 0, 0 },
    { "visa_chargeDeclinedVelocityLimitExceeded", "4000000000006975", "visa", "credit", "US", CARD_DECLINES, "card_declined", "card_velocity_exceeded", 0, 0 },
    { "chargeCustomerFail", "4000000000000341", "visa", "credit", "US", CARD_DECLINES, "card_declined", "generic_decline", 0, 0 },
    { "chargeDeclinedFraudulent", "4100000000000019", "visa", "credit", "US", CARD_BLOCKED, "card_declined", "fraudulent", 0, 0 },
    { "radarBlock", "4100000000000019", "visa", "credit", "US", CARD_BLOCKED, "card_declined", "fraudulent", 0, 0 },
    { "riskLevelHighest", "4000000000004954", "visa", "credit", "US", CARD_BLOCKED, "card_declined", "fraudulent", 0, 0 },
    { "riskLevelElevated", "4000000000009235", "visa", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },

    { "threeDSecure2Required", "4000000000003220", "visa", "credit", "US", CARD_ASKS, 0, 0, 0, 0 },
    { "threeDSecureRequired", "4000000000003063", "visa", "credit", "US", CARD_ASKS, 0, 0, 0, 0 },
    { "authenticationRequired", "4000002760003184", "visa", "credit", "DE", CARD_ASKS, 0, 0, 0, 0 },
    { "authenticationRequiredOnSetup", "4000002500003155", "visa", "credit", "DE", CARD_ASKS, 0, 0, 0, 0 },
    { "threeDSecureRequiredChargeDeclined", "4000008400001629", "visa", "credit", "US", CARD_ASKS_AND_DECLINES, "card_declined", "generic_decline", 0, 0 },
    { "authenticationRequiredChargeDeclinedInsufficientFunds", "4000008260003178", "visa", "credit", "GB", CARD_ASKS_AND_DECLINES, "card_declined", "insufficient_funds", 0, 0 },
    { "threeDSecureOptional", "4000000000003055", "visa", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },

    { "createDispute", "4000000000000259", "visa", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "createDisputeProductNotReceived", "4000000000002685", "visa", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "createDisputeInquiry", "4000000000001976", "visa", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "refundFail", "4000000000005126", "visa", "credit", "US", CARD_REFUND_FAILS, 0, 0, 0, 0 },
    { "bypassPending", "4000000000000077", "visa", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },
    { "pendingRefund", "4000000000007726", "visa", "credit", "US", CARD_PAYS, 0, 0, 0, 0 },
};

/* Methods that are not cards. The number of a debit is its test account. */
static const struct card others[] = {
    { "konbini", "0000", "", "", "JP", CARD_VOUCHER, 0, 0, "konbini", 0 },
    { "customer_balance", "0000", "", "", "JP", CARD_TRANSFER, 0, 0, "customer_balance", 0 },
    { "paypay", "0000", "", "", "JP", CARD_WALLET, 0, 0, "paypay", 0 },
    { "sepa_debit", "AT611904300234573201", "", "", "AT", CARD_DEBIT, 0, 0, "sepa_debit", 0 },
    { "sepa_debit_late", "AT321904300235473204", "", "", "AT", CARD_DEBIT, 0, 0, "sepa_debit", 1 },
    { "sepa_debit_fails", "AT861904300235473202", "", "", "AT", CARD_DEBIT, "insufficient_funds", 0, "sepa_debit", 0 },
    { "sepa_debit_fails_late", "AT051904300235473205", "", "", "AT", CARD_DEBIT, "insufficient_funds", 0, "sepa_debit", 1 },
    { "sepa_debit_disputed", "AT591904300235473203", "", "", "AT", CARD_DEBIT, 0, 0, "sepa_debit", 0 },
    { "sepa_debit_fails", "IT60X0542811101000000123456", "", "", "IT", CARD_DEBIT, "insufficient_funds", 0, "sepa_debit", 0 },
};

const struct method_type method_types[] = {
    { "card", 0, true, false },
    { "konbini", "jpy", false, true },
    { "customer_balance", "jpy", false, true },
    { "paypay", "jpy", false, false },
    { "sepa_debit", "eur", false, true },
};
const size_t method_type_count = COUNT(method_types);

/* Decline codes that Stripe reports as the error code itself, and decline codes with a message of
 * their own. */
static const struct { const char *name; bool is_code; const char *message; } words[] = {
    { "insufficient_funds", false, "Your card has insufficient funds." },
    { "expired_card", true, "Your card has expired." },
    { "incorrect_cvc", true, "Your card's security code is incorrect." },
    { "processing_error", true, "An error occurred while processing your card. Try again in a little bit." },
    { "card_velocity_exceeded", false, "Your card was declined for making repeated attempts too frequently or exceeding its amount limit." },
    { "authentication_required", true, "Your card was declined. This transaction requires authentication." },
};
/* clang-format on */

static const struct card *cards_named(struct str name)
{
    for (size_t i = 0; i < COUNT(cards); i++)
        if (str_eq(str_of(cards[i].name), name))
            return &cards[i];
    return NULL;
}

const struct card *card_by_name(struct str name)
{
    for (size_t i = 0; i < COUNT(others); i++)
        if (str_eq(str_of(others[i].name), name))
            return &others[i];
    return cards_named(name);
}

/* Any account that is not listed pays, like the first one. */
const struct card *card_by_iban(struct str iban)
{
    for (size_t i = 0; i < COUNT(others); i++)
        if (str_eq(str_of(others[i].number), iban))
            return &others[i];
    return card_by_name(S("sepa_debit"));
}

const char *card_type(const struct card *c)
{
    return c && c->type ? c->type : "card";
}

const struct method_type *method_type_of(struct str card)
{
    struct str type = str_of(card_type(card_by_name(card)));

    for (size_t i = 0; i < COUNT(method_types); i++)
        if (str_eq(str_of(method_types[i].name), type))
            return &method_types[i];
    return &method_types[0];
}

const struct card *card_by_token(struct str token)
{
    static const struct str prefixes[] = { { "pm_card_", 8 }, { "tok_", 4 } };

    for (size_t i = 0; i < COUNT(prefixes); i++)
        if (str_starts(token, prefixes[i]))
            return cards_named((struct str){ token.p + prefixes[i].n, token.n - prefixes[i].n });
    return NULL;
}

const struct card *card_by_number(struct str digits)
{
    for (size_t i = 0; i < COUNT(cards); i++)
        if (str_eq(str_of(cards[i].number), digits))
            return &cards[i];
    return NULL;
}

struct decline_error decline_of(struct str decline_code)
{
    for (size_t i = 0; i < COUNT(words); i++) {
        struct str name = str_of(words[i].name);

        if (str_eq(name, decline_code))
            return (struct decline_error){ words[i].is_code ? name : S("card_declined"), name,
                                           str_of(words[i].message) };
    }
    return (struct decline_error){ S("card_declined"), decline_code, S("Your card was declined.") };
}

/* expired_card and some others are error codes and come without a decline_code. */
struct decline_error card_decline(const struct card *c)
{
    struct decline_error d = decline_of(str_of(c->decline_code ? c->decline_code : c->code));

    d.decline_code = str_of(c->decline_code);
    return d;
}
