/* args.c - reads the arguments of `ichido payments` into a struct payments_options. */
#include "cli/args.h"

#include "base/limits.h"
#include "cli/payments/command.h"
#include "domain/key.h"
#include "payment/search/text.h"

#include <stdio.h>
#include <string.h>

enum { REASON_CHARS = 200, GATEWAY_CHARS = 64 };

void payments_usage(void)
{
    puts("ichido payments - find payments, look at them, capture, refund and void them\n"
         "\n"
         "usage: ichido payments list     [filters] [--limit N | --all] [--json]\n"
         "       ichido payments find     TEXT [filters] [--limit N | --all] [--json]\n"
         "       ichido payments show     ID [--json]\n"
         "       ichido payments timeline ID [--json]\n"
         "       ichido payments capture  ID [--amount N] [--key UUID] [--yes] [--json]\n"
         "       ichido payments refund   ID [--amount N] [--reason TEXT] [--key UUID] [--yes] "
         "[--json]\n"
         "       ichido payments void     ID [--key UUID] [--yes] [--json]\n"
         "\n"
         "filters, all of which must match:\n"
         "  --status S     PENDING, AUTHORIZED, CAPTURED, REFUNDED or FAILED\n"
         "  --context C    booking, purchase or participant\n"
         "  --gateway G    stripe, paypay, manual, sandbox\n"
         "  --from TIME    made then or later: 2026-11-16T09:30:00Z, 2026-11-16, or 24h (ago)\n"
         "  --to TIME      made before that\n"
         "  --user ID      whose they are\n"
         "  --booking ID   what they are for\n"
         "\n"
         "TEXT is whatever you have: the id of a payment, booking, purchase, participant, user or "
         "refund,\n"
         "an Idempotency-Key, a provider's id (pi_ ch_ cs_ re_ evt_ dp_, PayPay's), a bank "
         "transfer's\n"
         "reference. N is in the currency's smallest unit: 1200 is 1,200 yen, or 12.00 dollars.\n"
         "\n"
         "capture, refund and void are done by the running server and ask before; --yes does not "
         "options.\n"
         "The same --key again never does it twice. While a server has the SQLite file, looking\n"
         "goes through its admin API, too; that needs ICHIDO_ADMIN_TOKEN.\n"
         "\n"
         "examples:\n"
         "  ichido payments find pi_3MtwBwLkdIwHu7ix28a3tqPa\n"
         "  ichido payments list --status FAILED --from 24h\n"
         "  ichido payments refund 019a8c3e-7b7a-7c3e-9a55-0242ac120002 --amount 500\n"
         "\n"
         "Exit codes: 0 success, 1 nothing was found or something failed, 2 wrong arguments or "
         "settings.");
}

/* --- values --- */

static bool read_status(void *ctx, struct str value)
{
    struct payment_query *q = &((struct payments_options *)ctx)->query;

    return q->has_status = payment_status_parse(value, &q->status);
}

static bool read_context(void *ctx, struct str value)
{
    struct payment_query *q = &((struct payments_options *)ctx)->query;

    return q->has_context = payment_context_parse(value, &q->context);
}

static bool read_gateway(void *ctx, struct str value)
{
    ((struct payments_options *)ctx)->query.gateway = value;
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] <= ' ' || value.p[i] > '~')
            return false;
    return value.n && value.n <= GATEWAY_CHARS;
}

static bool read_user(void *ctx, struct str value)
{
    struct payment_query *q = &((struct payments_options *)ctx)->query;

    return q->has_user = uuid_parse(value, &q->user);
}

static bool read_booking(void *ctx, struct str value)
{
    struct payment_query *q = &((struct payments_options *)ctx)->query;

    return q->has_booking = uuid_parse(value, &q->booking);
}

static bool read_from(void *ctx, struct str value)
{
    struct payments_options *k = ctx;

    return args_time(value, k->now_ms, &k->query.from_ms);
}

static bool read_to(void *ctx, struct str value)
{
    struct payments_options *k = ctx;

    return args_time(value, k->now_ms, &k->query.to_ms);
}

static bool read_limit(void *ctx, struct str value)
{
    struct payments_options *k = ctx;

    return str_to_i64(value, &k->limit) && k->limit > 0;
}

static bool read_amount(void *ctx, struct str value)
{
    struct payments_options *k = ctx;

    return str_to_i64(value, &k->amount) && k->amount >= 1 && k->amount <= MONEY_MAX;
}

static bool read_reason(void *ctx, struct str value)
{
    ((struct payments_options *)ctx)->reason = value;
    return value.n && value.n <= (size_t)4 * REASON_CHARS && str_is_utf8(value);
}

static bool read_key(void *ctx, struct str value)
{
    struct payments_options *k = ctx;

    return k->has_key = key_parse(value, &k->key);
}

static bool set_all(void *ctx, struct str value)
{
    (void)value;
    return ((struct payments_options *)ctx)->all = true;
}

static bool set_json(void *ctx, struct str value)
{
    (void)value;
    return ((struct payments_options *)ctx)->json = true;
}

static bool set_yes(void *ctx, struct str value)
{
    (void)value;
    return ((struct payments_options *)ctx)->yes = true;
}

/* --- options --- */

#define ON(verb) (1 << PAYMENTS_##verb)
enum {
    LISTS = ON(LIST) | ON(FIND),
    ACTS = ON(CAPTURE) | ON(REFUND) | ON(VOID),
    ALL = LISTS | ACTS | ON(SHOW) | ON(TIMELINE)
};
#define MUST_TIME "needs a time like 2026-11-16T09:30:00Z, 2026-11-16 or 24h"

static const struct args_option options[] = {
    { "--status", LISTS, false, false, read_status,
      "needs PENDING, AUTHORIZED, CAPTURED, REFUNDED or FAILED" },
    { "--context", LISTS, false, false, read_context, "needs booking, purchase or participant" },
    { "--gateway", LISTS, false, false, read_gateway, "needs the name of a gateway" },
    { "--from", LISTS, false, false, read_from, MUST_TIME },
    { "--to", LISTS, false, false, read_to, MUST_TIME },
    { "--user", LISTS, false, false, read_user, "needs the UUID of a user" },
    { "--booking", LISTS, false, false, read_booking, "needs the UUID of a booking" },
    { "--limit", LISTS, false, false, read_limit, "needs a number of payments" },
    { "--all", LISTS, true, false, set_all, "" },
    { "--amount", ON(CAPTURE) | ON(REFUND), false, false, read_amount,
      "needs a whole number from 1 to 99999999, in the currency's smallest unit" },
    { "--reason", ON(REFUND), false, false, read_reason, "needs a text of at most 200 characters" },
    { "--key", ACTS, false, false, read_key, "needs a UUID" },
    { "--yes", ACTS, true, false, set_yes, "" },
    { "--json", ALL, true, false, set_json, "" },
};

/* --- all together --- */

static bool take_word(struct args *a, int number, const char *word)
{
    struct payments_options *k = a->ctx;

    if (k->verb == PAYMENTS_LIST)
        return args_wrong(a, word, "is unexpected: list takes options; find takes a text");
    if (number)
        return args_wrong(a, word, "is unexpected; see ichido payments --help");
    if (k->verb == PAYMENTS_FIND) {
        k->query.text = str_of(word);
        return find_text_fits(k->query.text) ||
               args_wrong(a, "what is looked for", "must be a text of at most 255 characters");
    }
    return find_text_uuid(str_of(word), &k->id) ||
           args_wrong(a, word,
                      "is not the id of a payment (a UUID); ichido payments find knows "
                      "other ids");
}

static bool payments_args_check(struct args *a, int words)
{
    const struct payments_options *k = a->ctx;
    const struct payment_query *q = &k->query;

    if (q->from_ms && q->to_ms && q->from_ms >= q->to_ms)
        return args_wrong(a, "--to", "must be later than --from");
    if (k->verb == PAYMENTS_FIND && !words)
        return args_wrong(a, "find", "needs a text: an id, a key or a reference");
    if (k->verb > PAYMENTS_FIND && !words)
        return args_wrong(a, "this command", "needs the id of a payment");
    return !(k->all && k->limit) || args_wrong(a, "--all", "and --limit exclude each other");
}

static bool read_verb(struct args *a, const char *word)
{
    static const char *const verbs[PAYMENTS_VERBS] = {
        [PAYMENTS_LIST] = "list",       [PAYMENTS_FIND] = "find",
        [PAYMENTS_SHOW] = "show",       [PAYMENTS_TIMELINE] = "timeline",
        [PAYMENTS_CAPTURE] = "capture", [PAYMENTS_REFUND] = "refund",
        [PAYMENTS_VOID] = "void",
    };

    return args_verb(a, verbs, COUNT(verbs), word) ||
           args_wrong(a, word, "is no command of payments; see ichido payments --help");
}

enum payments_parsed payments_args(int argc, char **argv, int64_t now_ms,
                                   struct payments_options *ret_options, struct why *why)
{
    struct args a = { .command = "ichido payments",
                      .options = options,
                      .count = COUNT(options),
                      .ctx = ret_options,
                      .why = why };
    int words = 0;

    *ret_options = (struct payments_options){ .now_ms = now_ms };
    if (args_ask_for_help(argc, argv))
        return PAYMENTS_HELP;
    if (argc < 2) {
        args_wrong(&a, a.command, "needs a command; see ichido payments --help");
        return PAYMENTS_WRONG;
    }
    if (!read_verb(&a, argv[1]))
        return PAYMENTS_WRONG;
    ret_options->verb = (enum payments_verb)a.verb;
    for (int i = 2; i < argc; i++)
        if (!(argv[i][0] == '-' && argv[i][1] ? args_take_option(&a, argc, argv, &i)
                                              : take_word(&a, words++, argv[i])))
            return PAYMENTS_WRONG;
    return payments_args_check(&a, words) ? PAYMENTS_ASKED : PAYMENTS_WRONG;
}
