/* import.h - imports a bank's CSV as lines, and applies the lines to payments (G4).
 *
 *   begin --> read (one read-only unit: the whole file, all its problems)
 *         --> step, step, ... (units of LIMIT_BANK_STEP lines, each durable before the next)
 *         --> json
 *
 *   (1) A file with a problem changes nothing.
 *   (2) A line and what it moves are one commit. After a crash the finished steps stay; importing
 *       the same file again continues with the rest and reports the others as known.
 *   (3) With two imports at once, or overlapping files, each line is taken by one of them.
 *   (4) Without a balance and without the bank's own number, two equal deposits of one day in two
 *       files look like one deposit in both: the second is known, and listed as alike. */
#pragma once

#include "base/charset.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "domain/bank_file.h"
#include "transfer/transfer.h"

struct import_left { /* a line that an operator has to decide or check */
    int line;
    int64_t days, amount;
    struct str text;
    enum bank_match reason;
};

struct import_sums {
    int64_t worked, added, known, matched, left, alike;
};

struct transfer_import {
    /* in: must live until transfer_import_end() */
    struct payments *payments;
    struct uuid user;
    struct str csv, name;
    enum charset charset;
    struct bank_reading how;
    bool dry_run;
    size_t from;  /* skip so many deposits: `next` of an earlier result */
    size_t limit; /* process at most so many deposits; 0: all */
    enum language language;

    struct json_problems problems; /* out: everything that is wrong with the file */
    struct import_sums sums;
    bool has_id;
    struct uuid id; /* of the import, if the file is known or was imported */

    /* private */
    struct arena arena, work; /* the file's; one unit's */
    char hash[65];
    struct uuid new_id;
    struct bank_file file;
    size_t at, end;
    struct import_left lefts[LIMIT_BANK_LEFT], alikes[LIMIT_BANK_LEFT];
    size_t left_count, alike_count;
    struct uuid *would; /* dry run: the matched payments, to find duplicates */
    size_t would_count;
    struct { /* of one unit; reset by each run */
        struct uuid ids[LIMIT_BANK_STEP], paid[LIMIT_BANK_STEP];
        struct import_sums sums;
        struct import_left lefts[LIMIT_BANK_STEP], alikes[LIMIT_BANK_STEP];
        size_t count, left_count, alike_count, paid_count;
        struct uuid import_id;
    } step;
};

void transfer_import_begin(struct transfer_import *im); /* the fields above are set */
void transfer_import_end(struct transfer_import *im);   /* frees */

/* In a read-only unit. OK with problems: the import ends here. */
enum err transfer_import_read(struct tx *tx, struct transfer_import *im);
/* On the executor, before each step. False: no step is left. */
bool transfer_import_next(struct transfer_import *im);
/* In a writing unit; with dry_run in a read-only one. */
enum err transfer_import_step(struct tx *tx, struct transfer_import *im);
void transfer_import_took(struct transfer_import *im); /* on the executor: the step is durable */

struct str transfer_import_json(struct transfer_import *im,
                                struct arena *a); /* .p NULL: no memory */
