/* Layers in front of a gateway: each finds its own frame when the call ends, in reverse order. */
#include "gateway/layer.h"
#include "unit/cm.h"
#include "unit/gateway/stand_in.h"

#include <string.h>

static char heard[8];

static void hear(const char *who)
{
    strncat(heard, who, sizeof(heard) - strlen(heard) - 1);
}

static void caller_done(struct gateway_call *c)
{
    (void)c;
    hear("c");
}

static void layer_done(struct gateway_call *c)
{
    const int *own = layer_own(c);

    hear(layer_of(c));
    assert_int_equal(*own, ((const char *)layer_of(c))[0]);
    layer_pop(c);
    c->done(c);
}

static void pass(struct gateway_call *c, char *layer)
{
    int *own = layer_push(c, layer, sizeof(*own), layer_done);

    assert_int_equal(*own, 0); /* whatever an earlier call of this struct left there */
    *own = layer[0];
}

static void what_passed_first_hears_last(void **state)
{
    struct gateway_call c = { .done = caller_done };

    (void)state;
    for (int i = 0; i < 2; i++) {
        heard[0] = '\0';
        pass(&c, (char[]){ "1" });
        pass(&c, (char[]){ "2" });
        pass(&c, (char[]){ "3" });
        c.done(&c);
        assert_string_equal(heard, "321c");
        assert_ptr_equal(c.done, caller_done);
    }
}

static void a_layer_owns_and_looks_like_the_gateway_within(void **state)
{
    static const struct gateway_ops ops = { .free = layer_free };
    struct stand_in inner = stand_in_new();
    struct gateway_layer *l = layer_new(sizeof(*l), &ops, &inner.gateway);

    (void)state;
    assert_non_null(l);
    assert_string_equal(l->gateway.name, "x");
    assert_string_equal(l->gateway.methods, "card");
    assert_ptr_equal(l->inner, &inner.gateway);
    l->gateway.ops->free(&l->gateway);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_passed_first_hears_last),
        TEST(a_layer_owns_and_looks_like_the_gateway_within),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
