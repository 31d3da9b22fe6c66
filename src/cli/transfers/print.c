/* print.c - prints the lists of transfers: aligned columns at a terminal, tabs for programs. */
#include "cli/dlq/command.h"
#include "cli/transfers/command.h"

#include <unistd.h>

enum { COLUMNS_MOST = 8, ID = 36, SHOWN = 48 };

/* --- tables --- */

static const struct column {
    const char *head, *name;
    int width; /* below 0: a number, to the right */
} columns[TRANSFERS_VERBS][COLUMNS_MOST] = {
    [TRANSFERS_LIST] = { { "PAYMENT", "paymentId", ID },
                         { "REFERENCE", "reference", 9 },
                         { "AMOUNT", "amount", -12 },
                         { "CUR", "currency", 3 },
                         { "STATE", "state", 9 },
                         { "CAME ON", "receivedOn", 10 },
                         { "UNTIL (UTC)", "expiresAt", 24 } },
    [TRANSFERS_LINES] = { { "LINE", "id", ID },
                          { "DATE", "date", 10 },
                          { "AMOUNT", "amount", -12 },
                          { "CUR", "currency", 3 },
                          { "STATE", "state", 9 },
                          { "REASON", "reason", 18 },
                          { "TEXT", "text", SHOWN } },
    [TRANSFERS_RETURNS] = { { "RETURN", "id", ID },
                            { "OF A", "kind", 6 },
                            { "AMOUNT", "amount", -12 },
                            { "CUR", "currency", 3 },
                            { "STATE", "state", 5 },
                            { "PAYMENT", "paymentId", ID },
                            { "TEXT", "text", SHOWN } },
    [TRANSFERS_IMPORTS] = { { "IMPORT", "id", ID },
                            { "STATE", "state", 11 },
                            { "DEPOSITS", "deposits", -8 },
                            { "MATCHED", "matched", -8 },
                            { "OPEN", "open", -8 },
                            { "FROM", "firstDate", 10 },
                            { "TO", "lastDate", 10 },
                            { "FILE", "name", SHOWN } },
};

static void print_head(enum transfers_verb verb, bool terminal)
{
    for (const struct column *c = columns[verb]; c < columns[verb] + COLUMNS_MOST && c->head; c++)
        if (terminal)
            printf("%*s  ", -c->width, c->head);
        else
            printf("%s%s", c == columns[verb] ? "" : "\t", c->head);
    putchar('\n');
}

static void print_cell(const struct column *c, const cJSON *item, bool terminal)
{
    struct str text = answer_text(item, c->name);
    size_t n = dlq_chars(text);

    if (c->width < 0 && terminal)
        printf("%*lld  ", -c->width, answer_number(item, c->name));
    else if (c->width < 0)
        printf("%lld", answer_number(item, c->name));
    else
        dlq_put(stdout, text.n ? text : S("-"), terminal ? (size_t)c->width + 1 : SIZE_MAX);
    if (c->width > 0 && terminal)
        printf("%*s  ", n < (size_t)c->width ? c->width - (int)(n ? n : 1) : 0, "");
}

static const char *words_for(struct str because)
{
    static const struct {
        const char *because, *words;
    } all[] = { { "reference", "it says so" },
                { "reference_near", "a slip of the pen away" },
                { "payer", "the same payer before" },
                { "amount", "the same amount" } };

    for (size_t i = 0; i < COUNT(all); i++)
        if (str_eq(because, str_of(all[i].because)))
            return all[i].words;
    return "";
}

static void print_candidates(const cJSON *item)
{
    const cJSON *one;

    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(item, "candidates"))
    {
        fputs("    perhaps ", stdout);
        dlq_put(stdout, answer_text(one, "reference"), SIZE_MAX);
        printf(" (");
        dlq_put(stdout, answer_text(one, "paymentId"), SIZE_MAX);
        printf("), %lld ", answer_number(one, "amount"));
        dlq_put(stdout, answer_text(one, "currency"), SIZE_MAX);
        fputs(", ", stdout);
        dlq_put(stdout, answer_text(one, "state"), SIZE_MAX);
        printf(": %s\n", words_for(answer_text(one, "because")));
    }
}

/* Prints aligned columns on a terminal; otherwise tabs, and nothing is cut. */
void transfers_print(enum transfers_verb verb, const cJSON *item, bool *headed)
{
    bool terminal = isatty(STDOUT_FILENO);

    if (!*headed)
        print_head(verb, terminal);
    *headed = true;
    for (const struct column *c = columns[verb]; c < columns[verb] + COLUMNS_MOST && c->head; c++) {
        if (c != columns[verb] && !terminal)
            putchar('\t');
        print_cell(c, item, terminal);
    }
    putchar('\n');
    print_candidates(item);
}

/* --- an import --- */

/* Prints the lines in `name`, which are the first of `count` lines. */
static void print_lines(const cJSON *sums, const char *name, const char *count)
{
    const cJSON *one, *lines = cJSON_GetObjectItemCaseSensitive(sums, name);

    cJSON_ArrayForEach(one, lines)
    {
        printf("  line %lld  ", answer_number(one, "line"));
        dlq_put(stdout, answer_text(one, "date"), SIZE_MAX);
        printf("  %lld  ", answer_number(one, "amount"));
        if (answer_text(one, "reason").n) {
            dlq_put(stdout, answer_text(one, "reason"), SIZE_MAX);
            fputs("  ", stdout);
        }
        dlq_put(stdout, answer_text(one, "text"), SHOWN + 1);
        putchar('\n');
    }
    if (answer_number(sums, count) > cJSON_GetArraySize(lines))
        printf("  ... and %lld more\n", answer_number(sums, count) - cJSON_GetArraySize(lines));
}

static void print_alike(const cJSON *sums)
{
    long long n = answer_number(sums, "alike");

    if (!n)
        return;
    printf("of the known, %lld without a balance and without the bank's own number:\n", n);
    print_lines(sums, "alikeLines", "alike");
    fputs("such a line may also be an equal deposit of the same day: look at the account, and "
          "confirm\n"
          "what is missing (ichido transfers confirm). A file with balances tells them apart\n",
          stderr);
}

void transfers_print_import(const char *file, const cJSON *sums)
{
    bool dry = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(sums, "dryRun"));
    struct str first = answer_text(sums, "firstDate");

    dlq_put(stdout, str_of(file), SIZE_MAX);
    printf(": %lld deposit%s", answer_number(sums, "deposits"),
           answer_number(sums, "deposits") == 1 ? "" : "s");
    if (first.n) {
        fputs(" from ", stdout);
        dlq_put(stdout, first, SIZE_MAX);
        fputs(" to ", stdout);
        dlq_put(stdout, answer_text(sums, "lastDate"), SIZE_MAX);
    }
    printf(", %lld row%s ignored\n", answer_number(sums, "ignored"),
           answer_number(sums, "ignored") == 1 ? "" : "s");
    printf("%lld new, %lld known, %lld %smatched, %lld %sleft open%s\n", answer_number(sums, "new"),
           answer_number(sums, "known"), answer_number(sums, "matched"), dry ? "would be " : "",
           answer_number(sums, "open"), dry ? "would be " : "", dry ? "; nothing was changed" : "");
    print_lines(sums, "left", "open");
    print_alike(sums);
    if (answer_number(sums, "open") && !dry)
        fputs("ichido transfers lines shows whom they may have meant\n", stderr);
}
