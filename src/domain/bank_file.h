/* bank_file.h - reads the deposits from a bank's CSV (G4). Columns are recognized by their
 * headings, in Japanese and English, or named by the operator. Everything that is wrong is reported
 * at once, by line, and then nothing of the file is used. Withdrawals are ignored.
 *
 * A line has an identity, so that importing the same or an overlapping file adds nothing twice. It
 * is made of account, day, amount, text and balance (or the bank's own number in place of text and
 * balance), and of the number of equal lines before it in its file. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json.h"

enum { BANK_IDENTITY = 32 };

struct bank_columns { /* a heading, or a number from 1; empty: recognized by its heading */
    struct str date, amount, text, balance, id;
};

struct bank_reading {
    struct bank_columns columns;
    struct str account; /* our account; may be empty */
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
    struct bank_line *lines; /* the deposits, in the file's order */
    size_t count;
    size_t ignored; /* rows without a deposit */
    int64_t first_day, last_day;
};

/* text: UTF-8. The result borrows from the arena and from text. VALIDATION: see `problems`. */
enum err bank_file_read(struct arena *a, struct str text, const struct bank_reading *how,
                        struct json_problems *problems, struct bank_file *ret_file);
