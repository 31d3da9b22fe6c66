/* redrive_rows.h - what the files of redrives share. Only redrive*.c include this. */
#pragma once

#include "base/limits.h"
#include "dlq/redrive.h"

struct redrive { /* a row; texts live until the unit's run ends */
    struct uuid id, user, payment;
    bool is_replay, is_running, has_user, has_payment, exact;
    struct str state, ids, kind, ref, reason, cause, refusals, name;
    int64_t rate, from_ms, to_ms, next_id, until_ms, alone, due_ms;
    struct dead_cursor place;
    int64_t matched, done, refused, created_ms, updated_ms, ended_ms;
};

enum err redrive_read(struct tx *tx, struct uuid id, bool lock, struct redrive *ret_redrive);
struct dead_filter redrive_filter(const struct redrive *r);

struct redrive_line {
    const char *operation; /* REDRIVE_START, REDRIVE_CANCEL, REDRIVE_END */
    struct uuid redrive;
    struct uuid user; /* all zero: the admin token */
    bool failed;
    const char *detail;
};
enum err redrive_audit(struct tx *tx, const struct redrive_line *line, int64_t now_ms);

/* The results of one step; they count once it is durable. */
struct redrive_step {
    size_t wanted;
    int64_t done;
    size_t refused; /* listed in refusals */
    struct dead_refusal refusals[LIMIT_DEAD_STEP];
    int64_t unnamed; /* refused, too, but not listed */
    bool over;

    /* of a replay: the events it chose; also set after a failure */
    size_t chosen;
    struct uuid first;
    int64_t first_seq;
};
/* Lists a rejected one; beyond LIMIT_DEAD_STEP it is only counted. */
void redrive_refuse(struct redrive_step *s, struct uuid id, struct str why);
/* Adds what an act rejected: those that it lists, and the number of the others. */
void redrive_refuse_all(struct redrive_step *s, const struct dead_act *act);

/* Replays the next `wanted` events and moves r's cursor. */
enum err replay_step(struct tx *tx, struct arena *a, const struct redrives *rs, struct redrive *r,
                     struct redrive_step *s);
/* The first and last seq of a replay, for next_id and until_ms. */
enum err replay_place(struct tx *tx, const struct dead_filter *f, int64_t *ret_after,
                      int64_t *ret_until);
