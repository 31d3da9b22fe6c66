/* catalog.c - /v1/products and /v1/prices. */
#include "sandbox/stripe/catalog.h"

#include "base/limits.h"

enum { NAME_MAX_CHARS = 5000 };

/* --- products --- */

static bool take_product(struct stripe_call *v, bool required, struct product *p)
{
    struct param name, description;

    if (!param_text(v, "name", NAME_MAX_CHARS, &name) ||
        !param_text(v, "description", LIMIT_SANDBOX_TEXT, &description) ||
        !param_flag(v, "active", &p->active) || !param_metadata(v, &p->metadata))
        return false;
    if ((required || name.has) && !name.text.n)
        return stripe_reject_invalid(v, "parameter_missing", "name",
                                     "Missing required param: name.");
    if (name.has)
        p->name = name.text;
    if (description.has)
        p->description = description.text;
    return true;
}

static bool product_new(struct stripe_call *v, struct product *p)
{
    *p = (struct product){ .id = sb_id_new(&v->w, "prod_"),
                           .created_ms = v->w.now_ms,
                           .active = true,
                           .metadata = S("{}") };
    return take_product(v, true, p) && sb_product_write(&v->w, p);
}

void product_create(struct stripe_call *v)
{
    struct product p;
    struct str object;

    if (!product_new(v, &p))
        return;
    object = sb_product_json(&v->w, &p);
    if (work_emit(&v->w, "product.created", object, S("")))
        stripe_answer(v, object);
}

static bool stripe_read_product(struct stripe_call *v, struct product *ret)
{
    enum err e = sb_product_read(v->w.tx, v->id, ret);

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 404, "product", v->id, "id");
    return work_ok(&v->w, e);
}

void product_update(struct stripe_call *v)
{
    struct product p;

    if (stripe_read_product(v, &p) && take_product(v, false, &p) && sb_product_write(&v->w, &p))
        stripe_answer(v, sb_product_json(&v->w, &p));
}

void product_retrieve(struct stripe_call *v)
{
    struct product p;

    if (stripe_read_product(v, &p))
        stripe_answer(v, sb_product_json(&v->w, &p));
}

static bool take_active(struct stripe_call *v, struct list_page *page)
{
    bool active = false;

    if (!param_flag(v, "active", &active))
        return false;
    if (form_get(&v->form, S("active")))
        page->filter[0] = active ? S("1") : S("0");
    return true;
}

void product_list(struct stripe_call *v)
{
    struct list_page page = { .above = S("prod_"), .below = S("prod_~") };
    struct product *p = NULL;
    struct str *objects;

    if (!take_active(v, &page) || !param_created(v, "prod_", &page) || !param_page(v, &page) ||
        !sb_product_page(&v->w, &page, &p))
        return;
    objects = stripe_list_objects(v, page.count);
    if (!objects)
        return;
    for (size_t i = 0; i < page.count; i++)
        objects[i] = sb_product_json(&v->w, &p[i]);
    stripe_answer_list(v, "/v1/products", &page, objects);
}

/* --- prices --- */

static const struct expansion expansions[] = { { "product", EXPAND_PRODUCT } };

static bool take_unit_amount(struct stripe_call *v, struct price *p)
{
    struct param t;

    if (!param_number(v, "unit_amount", &t))
        return false;
    if (!t.has)
        return stripe_reject_invalid(v, "parameter_missing", "unit_amount",
                                     "Missing required param: unit_amount.");
    if (t.number < 0 || t.number > LIMIT_SANDBOX_AMOUNT_MOST)
        return stripe_reject_invalid(v, "parameter_invalid_integer", "unit_amount",
                                     "This value must be between 0 and %d.",
                                     LIMIT_SANDBOX_AMOUNT_MOST);
    p->unit_amount = t.number;
    return true;
}

static bool take_product_data(struct stripe_call *v, void *ctx)
{
    struct price *price = ctx;
    struct product p;

    if (!product_new(v, &p))
        return false;
    price->product = p.id;
    return true;
}

/* An existing product, or product_data for a new one. */
static bool take_price_product(struct stripe_call *v, struct price *p)
{
    const struct form *data = form_get(&v->form, S("product_data"));
    struct param id;
    struct product known;
    enum err e;

    if (!param_text(v, "product", LIMIT_SANDBOX_TEXT, &id))
        return false;
    if (!id.text.n && !data)
        return stripe_reject_invalid(v, "parameter_missing", "product",
                                     "Missing required param: product.");
    if (!id.text.n)
        return param_within(v, data, take_product_data, p);
    e = sb_product_read(v->w.tx, id.text, &known);
    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 400, "product", id.text, "product");
    p->product = known.id;
    return work_ok(&v->w, e);
}

bool price_new(struct stripe_call *v, struct price *p)
{
    *p = (struct price){ .id = sb_id_new(&v->w, "price_1"),
                         .created_ms = v->w.now_ms,
                         .active = true,
                         .metadata = S("{}") };
    return param_currency(v, &p->currency) && take_unit_amount(v, p) && take_price_product(v, p);
}

static bool take_price_details(struct stripe_call *v, struct price *p)
{
    struct param nickname;

    if (!param_text(v, "nickname", LIMIT_SANDBOX_TEXT, &nickname) ||
        !param_flag(v, "active", &p->active) || !param_metadata(v, &p->metadata))
        return false;
    if (nickname.has)
        p->nickname = nickname.text;
    return true;
}

static void answer_price(struct stripe_call *v, const struct price *p)
{
    stripe_answer(v, sb_price_json(&v->w, p, param_expand(v, expansions, COUNT(expansions))));
}

void price_create(struct stripe_call *v)
{
    struct price p;

    if (price_new(v, &p) && take_price_details(v, &p) && sb_price_write(&v->w, &p) &&
        work_emit(&v->w, "price.created", sb_price_json(&v->w, &p, 0), S("")))
        answer_price(v, &p);
}

static bool stripe_read_price(struct stripe_call *v, struct price *ret)
{
    enum err e = sb_price_read(v->w.tx, v->id, ret);

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 404, "price", v->id, "price");
    return work_ok(&v->w, e);
}

void price_update(struct stripe_call *v)
{
    struct price p;

    if (stripe_read_price(v, &p) && take_price_details(v, &p) && sb_price_write(&v->w, &p))
        answer_price(v, &p);
}

void price_retrieve(struct stripe_call *v)
{
    struct price p;

    if (stripe_read_price(v, &p))
        answer_price(v, &p);
}

void price_list(struct stripe_call *v)
{
    unsigned expand = param_expand(v, expansions, COUNT(expansions));
    struct list_page page = { .above = S("price_1"), .below = S("price_1~") };
    struct price *p = NULL;
    struct param product;
    struct str *objects;

    if (!take_active(v, &page) || !param_text(v, "product", LIMIT_SANDBOX_TEXT, &product) ||
        !param_created(v, "price_1", &page) || !param_page(v, &page))
        return;
    page.filter[1] = product.text;
    if (!sb_price_page(&v->w, &page, &p))
        return;
    objects = stripe_list_objects(v, page.count);
    if (!objects)
        return;
    for (size_t i = 0; i < page.count; i++)
        objects[i] = sb_price_json(&v->w, &p[i], expand);
    stripe_answer_list(v, "/v1/prices", &page, objects);
}
