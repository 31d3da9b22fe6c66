/* redrive.c - starts a redrive or a replay and shows its progress. The server does the work and
 * continues when this command is killed. The first Ctrl-C cancels the redrive, the second one ends
 * this command. */
#include "base/json/json.h"
#include "base/limits.h"
#include "cli/admin_ask.h"
#include "cli/cli.h"
#include "cli/dlq/command.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum { LOOK_MS = 300, ID_TEXT = 64, PATH_TEXT = 160, ARENA = 8 * 1024 * 1024 };

struct watching {
    const char *command;
    struct admin *admin;
    struct arena arena; /* of one answer */
    char id[ID_TEXT];
    struct why why;
    bool json;
};

static int redrive_failed(const struct watching *w)
{
    fprintf(stderr, "%s: %s\n", w->command, w->why.text);
    return EXIT_CANNOT;
}

/* Returns the answer as a tree; NULL: w->why says why. */
static cJSON *redrive_ask(struct watching *w, const char *method, struct str path, struct str body)
{
    cJSON *tree = NULL;
    struct str answer;
    int status;

    arena_release(&w->arena);
    if (admin_ask(w->admin, &w->arena, method, path, ADMIN_JSON, body, &status, &answer, &w->why))
        return NULL;
    json_parse(answer, &tree, NULL); /* NULL where it is none */
    if (tree && (status == 200 || status == 202))
        return tree;
    admin_problem(status, tree, &w->why);
    cJSON_Delete(tree);
    return NULL;
}

static cJSON *redrive_look(struct watching *w, const char *method, const char *verb)
{
    char path[PATH_TEXT];

    snprintf(path, sizeof(path), "/api/v1/admin/redrives/%s%s", w->id, verb);
    return redrive_ask(w, method, str_of(path), S(""));
}

static bool is_running(const cJSON *redrive)
{
    return strcmp(answer_words(redrive, "state"), "running") == 0;
}

static void print_refusals(const cJSON *redrive)
{
    const cJSON *one;

    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(redrive, "refusals"))
    {
        fputs("  ", stderr);
        dlq_put(stderr, answer_text(one, "id"), SIZE_MAX);
        fputs("  ", stderr);
        dlq_put(stderr, answer_text(one, "why"), SIZE_MAX);
        fputc('\n', stderr);
    }
}

static int print_end(const struct watching *w, const cJSON *redrive)
{
    bool fine = strcmp(answer_words(redrive, "state"), "done") == 0;
    long long refused = answer_number(redrive, "refused"), done = answer_number(redrive, "done");

    if (w->json)
        answer_print(redrive);
    else
        printf("%s: %lld of %lld done, %lld refused\n", answer_words(redrive, "state"), done,
               answer_number(redrive, "matched"), refused);
    print_refusals(redrive);
    return fine && !refused && done ? EXIT_FINE : EXIT_CANNOT;
}

/* Waits for the next look; true after Ctrl-C. */
static bool redrive_interrupted(const sigset_t *signals)
{
    struct timespec wait = { .tv_nsec = LOOK_MS * 1000000L };

    return sigtimedwait(signals, NULL, &wait) > 0;
}

static int dlq_redrive_watch(struct watching *w, struct env *env, cJSON *redrive)
{
    struct dlq_progress progress;
    sigset_t signals;
    bool asked = false;
    int code;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    dlq_progress_begin(&progress, env, "done", answer_number(redrive, "matched"));
    while (redrive && is_running(redrive)) {
        bool stop = redrive_interrupted(&signals);

        if (stop && asked)
            break;
        cJSON_Delete(redrive);
        redrive = stop ? redrive_look(w, "POST", "/cancel") : redrive_look(w, "GET", "");
        asked = asked || stop;
        if (redrive)
            dlq_progress_print(&progress, answer_number(redrive, "done"));
    }
    if (redrive)
        dlq_progress_end(&progress, answer_number(redrive, "done"));
    code = redrive ? print_end(w, redrive) : redrive_failed(w);
    if (!redrive || is_running(redrive))
        fprintf(stderr, "the server goes on with it: redrive %s\n", w->id);
    cJSON_Delete(redrive);
    return code;
}

static int print_count(const struct watching *w, const cJSON *count)
{
    bool exact = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(count, "exact"));

    if (w->json)
        answer_print(count);
    else
        printf("%s%lld would be tried again; nothing was changed\n", exact ? "" : "more than ",
               answer_number(count, "matched"));
    return answer_number(count, "matched") ? EXIT_FINE : EXIT_CANNOT;
}

int dlq_redrive(struct node *n, const char *command, struct str path, struct str body, bool dry_run,
                bool json)
{
    struct watching w = { .command = command, .json = json };
    cJSON *answer;
    int code;

    if (admin_find(&n->settings, &w.admin, &w.why))
        return redrive_failed(&w);
    arena_init(&w.arena, ARENA);
    answer = redrive_ask(&w, "POST", path, body);
    if (!answer) {
        code = redrive_failed(&w);
    } else if (dry_run) {
        code = print_count(&w, answer);
        cJSON_Delete(answer);
    } else {
        snprintf(w.id, sizeof(w.id), "%s", answer_words(answer, "id"));
        code = dlq_redrive_watch(&w, &n->env, answer);
    }
    arena_release(&w.arena);
    admin_free(w.admin);
    return code;
}
