#include "cli/command_store.h"

#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS = 2, FILE_PATH = 4200 };

static void disk_is_broken(void *command, const char *why)
{
    dprintf(STDERR_FILENO, "%s: the database's disk failed: %s\n", (const char *)command, why);
    _exit(EXIT_DISK);
}

struct str command_store_file(const struct node *n)
{
    struct str rest = n->settings.db;

    return str_eq(str_cut(&rest, ':'), S("sqlite")) ? rest : (struct str){ 0 };
}

/* A command must not create a database where there is none. */
static bool is_there(struct str file, struct why *why)
{
    char path[FILE_PATH];

    snprintf(path, sizeof(path), STR_FMT, STR_ARG(file));
    if (access(path, F_OK) == 0)
        return true;
    return why_false(why, "there is no database at %.300s (%s); ICHIDO_DB says where it is", path,
                     strerrordesc_np(errno));
}

enum err command_store_open(struct node *n, const char *command, char ret_owner[ADMIN_OWNER],
                            struct why *why)
{
    char owner[80];
    struct str file = command_store_file(n);
    struct store_options o = { .url = n->settings.db,
                               .connections = CONNECTIONS,
                               .fatal = disk_is_broken,
                               .fatal_ctx = (void *)command };
    enum err e;

    snprintf(owner, sizeof(owner), "the command %s (process %d)", command, (int)getpid());
    o.owner = str_of(owner);
    if (file.n && !is_there(file, why))
        return ERR_NOT_FOUND;
    *why = (struct why){ 0 };
    e = store_open(&o, &n->env, &n->store, why);
    if (e && !why->text[0])
        why_set(why, "%s", err_words(e, LANG_EN));
    if (e == ERR_CONFLICT)
        admin_owner(file, ret_owner);
    return e;
}
