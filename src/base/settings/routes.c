/* routes.c - checks the form and the words of ICHIDO_ROUTES (G5) when the settings are read, before
 * anything is opened. gateway/gateways.c builds the routes from the same text. */
#include "base/limits.h"
#include "base/settings/source.h"

/* The `methods` of each gateway adapter, written again here because base/ may not include them. */
static const struct known {
    struct str name, methods, told;
} gateways[] = {
#define STRIPE_LIKE(name)                                                                          \
    {                                                                                              \
        { name, sizeof(name) - 1 }, { "card,konbini,paypay,checkout", 28 },                        \
        {                                                                                          \
            "card, konbini, paypay, checkout", 31                                                  \
        }                                                                                          \
    }
    STRIPE_LIKE("sandbox"),
    STRIPE_LIKE("stripe"),
    { { "paypay", 6 }, { "paypay", 6 }, { "paypay", 6 } },
    { { "manual", 6 }, { "bank_transfer", 13 }, { "bank_transfer", 13 } },
};

static bool is_in(struct str list, struct str word)
{
    while (list.n)
        if (str_eq(str_cut(&list, ','), word))
            return true;
    return false;
}

static const struct known *gateway_of(struct str name)
{
    for (size_t i = 0; i < COUNT(gateways); i++)
        if (str_eq(gateways[i].name, name))
            return &gateways[i];
    return NULL;
}

static bool is_currency(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 'A' || s.p[i] > 'Z')
            return false;
    return s.n == 3;
}

bool settings_check_gateway(struct source *src, const char *setting, struct str one,
                            struct str name)
{
    if (gateway_of(name))
        return true;
    source_problem(src, setting,
                   "\"%.*s\": there is no gateway \"%.*s\"; there are sandbox, stripe, paypay and "
                   "manual",
                   SOURCE_SHOWN(one), SOURCE_SHOWN(name));
    return false;
}

static bool check_words(struct source *src, const char *setting, struct str rule, struct str method,
                        struct str name)
{
    const struct known *to = gateway_of(name);

    if (!str_eq(method, S("*")) &&
        !is_in(S("card,konbini,paypay,bank_transfer,checkout"), method)) {
        source_problem(src, setting,
                       "\"%.*s\": there is no payment method \"%.*s\"; there are card, konbini, "
                       "paypay, bank_transfer, checkout and * for any",
                       SOURCE_SHOWN(rule), SOURCE_SHOWN(method));
        return false;
    }
    if (!settings_check_gateway(src, setting, rule, name))
        return false;
    if (str_eq(method, S("*")) || is_in(to->methods, method))
        return true;
    source_problem(src, setting,
                   "\"%.*s\": the gateway " STR_FMT " does not take " STR_FMT ", but " STR_FMT,
                   SOURCE_SHOWN(rule), STR_ARG(name), STR_ARG(method), STR_ARG(to->told));
    return false;
}

static bool check_rule(struct source *src, const char *setting, struct str rule)
{
    struct str name = rule, what = str_cut(&name, '='), currency = what,
               method = str_cut(&currency, ':');
    bool has_currency = method.n < what.n;

    if (method.n && name.n && (!has_currency || is_currency(currency)))
        return check_words(src, setting, rule, method, name);
    source_problem(src, setting, "\"%.*s\" must be like paypay=paypay or card:USD=stripe",
                   SOURCE_SHOWN(rule));
    return false;
}

bool settings_check_routes(struct source *src, const char *setting, struct str rules)
{
    bool more = true;

    for (int n = 0; more; n++) {
        struct str rule;

        if (n == LIMIT_ROUTES) {
            source_problem(src, setting, "has more than %d rules", LIMIT_ROUTES);
            return false;
        }
        rule = str_cut(&rules, ',');
        more = rules.p > rule.p + rule.n; /* "a=b," has an empty rule behind it */
        if (!check_rule(src, setting, str_trim(rule)))
            return false;
    }
    return true;
}
