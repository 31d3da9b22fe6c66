/* args.c - reads the arguments of `ichido dlq` into a struct dlq_options: the table of options,
 * their readers, and the rules between them. */
#include "cli/args.h"

#include "base/limits.h"
#include "cli/dlq/command.h"
#include "server/dead_kinds.h"

#include <string.h>

struct reading {
    struct arena *arena;
    struct dlq_options *options;
    int64_t now_ms;
};

void dlq_usage(void)
{
    puts("ichido dlq - dead letters: messages that the queue gave up on\n"
         "\n"
         "usage: ichido dlq list   [filters] [--limit N | --all] [--json]\n"
         "       ichido dlq groups [--kind KIND] [--from TIME] [--to TIME] [--limit N | --all] "
         "[--json]\n"
         "       ichido dlq show   ID [--json]\n"
         "       ichido dlq retry  ID... | filters | --all   [--limit N | --rate N] [--dry-run] "
         "[--json]\n"
         "       ichido dlq retry  ID --body FILE            (edited; - is standard input)\n"
         "       ichido dlq delete ID... | filters | --all   [--limit N] [--dry-run] [--yes] "
         "[--json]\n"
         "\n"
         "filters, all of which must match:\n"
         "  --kind KIND      for example stripe.event, event.deliver, or qstash.deliver: a message "
         "of\n"
         "                   the QStash API\n"
         "  --event ID       the provider's event id (or --ref: whatever the message is about)\n"
         "  --payment ID     the payment that it is about\n"
         "  --reason TEXT    a part of the reason\n"
         "  --cause TEXT     the whole cause, as groups shows it; best with --kind\n"
         "  --from TIME      died then or later: 2026-11-16T09:30:00Z, 2026-11-16, or 24h (ago)\n"
         "  --to TIME        died before that\n"
         "  --id ID          this one; may be given many times\n"
         "\n"
         "ID is what list shows, or the msg_... id of a message of the QStash API.\n"
         "\n"
         "A retried message keeps its id and gets a fresh budget of attempts; one of the kind\n"
         "qstash.deliver is sent under a new id, as the QStash API does it, and keeps its "
         "webhook-id.\n"
         "groups counts dead letters by cause: the reason with ids, numbers and quotes replaced.\n"
         "--rate N makes the server retry N of them a second; Ctrl-C cancels that.\n"
         "While a server has the SQLite file this goes through its admin API and needs\n"
         "ICHIDO_ADMIN_TOKEN.\n"
         "\n"
         "examples:\n"
         "  ichido dlq list --from 24h\n"
         "  ichido dlq retry --kind stripe.event --reason 'no such payment' --dry-run\n"
         "  ichido dlq groups\n"
         "  ichido dlq retry --kind qstash.deliver --cause 'the destination answered #' --rate 20\n"
         "  ichido dlq show msg_019a8c3e7b7a7c3e9a550242ac120002\n"
         "\n"
         "Exit codes: 0 success, 1 nothing matched (but list and groups) or something failed,\n"
         "2 wrong arguments or settings.");
}

/* --- values --- */

static bool is_text(struct str s)
{
    return s.n && s.n <= LIMIT_DEAD_TEXT && str_is_utf8(s);
}

static bool read_kind(void *ctx, struct str value)
{
    struct reading *g = ctx;

    g->options->filter.kind = value;
    return is_text(value);
}

static bool read_ref(void *ctx, struct str value)
{
    struct reading *g = ctx;

    g->options->filter.ref = value;
    return is_text(value);
}

static bool read_reason(void *ctx, struct str value)
{
    struct reading *g = ctx;

    g->options->filter.reason = value;
    return is_text(value);
}

static bool read_cause(void *ctx, struct str value)
{
    struct reading *g = ctx;

    g->options->filter.cause = value;
    return is_text(value);
}

static bool read_rate(void *ctx, struct str value)
{
    struct reading *g = ctx;

    return str_to_i64(value, &g->options->rate) && g->options->rate > 0 &&
           g->options->rate <= LIMIT_REDRIVE_RATE;
}

static bool read_body(void *ctx, struct str value)
{
    struct reading *g = ctx;

    g->options->body = value;
    return value.n;
}

static bool read_payment(void *ctx, struct str value)
{
    struct reading *g = ctx;
    struct dead_filter *f = &g->options->filter;

    f->has_payment = uuid_parse(value, &f->payment);
    return f->has_payment;
}

static bool read_from(void *ctx, struct str value)
{
    struct reading *g = ctx;

    return args_time(value, g->now_ms, &g->options->filter.from_ms);
}

static bool read_to(void *ctx, struct str value)
{
    struct reading *g = ctx;

    return args_time(value, g->now_ms, &g->options->filter.to_ms);
}

static bool read_limit(void *ctx, struct str value)
{
    struct reading *g = ctx;

    return str_to_i64(value, &g->options->limit) && g->options->limit > 0;
}

static bool read_id(void *ctx, struct str value)
{
    struct reading *g = ctx;
    struct dead_kind kinds[DEAD_KINDS];
    struct dead_letters letters = { .kinds = kinds, .kind_count = dead_kinds_fill(kinds, NULL) };
    struct dlq_options *options = g->options;

    if (options->id_count == LIMIT_DEAD_IDS)
        return false;
    if (!options->ids)
        options->ids = arena_alloc(g->arena, LIMIT_DEAD_IDS, sizeof(*options->ids));
    return options->ids && dead_id_read(&letters, value, &options->ids[options->id_count]) &&
           ++options->id_count;
}

static bool read_all(void *ctx, struct str value)
{
    struct reading *g = ctx;

    (void)value;
    return g->options->all = true;
}

static bool read_dry_run(void *ctx, struct str value)
{
    struct reading *g = ctx;

    (void)value;
    return g->options->dry_run = true;
}

static bool read_json(void *ctx, struct str value)
{
    struct reading *g = ctx;

    (void)value;
    return g->options->json = true;
}

static bool read_yes(void *ctx, struct str value)
{
    struct reading *g = ctx;

    (void)value;
    return g->options->yes = true;
}

/* --- options --- */

enum {
    LIST = 1 << DLQ_LIST,
    GROUPS = 1 << DLQ_GROUPS,
    SHOW = 1 << DLQ_SHOW,
    ACTS = 1 << DLQ_RETRY | 1 << DLQ_DELETE
};

static const struct args_option options[] = {
    { "--kind", LIST | GROUPS | ACTS, false, false, read_kind, "needs the kind of a message" },
    { "--event", LIST | ACTS, false, false, read_ref, "needs an event id" },
    { "--ref", LIST | ACTS, false, false, read_ref, "needs what the message is about" },
    { "--payment", LIST | ACTS, false, false, read_payment, "needs the UUID of a payment" },
    { "--reason", LIST | ACTS, false, false, read_reason, "needs a part of the reason" },
    { "--cause", LIST | ACTS, false, false, read_cause, "needs the whole cause of a group" },
    { "--rate", 1 << DLQ_RETRY, false, false, read_rate, "needs a number from 1 to 1000" },
    { "--body", 1 << DLQ_RETRY, false, false, read_body, "needs a file, or - for standard input" },
    { "--from", LIST | GROUPS | ACTS, false, false, read_from,
      "needs a time like 2026-11-16T09:30:00Z, 2026-11-16 or 24h" },
    { "--to", LIST | GROUPS | ACTS, false, false, read_to,
      "needs a time like 2026-11-16T09:30:00Z, 2026-11-16 or 24h" },
    { "--limit", LIST | GROUPS | ACTS, false, false, read_limit, "needs a number of dead letters" },
    { "--id", SHOW | ACTS, false, true, read_id,
      "needs the id of a dead letter, at most 1000 times; ichido dlq list shows them" },
    { "--all", LIST | GROUPS | ACTS, true, false, read_all, "" },
    { "--dry-run", ACTS, true, false, read_dry_run, "" },
    { "--json", LIST | GROUPS | SHOW | ACTS, true, false, read_json, "" },
    { "--yes", 1 << DLQ_DELETE, true, false, read_yes, "" },
};

/* --- all together --- */

static bool check_choice(struct args *a)
{
    const struct reading *g = a->ctx;
    const struct dlq_options *k = g->options;
    bool filtered = !dead_filter_is_empty(&k->filter);
    int choices = (k->id_count > 0) + filtered + k->all;

    if (k->filter.from_ms && k->filter.to_ms && k->filter.from_ms >= k->filter.to_ms)
        return args_wrong(a, "--to", "must be later than --from");
    if (k->verb == DLQ_SHOW)
        return k->id_count == 1 ||
               args_wrong(a, "show", "needs the id of one dead letter; ichido dlq list shows them");
    if (k->verb == DLQ_LIST || k->verb == DLQ_GROUPS)
        return !(k->all && k->limit) || args_wrong(a, "--all", "and --limit exclude each other");
    if (!choices)
        return args_wrong(a, "say which dead letters:", "an id, a filter such as --kind, or --all");
    if (choices > 1)
        return args_wrong(a, "ids, filters and --all", "exclude each other: give one of them");
    if (k->id_count && k->limit)
        return args_wrong(a, "--limit", "does not go with ids");
    if (k->rate && k->limit)
        return args_wrong(a, "--limit", "does not go with --rate; a filter such as --to does");
    if (k->body.n && (k->id_count != 1 || k->rate || k->dry_run))
        return args_wrong(a, "--body", "needs the id of one dead letter and no filter");
    return true;
}

static bool read_verb(struct args *a, const char *word)
{
    static const char *const verbs[] = { "list", "groups", "show", "retry", "delete" };

    return args_verb(a, verbs, COUNT(verbs), word) ||
           args_wrong(a, word, "is not list, groups, show, retry or delete; see ichido dlq --help");
}

static const char *words_for_id(const struct reading *g)
{
    return g->options->id_count == LIMIT_DEAD_IDS
               ? "is one too many: at most 1000 dead letters can be named at once"
               : "is not the whole id of a dead letter: give all of what the first column of "
                 "ichido dlq"
                 " list shows, like 019a8c3e-7b7a-7c3e-9a55-0242ac120002, or msg_...";
}

static bool read_all_arguments(struct args *a, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (argv[i][0] == '-') {
            if (!args_take_option(a, argc, argv, &i))
                return false;
        } else if (a->verb == DLQ_LIST || a->verb == DLQ_GROUPS) {
            return args_wrong(a, argv[i], "is unexpected: only options are allowed here");
        } else if (!read_id(a->ctx, str_of(argv[i]))) {
            return args_wrong(a, argv[i], words_for_id(a->ctx));
        }
    }
    return check_choice(a);
}

enum dlq_parsed dlq_args(int argc, char **argv, struct arena *arena, int64_t now_ms,
                         struct dlq_options *ret_options, struct why *why)
{
    struct reading g = { .arena = arena, .options = ret_options, .now_ms = now_ms };
    struct args a = {
        .command = "ichido dlq", .options = options, .count = COUNT(options), .ctx = &g, .why = why
    };

    *ret_options = (struct dlq_options){ 0 };
    if (args_ask_for_help(argc, argv))
        return DLQ_HELP;
    if (argc < 2) {
        args_wrong(&a, "ichido dlq",
                   "needs list, groups, show, retry or delete; see ichido dlq --help");
        return DLQ_WRONG;
    }
    if (!read_verb(&a, argv[1]))
        return DLQ_WRONG;
    ret_options->verb = (enum dlq_verb)a.verb;
    return read_all_arguments(&a, argc, argv) ? DLQ_ASKED : DLQ_WRONG;
}
