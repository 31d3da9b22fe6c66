/* layer.h - what the layers in front of an adapter share: gateways.c, create_lookup.c, guard.c.
 *
 *   gateways_call() --push--> create_lookup --------> guard --push--> adapter
 *   the caller <----pop------ gateways.c    <---pop-- guard <--done------'
 *
 *   (1) A layer that acts at the end of a call pushes a frame before it passes the call on, and pops
 *       it before it calls done() or rejects the call. So each layer finds its own frame on top.
 *   (2) A frame lies in the call: pushing cannot fail, and nothing is freed.
 *   (3) A search (create_lookup.c) goes no further: another call reads the list for all of them. */
#pragma once

#include "gateway/port.h"

/* --- a gateway in front of another one --- */

struct gateway_layer { /* the first member of each */
    struct gateway gateway;
    struct gateway *inner;
};

/* `size` zeroed bytes that begin with a gateway_layer. It owns the inner gateway, and has its name,
 * methods and so on. NULL: no memory, and the inner gateway is freed. */
void *layer_new(size_t size, const struct gateway_ops *ops, struct gateway *inner);
void layer_free(struct gateway *g); /* for ops->free: the inner gateway too */

/* --- a layer's frame in a call --- */

/* `size` zeroed bytes for the layer, until the pop; done: called instead of the call's. */
void *layer_push(struct gateway_call *c, void *layer, size_t size,
                 void (*done)(struct gateway_call *c));
void layer_pop(struct gateway_call *c); /* restores the done of the layer outside */
/* The frame on top: the layer that pushed it, and what that layer keeps there. */
void *layer_of(const struct gateway_call *c);
void *layer_own(struct gateway_call *c);
