/* scans.h - the indexes along which find.c goes, and their pages. Only find.c includes this. */
#pragma once

#include "qstash/find.h"

enum { WALKS_PAGE = 200 }; /* rows, of all walks together */

struct walks_page { /* what one step brings, in order */
    struct found *rows;
    size_t n;
    bool whole; /* nothing lies behind */
};

/* Drivers are numbers from 0 on; the last is for whoever has no other: all there is. */
int walks_last(enum find_in in);
bool walks_go_down(enum find_in in);
bool walks_are_by_time(enum find_in in, int driver);
/* The filter has its key, and the cursor its order. */
bool walks_may_drive(const struct find *f, int driver);

/* From f->at on; in f->arena. */
enum err walks_page(struct tx *tx, struct find *f, int driver, struct walks_page *ret_page);

int spot_compare(const struct spot *a, const struct spot *b);
