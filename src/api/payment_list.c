/* payment_list.c - GET /payments: pages of payments, newest first. Ids are made in the order of
 * time, so a page ends at an id and the next one begins below it: nothing is skipped or shown twice
 * because something was added meanwhile. */
#include "api/payments.h"
#include "auth/base64url.h"
#include "base/limits.h"
#include "http/target.h"
#include "store/store.h"

#include <string.h>

enum { PAGE_DEFAULT = 20, CURSOR_TEXT = 22, NAME_SHOWN = 64 };

struct page {
    struct unit unit;
    struct request *request;
    struct payment_filter filter; /* its limit is one more than was asked for */
    struct str text;              /* out */
};

/* --- the query --- */

struct ask {
    struct request *request;
    const struct principal *caller;
    struct payment_filter *filter;
};

static bool read_uuid(struct str value, bool *ret_has, struct uuid *ret_id)
{
    *ret_has = uuid_parse(value, ret_id);
    return *ret_has;
}

static bool read_booking(struct ask *k, struct str value)
{
    return read_uuid(value, &k->filter->has_booking, &k->filter->booking);
}

static bool read_user(struct ask *k, struct str value)
{
    if (!k->caller->service && !k->caller->admin)
        return false;
    return read_uuid(value, &k->filter->has_user, &k->filter->user);
}

static bool read_status(struct ask *k, struct str value)
{
    k->filter->has_status = payment_status_parse(value, &k->filter->status);
    return k->filter->has_status;
}

static bool read_limit(struct ask *k, struct str value)
{
    int64_t n;

    if (!str_to_i64(value, &n) || n < 1 || n > LIMIT_PAGE)
        return false;
    k->filter->limit = (int)n;
    return true;
}

static bool read_cursor(struct ask *k, struct str value)
{
    struct str bytes;

    if (value.n != CURSOR_TEXT || base64url_decode(&k->request->arena, value, &bytes))
        return false;
    k->filter->has_before = uuid_of_bytes(bytes, &k->filter->before);
    return k->filter->has_before;
}

static const struct parameter {
    const char *name;
    bool (*read)(struct ask *k, struct str value);
    const char *en, *ja; /* what is wrong where read() says no */
} parameters[] = {
    { "bookingId", read_booking, "must be a UUID", "UUID を指定してください" },
    { "userId", read_user, "must be a UUID, and is for service and admin only",
      "UUID を指定してください（service と admin のみ使えます）" },
    { "status", read_status, "must be PENDING, AUTHORIZED, CAPTURED, REFUNDED or FAILED",
      "PENDING、AUTHORIZED、CAPTURED、REFUNDED、FAILED のいずれかにしてください" },
    { "limit", read_limit, "must be a whole number from 1 to 100", "1〜100 の整数にしてください" },
    { "cursor", read_cursor, "must be the nextCursor of an earlier page",
      "前のページの nextCursor を指定してください" },
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
static enum err read_pair(struct ask *k, struct str pair, unsigned *seen, struct json_problems *p)
{
    struct str raw = str_cut(&pair, '='), name, value;
    const struct parameter *known;
    unsigned bit;

    name = percent_decode(&k->request->arena, raw);
    value = percent_decode(&k->request->arena, pair);
    known = name.p ? parameter_of(name) : NULL;
    if (!known)
        return name_unknown(&k->request->arena, name.p ? name : raw, p);
    bit = 1U << (known - parameters);
    if (*seen & bit)
        json_problem_in(p, known->name, "must be given once", "1 回だけ指定してください");
    else if ((pair.n && !value.p) || !known->read(k, value))
        json_problem_in(p, known->name, known->en, known->ja);
    *seen |= bit;
    return OK;
}

static enum err read_query(struct ask *k, struct json_problems *p)
{
    struct str query = k->request->query;
    unsigned seen = 0;
    enum err e = OK;

    while (!e && query.n) {
        struct str pair = str_cut(&query, '&');

        if (pair.n)
            e = read_pair(k, pair, &seen, p);
    }
    return e;
}

/* --- the page --- */

static enum err add_payment(struct tx *tx, struct arena *a, const struct payment *payment,
                            struct buf *out)
{
    struct refund *refunds = NULL;
    struct str text;
    size_t count = 0;
    enum err e = OK;

    if (payment->captured >= 0) /* only captured money has refunds */
        e = refunds_read(tx, a, payment->id, &refunds, &count);
    if (e)
        return e;
    text = payment_json(a, payment, refunds, count);
    buf_add(out, text);
    return text.p ? OK : ERR_NO_MEMORY;
}

static enum err write_page(struct tx *tx, struct page *g, const struct payment *payments,
                           size_t count, struct buf *out)
{
    size_t shown = count < (size_t)g->filter.limit ? count : (size_t)g->filter.limit - 1;
    enum err e = OK;

    buf_add(out, S("{\"data\":["));
    for (size_t i = 0; !e && i < shown; i++) {
        if (i)
            buf_char(out, ',');
        e = add_payment(tx, g->unit.arena, &payments[i], out);
    }
    buf_add(out, S("],\"nextCursor\":"));
    if (count > shown) {
        buf_char(out, '"');
        base64url_add(out, uuid_bytes(&payments[shown - 1].id));
        buf_add(out, S("\"}"));
    } else {
        buf_add(out, S("null}"));
    }
    return e;
}

static enum err read_page(struct tx *tx, struct unit *u)
{
    struct page *g = CONTAINER_OF(u, struct page, unit);
    struct payment *payments = arena_alloc(u->arena, (size_t)g->filter.limit, sizeof(*payments));
    struct buf out;
    size_t count;
    enum err e;

    if (!payments)
        return ERR_NO_MEMORY;
    e = payments_list(tx, u->arena, &g->filter, payments, &count);
    if (e)
        return e;
    buf_init(&out, LIMIT_REQUEST_ARENA);
    e = write_page(tx, g, payments, count, &out);
    g->text = arena_str(u->arena, buf_str(&out));
    if (!e && (out.failed || !g->text.p))
        e = ERR_NO_MEMORY;
    buf_release(&out);
    return e;
}

static void answer(struct unit *u)
{
    struct page *g = CONTAINER_OF(u, struct page, unit);

    if (u->err)
        reply_problem(g->request, u->err, NULL);
    else
        reply_send(g->request, 200, S("application/json"), g->text);
}

static void post(struct request *r, const struct api_payments *api, struct payment_filter filter)
{
    static const struct unit_kind kind = { "payment.list", UNIT_READ, read_page, NULL };
    struct page *g = arena_alloc(&r->arena, 1, sizeof(*g));

    if (!g) {
        reply_problem(r, ERR_NO_MEMORY, NULL);
        return;
    }
    filter.limit++; /* one more than is shown says whether there is another page */
    *g = (struct page){
        .unit = { .kind = &kind, .home = r->home, .done = answer, .arena = &r->arena },
        .request = r,
        .filter = filter,
    };
    store_post(api->payments->store, &g->unit);
}

static void known(struct request *r, void *ctx, enum err e, const struct principal *p)
{
    struct payment_filter filter = { .limit = PAGE_DEFAULT };
    struct ask k = { r, p, &filter };
    struct json_problems problems;

    if (!payment_caller_may(r, ctx, e, p, S("read")))
        return;
    json_problems_init(&problems);
    problems.language = r->language;
    e = read_query(&k, &problems);
    if (!e && problems.count) {
        payment_refuse(r, &problems);
        return;
    }
    json_problems_release(&problems);
    if (e) {
        reply_problem(r, e, NULL);
        return;
    }
    if (!p->service && !p->admin) {
        filter.has_user = true;
        filter.user = p->user;
    }
    post(r, ctx, filter);
}

void api_payment_list(struct request *r, void *ctx)
{
    auth_check(((struct api_payments *)ctx)->auth, r, known, ctx);
}
