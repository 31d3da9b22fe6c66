#include "endpoint/answer.h"

void api_answer_post(struct api_answer *a, struct request *r, struct store *store,
                     const struct unit_kind *kind, void (*done)(struct unit *))
{
    a->request = r;
    a->unit =
        (struct unit){ .kind = kind, .executor = r->executor, .done = done, .arena = &r->arena };
    store_post(store, &a->unit);
}

void api_answer_show(struct unit *u)
{
    struct api_answer *a = CONTAINER_OF(u, struct api_answer, unit);

    if (u->err)
        reply_problem(a->request, u->err, NULL);
    else
        reply_send(a->request, 200, S("application/json"), a->text);
}

void *api_room(struct request *r, size_t size)
{
    void *p = arena_alloc(&r->arena, 1, size);

    if (!p)
        reply_problem(r, ERR_NO_MEMORY, NULL);
    return p;
}
