/* reconcile.c - `ichido reconcile`: makes the running server compare a day with the provider's
 * ledger, and prints the result (E11). The server does the work; after a crash or Ctrl-C the same
 * command waits for the same run again. */
#include "base/json/json.h"
#include "base/limits.h"
#include "base/time/parse.h"
#include "base/time/zone.h"
#include "cli/admin_ask.h"
#include "cli/cli.h"
#include "cli/dlq/command.h"
#include "domain/day.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    EXIT_SAME = EXIT_FINE,
    EXIT_DIFFERENT = 1,
    EXIT_NOT_DONE = 3,
    ARENA = 64 * 1024 * 1024,
    POLL_MS = 500,
    PRINT_MS = 5000, /* between two lines where the output is no terminal */
    PATH_MAX_BYTES = 128,
};

struct reconcile_ask {
    struct str day; /* empty: yesterday */
    const char *csv;
    bool json;
};

struct reconcile_run {
    struct node node;
    struct reconcile_ask ask;
    struct admin *admin;
    struct arena arena; /* of one answer */
    char day[DAY_TEXT + 1];
    struct why why;
    bool terminal, told, told_pause;
    int64_t told_ms;
};

static void reconcile_usage(void)
{
    puts(
        "usage: ichido reconcile [--day YYYY-MM-DD] [--csv FILE] [--json]\n\n"
        "Compares a day's payments with the provider's own books, through the running server, and\n"
        "waits for the result. Without --day: yesterday, in ICHIDO_TIME_ZONE.\n\n"
        "  --csv FILE   writes the report for a spreadsheet; - is standard output\n"
        "  --json       prints the report as JSON\n\n"
        "Exit code: 0 no differences, 1 differences, 2 wrong arguments or settings, 3 it could not "
        "be "
        "done.");
}

/* --- arguments --- */

/* The value of an option, as "--name value" or "--name=value". NULL: it is another option. */
static const char *value_of(const char *name, int argc, char **argv, int *i)
{
    size_t n = strlen(name);

    if (strncmp(argv[*i], name, n) != 0)
        return NULL;
    if (argv[*i][n] == '=')
        return argv[*i] + n + 1;
    return argv[*i][n] == '\0' && *i + 1 < argc ? argv[++*i] : NULL;
}

static bool reconcile_wrong(const char *words, const char *what)
{
    fprintf(stderr, "ichido reconcile: %s%s; ichido reconcile --help says what can be asked\n",
            words, what);
    return false;
}

static bool read_args(int argc, char **argv, struct reconcile_ask *ret)
{
    int64_t day;

    for (int i = 1; i < argc; i++) {
        const char *v;

        if (strcmp(argv[i], "--json") == 0) {
            ret->json = true;
        } else if ((v = value_of("--day", argc, argv, &i))) {
            ret->day = str_of(v);
            if (!day_parse(ret->day, &day))
                return reconcile_wrong("--day must be like 2026-11-16, not ", v);
        } else if ((v = value_of("--csv", argc, argv, &i))) {
            ret->csv = v;
        } else {
            return reconcile_wrong("cannot read ", argv[i]);
        }
    }
    return true;
}

static bool choose_day(struct reconcile_run *r)
{
    struct zone *zone = NULL;

    if (r->ask.day.n) {
        snprintf(r->day, sizeof(r->day), STR_FMT, STR_ARG(r->ask.day));
        return true;
    }
    if (zone_load(r->node.settings.time_zone, &zone))
        return why_false(&r->why, "ICHIDO_TIME_ZONE is no time zone of this system");
    day_text(day_at(zone, env_now_ms(&r->node.env)) - 1, r->day);
    zone_free(zone);
    return true;
}

/* --- the server --- */

static bool keep_problem(struct reconcile_run *r, int status, struct str answer)
{
    CLEANUP(json_freep) cJSON *tree = NULL;

    json_parse(answer, &tree, NULL); /* NULL where it is none */
    admin_problem(status, tree, &r->why);
    return false;
}

static bool reconcile_call(struct reconcile_run *r, const char *method, const char *ending,
                           int wanted, struct str *ret_answer)
{
    char path[PATH_MAX_BYTES];
    int status;

    snprintf(path, sizeof(path), "/api/v1/admin/reconciliations/%s%s", r->day, ending);
    arena_release(&r->arena);
    return !admin_ask(r->admin, &r->arena, method, str_of(path), ADMIN_JSON, S(""), &status,
                      ret_answer, &r->why) &&
           (status == wanted || keep_problem(r, status, *ret_answer));
}

/* --- waiting --- */

/* Seconds until the differences are checked again, at most the whole pause, because the clock of
 * the server may differ. */
static long long pause_left_s(struct reconcile_run *r, const cJSON *day)
{
    int64_t since_ms, left_ms = LIMIT_RECONCILE_PAUSE_MS;

    if (time_parse(answer_text(day, "updatedAt"), &since_ms))
        left_ms -= env_now_ms(&r->node.env) - since_ms;
    if (left_ms > LIMIT_RECONCILE_PAUSE_MS)
        left_ms = LIMIT_RECONCILE_PAUSE_MS;
    return left_ms > 0 ? (left_ms + 999) / 1000 : 0;
}

/* On a terminal the line counts down; otherwise it is printed once. */
static void print_pause(struct reconcile_run *r, const cJSON *day)
{
    if (r->told_pause && !r->terminal)
        return;
    fprintf(stderr, "%s%s: looking again in %lld s at what differs%s",
            r->terminal ? "\r\033[K" : "", r->day, pause_left_s(r, day), r->terminal ? "" : "\n");
    fflush(stderr);
    r->told = r->told_pause = true;
}

static const char *reconcile_plural(long long n)
{
    return n == 1 ? "" : "s";
}

static void reconcile_tell(struct reconcile_run *r, const cJSON *day)
{
    int64_t now_ms = clock_mono_ms(&r->node.env.clock);
    const char *error = answer_words(day, "error");

    if (r->told && !r->terminal && now_ms - r->told_ms < PRINT_MS)
        return;
    fprintf(stderr, "%s%s %s: %lld theirs, %lld ours, %lld checked, %lld difference%s",
            r->terminal ? "\r\033[K" : "", r->day, answer_words(day, "phase"),
            answer_number(day, "theirs"), answer_number(day, "ours"), answer_number(day, "checked"),
            answer_number(day, "differences"), reconcile_plural(answer_number(day, "differences")));
    if (error[0]) {
        fputs(" (", stderr);
        dlq_put(stderr, str_of(error), 60);
        fputs(", it tries again)", stderr);
    }
    fputs(r->terminal ? "" : "\n", stderr);
    fflush(stderr);
    r->told = true;
    r->told_ms = now_ms;
}

/* Waits for the report. The caller frees it. NULL: the server did not give one. */
static cJSON *wait_for_end(struct reconcile_run *r)
{
    struct str answer;
    cJSON *day = NULL;

    if (!reconcile_call(r, "POST", "", 202, &answer))
        return NULL;
    for (;;) {
        if (!reconcile_call(r, "GET", "", 200, &answer) || json_parse(answer, &day, NULL))
            return NULL;
        if (strcmp(answer_words(day, "state"), "done") == 0)
            break;
        if (strcmp(answer_words(day, "phase"), "pause") == 0 && !answer_words(day, "error")[0])
            print_pause(r, day);
        else
            reconcile_tell(r, day);
        cJSON_Delete(day);
        day = NULL;
        usleep(POLL_MS * 1000);
    }
    if (r->told && r->terminal)
        fputc('\n', stderr);
    return day;
}

/* --- showing --- */

static void print_total(const cJSON *t)
{
    long long payments = answer_number(t, "payments");

    printf(
        "  %-10s %-8s %-3s %8lld payment%-1s  captured %lld  refunded %lld  fees %lld  net %lld\n",
        answer_words(t, "gateway"), answer_words(t, "side"), answer_words(t, "currency"), payments,
        reconcile_plural(payments), answer_number(t, "captured"), answer_number(t, "refunded"),
        answer_number(t, "fees"), answer_number(t, "net"));
}

static void put_or_dash(const char *text)
{
    dlq_put(stdout, str_of(text[0] ? text : "-"), 120);
}

static void print_difference(const cJSON *d)
{
    printf("  %-7s %-13s ", answer_words(d, "state"), answer_words(d, "kind"));
    put_or_dash(answer_words(d, "paymentId"));
    putchar(' ');
    put_or_dash(answer_words(d, "gatewayTransactionId"));
    fputs("  ours ", stdout);
    put_or_dash(answer_words(d, "ours"));
    fputs("  theirs ", stdout);
    put_or_dash(answer_words(d, "theirs"));
    putchar('\n');
}

static void print_day(const struct reconcile_run *r, const cJSON *day)
{
    const cJSON *one;

    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(day, "totals")) print_total(one);
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(day, "found")) print_difference(one);
    if (answer_number(day, "notShown"))
        printf("  ... and %lld more\n", answer_number(day, "notShown"));
    printf("%s: %lld difference%s, %lld healed (%lld payment%s of the provider, %lld of ours)\n",
           r->day, answer_number(day, "differences"),
           reconcile_plural(answer_number(day, "differences")), answer_number(day, "healed"),
           answer_number(day, "theirs"), reconcile_plural(answer_number(day, "theirs")),
           answer_number(day, "ours"));
}

static bool write_csv(struct reconcile_run *r)
{
    bool to_stdout = strcmp(r->ask.csv, "-") == 0, fine;
    struct str csv;
    FILE *f;

    if (!reconcile_call(r, "GET", ".csv", 200, &csv))
        return false;
    f = to_stdout ? stdout : fopen(r->ask.csv, "we");
    fine = f && fwrite(csv.p, 1, csv.n, f) == csv.n && fflush(f) == 0;
    if (f && !to_stdout)
        fine = fclose(f) == 0 && fine;
    if (!fine)
        why_set(&r->why, "%.300s cannot be written", r->ask.csv);
    return fine;
}

static int cli_reconcile_show(struct reconcile_run *r, const cJSON *day)
{
    if (r->ask.csv && !write_csv(r))
        return EXIT_NOT_DONE;
    if (r->ask.json)
        answer_print(day);
    else if (!r->ask.csv || strcmp(r->ask.csv, "-") != 0)
        print_day(r, day);
    return answer_number(day, "differences") ? EXIT_DIFFERENT : EXIT_SAME;
}

/* --- all together --- */

static int reconcile_work(struct reconcile_run *r)
{
    CLEANUP(json_freep) cJSON *day = NULL;
    int code = EXIT_NOT_DONE;

    if (choose_day(r) && !admin_find(&r->node.settings, &r->admin, &r->why))
        day = wait_for_end(r);
    if (day)
        code = cli_reconcile_show(r, day);
    if (code == EXIT_NOT_DONE)
        fprintf(stderr, "ichido reconcile: %s\n",
                r->why.text[0] ? r->why.text : "the answer is not what was expected");
    return code;
}

int cli_reconcile(int argc, char **argv)
{
    struct reconcile_run r = { .terminal = isatty(STDERR_FILENO) };
    int code;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            reconcile_usage();
            return EXIT_SAME;
        }
    if (!read_args(argc, argv, &r.ask))
        return EXIT_ASKED_WRONGLY;
    if (!node_init(&r.node))
        return EXIT_ASKED_WRONGLY;
    arena_init(&r.arena, ARENA);
    code = reconcile_work(&r);
    admin_free(r.admin);
    arena_release(&r.arena);
    node_release(&r.node);
    return code;
}
