/* main.c - one program, several subcommands. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    { "serve", cli_serve, "serve payments and webhooks (the default)" },
    { "migrate", cli_migrate, "bring the database to this version's schema, and stop" },
    { "help", cli_help, "this list" },
    { "version", cli_version, "the version" },
};

int cli_help(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("ichido - payments that happen once\n\nusage: ichido [command]\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
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

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "serve";

    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    if (argc > 2) { /* no command takes any yet; settings come from the environment */
        fprintf(stderr,
                "ichido: %s takes no arguments; ichido help says where settings come from\n", name);
        return 2;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "ichido: there is no command \"%s\"; ichido help lists them\n", name);
    return 2;
}
