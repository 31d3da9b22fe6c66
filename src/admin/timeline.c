#include "admin/timeline.h"

#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"
#include "timeline/timeline.h"

struct look { /* one request, in its own arena */
    struct api_answer answer;
    struct uuid payment;
};

static enum err read_timeline(struct tx *tx, struct unit *u)
{
    struct look *l = CONTAINER_OF(u, struct look, answer.unit);

    return timeline_read(tx, u->arena, l->payment, &l->answer.text);
}

static void get_as(struct request *r, void *ctx, enum err e, const struct principal *p)
{
    static const struct unit_kind kind = { "timeline.read", UNIT_READ, read_timeline, NULL };
    const struct api_timeline *api = ctx;
    struct look *l = api_is_admin(r, e, p) ? api_room(r, sizeof(*l)) : NULL;

    if (l && query_read(r, NULL, 0, NULL) && fields_path_id(r, &l->payment))
        api_answer_post(&l->answer, r, api->store, &kind, api_answer_show);
}

void api_timeline_get(struct request *r, void *ctx)
{
    auth_check(((struct api_timeline *)ctx)->auth, r, get_as, ctx);
}
