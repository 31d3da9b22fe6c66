/* main.c - one program, several subcommands. */
#include "base/str.h"
#include "cli/cli.h"
#include "server/serve.h"

#include <stdio.h>
#include <string.h>

enum { NEAR = 2 }; /* letters that a typing mistake has wrong */

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
    bool takes_arguments;
} commands[] = {
    { "serve", serve_main, "serve payments and webhooks (the default)", false },
    { "payments", cli_payments,
      "payments: find, show, timeline, capture, refund, void (ichido payments --help)", true },
    { "keys", cli_keys, "what an Idempotency-Key did (ichido keys --help)", true },
    { "dlq", cli_dlq, "dead letters: list, groups, show, retry, delete (ichido dlq --help)", true },
    { "replay", cli_replay, "apply events again: one, or those of some time (ichido replay --help)",
      true },
    { "audit", cli_audit, "the audit log: list, verify, export (ichido audit --help)", true },
    { "operators", cli_operators,
      "people who may log in: add, list, passwd, role, disable (ichido operators --help)", true },
    { "reconcile", cli_reconcile,
      "compare a day with the provider's books (ichido reconcile --help)", true },
    { "transfers", cli_transfers,
      "bank transfers: import, list, confirm, assign (ichido transfers --help)", true },
    { "trigger", cli_trigger, "make the sandbox send an event (ichido trigger --help)", true },
    { "doctor", cli_doctor, "look for what is wrong, and say what to do (ichido doctor --help)",
      true },
    { "backup", cli_backup, "copy the database while it is in use (ichido backup --help)", true },
    { "migrate", cli_migrate, "bring the database to this version's schema, and stop", false },
    { "completion", cli_completion, "a script for bash or zsh that completes all of this", true },
    { "help", cli_help, "this list", false },
    { "version", cli_version, "the version", false },
};

int cli_help(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("ichido - payments that happen once\n\nusage: ichido [command]\n");
    for (size_t i = 0; i < COUNT(commands); i++)
        printf("  %-10s %s\n", commands[i].name, commands[i].help);
    puts("\nSettings come from the environment or from the file that ICHIDO_CONFIG names;\n"
         "docs/settings.md lists them. Secrets are never taken from the command line.");
    return 0;
}

int cli_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("ichido " ICHIDO_VERSION);
    return 0;
}

static int refuse_arguments(const char *name)
{
    fprintf(stderr, "ichido: %s takes no arguments; ichido help says where settings come from\n",
            name);
    return 2;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int no_such_command(const char *name)
{
    const char *near = NULL;
    size_t least = NEAR + 1;

    for (size_t i = 0; i < COUNT(commands); i++) {
        size_t d = str_distance(str_of(name), str_of(commands[i].name));

        if (d < least && d < strlen(commands[i].name)) {
            least = d;
            near = commands[i].name;
        }
    }
    fprintf(stderr, "ichido: there is no command \"%s\"", name);
    if (near)
        fprintf(stderr, "; did you mean %s?", near);
    fputs(near ? " ichido help lists them all\n" : "; ichido help lists them\n", stderr);
    return 2;
}

static int help_of(const char *name)
{
    static char ask[] = "--help";

    for (size_t i = 0; i < COUNT(commands); i++) {
        char *argv[] = { (char *)commands[i].name, ask, NULL };

        if (strcmp(name, commands[i].name) == 0)
            return commands[i].takes_arguments ? commands[i].run(2, argv) : cli_help(1, argv);
    }
    return no_such_command(name);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "serve";

    if (is_help(name))
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    for (size_t i = 0; i < COUNT(commands); i++) {
        if (strcmp(name, commands[i].name) != 0)
            continue;
        if (argc == 3 && commands[i].run == cli_help && !is_help(argv[2]))
            return help_of(argv[2]);
        if (argc == 3 && !commands[i].takes_arguments && is_help(argv[2]))
            return cli_help(argc, argv);
        if (argc > 2 && !commands[i].takes_arguments)
            return refuse_arguments(name);
        return commands[i].run(argc - 1, argv + 1);
    }
    return no_such_command(name);
}
