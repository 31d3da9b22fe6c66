/* keys.c - `ichido keys find KEY`: shows what an Idempotency-Key did for any user (O8). */
#include "base/json/json.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/payments/command.h"
#include "domain/key.h"
#include "observe/log.h"

#include <stdio.h>
#include <string.h>

enum { ARENA = 16 * 1024 * 1024 };

static void cli_keys_usage(void)
{
    puts("ichido keys - what became of an Idempotency-Key\n"
         "\n"
         "usage: ichido keys find KEY [--json]\n"
         "\n"
         "For each use of the key: the operation, its state (running, done, or expired: then the\n"
         "key may be used anew), the status of the stored answer, the payment, who used it, and\n"
         "when it expires. While a server has the SQLite file this goes through its admin API and\n"
         "needs ICHIDO_ADMIN_TOKEN.\n"
         "\n"
         "Exit codes: 0 success, 1 the key was not used or something failed, 2 wrong arguments or "
         "settings.");
}

static int print_uses(const cJSON *tree, bool json)
{
    struct payments_table table;
    const cJSON *one, *all = cJSON_GetObjectItemCaseSensitive(tree, "data");

    payments_table_init(&table);
    cJSON_ArrayForEach(one, all)
    {
        if (json)
            answer_print(one);
        else
            payments_table_use(&table, one);
    }
    if (cJSON_GetArraySize(all))
        return EXIT_FINE;
    fputs("this key was not used\n", stderr);
    return EXIT_CANNOT;
}

static int cli_keys_find(struct node *n, struct uuid key, bool json)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    struct payments_source *s = NULL;
    struct arena arena;
    struct why why = { 0 };
    struct str text;
    int code = EXIT_CANNOT;

    arena_init(&arena, ARENA);
    if (!payments_source_open(n, "ichido keys", &s, &why) ||
        payments_source_key(s, &arena, key, &text, &why))
        fprintf(stderr, "ichido keys: %s\n", why.text[0] ? why.text : "it cannot be read");
    else if (json_parse(text, &tree, NULL))
        fputs("ichido keys: the answer is not what was expected\n", stderr);
    else
        code = print_uses(tree, json);
    payments_source_free(s);
    arena_release(&arena);
    return code;
}

static int cli_keys_wrong(const char *why)
{
    fprintf(stderr, "ichido keys: %s; see ichido keys --help\n", why);
    return EXIT_ASKED_WRONGLY;
}

int cli_keys(int argc, char **argv)
{
    bool json = argc == 4 && strcmp(argv[3], "--json") == 0;
    struct node node = { 0 };
    struct uuid key;
    int code;

    if (args_ask_for_help(argc, argv)) {
        cli_keys_usage();
        return EXIT_FINE;
    }
    if (argc < 2 || strcmp(argv[1], "find") != 0)
        return cli_keys_wrong("it needs the command find");
    if (argc < 3 || argc > 4 || (argc == 4 && !json))
        return cli_keys_wrong("find takes one key, and --json");
    if (!key_parse(str_of(argv[2]), &key))
        return cli_keys_wrong("this is no Idempotency-Key (a UUID)");
    if (!node_init(&node))
        return EXIT_ASKED_WRONGLY;
    node_log_errors_only(&node);
    code = cli_keys_find(&node, key, json);
    node_release(&node);
    return code;
}
