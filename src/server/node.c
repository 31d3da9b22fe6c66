/* node.c - what every command needs first: the settings, the environment and the database.
 *
 * A failed fsync ends the process at once (EXIT_DISK), so that no answer depends on data that may
 * be lost. Nothing here outlives a crash. */
#include "server/node.h"

#include "base/version.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/exit.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *from_environment(const char *name)
{
    return getenv(name);
}

static enum log_level level_of(struct str name)
{
    static const struct str names[] = { { "debug", 5 }, { "info", 4 }, { "warn", 4 } };

    for (size_t i = 0; i < COUNT(names); i++)
        if (str_eq(name, names[i]))
            return (enum log_level)i;
    return LOG_ERROR;
}

static bool wants_text(struct str format)
{
    if (str_eq(format, S("auto")))
        return isatty(STDERR_FILENO);
    return str_eq(format, S("text"));
}

/* https://no-color.org: NO_COLOR turns colours off where it is set and not empty. */
static bool wants_colours(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDERR_FILENO) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

static struct log *node_log_new(struct node *n, enum log_level least, bool threaded)
{
    struct log *l = log_new(&n->env.clock, STDERR_FILENO, least, threaded);

    if (wants_text(n->settings.log_format))
        log_set_text(l, wants_colours());
    return l;
}

void node_log_errors_only(struct node *n)
{
    log_free(n->env.log);
    n->env.log = node_log_new(n, LOG_ERROR, false);
}

static bool load_settings(struct settings *s)
{
    struct buf problems;
    bool fine;

    buf_init(&problems, 64 * 1024);
    fine = settings_load(s, from_environment, environ, &problems);
    if (!fine)
        fprintf(stderr, "ichido: these settings are wrong:\n" STR_FMT, STR_ARG(buf_str(&problems)));
    buf_release(&problems);
    return fine;
}

bool node_init(struct node *n)
{
    *n = (struct node){ 0 };
    mallopt(M_ARENA_MAX, 6); /* one for each thread wastes memory, with two the threads wait */
    if (!load_settings(&n->settings))
        return false;
    clock_init(&n->env.clock);
    rng_init_kernel(&n->env.rng);
    n->env.node = env_uuid(&n->env);
    n->env.patience = n->settings.test_patience;
    faults_parse(&n->env.faults, n->settings.faults); /* settings_load has checked the form */
    n->env.log = node_log_new(n, level_of(n->settings.log_level), true);
    n->env.metrics = metrics_new();
    metrics_set_version(n->env.metrics, ICHIDO_VERSION);
    metrics_set(n->env.metrics, GAUGE_START, (double)clock_wall_ms(&n->env.clock) / 1000);
    return true;
}

/* After a failed fsync the written data may be lost (fsyncgate), and an answer could be wrong. The
 * process ends; the next start reads what the disk really has. */
static void disk_is_broken(void *ctx, const char *why)
{
    (void)ctx;
    dprintf(STDERR_FILENO,
            "{\"level\":\"error\",\"message\":\"the database's disk failed; stopping without "
            "answering\",\"why\":\"%s\"}\n",
            why);
    _exit(EXIT_DISK);
}

bool node_open_store(struct node *n, void (*hint)(void *ctx), void *hint_ctx)
{
    struct store_options o = {
        .url = n->settings.db,
        .owner = n->settings.listen,
        .connections = n->settings.db_connections,
        .fatal = disk_is_broken,
        .hint = hint,
        .hint_ctx = hint_ctx,
    };
    struct why why = { 0 };

    if (store_open(&o, &n->env, &n->store, &why) == OK)
        return true;
    LOG(n->env.log, LOG_ERROR, "the database could not be opened",
        LOG_TEXT("why", str_of(why.text)));
    return false;
}

void node_close_store(struct node *n)
{
    store_free(n->store);
    n->store = NULL;
}

void node_release(struct node *n)
{
    node_close_store(n);
    log_free(n->env.log);
    metrics_free(n->env.metrics);
    settings_release(&n->settings);
}
