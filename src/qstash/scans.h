/* scans.h - the index scans of find.c, page by page. Only find.c includes this. */
#pragma once

#include "qstash/find.h"

enum { SCAN_PAGE_ROWS = 200 }; /* of all scans of a page together */

struct scan_page { /* rows in order */
    struct found *rows;
    size_t n;
    bool whole; /* there are no more rows */
};

/* A driver is the index that is scanned: a number from 0 on. The last one reads all rows. */
int scan_last_driver(enum find_in in);
bool scan_is_descending(enum find_in in);
bool scan_is_by_time(enum find_in in, int driver);
/* Whether the filter has its key, and the cursor its order. */
bool scan_may_drive(const struct find *f, int driver);

/* Reads the rows after f->at into f->arena. */
enum err scan_page(struct tx *tx, struct find *f, int driver, struct scan_page *ret_page);

int spot_compare(const struct spot *a, const struct spot *b);
