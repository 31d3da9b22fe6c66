/* find.h - walks over live parcels, dead ones and the log, for what a filter fits.
 *
 * One key of the filter is looked up by its index, the one with the fewest rows; what the index
 * cannot decide is decided row by row. Several values of that key are several walks, merged in
 * their order. So a call costs what it looks at, however many rows there are. */
#pragma once

#include "qstash/filter.h"

enum find_in {
    FIND_LIVE, /* the newest first: nobody who waits is let in by a cancel before his own */
    FIND_DEAD, /* the oldest death first */
    FIND_LOG,  /* the newest first */
};

struct spot { /* a place in a walk: compared by major, then seq, then id */
    int64_t major, seq;
    struct uuid id;
};

struct found {
    struct spot spot;
    struct uuid id;
    int64_t seq, at_ms, number; /* dead: its death and status; log: its time and state */
};

struct find {
    enum find_in in;
    const struct filter *filter;
    struct arena *arena; /* the unit's */
    size_t max;          /* wanted, */
    int64_t budget;      /* and looked at, at most */

    /* in and out; find_begin() or find_cursor_read() first */
    bool chosen;
    int driver;
    bool by_time; /* dead ones in the order of their time, and not of their seq */
    struct spot at;

    struct found *found; /* room for max */
    size_t count;
    int64_t looked;
    bool end; /* there is nothing behind */
};

void find_begin(struct find *f, enum find_in in, const struct filter *filter);

/* Goes on from `at` until it has found enough, has looked enough, or is at the end. */
enum err find_next(struct tx *tx, struct find *f);

/* Dead ones and the log: behind `at`, as text and back. False: it is no cursor. */
enum { FIND_CURSOR = 48 };
void find_cursor(const struct find *f, const struct spot *at, char text[FIND_CURSOR]);
bool find_cursor_read(struct find *f, struct str text);
