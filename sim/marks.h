/* marks.h - which faults and which interesting cases the seeds reached. A mark that no seed of a long
 * run reaches is a gap in the simulator, and fails the run. */
#pragma once

#include <stdint.h>

/*  X(name, words). Faults first, then what they led to. */
#define MARK_LIST(X)                                                                               \
    X(MARK_CRASH_WAITING, "crash with units waiting")                                              \
    X(MARK_CRASH_IN_BATCH, "crash inside a commit")                                                \
    X(MARK_CRASH_UNANSWERED, "crash between commit and answers")                                   \
    X(MARK_CRASH_LEASED, "crash between lease and run")                                            \
    X(MARK_CRASH_IN_JOB, "crash inside a job")                                                     \
    X(MARK_CRASH_CHECKPOINT, "crash inside a checkpoint")                                          \
    X(MARK_CRASH_BOOT, "crash while starting")                                                     \
    X(MARK_CRASH_PROCESS, "kill -9: all writes kept")                                              \
    X(MARK_CRASH_POWER, "power cut: unsynced writes in doubt")                                     \
    X(MARK_WRITE_KEPT, "unsynced write kept")                                                      \
    X(MARK_WRITE_DROPPED, "unsynced write dropped")                                                \
    X(MARK_WRITE_TORN, "unsynced write torn")                                                      \
    X(MARK_SYNC_FAILED, "fsync failed, node left")                                                 \
    X(MARK_DISK_FULL, "disk full, batch refused")                                                  \
    X(MARK_CLOCK_FORWARD, "clock jumped forward")                                                  \
    X(MARK_CLOCK_BACK, "clock jumped back")                                                        \
    X(MARK_STOP, "graceful stop finished")                                                         \
    X(MARK_RESTART, "node restarted")                                                              \
    X(MARK_ONE_DOWN, "one node down, the other works")                                             \
    X(MARK_GONE, "one node gone for good")                                                         \
    X(MARK_DATABASE_RESTART, "shared database restarted under live nodes")                         \
    X(MARK_UNCERTAIN_DONE, "UNCERTAIN, and it was committed")                                      \
    X(MARK_UNCERTAIN_NOT_DONE, "UNCERTAIN, and it was not")                                        \
    X(MARK_UNIT_TIMEOUT, "unit waited too long")                                                   \
    X(MARK_UNIT_FAILED, "unit refused by the store for a while")                                   \
    X(MARK_CHECKPOINT, "checkpoint")                                                               \
    X(MARK_BATCH, "commit of two units or more")                                                   \
    X(MARK_BATCH_MIXED, "commit of front and back units")                                          \
    X(MARK_RERUN, "job run twice in one batch")                                                    \
    X(MARK_ACK_LOST, "ACK lost on its way")                                                        \
    X(MARK_DUPLICATE, "event sent again after its ACK")                                            \
    X(MARK_DUPLICATE_AT_ONCE, "event under way twice at once")                                     \
    X(MARK_RESENT, "event resent without an ACK")                                                  \
    X(MARK_RESENT_STORED, "event resent though it was stored")                                     \
    X(MARK_UNKNOWN_TYPE, "event of a type nobody knows")                                           \
    X(MARK_UNREADABLE, "body that is no JSON")                                                     \
    X(MARK_CRASH_OUTSIDE, "crash with a call under way")                                           \
    X(MARK_CRASH_UNSETTLED, "crash between a call's answer and its settling")                      \
    X(MARK_ANSWER_LOST, "answer of a call lost")                                                   \
    X(MARK_CALL_LONG, "call longer than a lease")                                                  \
    X(MARK_CALL_REPEATED, "call repeated that had been done")                                      \
    X(MARK_CALL_RESUMED, "call settled in a later attempt")                                        \
    X(MARK_DEAD_CALL, "dead letter of a call")                                                     \
    X(MARK_PUT_OFF, "message put off by its settling")                                             \
    X(MARK_ADOPTED, "message adopted")                                                             \
    X(MARK_ADOPTED_STOPPING, "message adopted while its node stops")                               \
    X(MARK_NEVER_ADOPTED, "message leased and never adopted")                                      \
    X(MARK_TAKEN, "message taken by its id")                                                       \
    X(MARK_STOP_OUTSIDE, "call answered while its node stops")                                     \
    X(MARK_RETRIED, "job failed and was retried")                                                  \
    X(MARK_DEAD_TERMINAL, "dead letter at once")                                                   \
    X(MARK_DEAD_BUDGET, "dead letter after the last retry")                                        \
    X(MARK_DEAD_POISON, "dead letter that killed nodes")                                           \
    X(MARK_LANE_FREED, "dead letter freed its lane")                                               \
    X(MARK_LEASE_AGAIN, "lease of a dead node taken over")                                         \
    X(MARK_LEASE_LATE, "lease of a live node expired")                                             \
    X(MARK_RENEWED, "lease renewed")                                                               \
    X(MARK_STALE, "late finish refused")

#define MARK_NAME(name, words) name,
enum mark { MARK_LIST(MARK_NAME) MARKS };
#undef MARK_NAME

struct marks {
    int64_t n[MARKS];
};

const char *mark_words(enum mark m);
