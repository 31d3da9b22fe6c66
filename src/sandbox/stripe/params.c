/* params.c - reads parameters from the form. A wrong one is rejected with Stripe's own words. */
#include "base/json/json.h"
#include "base/limits.h"
#include "sandbox/stripe/call.h"
#include "sandbox/webhook/hooks.h"

#include <stdio.h>
#include <string.h>

static size_t params_characters(struct str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

/* --- scalars --- */

bool param_text(struct stripe_call *v, const char *name, size_t most, struct param *ret)
{
    const struct form *f = form_get(&v->form, str_of(name));

    *ret = (struct param){ 0 };
    if (!f)
        return true;
    if (!f->has_value)
        return stripe_reject_invalid(v, "parameter_invalid_string", name,
                                     "Invalid string: %s has fields.", name);
    if (params_characters(f->value) > most)
        return stripe_reject_invalid(v, "parameter_invalid_string_length", name,
                                     "Invalid string: %s must be at most %zu characters.", name,
                                     most);
    *ret = (struct param){ .has = true, .text = f->value };
    return true;
}

bool param_number(struct stripe_call *v, const char *name, struct param *ret)
{
    if (!param_text(v, name, LIMIT_SANDBOX_TEXT, ret))
        return false;
    if (ret->has && !str_to_i64(ret->text, &ret->number))
        return stripe_reject_invalid(v, "parameter_invalid_integer", name, "Invalid integer: %.*s",
                                     (int)(ret->text.n < 100 ? ret->text.n : 100), ret->text.p);
    return true;
}

bool param_flag(struct stripe_call *v, const char *name, bool *ret)
{
    struct param t;

    if (!param_text(v, name, LIMIT_SANDBOX_TEXT, &t))
        return false;
    if (!t.has)
        return true;
    *ret = str_eq(t.text, S("true"));
    if (*ret || str_eq(t.text, S("false")) || !t.text.n)
        return true;
    return stripe_reject_invalid(v, "parameter_invalid_boolean", name, "Invalid boolean: %.*s",
                                 (int)(t.text.n < 100 ? t.text.n : 100), t.text.p);
}

bool param_choice(struct stripe_call *v, const char *name, const char *choices, struct param *ret)
{
    struct str rest = str_of(choices);

    if (!param_text(v, name, LIMIT_SANDBOX_TEXT, ret))
        return false;
    if (!ret->has || !ret->text.n)
        return true;
    while (rest.n)
        if (str_eq(str_cut(&rest, '|'), ret->text))
            return true;
    return stripe_reject_invalid(v, NULL, name, "Invalid %s: must be one of %s", name, choices);
}

/* --- metadata --- */

/* Writes a pair. An empty value removes the name. */
static void put_pair(struct buf *b, size_t *count, struct str name, struct str value)
{
    if (!value.n)
        return;
    if ((*count)++)
        buf_char(b, ',');
    buf_json(b, name);
    buf_char(b, ':');
    buf_json(b, value);
}

/* Writes the stored pairs that the form does not name. */
static bool put_stored_pairs(struct stripe_call *v, struct buf *b, size_t *count,
                             const struct form *f, struct str old)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    const cJSON *x;

    if (str_eq(old, S("{}")))
        return true;
    if (!work_ok(&v->w, json_parse(old, &tree, NULL)))
        return false;
    cJSON_ArrayForEach(x, tree)
    {
        if (!form_get(f, str_of(x->string)))
            put_pair(b, count, str_of(x->string), str_of(x->valuestring));
    }
    return true;
}

static bool check_metadata(struct stripe_call *v, const struct form *f)
{
    if (f->has_value && f->value.n)
        return stripe_reject_invalid(v, NULL, "metadata",
                                     "Invalid object: metadata must have fields.");
    for (const struct form *x = f->first; x; x = x->next) {
        if (!x->has_value)
            return stripe_reject_invalid(v, NULL, "metadata", "Metadata values can not be nested.");
        if (params_characters(x->name) > LIMIT_SANDBOX_METADATA_NAME)
            return stripe_reject_invalid(v, NULL, "metadata",
                                         "Metadata keys can have up to %d characters.",
                                         LIMIT_SANDBOX_METADATA_NAME);
        if (params_characters(x->value) > LIMIT_SANDBOX_METADATA_VALUE)
            return stripe_reject_invalid(v, NULL, "metadata",
                                         "Metadata values can have up to %d characters.",
                                         LIMIT_SANDBOX_METADATA_VALUE);
    }
    return true;
}

bool param_metadata(struct stripe_call *v, struct str *metadata)
{
    const struct form *f = form_get(&v->form, S("metadata"));
    size_t count = 0;
    struct buf b;

    if (!f)
        return true;
    if (!check_metadata(v, f))
        return false;
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    buf_char(&b, '{');
    if (!f->has_value && !put_stored_pairs(v, &b, &count, f, *metadata)) {
        buf_release(&b);
        return false;
    }
    for (const struct form *x = f->first; x; x = x->next)
        put_pair(&b, &count, x->name, x->value);
    buf_char(&b, '}');
    *metadata = work_text_of(&v->w, &b);
    if (count > LIMIT_SANDBOX_METADATA)
        return stripe_reject_invalid(v, NULL, "metadata", "You can only have %d keys in metadata.",
                                     LIMIT_SANDBOX_METADATA);
    return !v->w.err;
}

/* --- addresses --- */

static void put_field(struct buf *b, const struct form *f, const char *name, const char *before)
{
    const struct form *x = form_get(f, str_of(name));

    buf_add(b, str_of(before));
    buf_json(b, str_of(name));
    sb_put_text(b, S(":"), x && x->has_value ? x->value : S(""));
}

static void put_place(struct buf *b, const struct form *address)
{
    static const char *const names[] = {
        "city", "country", "line1", "line2", "postal_code", "state"
    };

    for (size_t i = 0; i < COUNT(names); i++)
        put_field(b, address, names[i], i ? "," : "{");
    buf_char(b, '}');
}

static void put_address(struct buf *b, const struct form *f)
{
    buf_add(b, S("{\"address\":"));
    put_place(b, form_get(f, S("address")));
}

bool param_address(struct stripe_call *v, struct str *address)
{
    const struct form *f = form_get(&v->form, S("address"));
    struct buf b;

    if (!f)
        return true;
    if (f->has_value && f->value.n)
        return stripe_reject_invalid(v, NULL, "address",
                                     "Invalid object: address must have fields.");
    *address = S("");
    if (f->has_value)
        return true;
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    put_place(&b, f);
    *address = work_text_of(&v->w, &b);
    return !v->w.err;
}

bool param_shipping(struct stripe_call *v, struct str *shipping)
{
    const struct form *f = form_get(&v->form, S("shipping"));
    struct buf b;

    if (!f)
        return true;
    if (f->has_value && f->value.n)
        return stripe_reject_invalid(v, NULL, "shipping",
                                     "Invalid object: shipping must have fields.");
    *shipping = S("");
    if (f->has_value)
        return true;
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    put_address(&b, f);
    put_field(&b, f, "carrier", ",");
    put_field(&b, f, "name", ",");
    put_field(&b, f, "phone", ",");
    put_field(&b, f, "tracking_number", ",");
    buf_char(&b, '}');
    *shipping = work_text_of(&v->w, &b);
    return !v->w.err;
}

bool param_billing(struct stripe_call *v, const struct form *f, struct str *billing)
{
    struct buf b;

    f = form_get(f, S("billing_details"));
    if (!f)
        return true;
    if (f->has_value)
        return stripe_reject_invalid(v, NULL, "billing_details",
                                     "Invalid object: it must have fields.");
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    put_address(&b, f);
    put_field(&b, f, "email", ",");
    put_field(&b, f, "name", ",");
    put_field(&b, f, "phone", ",");
    put_field(&b, f, "tax_id", ",");
    buf_char(&b, '}');
    *billing = work_text_of(&v->w, &b);
    return !v->w.err;
}

/* --- lists --- */

bool param_page(struct stripe_call *v, struct list_page *page)
{
    struct param limit, after, before;

    if (!param_number(v, "limit", &limit) ||
        !param_text(v, "starting_after", LIMIT_SANDBOX_TEXT, &after) ||
        !param_text(v, "ending_before", LIMIT_SANDBOX_TEXT, &before))
        return false;
    if (limit.has && (limit.number < 1 || limit.number > LIMIT_SANDBOX_PAGE))
        return stripe_reject_invalid(v, "parameter_invalid_integer", "limit",
                                     "This value must be between 1 and %d.", LIMIT_SANDBOX_PAGE);
    if (after.text.n && before.text.n)
        return stripe_reject_invalid(
            v, "parameters_exclusive", "starting_after",
            "You may only specify one of starting_after and ending_before.");
    page->limit = limit.has ? limit.number : 10;
    page->backwards = before.text.n > 0;
    if (after.text.n && (!page->below.n || str_cmp(after.text, page->below) < 0))
        page->below = after.text;
    if (before.text.n && str_cmp(before.text, page->above) > 0)
        page->above = before.text;
    return true;
}

static void params_raise(struct str *bound, struct str id)
{
    if (str_cmp(id, *bound) > 0)
        *bound = id;
}

static void params_lower(struct str *bound, struct str id)
{
    if (str_cmp(id, *bound) < 0)
        *bound = id;
}

static struct str first_id_at_second(struct stripe_call *v, const char *prefix, int64_t s)
{
    int64_t ms = s < INT64_MAX / 1000 ? s * 1000 : INT64_MAX;

    if (strcmp(prefix, ID_EVENT) == 0)
        return sb_event_first_at(&v->w, ms);
    return sb_id_first_at(&v->w, prefix, ms);
}

/* Timestamps are whole seconds: an object created at s was made within the second that begins at
 * s. */
static bool bound_created(struct stripe_call *v, const char *prefix, struct str how,
                          struct str text, struct list_page *page)
{
    int64_t s;

    if (!str_to_i64(text, &s) || s < 0 || s > INT64_MAX / 1000)
        return stripe_reject_invalid(v, "parameter_invalid_integer", "created",
                                     "Invalid timestamp");
    if (str_eq(how, S("gte")) || !how.n)
        params_raise(&page->above, first_id_at_second(v, prefix, s));
    if (str_eq(how, S("gt")))
        params_raise(&page->above, first_id_at_second(v, prefix, s + 1));
    if (str_eq(how, S("lt")))
        params_lower(&page->below, first_id_at_second(v, prefix, s));
    if (str_eq(how, S("lte")) || !how.n)
        params_lower(&page->below, first_id_at_second(v, prefix, s + 1));
    return true;
}

bool param_created(struct stripe_call *v, const char *prefix, struct list_page *page)
{
    const struct form *f = form_get(&v->form, S("created"));

    if (f && f->has_value)
        return bound_created(v, prefix, S(""), f->value, page);
    for (const struct form *x = f ? f->first : NULL; x; x = x->next)
        if (!bound_created(v, prefix, x->name, x->value, page))
            return false;
    return true;
}

/* A path that cannot be expanded is ignored, not rejected: its value is null or an id anyway. */
unsigned param_expand(struct stripe_call *v, const struct expansion *known, size_t n)
{
    const struct form *f = form_get(&v->form, S("expand"));
    unsigned expand = 0;

    for (const struct form *x = f ? f->first : NULL; x; x = x->next) {
        struct str path = x->value;

        if (str_starts(path, S("data.")))
            path = (struct str){ path.p + 5, path.n - 5 };
        for (size_t i = 0; i < n; i++)
            if (str_eq(path, str_of(known[i].path)))
                expand |= known[i].expand;
    }
    return expand;
}
