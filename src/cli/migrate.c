#include "cli/cli.h"
#include "observe/log.h"
#include "server/node.h"

int cli_migrate(int argc, char **argv)
{
    struct node n;
    int code = EXIT_FINE;

    (void)argc;
    (void)argv;
    if (!node_init(&n))
        return EXIT_ASKED_WRONGLY;
    if (node_open_store(&n, NULL, NULL)) /* opening migrates */
        LOG(n.env.log, LOG_INFO, "the database is at this version's schema",
            LOG_TEXT("version", S(ICHIDO_VERSION)));
    else
        code = EXIT_CANNOT;
    node_release(&n);
    return code;
}
