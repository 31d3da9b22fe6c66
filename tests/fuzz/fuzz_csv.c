/* A bank's CSV: any bytes, as UTF-8 or Shift_JIS, through the rows and through the whole file. What
 * is read is within its limits and says the same when it is read again; what is refused says why.
 */
#include "base/charset.h"
#include "base/csv.h"
#include "base/limits.h"
#include "domain/bank_file.h"
#include "domain/bank_value.h"
#include "domain/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static void read_rows(struct arena *a, struct str text)
{
    struct csv c;
    int line = 0;

    csv_init(&c, text);
    for (;;) {
        enum csv_got got = csv_next(&c, a);

        if (got == CSV_END || got == CSV_NO_MEMORY)
            return;
        must(c.line > line, "every row begins on a later line");
        must(got == CSV_ROW ? c.count > 0 && c.count <= CSV_FIELDS
                            : !c.count && c.why_en && c.why_ja,
             "a row has fields, a broken one has words");
        for (size_t i = 0; i < c.count; i++)
            must(!c.fields[i].n || !memchr(c.fields[i].p, 0, c.fields[i].n),
                 "no NUL comes through");
        line = c.line;
    }
}

static void read_line(const struct bank_line *l)
{
    struct reference found[REFERENCES_FOUND], near[REFERENCES_NEAR];
    size_t n = reference_find(l->text, found);
    char room[64];

    must(l->amount > 0 && l->amount <= BANK_AMOUNT_MAX, "an amount that came in");
    must(str_is_utf8(l->text), "its text is UTF-8");
    for (size_t i = 0; i < n; i++)
        must(reference_is(str_of(found[i].text)), "what is found is a reference");
    must(reference_near(l->text, near) <= REFERENCES_NEAR, "not too many are near");
    must(str_is_utf8(bank_payer(l->text, room, sizeof(room))), "a name is cut between characters");
}

static void read_file(struct arena *a, struct str text, const struct bank_reading *how)
{
    struct bank_file f = { 0 }, again = { 0 };
    struct json_problems p;
    enum err e;

    json_problems_init(&p);
    e = bank_file_read(a, text, how, &p, &f);
    must(e == OK || e == ERR_VALIDATION || e == ERR_NO_MEMORY, "one of three ends");
    must((e == ERR_VALIDATION) == (p.count > 0), "what is refused says why");
    must(f.count <= LIMIT_BANK_LINES, "not too many lines");
    for (size_t i = 0; i < f.count; i++)
        read_line(&f.lines[i]);
    if (!e) {
        must(bank_file_read(a, text, how, &p, &again) == OK && again.count == f.count, "twice");
        for (size_t i = 0; i < f.count; i++)
            must(!memcmp(f.lines[i].identity, again.lines[i].identity, BANK_IDENTITY), "the same");
    }
    json_problems_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct bank_reading ways[] = {
        { .currency = "JPY" },
        { .currency = "USD",
          .columns = { .date = { "1", 1 },
                       .amount = { "2", 1 },
                       .text = { "3", 1 },
                       .balance = { "4", 1 } } },
    };
    struct str text = { (const char *)data, size }, decoded;
    struct arena a;
    int line;

    arena_init(&a, LIMIT_BANK_ARENA);
    if (charset_decode(&a, CHARSET_ANY, text, &decoded, &line) == OK) {
        must(str_is_utf8(decoded), "what was decoded is UTF-8");
        read_rows(&a, decoded);
        for (size_t i = 0; i < COUNT(ways); i++)
            read_file(&a, decoded, &ways[i]);
    } else {
        must(line > 0, "what cannot be decoded has a line");
    }
    arena_release(&a);
    return 0;
}
