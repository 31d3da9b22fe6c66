/* customers.c - /v1/customers and their cash balances. */
#include "sandbox/stripe/customers.h"

#include "base/limits.h"
#include "sandbox/stripe/call.h"

#include <stddef.h>

static struct str customer_json(struct work *w, const struct customer *c)
{
    struct buf b;

    if (c->deleted)
        return work_text(w, "{\"id\":\"" STR_FMT "\",\"object\":\"customer\",\"deleted\":true}",
                         STR_ARG(c->id));
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    sb_put_text(&b, S("{\"id\":"), c->id);
    sb_put_raw(&b, S(",\"object\":\"customer\",\"address\":"), c->address);
    sb_put_time(&b, S(",\"balance\":0,\"created\":"), c->created_ms);
    sb_put_text(&b,
                S(",\"currency\":null,\"customer_account\":null,\"default_source\":null,"
                  "\"delinquent\":false,\"description\":"),
                c->description);
    sb_put_text(&b, S(",\"discount\":null,\"email\":"), c->email);
    sb_put_raw(&b,
               S(",\"invoice_prefix\":\"SANDBOX\",\"invoice_settings\":{\"custom_fields\":null,"
                 "\"default_payment_method\":null,\"footer\":null,\"rendering_options\":null},"
                 "\"livemode\":false,\"metadata\":"),
               c->metadata);
    sb_put_text(&b, S(",\"name\":"), c->name);
    sb_put_text(&b, S(",\"next_invoice_sequence\":1,\"phone\":"), c->phone);
    sb_put_raw(&b, S(",\"preferred_locales\":[],\"shipping\":"), c->shipping);
    buf_add(&b, S(",\"tax_exempt\":\"none\",\"test_clock\":null}"));
    return work_text_of(w, &b);
}

static bool stripe_read_customer(struct stripe_call *v, bool alive, struct customer *ret)
{
    enum err e = sb_customer_read(v->w.tx, v->id, ret);

    if (e == ERR_NOT_FOUND || (!e && alive && ret->deleted))
        return stripe_reject_missing(v, 404, "customer", v->id, "id");
    return work_ok(&v->w, e);
}

static const struct {
    const char *name;
    size_t field, most;
} texts[] = {
    { "name", offsetof(struct customer, name), 256 },
    { "email", offsetof(struct customer, email), 512 },
    { "phone", offsetof(struct customer, phone), 20 },
    { "description", offsetof(struct customer, description), LIMIT_SANDBOX_TEXT },
};

static bool take_customer(struct stripe_call *v, struct customer *c)
{
    struct param t;

    for (size_t i = 0; i < COUNT(texts); i++) {
        if (!param_text(v, texts[i].name, texts[i].most, &t))
            return false;
        if (t.has)
            *(struct str *)(void *)((char *)c + texts[i].field) = t.text;
    }
    return param_address(v, &c->address) && param_shipping(v, &c->shipping) &&
           param_metadata(v, &c->metadata);
}

static void write_and_answer(struct stripe_call *v, const struct customer *c, const char *event)
{
    struct str object = customer_json(&v->w, c);

    if (sb_customer_write(&v->w, c) && work_emit(&v->w, event, object, S("")))
        stripe_answer(v, object);
}

void customer_create(struct stripe_call *v)
{
    struct customer c = { .id = sb_id_new(&v->w, "cus_"),
                          .created_ms = v->w.now_ms,
                          .metadata = S("{}") };

    if (take_customer(v, &c))
        write_and_answer(v, &c, "customer.created");
}

void customer_update(struct stripe_call *v)
{
    struct customer c;

    if (stripe_read_customer(v, true, &c) && take_customer(v, &c))
        write_and_answer(v, &c, "customer.updated");
}

void customer_retrieve(struct stripe_call *v)
{
    struct customer c;

    if (stripe_read_customer(v, false, &c))
        stripe_answer(v, customer_json(&v->w, &c));
}

/* A deleted customer keeps its row and its cash balance. */
void customer_delete(struct stripe_call *v)
{
    struct customer c;
    struct str whole;

    if (!stripe_read_customer(v, true, &c))
        return;
    whole = customer_json(&v->w, &c);
    c.deleted = true;
    if (sb_customer_write(&v->w, &c) && work_emit(&v->w, "customer.deleted", whole, S("")))
        stripe_answer(v, customer_json(&v->w, &c));
}

void customer_list(struct stripe_call *v)
{
    struct list_page page = { .above = S("cus_"), .below = S("cus_~") };
    struct customer *c = NULL;
    struct str *objects;
    struct param email;

    if (!param_text(v, "email", 512, &email) || !param_created(v, "cus_", &page) ||
        !param_page(v, &page))
        return;
    page.filter[0] = email.text;
    if (!sb_customer_page(&v->w, &page, &c))
        return;
    objects = stripe_list_objects(v, page.count);
    if (!objects)
        return;
    for (size_t i = 0; i < page.count; i++)
        objects[i] = customer_json(&v->w, &c[i]);
    stripe_answer_list(v, "/v1/customers", &page, objects);
}

/* --- money --- */

void customer_cash(struct stripe_call *v)
{
    struct customer c;

    if (stripe_read_customer(v, true, &c))
        stripe_answer(v, work_text(&v->w,
                                   "{\"object\":\"cash_balance\",\"available\":{\"jpy\":%lld},"
                                   "\"customer\":\"" STR_FMT "\",\"livemode\":false,\"settings\":{"
                                   "\"reconciliation_mode\":\"automatic\","
                                   "\"using_merchant_default\":true}}",
                                   (long long)c.cash, STR_ARG(c.id)));
}

static struct str arrival_json(struct work *w, const struct customer *c, int64_t amount,
                               struct str reference)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    sb_put_text(&b, S("{\"id\":"), sb_id_new(w, "ccsbtxn_1"));
    sb_put_time(&b, S(",\"object\":\"customer_cash_balance_transaction\",\"created\":"), w->now_ms);
    sb_put_text(&b, S(",\"currency\":\"jpy\",\"customer\":"), c->id);
    sb_put_number(&b, S(",\"customer_account\":null,\"ending_balance\":"), c->cash + amount);
    sb_put_text(&b,
                S(",\"funded\":{\"bank_transfer\":{\"jp_bank_transfer\":{\"sender_bank\":null,"
                  "\"sender_branch\":null,\"sender_name\":null},\"reference\":"),
                reference);
    sb_put_number(&b, S(",\"type\":\"jp_bank_transfer\"}},\"livemode\":false,\"net_amount\":"),
                  amount);
    buf_add(&b, S(",\"type\":\"funded\"}"));
    return work_text_of(w, &b);
}

static bool take_yen(struct stripe_call *v, int64_t *ret_amount)
{
    struct param amount;
    struct str currency;

    if (!param_number(v, "amount", &amount) || !param_currency(v, &currency))
        return false;
    if (!amount.has)
        return stripe_reject_invalid(v, "parameter_missing", "amount",
                                     "Missing required param: amount.");
    if (amount.number < 1 || amount.number > LIMIT_SANDBOX_AMOUNT_MOST)
        return stripe_reject_invalid(v, "parameter_invalid_integer", "amount",
                                     "This value must be between 1 and %d.",
                                     LIMIT_SANDBOX_AMOUNT_MOST);
    *ret_amount = amount.number;
    return str_eq(currency, S("jpy")) ||
           stripe_reject_invalid(v, NULL, "currency",
                                 "The sandbox has bank transfers in jpy only.");
}

/* POST /v1/test_helpers/customers/{id}/fund_cash_balance */
void customer_fund(struct stripe_call *v)
{
    struct param reference;
    struct customer c;
    struct str object;
    int64_t amount = 0;

    if (!stripe_read_customer(v, true, &c) || !take_yen(v, &amount) ||
        !param_text(v, "reference", LIMIT_SANDBOX_TEXT, &reference))
        return;
    object = arrival_json(&v->w, &c, amount, reference.text);
    if (work_emit(&v->w, "customer_cash_balance_transaction.created", object, S("")) &&
        sb_cash_add(&v->w, &c, amount))
        stripe_answer(v, object);
}
