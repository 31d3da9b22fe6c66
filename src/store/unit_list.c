#include "store/unit_list.h"

#include "base/limits.h"

void unit_list_init(struct unit_list *l)
{
    *l = (struct unit_list){ .last = &l->first };
}

void unit_list_push(struct unit_list *l, struct unit *u)
{
    u->next = NULL;
    *l->last = u;
    l->last = &u->next;
    l->count++;
}

/* Takes the unit that *at points to. */
static struct unit *unit_list_take_at(struct unit_list *l, struct unit **at)
{
    struct unit *u = *at;

    *at = u->next;
    if (l->last == &u->next)
        l->last = at;
    l->count--;
    return u;
}

size_t unit_list_take(struct unit_list *l, struct unit **units, size_t max)
{
    size_t n = 0;

    while (n < max && l->first)
        units[n++] = unit_list_take_at(l, &l->first);
    return n;
}

size_t unit_list_take_alike(struct unit_list *l, struct unit **at, struct unit **units, size_t max)
{
    const struct unit_kind *kind = *at ? (*at)->kind : NULL;
    size_t most = kind && !kind->run_many && max ? 1 : max, n = 0, bytes = 0;

    for (int looked = 0; *at && n < most && looked < UNIT_LIST_LOOK_AHEAD; looked++)
        if ((*at)->kind != kind) {
            at = &(*at)->next;
        } else {
            bytes += (*at)->bytes;
            if (n && bytes > LIMIT_BULK_BYTES)
                break;
            units[n++] = unit_list_take_at(l, at);
        }
    return n;
}
