/* methods.c - what payments other than card and konbini add to the JSON of intents, charges,
 * refunds and payment methods. */
#include "sandbox/stripe/customers.h"
#include "sandbox/stripe/render/render.h"

#include <string.h>

static bool render_methods_is(const char *type, const char *other)
{
    return strcmp(type, other) == 0;
}

/* --- bank transfers --- */

/* The account number is made of seven digits of the intent's id. */
static void put_account(struct buf *b, struct str intent)
{
    char number[8] = "1000000";

    for (size_t i = 0; i < intent.n; i++)
        number[1 + i % 6] = (char)('0' + (number[1 + i % 6] - '0' + intent.p[i]) % 10);
    buf_add(b, S("[{\"supported_networks\":[\"zengin\"],\"type\":\"zengin\",\"zengin\":{"
                 "\"account_holder_address\":null,\"account_holder_name\":\"ICHIDO SANDBOX\","
                 "\"account_number\":\""));
    buf_add(b, str_of(number));
    buf_add(b, S("\",\"account_type\":\"futsu\",\"bank_address\":null,\"bank_code\":\"0000\","
                 "\"bank_name\":\"サンドボックス銀行\",\"branch_code\":\"001\","
                 "\"branch_name\":\"本店\"}}]"));
}

void sb_put_transfer(struct work *w, struct buf *b, const struct intent *p)
{
    struct transfer t = { 0 };
    enum err e = sb_transfer_read(w->tx, p->id, &t);
    struct str stem = sb_id_stem(p->id);

    if (e != ERR_NOT_FOUND && !work_ok(w, e))
        return;
    sb_put_number(b,
                  S(",\"next_action\":{\"display_bank_transfer_instructions\":{"
                    "\"amount_remaining\":"),
                  p->amount - (e ? 0 : t.funded));
    sb_put_text(b, S(",\"currency\":"), p->currency);
    buf_add(b, S(",\"financial_addresses\":"));
    put_account(b, p->id);
    sb_put_text(b, S(",\"hosted_instructions_url\":"), sb_transfer_url(w, p->id));
    sb_put_text(b, S(",\"reference\":"), stem);
    buf_add(b,
            S(",\"type\":\"jp_bank_transfer\"},\"type\":\"display_bank_transfer_instructions\"}"));
}

/* --- intents --- */

void sb_put_options_of(struct buf *b, const char *type)
{
    buf_json(b, str_of(type));
    buf_add(b, render_methods_is(type, "customer_balance")
                   ? S(":{\"bank_transfer\":{\"type\":\"jp_bank_transfer\"},\"funding_type\":"
                       "\"bank_transfer\",\"setup_future_usage\":\"none\"}")
                   : S(":{}"));
}

/* --- accounts --- */

static struct str render_methods_last4(struct str iban)
{
    return iban.n < 4 ? iban : (struct str){ iban.p + iban.n - 4, 4 };
}

static void put_iban(struct buf *b, struct str iban)
{
    struct str country = { iban.p, iban.n < 2 ? 0 : 2 };
    struct str bank = { iban.p + 4, iban.n < 9 ? 0 : 5 };

    sb_put_text(b, S("\"bank_code\":"), bank);
    sb_put_text(b, S(",\"branch_code\":\"\",\"country\":"), country);
    buf_add(b, S(",\"fingerprint\":\"SandboxIban"));
    buf_add(b, render_methods_last4(iban));
    sb_put_text(b, S("\",\"last4\":"), render_methods_last4(iban));
}

void sb_put_method_of(struct buf *b, const struct method *m, const char *type)
{
    buf_char(b, ',');
    buf_json(b, str_of(type));
    if (!render_methods_is(type, "sepa_debit")) {
        buf_add(b, S(":{}"));
        return;
    }
    buf_add(b, S(":{"));
    put_iban(b, m->iban);
    buf_add(b, S(",\"generated_from\":{\"charge\":null,\"setup_attempt\":null}}"));
}

void sb_put_paid_by(struct work *w, struct buf *b, const struct charge *c, const char *type)
{
    struct method m;

    buf_add(b, S(",\"payment_method_details\":{"));
    buf_json(b, str_of(type));
    buf_add(b, S(":{"));
    if (render_methods_is(type, "sepa_debit") &&
        work_ok(w, sb_method_read(w->tx, c->payment_method, &m))) {
        put_iban(b, m.iban);
        buf_add(b, S(",\"mandate\":null"));
    }
    sb_put_text(b, S("},\"type\":"), str_of(type));
    buf_char(b, '}');
}

/* --- refunds --- */

void sb_put_destination(struct buf *b, const char *type)
{
    if (render_methods_is(type, "card"))
        buf_add(b, S("{\"card\":{\"reference_status\":\"pending\",\"reference_type\":"
                     "\"acquirer_reference_number\",\"type\":\"refund\"},\"type\":\"card\"}"));
    else if (render_methods_is(type, "konbini") || render_methods_is(type, "customer_balance"))
        buf_add(b, S("{\"jp_bank_transfer\":{\"reference\":null,\"reference_status\":null},"
                     "\"type\":\"jp_bank_transfer\"}"));
    else if (render_methods_is(type, "sepa_debit"))
        buf_add(b, S("{\"sepa_bank_transfer\":{},\"type\":\"sepa_bank_transfer\"}"));
    else
        buf_add(b, S("{\"paypay\":{},\"type\":\"paypay\"}"));
}
