/* replay.c - `ichido replay`: makes the running server apply events again. A dead letter is
 * retried; an event with an outcome goes through the queue as it did the first time. */
#include "base/buf.h"
#include "base/json/write.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/dlq/command.h"
#include "observe/log.h"
#include "server/dead_kinds.h"

#include <string.h>

enum { RATE_USUAL = 10, BODY_MAX = 4096 };

struct replay_ask {
    struct str id, type;
    int64_t since_ms, until_ms, rate, now_ms;
    bool dry_run, json;
};

static void replay_usage(void)
{
    puts("ichido replay - applies events again\n"
         "\n"
         "usage: ichido replay EVENT_ID   [--json]\n"
         "       ichido replay MESSAGE_ID [--json]        a dead letter\n"
         "       ichido replay --since TIME --until TIME [--kind TYPE] [--rate N] [--dry-run] "
         "[--json]\n"
         "\n"
         "  --since TIME   received then or later: 2026-11-16T09:30:00Z, 2026-11-16, or 24h (ago)\n"
         "  --until TIME   received before that; 0s is now\n"
         "  --kind TYPE    of this type only, for example payment_intent.succeeded\n"
         "  --rate N       so many a second, 1 to 1000; 10 where it is not given\n"
         "  --dry-run      only counts\n"
         "\n"
         "Each event goes through the queue again, in the order in which they arrived. Nothing\n"
         "happens twice: an event that is applied already or superseded changes nothing. A dead\n"
         "letter is retried. Ctrl-C cancels the replay. Needs a running server and\n"
         "ICHIDO_ADMIN_TOKEN.\n"
         "\n"
         "Exit codes: 0 success, 1 nothing matched or something was refused, 2 wrong arguments or "
         "settings.");
}

/* --- arguments --- */

static bool read_since(void *ctx, struct str value)
{
    struct replay_ask *k = ctx;

    return args_time(value, k->now_ms, &k->since_ms);
}

static bool read_until(void *ctx, struct str value)
{
    struct replay_ask *k = ctx;

    return args_time(value, k->now_ms, &k->until_ms);
}

static bool read_type(void *ctx, struct str value)
{
    ((struct replay_ask *)ctx)->type = value;
    return value.n && value.n <= LIMIT_DEAD_TEXT && str_is_utf8(value);
}

static bool read_rate(void *ctx, struct str value)
{
    struct replay_ask *k = ctx;

    return str_to_i64(value, &k->rate) && k->rate > 0 && k->rate <= LIMIT_REDRIVE_RATE;
}

static bool read_dry_run(void *ctx, struct str value)
{
    (void)value;
    return ((struct replay_ask *)ctx)->dry_run = true;
}

static bool read_json(void *ctx, struct str value)
{
    (void)value;
    return ((struct replay_ask *)ctx)->json = true;
}

#define WORDS_TIME "needs a time like 2026-11-16T09:30:00Z, 2026-11-16 or 24h"

static const struct args_option options[] = {
    { "--since", 1, false, false, read_since, WORDS_TIME },
    { "--until", 1, false, false, read_until, WORDS_TIME },
    { "--kind", 1, false, false, read_type, "needs the type of events" },
    { "--rate", 1, false, false, read_rate, "needs a number from 1 to 1000" },
    { "--dry-run", 1, true, false, read_dry_run, "" },
    { "--json", 1, true, false, read_json, "" },
};

static bool replay_check(struct args *a, const struct replay_ask *k)
{
    bool span = k->since_ms || k->until_ms || k->type.n;

    if (k->id.n && span)
        return args_wrong(a, "an id", "and --since, --until or --kind exclude each other");
    if (!k->id.n && !(k->since_ms && k->until_ms))
        return args_wrong(a, "say which events:", "an id, or --since and --until");
    return k->id.n || k->since_ms < k->until_ms ||
           args_wrong(a, "--until", "must be later than --since");
}

static bool read_arguments(struct args *a, int argc, char **argv, struct replay_ask *k)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            if (!args_take_option(a, argc, argv, &i))
                return false;
        } else if (k->id.n || !argv[i][0] || strlen(argv[i]) > LIMIT_DEAD_TEXT) {
            return args_wrong(a, argv[i], "is unexpected: only one id is taken");
        } else {
            k->id = str_of(argv[i]);
        }
    }
    return replay_check(a, k);
}

/* --- what is done --- */

/* True for the id of a message, which names a dead letter. Any other text is the id of an event. */
static bool is_letter(struct str id, struct uuid *ret_id)
{
    struct dead_kind kinds[DEAD_KINDS];
    struct dead_letters letters = { .kinds = kinds, .kind_count = dead_kinds_fill(kinds, NULL) };

    return dead_id_read(&letters, id, ret_id);
}

static void add_time(struct buf *b, const char *name, int64_t ms)
{
    if (ms)
        out_time(b, name, ms);
}

static struct str write_body(struct buf *b, const struct replay_ask *k, struct str *ret_path)
{
    struct uuid id;

    buf_char(b, '{');
    *ret_path = S("/api/v1/admin/replays");
    if (is_letter(k->id, &id)) {
        struct dlq_options one = { .ids = &id, .id_count = 1 };

        *ret_path = S("/api/v1/admin/redrives");
        dlq_choice(b, &one, 0, 1);
    } else if (k->id.n) {
        out_text(b, "eventId", k->id);
    } else if (k->type.n) {
        out_text(b, "type", k->type);
    }
    add_time(b, "from", k->since_ms);
    add_time(b, "to", k->until_ms);
    out_int(b, "ratePerSecond", k->rate ? k->rate : RATE_USUAL);
    out_bool(b, "dryRun", k->dry_run);
    buf_char(b, '}');
    return buf_str(b);
}

static int replay_run(struct replay_ask *k)
{
    struct node node = { 0 };
    struct str path, text;
    struct buf body;
    int code = EXIT_CANNOT;

    if (!node_init(&node))
        return EXIT_ASKED_WRONGLY;
    node_log_errors_only(&node);
    buf_init(&body, BODY_MAX);
    text = write_body(&body, k, &path);
    if (!body.failed)
        code = dlq_redrive(&node, "ichido replay", path, text, k->dry_run, k->json);
    buf_release(&body);
    node_release(&node);
    return code;
}

int cli_replay(int argc, char **argv)
{
    struct replay_ask k = { 0 };
    struct clock clock;
    struct why why = { 0 };
    struct args a = { .command = "ichido replay",
                      .options = options,
                      .count = COUNT(options),
                      .ctx = &k,
                      .why = &why };

    clock_init(&clock);
    k.now_ms = clock_wall_ms(&clock);
    if (args_ask_for_help(argc, argv)) {
        replay_usage();
        return EXIT_FINE;
    }
    if (read_arguments(&a, argc, argv, &k))
        return replay_run(&k);
    fprintf(stderr, "ichido replay: %s\n", why.text);
    return EXIT_ASKED_WRONGLY;
}
