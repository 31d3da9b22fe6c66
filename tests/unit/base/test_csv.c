/* Comma-separated text: what is a row, and what is told as broken, with its line. */
#include "base/csv.h"
#include "unit/cm.h"

#include <stdio.h>
#include <string.h>

/* All rows as one text: fields in [], rows on lines of their own, broken ones as "!line why". */
static void read_all(struct str text, char *out, size_t size)
{
    struct arena a;
    struct csv c;
    size_t n = 0;

    out[0] = '\0';
    arena_init(&a, 1 << 20);
    csv_init(&c, text);
    for (;;) {
        enum csv_got got = csv_next(&c, &a);

        assert_int_not_equal(got, CSV_NO_MEMORY);
        if (got == CSV_END)
            break;
        if (got == CSV_BROKEN)
            n += (size_t)snprintf(out + n, size - n, "!%d %s\n", c.line, c.why_en);
        for (size_t i = 0; i < c.count; i++)
            n += (size_t)snprintf(out + n, size - n, "[" STR_FMT "]%s", STR_ARG(c.fields[i]),
                                  i + 1 == c.count ? "\n" : "");
        assert_true(n < size);
    }
    arena_release(&a);
}

#define CONTROL "has a control character"
#define MIDDLE "has a quote in the middle of a field"
#define OPEN "has a quote that is never closed"
#define BEHIND "has text behind a closing quote"

static void rows_are_as_rfc_4180_says_or_told_as_broken(void **state)
{
    static const struct {
        const char *why;
        struct str text;
        const char *want;
    } rows[] = {
        { "plain", S("a,b\nc,d\n"), "[a][b]\n[c][d]\n" },
        { "CRLF, and no end of line at the end", S("a,b\r\nc,d"), "[a][b]\n[c][d]\n" },
        { "a BOM is no text",
          S("\xef\xbb\xbf"
            "a,b\n"),
          "[a][b]\n" },
        { "a BOM before a quote", S("\xef\xbb\xbf\"a\",b\n"), "[a][b]\n" },
        { "nothing", S(""), "" },
        { "empty lines are no rows", S("\n\r\na\n\n"), "[a]\n" },
        { "empty fields", S(",\n,,\n"), "[][]\n[][][]\n" },
        { "an empty field at the end", S("a,"), "[a][]\n" },
        { "quotes", S("\"a\",\"\"\n"), "[a][]\n" },
        { "a comma, a line's end and quotes within quotes", S("\"1,200\",\"x\r\ny\",\"a\"\"b\"\n"),
          "[1,200][x\r\ny][a\"b]\n" },
        { "only quotes", S("\"\"\"\"\n"), "[\"]\n" },
        { "blanks are text", S(" a , b\n"), "[ a ][ b]\n" },
        { "tabs, where there are no commas", S("a\tb\nc\td,e\n"), "[a][b]\n[c][d,e]\n" },
        { "commas win", S("a\tx,b\n"), "[a\tx][b]\n" },
        { "a quote in the middle", S("a\"b,c\nd,e\n"), "!1 " MIDDLE "\n[d][e]\n" },
        { "text behind quotes", S("x,\"a\"b\nd,e\n"), "!1 " BEHIND "\n[d][e]\n" },
        { "a quote that is never closed", S("a,\"b\nc,d\n"), "!1 " OPEN "\n[c][d]\n" },
        { "... at the very end", S("a,\""), "!1 " OPEN "\n" },
        { "NUL", S("a\0b,c\nd,e\n"), "!1 " CONTROL "\n[d][e]\n" },
        { "NUL in quotes", S("\"a\0\",c\nd,e\n"), "!1 " CONTROL "\n[d][e]\n" },
        { "an escape sequence", S("a,\x1b[31mred\nd,e\n"), "!1 " CONTROL "\n[d][e]\n" },
        { "a lone CR ends no line", S("a\rb\nd,e\n"), "!1 " CONTROL "\n[d][e]\n" },
        { "line numbers count lines within quotes", S("\"a\nb\"\nx\"y\n"),
          "[a\nb]\n!3 " MIDDLE "\n" },
    };
    char out[512];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        read_all(rows[i].text, out, sizeof(out));
        if (strcmp(out, rows[i].want) != 0)
            fail_msg("%s: got %s", rows[i].why, out);
    }
}

static void a_row_has_a_limit_of_fields(void **state)
{
    char text[256] = "", out[512];

    (void)state;
    for (int i = 0; i < CSV_FIELDS; i++)
        strcat(text, i ? ",x" : "x");
    strcat(text, "\n");
    read_all(str_of(text), out, sizeof(out));
    assert_int_equal(out[0], '[');
    text[strlen(text) - 1] = '\0';
    strcat(text, ",y\nz\n");
    read_all(str_of(text), out, sizeof(out));
    assert_string_equal(out, "!1 has more than 64 fields\n[z]\n");
}

static void no_memory_is_told(void **state)
{
    struct arena a;
    struct csv c;
    char text[4096];

    (void)state;
    memset(text, '"', sizeof(text));
    arena_init(&a, 64);
    csv_init(&c, (struct str){ text, sizeof(text) });
    assert_int_equal(csv_next(&c, &a), CSV_NO_MEMORY);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_as_rfc_4180_says_or_told_as_broken),
        cmocka_unit_test(a_row_has_a_limit_of_fields),
        cmocka_unit_test(no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
