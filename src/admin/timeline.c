#include "admin/timeline.h"

#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"
#include "timeline/timeline.h"

struct timeline_call { /* one request, in its own arena */
    struct api_answer answer;
    struct uuid payment;
};

static enum err timeline_run(struct tx *tx, struct unit *u)
{
    struct timeline_call *c = CONTAINER_OF(u, struct timeline_call, answer.unit);

    return timeline_read(tx, u->arena, c->payment, &c->answer.text);
}

void api_timeline_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "timeline.read", UNIT_READ, timeline_run, NULL };
    struct timeline_call *c = api_room(r, sizeof(*c));

    (void)p;
    if (c && query_read(r, NULL, 0, NULL) && fields_path_id(r, &c->payment))
        api_answer_post(&c->answer, r, ctx, &kind, api_answer_show);
}
