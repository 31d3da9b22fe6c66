/* print.c - prints dead letters, groups of them, and the progress of a change. Every text from
 * outside goes through dlq_put(), which replaces control characters. */
#include "base/limits.h"
#include "cli/dlq/command.h"

#include <sys/ioctl.h>
#include <unistd.h>

enum {
    WIDTH_UNKNOWN = 120,
    WIDTH_LEAST = 40,
    DIED_TEXT = 19, /* to the second */
    PRINT_MS = 200, /* between two lines on a terminal; otherwise PRINT_SLOW_MS */
    PRINT_SLOW_MS = 2000,
    ANSWER_CHARS = 400, /* of a receiver's answer; --json has more */
};

/* --- texts --- */

static size_t char_bytes(struct str s)
{
    unsigned char c = (unsigned char)s.p[0];
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

    return n < s.n ? n : s.n;
}

/* C0, DEL, and C1 as UTF-8 writes it. */
static bool is_control(struct str one)
{
    unsigned char c = (unsigned char)one.p[0];

    return c < 0x20 || c == 0x7f || (c == 0xc2 && one.n > 1 && (unsigned char)one.p[1] < 0xa0);
}

void dlq_put(FILE *out, struct str text, size_t max_chars)
{
    for (size_t chars = 0; text.n; chars++) {
        struct str one = { text.p, char_bytes(text) };

        text = (struct str){ text.p + one.n, text.n - one.n };
        if (chars + 1 >= max_chars && text.n) {
            fputs("~", out); /* the text is cut */
            return;
        }
        if (is_control(one))
            fputc('?', out);
        else
            fwrite(one.p, 1, one.n, out);
    }
}

size_t dlq_chars(struct str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    return n;
}

/* --- the table --- */

void dlq_table_init(struct dlq_table *t)
{
    struct winsize size;

    *t = (struct dlq_table){ .terminal = isatty(STDOUT_FILENO), .width = WIDTH_UNKNOWN };
    if (t->terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        t->width = size.ws_col;
}

static void dlq_print_cell(struct str text, int width)
{
    size_t n = dlq_chars(text);

    dlq_put(stdout, text, (size_t)width);
    printf("%*s  ", n < (size_t)width ? width - (int)n : 0, "");
}

static void dlq_print_head(struct dlq_table *t)
{
    if (t->headed)
        return;
    t->headed = true;
    if (t->terminal)
        printf("%-36s  %-16s  %-19s  %5s  %-28s  %s\n", "ID", "KIND", "DIED (UTC)", "TRIES",
               "ABOUT", "REASON");
}

/* Prints aligned columns on a terminal; for other programs tabs, and nothing is cut. */
void dlq_table_letter(struct dlq_table *t, const cJSON *letter)
{
    static const char *const names[] = { "id", "kind", "diedAt" };
    int rest = t->width - (36 + 16 + 19 + 5 + 28 + 5 * 2);
    struct str died = answer_text(letter, "diedAt");

    dlq_print_head(t);
    if (!t->terminal) {
        for (size_t i = 0; i < COUNT(names); i++) {
            dlq_put(stdout, answer_text(letter, names[i]), SIZE_MAX);
            putchar('\t');
        }
        printf("%lld\t", answer_number(letter, "attempts"));
        dlq_put(stdout, answer_text(letter, "ref"), SIZE_MAX);
        putchar('\t');
        dlq_put(stdout, answer_text(letter, "reason"), SIZE_MAX);
        putchar('\n');
        return;
    }
    died.n = died.n < DIED_TEXT ? died.n : DIED_TEXT;
    dlq_print_cell(answer_text(letter, "id"), 36);
    dlq_print_cell(answer_text(letter, "kind"), 16);
    dlq_print_cell(died, DIED_TEXT);
    printf("%5lld  ", answer_number(letter, "attempts"));
    dlq_print_cell(answer_text(letter, "ref"), 28);
    dlq_put(stdout, answer_text(letter, "reason"),
            (size_t)(rest > WIDTH_LEAST ? rest : WIDTH_LEAST));
    putchar('\n');
}

/* The cause is the last column and is not cut, because --cause takes it. */
void dlq_table_group(struct dlq_table *t, const cJSON *group)
{
    bool exact = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(group, "exact"));
    char count[32];
    struct str newest = answer_text(group, "newestAt"), cause = answer_text(group, "cause");

    if (!t->headed && t->terminal)
        printf("%8s  %-19s  %-16s  %s\n", "LETTERS", "NEWEST (UTC)", "KIND", "CAUSE");
    t->headed = true;
    snprintf(count, sizeof(count), "%lld%s", answer_number(group, "count"), exact ? "" : "+");
    if (!t->terminal) {
        printf("%s\t" STR_FMT "\t", count, STR_ARG(newest));
        dlq_put(stdout, answer_text(group, "kind"), SIZE_MAX);
        putchar('\t');
    } else {
        newest.n = newest.n < DIED_TEXT ? newest.n : DIED_TEXT;
        printf("%8s  ", count);
        dlq_print_cell(newest, DIED_TEXT);
        dlq_print_cell(answer_text(group, "kind"), 16);
    }
    dlq_put(stdout, cause.n ? cause : S("(not known yet)"), SIZE_MAX);
    putchar('\n');
}

/* --- one letter --- */

static void dlq_print_line(const char *name, struct str text)
{
    printf("%-10s", name);
    dlq_put(stdout, text.n ? text : S("-"), SIZE_MAX);
    putchar('\n');
}

static void print_payload(const cJSON *letter)
{
    const cJSON *payload = cJSON_GetObjectItemCaseSensitive(letter, "payload");
    char *text;

    if (!payload || cJSON_IsNull(payload) || cJSON_IsString(payload)) {
        dlq_print_line("payload", answer_text(letter, "payload"));
        return;
    }
    text = cJSON_PrintUnformatted(payload);
    dlq_print_line("payload", str_of(text));
    cJSON_free(text);
}

/* Prints the length and the hash of a body that is no text. False: it is text, or there is none. */
static bool print_binary(const cJSON *o, const char *name)
{
    const cJSON *binary = o ? cJSON_GetObjectItemCaseSensitive(o, name) : NULL;

    if (!cJSON_IsObject(binary))
        return false;
    printf("(no text: %lld bytes, SHA-256 ", answer_number(binary, "bytes"));
    dlq_put(stdout, answer_text(binary, "sha256"), SIZE_MAX);
    fputs(")\n", stdout);
    return true;
}

/* Prints the body that may be edited, and the original one. */
static void print_body(const cJSON *letter)
{
    const cJSON *payload = cJSON_GetObjectItemCaseSensitive(letter, "payload");
    struct str body = answer_text(letter, "body");

    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(letter, "editable")))
        return;
    printf("%-10s", "body");
    if (body.n || !print_binary(payload, "bodyBinary")) {
        dlq_put(stdout, body.n ? body : S("-"), SIZE_MAX);
        putchar('\n');
    }
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(letter, "edited")))
        dlq_print_line("original", answer_text(letter, "original"));
}

static void print_failure(const cJSON *one)
{
    struct str answer = answer_text(one, "responseBody");

    printf("  %3lld  ", answer_number(one, "attempt"));
    dlq_put(stdout, answer_text(one, "at"), SIZE_MAX);
    fputs("  ", stdout);
    dlq_put(stdout, answer_text(one, "error"), SIZE_MAX);
    putchar('\n');
    if (!answer.n && !cJSON_GetObjectItemCaseSensitive(one, "responseBodyBinary"))
        return;
    fputs("       ", stdout);
    if (print_binary(one, "responseBodyBinary"))
        return;
    dlq_put(stdout, answer, ANSWER_CHARS);
    putchar('\n');
}

void dlq_print_letter(const cJSON *letter)
{
    const cJSON *event = cJSON_GetObjectItemCaseSensitive(letter, "event");
    const cJSON *failures = cJSON_GetObjectItemCaseSensitive(letter, "failures"), *one;

    dlq_print_line("id", answer_text(letter, "id"));
    dlq_print_line("kind", answer_text(letter, "kind"));
    dlq_print_line("about", answer_text(letter, "ref"));
    if (cJSON_IsObject(event))
        dlq_print_line("event", answer_text(event, "type"));
    dlq_print_line("payment", answer_text(letter, "paymentId"));
    dlq_print_line("reason", answer_text(letter, "reason"));
    dlq_print_line("cause", answer_text(letter, "cause"));
    dlq_print_line("added", answer_text(letter, "addedAt"));
    dlq_print_line("died", answer_text(letter, "diedAt"));
    print_payload(letter);
    print_body(letter);
    printf("attempts  %lld\n", answer_number(letter, "attempts"));
    cJSON_ArrayForEach(one, failures)
    {
        print_failure(one);
    }
}

void dlq_print_refusals(const cJSON *refusals)
{
    const cJSON *one;

    cJSON_ArrayForEach(one, refusals)
    {
        fputs("  ", stderr);
        dlq_put(stderr, answer_text(one, "id"), SIZE_MAX);
        fputs("  ", stderr);
        dlq_put(stderr, answer_text(one, "reason"), SIZE_MAX);
        fputc('\n', stderr);
    }
}

/* --- progress --- */

void dlq_progress_begin(struct dlq_progress *p, struct env *env, const char *verb, int64_t total)
{
    *p = (struct dlq_progress){ .env = env, .verb = verb, .total = total };
    p->terminal = isatty(STDERR_FILENO);
    p->began_ms = p->told_ms = clock_mono_ms(&env->clock);
}

static void dlq_print_tell(struct dlq_progress *p, int64_t done, int64_t now_ms)
{
    int64_t took_ms = now_ms - p->began_ms;
    int64_t rate = done * 1000 / (took_ms > 0 ? took_ms : 1);
    int64_t remain = p->total > done ? p->total - done : 0;

    fprintf(stderr, "%s%lld of %lld %s, %lld/s, %lld remain%s", p->terminal ? "\r\033[K" : "",
            (long long)done, (long long)p->total, p->verb, (long long)rate, (long long)remain,
            p->terminal ? "" : "\n");
    fflush(stderr);
    p->told_ms = now_ms;
    p->shown = true;
}

/* The first part is always reported, so that a long run shows at once that it works. */
void dlq_progress_print(struct dlq_progress *p, int64_t done)
{
    int64_t now_ms = clock_mono_ms(&p->env->clock);

    if (p->total > 1 &&
        (!p->shown || now_ms - p->told_ms >= (p->terminal ? PRINT_MS : PRINT_SLOW_MS)))
        dlq_print_tell(p, done, now_ms);
}

void dlq_progress_end(struct dlq_progress *p, int64_t done)
{
    if (!p->shown)
        return;
    dlq_print_tell(p, done, clock_mono_ms(&p->env->clock));
    if (p->terminal)
        fputc('\n', stderr);
}
