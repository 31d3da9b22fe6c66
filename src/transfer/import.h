/* import.h - a bank's CSV becomes lines, and lines become money (G4).
 *
 *   begin --> read (one unit that writes nothing: the whole file, all its problems)
 *         --> step, step, ... (units of LIMIT_BANK_STEP lines, each durable before the next)
 *         --> json
 *
 *   (1) A file with a problem changes nothing.
 *   (2) A line and what it moves are one commit. Killed on the way, what is done is done; the same
 *       file again goes on with the rest, and finds the others known.
 *   (3) Two at once, or files that overlap: each line is taken by one of them.
 *   (4) Without a balance and without the bank's own number, two equal deposits of one day in two
 *       files cannot be told from one deposit in both: the second is known, and listed as alike. */
#pragma once

#include "base/charset.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "domain/bank_file.h"
#include "transfer/transfer.h"

struct import_left { /* a line that waits for a person, or is for one to look at */
    int line;
    int64_t days, amount;
    struct str text;
    enum bank_match reason;
};

struct import_sums {
    int64_t worked, added, known, matched, left, alike;
};

struct transfer_import {
    /* in: all of it lives until the end */
    struct payments *payments;
    struct uuid user;
    struct str csv, name;
    enum charset charset;
    struct bank_reading how;
    bool dry_run;
    size_t from;  /* deposits to pass over: an earlier answer's `next` */
    size_t limit; /* deposits to work on; 0: all */
    enum language language;

    struct json_problems problems; /* out: all that is wrong with the file */
    struct import_sums sums;
    bool has_id;
    struct uuid id; /* of the import, where the file is known or was taken */

    /* its own */
    struct arena arena, work; /* the file's; one unit's */
    char hash[65];
    struct uuid new_id;
    struct bank_file file;
    size_t at, end;
    struct import_left lefts[LIMIT_BANK_LEFT], alikes[LIMIT_BANK_LEFT];
    size_t left_count, alike_count;
    struct uuid *would; /* dry run: payments that were matched, to find those that are twice */
    size_t would_count;
    struct { /* of one unit, set anew in each run */
        struct uuid ids[LIMIT_BANK_STEP], paid[LIMIT_BANK_STEP];
        struct import_sums sums;
        struct import_left lefts[LIMIT_BANK_STEP], alikes[LIMIT_BANK_STEP];
        size_t count, left_count, alike_count, paid_count;
        struct uuid import_id;
    } step;
};

void transfer_import_begin(struct transfer_import *im); /* the fields above are set */
void transfer_import_end(struct transfer_import *im);   /* frees */

/* In a unit that reads. OK with problems: nothing more is done with it. */
enum err transfer_import_read(struct tx *tx, struct transfer_import *im);
/* On the executor, before each step. False: there is none left. */
bool transfer_import_next(struct transfer_import *im);
/* In a unit that writes; dry_run: in one that reads. */
enum err transfer_import_step(struct tx *tx, struct transfer_import *im);
void transfer_import_took(struct transfer_import *im); /* on the executor: the step is durable */

struct str transfer_import_json(struct transfer_import *im,
                                struct arena *a); /* .p NULL: no memory */
