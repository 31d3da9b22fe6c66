/* purchases.c - buying a position and letting it go; what one has bought.
 *
 *   who asks --> position or purchase, key and body, checked --> operate_begin() --> the answer
 *
 * The operations are those of payments.c, with the subject around the payment. */
#include "api/purchases.h"

#include "api/payment_input.h"
#include "auth/base64url.h"
#include "base/limits.h"
#include "flow/purchase.h"
#include "http/target.h"
#include "store/store.h"

enum { PAGE_DEFAULT = 20, CURSOR_TEXT = 22, NAME_SHOWN = 64 };

static void begin_problems(const struct request *r, struct json_problems *p)
{
    json_problems_init(p);
    p->language = r->language;
}

/* True: something was wrong, and was answered. The list is released either way. */
static bool refused(struct request *r, struct json_problems *p, enum err e)
{
    if (!e && p->count) {
        payment_refuse(r, p);
        return true;
    }
    json_problems_release(p);
    if (e)
        reply_problem(r, e, NULL);
    return e != OK;
}

static bool path_id(const struct request *r, struct uuid *ret_id, struct json_problems *p)
{
    bool fine = uuid_parse(r->params[0], ret_id);

    if (!fine)
        json_problem_in(p, "id", "must be a UUID", "UUID を指定してください");
    return fine;
}

/* --- buy, cancel --- */

static void read_key(struct request *r, struct payment_input *in, struct json_problems *p)
{
    size_t keys;
    struct str key = request_header(r, S("Idempotency-Key"), &keys);

    payment_input_key(key, keys, in, p);
}

/* All that is wrong is in `p`. NO_MEMORY: the request is larger than its arena. */
static enum err read_purchase(struct request *r, struct operate *o, struct json_problems *p)
{
    struct payment_input in = { 0 };
    enum err e;

    read_key(r, &in, p);
    path_id(r, &o->subject, p);
    e = payment_input_purchase(&r->arena, r->body, &in, p);
    if (e || p->count)
        return e;
    o->key = in.key;
    o->method = in.method;
    o->method_type = in.method_type;
    key_hash_purchase(o->subject, o->method_type, o->method, o->hash);
    return OK;
}

static enum err read_cancel(struct request *r, struct operate *o, struct json_problems *p)
{
    struct payment_input in = { 0 };
    enum err e;

    read_key(r, &in, p);
    path_id(r, &o->payment, p);
    e = payment_input_body(&r->arena, OP_VOID, r->body, &in, p);
    if (e || p->count)
        return e;
    o->key = in.key;
    o->by_purchase = true;
    key_hash_other(o->payment, false, 0, (struct str){ 0 }, o->hash);
    return OK;
}

static void operate(struct request *r, const struct api_payments *api, const struct principal *p,
                    enum op_kind kind,
                    enum err (*read)(struct request *, struct operate *, struct json_problems *))
{
    struct payment_call *c = arena_alloc(&r->arena, 1, sizeof(*c));
    struct json_problems problems;

    if (!c) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    if (r->body.n && !payment_input_type(request_header(r, S("Content-Type"), NULL))) {
        reply_problem(r, ERR_MEDIA_TYPE, NULL);
        return;
    }
    c->place = "/api/v1/purchases/";
    c->operate = (struct operate){ .kind = kind,
                                   .context = CONTEXT_PURCHASE,
                                   .user = p->user,
                                   .may_any = p->service || p->admin,
                                   .of_subject = true };
    begin_problems(r, &problems);
    if (!refused(r, &problems, read(r, &c->operate, &problems)))
        payment_begin(r, api, c);
}

static bool is_nobody(struct uuid user)
{
    return uuid_eq(user, (struct uuid){ 0 });
}

/* The operator's own token is no user: it has nobody to buy for. */
static void create_known(struct request *r, void *ctx, enum err e, const struct principal *p)
{
    if (!payment_caller_may(r, ctx, e, p, S("create")))
        return;
    if (is_nobody(p->user))
        reply_problem(r, ERR_FORBIDDEN, NULL);
    else
        operate(r, ctx, p, OP_CREATE, read_purchase);
}

void api_purchase_create(struct request *r, void *ctx)
{
    auth_check(((struct api_payments *)ctx)->auth, r, create_known, ctx);
}

static void cancel_known(struct request *r, void *ctx, enum err e, const struct principal *p)
{
    if (payment_caller_may(r, ctx, e, p, S("void")))
        operate(r, ctx, p, OP_VOID, read_cancel);
}

void api_purchase_cancel(struct request *r, void *ctx)
{
    auth_check(((struct api_payments *)ctx)->auth, r, cancel_known, ctx);
}

/* --- one of them --- */

struct look {
    struct unit unit;
    struct request *request;
    struct uuid id, user;
    bool may_any;
    struct uuid owner; /* out */
    struct str text;
};

static enum err read_one(struct tx *tx, struct unit *u)
{
    struct look *l = CONTAINER_OF(u, struct look, unit);
    struct purchase purchase;
    struct payment payment;
    struct refund *refunds;
    struct str text;
    size_t count;
    enum err e = purchase_read(tx, l->id, &purchase);

    if (!e)
        e = payment_read(tx, u->arena, purchase.payment_id, false, &payment);
    if (!e)
        e = refunds_read(tx, u->arena, payment.id, &refunds, &count);
    if (e)
        return e;
    l->owner = purchase.user_id;
    text = payment_json(u->arena, &payment, refunds, count);
    l->text = text.p ? purchase_json(u->arena, &purchase, text) : text;
    return l->text.p ? OK : ERR_NO_MEMORY;
}

static void answer_one(struct unit *u)
{
    struct look *l = CONTAINER_OF(u, struct look, unit);

    if (u->err)
        reply_problem(l->request, u->err, NULL);
    else if (!l->may_any && !uuid_eq(l->owner, l->user))
        reply_problem(l->request, ERR_FORBIDDEN, NULL); /* and nothing about it (A2) */
    else
        reply_send(l->request, 200, S("application/json"), l->text);
}

static void look_up(struct request *r, const struct api_payments *api, const struct principal *p,
                    struct uuid id)
{
    static const struct unit_kind kind = { "purchase.read", UNIT_READ, read_one, NULL };
    struct look *l = arena_alloc(&r->arena, 1, sizeof(*l));

    if (!l) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    *l = (struct look){
        .unit = { .kind = &kind, .home = r->home, .done = answer_one, .arena = &r->arena },
        .request = r,
        .id = id,
        .user = p->user,
        .may_any = p->service || p->admin,
    };
    store_post(api->payments->store, &l->unit);
}

static void get_known(struct request *r, void *ctx, enum err e, const struct principal *p)
{
    struct json_problems problems;
    struct uuid id;

    if (!payment_caller_may(r, ctx, e, p, S("read")))
        return;
    begin_problems(r, &problems);
    path_id(r, &id, &problems);
    if (!refused(r, &problems, OK))
        look_up(r, ctx, p, id);
}

void api_purchase_get(struct request *r, void *ctx)
{
    auth_check(((struct api_payments *)ctx)->auth, r, get_known, ctx);
}

/* --- pages of them --- */

struct page {
    struct unit unit;
    struct request *request;
    struct purchase_filter filter;
    bool may_any;
    struct str text; /* out */
};

static bool read_cursor(struct page *g, struct str value)
{
    struct str bytes;

    if (value.n != CURSOR_TEXT || base64url_decode(&g->request->arena, value, &bytes))
        return false;
    g->filter.has_before = uuid_of_bytes(bytes, &g->filter.before);
    return g->filter.has_before;
}

static bool read_limit(struct page *g, struct str value)
{
    int64_t n;

    if (!str_to_i64(value, &n) || n < 1 || n > LIMIT_PAGE)
        return false;
    g->filter.limit = (int)n;
    return true;
}

static bool read_user(struct page *g, struct str value)
{
    g->filter.has_user = g->may_any && uuid_parse(value, &g->filter.user);
    return g->filter.has_user;
}

static const struct parameter {
    const char *name;
    bool (*read)(struct page *g, struct str value);
    const char *en, *ja; /* what is wrong where read() says no */
} parameters[] = {
    { "cursor", read_cursor, "must be the nextCursor of an earlier page",
      "前のページの nextCursor を指定してください" },
    { "limit", read_limit, "must be a whole number from 1 to 100", "1〜100 の整数にしてください" },
    { "userId", read_user, "must be a UUID, and is for service and admin only",
      "UUID を指定してください（service と admin のみ使えます）" },
};

static const struct parameter *parameter_of(struct str name)
{
    for (size_t i = 0; i < COUNT(parameters); i++)
        if (str_eq(str_of(parameters[i].name), name))
            return &parameters[i];
    return NULL;
}

static enum err name_unknown(struct arena *a, struct str name, struct json_problems *p)
{
    char *shown;

    name.n = name.n < NAME_SHOWN ? name.n : NAME_SHOWN;
    shown = arena_cstr(a, name);
    if (!shown)
        return ERR_NO_MEMORY;
    json_problem_in(p, shown, "is not a parameter of this request",
                    "このリクエストにないパラメーターです");
    return OK;
}

/* "name=value", still encoded. *seen has a bit for each parameter that was given. */
static enum err read_pair(struct page *g, struct str pair, unsigned *seen, struct json_problems *p)
{
    struct arena *a = &g->request->arena;
    struct str raw = str_cut(&pair, '='), name = percent_decode(a, raw);
    struct str value = percent_decode(a, pair);
    const struct parameter *known = name.p ? parameter_of(name) : NULL;
    unsigned bit;

    if (!known)
        return name_unknown(a, name.p ? name : raw, p);
    bit = 1U << (known - parameters);
    if (*seen & bit)
        json_problem_in(p, known->name, "must be given once", "1 回だけ指定してください");
    else if ((pair.n && !value.p) || !known->read(g, value))
        json_problem_in(p, known->name, known->en, known->ja);
    *seen |= bit;
    return OK;
}

static enum err read_query(struct page *g, struct json_problems *p)
{
    struct str query = g->request->query;
    unsigned seen = 0;
    enum err e = OK;

    while (!e && query.n) {
        struct str pair = str_cut(&query, '&');

        if (pair.n)
            e = read_pair(g, pair, &seen, p);
    }
    return e;
}

static enum err read_page(struct tx *tx, struct unit *u)
{
    struct page *g = CONTAINER_OF(u, struct page, unit);

    return purchases_json(tx, u->arena, &g->filter, &g->text);
}

static void answer_page(struct unit *u)
{
    struct page *g = CONTAINER_OF(u, struct page, unit);

    if (u->err)
        reply_problem(g->request, u->err, NULL);
    else
        reply_send(g->request, 200, S("application/json"), g->text);
}

static void list_known(struct request *r, void *ctx, enum err e, const struct principal *p)
{
    static const struct unit_kind kind = { "purchase.list", UNIT_READ, read_page, NULL };
    struct api_payments *api = ctx;
    struct json_problems problems;
    struct page *g;

    if (!payment_caller_may(r, ctx, e, p, S("read")))
        return;
    g = arena_alloc(&r->arena, 1, sizeof(*g));
    if (!g) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    g->request = r;
    g->may_any = p->service || p->admin;
    g->filter =
        (struct purchase_filter){ .has_user = !g->may_any, .user = p->user, .limit = PAGE_DEFAULT };
    begin_problems(r, &problems);
    if (refused(r, &problems, read_query(g, &problems)))
        return;
    g->unit =
        (struct unit){ .kind = &kind, .home = r->home, .done = answer_page, .arena = &r->arena };
    store_post(api->payments->store, &g->unit);
}

void api_purchase_list(struct request *r, void *ctx)
{
    auth_check(((struct api_payments *)ctx)->auth, r, list_known, ctx);
}
