/* deadline.h - many deadlines, kept so that one timer serves them all.
 *
 * Each kind has one duration, so a list per kind is in order of time when the newest goes to its
 * end: entering, leaving and finding the next one take no search, however many wait. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { DEADLINE_KINDS = 8 };
#define DEADLINE_NONE UINT64_MAX

struct deadline {
    struct deadline *before, *after;
    uint64_t due;
    int kind; /* -1: in no list */
};

struct deadline_list {
    struct deadline *first, *last;
};

struct deadlines {
    struct deadline_list lists[DEADLINE_KINDS];
    uint64_t durations[DEADLINE_KINDS]; /* DEADLINE_NONE: no limit */
};

void deadline_init(struct deadline *x);
/* Moves x to the list of that kind; its time begins now. */
void deadline_enter(struct deadlines *d, struct deadline *x, int kind, uint64_t now);
void deadline_leave(struct deadlines *d, struct deadline *x);
struct deadline *deadlines_expired(struct deadlines *d, uint64_t now); /* one of them, or NULL */
/* The oldest entry of the kinds whose bits are set (1u << kind, each with a duration), or NULL. */
struct deadline *deadlines_oldest(const struct deadlines *d, unsigned kinds);
uint64_t deadlines_next(const struct deadlines *d); /* DEADLINE_NONE: nothing is due, ever */
