/* webhook_endpoints.c - /v1/webhook_endpoints: receivers besides the one of the settings. The
 * secret is in the answer to the create call only. */
#include "base/limits.h"
#include "sandbox/page/page.h"
#include "sandbox/stripe/call.h"
#include "sandbox/webhook/hooks.h"

#include <string.h>

enum { SECRET_DIGITS = 32, DESCRIPTION_MAX = 5000, VERSION_MAX = 100, TYPE_MAX = 100 };

static struct str hook_json(struct work *w, const struct hook *h, bool with_secret)
{
    struct buf b;

    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    sb_put_text(&b, S("{\"id\":"), h->id);
    sb_put_text(&b, S(",\"object\":\"webhook_endpoint\",\"api_version\":"), h->api_version);
    sb_put_time(&b, S(",\"application\":null,\"created\":"), h->created_ms);
    sb_put_text(&b, S(",\"description\":"), h->description);
    sb_put_raw(&b, S(",\"enabled_events\":"), h->events);
    sb_put_raw(&b, S(",\"livemode\":false,\"metadata\":"), h->metadata);
    if (with_secret)
        sb_put_text(&b, S(",\"secret\":"), h->secret);
    buf_add(&b, h->disabled ? S(",\"status\":\"disabled\"") : S(",\"status\":\"enabled\""));
    sb_put_text(&b, S(",\"url\":"), h->url);
    buf_char(&b, '}');
    return work_text_of(w, &b);
}

static bool stripe_read_hook(struct stripe_call *v, struct hook *ret)
{
    enum err e = sb_hook_read(v->w.tx, v->id, ret);

    if (e == ERR_NOT_FOUND)
        return stripe_reject_missing(v, 404, "webhook endpoint", v->id, "webhook_endpoint");
    return work_ok(&v->w, e);
}

/* --- parameters --- */

static bool is_type(struct str s)
{
    if (str_eq(s, S("*")))
        return true;
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] < 'a' || s.p[i] > 'z') && (s.p[i] < '0' || s.p[i] > '9') && s.p[i] != '_' &&
            s.p[i] != '.')
            return false;
    return s.n && s.n <= TYPE_MAX && memchr(s.p, '.', s.n);
}

static bool check_types(struct stripe_call *v, const struct form *f)
{
    if (!f->first || f->count > LIMIT_SANDBOX_TYPES)
        return stripe_reject_invalid(v, NULL, "enabled_events", "Invalid array");
    for (const struct form *x = f->first; x; x = x->next)
        if (!is_type(x->value))
            return stripe_reject_invalid(
                v, NULL, "enabled_events",
                "Invalid enabled_events: %.*s is not the type of an event.",
                (int)(x->value.n < 100 ? x->value.n : 100), x->value.p);
    return true;
}

static bool take_types(struct stripe_call *v, bool required, struct hook *h)
{
    const struct form *f = form_get(&v->form, S("enabled_events"));
    struct buf b;

    if (!f)
        return !required || stripe_reject_invalid(v, "parameter_missing", "enabled_events",
                                                  "Missing required param: enabled_events.");
    if (!check_types(v, f))
        return false;
    buf_init(&b, LIMIT_SANDBOX_OBJECT);
    for (const struct form *x = f->first; x; x = x->next) {
        buf_char(&b, x == f->first ? '[' : ',');
        buf_json(&b, x->value);
    }
    buf_char(&b, ']');
    h->events = work_text_of(&v->w, &b);
    return !v->w.err;
}

static bool take_url(struct stripe_call *v, bool required, struct hook *h)
{
    struct param t;

    if (!param_text(v, "url", LIMIT_SANDBOX_TEXT, &t))
        return false;
    if (!t.has)
        return !required ||
               stripe_reject_invalid(v, "parameter_missing", "url", "Missing required param: url.");
    h->url = t.text;
    return page_is_url(t.text) ||
           stripe_reject_invalid(v, "url_invalid", "url",
                                 "Invalid URL: An explicit scheme (such as https) "
                                 "must be provided.");
}

static bool take_hook(struct stripe_call *v, bool required, struct hook *h)
{
    struct param description;

    if (!take_url(v, required, h) || !take_types(v, required, h) ||
        !param_text(v, "description", DESCRIPTION_MAX, &description) ||
        !param_metadata(v, &h->metadata))
        return false;
    if (description.has)
        h->description = description.text;
    return true;
}

static bool has_room(struct stripe_call *v)
{
    struct row row;

    if (!work_ok(&v->w, tx_row(v->w.tx, STMT_sandbox_hooks_count, NULL, 0, &row)))
        return false;
    return row.col[0].i < LIMIT_SANDBOX_ENDPOINTS ||
           stripe_reject_invalid(v, NULL, NULL,
                                 "You have reached the maximum of %d test webhook endpoints.",
                                 LIMIT_SANDBOX_ENDPOINTS);
}

/* --- the operations --- */

void hook_create(struct stripe_call *v)
{
    struct hook h = { .id = sb_id_new(&v->w, "we_1"),
                      .created_ms = v->w.now_ms,
                      .metadata = S("{}"),
                      .secret = sb_id_random(&v->w, "whsec_", SECRET_DIGITS) };
    struct param version;

    if (!take_hook(v, true, &h) || !param_text(v, "api_version", VERSION_MAX, &version) ||
        !has_room(v))
        return;
    h.api_version = version.text;
    v->w.s->no_endpoints = false;
    if (sb_hook_write(&v->w, &h))
        stripe_answer(v, hook_json(&v->w, &h, true));
}

void hook_update(struct stripe_call *v)
{
    struct hook h;

    if (!stripe_read_hook(v, &h) || !take_hook(v, false, &h) ||
        !param_flag(v, "disabled", &h.disabled))
        return;
    v->w.s->no_endpoints = false;
    if (sb_hook_write(&v->w, &h))
        stripe_answer(v, hook_json(&v->w, &h, false));
}

void hook_retrieve(struct stripe_call *v)
{
    struct hook h;

    if (stripe_read_hook(v, &h))
        stripe_answer(v, hook_json(&v->w, &h, false));
}

void hook_delete(struct stripe_call *v)
{
    struct str id = v->id;
    struct hook h;

    if (!stripe_read_hook(v, &h) ||
        !work_ok(&v->w, TX_DO(v->w.tx, STMT_sandbox_hook_delete, 1, V_TEXT(id))))
        return;
    stripe_answer(v, work_text(&v->w,
                               "{\"id\":\"" STR_FMT "\",\"object\":\"webhook_endpoint\","
                               "\"deleted\":true}",
                               STR_ARG(h.id)));
}

void hook_list(struct stripe_call *v)
{
    struct list_page page = { .above = S("we_"), .below = S("we_~") };
    struct hook *h = NULL;
    struct str *objects;

    if (!param_page(v, &page) || !sb_hook_page(&v->w, &page, &h))
        return;
    objects = stripe_list_objects(v, page.count);
    if (!objects)
        return;
    for (size_t i = 0; i < page.count; i++)
        objects[i] = hook_json(&v->w, &h[i], false);
    stripe_answer_list(v, "/v1/webhook_endpoints", &page, objects);
}
