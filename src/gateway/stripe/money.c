#include "gateway/stripe/money.h"

#include <string.h>

/* wire = minor * grow / shrink, and a multiple of step. For all other currencies wire = minor. */
static const struct stripe_unit {
    char code[4];
    int grow, shrink, step;
    bool refused;
} stripe_units[] = {
    { "MGA", 1, 100, 1, false }, /* Stripe counts whole ariary */
    { "ISK", 100, 1, 1, false }, /* Stripe has two digits, always 00 */
    { "BHD", 1, 1, 10, false },  /* three digits, of which the last is 0 */
    { "JOD", 1, 1, 10, false },  { "KWD", 1, 1, 10, false }, { "OMR", 1, 1, 10, false },
    { "TND", 1, 1, 10, false },  { "UGX", 1, 1, 1, true }, /* its documents say both: whole
                                                              shillings, and two digits 00 */
    { "IQD", 1, 1, 1, true },                              /* not offered */
    { "LYD", 1, 1, 1, true },
};

static const struct stripe_unit *stripe_money_find(const char currency[4])
{
    for (size_t i = 0; i < COUNT(stripe_units); i++)
        if (memcmp(stripe_units[i].code, currency, 3) == 0)
            return &stripe_units[i];
    return NULL;
}

static bool stripe_money_scale(int64_t n, int grow, int shrink, int64_t *ret)
{
    int64_t grown;

    if (__builtin_mul_overflow(n, (int64_t)grow, &grown) || grown % shrink)
        return false;
    *ret = grown / shrink;
    return true;
}

bool stripe_amount_out(struct money m, int64_t *ret_wire)
{
    const struct stripe_unit *o = stripe_money_find(m.currency);
    int64_t wire = m.minor;

    if (o &&
        (o->refused || !stripe_money_scale(m.minor, o->grow, o->shrink, &wire) || wire % o->step))
        return false;
    *ret_wire = wire;
    return true;
}

/* Amounts in rejected currencies are passed on unchanged. We never charge them, so they only have to
 * be recognized as not ours. */
bool stripe_amount_in(int64_t wire, const char currency[4], int64_t *ret_minor)
{
    const struct stripe_unit *o = stripe_money_find(currency);

    if (o)
        return stripe_money_scale(wire, o->shrink, o->grow, ret_minor);
    *ret_minor = wire;
    return true;
}
