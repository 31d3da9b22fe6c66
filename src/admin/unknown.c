#include "admin/unknown.h"

#include "base/limits.h"
#include "endpoint/answer.h"
#include "endpoint/query.h"
#include "payment/unknown.h"

enum { PAGE_DEFAULT = 20 };

struct unknown_look { /* one request, in its own arena */
    struct api_answer answer;
    int limit;
    bool has_after;
    struct uuid after;
};

static bool unknown_read_limit(struct request *r, void *ctx, struct str value)
{
    (void)r;
    return query_limit(value, LIMIT_PAGE, &((struct unknown_look *)ctx)->limit);
}

static bool unknown_read_after(struct request *r, void *ctx, struct str value)
{
    struct unknown_look *l = ctx;

    (void)r;
    l->has_after = uuid_parse(value, &l->after);
    return l->has_after;
}

static const struct query_parameter parameters[] = {
    QUERY_LIMIT(unknown_read_limit),
    QUERY_CURSOR(unknown_read_after),
};

static enum err unknown_read_page(struct tx *tx, struct unit *u)
{
    struct unknown_look *l = CONTAINER_OF(u, struct unknown_look, answer.unit);

    return unknown_page(tx, u->arena, env_now_ms(tx_env(tx)), l->has_after ? &l->after : NULL,
                        l->limit, &l->answer.text);
}

void api_unknown_list(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "unknown.list", UNIT_READ, unknown_read_page, NULL };
    struct unknown_look *l = api_room(r, sizeof(*l));

    (void)p;
    if (!l)
        return;
    l->limit = PAGE_DEFAULT;
    if (query_read(r, parameters, COUNT(parameters), l))
        api_answer_post(&l->answer, r, ctx, &kind, api_answer_show);
}
