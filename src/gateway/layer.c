#include "gateway/layer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void *layer_new(size_t size, const struct gateway_ops *ops, struct gateway *inner)
{
    struct gateway_layer *l = calloc(1, size);

    if (!l) {
        inner->ops->free(inner);
        return NULL;
    }
    l->gateway = *inner;
    l->gateway.ops = ops;
    l->inner = inner;
    return l;
}

void layer_free(struct gateway *g)
{
    struct gateway_layer *l = CONTAINER_OF(g, struct gateway_layer, gateway);

    l->inner->ops->free(l->inner);
    free(l);
}

void *layer_push(struct gateway_call *c, void *layer, size_t size,
                 void (*done)(struct gateway_call *c))
{
    struct gateway_frame *f = &c->frames[c->depth];

    assert(c->depth < GATEWAY_LAYERS && size <= sizeof(f->own));
    c->depth++;
    f->layer = layer;
    f->done = c->done;
    c->done = done;
    memset(f->own, 0, size);
    return f->own;
}

void layer_pop(struct gateway_call *c)
{
    assert(c->depth > 0);
    c->done = c->frames[--c->depth].done;
}

void *layer_of(const struct gateway_call *c)
{
    assert(c->depth > 0);
    return c->frames[c->depth - 1].layer;
}

void *layer_own(struct gateway_call *c)
{
    assert(c->depth > 0);
    return c->frames[c->depth - 1].own;
}
