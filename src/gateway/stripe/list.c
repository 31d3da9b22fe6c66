/* list.c - reads one page of a list. Objects are cut out of the answer's text, so that each is kept
 * byte for byte. A page is retried with fewer objects where the answer was too large. */
#include "gateway/stripe/list.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "gateway/stripe/form.h"
#include "gateway/stripe/stripe.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stripe_lister {
    struct env *env;
    struct client *client;
    struct str base, bearer;
};

/* --- reading a page --- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Cuts the first object off *list. The text was scanned before, so its brackets and quotes match.
 * Empty: there is none. */
static struct str next_object(struct str *list)
{
    size_t i = 0, begins, depth = 0;
    bool quoted = false;
    struct str object;

    while (i < list->n && (is_blank(list->p[i]) || list->p[i] == ','))
        i++;
    begins = i;
    if (i == list->n || list->p[i] != '{')
        return (struct str){ 0 };
    do {
        char c = list->p[i++];

        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '['))
            depth++;
        else if (!quoted && (c == '}' || c == ']'))
            depth--;
    } while (depth && i < list->n);
    object = (struct str){ list->p + begins, i - begins };
    *list = (struct str){ list->p + i, list->n - i };
    return object;
}

static enum err stripe_list_refuse(struct stripe_page *p, const char *why)
{
    snprintf(p->why, sizeof(p->why), "%s", why);
    p->items = NULL;
    p->count = 0;
    return ERR_VALIDATION;
}

/* The id of the page's last object, after which the next page begins. */
static enum err read_last_id(struct stripe_page *p)
{
    static const char *const paths[] = { "id" };
    struct json_value id;

    if (!p->count)
        return p->has_more ? stripe_list_refuse(p, "the list does not say how it goes on") : OK;
    if (json_pick(p->items[p->count - 1], paths, 1, &id, NULL) || id.type != JSON_STRING ||
        id.has_escape || !id.raw.n || id.raw.n > LIMIT_GATEWAY_ID)
        return stripe_list_refuse(p, "an object of the list has no id");
    p->last_id = id.raw;
    return OK;
}

static enum err read_objects(struct stripe_page *p, struct str list)
{
    struct str object;

    list = (struct str){ list.p + 1, list.n - 2 }; /* without its brackets */
    p->items = arena_alloc(p->arena, LIMIT_LIST_PAGE, sizeof(*p->items));
    if (!p->items)
        return ERR_NO_MEMORY;
    while ((object = next_object(&list)).n) {
        if (p->count == LIMIT_LIST_PAGE)
            return stripe_list_refuse(p, "the page has more objects than were asked for");
        p->items[p->count++] = object;
    }
    for (size_t i = 0; i < list.n; i++)
        if (!is_blank(list.p[i]))
            return stripe_list_refuse(p, "the list has something else than objects");
    return read_last_id(p);
}

enum err stripe_page_parse(struct stripe_page *p, struct str text)
{
    static const char *const paths[] = { "object", "data", "has_more" };
    struct json_value v[COUNT(paths)];
    struct json_fault fault = { 0 };

    p->count = 0;
    p->last_id = (struct str){ 0 };
    if (json_pick(text, paths, COUNT(paths), v, &fault)) {
        snprintf(p->why, sizeof(p->why), "the answer is not JSON: %.100s",
                 fault.why ? fault.why : "?");
        return ERR_VALIDATION;
    }
    if (v[0].type != JSON_STRING || !str_eq(v[0].raw, S("list")) || v[1].type != JSON_ARRAY ||
        v[2].type != JSON_BOOL)
        return stripe_list_refuse(p, "the answer is no list");
    p->has_more = str_eq(v[2].raw, S("true"));
    return read_objects(p, v[1].raw);
}

/* --- judging an answer --- */

static void stripe_list_finish(struct stripe_page *p, enum err e)
{
    p->err = e;
    p->done(p);
}

static void stripe_list_ask(struct stripe_page *p);

/* The answer has too many fields, or is too long: fewer objects may fit. */
static bool try_smaller(struct stripe_page *p)
{
    if (p->limit == LIMIT_LIST_PAGE_LEAST)
        return false;
    p->limit = LIMIT_LIST_PAGE_LEAST;
    arena_rewind(p->arena, p->mark);
    stripe_list_ask(p);
    return true;
}

static struct str error_field(const cJSON *tree, const char *name)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(tree, "error");

    return str_of(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, name)));
}

/* resource_missing can only be about `after`. Stripe's message about a wrong key is not kept, since
 * it has a part of the key. */
static enum err judge_refusal(struct stripe_page *p)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    int status = p->call.status;
    struct str code;

    if (status == 401 || status == 403) {
        snprintf(p->why, sizeof(p->why), "status %d: it does not take our key", status);
        return ERR_GATEWAY;
    }
    json_parse(p->call.answer, &tree, NULL); /* NULL where it is none */
    code = utf8_cut_bytes(error_field(tree, "code"), 60);
    snprintf(p->why, sizeof(p->why), "status %d " STR_FMT, status, STR_ARG(code));
    if (p->after.n && (status == 400 || status == 404) && str_eq(code, S("resource_missing")))
        return ERR_NOT_FOUND;
    return ERR_GATEWAY;
}

static void stripe_list_answered(struct call *c)
{
    struct stripe_page *p = CONTAINER_OF(c, struct stripe_page, call);
    enum err e;

    if (c->result != CALL_ANSWERED) {
        if (c->status == 200 && try_smaller(p))
            return;
        snprintf(p->why, sizeof(p->why), "%.140s", c->why);
        stripe_list_finish(p, ERR_GATEWAY);
        return;
    }
    if (c->status != 200) {
        stripe_list_finish(p, judge_refusal(p));
        return;
    }
    e = stripe_page_parse(p, c->answer);
    if (e && !try_smaller(p))
        stripe_list_finish(p, ERR_GATEWAY);
    else if (!e)
        stripe_list_finish(p, OK);
}

/* --- asking --- */

static struct str url_of(struct stripe_page *p)
{
    struct str url = { 0 };
    struct buf b;

    buf_init(&b, LIMIT_GATEWAY_FORM);
    buf_add(&b, p->lister->base);
    buf_add(&b, p->path);
    form_int(&b, "limit", p->limit);
    if (p->after.n)
        form_add(&b, "starting_after", p->after);
    if (!b.failed)
        url = arena_str(p->arena, buf_str(&b));
    buf_release(&b);
    return url;
}

static void no_memory(struct task *t)
{
    struct stripe_page *p = CONTAINER_OF(t, struct stripe_page, call.back);

    snprintf(p->why, sizeof(p->why), "no memory");
    stripe_list_finish(p, ERR_GATEWAY);
}

static void stripe_list_ask(struct stripe_page *p)
{
    struct str url = url_of(p);

    p->call = (struct call){ .method = S("GET"),
                             .url = url,
                             .headers = p->headers,
                             .header_count = COUNT(p->headers),
                             .timeout_ms = LIMIT_GATEWAY_CALL_MS,
                             .answer_max = LIMIT_GATEWAY_ANSWER,
                             .arena = p->arena,
                             .executor = p->executor,
                             .done = stripe_list_answered };
    if (url.p) {
        client_call(p->lister->client, &p->call);
        return;
    }
    p->call.back = (struct task){ .run = no_memory };
    executor_post(p->executor, &p->call.back);
}

void stripe_page_read(struct stripe_lister *l, struct stripe_page *p)
{
    p->lister = l;
    p->limit = LIMIT_LIST_PAGE;
    p->mark = arena_mark(p->arena);
    p->why[0] = '\0';
    p->items = NULL;
    p->count = 0;
    p->has_more = false;
    p->last_id = (struct str){ 0 };
    p->headers[0] = (struct header){ S("Authorization"), l->bearer };
    p->headers[1] = (struct header){ S("Stripe-Version"), S(STRIPE_VERSION) };
    stripe_list_ask(p);
}

/* --- the lister --- */

void stripe_lister_free(struct stripe_lister *l)
{
    if (!l)
        return;
    if (l->bearer.p)
        OPENSSL_cleanse((char *)l->bearer.p, l->bearer.n);
    free((char *)l->bearer.p);
    free((char *)l->base.p);
    free(l);
}

static struct str stripe_list_join(const char *before, struct str s)
{
    char *text = NULL;
    int n = asprintf(&text, "%s" STR_FMT, before, STR_ARG(s));

    return n < 0 ? (struct str){ 0 } : (struct str){ text, (size_t)n };
}

struct stripe_lister *stripe_lister_new(const struct stripe_lister_options *o)
{
    struct stripe_lister *l = calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    *l = (struct stripe_lister){ .env = o->env,
                                 .client = o->client,
                                 .base = stripe_list_join("", o->base),
                                 .bearer = stripe_list_join("Bearer ", o->secret_key) };
    if (l->base.p && l->bearer.p)
        return l;
    stripe_lister_free(l);
    return NULL;
}
