#include "admin/timeline.h"

#include "endpoint/answer.h"
#include "endpoint/fields.h"
#include "endpoint/query.h"
#include "timeline/timeline.h"

struct timeline_look { /* one request, in its own arena */
    struct api_answer answer;
    struct uuid payment;
};

static enum err read_timeline(struct tx *tx, struct unit *u)
{
    struct timeline_look *l = CONTAINER_OF(u, struct timeline_look, answer.unit);

    return timeline_read(tx, u->arena, l->payment, &l->answer.text);
}

void api_timeline_get(struct request *r, void *ctx, const struct principal *p)
{
    static const struct unit_kind kind = { "timeline.read", UNIT_READ, read_timeline, NULL };
    struct timeline_look *l = api_room(r, sizeof(*l));

    (void)p;
    if (l && query_read(r, NULL, 0, NULL) && fields_path_id(r, &l->payment))
        api_answer_post(&l->answer, r, ctx, &kind, api_answer_show);
}
