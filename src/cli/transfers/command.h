/* command.h - the parts of `ichido transfers`. Only its own files include this. */
#pragma once

#include "base/str.h"
#include "base/uuid.h"
#include "base/why.h"

#include <cjson/cJSON.h>

enum transfers_verb {
    TRANSFERS_IMPORT,
    TRANSFERS_LIST,
    TRANSFERS_LINES,
    TRANSFERS_RETURNS,
    TRANSFERS_IMPORTS,
    TRANSFERS_CONFIRM,
    TRANSFERS_ASSIGN,
    TRANSFERS_SET_ASIDE,
    TRANSFERS_PAID,
    TRANSFERS_VERBS
};

struct transfers_options { /* texts are argv's own */
    enum transfers_verb verb;
    const char *file;
    struct uuid id;   /* of the payment, line or return */
    struct str whose; /* assign: a payment's id, or a reference */
    struct str state, reference, note, date, account, currency, charset;
    struct str date_column, amount_column, text_column, balance_column, id_column;
    int64_t amount, limit; /* 0: not given */
    bool dry_run, json, all, to_return;
};

enum transfers_parsed { TRANSFERS_ASKED, TRANSFERS_HELP, TRANSFERS_WRONG };

/* argv[0] is "transfers". WRONG: `why` says what to write instead. */
enum transfers_parsed transfers_args(int argc, char **argv, struct transfers_options *ret_options,
                                     struct why *why);
void transfers_usage(void);

/* Prints one line of a list, and on a terminal the head of the table before the first one. */
void transfers_print(enum transfers_verb verb, const cJSON *item, bool *headed);
/* Prints the result of an import. */
void transfers_print_import(const char *file, const cJSON *sums);
