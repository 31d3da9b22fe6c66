/* args.c - reads the arguments of `ichido audit` into a struct audit_options. */
#include "cli/args.h"

#include "base/limits.h"
#include "cli/audit/command.h"

#include <stdio.h>
#include <string.h>

struct audit_args_reading {
    struct audit_options *options;
    int64_t now_ms;
};

void audit_usage(void)
{
    puts(
        "ichido audit - lists, verifies and exports the audit log: who did what, and when\n"
        "\n"
        "usage: ichido audit list   [filters] [--limit N | --all] [--json]\n"
        "       ichido audit verify [--expect N:HASH] [--json]\n"
        "       ichido audit export [--format jsonl|csv]\n"
        "\n"
        "filters, all of which must match:\n"
        "  --operation NAME  for example CREATE, CAPTURE, REFUND, VOID, DLQ_RETRY\n"
        "  --payment ID      of this payment\n"
        "  --user ID         of this person\n"
        "  --subject TEXT    what it is about: an id, an event\n"
        "  --result RESULT   success or failure\n"
        "  --from TIME       then or later: 2026-11-16T09:30:00Z, 2026-11-16, or 24h (ago)\n"
        "  --to TIME         before that\n"
        "\n"
        "verify follows the chain of seals and names each row that was changed, moved, removed\n"
        "or inserted later, and how many rows are not sealed yet (a server seals them within\n"
        "seconds). Who can write to the database can also make a whole new chain: --expect with a\n"
        "head that you kept elsewhere (the log line \"audit sealed\", or an earlier verify) finds\n"
        "that, and a tail that was cut off.\n"
        "\n"
        "export writes all rows to standard output, in the order of the chain and with its "
        "hashes.\n"
        "\n"
        "While a server has the SQLite file this goes through its admin API and needs\n"
        "ICHIDO_ADMIN_TOKEN.\n"
        "\n"
        "examples:\n"
        "  ichido audit list --operation REFUND --from 24h\n"
        "  ichido audit verify --expect 1234:9f86d081884c7d65...\n"
        "  ichido audit export --format csv > audit.csv\n"
        "\n"
        "Exit codes: 0 success, 1 nothing matched, a problem was found or something failed, 2 "
        "wrong\n"
        "arguments or settings.");
}

/* --- values --- */

static bool set_text(struct str value, struct str *ret_text)
{
    *ret_text = value;
    return value.n && value.n <= LIMIT_AUDIT_TEXT && str_is_utf8(value);
}

/* Operations are upper case. The text is changed in place, which argv allows. */
static bool read_operation(void *ctx, struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] >= 'a' && value.p[i] <= 'z')
            ((char *)value.p)[i] = (char)(value.p[i] - ('a' - 'A'));
    return set_text(value, &((struct audit_args_reading *)ctx)->options->filter.operation);
}

static bool read_subject(void *ctx, struct str value)
{
    return set_text(value, &((struct audit_args_reading *)ctx)->options->filter.subject);
}

static bool read_result(void *ctx, struct str value)
{
    return set_text(value, &((struct audit_args_reading *)ctx)->options->filter.result);
}

static bool read_payment(void *ctx, struct str value)
{
    struct audit_filter *f = &((struct audit_args_reading *)ctx)->options->filter;

    return f->has_payment = uuid_parse(value, &f->payment);
}

static bool read_user(void *ctx, struct str value)
{
    struct audit_filter *f = &((struct audit_args_reading *)ctx)->options->filter;

    return f->has_user = uuid_parse(value, &f->user);
}

static bool read_from(void *ctx, struct str value)
{
    struct audit_args_reading *g = ctx;

    return args_time(value, g->now_ms, &g->options->filter.from_ms);
}

static bool read_to(void *ctx, struct str value)
{
    struct audit_args_reading *g = ctx;

    return args_time(value, g->now_ms, &g->options->filter.to_ms);
}

static bool read_limit(void *ctx, struct str value)
{
    struct audit_args_reading *g = ctx;

    return str_to_i64(value, &g->options->limit) && g->options->limit > 0;
}

static bool read_expect(void *ctx, struct str value)
{
    struct audit_args_reading *g = ctx;

    g->options->expect_text = value;
    return audit_expect_read(value, &g->options->expect);
}

static bool read_format(void *ctx, struct str value)
{
    struct audit_args_reading *g = ctx;

    g->options->format = str_eq(value, S("csv")) ? AUDIT_CSV : AUDIT_JSONL;
    return g->options->format == AUDIT_CSV || str_eq(value, S("jsonl"));
}

static bool read_all(void *ctx, struct str value)
{
    (void)value;
    return ((struct audit_args_reading *)ctx)->options->all = true;
}

static bool read_json(void *ctx, struct str value)
{
    (void)value;
    return ((struct audit_args_reading *)ctx)->options->json = true;
}

/* --- all together --- */

enum { LIST = 1 << AUDIT_DO_LIST, VERIFY = 1 << AUDIT_DO_VERIFY, EXPORT = 1 << AUDIT_DO_EXPORT };

#define NEEDS_TIME "needs a time like 2026-11-16T09:30:00Z, 2026-11-16 or 24h"

static const struct args_option options[] = {
    { "--operation", LIST, false, false, read_operation, "needs the name of an operation" },
    { "--payment", LIST, false, false, read_payment, "needs the UUID of a payment" },
    { "--user", LIST, false, false, read_user, "needs the UUID of a person" },
    { "--subject", LIST, false, false, read_subject, "needs what it is about" },
    { "--result", LIST, false, false, read_result, "needs a result: success, failure" },
    { "--from", LIST, false, false, read_from, NEEDS_TIME },
    { "--to", LIST, false, false, read_to, NEEDS_TIME },
    { "--limit", LIST, false, false, read_limit, "needs a number of rows" },
    { "--all", LIST, true, false, read_all, "" },
    { "--json", LIST | VERIFY, true, false, read_json, "" },
    { "--expect", VERIFY, false, false, read_expect,
      "needs the number of a seal, a colon, and its hash of 64 hex digits" },
    { "--format", EXPORT, false, false, read_format, "needs jsonl or csv" },
};

static bool audit_args_check(struct args *a)
{
    const struct audit_options *k = ((struct audit_args_reading *)a->ctx)->options;

    if (k->filter.from_ms && k->filter.to_ms && k->filter.from_ms >= k->filter.to_ms)
        return args_wrong(a, "--to", "must be later than --from");
    return !(k->all && k->limit) || args_wrong(a, "--all", "and --limit exclude each other");
}

static bool read_all_arguments(struct args *a, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (argv[i][0] != '-')
            return args_wrong(a, argv[i], "is unexpected: only options are allowed here");
        if (!args_take_option(a, argc, argv, &i))
            return false;
    }
    return audit_args_check(a);
}

enum audit_parsed audit_args(int argc, char **argv, int64_t now_ms,
                             struct audit_options *ret_options, struct why *why)
{
    static const char *const verbs[] = { "list", "verify", "export" };
    struct audit_args_reading g = { .options = ret_options, .now_ms = now_ms };
    struct args a = { .command = "ichido audit",
                      .options = options,
                      .count = COUNT(options),
                      .ctx = &g,
                      .why = why };

    *ret_options = (struct audit_options){ 0 };
    if (args_ask_for_help(argc, argv))
        return AUDIT_HELP;
    if (argc < 2)
        args_wrong(&a, "ichido audit", "needs list, verify or export; see ichido audit --help");
    else if (!args_verb(&a, verbs, COUNT(verbs), argv[1]))
        args_wrong(&a, argv[1], "is not list, verify or export; see ichido audit --help");
    if (why->text[0])
        return AUDIT_WRONG;
    ret_options->verb = (enum audit_verb)a.verb;
    return read_all_arguments(&a, argc, argv) ? AUDIT_ASKED : AUDIT_WRONG;
}
