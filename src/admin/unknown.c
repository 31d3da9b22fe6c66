#include "admin/unknown.h"

#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/query.h"
#include "payment/unknown.h"

enum { PAGE_DEFAULT = 20 };

struct unknown_call { /* one request, in its own arena */
    struct api_answer answer;
    int limit;
    bool has_after;
    struct uuid after;
};

static bool unknown_read_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct unknown_call *)ctx)->limit);
}

static bool unknown_read_after(struct request *r, void *ctx, struct str value)
{
    struct unknown_call *c = ctx;

    (void)r;
    c->has_after = uuid_parse(value, &c->after);
    return c->has_after;
}

static const struct query_parameter parameters[] = {
    QUERY_LIMIT(unknown_read_limit),
    QUERY_CURSOR(unknown_read_after),
};

static enum err unknown_read_page(struct tx *tx, struct unit *u)
{
    struct unknown_call *c = CONTAINER_OF(u, struct unknown_call, answer.unit);

    return unknown_page(tx, u->arena, env_now_ms(tx_env(tx)), c->has_after ? &c->after : NULL,
                        c->limit, &c->answer.text);
}

void api_unknown_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "unknown.list", UNIT_READ, unknown_read_page, NULL };
    struct unknown_call *c = api_room(r, sizeof(*c));

    (void)p;
    if (!c)
        return;
    c->limit = PAGE_DEFAULT;
    if (query_read(r, parameters, COUNT(parameters), c))
        api_answer_post(&c->answer, r, ctx, &kind, api_answer_show);
}
