/* trigger.c - `ichido trigger EVENT`: makes the sandbox send an event, for people without Stripe's
 * command line. It only calls the sandbox on this machine, and never with a live key.
 *
 *   note the newest event --> make the calls, one after another --> read newer events about them,
 *   until the wanted event is among them */
#include "base/json/json.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "cli/trigger/command.h"
#include "server/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARENA = 256 * 1024 * 1024, ID_MAX = 256, STEM = 17, POLL_MS = 100, POLLS = 100 };

struct trigger_seen { /* an event that the calls caused */
    struct str id, type;
    int64_t pending;
};

struct trigger_run {
    struct node node;
    struct arena arena;
    const struct trigger *trigger;
    struct trigger_line *line;
    bool json, japanese;
    char base[TRIGGER_BASE];
    struct why why;
    struct str newest; /* the newest event before the first call; empty: there was none */
    struct str ids[TRIGGER_STEPS];
    int statuses[TRIGGER_STEPS];
    size_t done;
    struct trigger_seen seen[100];
    size_t seen_count;
    bool came; /* the wanted event was seen */
};

static const char *trigger_say(const struct trigger_run *r, const char *en, const char *ja)
{
    return r->japanese ? ja : en;
}

static int trigger_wrong(const struct trigger_run *r, const char *en, const char *ja,
                         const char *what)
{
    fprintf(stderr, "ichido trigger: %s%s\n", what, trigger_say(r, en, ja));
    return EXIT_ASKED_WRONGLY;
}

/* --- the calls --- */

/* Replaces "$2" by the id of the second step. */
static struct str trigger_fill(struct trigger_run *r, const char *text)
{
    struct str whole = { 0 };
    struct buf b;

    buf_init(&b, 64 * 1024);
    for (const char *p = text; *p; p++) {
        if (p[0] == '$' && p[1] >= '1' && p[1] <= '0' + TRIGGER_STEPS)
            buf_add(&b, r->ids[*++p - '1']);
        else
            buf_char(&b, *p);
    }
    if (!b.failed)
        whole = arena_str(&r->arena, buf_str(&b));
    buf_release(&b);
    return whole;
}

static struct str text_of(struct trigger_run *r, const cJSON *object, const char *name)
{
    const cJSON *x = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsString(x) ? arena_str(&r->arena, str_of(x->valuestring)) : (struct str){ 0 };
}

/* The id of an object, or of the first object of a list. */
static struct str id_of(struct trigger_run *r, const cJSON *answer)
{
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(answer, "data");
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(answer, "error");

    if (cJSON_IsArray(data))
        return text_of(r, cJSON_GetArrayItem(data, 0), "id");
    if (error)
        return text_of(r, cJSON_GetObjectItemCaseSensitive(error, "payment_intent"), "id");
    return text_of(r, answer, "id");
}

static bool is_card_error(const cJSON *answer)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(answer, "error");
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(error, "type");

    return cJSON_IsString(type) && strcmp(type->valuestring, "card_error") == 0;
}

static bool trigger_refused(struct trigger_run *r, const struct trigger_step *s, int status,
                            const cJSON *answer)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(answer, "error");
    const cJSON *message = cJSON_GetObjectItemCaseSensitive(error, "message");

    return why_false(&r->why, "%s %s: %d %.300s", s->method, s->path, status,
                     cJSON_IsString(message) ? message->valuestring : "");
}

static bool do_step(struct trigger_run *r, size_t i)
{
    const struct trigger_step *s = &r->trigger->steps[i];
    CLEANUP(json_freep) cJSON *answer = NULL;
    struct str text;
    int status;

    if (trigger_call(r->line, &r->arena, s->method, trigger_fill(r, s->path),
                     trigger_fill(r, s->form), &status, &text, &r->why))
        return false;
    r->statuses[i] = status;
    if (json_parse(text, &answer, NULL))
        return why_false(&r->why, "%s does not answer like a sandbox", r->base);
    if ((status < 200 || status >= 300) && !(s->may_decline && is_card_error(answer)))
        return trigger_refused(r, s, status, answer);
    r->ids[i] = id_of(r, answer);
    r->done = i + 1;
    return true;
}

/* --- the events --- */

static bool read_events(struct trigger_run *r, struct str path, cJSON **ret_list)
{
    struct str text;
    int status;

    if (trigger_call(r->line, &r->arena, "GET", path, S(""), &status, &text, &r->why))
        return false;
    if (status == 200 && !json_parse(text, ret_list, NULL))
        return true;
    return why_false(&r->why, "GET " STR_FMT ": %d; is this a sandbox of this version?",
                     STR_ARG(path), status);
}

static bool read_newest(struct trigger_run *r)
{
    CLEANUP(json_freep) cJSON *list = NULL;

    if (!read_events(r, S("/v1/events?limit=1"), &list))
        return false;
    r->newest = id_of(r, list);
    return true;
}

/* True where the event's id has the middle part of the intent's id. */
static bool is_about(const struct trigger_run *r, const char *event)
{
    for (size_t i = 0; i < r->done; i++) {
        struct str id = r->ids[i], stem = id;

        if (str_starts(id, S("pi_")))
            stem = (struct str){ id.p + 3, id.n > 3 + STEM ? STEM : id.n - 3 };
        if (stem.n && memmem(event, strlen(event), stem.p, stem.n))
            return true;
    }
    return false;
}

static void take_event(struct trigger_run *r, const cJSON *event)
{
    const cJSON *pending = cJSON_GetObjectItemCaseSensitive(event, "pending_webhooks");
    char *text = cJSON_PrintUnformatted(event);
    struct trigger_seen *t = &r->seen[r->seen_count];

    if (text && is_about(r, text) && r->seen_count < COUNT(r->seen)) {
        *t = (struct trigger_seen){ text_of(r, event, "id"), text_of(r, event, "type"),
                                    cJSON_IsNumber(pending) ? (int64_t)pending->valuedouble : 0 };
        r->came |= str_eq(t->type, str_of(r->trigger->event));
        r->seen_count++;
    }
    cJSON_free(text);
}

static bool read_told(struct trigger_run *r)
{
    CLEANUP(json_freep) cJSON *list = NULL;
    char path[ID_MAX + 64];
    const cJSON *data, *event;

    snprintf(path, sizeof(path),
             r->newest.n ? "/v1/events?limit=100&ending_before=" STR_FMT : "/v1/events?limit=100",
             STR_ARG(r->newest));
    if (!read_events(r, str_of(path), &list))
        return false;
    r->seen_count = 0;
    data = cJSON_GetObjectItemCaseSensitive(list, "data");
    cJSON_ArrayForEach(event, data) take_event(r, event);
    return true;
}

/* Waits for an event that the sandbox sends a moment later. */
static bool await_event(struct trigger_run *r)
{
    for (int i = 0; i < POLLS; i++) {
        if (!read_told(r))
            return false;
        if (r->came)
            return true;
        usleep(POLL_MS * 1000);
    }
    return why_false(&r->why, "%s did not come out of it", r->trigger->event);
}

static bool bring_about(struct trigger_run *r)
{
    if (!read_newest(r))
        return false;
    for (size_t i = 0; i < TRIGGER_STEPS && r->trigger->steps[i].path; i++)
        if (!do_step(r, i))
            return false;
    return await_event(r);
}

/* --- what is said --- */

static void print_json(const struct trigger_run *r, bool fine)
{
    struct buf b;

    buf_init(&b, 1024 * 1024);
    buf_add(&b, S("{\"event\":"));
    buf_json(&b, str_of(r->trigger->event));
    buf_add(&b, S(",\"apiBase\":"));
    buf_json(&b, str_of(r->base));
    buf_fmt(&b, ",\"ok\":%s,\"requests\":[", fine ? "true" : "false");
    for (size_t i = 0; i < r->done; i++) {
        buf_fmt(&b, "%s{\"method\":\"%s\",\"path\":", i ? "," : "", r->trigger->steps[i].method);
        buf_json(&b, str_of(r->trigger->steps[i].path));
        buf_fmt(&b, ",\"status\":%d,\"id\":", r->statuses[i]);
        buf_json(&b, r->ids[i]);
        buf_char(&b, '}');
    }
    buf_add(&b, S("],\"events\":["));
    for (size_t i = r->seen_count; i--;) { /* the oldest first */
        buf_add(&b, i + 1 < r->seen_count ? S(",{\"id\":") : S("{\"id\":"));
        buf_json(&b, r->seen[i].id);
        buf_add(&b, S(",\"type\":"));
        buf_json(&b, r->seen[i].type);
        buf_fmt(&b, ",\"pendingWebhooks\":%lld}", (long long)r->seen[i].pending);
    }
    buf_add(&b, S("],\"error\":"));
    if (fine)
        buf_add(&b, S("null"));
    else
        buf_json(&b, str_of(r->why.text));
    buf_add(&b, S("}\n"));
    fwrite(b.p, 1, b.n, stdout);
    buf_release(&b);
}

static void print_told(const struct trigger_run *r)
{
    struct str listen = r->node.settings.listen;

    printf("%s: %s\n", r->trigger->event, trigger_say(r, r->trigger->en, r->trigger->ja));
    puts(trigger_say(r, "events, the oldest first:", "発生したイベント（古い順）:"));
    for (size_t i = r->seen_count; i--;)
        printf("  " STR_FMT "  " STR_FMT "\n", STR_ARG(r->seen[i].id), STR_ARG(r->seen[i].type));
    puts(trigger_say(r, "\nwhat became of them here:", "\n処理結果の確認:"));
    printf("  curl -s -H \"Authorization: Bearer $ICHIDO_ADMIN_TOKEN\" http://" STR_FMT
           "/api/v1/admin/events?type=%s\n",
           STR_ARG(listen), r->trigger->event);
    puts(trigger_say(r, "once more:", "再送:"));
    for (size_t i = 0; i < r->seen_count; i++)
        if (str_eq(r->seen[i].type, str_of(r->trigger->event)))
            printf("  curl -s -X POST %s/_sandbox/events/" STR_FMT "/resend\n", r->base,
                   STR_ARG(r->seen[i].id));
}

static int run_it(struct trigger_run *r)
{
    bool fine;

    arena_init(&r->arena, ARENA);
    fine = bring_about(r);
    if (r->json)
        print_json(r, fine);
    else if (fine)
        print_told(r);
    if (!fine) {
        fprintf(stderr, "ichido trigger: %s\n", r->why.text);
        if (!r->done && !r->statuses[0])
            fprintf(
                stderr, "%s\n",
                trigger_say(r,
                            "is the server running? ICHIDO_SANDBOX_LISTEN or --api-base says where "
                            "the sandbox listens",
                            "サーバーは起動していますか。サンドボックスのアドレスは "
                            "ICHIDO_SANDBOX_LISTEN または --api-base で指定します"));
    }
    arena_release(&r->arena);
    return fine ? EXIT_FINE : EXIT_CANNOT;
}

/* --- what is asked for --- */

static bool speaks_japanese(void)
{
    static const char *const names[] = { "LC_ALL", "LC_MESSAGES", "LANG" };

    for (size_t i = 0; i < COUNT(names); i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return strncmp(value, "ja", 2) == 0;
    }
    return false;
}

static int trigger_usage(const struct trigger_run *r)
{
    puts(trigger_say(
        r,
        "ichido trigger - make the sandbox send an event\n"
        "\n"
        "usage: ichido trigger EVENT [--json] [--api-base http://127.0.0.1:12111]\n"
        "       ichido trigger --list\n"
        "\n"
        "The calls that bring the event about are made as Stripe's command line makes them. The\n"
        "sandbox's address is ICHIDO_SANDBOX_LISTEN; only this machine's own addresses are taken,\n"
        "and no live key.\n"
        "\n"
        "Exit codes: 0 the event was sent, 1 it was not, 2 wrong arguments or settings.",
        "ichido trigger - サンドボックスにイベントを発生させます\n"
        "\n"
        "使い方: ichido trigger EVENT [--json] [--api-base http://127.0.0.1:12111]\n"
        "        ichido trigger --list\n"
        "\n"
        "Stripe CLI と同じ API 呼び出しでイベントを発生させます。サンドボックスのアドレスは\n"
        "ICHIDO_SANDBOX_LISTEN "
        "です。このマシン自身のアドレスだけを受け付け、本番キーは拒否します。\n"
        "\n"
        "終了コード: 0 イベントが発生した、1 できなかった、2 指定の誤り"));
    return EXIT_FINE;
}

static int trigger_list(const struct trigger_run *r)
{
    if (r->json) {
        for (size_t i = 0; i < trigger_count; i++)
            printf("%s\"%s\"%s", i ? "," : "[", triggers[i].event,
                   i + 1 < trigger_count ? "" : "]\n");
        return EXIT_FINE;
    }
    for (size_t i = 0; i < trigger_count; i++)
        printf("%-42s %s\n", triggers[i].event, trigger_say(r, triggers[i].en, triggers[i].ja));
    return EXIT_FINE;
}

static int unknown_event(const struct trigger_run *r, const char *event)
{
    const char *nearest = trigger_nearest(str_of(event));

    trigger_wrong(r, " cannot be triggered", " は発生させられません", event);
    if (nearest)
        fprintf(stderr, "%s%s%s\n", trigger_say(r, "did you mean ", ""), nearest,
                trigger_say(r, "?", " ではありませんか。"));
    fputs(trigger_say(r, "ichido trigger --list shows all of them\n",
                      "一覧は ichido trigger --list で表示します\n"),
          stderr);
    return EXIT_ASKED_WRONGLY;
}

static int with_address(struct trigger_run *r, const char *base)
{
    static const struct str usual = { "sk_test_ichido_sandbox", 22 };
    struct str key = str_of(getenv("STRIPE_API_KEY"));
    int code;

    if (!key.n)
        key = r->node.settings.stripe_secret_key;
    if (str_starts(key, S("sk_live_")) || str_starts(key, S("rk_live_")))
        return trigger_wrong(r, ": that is a live key, and it is never sent to the sandbox",
                             ": 本番キーです。サンドボックスには送りません", "STRIPE_API_KEY");
    if (!trigger_base(base ? str_of(base) : r->node.settings.sandbox_listen, r->base))
        return trigger_wrong(r, " must be http:// and an address of this machine, with its port",
                             " は http:// とこのマシン自身のアドレスとポートで指定してください",
                             base ? "--api-base" : "ICHIDO_SANDBOX_LISTEN");
    r->line = trigger_line_open(r->base, key.n ? key : usual);
    if (!r->line)
        return EXIT_CANNOT;
    code = run_it(r);
    trigger_line_free(r->line);
    return code;
}

static int with_settings(struct trigger_run *r, const char *base)
{
    int code;

    if (!node_init(&r->node))
        return EXIT_ASKED_WRONGLY;
    code = with_address(r, base);
    node_release(&r->node);
    return code;
}

int cli_trigger(int argc, char **argv)
{
    struct trigger_run r = { .japanese = speaks_japanese() };
    const char *event = NULL, *base = NULL;
    bool lists = false;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return trigger_usage(&r);
        else if (strcmp(argv[i], "--list") == 0)
            lists = true;
        else if (strcmp(argv[i], "--json") == 0)
            r.json = true;
        else if (strcmp(argv[i], "--api-base") == 0 && i + 1 < argc)
            base = argv[++i];
        else if (argv[i][0] == '-' || event)
            return trigger_wrong(&r, " is not understood; ichido trigger --help",
                                 " は使えません。ichido trigger --help を参照してください",
                                 argv[i]);
        else
            event = argv[i];
    }
    if (lists)
        return trigger_list(&r);
    if (!event)
        return trigger_wrong(
            &r, "name an event; ichido trigger --list shows them",
            "イベント名を指定してください。一覧は ichido trigger --list で表示します", "");
    r.trigger = trigger_find(str_of(event));
    return r.trigger ? with_settings(&r, base) : unknown_event(&r, event);
}
