/* view.h - the checker's connection, which only reads. It shares no code with what is checked. */
#pragma once

#include "base/str.h"
#include "base/uuid.h"
#include "sim/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct view;

struct seen_message {
    int64_t seq;
    struct uuid id;
    bool has_lane;
    int64_t lane;
    bool ready;
    int64_t due_ms, attempt;
    bool has_owner;
    struct uuid owner;
};

struct seen_counts {
    int64_t events, outcomes, dead_outcomes, dead_letters;
};

struct snapshot { /* rows by seq */
    struct seen_message *rows;
    size_t n, size;
    struct seen_counts counts;
};

struct view *view_new(void);
void view_free(struct view *v);
/* Opens where it is not open. False: the database cannot be read. */
bool view_open(struct view *v, const char *vfs);
void view_close(struct view *v);

bool view_snapshot(struct view *v, struct snapshot *s);
/* How many rows have that id, and the message of the first. */
int64_t view_event(struct view *v, struct str event_id, struct uuid *ret_message);
/* Of the event's message: its outcome ("" : none) and whether it is a dead letter. */
bool view_outcome(struct view *v, struct str event_id, char ret_outcome[32], bool *ret_dead);
bool view_message_outcome(struct view *v, struct uuid id, char ret_outcome[32], bool *ret_dead);
void view_hash(struct view *v, struct sim_trace *t); /* all tables, in order */
bool view_is_sound(struct view *v);                  /* PRAGMA integrity_check */
