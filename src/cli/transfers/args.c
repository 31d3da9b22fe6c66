/* args.c - reads the arguments of `ichido transfers` into a struct transfers_options. */
#include "cli/args.h"

#include "cli/transfers/command.h"
#include "domain/day.h"
#include "domain/money.h"
#include "domain/reference.h"

#include <stdio.h>
#include <string.h>

void transfers_usage(void)
{
    puts(
        "ichido transfers - bank transfers: what came in, what for, and what goes back\n"
        "\n"
        "usage: ichido transfers import FILE [--dry-run] [--account NAME] [--currency JPY]\n"
        "                       [--charset utf-8|shift_jis] [--date-column C] [--amount-column C]\n"
        "                       [--text-column C] [--balance-column C] [--id-column C] [--json]\n"
        "       ichido transfers list    [--state open|received|returning|canceled] [--reference "
        "R]\n"
        "       ichido transfers lines   [--state open|matched|assigned|set_aside|to_return|"
        "returned|all]\n"
        "       ichido transfers returns [--state due|paid|all]\n"
        "       ichido transfers imports\n"
        "                       these four: [--limit N | --all] [--json]\n"
        "       ichido transfers confirm PAYMENT --amount N --date 2026-11-16 [--note TEXT]\n"
        "       ichido transfers assign LINE PAYMENT|REFERENCE [--note TEXT]\n"
        "       ichido transfers set-aside LINE --reason TEXT [--return]\n"
        "       ichido transfers paid RETURN --date 2026-11-16 [--note TEXT]\n"
        "\n"
        "A file is a bank's CSV in UTF-8 or Shift_JIS. Its columns are known by their headings; C "
        "is\n"
        "a heading or a number. Lines that fit no transfer by reference and amount stay open: "
        "lines\n"
        "shows them, and whom they may have meant. The same file again changes nothing.\n"
        "\n"
        "All of it goes through the running server's admin API and needs ICHIDO_ADMIN_TOKEN.\n"
        "\n"
        "examples:\n"
        "  ichido transfers import meisai.csv --dry-run\n"
        "  ichido transfers lines\n"
        "  ichido transfers assign 019a8c3e-7b7a-7c3e-9a55-0242ac120002 123456786\n"
        "\n"
        "Exit codes: 0 success, 1 something failed, 2 wrong arguments or settings.");
}

/* --- values --- */

#define TEXT_OPTION(name)                                                                          \
    static bool read_##name(void *ctx, struct str value)                                           \
    {                                                                                              \
        struct transfers_options *k = ctx;                                                         \
                                                                                                   \
        k->name = value;                                                                           \
        return value.n && str_is_utf8(value);                                                      \
    }
TEXT_OPTION(note)
TEXT_OPTION(account)
TEXT_OPTION(currency)
TEXT_OPTION(charset)
TEXT_OPTION(state)
TEXT_OPTION(date_column)
TEXT_OPTION(amount_column)
TEXT_OPTION(text_column)
TEXT_OPTION(balance_column)
TEXT_OPTION(id_column)

static bool read_date(void *ctx, struct str value)
{
    struct transfers_options *k = ctx;
    int64_t day;

    k->date = value;
    return day_parse(value, &day);
}

static bool read_amount(void *ctx, struct str value)
{
    struct transfers_options *k = ctx;

    return str_to_i64(value, &k->amount) && k->amount >= 1 && k->amount <= MONEY_MAX;
}

static bool read_limit(void *ctx, struct str value)
{
    struct transfers_options *k = ctx;

    return str_to_i64(value, &k->limit) && k->limit >= 1;
}

static bool read_reference(void *ctx, struct str value)
{
    struct transfers_options *k = ctx;
    struct reference found[REFERENCES_FOUND];

    k->reference = value;
    return str_is_utf8(value) && reference_find(value, found) == 1;
}

static bool set_dry_run(void *ctx, struct str value)
{
    struct transfers_options *k = ctx;

    (void)value;
    return k->dry_run = true;
}

static bool set_json(void *ctx, struct str value)
{
    struct transfers_options *k = ctx;

    (void)value;
    return k->json = true;
}

static bool set_all(void *ctx, struct str value)
{
    struct transfers_options *k = ctx;

    (void)value;
    return k->all = true;
}

static bool set_return(void *ctx, struct str value)
{
    struct transfers_options *k = ctx;

    (void)value;
    return k->to_return = true;
}

/* --- options --- */

#define ON(verb) (1 << TRANSFERS_##verb)
enum {
    LISTS = ON(LIST) | ON(LINES) | ON(RETURNS) | ON(IMPORTS),
    ACTS = ON(CONFIRM) | ON(ASSIGN) | ON(SET_ASIDE) | ON(PAID)
};

static const struct args_option options[] = {
    { "--dry-run", ON(IMPORT), true, false, set_dry_run, "" },
    { "--account", ON(IMPORT), false, false, read_account, "needs a name" },
    { "--currency", ON(IMPORT), false, false, read_currency, "needs a code like JPY" },
    { "--charset", ON(IMPORT), false, false, read_charset, "needs utf-8 or shift_jis" },
    { "--date-column", ON(IMPORT), false, false, read_date_column, "needs a heading or a number" },
    { "--amount-column", ON(IMPORT), false, false, read_amount_column,
      "needs a heading or a number" },
    { "--text-column", ON(IMPORT), false, false, read_text_column, "needs a heading or a number" },
    { "--balance-column", ON(IMPORT), false, false, read_balance_column,
      "needs a heading or a number" },
    { "--id-column", ON(IMPORT), false, false, read_id_column, "needs a heading or a number" },
    { "--state", ON(LIST) | ON(LINES) | ON(RETURNS), false, false, read_state, "needs a state" },
    { "--reference", ON(LIST), false, false, read_reference,
      "needs nine digits, of which the last checks the others" },
    { "--limit", LISTS, false, false, read_limit, "needs a number" },
    { "--all", LISTS, true, false, set_all, "" },
    { "--json", ON(IMPORT) | LISTS | ACTS, true, false, set_json, "" },
    { "--amount", ON(CONFIRM), false, false, read_amount,
      "needs a whole number from 1 to 99999999" },
    { "--date", ON(CONFIRM) | ON(PAID), false, false, read_date, "needs a day like 2026-11-16" },
    { "--note", ON(CONFIRM) | ON(ASSIGN) | ON(PAID), false, false, read_note, "needs a text" },
    { "--reason", ON(SET_ASIDE), false, false, read_note, "needs a text" },
    { "--return", ON(SET_ASIDE), true, false, set_return, "" },
};

/* --- words --- */

static bool take_word(struct args *a, int number, const char *word)
{
    struct reference found[REFERENCES_FOUND];
    struct transfers_options *k = a->ctx;
    struct uuid payment;

    if (k->verb == TRANSFERS_IMPORT && number == 0) {
        k->file = word;
        return true;
    }
    if ((ACTS & 1 << k->verb) && number == 0)
        return uuid_parse(str_of(word), &k->id) || args_wrong(a, word, "is not an id (a UUID)");
    if (k->verb == TRANSFERS_ASSIGN && number == 1) {
        k->whose = str_of(word);
        return uuid_parse(k->whose, &payment) ||
               (str_is_utf8(k->whose) && reference_find(k->whose, found) == 1) ||
               args_wrong(a, word, "is neither a payment's id nor a reference of nine digits");
    }
    return args_wrong(a, word, "is unexpected; see ichido transfers --help");
}

static bool transfers_args_check(struct args *a, int words)
{
    const struct transfers_options *k = a->ctx;

    if (k->verb == TRANSFERS_IMPORT && !k->file)
        return args_wrong(a, "import", "needs a bank's CSV file");
    if (k->verb == TRANSFERS_ASSIGN && words < 2)
        return args_wrong(a, "assign", "needs a line's id, and a payment's id or a reference");
    if ((ACTS & 1 << k->verb) && !words)
        return args_wrong(a, "this command", "needs an id; see ichido transfers --help");
    if (k->verb == TRANSFERS_CONFIRM && !(k->amount && k->date.n))
        return args_wrong(a, "confirm", "needs --amount and --date");
    if (k->verb == TRANSFERS_PAID && !k->date.n)
        return args_wrong(a, "paid", "needs --date");
    if (k->verb == TRANSFERS_SET_ASIDE && !k->note.n)
        return args_wrong(a, "set-aside", "needs --reason");
    return !(k->all && k->limit) || args_wrong(a, "--all", "and --limit exclude each other");
}

static bool read_verb(struct args *a, const char *word)
{
    static const char *const verbs[TRANSFERS_VERBS] = {
        [TRANSFERS_IMPORT] = "import",   [TRANSFERS_LIST] = "list",
        [TRANSFERS_LINES] = "lines",     [TRANSFERS_RETURNS] = "returns",
        [TRANSFERS_IMPORTS] = "imports", [TRANSFERS_CONFIRM] = "confirm",
        [TRANSFERS_ASSIGN] = "assign",   [TRANSFERS_SET_ASIDE] = "set-aside",
        [TRANSFERS_PAID] = "paid",
    };

    return args_verb(a, verbs, COUNT(verbs), word) ||
           args_wrong(a, word, "is no command of transfers; see ichido transfers --help");
}

enum transfers_parsed transfers_args(int argc, char **argv, struct transfers_options *ret_options,
                                     struct why *why)
{
    struct args a = { .command = "ichido transfers",
                      .options = options,
                      .count = COUNT(options),
                      .ctx = ret_options,
                      .why = why };
    int words = 0; /* after the verb, without options */

    *ret_options = (struct transfers_options){ 0 };
    if (args_ask_for_help(argc, argv))
        return TRANSFERS_HELP;
    if (argc < 2) {
        args_wrong(&a, a.command, "needs a command; see ichido transfers --help");
        return TRANSFERS_WRONG;
    }
    if (!read_verb(&a, argv[1]))
        return TRANSFERS_WRONG;
    ret_options->verb = (enum transfers_verb)a.verb;
    for (int i = 2; i < argc; i++)
        if (!(argv[i][0] == '-' ? args_take_option(&a, argc, argv, &i)
                                : take_word(&a, words++, argv[i])))
            return TRANSFERS_WRONG;
    return transfers_args_check(&a, words) ? TRANSFERS_ASKED : TRANSFERS_WRONG;
}
