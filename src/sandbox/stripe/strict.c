/* strict.c - POST /_sandbox/strict {"on": true}: the sandbox checks parameters as Stripe does.
 *
 *   (1) A parameter that Stripe does not know: 400 parameter_unknown.
 *   (2) payment_method_types in an API version that no longer has it: 400.
 *
 * The table lists what Stripe knows, whether or not the sandbox uses it. "a(b c)" means that a has
 * the fields b and c only; "a" alone may have any. Indexes of an array are skipped. */
#include "base/limits.h"
#include "sandbox/control/control.h"
#include "sandbox/stripe/call.h"

#include <stdio.h>
#include <string.h>

enum { UNKNOWN, OFF, ON }; /* values of sandbox.strict; UNKNOWN: not read yet */
enum { PATH_MAX_CHARS = 256 };

#define FIRST_WITHOUT_TYPES "2026-09-30.endive"

/* --- the known parameters --- */

#define PAGE "limit starting_after ending_before "
#define CREATED "created(gt gte lt lte) "
#define ADDRESS "address(city country line1 line2 postal_code state)"
#define SHIPPING "shipping(" ADDRESS " carrier name phone tracking_number) "
#define BILLING "billing_details(" ADDRESS " email name phone tax_id) "
#define METHOD                                                                                     \
    "type " BILLING "allow_redisplay metadata radar_options card konbini paypay customer_balance " \
    "sepa_debit(iban) "
#define INTENT                                                                                     \
    "amount currency allowed_payment_method_types amount_details application_fee_amount "          \
    "capture_method customer customer_account description excluded_payment_method_types hooks "    \
    "metadata payment_details payment_method payment_method_configuration "                        \
    "payment_method_data(" METHOD ") payment_method_options payment_method_types receipt_email "   \
    "setup_future_usage " SHIPPING "statement_descriptor statement_descriptor_suffix "             \
    "transfer_data transfer_group "
#define CONFIRM                                                                                    \
    "confirmation_token error_on_requires_action mandate mandate_data off_session radar_options "  \
    "return_url use_stripe_sdk "
#define PRICE                                                                                      \
    "active billing_scheme currency currency_options custom_unit_amount lookup_key metadata "      \
    "nickname product product_data recurring tax_behavior tiers tiers_mode transfer_lookup_key "   \
    "transform_quantity unit_amount unit_amount_decimal "
#define PRODUCT                                                                                    \
    "id name active default_price default_price_data description images marketing_features "       \
    "metadata package_dimensions shippable statement_descriptor tax_code type unit_label url "
#define CUSTOMER                                                                                   \
    ADDRESS " balance cash_balance default_source description email invoice_prefix "               \
            "invoice_settings metadata name next_invoice_sequence payment_method phone "           \
            "preferred_locales " SHIPPING "source tax tax_exempt tax_id_data test_clock "

static const struct {
    const char *method, *path, *names;
} known[] = {
    { "POST", "/v1/payment_intents",
      INTENT CONFIRM "automatic_payment_methods(enabled allow_redirects) confirm "
                     "confirmation_method on_behalf_of " },
    { "POST", "/v1/payment_intents/{id}", INTENT },
    { "POST", "/v1/payment_intents/{id}/confirm",
      CONFIRM "amount_details allowed_payment_method_types capture_method "
              "excluded_payment_method_types hooks payment_details payment_method "
              "payment_method_data(" METHOD ") payment_method_options payment_method_types "
              "receipt_email setup_future_usage " SHIPPING },
    { "POST", "/v1/payment_intents/{id}/capture",
      "amount_details amount_to_capture application_fee_amount final_capture hooks metadata "
      "payment_details statement_descriptor statement_descriptor_suffix transfer_data" },
    { "POST", "/v1/payment_intents/{id}/cancel", "cancellation_reason" },
    { "GET", "/v1/payment_intents", PAGE CREATED "customer customer_account" },
    { "GET", "/v1/payment_intents/{id}", "client_secret" },
    { "POST", "/v1/refunds",
      "amount charge currency customer instructions_email metadata origin payment_intent reason "
      "refund_application_fee reverse_transfer" },
    { "GET", "/v1/refunds", PAGE CREATED "charge payment_intent" },
    { "POST", "/v1/refunds/{id}", "metadata" },
    { "GET", "/v1/charges", PAGE CREATED "customer payment_intent transfer_group" },
    { "POST", "/v1/payment_methods", METHOD "customer customer_account payment_method" },
    { "POST", "/v1/products", PRODUCT },
    { "POST", "/v1/products/{id}", PRODUCT },
    { "GET", "/v1/products", PAGE CREATED "active ids shippable url" },
    { "POST", "/v1/prices", PRICE },
    { "POST", "/v1/prices/{id}", PRICE },
    { "GET", "/v1/prices", PAGE CREATED "active currency lookup_keys product recurring type" },
    { "POST", "/v1/checkout/sessions",
      "adaptive_pricing after_expiration allow_promotion_codes allowed_payment_method_types "
      "automatic_tax billing_address_collection cancel_url client_reference_id "
      "consent_collection currency custom_fields custom_text customer customer_account "
      "customer_creation customer_email customer_update discounts "
      "excluded_payment_method_types expires_at invoice_creation line_items(adjustable_quantity "
      "dynamic_tax_rates metadata price price_data(" PRICE ") quantity tax_rates) locale metadata "
      "mode name_collection optional_items origin_context payment_intent_data("
      "application_fee_amount capture_method description metadata on_behalf_of receipt_email "
      "setup_future_usage " SHIPPING "statement_descriptor statement_descriptor_suffix "
      "transfer_data transfer_group) payment_method_collection payment_method_configuration "
      "payment_method_data payment_method_options payment_method_types permissions "
      "phone_number_collection redirect_on_completion return_url saved_payment_method_options "
      "setup_intent_data shipping_address_collection shipping_options submit_type "
      "subscription_data success_url tax_id_collection ui_mode wallet_options" },
    { "POST", "/v1/checkout/sessions/{id}", "collected_information metadata shipping_options" },
    { "GET", "/v1/checkout/sessions",
      PAGE CREATED "customer customer_account customer_details payment_intent payment_link status "
                   "subscription" },
    { "GET", "/v1/checkout/sessions/{id}/line_items", PAGE },
    { "POST", "/v1/payment_pages/{id}/confirm", "payment_method expected_amount eid key" },
    { "GET", "/v1/disputes", PAGE CREATED "charge payment_intent" },
    { "POST", "/v1/disputes/{id}", "evidence metadata submit" },
    { "GET", "/v1/events", PAGE CREATED "delivery_success type types" },
    { "POST", "/v1/events/{id}/retry", "for_stripecli webhook_endpoint" },
    { "POST", "/v1/webhook_endpoints",
      "api_version connect description enabled_events metadata url" },
    { "POST", "/v1/webhook_endpoints/{id}", "description disabled enabled_events metadata url" },
    { "GET", "/v1/webhook_endpoints", PAGE },
    { "POST", "/v1/customers", CUSTOMER },
    { "POST", "/v1/customers/{id}", CUSTOMER },
    { "GET", "/v1/customers", PAGE CREATED "email test_clock" },
    { "POST", "/v1/test_helpers/customers/{id}/fund_cash_balance", "amount currency reference" },
    { "POST", "/v1/stripecli/sessions",
      "device_name forward_connect_to_url forward_thin_connect_to_url forward_thin_to_url "
      "forward_to_url websocket_features" },
};

static const char *known_names(const struct stripe_operation *op)
{
    for (size_t i = 0; i < COUNT(known); i++)
        if (strcmp(op->method, known[i].method) == 0 && strcmp(op->path, known[i].path) == 0)
            return known[i].names;
    return "";
}

/* --- lookup --- */

/* Cuts the next name off the list, and its fields without their parentheses. */
static bool next_name(struct str *rest, struct str *ret_name, struct str *ret_fields)
{
    size_t n = 0, depth = 0;

    *rest = str_trim(*rest);
    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '(')
        n++;
    *ret_name = (struct str){ rest->p, n };
    *ret_fields = (struct str){ rest->p + n, 0 };
    if (n < rest->n && rest->p[n] == '(') {
        size_t from = n + 1;

        do
            depth += rest->p[n] == '(' ? 1 : rest->p[n] == ')' ? (size_t)-1 : 0;
        while (++n < rest->n && depth);
        *ret_fields = (struct str){ rest->p + from, n - 1 - from };
    }
    *rest = (struct str){ rest->p + n, rest->n - n };
    return ret_name->n;
}

static bool find_name(struct str names, struct str name, struct str *ret_fields)
{
    struct str one;

    while (next_name(&names, &one, ret_fields))
        if (str_eq(one, name))
            return true;
    return false;
}

static bool is_index(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] < '0' || name.p[i] > '9')
            return false;
    return true;
}

struct strict_search {
    char path[PATH_MAX_CHARS]; /* "shipping[address][town]" */
};

/* Recursion ends at the form's own limit of depth. */
static bool all_known(const struct form *f, struct str names, struct strict_search *s, size_t used)
{
    for (const struct form *x = f->first; x; x = x->next) {
        struct str fields = { 0 };
        int n = snprintf(s->path + used, sizeof(s->path) - used, used ? "[%.*s]" : "%.*s",
                         (int)(x->name.n < 100 ? x->name.n : 100), x->name.p);
        size_t end = used + (size_t)n < sizeof(s->path) ? used + (size_t)n : sizeof(s->path) - 1;

        if (!used && str_eq(x->name, S("expand")))
            continue;
        if (used && is_index(x->name))
            fields = names;
        else if (!find_name(names, x->name, &fields))
            return false;
        if (fields.n && !all_known(x, fields, s, end))
            return false;
    }
    return true;
}

/* --- the rules --- */

static bool types_are_gone(const struct stripe_call *v)
{
    struct str version = request_header(v->request, S("Stripe-Version"), NULL);
    const char *path = v->op->path;

    return form_get(&v->form, S("payment_method_types")) && version.n &&
           str_cmp(version, S(FIRST_WITHOUT_TYPES)) >= 0 &&
           (strncmp(path, "/v1/payment_intents", 19) == 0 ||
            strcmp(path, "/v1/checkout/sessions") == 0);
}

static bool strict_check(struct stripe_call *v)
{
    struct strict_search s = { { 0 } };

    if (strchr(v->op->path, '*')) /* an unknown path; the operation answers 404 */
        return true;
    if (!all_known(&v->form, str_of(known_names(v->op)), &s, 0))
        return stripe_reject_invalid(v, "parameter_unknown", s.path,
                                     "Received unknown parameter: %s", s.path);
    return !types_are_gone(v) ||
           stripe_reject_invalid(
               v, "payment_method_types_no_longer_supported", "payment_method_types",
               "`payment_method_types` is no longer supported as of API "
               "version " FIRST_WITHOUT_TYPES ". Use `allowed_payment_method_types` instead.");
}

/* --- the switch --- */

static bool strict_load(struct stripe_call *v)
{
    struct row row;
    enum err e = TX_ROW(v->w.tx, STMT_sandbox_mark_read, &row, V_TEXT(S("strict")));

    if (e && e != ERR_NOT_FOUND)
        return work_ok(&v->w, e);
    atomic_store(&v->w.s->strict, !e && row.col[0].i ? ON : OFF);
    return true;
}

bool strict_allows(struct stripe_call *v)
{
    if (atomic_load(&v->w.s->strict) == UNKNOWN && !strict_load(v))
        return false;
    return atomic_load(&v->w.s->strict) == OFF || strict_check(v);
}

static void strict_switched(void *ctx, int64_t to)
{
    struct sandbox *s = ctx;

    atomic_store(&s->strict, (int)to);
}

static enum err write_strict(struct act *a, struct work *w, bool on)
{
    a->json = work_text(w, "{\"on\":%s}\n", on ? "true" : "false");
    return w->err;
}

static enum err strict_set(struct act *a, struct work *w)
{
    enum err e = TX_DO(w->tx, STMT_sandbox_mark_write, 1, V_TEXT(S("strict")), V_INT(a->number));

    if (e)
        return e;
    tx_after_commit(w->tx, strict_switched, w->s, a->number ? ON : OFF);
    return write_strict(a, w, a->number);
}

static enum err strict_show(struct act *a, struct work *w)
{
    struct row row;
    enum err e = TX_ROW(w->tx, STMT_sandbox_mark_read, &row, V_TEXT(S("strict")));

    return e && e != ERR_NOT_FOUND ? e : write_strict(a, w, !e && row.col[0].i);
}

void control_strict(struct request *r, void *sandbox)
{
    act_post(r, sandbox, &(struct act){ .run = strict_show }, true);
}

void control_set_strict(struct request *r, void *sandbox)
{
    static const char *const names[] = { "on" };
    struct act a = { .run = strict_set };
    struct control_body in;
    bool on = false;

    if (!control_body_begin(&in, r, names, COUNT(names)))
        return;
    json_get_bool(in.body, "on", true, &on, &in.problems);
    a.number = on;
    if (control_body_end(&in, r))
        act_post(r, sandbox, &a, false);
}
