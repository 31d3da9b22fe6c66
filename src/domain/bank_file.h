/* bank_file.h - what a bank's CSV says came in (G4). Columns are known by their headings, in
 * Japanese and English, or named by the operator. All that is wrong with a file is said at once, by
 * line; then nothing of it counts. What went out is left aside.
 *
 * A line is known by its identity, so that the same file again, or one that overlaps, brings
 * nothing twice: account, day, amount, text and balance, or the bank's own number instead of text
 * and balance; and how many alike stand before it in its file. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json.h"

enum { BANK_IDENTITY = 32 };

struct bank_columns { /* a heading, or a number from 1 on; empty: as headings say */
    struct str date, amount, text, balance, id;
};

struct bank_reading {
    struct bank_columns columns;
    struct str account; /* which one of ours; may be empty */
    char currency[4];
};

struct bank_line {
    int line; /* in the file, from 1 */
    int64_t days, amount;
    struct str text, id; /* may be empty */
    bool has_balance;
    int64_t balance;
    unsigned char identity[BANK_IDENTITY];
};

struct bank_file {
    struct bank_line *lines; /* what came in, in the file's order */
    size_t count;
    size_t ignored; /* rows that brought nothing in */
    int64_t first_day, last_day;
};

/* text: UTF-8. VALIDATION: `problems` has all of it. What it makes lives in the arena and in text.
 */
enum err bank_file_read(struct arena *a, struct str text, const struct bank_reading *how,
                        struct json_problems *problems, struct bank_file *ret_file);
