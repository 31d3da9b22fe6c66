/* find.h - searches live messages, dead messages and the log for what matches a filter.
 *
 * One key of the filter, the one with the fewest rows, is read along its index; the other keys are
 * checked row by row. Several values of that key are several index scans, merged in their order. So
 * a call costs what it reads, however many rows there are. */
#pragma once

#include "qstash/filter.h"

enum find_in {
    FIND_LIVE, /* the newest first, so that a bulk cancel starts none of those that wait */
    FIND_DEAD, /* the oldest death first */
    FIND_LOG,  /* the newest first */
};

struct spot { /* a position in a scan: compared by major, then seq, then id */
    int64_t major, seq;
    struct uuid id;
};

struct found {
    struct spot spot;
    struct uuid id;
    int64_t seq, at_ms, number; /* dead: time of death and status; log: time and state */
};

struct find {
    enum find_in in;
    const struct filter *filter;
    struct arena *arena; /* the unit's */
    size_t max;          /* results, at most */
    int64_t budget;      /* rows that may be read */

    /* in and out; find_begin() or find_cursor_read() first */
    bool chosen;
    int driver;
    bool by_time; /* dead messages by time of death, not by seq */
    struct spot at;

    struct found *found; /* room for max */
    size_t count;
    int64_t looked;
    bool end; /* there are no more rows */
};

void find_begin(struct find *f, enum find_in in, const struct filter *filter);

/* Continues after `at` until it has max results, has read its budget, or is at the end. */
enum err find_next(struct tx *tx, struct find *f);

/* For dead messages and the log: `at` as text, and back. False: the text is not a cursor. */
enum { FIND_CURSOR = 48 };
void find_cursor(const struct find *f, const struct spot *at, char text[FIND_CURSOR]);
bool find_cursor_read(struct find *f, struct str text);
