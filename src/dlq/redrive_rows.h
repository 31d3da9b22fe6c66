/* redrive_rows.h - the parts of a redrive. Only redrive*.c include this. */
#pragma once

#include "base/limits.h"
#include "dlq/redrive.h"

struct redrive { /* the row; texts live until the unit's run ends */
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
    struct uuid user; /* all zero: the admin token; there is no other way to begin one */
    bool failed;
    const char *detail;
};
enum err redrive_audit(struct tx *tx, const struct redrive_line *line, int64_t now_ms);

/* What one step did; counts once it is durable. */
struct redrive_step {
    size_t wanted;
    int64_t done;
    size_t refused; /* named */
    struct dead_refusal refusals[LIMIT_DEAD_STEP];
    int64_t unnamed; /* refused on top of those */
    bool over;

    /* of a replay: what it was about, also where it failed */
    size_t chosen;
    struct uuid first;
    int64_t first_seq;
};
/* Words that are too long end between two characters; beyond LIMIT_DEAD_STEP it is only counted. */
void redrive_refuse(struct redrive_step *s, struct uuid id, struct str why);
/* What an act refused: those that it names, and the count of the others. */
void redrive_refuse_all(struct redrive_step *s, const struct dead_act *act);

/* The next `wanted` events of a replay: r's place moves along. */
enum err replay_step(struct tx *tx, struct arena *a, const struct redrives *rs, struct redrive *r,
                     struct redrive_step *s);
/* Where a replay begins and ends: next_id and until_ms, as seqs. */
enum err replay_place(struct tx *tx, const struct dead_filter *f, int64_t *ret_after,
                      int64_t *ret_until);
