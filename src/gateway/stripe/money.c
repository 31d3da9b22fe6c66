#include "gateway/stripe/money.h"

#include <string.h>

/* wire = minor * grow / shrink, and a multiple of step. All others: the same number. */
static const struct odd {
    char code[4];
    int grow, shrink, step;
    bool refused;
} odds[] = {
    { "MGA", 1, 100, 1, false }, /* Stripe counts whole ariary */
    { "ISK", 100, 1, 1, false }, /* Stripe has two digits, always 00 */
    { "BHD", 1, 1, 10, false },  /* three digits, of which the last is 0 */
    { "JOD", 1, 1, 10, false },  { "KWD", 1, 1, 10, false }, { "OMR", 1, 1, 10, false },
    { "TND", 1, 1, 10, false },  { "UGX", 1, 1, 1, true }, /* its documents say both: whole
                                                              shillings, and two digits 00 */
    { "IQD", 1, 1, 1, true },                              /* not offered */
    { "LYD", 1, 1, 1, true },
};

static const struct odd *stripe_money_find(const char currency[4])
{
    for (size_t i = 0; i < COUNT(odds); i++)
        if (memcmp(odds[i].code, currency, 3) == 0)
            return &odds[i];
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
    const struct odd *o = stripe_money_find(m.currency);
    int64_t wire = m.minor;

    if (o &&
        (o->refused || !stripe_money_scale(m.minor, o->grow, o->shrink, &wire) || wire % o->step))
        return false;
    *ret_wire = wire;
    return true;
}

/* Refused currencies are passed on as they are: we never ask for them, so they are others' money
 * and only have to be recognised as such. */
bool stripe_amount_in(int64_t wire, const char currency[4], int64_t *ret_minor)
{
    const struct odd *o = stripe_money_find(currency);

    if (o)
        return stripe_money_scale(wire, o->shrink, o->grow, ret_minor);
    *ret_minor = wire;
    return true;
}
