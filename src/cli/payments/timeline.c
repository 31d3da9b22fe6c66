/* timeline.c - prints a timeline:
 *
 *   TIME (UTC)               LANE          RESULT      WHAT
 *   2026-11-16 09:30:00.000  call          ok          Create payment  312 ms
 *   2026-11-16 09:30:00.004  gateway       retried     Gateway: authorize  101 ms outcome=uncertain
 *
 * Columns are aligned in terminal cells, of which a Japanese character takes two. Control
 * characters in texts from outside are replaced. */
#include "cli/payments/timeline.h"

#include "base/json/json.h"
#include "cli/admin_ask.h"
#include "cli/cells.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    WIDTH_UNKNOWN = 120,
    WIDTH_LEAST = 30, /* cells for the last column, even on a narrow terminal */
    TIME_CELLS = 23,
    LANE_CELLS = 12,
    RESULT_CELLS = 10,
    GAPS = 3 * 2,
};

struct screen {
    bool terminal, colours, japanese;
    int width;
};

/* --- the screen --- */

static bool says_japanese(void)
{
    static const char *const names[] = { "LC_ALL", "LC_MESSAGES", "LANG" };

    for (size_t i = 0; i < COUNT(names); i++) {
        const char *value = getenv(names[i]);

        if (value && value[0])
            return strncmp(value, "ja", 2) == 0;
    }
    return false;
}

/* https://no-color.org */
static bool wants_colours(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return !(no && no[0]) && !(term && strcmp(term, "dumb") == 0);
}

static struct screen screen_look(void)
{
    struct screen s = { .terminal = isatty(STDOUT_FILENO), .width = WIDTH_UNKNOWN };
    struct winsize size;

    s.japanese = says_japanese();
    s.colours = s.terminal && wants_colours();
    if (s.terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        s.width = size.ws_col;
    return s;
}

static const char *colour_of(struct str result)
{
    static const struct {
        const char *word, *colour;
    } colours[] = {
        { "ok", "\033[32m" },       { "failed", "\033[31m" },    { "dead", "\033[31m" },
        { "unknown", "\033[33m" },  { "waiting", "\033[33m" },   { "retried", "\033[33m" },
        { "duplicate", "\033[2m" }, { "superseded", "\033[2m" }, { "ignored", "\033[2m" },
        { "skipped", "\033[2m" },
    };

    for (size_t i = 0; i < COUNT(colours); i++)
        if (str_eq(str_of(colours[i].word), result))
            return colours[i].colour;
    return "";
}

/* --- one line --- */

static void add_detail(struct buf *b, const cJSON *one)
{
    if (cJSON_IsNumber(one))
        buf_fmt(b, "  %s=%lld", one->string, (long long)one->valuedouble);
    else if (cJSON_IsString(one))
        buf_fmt(b, "  %s=%s", one->string, one->valuestring);
}

/* Adds what happened, how often, how long it took, and its details. */
static void add_what(struct buf *b, const cJSON *e, bool japanese)
{
    const cJSON *ms = cJSON_GetObjectItemCaseSensitive(e, "ms"), *one;
    long long times = answer_number(e, "times");

    buf_add(b, answer_text(e, japanese ? "titleJa" : "title"));
    if (times > 1)
        buf_fmt(b, "  x%lld", times);
    if (cJSON_IsNumber(ms))
        buf_fmt(b, "  %lld ms", (long long)ms->valuedouble);
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(e, "detail"))
    {
        add_detail(b, one);
    }
}

/* 2026-11-16T09:30:00.123Z -> 2026-11-16 09:30:00.123 */
static struct str time_of(const cJSON *e, char text[TIME_CELLS + 1])
{
    snprintf(text, TIME_CELLS + 1, "%s", answer_words(e, "at"));
    for (char *c = text; *c; c++)
        if (*c == 'T')
            *c = ' ';
    return str_of(text);
}

static void print_row(const struct screen *s, const cJSON *e, struct str what)
{
    struct str result = answer_text(e, "result");
    int rest = s->width - (TIME_CELLS + LANE_CELLS + RESULT_CELLS + GAPS);
    char at[TIME_CELLS + 1];

    cells_column(stdout, time_of(e, at), TIME_CELLS);
    cells_column(stdout, answer_text(e, "lane"), LANE_CELLS);
    if (s->colours)
        fputs(colour_of(result), stdout);
    cells_column(stdout, result, RESULT_CELLS);
    if (s->colours)
        fputs("\033[0m", stdout);
    cells_put(stdout, what, rest > WIDTH_LEAST ? rest : WIDTH_LEAST);
    putchar('\n');
}

/* For other programs: separated by tabs, and not cut. */
static void print_fields(const cJSON *e, struct str what)
{
    static const char *const names[] = { "at", "lane", "kind", "result", "ref" };

    for (size_t i = 0; i < COUNT(names); i++) {
        cells_put(stdout, answer_text(e, names[i]), INT32_MAX);
        putchar('\t');
    }
    cells_put(stdout, what, INT32_MAX);
    putchar('\n');
}

static bool print_entry(const struct screen *s, const cJSON *e)
{
    struct buf what;
    bool fits;

    buf_init(&what, 64 * 1024);
    add_what(&what, e, s->japanese);
    fits = !what.failed;
    if (fits && s->terminal)
        print_row(s, e, buf_str(&what));
    else if (fits)
        print_fields(e, buf_str(&what));
    buf_release(&what);
    return fits;
}

static void print_head(const struct screen *s)
{
    if (!s->terminal)
        return;
    cells_column(stdout, s->japanese ? S("日時 (UTC)") : S("TIME (UTC)"), TIME_CELLS);
    cells_column(stdout, s->japanese ? S("種別") : S("LANE"), LANE_CELLS);
    cells_column(stdout, s->japanese ? S("結果") : S("RESULT"), RESULT_CELLS);
    puts(s->japanese ? "内容" : "WHAT");
}

static void tell_truncated(const struct screen *s, const cJSON *tree)
{
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(tree, "truncated")))
        fputs(s->japanese
                  ? "古い記録が多いため、一部を省略しました。\n"
                  : "There is more than this: the oldest lines of some kinds are left out.\n",
              stderr);
}

int payments_timeline_print(struct str json, bool as_json)
{
    CLEANUP(json_freep) cJSON *tree = NULL;
    struct screen s = screen_look();
    const cJSON *e;
    bool fine = true;

    if (json_parse(json, &tree, NULL)) {
        fputs("ichido payments: the answer is not what was expected\n", stderr);
        return EXIT_CANNOT;
    }
    if (as_json) {
        fwrite(json.p, 1, json.n, stdout);
        putchar('\n');
        return EXIT_FINE;
    }
    print_head(&s);
    cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(tree, "entries"))
    {
        fine = print_entry(&s, e) && fine;
    }
    tell_truncated(&s, tree);
    return fine ? EXIT_FINE : EXIT_CANNOT;
}
