/* completion.c - `ichido completion bash|zsh`: prints a script for the shell. The script reads the
 * help of each command, so there is no second list of verbs and options. */
#include "cli/cli.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The commands of `ichido help`, then the verbs and options of `ichido COMMAND --help`. */
#define WORDS                                                                                      \
    "_ichido_words() { # _ichido_words PROGRAM [COMMAND]\n"                                        \
    "    if [ -z \"$2\" ]; then\n"                                                                 \
    "        \"$1\" help 2>/dev/null | sed -n 's/^  \\([a-z]*\\) .*/\\1/p'\n"                      \
    "        return\n"                                                                             \
    "    fi\n"                                                                                     \
    "    case $2 in\n"                                                                             \
    "    completion) printf 'bash\\nzsh\\n'; return ;;\n"                                          \
    "    serve|help|version|migrate) return ;;\n"                                                  \
    "    esac\n"                                                                                   \
    "    LC_ALL=C \"$1\" \"$2\" --help 2>/dev/null |\n"                                            \
    "        sed -n -e \"s/.*ichido $2 \\([a-z][a-z-]*\\).*/\\1/p\" | sort -u\n"                   \
    "    LC_ALL=C \"$1\" \"$2\" --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*' | sort -u\n"      \
    "}\n"

static const char bash[] =
    "# ichido completion bash. To use it: . <(ichido completion bash)\n" WORDS "_ichido() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} command=\n"
    "    [ \"$COMP_CWORD\" -gt 1 ] && command=${COMP_WORDS[1]}\n"
    "    COMPREPLY=($(compgen -W \"$(_ichido_words \"${COMP_WORDS[0]}\" \"$command\")\" -- "
    "\"$cur\"))\n"
    "}\n"
    "complete -o default -F _ichido ichido\n";

static const char zsh[] =
    "#compdef ichido\n"
    "# ichido completion zsh. To use it: source <(ichido completion zsh)\n" WORDS "_ichido() {\n"
    "    local command=\n"
    "    (( CURRENT > 2 )) && command=${words[2]}\n"
    "    compadd -- ${(f)\"$(_ichido_words ${words[1]} $command)\"}\n"
    "    _files\n"
    "}\n"
    "# loaded by name from $fpath, it is called at once; sourced, it is made known\n"
    "if [ \"${funcstack[1]}\" = _ichido ]; then _ichido; else compdef _ichido ichido; fi\n";

int cli_completion(int argc, char **argv)
{
    const char *shell = argc == 2 ? argv[1] : "";

    if (strcmp(shell, "bash") == 0)
        fputs(bash, stdout);
    else if (strcmp(shell, "zsh") == 0)
        fputs(zsh, stdout);
    else {
        bool asked = strcmp(shell, "--help") == 0 || strcmp(shell, "-h") == 0;

        fputs("usage: ichido completion bash|zsh\n\n"
              "Prints a script that completes commands, verbs and options:\n\n"
              "  . <(ichido completion bash)       in ~/.bashrc\n"
              "  source <(ichido completion zsh)   in ~/.zshrc, after compinit\n",
              asked ? stdout : stderr);
        return asked ? EXIT_FINE : EXIT_ASKED_WRONGLY;
    }
    return EXIT_FINE;
}
